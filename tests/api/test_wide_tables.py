# SPDX-License-Identifier: Apache-2.0
"""Tables of many columns: the work grows linearly with them, not quadratically.

It is measured in calls, which do not depend on the load of the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv


def calls(columns: int, folder: Path) -> int:
    """Number of Python calls and generator steps of a release with this many columns."""
    names = [f"c{i}" for i in range(columns)]
    table = pa.table({name: ["a", "a", "b", "b"] for name in names})
    counted = 0

    def count(_frame: FrameType, event: str, _: Any) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        release = dv.generalize(
            table,
            policy=dv.Policy(k_anonymity=2),
            quasi_identifiers=names[:2],
            plain=names[3:],
            sensitive=names[2],
        )
        release.write(folder / str(columns))
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.slow
def test_the_work_grows_with_the_columns(tmp_path: Path) -> None:
    """Twice the further columns cost twice as much; quadratic work would cost four times."""
    calls(10, tmp_path)  # loads what is loaded once
    few, more, many = (calls(columns, tmp_path) for columns in (100, 200, 400))
    assert many - more < 2.5 * (more - few)
