# SPDX-License-Identifier: Apache-2.0
"""Adult and Census-Income with the parameters of Yao et al. 2021, Table 7: errors and releases."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import divulge as dv
from divulge.anatomization import InfeasibleModel
from divulge.api.anatomize import anatomize
from tests.anatomization.literature import expected
from tests.anatomization.public import ADULT, CENSUS, public
from tests.helpers import group_check_of

pytestmark = pytest.mark.public_data

TABLE_7: dict[str, Any] = {"alpha": 0.5, "gamma": 0.005, "tables": 3}


@pytest.mark.parametrize(
    ("data", "columns", "sensitive", "told", "case"),
    [
        (
            "adult",
            ADULT,
            "native-country",
            "native-country = 'United-States' is in 27504 of 30162",
            "adult-clean-country",
        ),
        (
            "census-income",
            CENSUS,
            "capital gains",
            "capital gains = 0 is in 192144 of 199523",
            None,
        ),
    ],
)
def test_the_papers_own_choices_are_refused_with_the_reason(
    data: str, columns: dict[str, str], sensitive: str, told: str, case: str | None
) -> None:
    with pytest.raises(InfeasibleModel) as refused:
        anatomize(
            public(data).select(list(columns.values())),
            sensitive=sensitive,
            beta=0.05,
            delta=0.05,
            **TABLE_7,
        )
    assert told in refused.value.because
    assert refused.value.exit_code == 3
    assert refused.value.records_per_group == 1
    if case is not None:
        assert refused.value.nearest.beta == Fraction(expected(f"feas-{case}")["beta_star"])


@pytest.mark.parametrize(
    ("data", "columns", "sensitive", "bound"),
    [
        ("adult", ADULT, "occupation", "1/7"),
        ("adult", ADULT, "age", "1/20"),
        ("census-income", CENSUS, "detailed occupation recode", "1/11"),
        ("census-income", CENSUS, "age", "1/20"),
    ],
)
def test_good_choices_are_published(
    tmp_path: Path, data: str, columns: dict[str, str], sensitive: str, bound: str
) -> None:
    """Choices of the dossier; the most common occupation allows no less than 1/7 and 1/11."""
    left_out = {"native-country", "capital gains", sensitive}
    names = [name for name in columns.values() if name not in left_out]
    table = public(data)
    if sensitive == "detailed occupation recode":
        table = table.filter(pc.not_equal(table.column(sensitive), "0"))
    release = anatomize(
        table.select([*names, sensitive]),
        sensitive=sensitive,
        beta=bound,
        delta=bound,
        seed=1,
        **TABLE_7,
    )
    folder = release.write(tmp_path / "out")
    found = group_check_of(folder, alpha=0.5, beta=bound, gamma=0.005, delta=bound)
    assert found.holds
    assert len(found.tables) == 4
    name = names[0]
    value = table.column(name)[0].as_py()
    literal = f"'{value}'" if isinstance(value, str) else str(value)
    true = pc.sum(pc.equal(table.column(name), value)).as_py()
    assert dv.query(folder, f'"{name}" = {literal}').estimate == true
