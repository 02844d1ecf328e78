# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score."""

from __future__ import annotations

from typing import Any

from divulge.belief import (
    Adversary,
    Assumptions,
    adversary_in_force,
)
from divulge.count.counting import Request
from divulge.metrics.measurement import Measurement
from divulge.table.read import read, read_beside
from divulge.table.roles import Names, resolve_roles
from divulge.tasks.measuring import measure_request


def measure(
    table: Any,
    *,
    quasi_identifiers: Names,
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    engine: Any = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    `joint` also measures all sensitive columns together as one. `adversary` says what she believed before, rules out and holds.
    `engine` is "duckdb" (the default), "spark", or an engine of yours; a Spark frame brings its own session.

    >>> import pyarrow as pa
    >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
    >>> m = measure(people, quasi_identifiers="zip", sensitive="disease")
    >>> m["k_anonymity"].value, m["l_diversity"].worst.key
    (2.0, {'zip': '1'})
    """
    her = adversary_in_force(adversary)
    source = read(table, engine=engine)
    roles = resolve_roles(
        source,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        identifier=identifier,
        weight=weight,
        person=person,
        declared=True,
    )
    assumptions = Assumptions.of(
        her, roles, original=None if her.original is None else read_beside(source, her.original)
    )
    request = Request(source, roles, her.nulls or "category", joint)
    everybody = None if her.population is None else read_beside(source, her.population)
    return measure_request(request, assumptions=assumptions, population=everybody)
