# SPDX-License-Identifier: Apache-2.0
"""`divulge attack` on perturbed, swapped and synthetic tables, and when it is interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pytest

from divulge.attacks import Matcher
from tests.helpers import run_cli

# Twenty people of different ages; half of them have flu.
TRUTH = pa.table(
    {
        "id": [f"p{n}" for n in range(20)],
        "age": [20 + 3 * n for n in range(20)],
        "disease": ["flu" if n < 10 else "cold" for n in range(20)],
    }
)
AGES = TRUTH["age"].to_pylist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pc.write_csv(TRUTH, tmp_path / "truth.csv")
    return tmp_path


def rates(
    folder: Path, ages: list[int], *options: str, identified: bool = True
) -> dict[str, dict[str, Any]]:
    """Return the result of each attack on the table with other ages."""
    made = TRUTH.set_column(1, "age", pa.array(ages))
    pc.write_csv(made if identified else made.drop_columns(["id"]), folder / "made.csv")
    roles = (
        "--knows",
        "age",
        "--sensitive",
        "disease",
        *(("--identifier", "id") if identified else ()),
    )
    found = run_cli(
        "attack",
        str(folder / "made.csv"),
        "--truth",
        str(folder / "truth.csv"),
        *roles,
        *options,
        "--json",
    )
    assert found.code == 0, found.err
    return {one["attack"]: one for one in json.loads(found.out)["attacks"]}


def test_a_perturbed_table(folder: Path) -> None:
    """Every age is increased by one: no row matches, and the nearest row is the right one."""
    found = rates(folder, [age + 1 for age in AGES])
    assert (found["prosecutor"]["guesses"], found["prosecutor"]["successes"]) == (0, 0)
    assert found["nearest-row"]["successes"] == 20
    assert found["nearest-value"]["successes"] == 20


def test_a_swapped_table(folder: Path) -> None:
    """Neighbors exchanged their ages.

    A row matches everyone but is nobody's own. The disease is right if both neighbors have the
    same.
    """
    found = rates(folder, [AGES[n ^ 1] for n in range(20)])
    assert (found["prosecutor"]["guesses"], found["prosecutor"]["successes"]) == (20, 0)
    assert found["nearest-row"]["successes"] == 0
    assert found["inference"]["successes"] == 20  # pairs 0-1, ..., 18-19 lie within one half each


def test_a_synthetic_table(folder: Path) -> None:
    """No row belongs to a person, so records cannot be linked; values can still be inferred."""
    found = rates(folder, list(reversed(AGES)), identified=False)
    assert "nearest-row" not in found
    assert found["nearest-value"]["successes"] == 0  # the young have what the old have
    assert found["inference"]["successes"] == 0


def test_ctrl_c_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted during the joins: no chart, no report, no temporary file."""
    spare = folder / "spare"
    spare.mkdir()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Matcher, "crowds", interrupted)
    before = sorted(folder.rglob("*"))
    out = ("--chart", str(folder / "c.svg"), "--report", str(folder / "r.html"))
    asked = (
        "--knows",
        "age",
        "--sensitive",
        "disease",
        "--memory-limit",
        "300MB",
        "--temp-directory",
        str(spare),
        *out,
    )
    found = run_cli(
        "attack", str(folder / "truth.csv"), "--truth", str(folder / "truth.csv"), *asked
    )
    assert (found.code, found.out, found.err) == (130, "", "divulge: interrupted\n")
    assert sorted(folder.rglob("*")) == before
