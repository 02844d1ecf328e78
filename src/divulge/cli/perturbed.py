# SPDX-License-Identifier: Apache-2.0
"""`divulge perturbed`: a randomly perturbed release compared with its original."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

import divulge as dv
from divulge.cli.options import JsonOption, Text, column, columns, new_app, tell

app = new_app()


@app.command()
def perturbed(
    original: Annotated[str, Argument(metavar="ORIGINAL", help="The original table.")],
    published: Annotated[str, Argument(metavar="PUBLISHED", help="The published table.")],
    columns: Annotated[
        list[str],
        columns("Columns whose values were changed; names, globs or several with commas."),
    ],
    sensitive: Annotated[
        list[str] | None,
        columns("Attributes of the original about which the published values tell something."),
    ] = None,
    key: Annotated[
        Text, column("Column that says which rows belong together; by position if not given.")
    ] = None,
    epsilon: Annotated[
        float | None,
        Option(
            metavar="NUMBER",
            help="Of the differential privacy promised for each value: the bits it allows, "
            "beside those measured.",
            rich_help_panel="Adversary",
        ),
    ] = None,
    worst: Annotated[int, Option(help="How many of the worst classes to tell.", min=0)] = 10,
    json_: JsonOption = False,
) -> None:
    """Measure what published values tell about the original ones, from their joint distribution.

    \b
    Examples:
      divulge perturbed original.csv published.csv --columns age,income --key id
      divulge perturbed original.csv published.csv --columns age --sensitive disease --epsilon 1
    """
    from divulge.sources import read, split_names

    table = read(original)
    names, about = (split_names(table, texts) for texts in (columns, sensitive or []))
    perturbation = dv.perturbed(
        original, published, columns=names, sensitive=about, key=key, epsilon=epsilon
    )
    tell(perturbation, json_=json_, worst=worst)
