# SPDX-License-Identifier: Apache-2.0
"""Utility by hand, by brute force over all possible values, by scikit-learn, and Bezzi's losses."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import log2, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge import anatomization
from divulge.anatomization import Workload
from divulge.counting import Domain
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, MissingDependency
from divulge.queries import Utility, read_spread
from tests.metrics.adult import complete_adult

Weights = Mapping[tuple[Any, ...], Fraction]
AGES = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
ROLES: dict[str, Any] = {"quasi_identifiers": "age", "sensitive": "disease"}


def test_distances_and_information_by_hand() -> None:
    # [20, 30) gives one record each to 20 and 25, * half a record to each of the four ages: 3/8,
    # 3/8, 1/8, 1/8 compared with 1/4 each.
    coarse = pa.table({"age": ["[20, 30)", "[20, 30)", "*", "*"], "disease": AGES["disease"]})
    found = dv.utility(AGES, coarse, **ROLES)
    assert [(each.column, each.distance) for each in found.columns] == [
        ("age", 0.25),
        ("disease", 0.0),
    ]
    (told,) = found.information
    assert (told.before, told.after, told.loss) == (1.0, 1.0, 0.0)
    # Half of each flu record is at 20, half of each cold one at every age: chi2/n = 1/3.
    (pair,) = found.associations
    assert (pair.true.phi2, pair.reconstructed.phi2) == pytest.approx((1.0, 1 / 3))
    assert found.rows == found.published == 4


def test_suppressed_people_contribute_no_information() -> None:
    """Two of four people, unique in their classes, contributed one bit each.

    Half of I(W;X) is lost with them.
    """
    half = pa.table({"age": ["20", "45"], "disease": ["flu", "cold"]})
    found = dv.utility(AGES, half, **ROLES)
    assert (found.rows, found.published) == (4, 2)
    assert found.information[0].after == pytest.approx(0.5)
    assert found.information[0].loss == pytest.approx(0.5)
    assert found.columns[0].distance == pytest.approx(0.5)
    assert found.summary["rows_left_out"] == 0.5


def test_the_summary_has_query_errors_only_if_there_were_queries() -> None:
    without_queries = dv.utility(AGES, AGES, **ROLES, queries=0)
    assert without_queries.recq is None
    assert not [name for name in without_queries.summary if name.startswith("query_error")]
    errors = anatomization.Recq(
        Workload(queries=4), queries=4, mean=0.5, median=0.25, p90=1.0, below_floor=0
    )
    summary = replace(without_queries, recq=errors).summary
    assert summary["query_error_median"] == 0.25
    assert summary["query_error_mean"] == 0.5


@pytest.mark.parametrize(
    ("label", "stands_for"),
    [
        ("34", ["34"]),
        ("34.0", ["34"]),
        ("99", []),
        (None, [None]),
        ("*", ["4761", "4762", "34", "7", None]),
        ("[7, 34)", ["7"]),
        ("[7, 34[", ["7"]),
        ("[7, 34]", ["7", "34"]),
        ("<34", ["7"]),
        (">=34", ["4761", "4762", "34"]),
        ("476*", ["4761", "4762"]),
        ("47**", ["4761", "4762"]),
        ("4762**", ["4762"]),
        ("7-34", ["7", "34"]),
        ("{34, null}", ["34", None]),
        ("{34,7}", ["34", "7"]),
        ("{34, 99}", ["34"]),
    ],
)
def test_labels_are_read_as_written(label: str | None, stands_for: list[str | None]) -> None:
    values = ["4761", "4762", "34", "7", None]
    spread = read_spread(_texts(values), _texts([label]), known_values=None, hierarchy=None)
    assert {values[place] for place in spread.value.tolist()} == set(stands_for)


def test_labels_are_read_as_compose_reads_them() -> None:
    """20-25 is both ages; its records are split equally, so nothing of the marginal is lost."""
    ranges = AGES.set_column(0, "age", pa.array(["20-25", "20-25", "40-45", "40-45"]))
    days = pa.table({"age": ["2024-01-01", "2024-02-01"], "disease": ["flu", "cold"]})
    months = pa.table(
        {
            "age": ["[2024-01-01, 2024-02-01)", "[2024-02-01, 2024-02-29]"],
            "disease": ["flu", "cold"],
        }
    )
    for truth, labels in ((AGES, ranges), (days, months)):
        found = dv.utility(truth, labels, **ROLES)
        assert [(each.column, each.distance) for each in found.columns] == [
            ("age", 0.0),
            ("disease", 0.0),
        ]
        assert found.columns[0].read_by == "as written"
    (other,) = dv.compare({"truth": AGES, "ranges": ranges}, original=AGES, **ROLES).others
    assert other.utility is not None
    assert other.utility.columns[0].distance == 0.0


def _texts(values: Sequence[str | None]) -> Domain:
    return Domain("x", pa.array(values, pa.string()), "text")


def test_an_unreadable_label_is_an_error_unless_a_hierarchy_defines_it() -> None:
    young = pa.table({"age": ["young", "young", "old", "old"], "disease": AGES["disease"]})
    with pytest.raises(
        BadInput, match="it is not known which values of 'age' the label 'old' stands for"
    ):
        dv.utility(AGES, young, **ROLES)
    rows = {"20": ["young"], "25": ["young"], "40": ["old"], "45": ["old"]}
    found = dv.utility(AGES, young, **ROLES, hierarchies={"age": {"rows": rows}})
    assert found.columns[0].read_by == "hierarchy"
    assert found.columns[0].distance == 0.0


# --- brute force ----------------------------------------------------------------------------------
def spread_by_hand(
    rows: Sequence[Sequence[str]], meaning: Sequence[Mapping[str, Sequence[str]]]
) -> dict[tuple[str, ...], Fraction]:
    """Each record, split equally over all combinations of values that it may have had."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        values = [stands_for[label] for stands_for, label in zip(meaning, row, strict=True)]
        for combination in product(*values):
            found[combination] += Fraction(1, prod(map(len, values)))  # type: ignore[assignment]
    return dict(found)  # type: ignore[arg-type]


