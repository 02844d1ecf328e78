# SPDX-License-Identifier: Apache-2.0
"""The ledger: entries, recipients, the releases a new one is judged with, and errors."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
import divulge.cli.inputs
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput
from divulge.ledger.store import LedgerStore
from divulge.releases import private_place, read_manifests
from tests.api.test_prior_releases import PEOPLE as EIGHT
from tests.api.test_prior_releases import decide, publish_zip
from tests.cli.test_exhausted import files_of_at_most
from tests.helpers import run_cli

PEOPLE = pa.table(
    {"zip": ["4761", "4762", "4791", "4792"], "disease": ["flu", "cold", "flu", "cold"]}
)
LATER = pa.table(
    {"zip": ["4761", "4762", "4791", "4793"], "disease": ["flu", "cold", "flu", "cold"]}
)
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}

DECIDED = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, **ROLES)


def released(
    ledger: dv.Ledger, out: Path, *, k: int = 2, people: pa.Table = PEOPLE, **options: Any
) -> Path:
    """Plan a release, judged with a ledger, and write it."""
    return dv.generalize(people, policy={"k_anonymity": k}, ledger=ledger, **ROLES).write(
        out, **options
    )


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two published releases."""
    place = tmp_path_factory.mktemp("models")
    return [
        dv.generalize(PEOPLE, policy={"k_anonymity": k}, **ROLES).write(place / str(k))
        for k in (2, 4)
    ]


def numbers(entries: Any) -> list[int]:
    return [entry.number for entry in entries]


def test_reading_a_missing_ledger_raises_an_error(models: list[Path], tmp_path: Path) -> None:
    missing = tmp_path / "misspelt"
    for ask in (
        lambda: dv.check(PEOPLE, policy={"uniques": 1000}, ledger=missing, **ROLES),
        lambda: dv.compose([models[0]], truth=PEOPLE, ledger=missing),
    ):
        with pytest.raises(BadInput, match=r"not a ledger|no ledger"):
            ask()
    assert not missing.exists()


def test_a_release_is_entered_when_it_is_written(tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger", recipient="clinic", expires="2999-12-31")
    out = released(ledger, tmp_path / "out")
    (entry,) = ledger.holdings()
    assert (entry.number, entry.dataset, entry.recipient, entry.kind, entry.rows) == (
        1,
        "people",
        "clinic",
        "generalized",
        4,
    )
    assert (entry.state, entry.expires, entry.version, entry.place) == (
        "published",
        "2999-12-31",
        1,
        out,
    )
    shutil.rmtree(out)  # a release stays known even if its folder is gone
    assert ledger.entry(1).document["kind"] == "generalized"
    assert read_manifests(entry.copy).private is not None


def test_nothing_is_entered_that_was_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    released(ledger, tmp_path / "first")
    rename = Path.rename

    def full(self: Path, target: Path) -> Path:
        if self.name == "release":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(BadInput, match="No space left"):
        released(ledger, tmp_path / "second")
    assert numbers(ledger.holdings()) == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "first.private", "ledger"]
    assert sorted(path.name for path in (tmp_path / "ledger" / "releases").iterdir()) == [
        "1",
        "1.private",
    ]


