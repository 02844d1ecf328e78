# SPDX-License-Identifier: Apache-2.0
"""generalize() and its release: what it decides, what it refuses, and that nothing unverified is ever published."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge.errors import BadInput, Infeasible
from divulge.policy import Promise
from divulge.table.hierarchy import Hierarchy
from divulge.tasks.release import Release

# Table 1a of Afifi et al. 2018 (after Li et al. 2007), with names.
PATIENTS = pa.table(
    {
        "name": ["Ann", "Bob", "Cid", "Dora", "Eve", "Fay", "Gus", "Hal", "Ida"],
        "zip": ["47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607"],
        "age": [29, 22, 27, 43, 52, 47, 30, 36, 32],
        "disease": ["Heart", "Heart", "Heart", "Flu", "Heart", "Cancer", "Heart", "Cancer", "Cancer"],
    }
)
QI = ("zip", "age")
TWO_ZIPS = {"zip": {"rows": {"1": ["*"], "2": ["*"]}}}
ZIP = {"prefix": [4, 3, 2]}
AGE = {"intervals": [10, 20]}


def patients(**more: Any) -> Release:
    """A release of the nine patients."""
    asked: dict[str, Any] = {
        "policy": dv.Policy(k_anonymity=3),
        "quasi_identifiers": QI,
        "sensitive": "disease",
        "identifier": "name",
        "hierarchies": {"zip": ZIP, "age": AGE},
    }
    release: Release = dv.generalize(more.pop("table", PATIENTS), **(asked | more))
    return release


def classes(rows: list[dict[str, Any]], keys: tuple[str, ...] = QI) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[key] for key in keys) for row in rows)


def test_the_nine_patients_by_hand() -> None:
    """Zip codes lose a digit and ages become ranges of 20: three classes of three, counted by hand."""
    release = patients()
    assert release.plan.levels == {"zip": 1, "age": 2}
    rows = release.table().to_pylist()
    assert classes(rows) == {("4767*", "[20, 40)"): 3, ("4760*", "[20, 40)"): 3, ("4790*", "[40, 60)"): 3}
    assert Counter(row["disease"] for row in rows) == {"Heart": 5, "Cancer": 3, "Flu": 1}
    assert set(rows[0]) == {"zip", "age", "disease"}
    assert (release.before["k_anonymity"].value, release.after["k_anonymity"].value) == (1, 3)
    assert release.verdict.holds


def test_a_written_release(tmp_path: Path) -> None:
    folder = patients().write(tmp_path / "out")
    assert sorted(os.listdir(folder)) == ["manifest.json", "mapping", "table.parquet"]
    assert sorted(os.listdir(folder / "mapping")) == ["age.csv", "original.json", "zip.csv"]
    assert "47677;4767*" in (folder / "mapping" / "zip.csv").read_text(encoding="utf-8").splitlines()
    assert (folder / "mapping").stat().st_mode & 0o077 == 0
    assert classes(pq.read_table(folder / "table.parquet").to_pylist()) == classes(patients().table().to_pylist())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["plan"]["levels"] == {"zip": 1, "age": 2}
    assert manifest["rows"] == {"original": 9, "published": 9}
    assert manifest["before"]["identity"]["k_anonymity"] == 1
    assert manifest["after"]["identity"]["k_anonymity"] == 3
    assert manifest["after"]["settings"]["prior"] == {"disease": "original"}
    assert manifest["row_order"] == "shuffled with a secret"
    assert {name: entry["public"] for name, entry in manifest["files"].items()} == {
        "table.parquet": True,
        "mapping/age.csv": False,
        "mapping/zip.csv": False,
        "mapping/original.json": False,
    }


def test_what_may_be_handed_out_holds_no_value_that_was_hidden(tmp_path: Path) -> None:
    folder = patients().write(tmp_path / "out", file_format="csv")
    for name in ("table.csv", "manifest.json"):
        text = (folder / name).read_text(encoding="utf-8")
        hidden = [*PATIENTS.column("name").to_pylist(), *PATIENTS.column("zip").to_pylist()]
        assert not [value for value in hidden if value in text]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_unchanged_columns_keep_their_types(tmp_path: Path, kind: str) -> None:
    table = PATIENTS.append_column("weight", pa.array([60.5, 70.25] * 4 + [80.0])).append_column("ok", pa.array([True] * 9))
    release = patients(table=table, policy=dv.Policy(k_anonymity=1))
    assert release.plan.levels == {"zip": 0, "age": 0}
    assert release.plain == ("weight", "ok")
    folder = release.write(tmp_path / "out", file_format=kind)
    found = dv.read(folder / f"table.{kind}")
    assert {column.name: column.type for column in found.columns} == {
        "zip": "VARCHAR" if kind != "csv" else "BIGINT",  # text says nothing about types
        "age": "BIGINT",
        "disease": "VARCHAR",
        "weight": "DOUBLE",
        "ok": "BOOLEAN" if kind != "csv" else "VARCHAR",
    }


def test_the_kind_of_frame_that_went_in_comes_out() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (pandas.DataFrame(PATIENTS.to_pydict()), polars.from_arrow(PATIENTS)):
        found = patients(table=frame).table()
        assert type(found) is type(frame)
        assert list(found.columns) == ["zip", "age", "disease"]
    assert isinstance(patients().table(), pa.Table)


def test_a_pandas_index_does_not_leave(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    names = PATIENTS.column("name").to_pylist()
    frame = pandas.DataFrame(PATIENTS.drop_columns(["name"]).to_pydict(), index=pandas.Index(names, name="name"))
    release = patients(table=frame, identifier=())
    assert list(release.table().index) == list(range(9))
    content = (release.write(tmp_path / "out") / "table.parquet").read_bytes()
    assert not [name for name in names if name.encode() in content]
    assert pq.read_schema(tmp_path / "out" / "table.parquet").metadata is None


def test_categories_that_no_row_has_any_more_do_not_leave(tmp_path: Path) -> None:
    """A categorical column names all its categories, also one that nobody has and one whose only person was left out."""
    pandas = pytest.importorskip("pandas")
    kinds = ["mild", "severe", "unheard-of", "rare"]
    frame = pandas.DataFrame(
        {
            "zip": pandas.Categorical(["1"] * 4 + ["2"] * 4 + ["3"], categories=["1", "2", "3", "4"]),
            "disease": pandas.Categorical(["mild", "severe"] * 4 + ["rare"], categories=kinds),
        }
    )
    policy = dv.Policy(k_anonymity=4, suppression=0.2)
    release = dv.generalize(frame, policy=policy, quasi_identifiers="zip", sensitive="disease")
    assert release.plan.levels == {"zip": 0}
    assert not [dtype for dtype in release.table().dtypes if isinstance(dtype, pandas.CategoricalDtype)]
    for kind in ("csv", "parquet", "arrow"):
        folder = release.write(tmp_path / kind, file_format=kind)
        for name in (f"table.{kind}", "manifest.json"):
            content = (folder / name).read_bytes()
            assert b"unheard-of" not in content
            assert b"rare" not in content


def test_a_relation_of_a_foreign_connection() -> None:
    import duckdb

    connection = duckdb.connect()
    connection.register("patients", PATIENTS)
    release = patients(table=connection.table("patients"))
    assert classes(release.table().to_pylist()) == classes(patients().table().to_pylist())
    assert connection.sql("SHOW TABLES").fetchall() == [("patients",)]


def test_the_seed_fixes_the_order_and_is_said(tmp_path: Path) -> None:
    one, two = (patients().write(tmp_path / str(i), seed=7, file_format="csv") for i in range(2))
    assert (one / "table.csv").read_bytes() == (two / "table.csv").read_bytes()
    manifest = json.loads((one / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["row_order"] == "shuffled with a seed given by the publisher"
    assert "7" not in str(manifest["row_order"])


def test_the_prior_stays_the_originals(tmp_path: Path) -> None:
    """Suppressing the only person with flu changes the published marginal, and the prior does not follow."""
    table = pa.table({"zip": ["1"] * 4 + ["2"] * 4 + ["3"], "disease": ["a", "a", "b", "b"] * 2 + ["flu"]})
    release = dv.generalize(
        table,
        policy=dv.Policy(k_anonymity=4, suppression=0.2),
        quasi_identifiers="zip",
        sensitive="disease",
        hierarchies={"zip": {"suppress": True}},
    )
    assert release.plan.suppressed == 1
    # 4/9, 4/9, 1/9 before; 1/2, 1/2, 0 in each class: the distance is sqrt(2 (1/18)^2 + (1/9)^2).
    assert release.after["distribution_leakage"].value == pytest.approx((2 / 18**2 + 1 / 81) ** 0.5)
    release.write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["after"]["sensitive"]["disease"]["distribution_leakage"] == pytest.approx((2 / 18**2 + 1 / 81) ** 0.5)
    assert "flu" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_nulls_are_a_category_or_dropped() -> None:
    table = pa.table({"zip": ["1", "1", None, None, "1"], "disease": ["a", "b", "a", "b", None]})
    asked: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "hierarchies": TWO_ZIPS}
    asked["policy"] = dv.Policy(k_anonymity=2)
    kept = dv.generalize(table, **asked).table().to_pylist()
    assert classes(kept, ("zip", "disease")) == {("1", "a"): 1, ("1", "b"): 1, ("1", None): 1, (None, "a"): 1, (None, "b"): 1}
    dropped = dv.generalize(table, **asked, nulls="drop").table().to_pylist()
    assert classes(dropped, ("zip", "disease")) == {("1", "a"): 1, ("1", "b"): 1}


def test_a_null_is_suppressed_with_the_rest() -> None:
    table = pa.table({"zip": ["1", None, "2"], "disease": ["a", "b", "c"]})
    release = dv.generalize(table, policy=dv.Policy(k_anonymity=3), quasi_identifiers="zip", sensitive="disease")
    assert release.table().column("zip").to_pylist() == ["*"] * 3


def test_numbers_that_compare_oddly() -> None:
    """0.0 and -0.0 are one value and NaN is a value; all their rows are published."""
    numbers = [0.0, -0.0, float("nan"), float("nan"), 1.5, 1.5]
    table = pa.table({"x": pa.array(numbers), "s": ["a", "b"] * 3})
    hierarchy = Hierarchy("x", {"0": ("0", "*"), "nan": ("nan", "*"), "1.5": ("1.5", "*")})
    release = dv.generalize(
        table, policy=dv.Policy(k_anonymity=2), quasi_identifiers="x", sensitive="s", hierarchies={"x": hierarchy}
    )
    assert release.plan.levels == {"x": 0}
    found = release.table().column("x").to_pylist()
    assert sorted(map(str, (value + 0.0 for value in found))) == ["0.0", "0.0", "1.5", "1.5", "nan", "nan"]


def test_odd_names_and_odd_values(tmp_path: Path) -> None:
    names = ('zip "code"; DROP', "select", "ünï 🙂", "s'o")
    table = pa.table(
        {
            names[0]: ["a;b", 'c"d', "", "a;b", 'c"d', ""],
            names[1]: pa.array(["x", "y"] * 3).dictionary_encode(),
            names[2]: [1, 2, 3, 4, 5, 6],
            names[3]: ["line\nend", ",", ";"] * 2,
        }
    )
    release = dv.generalize(
        table, policy=dv.Policy(k_anonymity=2), quasi_identifiers=names[:3], sensitive=names[3], hierarchies={names[2]: AGE}
    )
    for kind in ("csv", "parquet", "arrow"):
        folder = release.write(tmp_path / kind, file_format=kind)
        assert min(classes(dv.read(folder / f"table.{kind}").engine.query(  # counted by SQL, read by Arrow
            f"SELECT * FROM {dv.read(folder / f'table.{kind}').relation}"
        ).to_pylist(), names[:3]).values()) >= 2  # fmt: skip


def test_one_row_and_one_quasi_identifier(tmp_path: Path) -> None:
    table = pa.table({"zip": ["1"], "disease": ["a"]})
    asked: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "hierarchies": TWO_ZIPS}
    release = dv.generalize(table, policy=dv.Policy(k_anonymity=1), **asked)
    assert release.table().to_pylist() == [{"zip": "1", "disease": "a"}]
    release.write(tmp_path / "out")
    with pytest.raises(Infeasible):
        dv.generalize(table, policy=dv.Policy(k_anonymity=2), **asked)


def test_without_a_sensitive_column() -> None:
    release = patients(sensitive=(), table=PATIENTS.drop_columns(["disease"]))
    assert set(release.table().column_names) == set(QI)


def test_several_sensitive_columns_and_a_promise_for_one() -> None:
    table = PATIENTS.append_column("job", pa.array(["a", "b", "c"] * 3))
    policy = dv.Policy(
        [Promise.make("l_diversity", 3, attribute="job"), Promise.make("l_diversity", 2, attribute="disease")],
        k_anonymity=3,
    )
    release = patients(table=table, sensitive=("disease", "job"), policy=policy)
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in release.table().to_pylist():
        groups.setdefault((row["zip"], row["age"]), []).append(row)
    assert all(len({row["job"] for row in rows}) >= 3 for rows in groups.values())
    assert all(len({row["disease"] for row in rows}) >= 2 for rows in groups.values())


def visits(zips: list[str]) -> pa.Table:
    """Two visits of each patient, the second under another zip code if one is given."""
    first = pa.table({"patient": list("abcdef"), "zip": ["1", "1", "1", "2", "2", "2"], "disease": ["x", "y", "z"] * 2})
    second = pa.table({"patient": list("abcdef"), "zip": zips, "disease": ["y", "y", "x"] * 2})
    return pa.concat_tables([first, second])


def test_people_with_several_rows_are_counted_as_people(tmp_path: Path) -> None:
    table = visits(["1", "1", "1", "2", "2", "2"])
    asked: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease", "person": "patient"}
    release = dv.generalize(table, policy=dv.Policy(k_anonymity=3), **asked)
    assert release.plan.levels == {"zip": 0}
    assert (release.after.people, release.after["k_anonymity"].value) == (6, 3)
    assert release.table().num_rows == 12
    assert "patient" not in release.table().column_names
    release.write(tmp_path / "out")
    # Six rows a class, but three people: 4 needs the classes to merge.
    merged = dv.generalize(table, policy=dv.Policy(k_anonymity=4), **asked)
    assert merged.plan.levels == {"zip": 1}
    assert merged.after["k_anonymity"].value == 6


def test_people_in_several_classes_are_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match="6 people stand in 7 places"):
        dv.generalize(
            visits(["2", "1", "1", "2", "2", "2"]),
            policy=dv.Policy(k_anonymity=2),
            quasi_identifiers="zip",
            sensitive="disease",
            person="patient",
        )


def test_weights_and_populations(tmp_path: Path) -> None:
    table = PATIENTS.append_column("w", pa.array([2.0, 3.0, 4.0, 2.5, 1.5, 2.0, 3.0, 1.0, 1.0]))
    weighted = patients(table=table, weight="w", policy=dv.Policy(k_map=7))
    weighted.write(tmp_path / "weighted")
    groups: dict[Any, float] = {}
    for row in weighted.table().to_pylist():
        groups[row["zip"], row["age"]] = groups.get((row["zip"], row["age"]), 0.0) + row["w"]
    assert min(groups.values()) >= 5
    everybody = pa.concat_tables([PATIENTS] * 3)
    released = patients(policy=dv.Policy(k_map=9), assumptions={"population": everybody})
    assert released.after.identity["k_map"].value == 9
    assert released.after.settings["population"] == "table"
    released.write(tmp_path / "population")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"id": list(range(1, 10))}, "'id' numbers the rows"),
        ({"email": [f"{i % 8}@example.com" for i in range(9)]}, "'email' looks like an identifier"),
        ({"tags": [["a"]] * 9}, "'tags' holds nested values"),
    ],
)
def test_a_column_without_a_role_does_not_leave_by_accident(column: dict[str, Any], message: str) -> None:
    name = next(iter(column))
    table = PATIENTS.append_column(name, pa.array(column[name]))
    with pytest.raises(BadInput, match=message):
        patients(table=table)
    assert name in patients(table=table, keep=name).table().column_names
    if name != "tags":
        assert name not in patients(table=table, identifier=("name", name)).table().column_names


def test_hierarchies_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(
        "".join(f"{value};{value[:4]}*;*\n" for value in PATIENTS.column("zip").to_pylist()), encoding="utf-8"
    )
    policy = tmp_path / "divulge.toml"
    policy.write_text(
        """
