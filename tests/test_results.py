# SPDX-License-Identifier: Apache-2.0
"""Every result follows the same conventions.

A new kind of result without an example here, or without them, fails.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import divulge as dv
import reproduction
from divulge.api import hierarchies
from divulge.results import Result
from tests.output.test_utility_sentences import explanation

LONG = "a column with quite a long name that would not fit into one line of a shell"
PEOPLE = pa.table(
    {
        LONG: ["4761", "4762", "4791", "4792"],
        "age": [1, 2, 3, 4],
        "disease": ["flu", "cold", "flu", "cold"],
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": [LONG], "sensitive": "disease"}


BASES = {"Release", "Several"}
ALICE = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"}, id="alice")
KNOWN = [
    dv.dossier.Record.of({"N": "Alice", "A": "20"}, id="shop"),
    dv.dossier.Record.of({"N": "Alice", "P": ("123", 0.5)}, id="bank"),
]
MERGED = dv.dossier.Resolve("N")


def kinds(kind: type[Result] = Result) -> Iterator[type[Result]]:
    """Yield every kind of result that users get."""
    for each in kind.__subclasses__():
        if (
            not each.__name__.startswith("_")
            and each.__module__.startswith(("divulge", "reproduction"))
            and each.__name__ not in BASES
        ):
            yield each
        yield from kinds(each)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Make one result of each kind."""
    place = tmp_path_factory.mktemp("results")
    release = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, plain="age", **ROLES)
    folder = release.write(place / "generalized")
    anatomized = dv.anatomize(
        PEOPLE, sensitive="disease", quasi_identifiers=[LONG, "age"], beta="1/2"
    )
    levels = hierarchies.build(PEOPLE, [LONG])
    composed = dv.compose([folder, folder], truth=PEOPLE, person=LONG)
    found = [
        dv.measure(PEOPLE, **ROLES),
        dv.measure(PEOPLE, **ROLES).of_class(**{LONG: "4761"}),
        dv.measure(PEOPLE, **ROLES).bands(),
        dv.measure(
            pa.table({"zip": [1, 1, 2, 2, 3], "disease": ["flu", "cold", "flu", "flu", "cold"]}),
            quasi_identifiers="zip",
            sensitive="disease",
        ).independence(),
        dv.measure(PEOPLE, **ROLES).repair(limit=0.5),
        dv.check(PEOPLE, {"k_anonymity": 2}, **ROLES),
        dv.profile(PEOPLE),
        dv.rank(PEOPLE, quasi_identifiers=[LONG, "age"]),
        dv.growing(PEOPLE, quasi_identifiers=[LONG, "age"]),
        dv.tradeoff(PEOPLE, "k_anonymity", **ROLES),
        dv.cut(PEOPLE, "age", about="disease", policy={"k_anonymity": 2}),
        dv.perturbed(PEOPLE, PEOPLE, columns=LONG),
        reproduction.compare_distances(pairs=2, steps=10),
        reproduction.reproduce("afifi", part="Example 8"),
        dv.apply(folder, PEOPLE, place / "later"),
        dv.query(folder, "disease = 'flu'"),
        dv.utility(PEOPLE, release, queries=5),
        dv.compare([PEOPLE, release]),
        composed,
        composed.person("4761"),
        dv.check(anatomized.write(place / "anatomized")),
        levels,
        hierarchies.cover(PEOPLE, levels.hierarchies),
        release,
        release.explain(),
        dv.advise(PEOPLE, sensitive="disease", quasi_identifiers=[LONG, "age"], queries=2),
        anatomized,
        dv.Ledger(place / "ledger").add(folder),
        dv.Ledger(place / "ledger").holdings(),
        dv.report(folder),
        dv.attack(folder, truth=PEOPLE),
        anatomized.explain(),
        *_about_records(),
    ]
    return {type(each).__name__: each for each in found}


def _about_records() -> list[Result]:
    simulate = reproduction.simulate
    few: dict[str, Any] = {"seeds": [0], "records": 10}
    decoys = dv.dossier.candidates_of(
        [dv.dossier.Record.of({"N": "Alice", "P": "999"}, id="decoy")]
    )
    return [
        dv.dossier.leakage(KNOWN[0], ALICE),
        dv.dossier.set_leakage(KNOWN, ALICE),
        dv.dossier.attack(KNOWN, ALICE, MERGED),
        dv.dossier.dip(KNOWN, dv.dossier.Record.of({"N": "Alice"}), MERGED, reference=ALICE),
        dv.dossier.incremental(KNOWN, ALICE, ALICE, operator=MERGED),
        dv.dossier.compare(KNOWN, ALICE, {"all": ALICE}, operator=MERGED),
        dv.dossier.timeline(KNOWN, ALICE, operator=MERGED),
        dv.dossier.without(KNOWN, ALICE, operator=MERGED),
        dv.dossier.choose_disinformation(KNOWN, ALICE, decoys, budget=2, operator=MERGED),
        dv.dossier.enhance(KNOWN),
        dv.dossier.enhance_each(KNOWN, rule="N"),
        dv.dossier.table_leakage([{"A": "2*", "P": "123"}], [ALICE], quasi_identifiers="A"),
        simulate.generate(simulate.Parameters(n=3, records=5), seed=0),
        simulate.run(simulate.Parameters(n=3, records=5), seeds=[0]),
        simulate.table5(**few),
        simulate.figure3("a", steps=2, **few),
        simulate.figure3d(sizes=[4], repeat=1),
    ]


