# SPDX-License-Identifier: Apache-2.0
"""Tables of the papers as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import nine_patients

PATIENTS = """zip,age,disease
476**,2*,Heart Disease
476**,2*,Heart Disease
476**,2*,Heart Disease
4790*,>=40,Flu
4790*,>=40,Heart Disease
4790*,>=40,Cancer
476**,3*,Heart Disease
476**,3*,Cancer
476**,3*,Cancer
"""


@pytest.fixture
def patients(tmp_path: Path) -> str:
    """Table 1b of Afifi et al. 2018: 3-anonymous, and Bob's class is homogeneous."""
    path = tmp_path / "patients.csv"
    path.write_text(PATIENTS, encoding="utf-8")
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "patients.csv"
    path.write_text(nine_patients.ROWS, encoding="utf-8")
    return str(path)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    path = tmp_path / "divulge.toml"
    path.write_text(nine_patients.POLICY, encoding="utf-8")
    return str(path)
