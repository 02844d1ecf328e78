# SPDX-License-Identifier: Apache-2.0
"""`divulge perturbed`: a randomly perturbed release compared with its original."""

from __future__ import annotations

import divulge as dv
from divulge.cli.options import Text, new_app, tell

app = new_app()


@app.command()
def perturbed(
    original: str,
    published: str,
    columns: list[str],
    sensitive: list[str] | None,
    key: Text,
    epsilon: float | None,
    worst: int,
    json_: bool,
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