def over(weights: Weights, places: Sequence[int]) -> dict[tuple[Any, ...], Fraction]:
    total: Counter[tuple[Any, ...]] = Counter()
    for key, weight in weights.items():
        total[tuple(key[place] for place in places)] += weight  # type: ignore[assignment]
    whole = sum(total.values())
    return {key: Fraction(weight) / whole for key, weight in total.items()}


def v_and_information(weights: Weights, left: int, right: int) -> tuple[float, float]:
    joint, one, other = over(weights, [left, right]), over(weights, [left]), over(weights, [right])
    expected = {(a, b): one[a,] * other[b,] for (a,) in one for (b,) in other}
    square = sum(
        (joint.get(pair, Fraction(0)) - share) ** 2 / share for pair, share in expected.items()
    )
    fewest = min(len(one), len(other))
    bits = sum(float(share) * log2(share / expected[pair]) for pair, share in joint.items())
    return (sqrt(square / (fewest - 1)) if fewest > 1 else 0.0), bits


TREE = {"a": "A", "b": "A", "c": "B", "d": "B"}


@st.composite
def recoded(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]], list[dict[str, list[str]]]]:
    """A table of three columns with some generalized cells.

    Some cells of the first two are labels of their tree or *, and some rows are suppressed.
    """
    rows = draw(
        st.lists(st.tuples(*[st.sampled_from("abcd")] * 3).map(list), min_size=2, max_size=8)
    )
    values = [sorted({row[place] for row in rows}) for place in range(3)]
    meaning = [{value: [value] for value in column} for column in values]
    for place in (0, 1):
        meaning[place] |= {top: [v for v in values[place] if TREE[v] == top] for top in "AB"}
        meaning[place]["*"] = values[place]
    released = []
    for row in rows:
        coarser = [draw(st.sampled_from([row[place], TREE[row[place]], "*"])) for place in (0, 1)]
        released.append([*coarser, row[2]])
    kept = draw(st.lists(st.sampled_from(released), min_size=1, max_size=len(rows)))
    return rows, kept, meaning


