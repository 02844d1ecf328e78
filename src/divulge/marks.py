# SPDX-License-Identifier: Apache-2.0
"""Marks: the type of a field says whether it may hold a data value.

"No data value in here" is defined in this module only. A data value is the value of a cell, a label
or range of a class, or a text from outside. Fields of results and of JSON documents have one of the
types below. Redaction hides every text and every number whose type has no harmless mark, so that a
field without a mark is hidden, too.

A `Note` is a sentence that may repeat a data value; redaction hides the value in it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
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
