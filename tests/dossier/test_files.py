# SPDX-License-Identifier: Apache-2.0
"""Records in files: written files read back equal, and unknown content raises an error."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from divulge.dossier import (
    Attribute,
    Record,
    from_rows,
    read_database,
    read_record,
    read_weights,
    write_database,
)
from divulge.errors import BadInput

ALICE = '{"label": "N", "value": "Alice"}'

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=6)
attribute_maps = st.dictionaries(
    st.builds(Attribute, texts, texts), st.floats(0, 1, exclude_min=True), min_size=1
)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_record_as_the_issue_writes_it(tmp_path: Path) -> None:
    text = (
        '{"attributes":[{"label":"N","value":"Alice","confidence":0.5},{"label":"A","value":20}]}'
    )
    record = read_record(write(tmp_path, "r.json", text))
    assert record.attributes == {("N", "Alice"): 0.5, ("A", "20"): 1.0}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "d.json",
            (
                f'{{"records": [{{"id": "r1", "attributes": [{ALICE}]}}, {{"id": "r2", '
                '"attributes": '
                "[]}]}"
            ),
        ),
        ("d.json", f'[{{"id": "r1", "attributes": [{ALICE}]}}, {{"id": "r2", "attributes": []}}]'),
        ("d.jsonl", f'{{"attributes": [{ALICE}]}}\n\n{{"attributes": []}}\n'),
    ],
)
def test_a_database_in_each_json_form(tmp_path: Path, name: str, text: str) -> None:
    first, second = read_database(write(tmp_path, name, text))
    assert (first.id, second.id) == ("r1", "r2")
    assert first.attributes == {("N", "Alice"): 1.0}
    assert first.sources == {"r1"}


def test_csv_has_a_row_per_attribute(tmp_path: Path) -> None:
    text = 'record,label,value,confidence\nr1,N,"Alice, A.",\nr2,N,Bob,0.5\nr1,P,1,1\n'
    database = read_database(write(tmp_path, "d.csv", text))
    assert [record.id for record in database] == ["r1", "r2"]
    assert database[0].attributes == {("N", "Alice, A."): 1.0, ("P", "1"): 1.0}
    assert database[1].attributes == {("N", "Bob"): 0.5}


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv"])
@given(st.lists(attribute_maps, min_size=1, max_size=3))
@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40
)
def test_written_files_are_read_back(
    tmp_path: Path, suffix: str, maps: list[dict[Attribute, float]]
) -> None:
    database = tuple(Record(attributes, f"r{number}") for number, attributes in enumerate(maps))
    path = tmp_path / f"d{suffix}"
    write_database(database, path)
    assert read_database(path) == database


def test_weights_as_json_and_csv(tmp_path: Path) -> None:
    assert read_weights(write(tmp_path, "w.json", '{"N": 2, "P": 0.5}')) == {"N": 2.0, "P": 0.5}
    assert read_weights(write(tmp_path, "w.csv", "label,weight\nN,2\nP,0.5\n")) == {
        "N": 2.0,
        "P": 0.5,
    }


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.json", "{", "is not JSON"),
        ("r.json", '{"attributes": [{"label": "N"}]}', "needs a label and a value"),
        ("r.json", '{"attribute": []}', "is not a record"),
        ("r.json", '{"attributes": [], "wieghts": 1}', "'wieghts' is unknown"),
        (
            "r.json",
            '{"attributes": [{"label": "N", "value": "a", "confidance": 0.5}]}',
            "did you mean 'confidence'",
        ),
        (
            "r.json",
            '{"attributes": [{"label": "N", "value": "a", "confidence": 1.2}]}',
            "record 1: .* is 1.2",
        ),
        (
            "r.json",
            '{"attributes": [{"label": "N", "value": "a", "confidence": NaN}]}',
            "between 0 and 1",
        ),
        ("r.json", '{"attributes": [{"label": "N", "value": null}]}', "None is not a value"),
        ("r.json", f'{{"attributes": [{ALICE}, {ALICE}]}}', "<N, Alice> occurs twice"),
        ("r.json", '{"attributes": [], "attributes": []}', "'attributes' occurs twice"),
        ("r.json", "3", "is not a database"),
        ("d.jsonl", '{"attributes": []}\nnonsense\n', "line 2 is not JSON"),
        (
            "d.json",
            '{"records": [{"id": "a", "attributes": []}, {"id": "a", "attributes": []}]}',
            "two records .* 'a'",
        ),
        ("d.csv", "record,label\nr1,N\n", "lacks the column 'value'"),
        ("d.csv", "record,label,value,confidence\nr1,N,a,high\n", "line 2: 'high' is not a number"),
        ("d.csv", "record,label,value,confidence\nr1,N,a,1,9\n", "line 2: a row of another length"),
        ("d.csv", "record,label,value,confidence\nr1,N,a,1.5\n", "record 'r1': .* is 1.5"),
        ("d.csv", "record,label,value,confidence\nr1,N,a,1\nr1,N,a,0.5\n", "<N, a> occurs twice"),
    ],
)
def test_bad_records_are_refused_with_their_place(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read_database(write(tmp_path, name, text))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("w.json", '{"N": -1}', "weight of 'N' is -1"),
        ("w.json", '{"N": "2"}', "weight of 'N' is '2'"),
        ("w.json", "[1]", "does not hold weights"),
        ("w.csv", "label,weight\nN,1\nN,2\n", "line 3: the label 'N' occurs twice"),
        ("w.csv", "label,weight\nN,nan\n", "weight of 'N' is nan"),
    ],
)
def test_bad_weights_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_weights(write(tmp_path, name, text))


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read"):
        read_database(tmp_path / "missing.json")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(BadInput, match="not UTF-8"):
        read_database(tmp_path / "latin.json")
    two = write(tmp_path, "two.jsonl", '{"attributes": []}\n{"attributes": []}\n')
    with pytest.raises(BadInput, match="holds 2 records"):
        read_record(two)
    with pytest.raises(BadInput, match=r"must end in \.json, \.jsonl, \.csv"):
        write_database([], tmp_path / "d.xml")
    with pytest.raises(BadInput, match="'r1' is empty: CSV"):
        write_database([Record.of([], id="r1")], tmp_path / "d.csv")


def test_rows_become_records_and_nulls_become_nothing() -> None:
    rows = [{"id": 7, "Zip": "111", "Age": 30.0}, {"id": 8, "Zip": None, "Age": float("nan")}]
    first, second = from_rows(rows, record_id="id")
    assert first == Record.of({"Zip": "111", "Age": "30"}, id="7")
    assert second == Record.of([], id="8")


def test_rows_of_a_frame_and_of_a_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Zip": ["111", "112"], "Age": [30, 31], "Name": ["Alice", None]})
    records = from_rows(frame, labels=["Name", "Age"], confidence=0.5)
    assert records == (
        Record.of([("Name", "Alice", 0.5), ("Age", "30", 0.5)], id="r1"),
        Record.of([("Age", "31", 0.5)], id="r2"),
    )
    path = write(tmp_path, "t.csv", "Zip,Age\n111,30\n")
    assert from_rows(path) == (Record.of({"Zip": "111", "Age": "30"}, id="r1"),)


def test_an_unknown_column_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"no column 'Agee'\. did you mean 'Age'"):
        from_rows([{"Age": 1}], labels=["Agee"])
    with pytest.raises(BadInput, match="no column 'key'"):
        from_rows([{"Age": 1}], record_id="key")


def test_json_carries_full_precision(tmp_path: Path) -> None:
    record = Record.of([("N", "a", 0.1 + 0.2)], id="r")
    write_database([record], tmp_path / "d.json")
    document = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))
    assert document == {
        "records": [
            {"id": "r", "attributes": [{"label": "N", "value": "a", "confidence": 0.1 + 0.2}]}
        ]
    }
