# SPDX-License-Identifier: Apache-2.0
"""`divulge apply`: publish new records in the way of an earlier release (incremental release)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import divulge as dv
from divulge.cli.inputs import (
    ForceOption,
    LedgerOptions,
    PrivateOutOption,
    ReleasedOption,
    TableOptions,
)
from divulge.cli.options import JsonOption, column, new_app, takes_groups, tell

app = new_app()


@app.command()
@takes_groups
def apply(
    context: typer.Context,
    release: Annotated[
        Path,
        Argument(
            metavar="RELEASE",
            help="The folder of a release, or of later rows that were applied to one, with its "
            "mappings.",
        ),
    ],
    table: TableOptions,
    ledger: LedgerOptions,
    out: Annotated[
        Path, Option(metavar="DIR", help="The folder to publish in; it must not exist yet.")
    ],
    suppress_unseen: Annotated[
        bool,
        Option(
            "--suppress-unseen",
            help="Suppress new records with values that the release does not know.",
        ),
    ] = False,
    suppression: Annotated[
        float | None,
        Option(
            help="With --suppress-unseen: the share of new records that may be suppressed; as "
            "the policy if not given.",
            min=0,
            max=1,
        ),
    ] = None,
    max_deferred: Annotated[
        float,
        Option(
            metavar="SHARE",
            help="The share of records that may be deferred to the next batch; if more would be, "
            "nothing is published.",
            min=0,
            max=1,
        ),
    ] = 1.0,
    accept_incremental_risk: Annotated[
        bool,
        Option(
            "--accept-incremental-risk",
            help="Publish records that fail among the new records and meet the requirements "
            "together with the earlier ones.",
        ),
    ] = False,
    person: Annotated[
        str | None,
        column(
            "Column that names people: rejects new records of people who were deferred before.",
            panel=None,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        Option(help="Fixes the order of the rows, for tests; a fresh secret if not given.", min=0),
    ] = None,
    released: ReleasedOption = None,
    force: ForceOption = False,
    private_dir: PrivateOutOption = None,
    release_private_dir: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="The private part of RELEASE, if it is not next to it (RELEASE.private).",
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Publish new records as an earlier release was published (an incremental release).

    \b
    Examples:
      divulge apply release/ new-patients.csv --out release-2/
      divulge apply release-2/ march.csv --out release-3/ --max-deferred 0.2
      divulge apply /shared/release/ clinic.visits --engine spark --out /shared/release-2/

    They meet its requirements together with the earlier records and among themselves. Records that cannot be published yet are
    deferred: the next apply to the new release adds them, so do not pass them again. Exit code 1 and no release if none can be published.
    """  # noqa: E501
    release_ledger = ledger.value(context, publishes=True)
    applied = dv.apply(
        release,
        table.read(),
        out,
        unseen="suppress" if suppress_unseen else "refuse",
        suppression=suppression,
        max_deferred=max_deferred,
        accept_incremental_risk=accept_incremental_risk,
        person=person,
        force=force,
        private_dir=private_dir,
        release_private_dir=release_private_dir,
        seed=seed,
        ledger=release_ledger,
        adversary=dv.Adversary(released=released) if released else None,
    )
    tell(applied, json_=json_)
