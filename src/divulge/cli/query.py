# SPDX-License-Identifier: Apache-2.0
"""`divulge query`: bounds and an estimate of a count, a sum or an average from a release."""

from __future__ import annotations

from pathlib import Path

import divulge as dv
from divulge.cli.options import Text, new_app, tell

app = new_app()


@app.command()
def query(
    release: str,
    condition: str,
    total: Text,
    average: Text,
    group: Text,
    count: Text,
    hierarchies: Path | None,
    json_: bool,
) -> None:
    """Tell from a release how many records satisfy a condition: bounds that the truth keeps, and an estimate between them.

    \b
    Examples:
      divulge query release/ "age > 30 and job = 'Doctor' and salary = 6700"
      divulge query release/ "job = 'Doctor'" --average salary --json
    """  # noqa: E501
    query_answer = dv.query(
        release,
        condition,
        total=total,
        average=average,
        group=group,
        count=count,
        hierarchies=hierarchies,
    )
    tell(query_answer, json_=json_)
