# SPDX-License-Identifier: Apache-2.0
"""`divulge ledger`: releases of the same people, with their dates and recipients."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import results
from divulge.cli import options
from divulge.cli.inputs import open_ledger
from divulge.cli.options import Text, Texts, new_app, tell
from divulge.errors import BadInput
from divulge.text import count_with_noun

app = new_app()


@dataclass(frozen=True)
class HoldingOptions:
    """Recipients and data set of the releases."""

    recipient: Texts = None
    dataset: Text = None

    def of(self, ledger: Path) -> Any:
        """Return the selected releases of a ledger."""
        names = [name.strip() for text in self.recipient or [] for name in text.split(",")]
        return dv.Ledger(ledger, dataset=self.dataset).holdings(*names)


@app.callback()
def ledger() -> None:
    """What was released of the same people, when and to whom.

    \b
    Examples:
      divulge generalize patients.csv --policy divulge.toml --ledger ledger/ --recipient clinic --out release/
      divulge ledger list ledger/
    """  # noqa: E501


@app.command("list")
def list_(ledger: Path, holding: HoldingOptions, json_: bool) -> None:
    """List what is out, or what some recipients hold together.

    \b
    Examples:
      divulge ledger list ledger/
      divulge ledger list ledger/ --recipient clinic,press
    """
    tell(holding.of(ledger), json_=json_)


@app.command()
def show(ledger: Path, number: int, json_: bool) -> None:
    """Show one release: its state, its place, its columns and what it promises.

    \b
    Examples:
      divulge ledger show ledger/ 3
    """
    tell(dv.Ledger(ledger).entry(number), json_=json_)


@app.command()
def add(
    ledger: Path, release: Path, recipient: Text, dataset: Text, expires: Text, json_: bool
) -> None:
    """Enter a release that is out already, so that later ones are judged against it; it is not judged itself.

    \b
    Examples:
      divulge ledger add ledger/ release-2025/
      divulge ledger add ledger/ release-2025/ --recipient clinic --expires 2027-12-31
    """  # noqa: E501
    entered = open_ledger(ledger, recipient=recipient, dataset=dataset, expires=expires).add(
        release
    )
    tell(entered, json_=json_)


@app.command()
def retract(ledger: Path, number: int, json_: bool) -> None:
    """Note that a release was called back; what is out stays known, so later releases are judged against it as before.

    \b
    Examples:
      divulge ledger retract ledger/ 3
    """  # noqa: E501
    tell(open_ledger(ledger).retract(number), json_=json_)


@app.command()
def forget(ledger: Path, number: int, force: bool, dry_run: bool, json_: bool) -> None:
    """Take a release out of the ledger, with the copy of its private part: nothing is judged against it any more.

    \b
    Examples:
      divulge ledger forget ledger/ 3 --dry-run
      divulge ledger forget ledger/ 3 --force
    """  # noqa: E501
    value = open_ledger(ledger)
    if dry_run:
        entry = value.entry(number)
    else:
        entry = value.forget(number, force=force)
    tell(entry, json_=json_, forgotten=not dry_run)


@app.command()
def export(ledger: Path, out: Path, holding: HoldingOptions, json_: bool) -> None:
    """Write what is out, when and to whom, to a file: a row for each release, and nothing of its private part.

    \b
    Examples:
      divulge ledger export ledger/ --out releases.csv
      divulge ledger export ledger/ --recipient clinic --out clinic.json
    """  # noqa: E501
    release_list = holding.of(ledger)
    results.write_file(out, _written(release_list, out), "list")
    if json_:
        tell(release_list, json_=True)
    else:
        options.show(
            f"{count_with_noun(len(release_list), 'release', 'releases')} written to {out}"
        )


def _written(release_list: Any, out: Path) -> bytes:
    """Return the releases in the format of the file's extension."""
    import pyarrow.csv
    import pyarrow.parquet

    sink = io.BytesIO()
    if out.suffix == ".json":
        return (json.dumps(release_list.to_dict(), ensure_ascii=False, indent=2) + "\n").encode()
    if out.suffix == ".csv":
        pyarrow.csv.write_csv(release_list.to_frame(), sink)
    elif out.suffix == ".parquet":
        pyarrow.parquet.write_table(release_list.to_frame(), sink)
    else:
        raise BadInput(f"{str(out)!r} is neither .csv nor .json nor .parquet")
    return sink.getvalue()
