# SPDX-License-Identifier: Apache-2.0
"""`divulge apply`: publish new rows as an earlier release was published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import divulge as dv
from divulge.cli.given import ForceOption, LedgerOptions, ReleasedOption, TableOptions
from divulge.cli.options import JsonOption, new_app, takes_groups, tell

app = new_app()


@app.command()
@takes_groups
def apply(
    context: typer.Context,
    release: Annotated[
        Path,
        Argument(
            metavar="RELEASE",
            help="The folder of a release, or of later rows that were applied to one, with its mappings.",
        ),
    ],
    table: TableOptions,
    ledger: LedgerOptions,
    out: Annotated[Path, Option(metavar="DIR", help="The folder to publish in; it must not exist yet.")],
    suppress_unseen: Annotated[
        bool,
        Option(
            "--suppress-unseen",
            help="Leave out rows with values the release does not know, or whose class breaks a promise.",
        ),
    ] = False,
    suppression: Annotated[
        float | None,
        Option(
            help="With --suppress-unseen: the share of the new rows that may be left out; as the release's policy if not given.",
            min=0,
            max=1,
        ),
    ] = None,
    seed: Annotated[
        int | None, Option(help="Fixes the order of the rows, for tests; a fresh secret if not given.", min=0)
    ] = None,
    released: ReleasedOption = None,
    force: ForceOption = False,
    json_: JsonOption = False,
) -> None:
    """Publish new rows as an earlier release was published, if both together still keep its promises (else exit code 1).

    \b
    Examples:
      divulge apply release/ new-patients.csv --out release-2/
      divulge apply /shared/release/ clinic.visits --engine spark --out /shared/release-2/
    """
    known = ledger.value(context, publishes=True)
    applied = dv.apply(
        release,
        table.read(),
        out,
        unseen="suppress" if suppress_unseen else "refuse",
        suppression=suppression,
        force=force,
        seed=seed,
        ledger=known,
        adversary=dv.Adversary(released=released) if released else None,
    )
    tell(applied, json_=json_)
