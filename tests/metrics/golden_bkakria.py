# SPDX-License-Identifier: Apache-2.0
"""Answers of divulge for each kind of golden entry of Bkakria et al. 2021."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.metrics.drawn import measured
from tests.metrics.golden import Entry, bits, from_rows, from_sizes

BKAKRIA = {
    "DR": "discrimination_rate",
    "MI": "mutual_information",
    "CP": "conditional_privacy",
    "MIL": "maximum_information_leakage",
    "MIL_I1": "surprise",
    "MIL_paper": "maximum_information_leakage_printed",
    "ELD": "entropy_l_risk",
    "ITPR": "itpr",
    "eq9": "itpr_unscaled",
}


def bkakria_case(entry: Entry) -> float:
    """The cases of Tables 3 to 5.

    If X is the person (Id), identity metrics must equal the attribute's metrics.
    """
    found = from_rows(entry["inputs"])
    kind = entry["id"].rpartition(".")[2]
    scores = found.sensitive["x"]
    if kind == "H":
        value = bits(scores["l_max"].value)
        of_person = found.identity_view.person_entropy
    elif kind == "Hcond":
        value = bits(scores["l_max"].value) - scores["mutual_information"].value
        of_person = found.identity_view.person_entropy - found.identity["mutual_information"].value
    elif kind == "ELD_formula":
        value = float(np.min(found.per_class("entropy_l_risk", "x")))
        of_person = float(np.min(found.per_class("entropy_l_risk")))
    else:
        value = scores[BKAKRIA[kind]].value
        # A person is one of equally likely ones, so that I1 and I2 are the same.
        of_person = found.identity[BKAKRIA[kind].replace("surprise", "specific_information")].value
    if entry["id"].startswith("004.Id"):
        assert of_person == pytest.approx(value, abs=1e-12)
    return value


def bkakria_tables(entry: Entry) -> float:
    found = from_rows(entry["inputs"])
    kind = entry["id"].rpartition(".")[2]
    if kind == "ITPR_reid":
        return found.identity["itpr"].value
    if kind == "t":
        assert found["surprise"].value == pytest.approx(0, abs=1e-12)
    metric = {
        "k": "k_anonymity",
        "l": "l_diversity",
        "lent": "entropy_l_diversity",
        "t": "t_closeness",
        "pmax": "alpha",
    }
    return found[(metric | BKAKRIA)[kind]].value


def refinement(entry: Entry) -> float:
    return from_sizes(entry["inputs"]["class_sizes"]).identity["itpr"].value


def independence(entry: Entry) -> float:
    found = from_rows(entry["inputs"])
    assert found["mutual_information"].value == pytest.approx(0, abs=1e-12)
    return found["itpr"].value


def hiv(entry: Entry) -> float:
    """Signed, the variation of the group is below 0: it is more uncertain than the table."""
    everybody, group = float(entry["inputs"]["p_global"]), float(entry["inputs"]["p_group"])
    ill = ["yes"] * round(group * 100) + ["no"] * round((1 - group) * 100)
    table = pa.table({"q": [0] * 100, "hiv": ill})
    found = measured(
        table, quasi_identifiers="q", sensitive="hiv", prior={"yes": everybody, "no": 1 - everybody}
    )
    return float(found.per_class("specific_information", "hiv")[0])