@given(example=recoded(), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=12)
def test_utility_equals_brute_force(
    example: tuple[list[list[str]], list[list[str]], list[dict[str, list[str]]]], seed: int
) -> None:
    rows, released, meaning = example
    names = ["x", "y", "s"]
    original, table = (
        pa.table({name: [row[i] for row in some] for i, name in enumerate(names)})
        for some in (rows, released)
    )
    labels = {value: [top, "*"] for value, top in TREE.items()}
    found = dv.utility(
        original,
        table,
        quasi_identifiers=["x", "y"],
        sensitive="s",
        hierarchies={"x": {"rows": labels}, "y": {"rows": labels}},
        queries=10,
        seed=seed,
    )
    true = {key: Fraction(count) for key, count in Counter(map(tuple, rows)).items()}
    told = spread_by_hand(released, meaning)
    for place, column in enumerate(found.columns):
        before, after = over(true, [place]), over(told, [place])
        distance = (
            sum(abs(before.get(v, Fraction(0)) - after.get(v, Fraction(0))) for v in before | after)
            / 2
        )
        assert column.distance == pytest.approx(float(distance), abs=1e-9)
    for (left, right), pair in zip(combinations(range(3), 2), found.associations, strict=True):
        assert (sqrt(pair.true.phi2), pair.true.mutual_information) == pytest.approx(
            v_and_information(true, left, right), abs=1e-6
        )
        assert (
            sqrt(pair.reconstructed.phi2),
            pair.reconstructed.mutual_information,
        ) == pytest.approx(v_and_information(told, left, right), abs=1e-6)
    assert found.recq is not None
    assert found.recq.median == pytest.approx(_median_error(original, told, seed), abs=1e-9)
    _check_information(found, rows, released)


def _median_error(original: pa.Table, told: Weights, seed: int) -> float:
    coded = anatomization.read_rows(dv.read(original), ["x", "y", "s"])
    errors = []
    for query in Workload(queries=10, seed=seed).draw(coded, ["x", "y"], ["s"]):
        asked = {
            name: {label for label, yes in zip(coded.domain(name).labels, mask, strict=True) if yes}
            for name, mask in query.masks.items()
        }
        place = {"x": 0, "y": 1, "s": 2}
        records = zip(*(original[name].to_pylist() for name in place), strict=True)
        count = sum(
            all(row[place[name]] in wanted for name, wanted in asked.items()) for row in records
        )
        answer = sum(
            weight
            for key, weight in told.items()
            if all(key[place[name]] in wanted for name, wanted in asked.items())
        )
        errors.append(abs(count - float(answer)) / max(count, 1))
    return float(np.median(errors))


def _check_information(
    found: Utility, rows: Sequence[Sequence[str]], released: Sequence[Sequence[str]]
) -> None:
    """Check the sum of n_cw/N log2(p(w|c) / p(w)), p(w) of the original (Bezzi 2010, eq. 9)."""
    prior = Counter(row[2] for row in rows)

    def bits(some: Sequence[Sequence[str]]) -> float:
        classes = Counter((row[0], row[1]) for row in some)
        cells = Counter(map(tuple, some))
        return sum(
            n / len(rows) * log2(n / classes[x, y] / (prior[s] / len(rows)))
            for (x, y, s), n in cells.items()
        )

    assert found.information[0].before == pytest.approx(bits(rows), abs=1e-9)
    assert found.information[0].after == pytest.approx(bits(released), abs=1e-9)


@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from("abc")] * 2, st.sampled_from("st")), min_size=4, max_size=9
    ),
    group=st.lists(st.integers(1, 3), min_size=9, max_size=9),
)
@settings(deadline=None, max_examples=10)
def test_utility_of_an_anatomized_release_equals_brute_force(
    rows: list[tuple[str, ...]], group: list[int]
) -> None:
    """Every row of one table may belong to every row of the others in its group."""
    names = ["x", "y", "s"]
    tables = [
        pa.table({"GID": group[: len(rows)], name: [row[place] for row in rows]})
        for place, name in enumerate(names)
    ]
    original = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    found = dv.utility(original, tables, quasi_identifiers=["x", "y"], sensitive="s", queries=0)
    told: Counter[tuple[str, ...]] = Counter()
    for number in set(group[: len(rows)]):
        here = [row for row, own in zip(rows, group, strict=False) if own == number]
        for three in product(here, repeat=3):
            told[three[0][0], three[1][1], three[2][2]] += Fraction(1, len(here) ** 2)  # type: ignore[assignment]
    joint = {((x, y), s): Fraction(weight) for (x, y, s), weight in told.items()}
    assert found.information[0].after == pytest.approx(v_and_information(joint, 0, 1)[1], abs=1e-9)
    for (left, right), pair in zip(combinations(range(3), 2), found.associations, strict=True):
        expected = v_and_information(
            {key: Fraction(weight) for key, weight in told.items()}, left, right
        )
        assert (
            sqrt(pair.reconstructed.phi2),
            pair.reconstructed.mutual_information,
        ) == pytest.approx(expected, abs=1e-6)
    assert [column.distance for column in found.columns] == [0.0, 0.0, 0.0]


