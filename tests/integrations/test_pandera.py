# SPDX-License-Identifier: Apache-2.0
"""The pandera check in schemas of pandas and Polars: violations are reported in words."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import polars as pl
import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.integrations.pandera import keeps

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # pandera imports pyspark.pandas, which warns of pandas 3
    pandera = pytest.importorskip("pandera.pandas", reason="no pandera: pip install '.[pandera]'")
    from pandera import polars as pandera_polars

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)
ROLES = {"quasi_identifiers": ["zip"], "sensitive": "disease"}
PEOPLE = {"zip": ["476", "476", "479", "479"], "disease": ["Gout", "Gout", "Gout", "Cancer"]}
K = "k_anonymity >= 3 is broken: measured 2, by 2 classes with 4 people"
L = "l_diversity >= 2 (disease) is broken: measured 1, by 1 class with 2 people"


@pytest.fixture(params=["pandas", "polars"])
def tools(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """The pandera module for a kind of frame, and a frame."""
    if request.param == "pandas":
        return pandera, pd.DataFrame(PEOPLE)
    return pandera_polars, pl.DataFrame(PEOPLE)


def test_a_frame_that_meets_the_policy_passes(tools: tuple[Any, Any]) -> None:
    pa, frame = tools
    schema = pa.DataFrameSchema({"zip": pa.Column(str)}, checks=keeps(ROLES | {"k_anonymity": 2}))
    assert schema.validate(frame) is not None
    assert keeps(dv.Policy(k_anonymity=2, roles=ROLES)).name == "keeps_policy"


def test_a_violated_policy_fails_with_a_message(tools: tuple[Any, Any]) -> None:
    pa, frame = tools
    schema = pa.DataFrameSchema(checks=keeps(ROLES | {"k_anonymity": 3, "l_diversity": 2}))
    with pytest.raises(pa.errors.SchemaError) as failed:
        schema.validate(frame)
    assert f"{K}; {L}" in str(failed.value)
    assert not [value for value in ("476", "Gout", "Cancer") if value in str(failed.value)]


def test_its_error_is_reported_with_the_other_errors_of_a_schema() -> None:
    """Only pandas is tested.

    For Polars, pandera 0.35 cannot join a failure without cases and one of a column.
    """
    schema = pandera.DataFrameSchema(
        {"zip": pandera.Column(int)}, checks=keeps(ROLES | {"k_anonymity": 3})
    )
    with pytest.raises(pandera.errors.SchemaErrors) as failed:
        schema.validate(pd.DataFrame(PEOPLE), lazy=True)
    assert K in str(failed.value)
    assert "zip" in str(failed.value)


def test_an_unreadable_policy_fails_when_the_schema_is_created() -> None:
    with pytest.raises(BadInput, match="k_anonimity"):
        keeps({"k_anonimity": 2})
