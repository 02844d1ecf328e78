# SPDX-License-Identifier: Apache-2.0
"""Every result has the same manners; a new kind of result without an example here, or without them, fails."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.api import hierarchies
from divulge.cli.main import run
from divulge.results import Result

LONG = "a column with quite a long name that would not fit into one line of a shell"
PEOPLE = pa.table(
    {LONG: ["4761", "4762", "4791", "4792"], "age": [1, 2, 3, 4], "disease": ["flu", "cold", "flu", "cold"]}
)
ROLES: dict[str, Any] = {"quasi_identifiers": [LONG], "sensitive": "disease"}
# Whose numbers depend on nothing but what is told beside them.
WITHOUT_SETTINGS = {"Built", "Coverage", "Estimate", "Resealed"}


def kinds(kind: type[Result] = Result) -> Iterator[type[Result]]:
    """Every kind of result that users get."""
    for each in kind.__subclasses__():
        if not each.__name__.startswith("_") and each.__module__.startswith("divulge") and each.__name__ != "Release":
            yield each
        yield from kinds(each)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """One of each kind."""
    place = tmp_path_factory.mktemp("results")
    release = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, plain="age", **ROLES)
    folder = release.write(place / "generalized")
    anatomized = dv.anatomize(PEOPLE, sensitive="disease", quasi_identifiers=[LONG, "age"], beta="1/2")
    levels = hierarchies.build(PEOPLE, [LONG])
    found = [
        dv.measure(PEOPLE, **ROLES),
        dv.check(PEOPLE, {"k_anonymity": 2}, **ROLES),
        dv.profile(PEOPLE),
        dv.rank(PEOPLE, quasi_identifiers=[LONG, "age"]),
        dv.growing(PEOPLE, quasi_identifiers=[LONG, "age"]),
        dv.tradeoff(PEOPLE, "k_anonymity", **ROLES),
        dv.cut(PEOPLE, "age", about="disease", policy={"k_anonymity": 2}),
        dv.perturbed(PEOPLE, PEOPLE, columns=LONG),
        dv.compare_distances(pairs=2, steps=10),
        dv.apply(folder, PEOPLE, place / "later"),
        dv.query(folder, "disease = 'flu'"),
        dv.check_anatomized(anatomized.write(place / "anatomized")),
        levels,
        hierarchies.cover(PEOPLE, levels.hierarchies),
        release,
        anatomized,
        dv.reseal(folder),
    ]
    return {type(each).__name__: each for each in found}


NAMES = (
    "AnatomizedRelease Applied Built Comparison Coverage CutColumn Estimate Front GeneralizedRelease Growth Measurement "
    "Perturbed Profile Ranking ReleaseCheck Resealed Verdict"
).split()


def test_every_kind_of_result_has_an_example(results: dict[str, Result]) -> None:
    assert {kind.__name__ for kind in kinds()} == set(NAMES) == set(results)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_has_manners(name: str, results: dict[str, Result]) -> None:
    result: Any = results[name]
    assert "\n" not in repr(result)
    assert len(repr(result)) <= 120
    assert repr(result).startswith(f"<{name}: ")
    assert str(result).strip()
    json.dumps(result.to_dict(), allow_nan=False)
    assert type(result).__dataclass_params__.frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.view = "x"
    if name not in WITHOUT_SETTINGS:
        assert result.settings


def test_the_text_and_the_document_are_those_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "people.csv"
    source.write_text("zip,disease\n1,flu\n1,cold\n2,flu\n", encoding="utf-8")
    found = dv.measure(source, quasi_identifiers="zip", sensitive="disease")
    command = ["measure", str(source), "--qi", "zip", "--sensitive", "disease"]
    assert _run(command, capsys).rstrip("\n") == str(found)
    assert json.loads(_run([*command, "--json"], capsys)) == found.to_dict()


def _run(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    run(command)
    return capsys.readouterr().out


def test_an_opened_release_of_either_kind_is_asked_like_its_folder(tmp_path: Path) -> None:
    generalized = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, plain="age", **ROLES).write(tmp_path / "g")
    anatomized = dv.anatomize(PEOPLE, sensitive="disease", quasi_identifiers=["age"], beta="1/2").write(tmp_path / "a")
    for folder in (generalized, anatomized):
        opened = dv.open_release(str(folder))
        for release in (opened, folder, str(folder)):
            assert dv.query(release, "disease = 'flu'").estimate == 2.0
