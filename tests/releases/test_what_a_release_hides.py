# SPDX-License-Identifier: Apache-2.0
"""Leakage of a release besides its table: the public files reveal no more than the table.

The adversary knows the method and the code. They try every possible content of the suppressed rows,
and check which ones are consistent with public bytes and numbers. The strongest form: originals
that differ only in suppressed rows give the same public bytes.
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
    """Return all shared files."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    content = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    release_id = json.loads(content["manifest.json"])["release_id"].encode()
    return {name: text.replace(release_id, b"drawn at random") for name, text in content.items()}


def people(rng: random.Random, left_out: list[str]) -> pa.Table:
    """Two towns that are large enough, and strangers in towns of only one person.

    The strangers are suppressed.
    """
    kept = [(rng.choice("ab"), rng.choice(DISEASES[:3])) for _ in range(rng.randint(10, 14))]
    kept += [("a", each) for each in DISEASES] + [("b", each) for each in DISEASES]
    strangers = [(f"x{place}", disease) for place, disease in enumerate(left_out)]
    town, disease = zip(*kept, *strangers, strict=True)
    return pa.table({"town": town, "disease": disease})


def publish(table: pa.Table, out: Path) -> dict[str, bytes]:
    """Write a release in which strangers are suppressed."""
    policy = dv.Policy(
        k_anonymity=2, entropy_leakage=1.9, distribution_leakage=0.9, suppression=0.4
    )
    release = dv.generalize(
        table,
        quasi_identifiers="town",
        sensitive="disease",
        policy=policy,
        hierarchies={"town": {"suppress": True}},
    )
    release.write(out, format="csv", seed=3)
    return public_part(out)


def numbers_in(value: Any) -> Iterator[float]:
    """Yield every number of a document."""
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def original_json(masses: Counter[str]) -> bytes:
    """Return mapping/original.json as the program writes it: the adversary has the source code."""
    pairs = [[value, float(masses[value])] for value in sorted(masses)]
    return (json.dumps({"disease": pairs}) + "\n").encode()


@pytest.fixture(scope="module")
def published(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[dict[str, bytes], Counter[str]]]:
    """The public parts of releases, each with the suppressed values."""
    found = []
    for seed in range(RELEASES):
        rng = random.Random(seed)  # noqa: S311
        left_out = [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))]
        found.append(
            (
                publish(people(rng, left_out), tmp_path_factory.mktemp("r") / "out"),
                Counter(left_out),
            )
        )
    return found


def guesses(table: bytes) -> tuple[Counter[str], list[Counter[str]]]:
    """The published diseases, and every multiset of up to four that may have been suppressed."""
    shown = Counter(line.rpartition(",")[2] for line in table.decode().splitlines()[1:])
    ways = (itertools.combinations_with_replacement(DISEASES, size) for size in range(5))
    return shown, [Counter(way) for each in ways for way in each]


@pytest.mark.slow
def test_public_files_hold_no_hash_or_size_of_private_files(
    published: list[tuple[dict[str, bytes], Counter[str]]],
) -> None:
    """Every guess yields bytes of mapping/original.json.

    Neither their hash nor their size is in a public file.
    """
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


def test_public_numbers_do_not_distinguish_guesses(
    published: list[tuple[dict[str, bytes], Counter[str]]],
) -> None:
    """The adversary solves every public number for the suppressed values.

    The consistent guesses are those that are consistent with the table and its requirements.
    """
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
            # An earlier version published the leakage against the prior of the original, and its
            # number of rows.
            alone = max(
                sum((members[v] / members.total() - shown[v] / shown.total()) ** 2 for v in shown)
                ** 0.5
                for members in classes.values()
            )
            if abs(distance - alone) > 1e-9:
                assert not [number for number in told if abs(number - distance) < 1e-9], way
        assert truth in fitting
        assert not wrongly
        assert len(fitting) == len(ways)


def changed(rng: random.Random, table: pa.Table, kept: list[bool]) -> pa.Table:
    """The table of `people` with other diseases and towns in suppressed rows."""
    rows = table.to_pylist()
    for place, stays in enumerate(kept):
        if not stays:
            rows[place] = {
                "town": f"y{rng.randint(0, 10**6)}_{place}",
                "disease": rng.choice(DISEASES),
            }
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize("seed", range(12))
def test_suppressed_rows_do_not_affect_public_bytes(seed: int, tmp_path: Path) -> None:
    rng = random.Random(100 + seed)  # noqa: S311
    table = people(rng, [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))])
    kept = [town in ("a", "b") for town in table.column("town").to_pylist()]
    other = changed(rng, table, kept)
    if rng.random() < 0.5:  # or one stranger fewer
        other = other.slice(0, other.num_rows - 1)
    one, two = publish(table, tmp_path / "one"), publish(other, tmp_path / "two")
    assert len(one["table.csv"].splitlines()) == sum(kept) + 1
    assert one == two
    private = [
        (tmp_path / f"{name}.private" / "manifest.json").read_bytes() for name in ("one", "two")
    ]
    assert private[0] != private[1]


@pytest.mark.parametrize("seed", range(8))
def test_dropped_rows_do_not_affect_anatomized_releases(seed: int, tmp_path: Path) -> None:
    """Rows with a null and identifiers are dropped: neither changes a public byte."""
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
            pa.table(rows),
            sensitive="disease",
            identifier="number",
            beta="1/2",
            nulls="drop",
            seed=5,
        )
        release.write(tmp_path / name, format="csv", seed=5)
        return public_part(tmp_path / name)

    assert write("one", 2, "p") == write("two", 3, "person") == write("three", 0, "q")


def test_suppressed_later_rows_do_not_affect_public_bytes(tmp_path: Path) -> None:
    """`apply` suppresses values without a label, and reveals neither them nor their number."""
    rng = random.Random(1)  # noqa: S311
    publish(people(rng, ["HIV", "flu"]), tmp_path / "first")
    later = people(rng, [])
    found = []
    for name, strangers in (("one", ["HIV"]), ("two", ["flu", "none", "cold"])):
        rows = [
            *later.to_pylist(),
            *({"town": f"z{name}{i}", "disease": it} for i, it in enumerate(strangers)),
        ]
        out = tmp_path / name
        dv.apply(
            tmp_path / "first",
            pa.Table.from_pylist(rows),
            out,
            unseen="suppress",
            suppression=1,
            seed=4,
        )
        found.append(public_part(out))
    assert found[0] == found[1]
