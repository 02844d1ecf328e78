# SPDX-License-Identifier: Apache-2.0
"""An earlier release and later rows, measured together: which promises can be checked again, and against which prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from divulge.belief import Assumptions
from divulge.count import Cells, Contingency, Domain, count
from divulge.count.align import align
from divulge.count.contingency import Floats
from divulge.errors import BadInput
from divulge.metrics.measurement import Measurement
from divulge.policy import Promise
from divulge.publish.earlier import Earlier
from divulge.table.roles import Roles
from divulge.table.table import Table
from divulge.table.texts import as_text
from divulge.tasks.measure import measure_counts


def checkable(earlier: Earlier, counted: Contingency) -> tuple[tuple[Promise, ...], tuple[str, ...]]:
    """The promises that can be checked from the files of a release, and the others with the reason."""
    reasons = {promise: _obstacle(promise, earlier, counted) for promise in earlier.promises}
    unchecked = tuple(f"{promise.text}: {reason}" for promise, reason in reasons.items() if reason)
    return tuple(promise for promise, reason in reasons.items() if not reason), unchecked


def _obstacle(promise: Promise, earlier: Earlier, counted: Contingency) -> str | None:
    """Why a promise cannot be checked again."""
    settings: dict[str, Any] = earlier.settings
    if promise.metric.needs_population and settings["population"] == "table":
        return "the population table is not part of the release"
    if promise.metric.scope == "identity":
        return None
    attributes = [promise.attribute] if promise.attribute else list(settings["sensitive"])
    for name in attributes:
        if settings["prior"][name] != "original":
            return f"the prior of {name} was given and is not part of the release"
        if name in earlier.document["background"]:
            return f"the background knowledge about {name} is not part of the release"
        usual = "ordered" if counted.cells[name].domain.is_ordered else "equal"
        if promise.metric.name == "t_closeness" and settings["ground_distance"][name] != usual:
            return f"the {settings['ground_distance'][name]} distance of {name} is not part of the release"
    return None


def measure_later(earlier: Earlier, table: Table, later: Contingency) -> Measurement:
    """Count and measure published rows, new or old and new; the prior is that of the old original and all new rows."""
    roles = Roles(earlier.quasi_identifiers, earlier.sensitive, (), earlier.weight, None)
    counted = count(table, roles, joint=earlier.document["joint"])
    masses: dict[str, Floats] = {}
    cells: dict[str, Cells] = {}
    for name, found in counted.cells.items():
        cells[name], masses[name] = _with_prior(found, earlier.masses[name], later.cells[name])
    assumptions = Assumptions(original_masses=masses)
    return measure_counts(replace(counted, cells=cells), table, roles, assumptions=assumptions)


def _with_prior(cells: Cells, before: dict[str | None, float], later: Cells) -> tuple[Cells, Floats]:
    """The cells over every value that the old original or the new rows had, and how often each occurred there."""
    try:
        values = pa.array(list(before), type=pa.string()).cast(cells.domain.values.type)
    except pa.ArrowInvalid as error:
        raise BadInput(
            f"the values of {cells.domain.name!r} have another type than in the earlier release: {error}"
        ) from None
    domain, _, _ = align(cells.domain, Domain(cells.domain.name, values, cells.domain.kind))
    domain, _, _ = align(domain, later.domain)
    place = {as_text(label): code for code, label in enumerate(domain.labels)}
    masses = np.zeros(len(domain))
    for text, mass in before.items():
        masses[place[text]] += mass
    for label, mass in zip(later.domain.labels, later.marginal, strict=True):
        masses[place[as_text(label)]] += mass
    codes = np.array([place[as_text(label)] for label in cells.domain.labels], dtype=np.int64)
    return cells.recode(codes, domain), masses
