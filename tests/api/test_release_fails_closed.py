# SPDX-License-Identifier: Apache-2.0
"""Failures between plan and disk: nothing is published, and an existing release is not lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import divulge as dv
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, DivulgeError
from divulge.releases import GeneralizedRelease, Unverified
from divulge.releases import manifest as manifest_module
from divulge.releases import release as release_module
from tests.cli.nine_patients import ROWS
from tests.helpers import with_adversary
from tests.releases.folders import names


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def decide(source: Path, **more: Any) -> GeneralizedRelease:
    asked: dict[str, Any] = {
        "policy": dv.Policy(k_anonymity=3, l_diversity=2),
        "quasi_identifiers": ("zip", "age"),
        "sensitive": "disease",
        "identifier": "name",
        "hierarchies": {"zip": {"prefix": [4, 3, 2]}, "age": {"intervals": [10, 20]}},
    }
    release: GeneralizedRelease = dv.generalize(source, **with_adversary(asked | more))
    return release


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """A writer that writes correctly and then changes the file."""
    honest = DuckDBEngine.write

    def write(engine: DuckDBEngine, sql: str, path: Path, **how: Any) -> None:
        honest(engine, sql, path, **how)
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")

    monkeypatch.setattr(DuckDBEngine, "write", write)


def refused(
    release: GeneralizedRelease, tmp_path: Path, error: type[DivulgeError], message: str
) -> None:
    before = names(tmp_path)
    with pytest.raises(error, match=message):
        release.write(tmp_path / "out")
    assert names(tmp_path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + '4767*,"[20, 40)",Flu\n', "10 rows where 9"),
        (lambda text: text + "47677,29,Heart\n", "10 rows where 9"),
        (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "8 rows where 9"),
        (lambda text: text.replace("4790*", "4767*"), "not those that were to be made"),
        (lambda text: text.replace("4790*", "47905", 1), "classes where 3"),
        (
            lambda text: text.replace("4790*", "4799*"),
            "values of 'zip' that were not to be published",
        ),
        (
            lambda text: text.replace("Flu", "HIV"),
            "values of 'disease' that were not to be published",
        ),
        (lambda text: text.replace("Flu", "Heart"), "not those that were to be made"),
        (lambda text: text.replace("Flu", ""), "values of 'disease' that were not to be published"),
        (
            lambda text: text.replace("disease", "name"),
            "cannot be read back: table.csv has the columns zip, age, name",
        ),
        (
            lambda text: text.replace("\n", ",9\n").replace("disease,9", "disease,id"),
            "cannot be read back",
        ),
        (lambda text: text[: len(text) // 2], "rows where 9|cannot be read back"),
        (lambda _: "", "cannot be read back|rows where 9"),
    ],
)
def test_a_file_that_is_not_what_was_decided(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], str],
    message: str,
) -> None:
    release = decide(source)
    spoil(monkeypatch, change)
    refused(release, tmp_path, Unverified, message)


def test_dropped_nulls_hide_no_row(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of nulls is dropped if such rows are not counted. It must not be in the file."""
    release = decide(source, nulls="drop")
    spoil(monkeypatch, lambda text: text + ",,\n")
    refused(release, tmp_path, Unverified, "10 rows where 9")


def test_a_policy_that_the_files_violate(source: Path, tmp_path: Path) -> None:
    stricter = replace(decide(source), policy=dv.Policy(k_anonymity=4))
    refused(
        stricter, tmp_path, Unverified, "breaks what was promised: k_anonymity >= 4 .measured 3"
    )
    with pytest.raises(Unverified, match="breaks what was promised"):
        stricter.tables()["table"]


def test_a_plan_that_was_tampered_with(source: Path, tmp_path: Path) -> None:
    """The changed plan publishes all values: the files agree with it but violate the policy."""
    release = decide(source)
    recoding, raw = release.plan.recoding, release.original.people
    as_it_came = replace(
        recoding,
        labels=tuple(tuple(map(str, key.labels)) for key in raw.keys),
        codes=raw.codes,
        unchanged=(True, True),
        published_mask=np.ones(len(raw), dtype=bool),
    )
    refused(
        replace(release, plan=replace(release.plan, recoding=as_it_came)),
        tmp_path,
        Unverified,
        "breaks what was promised",
    )


def test_a_source_that_changes_after_it_was_counted(source: Path, tmp_path: Path) -> None:
    release = decide(source)
    with source.open("a", encoding="utf-8") as file:
        file.write("Jan,47677,29,Heart\n")
    refused(release, tmp_path, Unverified, "10 rows where 9")
    source.write_text(ROWS.replace("Ann,47677", "Ann,99999"), encoding="utf-8")
    refused(release, tmp_path, Unverified, "8 rows where 9")


def test_a_source_that_is_gone(source: Path, tmp_path: Path) -> None:
    release = decide(source)
    source.unlink()
    refused(release, tmp_path, BadInput, "patients.csv")


def test_a_file_that_changes_after_it_was_verified(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = decide(source)
    honest = manifest_module.write_manifests

    def late(folder: Path, private_folder: Path, public: Any, private: Any) -> None:
        honest(folder, private_folder, public, private)
        with (folder / "table.csv").open("a", encoding="utf-8") as file:
            file.write("47677,29,Heart\n")

    monkeypatch.setattr(release_module, "write_manifests", late)
    refused(release, tmp_path, BadInput, "table.csv has changed")


def test_a_disk_that_is_full(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = decide(source)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DuckDBEngine, "write", full)
    refused(release, tmp_path, BadInput, "No space left on device")


def test_an_existing_release_is_replaced_only_by_force(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    decide(source).write(out)
    before = (out / "manifest.json").read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        decide(source, policy=dv.Policy(k_anonymity=9)).write(out)
    assert (out / "manifest.json").read_bytes() == before
    decide(source, policy=dv.Policy(k_anonymity=9)).write(out, force=True)
    assert b"k_anonymity >= 9" in (out / "manifest.json").read_bytes()
    assert names(tmp_path) == ["out", "out.private", "patients.csv"]


def test_a_failing_replacement_leaves_the_old_release(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    decide(source).write(out)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    release = decide(source)
    spoil(monkeypatch, lambda text: text + "47677,29,Heart\n")
    with pytest.raises(Unverified):
        release.write(out, force=True)
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
    assert names(tmp_path) == ["out", "out.private", "patients.csv"]


def test_force_never_removes_what_divulge_did_not_write(source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(BadInput, match="not replaced"):
        decide(source).write(home, force=True)
    out = tmp_path / "out"
    decide(source).write(out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match=r"notes\.txt is not in the manifest"):
        decide(source).write(out, force=True)
    assert (home / "thesis.txt").exists()
    assert (out / "notes.txt").exists()


def test_a_protection_that_the_files_violate(source: Path, tmp_path: Path) -> None:
    """Every class has three people; classes with a person over 40 were required to have four.

    The published ages do not show who is over 40.
    """
    older = dv.Protection.make({"k_anonymity": 3}, where={"age": ">40"})
    release = decide(source, protections=[older])
    assert [outcome.text for outcome in release.verdict.outcomes][
        -1
    ] == "k_anonymity >= 3 for age >40"
    stricter = replace(
        release.protected[0],
        protection=dv.Protection.make({"k_anonymity": 4}, where=dict(older.where)),
    )
    refused(
        replace(release, protected=(stricter,)),
        tmp_path,
        Unverified,
        "breaks what was promised: k_anonymity >= 4 for age >40 .measured 3",
    )