# --- our own releases -----------------------------------------------------------------------------
PATIENTS = dv.datasets.patients(rows=200)
OURS: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age"],
    "sensitive": "diagnosis",
    "identifier": "patient_id",
    "leave_out": ["income", "education", "occupation", "marital_status", "insurance"],
    "plain": "sex",
}


@pytest.mark.parametrize("method", ["full-domain", "mondrian", "relaxed-mondrian"])
def test_utility_of_a_folder_equals_that_of_the_release(method: Any, tmp_path: Path) -> None:
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 4}, method=method, **OURS)
    folder = release.write(tmp_path / "release")
    # Relaxed boxes share values, and a folder does not record which row is in which box.
    target: dict[str, Any] = {} if method == "relaxed-mondrian" else {"target": "sex", "folds": 2}
    one, other = (
        dv.utility(PATIENTS, each, queries=50, **target).to_dict() for each in (release, folder)
    )
    for told in (one, other):
        told["settings"].pop("release")
    assert one == other
    opened = dv.utility(PATIENTS, dv.open_release(folder), queries=50)
    assert opened.columns == dv.utility(PATIENTS, release, queries=50).columns


def test_utility_of_an_anatomized_folder_has_no_model(tmp_path: Path) -> None:
    release = dv.anatomize(
        PATIENTS, sensitive="diagnosis", quasi_identifiers=["zip", "age", "sex"], beta="1/3", seed=1
    )
    folder = release.write(tmp_path / "release")
    one, other = (dv.utility(PATIENTS, each, queries=50) for each in (release, folder))
    assert one.recq == other.recq
    assert one.columns == other.columns
    assert one.information[0].after == pytest.approx(other.information[0].after)
    known = {frozenset((each.left, each.right)): each for each in release.associations()}
    assert len(known) == len(one.associations)
    for mine in one.associations:
        theirs = known[frozenset((mine.left, mine.right))]
        assert mine.exact == theirs.exact
        assert mine.reconstructed.phi2 == pytest.approx(theirs.reconstructed.phi2)
    assert one.recq == release.recq(Workload(queries=50))
    with pytest.raises(
        BadInput, match="which rows of the original are in which group is not known"
    ):
        dv.utility(PATIENTS, folder, target="sex")


def test_distances_and_associations_wherever_the_rows_are(
    engine: DuckDBEngine | SparkEngine, tmp_path: Path
) -> None:
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 4}, **OURS)
    import pyarrow.parquet as pq

    pq.write_table(PATIENTS, tmp_path / "patients.parquet")
    pq.write_table(release.tables(seed=1)["table"], tmp_path / "release.parquet")
    roles = {"quasi_identifiers": OURS["quasi_identifiers"], "sensitive": "diagnosis"}
    asked: dict[str, Any] = {**roles, "queries": 20}
    found = dv.utility(
        str(tmp_path / "patients.parquet"),
        str(tmp_path / "release.parquet"),
        **asked,
        engine=engine,
    )
    expected = dv.utility(PATIENTS, release.tables(seed=1)["table"], **asked)
    assert [each.distance for each in found.columns] == pytest.approx(
        [each.distance for each in expected.columns]
    )
    assert found.recq == expected.recq
    assert found.information[0].loss == pytest.approx(expected.information[0].loss)


