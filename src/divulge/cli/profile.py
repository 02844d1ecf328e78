# SPDX-License-Identifier: Apache-2.0
"""`divulge profile`: each column, and its suggested role."""

from __future__ import annotations

import divulge as dv
from divulge.cli.inputs import TableOptions
from divulge.cli.options import new_app, tell

app = new_app()


@app.command()
def profile(table: TableOptions, json_: bool) -> None:
    """Describe each column and suggest its role, with the reason.

    \b
    Example:
      divulge profile patients.csv
    """
    tell(dv.profile(table.read()), json_=json_)
