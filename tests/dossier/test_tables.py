# SPDX-License-Identifier: Apache-2.0
"""Published tables as records: section 3 of the paper, from its tables 1 to 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from divulge.dossier import Attribute, Equivalence, Measure, Record, table_leakage
from divulge.dossier.what_if import generalized
from divulge.errors import BadInput

ROWS = (
    """11* 3* Heart | 11* 3* Breast | 11* 3* Cancer | 2** >=50 Hair | 2** >=50 Flu | 2** >=50 Flu"""
)
RELEASE = [
    dict(zip(("Zip", "Age", "Disease"), row.split(), strict=True)) for row in ROWS.split("|")
]
ALICE = Record.of({"Name": "Alice", "Zip": "111", "Age": 30, "Disease": "Heart"}, id="Alice")
ZOE = Record.of({"Name": "Zoe", "Zip": "241", "Age": 60, "Disease": "Flu"}, id="Zoe")
KNOWN = [{"Name": "Alice", "Zip": "111", "Age": 30}]
BOTH = ["Zip", "Age"]


def leakages(release: object = RELEASE, **options: object) -> dict[str, float]:
    found = table_leakage(release, [ALICE, ZOE], quasi_identifiers=BOTH, **options)  # type: ignore[arg-type]
    return {each.person: each.leakage for each in found}


def test_equally_anonymous_is_not_equally_safe() -> None:
    assert leakages() == pytest.approx({"Alice": 2 / 3, "Zoe": 3 / 4})


def test_background_knowledge_adds_to_it() -> None:
    """111 and 30 of the background collapse into 11* and 3*; as two values they would give 2/3."""
    assert leakages(background=[KNOWN]) == pytest.approx({"Alice": 4 / 5, "Zoe": 3 / 4})


def test_the_witness_names_the_rows() -> None:
    (alice,) = table_leakage(RELEASE, [ALICE], quasi_identifiers=BOTH, background=[KNOWN])
    assert [record.sources for record in alice.witnesses] == [
        {"row 1", "row 2", "row 3", "known 1"}
    ]


def test_diversity_by_synonyms_does_not_lower_leakage() -> None:
    """Section 3.2: Influenza for one Flu gives 3-diversity.

    It does not protect against an adversary who knows the synonym.
    """
    renamed = [*RELEASE[:-1], {**RELEASE[-1], "Disease": "Influenza"}]
    assert leakages(renamed)["Zoe"] == pytest.approx(2 / 3)
    assert leakages(renamed, same={"Disease": {"Flu": ["Influenza"]}})["Zoe"] == pytest.approx(
        3 / 4
    )


@pytest.mark.parametrize(
    "classes",
    [
        {"Job": {"nurse": ["carer"]}},  # says nothing about the columns of the release
        {"Age": ["30-39"]},  # the release reads 30 as 3*, whatever else would cover it
        {"Zip": ["1**"]},  # a wider class takes the release's own in
        {"Age": {"thirties": ["3*"]}},  # another name for what the release shows
    ],
)
def test_an_equivalence_adds_to_what_the_release_shows(classes: dict[str, list[str]]) -> None:
    assert leakages(measure=Measure(equivalence=Equivalence(classes))) == pytest.approx(
        {"Alice": 2 / 3, "Zoe": 3 / 4}
    )


def test_a_generalized_value_may_count_for_less() -> None:
    """One row 11*, 3*, Heart with confidence c in both.

    The worlds have 3, 2 and 1 correct attributes out of 4 true ones.
    """
    (found,) = table_leakage(
        RELEASE[:1], [ALICE], quasi_identifiers=BOTH, generalized_confidence=0.5
    )
    assert found.leakage == pytest.approx(0.25 * 6 / 7 + 0.5 * 4 / 6 + 0.25 * 2 / 5)


def test_suppressed_cells_contain_no_information() -> None:
    """A row of stars joins nothing and claims nothing: only the disease is left of it."""
    (found,) = table_leakage(
        [*RELEASE, {"Zip": "***", "Age": "*", "Disease": "Heart"}], [ALICE], quasi_identifiers=BOTH
    )
    assert found.leakage == pytest.approx(2 / 3)
    (alone,) = table_leakage(
        [{"Zip": "***", "Age": "3*", "Disease": "Heart"}], [ALICE], quasi_identifiers=["Age"]
    )
    assert alone.leakage == pytest.approx(2 * 2 / (2 + 4))


def test_from_files_and_frames(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "release.csv"
    path.write_text(
        "\n".join(["Zip,Age,Disease", *(",".join(row.values()) for row in RELEASE)]),
        encoding="utf-8",
    )
    assert leakages(path) == leakages(pandas.DataFrame(RELEASE)) == leakages()


def test_weights_count() -> None:
    """Only the disease counts: one of three is right."""
    weights = {"Zip": 0, "Age": 0, "Name": 0}
    assert leakages(measure=Measure(weights=weights))["Alice"] == pytest.approx(2 * 1 / (3 + 1))


def test_the_classes_are_read_off_the_release() -> None:
    rows = [
        Record.of({"Zip": zip_, "Age": age})
        for zip_, age in [("11*", "20-29"), ("1**", "[30,40)"), ("113", ">=50")]
    ]
    same = generalized(rows, ["Zip", "Age"])
    assert same.canonical(Attribute("Zip", "111")).value == "11*"
    assert same.canonical(Attribute("Zip", "123")).value == "1**"
    assert same.canonical(Attribute("Age", "29")).value == "20-29"
    assert same.canonical(Attribute("Age", "40")).value == "40"


def test_a_quasi_identifier_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInput, match="'Plz'"):
        table_leakage(RELEASE, [ALICE], quasi_identifiers=["Plz"])