quasi_identifiers = ["zip", "age"]
sensitive = "disease"
identifier = ["name"]
k_anonymity = 3
[hierarchies]
zip = "zip.csv"
age = {intervals = [10, 20]}
""",
        encoding="utf-8",
    )
    from_policy: Release = dv.generalize(PATIENTS, policy=policy)
    assert from_policy.plan.levels == {"zip": 1, "age": 2}
    folder = patients(hierarchies=tmp_path)
    assert folder.plan.levels["zip"] == 1
    assert list(folder.suggestions) == ["age"]
    seen: list[Any] = []
    patients(hierarchies={}, announce=seen.append)
    assert [set(suggestions) for suggestions in seen] == [{"zip", "age"}]
    with pytest.raises(BadInput, match="'disease', which is not a quasi-identifier"):
        patients(hierarchies={"disease": {"suppress": True}})


def test_mondrian(tmp_path: Path) -> None:
    release = patients(method="mondrian", hierarchies={})
    rows = release.table().to_pylist()
    assert len(rows) == 9
    assert min(classes(rows).values()) >= 3
    assert sorted(os.listdir(release.write(tmp_path / "out") / "mapping")) == ["boxes.json", "original.json"]


def test_bad_requests() -> None:
    with pytest.raises(BadInput, match="no quasi-identifiers"):
        patients(quasi_identifiers=())
    with pytest.raises(BadInput, match="no method 'magic'"):
        patients(method="magic")
    with pytest.raises(BadInput, match="original itself"):
        patients(assumptions={"original": PATIENTS})
    with pytest.raises(BadInput, match="no promise"):
        patients(policy=dv.Policy())
