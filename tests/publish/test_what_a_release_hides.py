# SPDX-License-Identifier: Apache-2.0
"""What a release tells around its promise: an attacker who reads the public files alone learns no more than the table says.

Written as she would: she knows the method and the code, tries every way to fill in what was left out, and looks what public bytes and
numbers still allow. The strongest form: originals that differ only in what is left out give the same public bytes.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv

DISEASES = ("HIV", "cold", "flu", "none")
RELEASES = 30


def public_part(folder: Path) -> dict[str, bytes]:
    """Everything that is handed out."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "mapping" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def people(rng: random.Random, left_out: list[str]) -> pa.Table:
    """Two towns that are large enough, and strangers who are not: each alone in a town of its own, so that they are left out."""
    kept = [(rng.choice("ab"), rng.choice(DISEASES[:3])) for _ in range(rng.randint(10, 14))]
    kept += [("a", each) for each in DISEASES] + [("b", each) for each in DISEASES]
    strangers = [(f"x{place}", disease) for place, disease in enumerate(left_out)]
    town, disease = zip(*kept, *strangers, strict=True)
    return pa.table({"town": town, "disease": disease})


def publish(table: pa.Table, out: Path) -> dict[str, bytes]:
    """A release in which strangers are left out."""
    policy = dv.Policy(k_anonymity=2, entropy_leakage=1.9, distribution_leakage=0.9, suppression=0.4)
    release = dv.generalize(
        table, quasi_identifiers="town", sensitive="disease", policy=policy, hierarchies={"town": {"suppress": True}}
    )
    release.write(out, format="csv", seed=3)
    return public_part(out)


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of a document."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def original_json(masses: Counter[str]) -> bytes:
    """mapping/original.json as the program writes it: she has the source code."""
    pairs = [[value, float(masses[value])] for value in sorted(masses)]
    return (json.dumps({"disease": pairs}) + "\n").encode()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, bytes], Counter[str]]]:
    """The public parts of releases, each with what was left out."""
    found = []
    for seed in range(RELEASES):
        rng = random.Random(seed)  # noqa: S311
        left_out = [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))]
        found.append((publish(people(rng, left_out), tmp_path_factory.mktemp("r") / "out"), Counter(left_out)))
    return found


def guesses(table: bytes) -> tuple[Counter[str], list[Counter[str]]]:
    """What was published, and every multiset of up to four diseases that may have been left out."""
    shown = Counter(line.rpartition(",")[2] for line in table.decode().splitlines()[1:])
    ways = (itertools.combinations_with_replacement(DISEASES, size) for size in range(5))
    return shown, [Counter(way) for each in ways for way in each]


@pytest.mark.slow
def test_no_hash_and_no_size_of_what_is_private(published: list[tuple[dict[str, bytes], Counter[str]]]) -> None:
    """Every guess gives bytes of mapping/original.json; neither their hash nor their size stands in a public file."""
    for public, truth in published:
        shown, ways = guesses(public["table.csv"])
        told = json.loads(public["manifest.json"])
        text = b"\n".join(public.values())
        assert truth in ways
        bytes_of = [original_json(shown + way) for way in ways]
        assert not [made for made in bytes_of if hashlib.sha256(made).hexdigest().encode() in text]
        sealed = set(re.findall(rb"[0-9a-f]{64}", text))
        assert sealed == {hashlib.sha256(public["table.csv"]).hexdigest().encode()}
        assert {entry["bytes"] for entry in told["files"].values()} == {len(public["table.csv"])}