def test_a_table_too_large_for_memory_is_not_queried() -> None:
    engine = DuckDBEngine()
    engine.row_limit = 100
    found = dv.utility(
        dv.read(PATIENTS, engine=engine), PATIENTS, quasi_identifiers="sex", sensitive="diagnosis"
    )
    assert found.recq is None
    assert "more rows than may come to memory" in found.notes[0]
    with pytest.raises(BadInput, match="more rows than may come to memory"):
        dv.utility(dv.read(PATIENTS, engine=engine), PATIENTS, target="sex")


# --- the model ------------------------------------------------------------------------------------
def test_the_model_equals_scikit_learn_on_equal_folds() -> None:
    """Rows one by one, one-hot by pandas, the folds assigned by the documented rule.

    The AUC is scikit-learn's own.
    """
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(4)
    rows = 300
    age, zip_ = rng.integers(20, 60, rows), rng.choice(["11", "12", "21"], rows)
    income = np.where(age + 10 * (zip_ == "21") + rng.normal(0, 12, rows) > 45, "high", "low")
    frame = pd.DataFrame({"age": age, "zip": zip_, "income": income})
    release = dv.generalize(
        frame,
        policy={"k_anonymity": 20},
        quasi_identifiers=["age", "zip"],
        sensitive="income",
        hierarchies={"age": {"intervals": [10, 20]}, "zip": {"prefix": [1]}},
    )
    found = dv.utility(frame, release, target="income", folds=4, seed=7, queries=0).model
    assert found is not None
    (score,) = found.scores
    assert score.name == "auc"
    ordered = frame.sort_values(["age", "zip", "income"], ignore_index=True)
    fold = np.zeros(rows, dtype=int)
    deal = np.random.default_rng(7)
    for value in ("high", "low"):
        these = deal.permutation(np.flatnonzero(ordered["income"] == value))
        fold[these] = np.arange(len(these)) % 4
    mapped = {
        name: {v: label for label, vs in _meaning(release, name, frame).items() for v in vs}
        for name in ("age", "zip")
    }
    coarse = pd.DataFrame(
        {name: ordered[name].astype(str).replace(mapped[name]) for name in mapped}
    )
    y = (ordered["income"] == "low").to_numpy()
    for place, table in enumerate((ordered[["age", "zip"]].astype(str), coarse)):
        x = pd.get_dummies(table).to_numpy(dtype=float)
        for number, both in enumerate(score.folds):
            held = fold == number
            model = LogisticRegression(max_iter=2000).fit(x[~held], y[~held])
            assert both[place] == pytest.approx(
                roc_auc_score(y[held], model.decision_function(x[held])), abs=2e-3
            )
    assert score.before > 0.75
    assert score.guess == 0.5
    assert found.settings["folds"] == 4


def _meaning(release: Any, name: str, frame: Any) -> Any:
    values = pa.array(sorted(frame[name].unique()))
    return release.values_of(Domain(name, values, "number"))


