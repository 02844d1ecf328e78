# SPDX-License-Identifier: Apache-2.0
"""rank and growing: numbers of every combination against the brute-force oracle.

All methods of counting are tested, and pruning loses nothing.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import divulge as dv
from divulge.counting import Domain, EncodedColumn
from divulge.engines import DuckDBEngine, Engine
from divulge.errors import BadInput
from divulge.ranking import rollup as rolled_up
from divulge.ranking.distinct_rows import CubeCounter, DistinctRows, choose_cubes
from divulge.sources import Table, read
from tests import oracle
from tests.generalization import drawn
from tests.generalization import oracle as search_oracle
from tests.helpers import run_cli

ENGINE = DuckDBEngine(threads=1)
NAMES = ("a", "b", "c", "d")
TABLES = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.sampled_from(["x", "y", None]),
            "b": st.integers(0, 4),
            "c": st.booleans(),
            "d": st.integers(0, 30),
            "s": st.sampled_from(["flu", "cold", None]),
            "t": st.integers(0, 9),
        }
    ),
    min_size=1,
    max_size=25,
)
# Methods of counting a combination: a shared cube, a cube of its own, refined classes with a dense
# table, and refined classes cell by cell.
WAYS = {
    "shared cubes": {},
    "own cubes": {"_SMALLEST_CUBE": 1, "_SHARED_CELLS": 1, "_CELLS_PER_ENTRY": 10**6},
    "refined": {"_SMALLEST_CUBE": 1, "_SHARED_CELLS": 1, "_CELLS_PER_ENTRY": 0},
}


@contextmanager
def way(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for constant, value in WAYS[name].items():
            patch.setattr(rolled_up, constant, value)
        yield


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    types = {
        "a": pa.string(),
        "b": pa.int64(),
        "c": pa.bool_(),
        "d": pa.int64(),
        "s": pa.string(),
        "t": pa.int64(),
    }
    return read(
        pa.table(
            {name: pa.array([row[name] for row in rows], type_) for name, type_ in types.items()}
        ),
        engine=ENGINE,
    )


def check(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], found: Any) -> None:
    """Compare the numbers of one combination with the definitions."""
    expected = oracle.identity(rows, columns)
    classes = [len(members) for members in oracle.group(rows, columns)]
    pairs = len(rows) * (len(rows) - 1)
    told_apart = 1 - sum(size * (size - 1) for size in classes) / pairs if pairs else 0.0
    assert found.identity == pytest.approx(
        {
            name: expected[name][0]
            for name in ("k_anonymity", "classes", "uniques", "discrimination_rate", "itpr")
        }
        # The best guess of the person of a record: one of the people of the class.
        | {"posterior_vulnerability": len(classes) / len(rows)}
        | {"distinction": len(classes) / len(rows), "separation": told_apart},
        abs=1e-9,
    )
    for attribute, numbers in found.sensitive.items():
        exact = oracle.sensitive(
            [Counter(row[attribute] for row in members) for members in oracle.group(rows, columns)]
        )
        assert numbers == pytest.approx({name: exact[name][0] for name in numbers}, abs=1e-9)
        assert len(numbers) == 6


@pytest.mark.parametrize("name", WAYS)
@settings(deadline=None, max_examples=15)
@given(rows=TABLES)
def test_every_combination_has_the_numbers_of_its_definition(
    name: str, rows: list[dict[str, Any]]
) -> None:
    with way(name):
        found = dv.rank(
            table_of(rows), quasi_identifiers=NAMES, sensitive=["s", "t"], sets=[["d", "a"]]
        )
    assert found.rows == len(rows)
    assert [item.columns for item in found.sets] == [("d", "a")]
    assert sorted(item.columns for item in found.combinations) == sorted(
        columns for size in (1, 2, 3) for columns in itertools.combinations(NAMES, size)
    )
    for item in (*found.combinations, found.everything, *found.sets):
        check(rows, item.columns, item)
    for attribute in found.attributes:
        others = tuple(name for name in NAMES if name != attribute.attribute)
        assert attribute.without is not None
        assert attribute.without.columns == others
        check(rows, others, attribute.without)


@pytest.mark.parametrize("name", WAYS)
@settings(deadline=None, max_examples=15)
@given(rows=TABLES, every=st.integers(1, 5))
def test_growing_sets_have_the_numbers_of_their_definition(
    name: str, rows: list[dict[str, Any]], every: int
) -> None:
    with way(name):
        found = dv.growing(
            table_of(rows), quasi_identifiers=NAMES, sensitive=["s", "t"], every=every
        )
        identity_only = dv.growing(table_of(rows), quasi_identifiers=NAMES, every=every)
    assert found.rows == len(rows)
    assert [step.n for step in found.steps] == [
        n for n in (1, 2, 3, 4) if n in (1, 4) or n % every == 0
    ]
    for item in (*found.alone, *identity_only.alone):
        check(rows, item.columns, item)
    for step in (*found.steps, *identity_only.steps):
        assert step.attribute == NAMES[step.n - 1]
        check(rows, NAMES[: step.n], step)


@settings(deadline=None, max_examples=25)
@given(rows=TABLES, threshold=st.floats(0, 1))
def test_pruning_keeps_the_smallest_combinations(
    rows: list[dict[str, Any]], threshold: float
) -> None:
    everything = dv.rank(table_of(rows), quasi_identifiers=NAMES, up_to=4, threshold=threshold)
    pruned = dv.rank(
        table_of(rows), quasi_identifiers=NAMES, up_to=4, threshold=threshold, prune=True
    )
    assert pruned.pruned is not None
    assert [item.columns for item in pruned.smallest] == [
        item.columns for item in everything.smallest
    ]
    assert [item.rate for item in pruned.smallest] == pytest.approx(
        [item.rate for item in everything.smallest]
    )
    left_out = pruned.pruned.hold_a_smaller_one + pruned.pruned.cannot_reach
    assert len(pruned.combinations) + left_out == len(everything.combinations) == 15
    assert [item.attribute for item in pruned.attributes] == [
        item.attribute for item in everything.attributes
    ]


def test_pruning_by_both_bounds() -> None:
    """Column b is a and c together, and d is constant.

    By hand: {b} identifies, and {a, d} cannot reach the bits of a and d together.
    """
    rows = [{"a": i % 2, "b": i, "c": i // 2, "d": 0} for i in range(8)]
    table = pa.Table.from_pylist(rows)
    found = dv.rank(table, quasi_identifiers=list("abcd"), threshold=0.9, prune=True)
    # Counted: four single columns. Of the pairs only a+c can reach 3 bits (1 + 2); the others, with
    # d, cannot.
    assert sorted(item.columns for item in found.combinations) == [
        ("a",),
        ("a", "c"),
        ("b",),
        ("c",),
        ("d",),
    ]
    assert [item.columns for item in found.smallest] == [("b",), ("a", "c")]
    # a+b, b+c, b+d and all four triples contain b or a+c; a+d and c+d cannot reach the threshold.
    assert found.to_dict()["pruned"] == {"hold_a_smaller_one": 7, "cannot_reach": 2}
    with pytest.raises(BadInput, match="several rows"):
        dv.rank(table, quasi_identifiers=["a"], person="b", prune=True)


def test_cubes_cover_every_combination_once_and_stay_small() -> None:
    values = {f"c{i}": 2 + i for i in range(12)}
    wanted = [names for size in (1, 2, 3) for names in itertools.combinations(values, size)]
    plan = choose_cubes(wanted, values, shared=2_000, cell_limit=1_000)
    taken = [names for parts in plan.values() for names in parts]
    assert sorted(taken) == sorted(
        names for names in wanted if np.prod([values[name] for name in names]) <= 2_000
    )
    assert len(taken) == len(set(taken))
    for cube, parts in plan.items():
        assert np.prod([values[name] for name in cube]) <= 2_000
        assert all(set(names) <= set(cube) for names in parts)
    # Sharing makes far fewer cubes than combinations.
    assert len(plan) < len(taken) / 2


@pytest.mark.parametrize("attribute", [None, "t"])
def test_cubes_share_the_beginning_of_their_keys(attribute: str | None) -> None:
    """Any order of cubes works, even if one cube's keys begin with another's."""
    rows = [
        {name: (i * i + i // 3) % (3 + place) for place, name in enumerate("abct")}
        for i in range(50)
    ]
    columns = {
        name: EncodedColumn(
            Domain(name, pa.array(range(3 + place)), "number"),
            np.array([row[name] for row in rows], dtype=np.int32),
        )
        for place, name in enumerate("abct")
    }
    entries = DistinctRows(columns, np.ones(50, dtype=np.int64))
    asked = [("a", "b", "c"), ("a", "b"), ("a",), ("b", "c"), ("b",), ("a", "b"), ("a", "c")]
    counter = CubeCounter.of(entries, "abc", None if attribute is None else columns[attribute])
    for names, cube in zip(asked, counter.count(asked), strict=True):
        assert cube.names == names
        expected = Counter(
            (row[attribute] if attribute else 0, *(row[name] for name in cube.names))
            for row in rows
        )
        assert {place: int(cube.counts[place]) for place in expected} == dict(expected)
        assert cube.counts.sum() == 50


def test_a_wide_table_of_text() -> None:
    """Each of 40 columns splits the classes in two.

    After n columns there are 2^n classes, until all 64 rows are unique.
    """
    rows = [{f"q{i:02}": f"v{row >> i & 1}" for i in range(40)} for row in range(64)]
    found = dv.growing(pa.Table.from_pylist(rows), quasi_identifiers="q*")
    assert [step.identity["classes"] for step in found.steps] == [2, 4, 8, 16, 32, *[64] * 35]
    assert [step.identity["discrimination_rate"] for step in found.steps[:6]] == pytest.approx(
        [n / 6 for n in range(1, 7)]
    )
    assert found.to_dict()["steps"][5]["identity"]["uniques"] == 64


def test_nulls_can_be_dropped() -> None:
    table = pa.table({"a": [1, 1, 2, None], "b": ["x", "y", None, "y"]})
    kept = dv.growing(table, quasi_identifiers=["a", "b"], nulls="drop")
    assert (kept.rows, [step.identity["classes"] for step in kept.steps]) == (2, [1, 2])
    assert (
        dv.rank(table, quasi_identifiers=["a", "b"], adversary=dv.Adversary(nulls="drop")).rows == 2
    )


def test_progress_is_reported() -> None:
    table = pa.table({"a": [1, 2], "b": [1, 1], "c": [3, 4]})
    heard: list[tuple[int, int]] = []
    dv.rank(
        table,
        quasi_identifiers=list("abc"),
        progress=lambda done, total: heard.append((done, total)),
    )
    assert heard == [(n, 7) for n in range(1, 8)]
    heard.clear()
    dv.growing(
        table,
        quasi_identifiers=list("abc"),
        progress=lambda done, total: heard.append((done, total)),
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_the_commands(tmp_path: Any) -> None:
    path = tmp_path / "people.csv"
    path.write_text("sex,zip,disease\nf,1,flu\nf,2,flu\nm,3,flu\nm,3,cold\n", encoding="utf-8")
    document = run_cli(
        "rank", str(path), "--qi", "sex,zip", "--sensitive", "disease", "--growing", "--json"
    ).json()
    # Four people; sex halves them, so 2 * (1/2) * 1 bit of 2 is left; zip 1 and 2 are unique.
    assert [step["identity"]["itpr"] for step in document["steps"]] == pytest.approx([0.5, 1.0])
    assert [item["columns"] for item in document["alone"]] == [["sex"], ["zip"]]
    assert document["steps"][1]["sensitive"]["disease"]["itpr"] == pytest.approx(1.0)
    shown = run_cli("rank", str(path), "--qi", "sex,zip", "--growing", "--every", "2").out
    assert "The first attributes together" in shown
    pruned = run_cli("rank", str(path), "--qi", "sex,zip", "--threshold", "0.7", "--prune")
    assert "1 that contain an identifying combination" in pruned.out
    assert run_cli("rank", str(path), "--qi", "sex", "--person", "zip", "--growing").code == 2
    with pytest.raises(BadInput, match="every=0"):
        dv.growing(path, quasi_identifiers=["sex"], every=0)


@pytest.mark.parametrize("engine", ["memory", "limit", "spark", "spark collected"], indirect=True)
def test_growing_on_every_engine(engine: Engine) -> None:
    rows = [
        {
            "a": i % 3,
            "b": None if i % 5 == 0 else f"b{i % 4}",
            "c": i % 7 == 0,
            "s": f"d{i * i % 6}",
        }
        for i in range(40)
    ]
    table = pa.Table.from_pylist(rows)
    found = dv.growing(table, quasi_identifiers=list("abc"), sensitive="s", engine=engine)
    assert (found.settings["engine"], found.rows, [step.n for step in found.steps]) == (
        engine.name,
        40,
        [1, 2, 3],
    )
    for item in found.alone:
        check(rows, item.columns, item)
    for step in found.steps:
        check(rows, list("abc")[: step.n], step)


# --- sets that are generalized first (Afifi et al. 2018, Fig. 4) ----------------------------------
PAIRS = (("zip", "age"), ("sex", "zip"), ("age", "sex"))


@given(drawn.tables(least=4), st.sampled_from([0.0, 0.3]))
@settings(max_examples=25, deadline=None)
def test_each_set_is_generalized_and_then_measured(
    rows: list[dict[str, Any]], suppression: float
) -> None:
    """Levels, classes and leakages against every node, row by row."""
    policy = dv.Policy(k_anonymity=2, entropy_leakage=1.0, suppression=suppression)
    roles: dict[str, Any] = {"quasi_identifiers": ["zip", "age", "sex"], "sensitive": "disease"}
    found = dv.rank(
        drawn.arrow(rows),
        **roles,
        sets=PAIRS,
        policy=policy,
        hierarchies=drawn.HIERARCHIES,
        engine=ENGINE,
    )
    assert [item.columns for item in found.anonymized] == [*PAIRS]
    prior = Counter(row["disease"] for row in rows)
    for item in found.anonymized:
        world = search_oracle.World(
            rows, {name: drawn.TAXONOMIES[name] for name in item.columns}, "disease"
        )
        best = search_oracle.best(world, policy.promises, suppression, "loss")
        if best is None:
            assert (item.numbers, item.classes, bool(item.obstacle)) == (None, (), True)
            continue
        assert item.loss == pytest.approx(best[0], abs=1e-9)
        assert item.levels in best[1]
        published = world.published(item.levels, policy.promises, suppression)
        assert published is not None
        classes = oracle.group(published.rows, item.columns)
        counts = [Counter(row["disease"] for row in members) for members in classes]
        told = oracle.sensitive(counts, prior=prior)
        assert item.suppressed == len(published.suppressed)
        keys = [tuple(members[0][name] for name in item.columns) for members in classes]
        by_key = {tuple(map(_text, one.values.values())): one for one in item.classes}
        assert {key: one.people for key, one in by_key.items()} == dict(
            zip(keys, map(len, classes), strict=True)
        )
        for name in ("distribution_leakage", "entropy_leakage"):
            expected = dict(zip(keys, told[name][1] or [], strict=True))
            measured = {key: one.sensitive["disease"][name] for key, one in by_key.items()}
            assert measured == pytest.approx(expected, abs=1e-9)
            assert item.numbers is not None
            assert item.numbers.sensitive["disease"][name] == pytest.approx(
                max(expected.values()), abs=1e-9
            )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def test_generalized_sets_are_reported_in_every_output() -> None:
    """Two people of each zip code and one of each age: zip by itself meets k = 2 unchanged.

    With age something must be generalized.
    """
    people = pa.table(
        {
            "zip": list("1122"),
            "age": ["20", "30", "20", "40"],
            "disease": ["flu", "cold", "flu", "HIV"],
        }
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": ["zip", "age"],
        "sensitive": "disease",
        "policy": {"k_anonymity": 2},
    }
    levels = {"zip": {"suppress": True}, "age": {"suppress": True}}
    found = dv.rank(people, **asked, sets=[["zip"], ["zip", "age"]], hierarchies=levels)
    alone, both = found.anonymized
    assert (alone.levels, len(alone.classes), alone.loss) == ({"zip": 0}, 2, 0.0)
    assert (both.levels, [one.values for one in both.classes]) == (
        {"zip": 0, "age": 1},
        [{"zip": "1", "age": "*"}, {"zip": "2", "age": "*"}],
    )
    frame = found.to_frame().to_pylist()
    assert [(row["set"], row["identity.k_anonymity"]) for row in frame if row["anonymized"]] == [
        ("zip", 2),
        ("zip + age", 2),
    ]
    document = found.to_dict()
    assert document["anonymized"][1]["classes"][0]["values"] == {"zip": "1", "age": "*"}
    assert document["settings"]["promises"] == ["k_anonymity >= 2"]
    drawing = found.chart().to_dict()
    shown = drawing["datasets"][drawing["vconcat"][0]["data"]["name"]]
    assert [(row["class"], row["people"]) for row in shown] == [
        ("1", 2),
        ("2", 2),
        ("1, *", 2),
        ("2, *", 2),
    ]
    assert "zip + age: 2 classes" in str(found)
    nothing = dv.rank(people, **asked | {"policy": {"k_anonymity": 9}}, sets=[["zip"]])
    assert "k_anonymity" in nothing.anonymized[0].obstacle
    assert nothing.anonymized[0].obstacle.splitlines()[0] in str(nothing)
    assert nothing.to_dict()["anonymized"][0]["loss"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"policy": {"k_anonymity": 2}}, "none was named"),
        ({"sets": [["zip"]], "hierarchies": {"zip": {"suppress": True}}}, "without a policy"),
        (
            {
                "sets": [["zip"]],
                "policy": {"k_anonymity": 2},
                "hierarchies": {"zap": {"suppress": True}},
            },
            "'zap'",
        ),
    ],
)
def test_options_of_rank_without_effect_are_errors(arguments: dict[str, Any], told: str) -> None:
    people = pa.table({"zip": list("1122"), "disease": ["flu", "cold", "flu", "HIV"]})
    with pytest.raises(BadInput, match=told):
        dv.rank(people, quasi_identifiers=["zip"], sensitive="disease", **arguments)
