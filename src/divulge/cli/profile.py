# SPDX-License-Identifier: Apache-2.0
"""`divulge profile`: each column, and the role it probably plays."""

from __future__ import annotations

from divulge.cli.common import emit_json, new_app, show
from divulge.cli.options import JsonOption, TableOptions, takes_groups

app = new_app()


@app.command()
@takes_groups
def profile(table: TableOptions, json_: JsonOption = False) -> None:
    """Describe each column and suggest its role, with the reason.

    \b
    Example:
      divulge profile patients.csv
    """
    from divulge.report.columns import profile_text
    from divulge.tasks.profile import profile as run_profile

    opened = table.read()
    columns = run_profile(opened)
    if json_:
        settings = {"engine": opened.engine.name, "source": opened.source, "nulls": "category", "log_base": 2}
        emit_json({"settings": settings, "columns": [column.document() for column in columns]})
    else:
        show(profile_text(columns, opened.source))
