# SPDX-License-Identifier: Apache-2.0
"""The `engine` fixture: each engine keeps its counts in another place, with equal results."""

from __future__ import annotations

import pyarrow as pa
import pytest

import divulge as dv
from divulge.engines import Engine

PLACES = {
    "memory": "collected",
    "limit": "disk",
    "spark": "cluster",
    "spark collected": "collected",
}
AGES = pa.table({"age": [20, 20, 30, 30, 30, 40, 50, 60, 70, 80]})


@pytest.mark.parametrize("engine", PLACES, indirect=True)
def test_the_counts_stay_where_the_name_says(
    engine: Engine, request: pytest.FixtureRequest
) -> None:
    found = dv.measure(AGES, quasi_identifiers="age", engine=engine)
    assert found.settings["counts"] == PLACES[request.node.callspec.params["engine"]]
    # By hand: 20 twice, 30 three times, five people unique.
    assert {name: found.identity[name].value for name in ("k_anonymity", "classes", "uniques")} == {
        "k_anonymity": 1,
        "classes": 7,
        "uniques": 5,
    }


@pytest.mark.xdist_group("alone")
def test_groups_are_kept_together(request: pytest.FixtureRequest) -> None:
    """Otherwise each process silently starts its own Spark, cluster and server.

    Seen with pytest 9.2 and pytest-xdist 3.8.
    """
    side_by_side = request.config.getoption("loadgroup", default=False)
    assert request.node.nodeid.endswith("@alone") == side_by_side
