# SPDX-License-Identifier: Apache-2.0
"""query(): estimate counts, sums and averages from a release (Yao et al. 2021, section 5.1).

The release may be anatomized or generalized, our own or a third party's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from divulge import anatomization, queries
from divulge.api.opened import OpenedAnatomized, OpenedGeneralized, open_release_or_linked
from divulge.arguments import arg
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.validation import checked


@checked
def query(
    release: Any,
    condition: str = "true",
    *,
    total: str | None = None,
    average: str | None = None,
    group: str = anatomization.GROUP,
    count: str = anatomization.COUNT,
    hierarchies: str | Path | None = None,
) -> queries.Estimate:
    """Estimate the number of records that meet a condition, or a sum or average over them.

    Args:
        release: The folder of an anatomized or generalized release; a result of `anatomize` or
            `open_release`; or the tables of a third-party anatomized release: a folder without a
            manifest, or a list of files or frames.
        condition: The condition on the records, as in SQL's WHERE: "age >= 80 and disease =
            'dementia'".
        total: The expression to sum up instead.
        average: The expression to average instead.
        group: The column of a third-party release with the name of the group.
        count: The column of a third-party release with the number of occurrences of a row in its
            group.
        hierarchies: A folder of hierarchy files that define the labels of a generalized release
            without its mappings.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table(
        ...     {"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]}
        ... )
        >>> dv.query([ages, jobs], "age > 40 and job = 'Doctor'").estimate
        1.0
        >>> found = dv.query([ages, jobs], "age > 42 and job = 'Doctor'")
        >>> found.estimate, found.low, found.high
        (0.5, 0.0, 1.0)
    """
    source = open_release(release, group=group, count=count, hierarchies=hierarchies)
    return queries.estimate(source, condition, total=total, average=average)


@checked
def open_release(
    release: Any,
    *,
    group: str = anatomization.GROUP,
    count: str = anatomization.COUNT,
    hierarchies: str | Path | None = None,
) -> queries.Source:
    """Open a release once, to query it many times with `query`.

    Args:
        release: As in `query`.
        group: The column of a third-party release with the name of the group.
        count: The column of a third-party release with the number of occurrences of a row in its
            group.
        hierarchies: A folder of hierarchy files, as in `query`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table(
        ...     {"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]}
        ... )
        >>> opened = dv.open_release([ages, jobs])
        >>> [dv.query(opened, f"job = '{job}'").estimate for job in ("Teacher", "Doctor")]
        [3.0, 1.0]
    """
    if isinstance(release, queries.AnatomizedSource | queries.GeneralizedSource):
        opened = None
    else:
        opened = open_release_or_linked(release)
    is_third_party = isinstance(opened, OpenedAnatomized) and not opened.is_own
    unused_options = [
        name
        for name, value in {
            "group": group != anatomization.GROUP,
            "count": count != anatomization.COUNT,
        }.items()
        if value
    ]
    if unused_options and not is_third_party:
        message = (
            f"{arg(unused_options[0])} has no effect: this release says itself what its columns are"
        )
        raise BadInput(message, hint="Leave it out; it is for tables that another tool wrote")
    is_generalized = (
        isinstance(opened, OpenedGeneralized) and opened.release.document["kind"] == "generalized"
    )
    if hierarchies is not None and not is_generalized:
        message = (
            f"{arg('hierarchies')} has no effect: only a generalized release that is "
            "opened here has labels"
        )
        raise BadInput(message, hint="Leave it out")
    if opened is None:
        source: queries.Source = release
        return source
    if isinstance(opened, OpenedGeneralized):
        return _generalized_source(opened, hierarchies)
    published = opened.published(group=group, count=count)
    if opened.unwritten is None:
        anatomization.check_groups(published)
    return queries.AnatomizedSource(published, opened.bounds)


def _generalized_source(
    opened: OpenedGeneralized, hierarchies: str | Path | None
) -> queries.GeneralizedSource:
    """Generalized release as a source of estimates."""
    release = opened.release
    if release.document["kind"] == "applied":
        message = (
            f"{release.folder} holds later rows, and its mapping does not list every value of "
            "their labels: no bound would be certain"
        )
        raise BadInput(
            message,
            hint="Ask the release that it continues, or generalize old and new rows together",
        )
    engine = DuckDBEngine()
    table = release.read(engine)
    labels = queries.read_labels(
        engine, table, release.document, release.private_folder, hierarchies=hierarchies
    )
    if release.private is None:
        left_out = None
    else:
        left_out = release.private["rows"]["original"] - release.private["rows"]["published"]
    return queries.GeneralizedSource(table, labels, left_out, release.folder)
