# SPDX-License-Identifier: Apache-2.0
"""perturbed(): a release whose values were changed at random, held against its original.

Classes no longer tell how many originals stand behind a published value, so H(X | x~) and I2 come from the joint distribution of
original and published values (Bezzi 2010, after eq. 6). The two tables are joined row by row, or by a key. What the published values
tell about a sensitive attribute W (I1, I2 and I(W; X~), eqs. 2 to 4) follows from the same join.

Differential privacy as surprise (eqs. 16 and 17): here each record is a database of its own, and what was done to its value is the
randomized function. If that keeps epsilon, then I1(X~, x) <= epsilon * tanh(epsilon / 2) nats for every original value x: all ratios
p(x~ | x) / p(x~) lie within exp(+-epsilon) and average to 1 under p(x~), where r ln r, being convex, is largest with r at both ends.
The paper leaves theta open; this bound is proved and reached by a coin that lies.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from divulge import arrays, metrics, values
from divulge.arrays import Floats
from divulge.belief import Belief
from divulge.count import Contingency, count
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.results import Result
from divulge.table import Names, Table, read, resolve_roles, table_of


@dataclass(frozen=True, eq=False)
class AttributeBehind:
    """What published values tell about a sensitive attribute W, which stays as it was in the original."""

    entropy: float
    """H(W), in bits."""
    mutual_information: float
    """I(W; X~): what the published values give on average."""
    information_of_original: float
    """I(W; X): what the original values would give."""
    surprise: Floats = field(repr=False)
    """I1(W, x~) for each published class."""
    specific_information: Floats = field(repr=False)
    """I2(W, x~) for each published class."""


@dataclass(frozen=True, eq=False, repr=False)
class Perturbed(Result):
    """What published values tell about the original ones."""

    view = "columns"

    rows: int
    entropy: float
    """H(X): what there was to learn about the original values, in bits."""
    mutual_information: float
    """I(X; X~): what publication gives on average."""
    conditional_entropy: Floats = field(repr=False)
    """H(X | x~) for each published class."""
    specific_information: Floats = field(repr=False)
    """I2(X, x~) = H(X) - H(X | x~) for each published class."""
    contingency: Contingency = field(repr=False)
    surprise_of_original: Floats = field(repr=False)
    """I1(X~, x) for each original value: how far what becomes of it differs from what becomes of all (eq. 17)."""
    attributes: Mapping[str, AttributeBehind]
    settings: dict[str, Any]

    @property
    def surprise_bound(self) -> float | None:
        """The largest I1(X~, x) in bits that the epsilon asked about allows; None where none was given."""
        epsilon = self.settings["epsilon"]
        return None if epsilon is None else surprise_allowed(epsilon)


def surprise_allowed(epsilon: float) -> float:
    """The largest I1(X~, x), in bits, of any mechanism that keeps this epsilon for each record."""
    return epsilon * math.tanh(epsilon / 2) * math.log2(math.e)


@values.checked
def perturbed(
    original: Any,
    published: Any,
    *,
    columns: Names,
    sensitive: Names = (),
    key: str | None = None,
    epsilon: float | None = None,
) -> Perturbed:
    """Measure how much of the original columns their randomly changed versions give away.

    Args:
        original: The table before, whatever `read` opens.
        published: The table after, with the same records.
        columns: The columns whose values were changed.
        sensitive: Attributes of the original about which the published values tell something: I1, I2 and I(W; X~) of each.
        key: The column by which records belong together, unique in both tables; by default they belong together by position.
        epsilon: Of the differential privacy promised for each value: tells how many bits it allows, beside those measured.

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
    before, after = read(original, engine=engine), read(published, engine=engine)
    names = resolve_roles(before, quasi_identifiers=columns).quasi_identifiers
    if not names:
        raise BadInput("no columns were named", hint="name the columns whose values were changed")
    for name in names:
        after.column(name)
    about = resolve_roles(before, quasi_identifiers=columns, sensitive=sensitive).sensitive if sensitive else ()
    joined = _joined(before, after, names, about, key)
    versions = {side: [f"{side} {name}" for name in names] for side in ("original", "published")}
    roles = resolve_roles(joined, quasi_identifiers=versions["published"], sensitive=versions["original"])
    counted = count(joined, roles, joint=len(names) > 1)
    cells = list(counted.cells.values())[-1]
    belief = Belief.of_table(cells)
    settings = {"engine": engine.name, "original": before.source, "published": after.source}
    return Perturbed(
        rows=counted.rows,
        entropy=belief.whole.entropy,
        mutual_information=metrics.mutual_information(belief),
        conditional_entropy=belief.entropy,
        specific_information=metrics.specific_information(belief),
        contingency=counted,
        surprise_of_original=arrays.sum_by_id(cells.value, cells.mass * belief.log_ratio) / cells.marginal,
        attributes=_attributes(joined, versions, about),
        settings=settings
        | {"columns": list(names), "sensitive": list(about), "key": key, "epsilon": epsilon}
        | {"nulls": "category", "log_base": 2},
        frame=before.frame,
    )


