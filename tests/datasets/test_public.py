# SPDX-License-Identifier: Apache-2.0
"""Public data sets: contents of the real files; a wrong or damaged copy is never used.

Expected numbers of the real files are those of the `adult.names` and `census-income.names` files
that UCI ships.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from divulge import datasets
from divulge.datasets.catalogue import Dataset, WebFile
from divulge.datasets.public import cache_folder, fetch_into, read
from divulge.errors import BadInput, MissingDependency

if TYPE_CHECKING:
    from divulge.datasets.catalogue import FileSource
    from tests.datasets.server import FileServer

CONTENT = b"|a comment\n39, State-gov, 1.5, <=50K.\n50, ?, 2, >50K.\n\n"
WRONG = b"|a comment\n39, Private, 1.5, <=50K.\n"

# census-income.names, "distinct values for attribute"; "?" is one of them. The weight is not in
# that list. fmt: off
CENSUS_DISTINCT = (
    91,
    9,
    52,
    47,
    17,
    1240,
    3,
    7,
    24,
    15,
    5,
    10,
    2,
    3,
    6,
    8,
    132,
    113,
    1478,
    6,
    6,
    51,
    38,
    8,
    10,
    9,
    10,
    3,
    4,
    7,
    5,
    43,
    43,
    43,
    5,
    3,
    3,
    3,
    53,
    2,
)
# fmt: on


def dataset_from(*sources: FileSource) -> Dataset:
    """A small data set whose right content is CONTENT."""
    return Dataset(
        name="tiny",
        title="Two people",
        rows=2,
        columns=("age", "work class", "weight", "income"),
        integers=frozenset({"age"}),
        decimals=frozenset({"weight"}),
        comment_lines=1,
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        source="this test",
        licence="none",
        sources=sources,
    )


@pytest.mark.public_data
def test_adult_is_the_table_of_the_literature() -> None:
    adult = datasets.load("adult")
    assert adult.shape == (32_561, 15)
    assert adult.drop_null().num_rows == 30_162
    assert [name for name in adult.column_names if adult[name].null_count] == [
        "workclass",
        "occupation",
        "native-country",
    ]
    numbers = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    assert [field.name for field in adult.schema if field.type == pa.int64()] == numbers
    assert all(field.type == pa.string() for field in adult.schema if field.name not in numbers)
    assert adult.slice(0, 1).to_pylist()[0] == {
        "age": 39,
        "workclass": "State-gov",
        "fnlwgt": 77516,
        "education": "Bachelors",
        "education-num": 13,
        "marital-status": "Never-married",
        "occupation": "Adm-clerical",
        "relationship": "Not-in-family",
        "race": "White",
        "sex": "Male",
        "capital-gain": 2174,
        "capital-loss": 0,
        "hours-per-week": 40,
        "native-country": "United-States",
        "income": "<=50K",
    }


@pytest.mark.public_data
def test_both_parts_of_adult_use_the_same_labels_in_the_documented_shares() -> None:
    train, test = datasets.load("adult"), datasets.load("adult-test")
    assert test.schema == train.schema
    assert (test.num_rows, test.drop_null().num_rows) == (16_281, 15_060)
    whole = pa.concat_tables([train, test])
    rich = pc.sum(pc.equal(whole["income"], ">50K")).as_py()
    poor = pc.sum(pc.equal(whole["income"], "<=50K")).as_py()
    assert rich + poor == 48_842
    assert round(100 * rich / 48_842, 2) == 23.93


@pytest.mark.public_data
def test_census_income_agrees_with_its_names_file() -> None:
    census = datasets.load("census-income")
    assert census.shape == (199_523, 42)
    features = census.drop_columns(["instance weight", "income"])
    assert tuple(len(column.unique()) for column in features.columns) == CENSUS_DISTINCT
    assert set(census["income"].unique().to_pylist()) == {"- 50000", "50000+"}
    assert census.schema.field("instance weight").type == pa.float64()
    assert census.schema.field("detailed industry recode").type == pa.string()


def test_the_listing_names_every_data_set_without_fetching(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DIVULGE_CACHE", str(tmp_path))
    listed = {entry.name: entry for entry in datasets.available()}
    printed = {name for name in listed if "-table-" in name}
    assert set(listed) - printed == {
        "adult",
        "adult-complete",
        "adult-test",
        "census-income",
        "census-income-test",
    }
    assert "afifi-table-4b" in printed
    assert (listed["adult"].rows, listed["adult"].columns, listed["adult"].licence) == (
        32_561,
        15,
        "CC BY 4.0",
    )
    assert listed["adult"].sha256.startswith("5b002646")
    assert listed["adult-test"].sha256.startswith("a2a9044b")
    assert {name for name, entry in listed.items() if entry.cached} == printed
    assert list(tmp_path.iterdir()) == []


def test_a_printed_table_needs_neither_network_nor_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DIVULGE_CACHE", str(tmp_path / "none"))
    table = datasets.load("afifi-table-4b")
    assert (table.num_rows, table.column_names) == (12, ["zip", "age", "nationality", "condition"])
    assert table.slice(8, 1).to_pylist() == [
        {"zip": "130**", "age": "3*", "nationality": "*", "condition": "Cancer"}
    ]
    assert datasets.load("afifi-table-4a")["age"].to_pylist()[:3] == [28, 29, 21]
    assert not (tmp_path / "none").exists()
    assert datasets.fetch("afifi-table-4b").read_bytes().startswith(b"130**, <30, *, Heart Disease")


@pytest.mark.public_data
def test_adult_without_missing_values_is_read_from_the_same_file() -> None:
    assert datasets.load("adult-complete").equals(datasets.load("adult").drop_null())
    assert datasets.fetch("adult-complete") == datasets.fetch("adult")


def test_the_listing_shows_which_data_sets_are_cached() -> None:
    datasets.fetch("adult")
    assert {entry.name: entry.cached for entry in datasets.available()}["adult"]


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"no data set 'adlut'.*'adult'"):
        datasets.load("adlut")


def test_values_are_trimmed_typed_and_null_where_unknown(tmp_path: Path) -> None:
    path = tmp_path / "tiny.csv"
    path.write_bytes(CONTENT)
    assert read(path, dataset=dataset_from()).to_pylist() == [
        {"age": 39, "work class": "State-gov", "weight": 1.5, "income": "<=50K"},
        {"age": 50, "work class": None, "weight": 2.0, "income": ">50K"},
    ]


def test_a_file_is_fetched_once(tmp_path: Path, server: FileServer) -> None:
    tiny = dataset_from(server.put("tiny", CONTENT))
    first = fetch_into(tmp_path / "cache", dataset=tiny)
    assert first.read_bytes() == CONTENT
    assert fetch_into(tmp_path / "cache", dataset=tiny) == first
    assert server.asked == {"tiny": 1}
    assert [path.name for path in first.parent.iterdir()] == ["tiny.csv"]


def test_the_next_source_is_tried_after_a_failure_or_a_wrong_file(
    tmp_path: Path, server: FileServer
) -> None:
    missing = WebFile(server.address_of("missing"))
    tiny = dataset_from(
        missing,
        server.put("wrong", WRONG),
        server.put("right", CONTENT),
        server.put("spare", CONTENT),
    )
    assert fetch_into(tmp_path / "cache", dataset=tiny).read_bytes() == CONTENT
    assert server.asked == {"missing": 1, "wrong": 1, "right": 1}


def test_a_damaged_cache_is_fetched_again(tmp_path: Path, server: FileServer) -> None:
    tiny = dataset_from(server.put("tiny", CONTENT))
    path = fetch_into(tmp_path / "cache", dataset=tiny)
    path.write_bytes(CONTENT.replace(b"39", b"38"))
    assert fetch_into(tmp_path / "cache", dataset=tiny).read_bytes() == CONTENT
    assert server.asked == {"tiny": 2}


def test_a_damaged_cache_is_not_used_even_if_no_source_works(
    tmp_path: Path, server: FileServer
) -> None:
    tiny = dataset_from(server.put("tiny", CONTENT))
    fetch_into(tmp_path / "cache", dataset=tiny).write_bytes(WRONG)
    with pytest.raises(MissingDependency):
        fetch_into(tmp_path / "cache", dataset=replace(tiny, sources=()))


def test_when_all_sources_fail_the_error_lists_them(tmp_path: Path, server: FileServer) -> None:
    missing, wrong = WebFile(server.address_of("missing")), server.put("wrong", WRONG)
    with pytest.raises(MissingDependency) as caught:
        fetch_into(tmp_path / "cache", dataset=dataset_from(missing, wrong))
    line = str(caught.value)
    assert "\n" not in line
    assert f"{missing.url}: HTTP 404" in line
    assert f"{wrong.url}: refused, SHA-256 {hashlib.sha256(WRONG).hexdigest()[:12]}" in line
    assert "DIVULGE_CACHE" in line
    assert not (tmp_path / "cache").exists()


def test_an_unwritable_cache_raises_an_error(tmp_path: Path, server: FileServer) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(BadInput, match=r"cannot be written .* DIVULGE_CACHE"):
        fetch_into(tmp_path / "cache", dataset=dataset_from(server.put("tiny", CONTENT)))


def test_the_cache_folder_can_be_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIVULGE_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize(
    ("platform", "variable"), [("linux", "XDG_CACHE_HOME"), ("win32", "LOCALAPPDATA")]
)
def test_the_cache_follows_the_platform(
    platform: str, variable: str, *, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DIVULGE_CACHE", raising=False)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert cache_folder() == tmp_path / "divulge"
