# SPDX-License-Identifier: Apache-2.0
"""`divulge reseal`: clean the manifest of a release that an earlier version wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

import divulge as dv
from divulge.cli.options import JsonOption, new_app, tell

app = new_app()


@app.command()
def reseal(
    release: Annotated[Path, Argument(metavar="RELEASE", help="The folder of a release, of any kind.")],
    json_: JsonOption = False,
) -> None:
    """Clean the manifest of a release that an earlier version wrote: what it told of the original goes to mapping/.

    \b
    Examples:
      divulge reseal release/
      divulge reseal release/ --json
    """
    tell(dv.reseal(release), json_=json_)
