# SPDX-License-Identifier: Apache-2.0
"""Incremental releases of the demo: failing new records, and records published in a year.

    make bench BENCH=incremental

The share of new records that fail among themselves is counted with pandas, from the published
labels. `divulge apply` publishes the year.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import divulge as dv
from divulge import datasets
from divulge.releases import Unverified

K = 5
ROWS = 20_000
SIZES = (200, 500, 2_000, 5_000)
MONTHS = 12
MONTHLY = (200, 500, 2_000)
KEYS = ["zip", "age", "sex"]


def main() -> None:
    """Print both tables of docs/how-to/later-rows.md."""
    people = patients(ROWS, seed=2026)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "divulge.toml").write_text(datasets.POLICY, encoding="utf-8")
        release = dv.generalize(people, policy=folder / "divulge.toml", suppression=0.02)
        release.write(folder / "0")
        table = pd.read_parquet(folder / "0" / "table.parquet")
        print("new records | fewer than k alike among them, by pandas")
        for size in SIZES:
            print(f"{size:,} | {share_failing(table, size):.0%}")
        print("records a month | published | deferred at the end | published in each month")
        for size in MONTHLY:
            print(year(folder, size))
        print("deferral attack: records | targets | right | by the prior alone | guarantee")
        for size in SIZES:
            batch = patients(size, seed=7)
            print(f"demo, {size:,} | {attacked(folder, folder / '0', batch, f'attacked-{size}')}")
        print(f"60% and 40%, alpha <= 0.85, classes of 5 | {skewed(folder)}")


def patients(rows: int, *, seed: int) -> pd.DataFrame:
    """Return patients of the demo."""
    return pd.DataFrame(datasets.patients(rows=rows, seed=seed).to_pandas())


def share_failing(table: pd.DataFrame, size: int, draws: int = 20) -> float:
    """Return the mean share of records of a random batch in classes of fewer than K records."""
    shares = []
    for seed in range(draws):
        batch = table.sample(size, random_state=seed)
        alike = batch.groupby(KEYS)[KEYS[0]].transform("size")
        shares.append((alike < K).mean())
    return float(pd.Series(shares).mean())


def attacked(folder: Path, release: Path, batch: pd.DataFrame, name: str) -> str:
    """Return the success of the deferral attack on a batch."""
    try:
        applied = dv.apply(release, batch, folder / name, unseen="suppress", suppression=1)
    except Unverified:
        return "nothing published"
    if not applied.deferral_attacks:
        return "no targets"
    attempt = applied.deferral_attacks[0]
    bound = "none" if attempt.bound is None else f"{attempt.bound.value:.0%}"
    return f"{attempt.targets:,} | {attempt.rate.value:.0%} | {attempt.prior:.0%} | {bound}"


def skewed(folder: Path) -> str:
    """Attack many classes of five records with a binary value: the missing ones have one value."""
    generator = np.random.default_rng(27)
    classes = 2_000
    values = np.where(generator.random(5 * classes) < 0.6, "negative", "positive")
    batch = pd.DataFrame({"class": np.repeat(np.arange(classes), 5).astype(str), "test": values})
    mixed = pd.DataFrame({"class": "-1", "test": ["negative"] * 600 + ["positive"] * 400})
    levels = {"class": {"rows": {str(number): ["*"] for number in range(-1, classes)}}}
    policy = dv.Policy(k_anonymity=5, alpha=0.85)
    release = dv.generalize(
        mixed, policy=policy, quasi_identifiers="class", sensitive="test", hierarchies=levels
    )
    release.write(folder / "skewed")
    return attacked(folder, folder / "skewed", batch, "skewed-2")


def year(folder: Path, size: int) -> str:
    """Publish twelve monthly batches, each continuing the last release."""
    last: Any = folder / "0"
    deferred = 0
    published: list[int] = []
    waiting: list[pd.DataFrame] = []
    for month in range(1, MONTHS + 1):
        batch = pd.concat([*waiting, patients(size, seed=100 * size + month)])
        out = folder / f"{size}-{month}"
        try:
            applied = dv.apply(last, batch, out, unseen="suppress", suppression=1)
        except Unverified:  # none can be published: they are deferred to the next batch
            published.append(0)
            waiting = [batch]
            continue
        waiting = []
        last, deferred = applied.folder, applied.deferred
        published.append(applied.published)
    total = MONTHS * size
    months = ", ".join(f"{count:,}" for count in published)
    return (
        f"{size:,} | {sum(published):,} of {total:,} ({sum(published) / total:.1%}) | "
        f"{deferred:,} | {months}"
    )


if __name__ == "__main__":
    main()