def test_holdings_by_recipient(tmp_path: Path, models: list[Path]) -> None:
    for number, recipient in enumerate(["clinic", "press", "everybody", "clinic"]):
        dv.Ledger(tmp_path / "ledger", recipient=recipient).add(models[number // 2])
    ledger = dv.Ledger(tmp_path / "ledger")
    assert numbers(ledger.holdings()) == [1, 2, 3, 4]
    assert numbers(ledger.holdings("clinic")) == [1, 3, 4]
    assert numbers(ledger.holdings("everybody")) == [3]
    assert numbers(ledger.holdings("clinic", "press")) == [1, 2, 3, 4]
    with pytest.raises(BadInput, match="did you mean 'clinic'"):
        ledger.holdings("clinics")


def test_the_coalition_decides_the_releases_judged_against(
    tmp_path: Path, models: list[Path]
) -> None:
    place = tmp_path / "ledger"
    for recipient in ["clinic", "press", "bank", "everybody"]:
        dv.Ledger(place, recipient=recipient).add(models[0])
    assert numbers(dv.Ledger(place).judge().against) == [1, 2, 3, 4]
    assert numbers(dv.Ledger(place, recipient="new").judge().against) == [1, 2, 3, 4]
    # The recipient's own releases always count, and so do those for everybody.
    assert numbers(dv.Ledger(place, recipient="clinic", coalition=["press"]).judge().against) == [
        1,
        2,
        4,
    ]
    assert numbers(dv.Ledger(place, recipient="new", coalition="bank").judge().against) == [3, 4]
    assert numbers(dv.Ledger(place, recipient="new", coalition="new").judge().against) == [4]
    with pytest.raises(BadInput, match="knows no recipient 'pres'"):
        dv.Ledger(place, recipient="clinic", coalition="pres").judge()


def test_retracted_and_expired_releases_are_judged_like_others(
    tmp_path: Path, models: list[Path]
) -> None:
    place = tmp_path / "ledger"
    dv.Ledger(place, expires="2020-01-31").add(models[0])
    dv.Ledger(place).add(models[1])
    ledger = dv.Ledger(place)
    retracted = ledger.retract(2)
    assert retracted.retracted is not None
    assert [entry.state for entry in ledger.holdings()] == ["expired", "retracted"]
    assert ledger.retract(2).retracted == retracted.retracted
    assert numbers(ledger.judge().against) == [1, 2]


def test_a_release_expires_after_its_day(
    tmp_path: Path, models: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "ledger"
    dv.Ledger(place, expires="2026-03-01").add(models[0])
    states = {}
    for today in ("2026-02-28", "2026-03-01", "2026-03-02"):
        monkeypatch.setattr(
            dv.Ledger, "_settings", lambda _, today=today: {"ledger": str(place), "today": today}
        )
        (entry,) = dv.Ledger(place).holdings()
        states[today] = entry.state
    assert states == {"2026-02-28": "published", "2026-03-01": "published", "2026-03-02": "expired"}


def test_forgetting_a_published_release_needs_force(tmp_path: Path, models: list[Path]) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    ledger.add(models[0])
    with pytest.raises(BadInput, match="is out, and later releases would not be judged against it"):
        ledger.forget(1)
    ledger.forget(1, force=True)
    assert (numbers(ledger.holdings()), list((tmp_path / "ledger" / "releases").iterdir())) == (
        [],
        [],
    )
    ledger.add(models[0])
    assert numbers(ledger.holdings()) == [2]  # no number is used twice


def test_datasets_are_judged_separately_and_must_be_named(
    tmp_path: Path, models: list[Path]
) -> None:
    place = tmp_path / "ledger"
    dv.Ledger(place, dataset="patients").add(models[0])
    dv.Ledger(place).add(models[1])  # the only dataset so far
    dv.Ledger(place, dataset="staff").add(models[0])
    assert [entry.dataset for entry in dv.Ledger(place).holdings()] == [
        "patients",
        "patients",
        "staff",
    ]
    assert numbers(dv.Ledger(place, dataset="staff").judge().against) == [3]
    with pytest.raises(BadInput, match="several datasets: 'patients', 'staff'"):
        dv.Ledger(place).judge()


def test_versions_reveal_only_whether_the_table_changed(tmp_path: Path) -> None:
    for place, tables in {"one": [PEOPLE, LATER, PEOPLE], "other": [PEOPLE]}.items():
        ledger = dv.Ledger(tmp_path / place)
        for number, people in enumerate(tables):
            released(ledger, tmp_path / f"{place}-{number}", people=people)
        assert [entry.version for entry in ledger.holdings()] == [1, 2, 1][: len(tables)]
    kept = []
    for place in ("one", "other"):
        with contextlib.closing(sqlite3.connect(tmp_path / place / "ledger.sqlite")) as database:
            kept.append([source for (source,) in database.execute("SELECT source FROM releases")])
    assert kept[0][0] == kept[0][2] != kept[0][1]
    assert not set(kept[0]) & set(kept[1]), (
        "a fingerprint must mean nothing without the ledger's own key"
    )


def without_id(release: Path, name: str) -> bytes:
    """A file without the release id, which is drawn at random."""
    release_id = read_manifests(release).public["release_id"]
    return (release / name).read_bytes().replace(str(release_id).encode(), b"")


def test_the_public_part_is_the_same_with_and_without_a_ledger(tmp_path: Path) -> None:
    """Names of recipients, numbers and the ledger are never published."""
    bare = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, **ROLES).write(
        tmp_path / "bare", seed=1
    )
    ledger = dv.Ledger(
        tmp_path / "a ledger", recipient="clinic", dataset="patients", expires="2030-01-01"
    )
    released(ledger, tmp_path / "first", seed=1)
    second = released(ledger, tmp_path / "second", seed=1)
    public = [path.name for path in sorted(bare.iterdir()) if path.is_file()]
    assert public == ["manifest.json", "table.parquet"]
    for name in public:
        assert without_id(bare, name) == without_id(second, name)
    everything = b"".join((second / name).read_bytes() for name in public)
    for word in (b"ledger", b"clinic", b"patients", b"release/1", b"released"):
        assert word not in everything
    # It was judged with the first one, as the private part shows.
    assert b'"released"' in (private_place(second) / "manifest.json").read_bytes()


def test_prior_releases_in_the_ledger_limit_the_next_release(tmp_path: Path) -> None:
    """Worked out by hand in tests/api/test_prior_releases.py.

    Given the zips that the clinic has, ages can be published only as one class.
    """
    place = tmp_path / "ledger"
    publish_zip(tmp_path / "zips")
    dv.Ledger(place, recipient="clinic").add(tmp_path / "zips")

    def levels(**known: Any) -> Any:
        return decide(EIGHT, ledger=dv.Ledger(place, **known)).plan.levels["age"]

    assert decide(EIGHT).plan.levels["age"] == 1
    assert levels() == 2
    assert levels(recipient="press") == 2
    assert levels(recipient="press", coalition="clinic") == 2
    assert levels(recipient="press", coalition="press") == 1, (
        "who tells the clinic nothing, and hears nothing, holds only her own"
    )
    assert levels(recipient="press", dataset="others") == 1
    dv.Ledger(place).retract(1)
    assert levels(recipient="press") == 2, "what is out stays known"
    alone = decide(EIGHT).write(tmp_path / "ages")
    only_hers = dv.Ledger(place, recipient="press", coalition="press")
    for ledger, holds in ((dv.Ledger(place), False), (only_hers, True)):
        assert dv.check(alone, adversary=dv.Adversary(original=EIGHT), ledger=ledger).holds is holds
    dv.Ledger(place).forget(1, force=True)
    assert levels() == 1


def test_releases_of_a_ledger_are_composed(tmp_path: Path) -> None:
    """By hand: ages and zips of eight people make two of them unique.

    They are not in either release. The release of the press by itself does not make them unique.
    """
    place = tmp_path / "ledger"
    dv.Ledger(place, recipient="clinic").add(publish_zip(tmp_path / "zips"))
    dv.Ledger(place, recipient="press").add(decide(EIGHT).write(tmp_path / "ages"))
    only = {name: dv.Ledger(place, recipient=name, coalition=name) for name in ("clinic", "press")}
    for found, releases, alone in (
        (dv.compose(ledger=place, truth=EIGHT), 2, 2),
        (dv.compose([tmp_path / "ages"], ledger=only["clinic"], truth=EIGHT), 2, 2),
        (dv.compose(ledger=only["press"], truth=EIGHT), 1, 0),
    ):
        assert found.together is not None
        assert (len(found.releases), found.together.became_alone) == (releases, alone)


def test_a_release_from_before_the_ledger_is_added_once(tmp_path: Path) -> None:
    out = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, **ROLES).write(tmp_path / "out")
    ledger = dv.Ledger(tmp_path / "ledger", recipient="clinic")
    assert ledger.add(out).number == ledger.add(out).number == 1
    assert dv.Ledger(tmp_path / "ledger", recipient="press").add(out).number == 2
    shutil.rmtree(private_place(out))
    with pytest.raises(BadInput, match="has no private part"):
        dv.Ledger(tmp_path / "ledger", recipient="bank").add(out)


def test_a_crashed_release_without_files_is_unclear_and_counts(tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    out = released(ledger, tmp_path / "out")
    with LedgerStore.open(tmp_path / "ledger") as store:
        store.update_row(1, state="intended")
    shutil.rmtree(out)  # neither at its target nor in its staging folder
    assert [entry.state for entry in ledger.holdings()] == ["unclear"]
    assert numbers(ledger.judge().against) == [1]
    ledger.forget(1)
    assert numbers(ledger.holdings()) == []


def test_only_its_owner_can_read_a_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger"
    before = os.umask(0)
    try:
        released(dv.Ledger(place), tmp_path / "out")
    finally:
        os.umask(before)
    for path in [place, *place.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def _open_to_others(place: Path) -> None:
    place.chmod(0o750)


def _link(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


def _linked_database(place: Path) -> None:
    (place / "ledger.sqlite").rename(place / "elsewhere")
    (place / "ledger.sqlite").symlink_to(place / "elsewhere")


def _other_database(place: Path) -> None:
    (place / "ledger.sqlite").unlink()
    with contextlib.closing(sqlite3.connect(place / "ledger.sqlite")) as database:
        database.execute("CREATE TABLE mine (x)")


def _no_database(place: Path) -> None:
    (place / "ledger.sqlite").write_bytes(
        b"not a database, and long enough for one to be looked for in it"
    )


def _of_later_times(place: Path) -> None:
    with contextlib.closing(sqlite3.connect(place / "ledger.sqlite")) as database:
        database.execute("PRAGMA user_version = 3")


def _folder_of_others(place: Path) -> None:
    (place / "ledger.sqlite").rename(place / "notes.txt")


def _open_folder_of_others(place: Path) -> None:
    """The kind of folder is checked before its mode.

    Nobody should close a folder that is not a ledger.
    """
    _folder_of_others(place)
    place.chmod(0o755)


def _a_file(place: Path) -> None:
    shutil.rmtree(place)
    place.write_text("", encoding="utf-8")


def test_a_first_run_that_fails_leaves_no_ledger(tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    asked = [
        "generalize",
        str(tmp_path / "people.parquet"),
        "--qi",
        "zip",
        "--sensitive",
        "disease",
    ]
    where = ["--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path / "out")]
    assert run_cli(*asked, "--k-anonymity", "9", *where).code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet"]
    assert run_cli(*asked, "--k-anonymity", "2", *where).code == 0
    assert run_cli(*asked, "--k-anonymity", "9", *where, "--force").code == 3
    assert numbers(dv.Ledger(tmp_path / "ledger").holdings()) == [1], (
        "one that holds a release stays"
    )


def test_a_waiting_process_creates_a_removed_ledger_again(
    tmp_path: Path, models: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder whose lock another process holds may be removed meanwhile.

    The lock is not taken twice, and no release is entered in a removed ledger.
    """
    monkeypatch.setattr("divulge.ledger.store._NOTIFY_AFTER_SECONDS", 0.0)
    waits, told = threading.Event(), list[Path]()

    def waiting(folder: Path) -> None:
        told.append(folder)
        waits.set()

    with ThreadPoolExecutor() as pool:
        with contextlib.suppress(KeyError), dv.Ledger(tmp_path / "ledger").turn():
            entering = pool.submit(dv.Ledger(tmp_path / "ledger", waiting=waiting).add, models[0])
            assert waits.wait(30)
            raise KeyError
        assert entering.result(30).number == 1
    assert told == [tmp_path / "ledger"]
    assert numbers(dv.Ledger(tmp_path / "ledger").holdings()) == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["ledger"]


def test_a_waiting_process_is_notified(
    tmp_path: Path, models: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("divulge.ledger.store._NOTIFY_AFTER_SECONDS", 0.0)
    told, tell = threading.Event(), divulge.cli.inputs.tell_of_waiting

    def tell_and_note(folder: Path) -> None:
        tell(folder)
        told.set()

    monkeypatch.setattr("divulge.cli.inputs.tell_of_waiting", tell_and_note)
    ledger, taken = dv.Ledger(tmp_path / "ledger"), threading.Event()
    ledger.add(models[0])

    def hold() -> None:
        with ledger.turn():
            taken.set()
            assert told.wait(30)

    with ThreadPoolExecutor() as pool:
        holding = pool.submit(hold)
        assert taken.wait(30)
        done = run_cli("ledger", "add", str(tmp_path / "ledger"), str(models[1]), "--json")
        holding.result(30)
    assert done.code == 0
    assert "waiting for it" in done.err
    assert json.loads(done.out)["number"] == 2


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_open_to_others, r"others can look into the ledger .*\(mode 0750\).*chmod 700"),
        (_link, "is a link"),
        (_linked_database, "ledger.sqlite in the ledger .* is a link"),
        (_other_database, "is not a ledger"),
        (_no_database, "file is not a database"),
        (_of_later_times, "has the format 3; this divulge reads 2"),
        (_folder_of_others, "is not a ledger"),
        (_open_folder_of_others, "is not a ledger"),
        (_a_file, "is a file"),
    ],
)
def test_an_invalid_ledger_is_rejected_before_publishing(
    tmp_path: Path, models: list[Path], spoil: Callable[[Path], None], told: str
) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    ledger.add(models[0])
    release = replace(DECIDED, ledger=ledger.judge())
    spoil(tmp_path / "ledger")
    for ask in (ledger.holdings, lambda: release.write(tmp_path / "second")):
        with pytest.raises(BadInput, match=told) as refused:
            ask()
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "second").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_missing_ledger(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no ledger"):
        dv.Ledger(tmp_path / "ledger").holdings()
    with pytest.raises(BadInput, match="parent folder does not exist"):
        released(dv.Ledger(tmp_path / "no" / "ledger"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    assert dv.Ledger(tmp_path / "ledger").judge().against == ()
    assert list(tmp_path.iterdir()) == [], "looking makes nothing"


def test_a_ledger_that_cannot_grow_publishes_nothing(tmp_path: Path) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    released(ledger, tmp_path / "first")
    people = pa.table({"zip": [f"47{n:03}" for n in range(400)], "disease": ["flu", "cold"] * 200})
    # Its mappings fit, and so do the rows in the database; the copy of the table does not.
    release = replace(
        dv.generalize(people, policy={"k_anonymity": 2}, **ROLES), ledger=ledger.judge()
    )
    size = (tmp_path / "ledger" / "ledger.sqlite").stat().st_size
    with files_of_at_most(size - 1), pytest.raises(BadInput, match=r"the ledger .* cannot be used"):
        release.write(tmp_path / "second", format="parquet")
    assert numbers(ledger.holdings()) == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "first.private", "ledger"]
    release.write(tmp_path / "second")
    assert numbers(ledger.holdings()) == [1, 2]


def test_an_entry_that_cannot_be_marked_is_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from divulge.ledger.store import LedgerStore

    def full(*_: Any, **__: Any) -> None:
        raise BadInput("database or disk is full")

    ledger = dv.Ledger(tmp_path / "ledger")
    monkeypatch.setattr(LedgerStore, "update_row", full)
    with pytest.raises(
        BadInput, match=r"the release is out at .*disk is full.*finds it there when it is used next"
    ):
        released(ledger, tmp_path / "out")
    monkeypatch.undo()
    assert [entry.state for entry in ledger.holdings()] == ["published"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"recipient": ""}, "recipient is ''"),
        ({"recipient": "a,b"}, "without commas"),
        ({"coalition": []}, "coalition is empty"),
        ({"coalition": ["a"]}, "everybody gets the release"),
        ({"expires": "soon"}, "which is no day"),
        ({"wait": -1}, "wait is -1"),
        ({"dataset": "a\nb"}, "dataset is"),
    ],
)
def test_a_ledger_is_checked_when_it_is_made(given: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        dv.Ledger("ledger", **given)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = dv.generalize(PEOPLE, policy={"k_anonymity": 2}, **ROLES).write(tmp_path / "out")
    assert (
        run_cli("ledger", "add", "ledger", str(out), "--recipient", "clinic", "--json").json()[
            "number"
        ]
        == 1
    )
    assert run_cli("ledger", "add", "ledger", str(out)).out.startswith(
        "release 2 of people: generalized, 4 rows, for everybody"
    )
    listed = run_cli("ledger", "list", "ledger", "--recipient", "clinic", "--json").json()
    assert [entry["number"] for entry in listed["releases"]] == [1, 2]
    shown = run_cli("ledger", "show", "ledger", "1", "--json").json()
    assert (shown["promises"], shown["roles"]["quasi_identifiers"]) == (
        ["k_anonymity >= 2"],
        ["zip"],
    )
    assert run_cli("ledger", "retract", "ledger", "2", "--json").json()["state"] == "retracted"
    assert run_cli("ledger", "forget", "ledger", "1").code == 2
    would_be = run_cli("ledger", "forget", "ledger", "2", "--dry-run").out
    assert "release 2 of people: generalized, 4 rows, for everybody, would be forgotten" in would_be
    assert (
        run_cli("ledger", "forget", "ledger", "1", "--dry-run", "--json").json()["forgotten"]
        is False
    )
    assert (
        run_cli("ledger", "forget", "ledger", "1", "--force", "--json").json()["forgotten"] is True
    )
    added = run_cli("ledger", "add", "ledger", str(out), "--recipient", "press", "--json").json()
    command = ("ledger", "forget", "ledger", str(added["number"]), "--force")
    gone = " ".join(run_cli(*command).out.split())
    assert "for press, is forgotten: nothing is judged against it any more" in gone
    assert run_cli("ledger", "export", "ledger", "--out", "releases.csv").code == 0
    assert (
        (tmp_path / "releases.csv")
        .read_text(encoding="utf-8")
        .splitlines()[0]
        .startswith('"number","dataset"')
    )
    assert len((tmp_path / "releases.csv").read_text(encoding="utf-8").splitlines()) == 2


def test_every_verb_that_publishes_enters(tmp_path: Path) -> None:
    policy = {"k_anonymity": 2}
    first = dv.generalize(PEOPLE, policy=policy, ledger=tmp_path / "ledger", **ROLES).write(
        tmp_path / "first"
    )
    applied = dv.apply(
        first, PEOPLE, tmp_path / "later", ledger=dv.Ledger(tmp_path / "ledger", recipient="clinic")
    )
    again = dv.apply(applied.folder, PEOPLE, tmp_path / "more", ledger=tmp_path / "ledger")
    assert [
        (entry.kind, entry.recipient) for entry in dv.Ledger(tmp_path / "ledger").holdings()
    ] == [("generalized", "everybody"), ("applied", "clinic"), ("applied", "everybody")]
    assert again.to_dict()["ledger"]["judged_against"] == [1, 2]
    assert again.to_dict()["ledger"]["number"] == 3
    assert (
        "Entered as release 3 for everybody. Judged together with release 1 and 2 of people."
        in str(again)
    )
    other = dv.Ledger(tmp_path / "other")
    dv.anatomize(PEOPLE, beta="1/2", ledger=other, **ROLES).write(tmp_path / "tables")
    assert [entry.kind for entry in other.holdings()] == ["anatomized"]
    # The adversary also holds prior releases that are not continued.
    beside = dv.anatomize(PEOPLE, beta="1/2", ledger=other, **ROLES)
    assert [item["people"] for item in beside.settings["released"]] == [4]
    coarse = dv.Ledger(tmp_path / "coarse")
    dv.generalize(PEOPLE, policy={"k_anonymity": 4}, ledger=coarse, **ROLES).write(
        tmp_path / "all in one class"
    )
    found = dv.apply(first, PEOPLE, tmp_path / "beside", ledger=coarse)
    assert [item["people"] for item in found.settings["released"]] == [4]
    assert numbers(coarse.holdings()) == [1, 2]


def test_options_of_a_ledger_without_one_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "zip,disease\n4761,flu\n4762,cold\n4791,flu\n4792,cold\n", encoding="utf-8"
    )
    asked = (
        "generalize",
        str(tmp_path / "t.csv"),
        "--qi",
        "zip",
        "--sensitive",
        "disease",
        "--k-anonymity",
        "2",
        "--no-explain",
    )
    for more, told in {
        ("--recipient", "clinic"): "--recipient has no effect without --ledger",
        (
            "--ledger",
            str(tmp_path / "l"),
            "--expires",
            "2030-01-01",
        ): "--expires has no effect where nothing is published",
        ("--ledger", str(tmp_path / "l"), "--coalition", "a"): "everybody gets the release",
    }.items():
        found = run_cli(*asked, *more)
        assert (found.code, found.err.count("\n")) == (2, 1)
        assert told in found.err
    entered = ("--ledger", str(tmp_path / "l"), "--recipient", "clinic", "--expires", "2030-01-01")
    shown = run_cli(*asked, *entered, "--out", str(tmp_path / "out"), "--json")
    assert shown.json()["ledger"] == {
        "folder": str(tmp_path / "l"),
        "number": 1,
        "dataset": "people",
        "recipient": "clinic",
        "coalition": ["everybody"],
        "judged_against": [],
    }
    (entry,) = dv.Ledger(tmp_path / "l").holdings()
    assert entry.expires == "2030-01-01"


def test_every_engine_enters(engine: DuckDBEngine | SparkEngine, tmp_path: Path) -> None:
    pq.write_table(EIGHT, tmp_path / "people.parquet")
    table = dv.read(tmp_path / "people.parquet", engine=engine)
    ledger = dv.Ledger(tmp_path / "ledger", recipient="clinic")
    ledger.add(publish_zip(tmp_path / "zips", table))
    for at in ("one", "two"):
        release = decide(table, ledger=ledger)
        assert release.plan.levels["age"] == 2
        release.write(tmp_path / at)
    assert [(entry.rows, entry.version) for entry in ledger.holdings()] == [
        (8, None),
        (8, 1),
        (8, 1),
    ]


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Callable[[Path], None]]:
    """Remove the write permission for a folder.

    Root needs none, so for root only a read-only mount works.
    """
    mounted: list[Path] = []

    def take(folder: Path) -> None:
        if os.geteuid():
            folder.chmod(0o500)
            return
        mounted.append(folder)
        for options in (
            ["--bind", str(folder), str(folder)],
            ["-o", "remount,ro,bind", str(folder)],
        ):
            if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
                mounted.clear()
                pytest.skip("nothing can be mounted here")

    yield take
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)
    if (tmp_path / "ledger").exists():
        (tmp_path / "ledger").chmod(0o700)


def test_a_ledger_that_cannot_be_written_can_be_read_and_publishes_nothing(
    tmp_path: Path, models: list[Path], unwritable: Callable[[Path], None]
) -> None:
    ledger = dv.Ledger(tmp_path / "ledger")
    ledger.add(models[0])
    release = replace(DECIDED, ledger=ledger.judge())
    unwritable(tmp_path / "ledger")
    assert numbers(ledger.holdings()) == [1]
    for change in (
        lambda: release.write(tmp_path / "out"),
        lambda: ledger.retract(1),
        lambda: ledger.add(models[1]),
    ):
        with pytest.raises(BadInput, match=r"the ledger .* cannot be used: ") as refused:
            change()
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*"))