NAMES = (
    "Advice Alternatives AnatomizedRelease Applied Attack AttackResult Built Comparison "
    "ClassDetail Composition "
    "Coverage CutColumn Dip Disinformation "
    "Enhancement Enhancements Entry Estimate Explanation Figure3 Front GeneralizedRelease "
    "GroupPrices Growth "
    "Holdings Increment Independence Leakage Measurement PeopleLeakage PersonDossier "
    "Perturbed Profile Ranking ReleaseCheck Repair Report Reproduction RiskBands Run SetLeakage "
    "Simulation "
    "Table5 TableComparison Timeline "
    "Timings Utility Verdict WithoutLabels"
).split()


@pytest.mark.slow
def test_every_kind_of_result_has_an_example(results: dict[str, Result]) -> None:
    assert {kind.__name__ for kind in kinds()} == set(NAMES) == set(results)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_follows_the_conventions(name: str, results: dict[str, Result]) -> None:
    result: Any = results[name]
    assert "\n" not in repr(result)
    assert len(repr(result)) <= 120
    assert repr(result).startswith(f"<{name}: ")
    assert str(result).strip()
    json.dumps(result.to_dict(), allow_nan=False)
    assert type(result).__dataclass_params__.frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.view = "x"
    assert result.settings
    assert "frame" not in result.to_dict()
    assert result._repr_html_().startswith('<div class="divulge note">')


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_one_table_of_the_kind_that_came_in(
    name: str, results: dict[str, Result]
) -> None:
    found = results[name].to_frame()
    assert isinstance(found, pa.Table)
    assert found.num_columns
    assert found.num_rows
    assert isinstance(dataclasses.replace(results[name], frame="pandas").to_frame(), pd.DataFrame)
    assert isinstance(dataclasses.replace(results[name], frame="polars").to_frame(), pl.DataFrame)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_every_verb_remembers_the_kind_of_frame(kind: type, tmp_path: Path) -> None:
    frame = PEOPLE.to_pandas() if kind is pd.DataFrame else pl.from_arrow(PEOPLE)
    release = dv.generalize(frame, policy={"k_anonymity": 2}, plain="age", **ROLES)
    anatomized = dv.anatomize(
        frame, sensitive="disease", quasi_identifiers=[LONG, "age"], beta="1/2"
    )
    levels = hierarchies.build(frame, [LONG])
    found: list[Result] = [
        dv.measure(frame, **ROLES),
        dv.check(frame, {"k_anonymity": 2}, **ROLES),
        dv.profile(frame),
        dv.rank(frame, quasi_identifiers=[LONG, "age"]),
        dv.growing(frame, quasi_identifiers=[LONG, "age"]),
        dv.tradeoff(frame, "k_anonymity", **ROLES),
        dv.cut(frame, "age", about="disease", policy={"k_anonymity": 2}),
        dv.perturbed(frame, frame, columns=LONG),
        dv.apply(release.write(tmp_path / "generalized"), frame, tmp_path / "later"),
        dv.query(anatomized, "disease = 'flu'"),
        dv.query(list(anatomized.tables().values()), "disease = 'flu'"),
        dv.check(anatomized),
        levels,
        hierarchies.cover(frame, levels.hierarchies),
        release,
        anatomized,
    ]
    assert [type(each).__name__ for each in found if not isinstance(each.to_frame(), kind)] == []


def test_lists_of_steps_are_results_that_can_be_iterated() -> None:
    steps = dv.dossier.timeline(KNOWN, ALICE, operator=MERGED)
    assert [step.id for step in steps] == ["shop", "bank"]
    assert (len(steps), steps[1].id, steps[-1].id) == (2, "bank", "bank")
    assert steps.to_frame()["joined"].to_pylist() == [[], ["shop"]]
    nothing = dv.dossier.timeline([], ALICE, operator=MERGED)
    assert not nothing
    assert nothing.to_frame().column_names == steps.to_frame().column_names


