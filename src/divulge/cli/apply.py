# SPDX-License-Identifier: Apache-2.0
"""`divulge apply`: publish new records in the way of an earlier release (incremental release)."""

from __future__ import annotations

from pathlib import Path

import divulge as dv
from divulge.cli.inputs import LedgerOptions, TableOptions
from divulge.cli.options import Arguments, BeliefOptions, new_app, tell

app = new_app()


@app.command()
def apply(
    release: Path,
    table: TableOptions,
    ledger: LedgerOptions,
    out: Path,
    suppress_unseen: bool,
    adversary: BeliefOptions,
    further: Arguments,
    force: bool,
    private_dir: Path | None,
    release_private_dir: Path | None,
    json_: bool,
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
    release_ledger = ledger.value(publishes=True)
    applied = dv.apply(
        release,
        table.read(),
        out,
        unseen="suppress" if suppress_unseen else "refuse",
        **further.chosen("apply"),
        force=force,
        private_dir=private_dir,
        release_private_dir=release_private_dir,
        ledger=release_ledger,
        adversary=adversary.resolve() if adversary.values else None,
    )
    tell(applied, json_=json_)
