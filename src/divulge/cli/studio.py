# SPDX-License-Identifier: Apache-2.0
"""`divulge studio`: the whole work in a browser, on this machine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from divulge import results
from divulge import studio as server
from divulge.cli import options
from divulge.errors import BadInput, MissingDependency

app = options.new_app()


@app.command()
def studio(
    table: Annotated[options.Text, Argument(metavar="[TABLE]", help="What to open; else the page asks for it.")] = None,
    policy: Annotated[Path | None, Option(metavar="FILE", help="The policy file to begin with.")] = None,
    port: Annotated[int, Option(help="Where to listen; 0: any port that is free.", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, Option("--no-browser", help="Print the address, and open no browser.")] = False,
    stop_after: Annotated[
        float, Option(metavar="MINUTES", help="Without any page open, stop after so many minutes.", min=0)
    ] = 30.0,
    json_: options.JsonOption = False,
) -> None:
    """Work in a browser, on this machine alone: open a table, say who may know what, promise, publish; Ctrl-C stops it.

    \b
    Examples:
      divulge studio
      divulge studio patients.csv
      divulge studio patients.csv --policy divulge.toml --no-browser
    """
    results.refuse_to_show("studio")
    for name in ("starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise MissingDependency(
                f"the studio needs {name}, which is not installed", hint="pip install 'divulge[studio]'"
            )
    if policy is not None and table is None:
        raise BadInput("--policy is about a table, and none is named", hint="name it before the options")
    first: list[tuple[str, str, str]] = []
    if table is not None:
        if server.is_missing(table):
            raise BadInput(
                f"there is no table {table!r}", hint="name a file or a folder, or leave it out and open one on the page"
            )
        first.append(("open", "", table))
    if policy is not None:
        if not policy.is_file():
            raise BadInput(f"there is no policy file {str(policy)!r}")
        first.append(("policy", "", str(policy)))
    tell = _told_as_json if json_ else _told
    server.serve(first, port=port, browser=not no_browser, idle=60 * stop_after, tell=tell)


def _told(address: str) -> None:
    """In one line, however narrow the terminal is: an address that is cut in two opens nothing."""
    sys.stdout.write(f"The studio runs until Ctrl-C. Its address, which is good once:\n{address}\n")
    sys.stdout.flush()


def _told_as_json(address: str) -> None:
    options.emit_json({"address": address})
    sys.stdout.flush()