def test_the_steps_of_the_adversary_are_in_the_settings() -> None:
    same = dv.dossier.Equivalence({"N": {"Alice": ["Ally"]}})
    steps = (dv.dossier.Correct(same), dv.dossier.Augment("A", "Z", {"20": "young"}), MERGED)
    settings = dv.dossier.attack(KNOWN, ALICE, dv.dossier.Chain(steps)).settings
    assert settings["equivalence"] is True
    assert settings["augment"] == ["A=Z"]
    assert (settings["resolve"], settings["er"], settings["trust"]) == ("N", "swoosh", 0.0)
    assert settings["cost"] == {"coefficient": 1.0, "exponent": 2}
    link = dv.dossier.Link((dv.dossier.Compared("N", edits=1), "P"), threshold=0.8)
    assert {"link": "N~1,P", "probability": 0.8}.items() <= link.settings.items()


def test_the_table_of_a_measurement_lists_each_metric_or_each_class() -> None:
    people = pd.DataFrame({"zip": ["1", "1", "2"], "disease": ["flu", "cold", "flu"]})
    measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
    table = measured.to_frame().set_index(["scope", "metric"])
    # zip 2 is one person, whose disease is known for certain.
    assert table.loc[
        ("identity", "k_anonymity"), ["value", "unit", "worst_class", "people_in_it"]
    ].tolist() == [1, "people", "zip=2", 1]
    assert table.loc[
        ("sensitive", "l_diversity"), ["attribute", "value", "worst_class"]
    ].tolist() == ["disease", 1, "zip=2"]
    assert len(table) == len(measured.identity) + len(measured.sensitive["disease"])
    assert measured.to_frame(classes=True).equals(measured.classes)
    assert len(measured.classes) == 2


def test_the_table_of_a_verdict_lists_requirements_and_findings() -> None:
    people = pd.DataFrame({"zip": ["1", "1", "2"], "ssn": ["1", "2", "3"]})
    policy = {"k_anonymity": 2, "quasi_identifiers": ["zip"], "identifier": ["ssn"]}
    table = dv.check(people, policy).to_frame()
    assert table[["kind", "promise", "bound", "value", "holds", "breaking_people"]].iloc[
        0
    ].tolist() == ["promise", "k_anonymity >= 2", 2, 1, False, 1]
    assert table[["kind", "promise", "holds"]].iloc[1].tolist() == [
        "finding",
        "identifier_present",
        False,
    ]


def test_the_table_of_a_release_lists_the_treatment_of_each_column() -> None:
    people = pd.DataFrame(
        {"zip": ["4761", "4762", "4791", "4792"], "sex": ["m", "m", "f", "f"], "ssn": list("abcd")}
    )
    policy = dv.Policy(
        k_anonymity=2, hierarchies={"zip": {"prefix": [3, 2]}, "sex": {"suppress": True}}
    )
    release = dv.generalize(
        people, policy=policy, quasi_identifiers=["zip", "sex"], identifier="ssn"
    )
    table = release.to_frame().set_index("column")
    assert table["role"].tolist() == ["quasi_identifiers", "quasi_identifiers", "identifier"]
    assert table["done"].tolist() == ["made coarser", "published as it is", "left out"]
    assert table.loc["zip", ["level", "height", "values_before", "values_after"]].tolist() == [
        1,
        3,
        4,
        2,
    ]


def test_an_opened_release_of_either_kind_is_queried_like_its_folder(tmp_path: Path) -> None:
    generalized = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, plain="age", **ROLES).write(
        tmp_path / "g"
    )
    anatomized = dv.anatomize(
        PEOPLE, sensitive="disease", quasi_identifiers=["age"], beta="1/2"
    ).write(tmp_path / "a")
    for folder in (generalized, anatomized):
        opened = dv.open_release(str(folder))
        for release in (opened, folder, str(folder)):
            assert dv.query(release, "disease = 'flu'").estimate == 2.0


def test_only_its_owner_may_read_an_internal_report(tmp_path: Path) -> None:
    table = pa.table({"age": [30, 30, 40, 40], "disease": ["flu", "cold", "flu", "cold"]})
    measured = dv.measure(table, quasi_identifiers=["age"], sensitive="disease")
    page = tmp_path / "report.html"
    page.write_text("an earlier one, which everybody could read", encoding="utf-8")
    page.chmod(0o644)
    written = dv.report(measured).save(page)
    assert written.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("name_length", "is_cut"), [(74, False), (75, False), (76, True)])
def test_a_result_is_represented_in_120_characters(
    name_length: int,
    is_cut: bool,  # noqa: FBT001
) -> None:
    """Without the name of the method, the summary has 45 characters."""
    summary = f"<Explanation: {'m' * name_length}: entropy 0.5 under 0 promises>"
    assert len(summary) == name_length + 45
    representation = repr(explanation(method="m" * name_length))
    assert representation == (f"{summary[:116]}...>" if is_cut else summary)
