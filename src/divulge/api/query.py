# SPDX-License-Identifier: Apache-2.0
"""query(): estimate counts, sums and averages from a release (Yao et al. 2021, section 5.1).

The release may be anatomized or generalized, our own or a third party's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from divulge import queries
from divulge.api.opened import ThirdPartyTable, is_anatomized, is_release, open_release
from divulge.arguments import arg
from divulge.errors import BadInput
from divulge.validation import checked

_HINT = "Name the folder of a release, or of the tables of an anatomized release"


@checked
def query(
    release: Any,
    condition: str = "true",
    *,
    total: str | None = None,
    average: str | None = None,
    group: str | None = None,
    count: str | None = None,
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
        group: The column of a third-party release with the name of the group. The default is GID.
        count: The column of a third-party release with the number of occurrences of a row in its
            group. The default is Count.
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
    if isinstance(release, str | Path) and not is_release(release):
        _require_linked_tables(release, group)
    opened = open_release(release, group=group, count=count, hierarchies=hierarchies)
    if isinstance(opened, ThirdPartyTable):
        raise BadInput(f"{opened.table.source} is a table and no release", hint=_HINT)
    return queries.estimate(opened.answers, condition, total=total, average=average)


def _require_linked_tables(path: str | Path, group: str | None) -> None:
    """Raise BadInput unless a path is the folder of a third-party anatomized release."""
    if not Path(path).is_dir():
        raise BadInput(f"{path} is not the folder of a release", hint=_HINT)
    if not is_anatomized(path, group=group):
        message = (
            f"{path} is not a release: it has no manifest.json, and no tables that are linked by "
            f"the group column {group or 'GID'}"
        )
        raise BadInput(message, hint=f"{_HINT}; {arg('group')} names the column")
