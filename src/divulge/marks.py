# SPDX-License-Identifier: Apache-2.0
"""Marks: the type of a field says whether it may hold a data value.

"No data value in here" is defined in this module only. A data value is the value of a cell, a label
or range of a class, or a text from outside. Fields of results and of JSON documents have one of the
types below. Redaction hides every text and every number whose type has no harmless mark, so that a
field without a mark is hidden, too.

A `Note` is a sentence that may repeat a text from outside. Such a text is quoted, or marked with
`divulge.arguments.outside` where it is not; redaction hides both. Names of columns stay.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any

HIDDEN = "…"
"""Stands for a data value in redacted output."""


class Mark(enum.Enum):
    """Content of a field; all but the first and the last are harmless."""

    DATA = "The value of a cell, a label or range of a class, or a text from outside."
    COUNT = "A number of records, people, classes, columns, steps or the like."
    MEASURE = "A metric, a share, a distance or another statistic of the table."
    PARAMETER = "A parameter of the computation, such as a seed, a bound or a limit of work."
    FRACTION = "An exact fraction, as text."
    COLUMN = "The name of a column."
    METRIC = "The name of a metric."
    WORD = "A word or a sentence of divulge that repeats nothing from outside."
    FILE = "A file, a folder, an address of a table, or a name derived from it."
    MOMENT = "A date or a time at which something was done."
    NOTE = "A sentence of divulge, which may repeat a data value."


HARMLESS = frozenset(Mark) - {Mark.DATA, Mark.NOTE}

DataValue = Annotated[Any, Mark.DATA]
Count = Annotated[int, Mark.COUNT]
Measure = Annotated[float, Mark.MEASURE]
Parameter = Annotated[float, Mark.PARAMETER]
FractionText = Annotated[str, Mark.FRACTION]
ColumnName = Annotated[str, Mark.COLUMN]
MetricName = Annotated[str, Mark.METRIC]
Word = Annotated[str, Mark.WORD]
FileName = Annotated[str, Mark.FILE]
Moment = Annotated[str, Mark.MOMENT]
Note = Annotated[str, Mark.NOTE]
ClassValues = Mapping[ColumnName, DataValue]
"""The values or labels that make a class, by column."""


# --- sentences ------------------------------------------------------------------------------------
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""")
_VISIBLE_NAMES: ContextVar[frozenset[str] | None] = ContextVar("visible_names", default=None)


@contextmanager
def without_values(visible_names: Collection[str] = ()) -> Iterator[None]:
    """Show no data value while this context is open; quoted names of columns stay."""
    before = _VISIBLE_NAMES.set(frozenset(visible_names))
    try:
        yield
    finally:
        _VISIBLE_NAMES.reset(before)


def values_hidden() -> bool:
    """Report whether no data value may be shown."""
    return _VISIBLE_NAMES.get() is not None


def is_visible(name: str) -> bool:
    """Report whether a quoted text may be shown: the name of a column, or an option."""
    visible_names = _VISIBLE_NAMES.get()
    return visible_names is None or name in visible_names or name.startswith("-")


def hide_quoted(text: str) -> str:
    r"""Return a sentence without its quoted texts if values are hidden.

    >>> with without_values({"job"}):
    ...     print(hide_quoted("the hierarchy of 'job' misses 'Doctor' and 'O\\'Brien'"))
    the hierarchy of 'job' misses '…' and '…'
    """

    def hide(match: re.Match[str]) -> str:
        quotation_mark = match[0][0]
        if is_visible(match[0][1:-1]):
            return match[0]
        return f"{quotation_mark}{HIDDEN}{quotation_mark}"

    return _QUOTED.sub(hide, text)