def test_three_values_have_accuracy_and_a_suppressed_column_adds_nothing() -> None:
    rows = 90
    original = pa.table({"x": ["a", "b", "c"] * (rows // 3), "y": ["p", "q", "r"] * (rows // 3)})
    wiped = pa.table({"x": ["*"] * rows, "y": original["y"]})
    found = dv.utility(
        original, wiped, quasi_identifiers="x", sensitive="y", target="y", queries=0
    ).model
    assert found is not None
    assert [score.name for score in found.scores] == ["accuracy", "balanced_accuracy"]
    assert all((score.before, score.guess) == pytest.approx((1.0, 1 / 3)) for score in found.scores)
    assert all(score.after == pytest.approx(1 / 3) for score in found.scores)


def test_the_baseline_of_accuracy_is_the_share_of_the_most_common_value() -> None:
    """60 of 90 records are p; a model that learns nothing from `*` says p for everyone."""
    values = ["p"] * 60 + ["q"] * 20 + ["r"] * 10
    original = pa.table({"x": values, "y": values})
    suppressed = pa.table({"x": ["*"] * 90, "y": values})
    quality = dv.utility(
        original, suppressed, quasi_identifiers="x", sensitive="y", target="y", queries=0
    ).model
    assert quality is not None
    accuracy, balanced_accuracy = quality.scores
    assert (accuracy.guess, balanced_accuracy.guess) == pytest.approx((2 / 3, 1 / 3))
    assert (accuracy.after, balanced_accuracy.after) == pytest.approx((2 / 3, 1 / 3))


def test_records_of_a_group_are_mixed_for_the_model_and_a_group_is_never_divided() -> None:
    """Column x determines y; groups of one record mix nothing.

    So the release is as good as the original.
    """
    rows = 60
    table = pa.table({"x": ["a", "b"] * (rows // 2), "y": ["p", "q"] * (rows // 2)})
    apart = dv.anatomize(
        table, sensitive="y", quasi_identifiers="x", method="permutation", group_size=1, seed=1
    )
    mixed = dv.anatomize(table, sensitive="y", quasi_identifiers="x", beta="1/2", seed=1)
    one, other = (
        dv.utility(table, each, target="y", folds=3, queries=0).model for each in (apart, mixed)
    )
    assert one is not None
    assert other is not None
    assert (one.scores[0].before, one.scores[0].after) == (1.0, 1.0)
    assert other.scores[0].before == 1.0
    assert other.scores[0].after < 1.0
    assert other.settings["records"].startswith("put together at random within each group")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"target": "nothing"}, "the target 'nothing' is not a column of both tables"),
        ({"target": "age"}, "published in a coarser form"),
        ({"target": "disease", "folds": 1}, "folds = 1 leaves nothing to learn from"),
        ({"target": "disease", "folds": 4}, "a fold has only one value"),
        ({"queries": -1}, "queries = -1 is not possible"),
        ({"quasi_identifiers": "height"}, "has no column 'height'"),
        ({"hierarchies": {"height": {"suppress": True}}}, "which is not compared"),
    ],
)
def test_utility_that_cannot_be_measured_is_an_error(asked: dict[str, Any], told: str) -> None:
    coarse = pa.table(
        {"age": ["[20, 30)", "[20, 30)", "[40, 50)", "[40, 50)"], "disease": AGES["disease"]}
    )
    with pytest.raises(BadInput, match=told):
        dv.utility(AGES, coarse, **{**ROLES, **asked})


def test_tables_without_a_common_column_are_an_error() -> None:
    with pytest.raises(BadInput, match="have no column in common"):
        dv.utility(AGES, pa.table({"x": [1]}))


def test_without_scikit_learn_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(
        MissingDependency, match="a model needs scikit-learn, which is not installed"
    ):
        dv.utility(AGES, AGES, target="disease")


def test_the_document_has_everything_and_the_settings() -> None:
    found = dv.utility(AGES, AGES, **ROLES, queries=5)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["summary"]["mean_distance"] == 0
    assert told["settings"]["queries"]["seed"] == 0
    assert told["settings"]["labels"] == {"age": "value", "disease": "value"}
    assert {row["what"] for row in found.to_frame().to_pylist()} == {
        "distance",
        "cramers_v",
        "query_error",
        "information",
    }


# --- Bezzi 2010, section 4 ------------------------------------------------------------------------
@pytest.mark.public_data
@pytest.mark.parametrize(
    ("cuts", "loss"),
    [([50], 0.88), ([35, 45, 60], 0.695)],
    ids=["A2: halves of 50 years, as printed", "A1*: the best four ranges"],
)
def test_the_losses_of_bezzi(cuts: list[int], loss: float) -> None:
    """A2 loses 88% of I(W;X), with X the four quasi-identifiers, all but age fully suppressed."""
    people = complete_adult()
    names = ["age", "sex", "race", "education", "marital-status"]
    original = people.select(names)
    ranges = np.searchsorted(cuts, np.asarray(people["age"]), side="right")
    ends = [0, *cuts, 100]
    labels = [f"[{ends[place]}, {ends[place + 1]})" for place in ranges]
    wiped = pa.array(["*"] * people.num_rows)
    release = pa.table(
        {
            "age": labels,
            "sex": wiped,
            "race": wiped,
            "education": wiped,
            "marital-status": people["marital-status"],
        }
    )
    found = dv.utility(
        original, release, quasi_identifiers=names[:4], sensitive="marital-status", queries=0
    )
    assert found.information[0].loss == pytest.approx(loss, abs=5e-3)