def test_no_number_that_tells_guesses_apart(published: list[tuple[dict[str, bytes], Counter[str]]]) -> None:
    """She solves every public number for what was left out: the guesses that fit are those that fit the table and its promises."""
    for public, truth in published:
        shown, ways = guesses(public["table.csv"])
        classes: dict[str, Counter[str]] = {}
        for line in public["table.csv"].decode().splitlines()[1:]:
            town, _, disease = line.rpartition(",")
            classes.setdefault(town, Counter())[disease] += 1
        told = list(numbers_in(json.loads(public["manifest.json"])))
        fitting: list[Counter[str]] = []
        wrongly: list[Counter[str]] = []
        for way in ways:
            before = shown + way
            size = before.total()
            prior = {value: before[value] / size for value in before}
            distance = max(
                sum((members[v] / members.total() - prior[v]) ** 2 for v in prior) ** 0.5
                for members in classes.values()
            )
            (fitting if distance <= 0.9 else wrongly).append(way)
            # What used to be told: the leakage against the original's prior, and how many rows there were.
            alone = max(
                sum((members[v] / members.total() - shown[v] / shown.total()) ** 2 for v in shown) ** 0.5
                for members in classes.values()
            )
            if abs(distance - alone) > 1e-9:
                assert not [number for number in told if abs(number - distance) < 1e-9], way
        assert truth in fitting
        assert not wrongly
        assert len(fitting) == len(ways)


def changed(rng: random.Random, table: pa.Table, kept: list[bool]) -> pa.Table:
    """The same table, with other diseases and other towns in rows that are left out."""
    rows = table.to_pylist()
    for place, stays in enumerate(kept):
        if not stays:
            rows[place] = {"town": f"y{rng.randint(0, 10**6)}_{place}", "disease": rng.choice(DISEASES)}
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize("seed", range(12))
def test_originals_that_differ_in_what_is_left_out_give_the_same_public_bytes(seed: int, tmp_path: Path) -> None:
    rng = random.Random(100 + seed)  # noqa: S311
    table = people(rng, [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))])
    kept = [town in ("a", "b") for town in table.column("town").to_pylist()]
    other = changed(rng, table, kept)
    if rng.random() < 0.5:  # or one stranger fewer
        other = other.slice(0, other.num_rows - 1)
    one, two = publish(table, tmp_path / "one"), publish(other, tmp_path / "two")
    assert len(one["table.csv"].splitlines()) == sum(kept) + 1
    assert one == two
    private = [(tmp_path / name / "mapping" / "manifest.json").read_bytes() for name in ("one", "two")]
    assert private[0] != private[1]


@pytest.mark.parametrize("seed", range(8))
def test_the_same_holds_for_anatomized_releases(seed: int, tmp_path: Path) -> None:
    """Rows with a null are dropped, and identifiers are left out: neither changes a public byte."""
    rng = random.Random(200 + seed)  # noqa: S311
    size = 16
    columns: dict[str, list[Any]] = {
        "town": [rng.choice("abc") for _ in range(size)],
        "age": [rng.randint(20, 24) for _ in range(size)],
        "disease": [DISEASES[place % 4] for place in range(size)],
    }

    def write(name: str, dropped: int, mark: str) -> dict[str, bytes]:
        rows = {
            "town": [*columns["town"], *[rng.choice("xyz") for _ in range(dropped)]],
            "age": [*columns["age"], *[rng.randint(60, 99) for _ in range(dropped)]],
            "disease": [*columns["disease"], *[None] * dropped],
            "number": [f"{mark}{place}@x.org" for place in range(size + dropped)],
        }
        release = dv.anatomize(
            pa.table(rows), sensitive="disease", identifier="number", beta="1/2", nulls="drop", seed=5
        )
        release.write(tmp_path / name, format="csv", seed=5)
        return public_part(tmp_path / name)

    assert write("one", 2, "p") == write("two", 3, "person") == write("three", 0, "q")


def test_later_rows_too(tmp_path: Path) -> None:
    """`apply` leaves out what a release does not know; how much, and what, is not told."""
    rng = random.Random(1)  # noqa: S311
    publish(people(rng, ["HIV", "flu"]), tmp_path / "first")
    later = people(rng, [])
    found = []
    for name, strangers in (("one", ["HIV"]), ("two", ["flu", "none", "cold"])):
        rows = [*later.to_pylist(), *({"town": f"z{name}{i}", "disease": it} for i, it in enumerate(strangers))]
        out = tmp_path / name
        dv.apply(tmp_path / "first", pa.Table.from_pylist(rows), out, unseen="suppress", suppression=1, seed=4)
        found.append(public_part(out))
    assert found[0] == found[1]
