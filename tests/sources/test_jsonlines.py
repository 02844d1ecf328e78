# SPDX-License-Identifier: Apache-2.0
"""JSON lines: texts stay texts, mixed values become text, and a bad line is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from divulge.errors import BadInput
from divulge.sources import Table, read


def write(folder: Path, *records: object, name: str = "table.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def values(table: Table, name: str) -> list[Any]:
    column = table.engine.quote(name)
    found = table.engine.query(
        f"SELECT {column} AS value FROM {table.relation} ORDER BY 1 NULLS LAST"
    )
    return [row["value"] for row in found.to_pylist()]


@pytest.mark.parametrize(
    ("cells", "kind", "found"),
    [
        pytest.param(["01234", "12345"], "text", ["01234", "12345"], id="zip codes"),
        pytest.param(["12", "13"], "text", ["12", "13"], id="numbers written as texts"),
        pytest.param([1, 2], "number", [1, 2], id="whole numbers"),
        pytest.param([1, 2.5], "number", [1.0, 2.5], id="numbers"),
        pytest.param([2**63, 1], "number", [1, 2**63], id="more than 63 bits"),
        pytest.param([True, False], "boolean", [False, True], id="booleans"),
        pytest.param([1, "x"], "text", ["1", "x"], id="numbers and texts"),
        pytest.param([True, 1], "text", ["1", "true"], id="booleans and numbers"),
        pytest.param([None, None], "text", [None, None], id="only nulls"),
        pytest.param(
            ["02-01-2020", "03-01-2020"], "text", ["02-01-2020", "03-01-2020"], id="local dates"
        ),
        pytest.param(
            ["epoch", "infinity"],
            "text",
            ["epoch", "infinity"],
            id="words that DuckDB takes for dates",
        ),
        pytest.param(["10:00:00", "11:00:00"], "text", ["10:00:00", "11:00:00"], id="times"),
        pytest.param([[1], [2]], "nested", ["[1]", "[2]"], id="lists"),
        pytest.param([{"x": 1}, 5], "nested", ["5", '{"x":1}'], id="an object beside a number"),
    ],
)
def test_kinds(cells: list[object], kind: str, found: list[object], tmp_path: Path) -> None:
    table = read(write(tmp_path, *({"id": i, "value": cell} for i, cell in enumerate(cells))))
    assert table.column("value").kind == kind
    assert values(table, "value") == found


def test_iso_dates(tmp_path: Path) -> None:
    table = read(
        write(
            tmp_path, {"day": "2024-01-31", "at": "2024-01-31T10:00:00"}, {"day": None, "at": None}
        )
    )
    assert [column.type for column in table.columns] == ["DATE", "TIMESTAMP"]


def test_a_late_record_decides(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text('{"a": 1}\n' * 100_000 + '{"a": "x", "b": 2}\n', encoding="utf-8")
    table = read(path)
    assert [(column.name, column.kind) for column in table.columns] == [
        ("a", "text"),
        ("b", "number"),
    ]
    assert values(table, "a") == ["1"] * 100_000 + ["x"]


def test_a_missing_key_is_null(tmp_path: Path) -> None:
    assert values(read(write(tmp_path, {"a": 1}, {"b": 2})), "a") == [1, None]


def test_every_file_is_looked_at(tmp_path: Path) -> None:
    for i in range(40):
        write(tmp_path, {"a": i}, name=f"{i:02}.jsonl")
    write(tmp_path, {"a": "x", "b": 1}, name="99.jsonl")
    table = read(tmp_path)
    assert [(column.name, column.kind) for column in table.columns] == [
        ("a", "text"),
        ("b", "number"),
    ]


def test_many_different_keys_are_columns(tmp_path: Path) -> None:
    table = read(write(tmp_path, *({f"k{i}": i} for i in range(300))))
    assert table.names == tuple(f"k{i}" for i in range(300))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b'{"a": 1}\noops\n{"a": 2}\n', r"table\.jsonl, line 2: not valid JSON", id="broken line"
        ),
        pytest.param(b'{"a": 1}\n{"a": ', "line 2: not valid JSON", id="cut off"),
        pytest.param(b"1\n2\n", "line 1: not a JSON object", id="numbers"),
        pytest.param(b'{"a": 1}\n[2]\n', "line 2: not a JSON object", id="a list among objects"),
        pytest.param(b'{"": 1}\n', "no JSON objects with named values", id="empty key"),
        pytest.param(b'{"a": "\xe9"}\n', "not UTF-8", id="latin-1"),
        pytest.param(
            b'{"a": 1, "A": 2}\n',
            "'A' and 'a' in .* differ only in upper and lower case",
            id="case",
        ),
        pytest.param(
            b'{"a": 1}\n{"A": 2}\n',
            "differ only in upper and lower case",
            id="case, in two records",
        ),
        pytest.param(
            b'{"a": "x", "a": "secret"}\n',
            'line 1: a record has the key "a" twice',
            id="repeated key",
        ),
    ],
)
def test_bad_files(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=message) as caught:
        read(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "deep", ["[" * 5000 + "]" * 5000, '{"a":' * 5000 + "1" + "}" * 5000], ids=["array", "object"]
)
def test_records_nested_without_end_raise_an_error(deep: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    path.write_text(f'{{"a": {deep}}}\n', encoding="utf-8")
    with pytest.raises(BadInput, match="line 1: nested too deeply"):
        read(path)