def _attributes(
    joined: Table, versions: Mapping[str, list[str]], sensitive: tuple[str, ...]
) -> dict[str, AttributeBehind]:
    """W behind the published classes, and behind the original ones."""
    if not sensitive:
        return {}
    behind = {f"sensitive {name}": name for name in sensitive}
    counted = {
        side: count(joined, resolve_roles(joined, quasi_identifiers=classes, sensitive=list(behind)))
        for side, classes in versions.items()
    }
    found = {}
    for column, name in behind.items():
        published, original = (Belief.of_table(counted[side].cells[column]) for side in ("published", "original"))
        found[name] = AttributeBehind(
            entropy=published.whole.entropy,
            mutual_information=metrics.mutual_information(published),
            information_of_original=metrics.mutual_information(original),
            surprise=published.surprise,
            specific_information=metrics.specific_information(published),
        )
    return found


def _joined(before: Table, after: Table, names: tuple[str, ...], sensitive: tuple[str, ...], key: str | None) -> Table:
    """Both versions of each column side by side, and the sensitive ones of the original."""
    engine = before.engine
    quote = engine.quote

    def counted(relation: str, what: str = "*") -> int:
        return int(engine.query(f"SELECT COUNT({what}) AS n FROM {relation}").column("n")[0].as_py())

    rows = [counted(table.relation) for table in (before, after)]
    if rows[0] != rows[1]:
        told = f"{before.source} has {rows[0]} rows and {after.source} has {rows[1]}"
        raise BadInput(told, hint="both must hold the same records")
    if key is not None:
        kinds = [table.column(key).kind for table in (before, after)]
        if kinds[0] != kinds[1]:
            told = f"key {key!r} holds {kinds[0]} in {before.source} and {kinds[1]} in {after.source}"
            raise BadInput(told, hint="give both the same type")
        for table in (before, after):
            distinct = counted(table.relation, f"DISTINCT {quote(key)}")
            if distinct != rows[0]:
                raise BadInput(f"key {key!r} is not unique in {table.source}: {distinct} values in {rows[0]} rows")
    sides = [(before, "original", "o"), (after, "published", "p")]
    selected = [f"{alias}.{quote(name)} AS {quote(f'{side} {name}')}" for _, side, alias in sides for name in names]
    selected += [f"o.{quote(name)} AS {quote(f'sensitive {name}')}" for name in sensitive]
    kind, on = ("POSITIONAL JOIN", "") if key is None else ("JOIN", f" ON o.{quote(key)} = p.{quote(key)}")
    relation = f"(SELECT {', '.join(selected)} FROM {before.relation} AS o {kind} {after.relation} AS p{on}) AS joined"
    table = table_of(engine, relation, source=f"{before.source} beside {after.source}")
    if key is not None:
        matched = counted(relation)
        if matched != rows[0]:
            raise BadInput(f"{rows[0] - matched} of {rows[0]} keys of {before.source} are not in {after.source}")
    return table
