# SPDX-License-Identifier: Apache-2.0
"""`divulge query`: bounds and an estimate of a count, a sum or an average from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import divulge as dv
from divulge.cli.options import JsonOption, Text, new_app, tell

app = new_app()


@app.command()
def query(
    release: Annotated[
        str, Argument(metavar="RELEASE", help="The folder of a release, anatomized or generalized.")
    ],
    condition: Annotated[
        str,
        Argument(
            metavar="CONDITION", help="What would stand after WHERE; everything if not given."
        ),
    ] = "true",
    total: Annotated[
        Text, Option("--sum", metavar="EXPRESSION", help="Sum this up instead of counting.")
    ] = None,
    average: Annotated[
        Text, Option(metavar="EXPRESSION", help="Average this instead of counting.")
    ] = None,
    group: Annotated[str, Option(help="The group column, in another's release.")] = "GID",
    count: Annotated[str, Option(help="The count column, in another's release.")] = "Count",
    hierarchies: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="What labels stand for, where a generalized release comes without its mapping.",
        ),
    ] = None,
    json_: JsonOption = False,
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
