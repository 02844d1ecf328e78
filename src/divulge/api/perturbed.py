# SPDX-License-Identifier: Apache-2.0
"""perturbed(): compare a randomly perturbed release with its original (Bezzi 2010).

The two tables are joined row by row, or by a key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from divulge import metrics
from divulge.counting import count
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.sources import Names, Table, read, resolve_roles, table_of
from divulge.validation import checked


@checked
def perturbed(
    original: Any,
    published: Any,
    *,
    columns: Names,
    sensitive: Names = (),
    key: str | None = None,
    epsilon: float | None = None,
) -> metrics.Perturbed:
    """Measure the information that randomly perturbed columns disclose about the original columns.

    Args:
        original: The table before perturbation: any source that `read` opens.
        published: The table after perturbation, with the same records.
        columns: The perturbed columns.
        sensitive: Attributes of the original; I1, I2 and I(W; X~) of the published values are
            measured for each.
        key: The column by which records are matched, unique in both tables; by default they are
            matched by position.
        epsilon: The differential privacy guarantee for each value; the result shows the bits that
            it allows, compared with the measured ones.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> before, after = pa.table({"age": [30, 30, 40, 40]}), pa.table({"age": [31, 31, 31, 42]})
        >>> found = dv.perturbed(before, after, columns="age")
        >>> found.entropy, round(found.mutual_information, 4)
        (1.0, 0.3113)
    """
    if epsilon is not None and not 0 < epsilon < math.inf:
        raise BadInput(f"epsilon must be a number above 0, not {epsilon}")
    engine = DuckDBEngine(preserve_order=True)
    before = read(original, engine=engine)
    after = read(published, engine=engine)
    names = resolve_roles(before, quasi_identifiers=columns).quasi_identifiers
    if not names:
        raise BadInput("no columns were named", hint="name the columns whose values were changed")
    for name in names:
        after.column(name)
    if sensitive:
        sensitive_columns = resolve_roles(
            before, quasi_identifiers=columns, sensitive=sensitive
        ).sensitive
    else:
        sensitive_columns = ()
    joined = _join_versions(before, after, names, sensitive_columns, key)
    versions = {side: [f"{side} {name}" for name in names] for side in ("original", "published")}
    roles = resolve_roles(
        joined, quasi_identifiers=versions["published"], sensitive=versions["original"]
    )
    contingency = count(joined, roles, joint=len(names) > 1)
    settings = {
        "engine": engine.name,
        "original": before.source,
        "published": after.source,
        "columns": list(names),
        "sensitive": list(sensitive_columns),
        "key": key,
        "epsilon": epsilon,
    }
    return metrics.measure_perturbation(
        contingency,
        _attributes(joined, versions, sensitive_columns),
        settings=settings,
        frame=before.frame,
    )


def _attributes(
    joined: Table, versions: Mapping[str, list[str]], sensitive: tuple[str, ...]
) -> dict[str, metrics.AttributeInformation]:
    """Information about each W from the published classes, and from the original classes."""
    if not sensitive:
        return {}
    name_by_column = {f"sensitive {name}": name for name in sensitive}
    contingencies = {
        side: count(
            joined, resolve_roles(joined, quasi_identifiers=classes, sensitive=list(name_by_column))
        )
        for side, classes in versions.items()
    }
    return {
        name: metrics.information_about_attribute(
            contingencies["published"], contingencies["original"], column
        )
        for column, name in name_by_column.items()
    }


def _join_versions(
    before: Table, after: Table, names: tuple[str, ...], sensitive: tuple[str, ...], key: str | None
) -> Table:
    """Join both versions of each column, and the sensitive columns of the original."""
    engine = before.engine
    quote = engine.quote

    def count_rows(relation: str, expression: str = "*") -> int:
        return int(
            engine.query(f"SELECT COUNT({expression}) AS n FROM {relation}").column("n")[0].as_py()
        )

    rows = [count_rows(table.relation) for table in (before, after)]
    if rows[0] != rows[1]:
        message = f"{before.source} has {rows[0]} rows and {after.source} has {rows[1]}"
        raise BadInput(message, hint="both must hold the same records")
    if key is not None:
        kinds = [table.column(key).kind for table in (before, after)]
        if kinds[0] != kinds[1]:
            message = (
                f"key {key!r} holds {kinds[0]} in {before.source} and {kinds[1]} in {after.source}"
            )
            raise BadInput(message, hint="give both the same type")
        for table in (before, after):
            distinct = count_rows(table.relation, f"DISTINCT {quote(key)}")
            if distinct != rows[0]:
                raise BadInput(
                    f"key {key!r} is not unique in {table.source}: {distinct} values in "
                    f"{rows[0]} rows"
                )
    sides = [(before, "original", "o"), (after, "published", "p")]
    selected = [
        f"{alias}.{quote(name)} AS {quote(f'{side} {name}')}"
        for _, side, alias in sides
        for name in names
    ]
    selected += [f"o.{quote(name)} AS {quote(f'sensitive {name}')}" for name in sensitive]
    if key is None:
        kind = "POSITIONAL JOIN"
        on = ""
    else:
        kind = "JOIN"
        on = f" ON o.{quote(key)} = p.{quote(key)}"
    relation = (
        f"(SELECT {', '.join(selected)} "
        f"FROM {before.relation} AS o {kind} {after.relation} AS p{on}) AS joined"
    )
    table = table_of(engine, relation, source=f"{before.source} beside {after.source}")
    if key is not None:
        matched = count_rows(relation)
        if matched != rows[0]:
            raise BadInput(
                f"{rows[0] - matched} of {rows[0]} keys of {before.source} are not in "
                f"{after.source}"
            )
    return table
