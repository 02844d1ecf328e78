# SPDX-License-Identifier: Apache-2.0
"""`divulge compose`: joint disclosure risk of several releases of the same people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import divulge as dv
from divulge.cli import options
from divulge.cli.inputs import LedgerOptions, TableOptions
from divulge.cli.options import Pictures
from divulge.errors import BadInput

app = options.new_app()


@app.command()
def compose(
    releases: TableOptions,
    adversary: options.BeliefOptions,
    ledger: LedgerOptions,
    truth: options.Texts,
    roles: options.RoleOptions,
    hierarchies: Path | None,
    joint: bool,
    people: int | None,
    sample: int,
    who: options.Text,
    out: options.Text,
    chart: options.Texts,
    json_: bool,
) -> None:
    """Tell what several releases give away together, beside each alone: what the truth shows, or without it what can be derived.

    \b
    Examples:
      divulge compose first/ second/ --truth patients.csv --sample 5
      divulge compose 2024/ 2025/ --truth old.csv --truth new.csv --person id
      divulge compose first/ theirs.csv --qi zip,age --sensitive disease
    """  # noqa: E501
    options.check_page(out)
    drawing = Pictures.of(chart, ("after_each_release",))
    if who is not None and "person" not in roles.values:
        raise BadInput(
            "--who names a person by a column, and none was given", hint="Give --person COLUMN too"
        )
    release_ledger = ledger.value()
    release_names = releases.sources
    if not release_names and release_ledger is None:
        raise BadInput(
            "no release was named",
            hint="Name two or more, or the ledger that knows them with --ledger DIR",
        )
    engine = releases.chosen_engine()
    tables = [dv.read(source, engine=engine, **releases.reading) for source in truth or []]
    if tables:
        names = tables[0].names
    else:
        names = ()
    original: Any = None
    if truth is not None:
        if len(tables) == 1:
            original = tables[0]
        else:
            original = tables
    effective_adversary = adversary.resolve(names)
    role_arguments: dict[str, Any] = {role: _split(names) for role, names in roles.values.items()}
    composition = dv.compose(
        release_names,
        truth=original,
        **role_arguments,
        joint=joint,
        adversary=effective_adversary if effective_adversary.explicit_settings else None,
        hierarchies=hierarchies,
        people=people,
        sample=sample,
        ledger=release_ledger,
        engine=engine,
    )
    if who is not None:
        if out is not None or chart is not None:
            raise BadInput(
                "--who tells of one person, and writes no page and no picture", hint="Leave it out"
            )
        options.tell(composition.person(who), json_=json_)
        return
    if out is None:
        written = []
    else:
        written = [dv.report(composition, title=_title(composition)).save(out)]
    options.tell(composition, json_=json_, written=written)
    drawing.draw({"after_each_release": composition.chart}, json_=json_)


def _title(composition: Any) -> str:
    """Return the title of the HTML report: the names of the releases, without their folders."""
    first, *others = (Path(release.name).name for release in composition.releases)
    if others:
        return f"{first} with {others[0] if len(others) == 1 else f'{len(others)} other releases'}"
    return first


def _split(texts: str | list[str]) -> str | tuple[str, ...]:
    if isinstance(texts, str):
        return texts
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())
