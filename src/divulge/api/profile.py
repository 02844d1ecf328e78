# SPDX-License-Identifier: Apache-2.0
"""profile(): how identifying each column of a table is, and a suggested role.

The role is suggested from the values, the name and the counts, with a reason. It is never applied
automatically.
"""

from __future__ import annotations

from typing import Any

from divulge import counting, engines
from divulge.policy import Profile, guard, recognition, role_suggestions
from divulge.sources import read
from divulge.validation import checked


@checked
def profile(table: Any, *, engine: engines.EngineChoice = None) -> Profile:
    """Describe every column of a table and suggest its role, in few passes over the rows.

    Kinds of values are recognized in up to about 1,000 distinct values of a column, in the same
    ones each time. The kinds are e-mail addresses, names, IBANs, national ids, postcodes, dates of
    birth, coordinates, test results and free text.

    Args:
        table: Any source that `read` opens.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2"], "disease": ["flu", "cold", None]})
        >>> [(item.column, item.distinct, item.nulls, item.role) for item in dv.profile(people)]
        [('zip', 2, 0, 'quasi_identifier'), ('disease', 2, 1, 'sensitive')]
    """
    source = read(table, engine=engine)
    value_counts = counting.value_counts(
        source, [column.name for column in source.columns if column.kind != "nested"]
    )
    settings = {
        "engine": source.engine.name,
        **source.reading_settings,
        "nulls": "category",
        "log_base": 2,
    }
    facts = guard.look_at(source, value_counts)
    looks = recognition.looks(
        source,
        source.columns,
        {name: column_facts.distinct for name, column_facts in facts.items()},
    )
    columns = (
        role_suggestions.describe_column(
            column, value_counts.get(column.name), facts.get(column.name), looks.get(column.name)
        )
        for column in source.columns
    )
    text_columns = [
        column
        for column in source.columns
        if column.type == "VARCHAR" and _has_few_values(value_counts[column.name])
    ]
    return Profile(
        tuple(columns),
        settings,
        tuple(counting.wildcards.alike_notes(counting.text_domains(source, text_columns))),
        frame=source.frame,
    )


def _has_few_values(spectrum: counting.ValueCounts) -> bool:
    """True if there are few enough values to examine each of them."""
    return 1 < spectrum.distinct <= counting.wildcards.MOST_VALUES
