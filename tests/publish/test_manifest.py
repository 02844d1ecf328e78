# SPDX-License-Identifier: Apache-2.0
"""manifest.json: every file is held against it, and nothing that is not in it counts as released."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.publish import read_manifest
from divulge.publish.manifest import refuse_unless_release, seal, versions, write_manifest


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder with two files and their manifest."""
    folder = tmp_path / "release"
    (folder / "mapping").mkdir(parents=True)
    (folder / "table.csv").write_text("a\n1\n", encoding="utf-8")
    (folder / "mapping" / "a.csv").write_text("1;*\n", encoding="utf-8")
    files = seal(folder, {"table.csv": True, "mapping/a.csv": False})
    document = {"kind": "test", "number": float("inf"), "versions": versions(DuckDBEngine())}
    write_manifest(folder, document, files=files)
    return folder


def test_it_holds_hashes_and_what_may_be_handed_out(release: Path) -> None:
    document = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    assert document["files"] == {
        "table.csv": {"sha256": hashlib.sha256(b"a\n1\n").hexdigest(), "bytes": 4, "public": True},
        "mapping/a.csv": {"sha256": hashlib.sha256(b"1;*\n").hexdigest(), "bytes": 4, "public": False},
    }
    assert document["number"] == "inf"
    assert {"divulge", "python", "duckdb", "numpy", "pyarrow"} == set(document["versions"])
    assert read_manifest(release) == document
    refuse_unless_release(release)


def _change(folder: Path) -> None:
    (folder / "table.csv").write_text("a\n2\n", encoding="utf-8")


def _remove(folder: Path) -> None:
    (folder / "mapping" / "a.csv").unlink()


def _add(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")


def _strip(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def _break(folder: Path) -> None:
    (folder / "manifest.json").write_text("{", encoding="utf-8")


def _other_json(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name": "an app"}', encoding="utf-8")


def _edit(change: Callable[[dict[str, object]], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        document = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        change(document)
        (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")

    return edit


def _newer(document: dict[str, object]) -> None:
    document["divulge_release"] = 99


def _outside(document: dict[str, object]) -> None:
    document["files"] = {"../secret.txt": {"sha256": ""}}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_change, "table.csv has changed"),
        (_remove, "mapping/a.csv is missing"),
        (_add, "notes.txt is not in the manifest"),
        (_strip, "is not a release"),
        (_break, "is not JSON"),
        (_other_json, "not the manifest of a release"),
        (_edit(_newer), "format 99"),
        (_edit(_outside), "'../secret.txt' is not a file of a release"),
    ],
)
def test_a_changed_release_is_refused_and_never_replaced(
    release: Path, spoil: Callable[[Path], None], message: str
) -> None:
    spoil(release)
    with pytest.raises(BadInput, match=message):
        read_manifest(release)
    with pytest.raises(BadInput, match="not replaced"):
        refuse_unless_release(release)
