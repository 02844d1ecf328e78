# SPDX-License-Identifier: Apache-2.0
"""`divulge studio`: measure, anonymize and publish in a browser, on this machine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from divulge import results
from divulge import studio as server
from divulge.cli import options
from divulge.errors import BadInput, MissingDependency

app = options.new_app()


@app.command()
def studio(
    table: options.Text,
    policy: Path | None,
    port: int,
    no_browser: bool,
    stop_after: float,
    json_: bool,
) -> None:
    """Work in a browser, on this machine alone: open a table, say who may know what, promise, publish; Ctrl-C stops it.

    \b
    Examples:
      divulge studio
      divulge studio patients.csv
      divulge studio patients.csv --policy divulge.toml --no-browser
    """  # noqa: E501
    results.refuse_to_show("studio")
    for name in ("starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise MissingDependency(
                f"the studio needs {name}, which is not installed", extra="studio"
            )
    if policy is not None and table is None:
        raise BadInput(
            "--policy is about a table, and none is named", hint="name it before the options"
        )
    initial_changes: list[tuple[str, str, str]] = []
    if table is not None:
        if server.is_missing(table):
            raise BadInput(
                f"there is no table {table!r}",
                hint="name a file or a folder, or leave it out and open one on the page",
            )
        initial_changes.append(("open", "", table))
    if policy is not None:
        if not policy.is_file():
            raise BadInput(f"there is no policy file {str(policy)!r}")
        initial_changes.append(("policy", "", str(policy)))
    if json_:
        print_address = _print_address_json
    else:
        print_address = _print_address
    server.serve(
        initial_changes,
        port=port,
        browser=not no_browser,
        idle=60 * stop_after,
        print_address=print_address,
    )


def _print_address(address: str) -> None:
    """Print the address on one line: an address that is wrapped cannot be opened."""
    sys.stdout.write(f"The studio runs until Ctrl-C. Its address, which is good once:\n{address}\n")
    sys.stdout.flush()


def _print_address_json(address: str) -> None:
    options.emit_json({"address": address})
    sys.stdout.flush()
