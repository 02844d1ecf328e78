# SPDX-License-Identifier: Apache-2.0
"""generalize() on every kind of table.

The tests cover priors, nulls, odd values, few rows, people, weights, and columns without a role.
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput, Infeasible
from divulge.hierarchies import Hierarchy
from divulge.policy import Promise, Protection
from divulge.releases import GeneralizedRelease, private_place
from tests.api.patients import AGE, PATIENTS, QI, TWO_ZIPS, classes, patients
from tests.releases.folders import names


def test_the_prior_stays_the_originals(tmp_path: Path) -> None:
    """Suppressing the only person with flu changes the published distribution but not the prior."""
    table = pa.table(
        {"zip": ["1"] * 4 + ["2"] * 4 + ["3"], "disease": ["a", "a", "b", "b"] * 2 + ["flu"]}
    )
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
    private = json.loads(
        (private_place(tmp_path / "out") / "manifest.json").read_text(encoding="utf-8")
    )
    assert private["after"]["sensitive"]["disease"]["distribution_leakage"] == pytest.approx(
        (2 / 18**2 + 1 / 81) ** 0.5
    )
    assert "flu" not in (tmp_path / "out" / "manifest.json").read_text(encoding="utf-8")


def test_nulls_are_a_category_or_dropped() -> None:
    table = pa.table({"zip": ["1", "1", None, None, "1"], "disease": ["a", "b", "a", "b", None]})
    asked: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "hierarchies": TWO_ZIPS,
    }
    asked["policy"] = dv.Policy(k_anonymity=2)
    kept = dv.generalize(table, **asked).tables()["table"].to_pylist()
    assert classes(kept, ("zip", "disease")) == {
        ("1", "a"): 1,
        ("1", "b"): 1,
        ("1", None): 1,
        (None, "a"): 1,
        (None, "b"): 1,
    }
    dropped = (
        dv.generalize(table, **asked, adversary=dv.Adversary(nulls="drop"))
        .tables()["table"]
        .to_pylist()
    )
    assert classes(dropped, ("zip", "disease")) == {("1", "a"): 1, ("1", "b"): 1}


def test_a_null_is_suppressed_with_the_rest() -> None:
    table = pa.table({"zip": ["1", None, "2"], "disease": ["a", "b", "c"]})
    release = dv.generalize(
        table, policy=dv.Policy(k_anonymity=3), quasi_identifiers="zip", sensitive="disease"
    )
    assert release.tables()["table"].column("zip").to_pylist() == ["*"] * 3


def test_numbers_that_compare_oddly() -> None:
    """0.0 and -0.0 are one value and NaN is a value; all their rows are published."""
    numbers = [0.0, -0.0, float("nan"), float("nan"), 1.5, 1.5]
    table = pa.table({"x": pa.array(numbers), "s": ["a", "b"] * 3})
    hierarchy = Hierarchy("x", {"0": ("0", "*"), "nan": ("nan", "*"), "1.5": ("1.5", "*")})
    release = dv.generalize(
        table,
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers="x",
        sensitive="s",
        hierarchies={"x": hierarchy},
    )
    assert release.plan.levels == {"x": 0}
    found = release.tables()["table"].column("x").to_pylist()
    assert sorted(map(str, (value + 0.0 for value in found))) == [
        "0.0",
        "0.0",
        "1.5",
        "1.5",
        "nan",
        "nan",
    ]


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
        table,
        policy=dv.Policy(k_anonymity=2),
        quasi_identifiers=names[:3],
        sensitive=names[3],
        hierarchies={names[2]: AGE},
    )
    for kind in ("csv", "parquet", "arrow"):
        folder = release.write(tmp_path / kind, format=kind)
        # counted by SQL, read by Arrow
        assert (
            min(
                classes(
                    dv.read(folder / f"table.{kind}")
                    .engine.query(f"SELECT * FROM {dv.read(folder / f'table.{kind}').relation}")
                    .to_pylist(),
                    names[:3],
                ).values()
            )
            >= 2
        )


def test_one_row_and_one_quasi_identifier(tmp_path: Path) -> None:
    table = pa.table({"zip": ["1"], "disease": ["a"]})
    asked: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "hierarchies": TWO_ZIPS,
    }
    release = dv.generalize(table, policy=dv.Policy(uniques=1000), **asked)
    assert release.tables()["table"].to_pylist() == [{"zip": "1", "disease": "a"}]
    release.write(tmp_path / "out")
    with pytest.raises(Infeasible):
        dv.generalize(table, policy=dv.Policy(k_anonymity=2), **asked)


def test_without_a_sensitive_column() -> None:
    release = patients(sensitive=(), table=PATIENTS.drop_columns(["disease"]))
    assert set(release.tables()["table"].column_names) == set(QI)


def test_several_sensitive_columns_and_a_requirement_for_one() -> None:
    table = PATIENTS.append_column("job", pa.array(["a", "b", "c"] * 3))
    policy = dv.Policy(
        [
            Promise.make("l_diversity", 3, attribute="job"),
            Promise.make("l_diversity", 2, attribute="disease"),
        ],
        k_anonymity=3,
    )
    release = patients(table=table, sensitive=("disease", "job"), policy=policy)
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in release.tables()["table"].to_pylist():
        groups.setdefault((row["zip"], row["age"]), []).append(row)
    assert all(len({row["job"] for row in rows}) >= 3 for rows in groups.values())
    assert all(len({row["disease"] for row in rows}) >= 2 for rows in groups.values())


def visits(zips: list[str]) -> pa.Table:
    """Two visits of each patient, the second under another zip code if one is passed."""
    first = pa.table(
        {
            "patient": list("abcdef"),
            "zip": ["1", "1", "1", "2", "2", "2"],
            "disease": ["x", "y", "z"] * 2,
        }
    )
    second = pa.table({"patient": list("abcdef"), "zip": zips, "disease": ["y", "y", "x"] * 2})
    return pa.concat_tables([first, second])


def test_people_with_several_rows_are_counted_as_people(tmp_path: Path) -> None:
    table = visits(["1", "1", "1", "2", "2", "2"])
    asked: dict[str, Any] = {
        "quasi_identifiers": "zip",
        "sensitive": "disease",
        "person": "patient",
    }
    release = dv.generalize(table, policy=dv.Policy(k_anonymity=3), **asked)
    assert release.plan.levels == {"zip": 0}
    assert (release.after.people, release.after["k_anonymity"].value) == (6, 3)
    assert release.tables()["table"].num_rows == 12
    assert "patient" not in release.tables()["table"].column_names
    release.write(tmp_path / "out")
    # Six rows in each class, but three people: for 4 the classes must merge.
    merged = dv.generalize(table, policy=dv.Policy(k_anonymity=4), **asked)
    assert merged.plan.levels == {"zip": 1}
    assert merged.after["k_anonymity"].value == 6


def test_people_in_several_classes_are_an_error_with_the_reason() -> None:
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
    for row in weighted.tables()["table"].to_pylist():
        groups[row["zip"], row["age"]] = groups.get((row["zip"], row["age"]), 0.0) + row["w"]
    assert min(groups.values()) >= 5
    everybody = pa.concat_tables([PATIENTS] * 3)
    released = patients(policy=dv.Policy(k_map=9), population=everybody)
    assert released.after.identity["k_map"].value == 9
    assert released.after.settings["population"] == "table"
    released.write(tmp_path / "population")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"id": list(range(1, 10))}, "'id' numbers the rows"),
        ({"position": [float(i) for i in range(9)]}, "'position' numbers the rows"),
        ({"position": [Decimal(i) for i in range(9)]}, "'position' numbers the rows"),
        ({"email": [f"{i % 8}@example.com" for i in range(9)]}, "'email' looks like an identifier"),
        ({"tags": [["a"]] * 9}, "'tags' holds nested values"),
    ],
)
def test_a_column_without_a_role_is_not_published_by_accident(
    column: dict[str, Any], message: str
) -> None:
    name = next(iter(column))
    table = PATIENTS.append_column(name, pa.array(column[name]))
    with pytest.raises(BadInput, match=message):
        patients(table=table)
    assert name in patients(table=table, plain=name).tables()["table"].column_names
    if name != "tags":
        assert (
            name
            not in patients(table=table, identifier=("name", name)).tables()["table"].column_names
        )


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        # as pandas holds whole numbers of which one is missing
        ([*(1000.0 + 7 * i for i in range(29)), None], True),
        ([*(1000.0 + 7 * i for i in range(29)), float("nan")], True),
        ([Decimal(1000 + 7 * i) for i in range(30)], True),
        ([1000.5 + 7 * i for i in range(30)], False),  # a measurement
        ([float(i % 10) for i in range(30)], False),
    ],
)
def test_a_key_is_recognized_in_any_type_of_number(
    values: list[Any],
    refused: bool,  # noqa: FBT001
) -> None:
    table = pa.table(
        {"zip": ["1", "2", "3"] * 10, "disease": ["flu", "cold"] * 15, "reading": pa.array(values)}
    )
    anybody = dv.Policy(k_anonymity=2)
    asked: dict[str, Any] = {"policy": anybody, "quasi_identifiers": "zip", "sensitive": "disease"}
    left_out = dv.anatomize(table, sensitive="disease", beta="1/2").left_out
    assert left_out == ({"reading": ANY} if refused else {})
    if refused:
        with pytest.raises(BadInput, match="'reading' looks like an identifier"):
            dv.generalize(table, **asked)
    else:
        found = dv.check(table, anybody, quasi_identifiers="zip", sensitive="disease").findings
        assert {finding.guard for finding in found} <= {"unique_share"}


def test_hierarchies_from_everywhere(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text(
        "".join(f"{value};{value[:4]}*;*\n" for value in PATIENTS.column("zip").to_pylist()),
        encoding="utf-8",
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
    from_policy: GeneralizedRelease = dv.generalize(PATIENTS, policy=policy)
    assert from_policy.plan.levels == {"zip": 1, "age": 2}
    folder = patients(hierarchies=tmp_path)
    assert folder.plan.levels["zip"] == 1
    assert list(folder.suggestions) == ["age"]
    seen: list[Any] = []
    patients(hierarchies={}, announce=seen.append)
    assert [set(suggestions) for suggestions in seen] == [{"zip", "age"}]
    with pytest.raises(BadInput, match="'disease', which is not a quasi-identifier"):
        patients(hierarchies={"disease": {"suppress": True}})


def test_selected_people_get_requirements_of_their_own(tmp_path: Path) -> None:
    """Classes of two suffice in general, but people over 50 need classes of four.

    Only the ranges of 20 years meet that.
    """
    table = pa.table({"age": [30, 30, 40, 40, 51, 52], "disease": ["a", "b"] * 3})
    asked: dict[str, Any] = {
        "policy": dv.Policy(k_anonymity=2),
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "hierarchies": {"age": {"intervals": [10, 20]}},
    }
    assert dv.generalize(table, **asked).plan.levels == {"age": 1}
    older = Protection.make({"k_anonymity": 4}, where={"age": ">50"})
    release = dv.generalize(table, **asked, protections=[older])
    assert release.plan.levels == {"age": 2}
    assert classes(release.tables()["table"].to_pylist(), ("age",)) == {
        ("[20, 40)",): 2,
        ("[40, 60)",): 4,
    }
    release.write(tmp_path / "out")


def test_mondrian(tmp_path: Path) -> None:
    release = patients(method="mondrian", hierarchies={})
    rows = release.tables()["table"].to_pylist()
    assert len(rows) == 9
    assert min(classes(rows).values()) >= 3
    assert names(private_place(release.write(tmp_path / "out")) / "mapping") == [
        "boxes.json",
        "original.json",
        "rules.json",
        "types.json",
    ]


def test_bad_requests() -> None:
    with pytest.raises(BadInput, match="no quasi-identifiers"):
        patients(quasi_identifiers=())
    with pytest.raises(BadInput, match="no method 'magic'"):
        patients(method="magic")
    with pytest.raises(BadInput, match="original itself"):
        patients(original=PATIENTS)
    with pytest.raises(BadInput, match="no promise"):
        patients(policy=dv.Policy())
