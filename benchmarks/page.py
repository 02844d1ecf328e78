# SPDX-License-Identifier: Apache-2.0
"""Figures as lines, as a page of the documentation and as charts, all made from the record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import between

NAME = "speed.md"
BESIDE = ("process", "measure", "generalize", "apply", "anatomize", "rank", "search", "spark")
_HEAD = """# How fast it is

Every figure stands beside the bare work on the same rows in the same run: the GROUP BY that nobody can do without, the copy of the
file in another order, or what a user would take instead. One command measures all of it and writes this page:

```sh
make bench ARGS=--record
```

A ratio is the time of divulge over that of the bare work, the median of the runs with the lowest and the highest; less is better, and 1 is
as fast. Works take turns, each in a process of its own, whose peak of memory the system tells. `make bench` says which ratio got
worse than it is here by more than 10 % beyond its spread. What the engines do, and which to take, is told in [Engines and scale](scale.md).
"""  # noqa: E501
_RIVALS = """\
Each answers the same question on the same rows, in an environment of its own where it pins old packages. pycanon's numbers are held
against ours, anonymeter's rates by their intervals; what differs is told. Three quasi-identifiers are few because pycanon looks at each
class by itself: of 10,000 rows with seven, its nine numbers took 150 s of processor time on 2026-11-17."""  # noqa: E501
_GROWTH = """\
Time against rows as b n^c: the exponent c by least squares on logarithms over all runs, with its interval (95 %), and that between the
two largest sizes, where what starts and loads weighs least. 1 is linear. The first table has few classes (at most 19,805 cells), 8
columns and texts; each of the others differs from it in one thing. The last has 130 columns, all of them quasi-identifiers of `measure`
and `anatomize`; `generalize` and `apply` publish 122 of them as they are. A dossier has a hundredth of the rows: its records are objects
of Python."""  # noqa: E501


# --- As lines -------------------------------------------------------------------------------------
def told_of(machine: Mapping[str, Any]) -> str:
    """Describe the machine without its name."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{machine['date']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}, "
        f"load {machine['load_before']} before the first run; {versions}"
    )


def line_of(row: Mapping[str, Any]) -> str:
    """Format a row as one line."""
    cells = [f"{row['name']}: {row['work']} {_seconds(row['seconds'])}"]
    if "ratio" in row:
        cells.append(
            f"{row['beside']} {_seconds(row['beside_seconds'])}, ratio {_spread(row['ratio'])}"
        )
    cells += [
        f"peak {row['peak'][1]:,.0f} MiB",
        f"{row['runs']} run{'s' * (row['runs'] > 1)}",
        *([_found(row)] if _found(row) else []),
    ]
    return "; ".join([*cells, *([f"ANSWERS DIFFER: {row['wrong']}"] if row["wrong"] else [])])


def fit_line(row: Mapping[str, Any]) -> str:
    """Format a fit as one line."""
    exponent = f"n^{_spread(row['exponent'])}" if "exponent" in row else "no fit"
    last = f", between the largest {row['last']:.2f}" if "last" in row else ""
    return f"{row['work']}, {row['name']}: {exponent}{last}"


def _seconds(spread: Iterable[float]) -> str:
    middle = list(spread)[1]
    return (
        f"{middle * 1000:.3g} ms"
        if middle < 0.01
        else f"{middle:.3f} s"
        if middle < 1
        else f"{middle:.1f} s"
    )


def _spread(spread: Iterable[float]) -> str:
    low, middle, high = spread
    return (
        f"{middle:.2g} ({low:.2g} to {high:.2g})"
        if high < 0.1
        else f"{middle:.2f} ({low:.2f} to {high:.2f})"
    )


def _found(row: Mapping[str, Any]) -> str:
    """Describe the result of the work, and that of a rival."""
    told = _listed(row["found"])
    theirs = _listed(row["beside_found"]) if row["part"] == "rivals" and "beside" in row else ""
    return f"{told} ({row['beside']}: {theirs})" if theirs and theirs != told else told


def _listed(found: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in found.items() if isinstance(value, int | float)}
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value:.4g}"
        for name, value in shown.items()
    )


# --- As a page ------------------------------------------------------------------------------------
def write(record: Mapping[str, Any], pages: Path, pictures: Path) -> None:
    """Write the page into one folder and its charts into another.

    The figures are written next to the page if that folder is not the documentation.
    """
    for folder in (pages, pictures):
        folder.mkdir(parents=True, exist_ok=True)
    to_pictures = "../assets/" if pages != pictures else ""
    drawn = draw(record, pictures)
    (pages / NAME).write_text(
        text(record, {name: to_pictures + path.name for name, path in drawn.items()}),
        encoding="utf-8",
    )
    if pages == pictures:
        (pages / "figures.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def text(record: Mapping[str, Any], pictures: Mapping[str, str]) -> str:
    """Return the text of the page."""
    parts = [_HEAD, *_machines(record)]
    beside = [row for part in BESIDE for row in record.get(part, {}).get("rows", [])]
    if beside:
        parts += [
            "## Beside the bare work\n",
            *_picture(pictures, "beside", "Ratios to the bare work"),
            _table(beside),
        ]
    if record.get("growth", {}).get("rows"):
        fits = record["growth"]["rows"]
        parts += [
            "## How cost grows\n",
            _GROWTH + "\n",
            *_picture(pictures, "growth", "Seconds against rows"),
            _fits(fits),
        ]
        parts += _columns(fits)
    if record.get("rivals", {}).get("rows"):
        rows = record["rivals"]["rows"]
        parts += ["## Beside what one would take instead\n", _RIVALS + "\n"]
        parts += [*_picture(pictures, "rivals", "How many times as fast"), _table(rows)]
    others = [
        row
        for part in record
        if part not in (*BESIDE, "growth", "rivals")
        for row in record[part]["rows"]
    ]
    if others:
        parts += ["## Other parts\n", _table(others)]
    left_out = [f"- {part}: {line}" for part in record for line in record[part]["left_out"]]
    if left_out:
        parts += ["## What was not run\n", "\n".join(left_out) + "\n"]
    return "\n".join(parts)


def _machines(record: Mapping[str, Any]) -> list[str]:
    """Describe the machines: one line, or one for each that differs."""
    parts: dict[str, list[str]] = {}
    busy = any(
        kept["machine"]["load_before"] > kept["machine"]["cores"] for kept in record.values()
    )
    warning = [
        (
            "A load above the cores says that others worked there too: times are too long, and "
            "ratios are noisy.\n"
        )
    ] * busy
    for part, kept in record.items():
        parts.setdefault(told_of(kept["machine"]), []).append(part)
    if len(parts) == 1:
        return [f"Measured: {next(iter(parts))}.\n", *warning]
    return [
        "\n".join(f"- {', '.join(names)}: {told}" for told, names in parts.items()) + "\n",
        *warning,
    ]


def _picture(pictures: Mapping[str, str], name: str, title: str) -> list[str]:
    return [f"![{title}]({pictures[name]})\n"] if name in pictures else []


def _table(rows: Iterable[Mapping[str, Any]]) -> str:
    lines = [
        "| work | seconds | beside | ratio (lowest to highest) | aim | peak MiB | runs | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        beside = f"{row['beside']} {_seconds(row['beside_seconds'])}" if "beside" in row else ""
        ratio = _spread(row["ratio"]) if "ratio" in row else ""
        found = "; ".join(
            filter(
                None, (_found(row), f"**answers differ: {row['wrong']}**" if row["wrong"] else "")
            )
        )
        title = f"{row['part']}, {row['name']}: {row['work']}"
        cells = (
            title,
            _seconds(row["seconds"]),
            beside,
            ratio,
            row["aim"],
            f"{row['peak'][1]:,.0f}",
            row["runs"],
            found,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def _fits(fits: Iterable[Mapping[str, Any]]) -> str:
    lines = [
        "| work | table | seconds by rows | exponent (interval) | between the two largest |",
        "|---|---|---|---|---|",
    ]
    for fit in fits:
        points = ", ".join(
            f"{int(size):,}: {seconds:.2f}" for size, seconds in fit["sizes"].items()
        )
        exponent = _spread(fit["exponent"]) if "exponent" in fit else ""
        last = f"{fit['last']:.2f}" if "last" in fit else ""
        lines.append(f"| {fit['work']} | {fit['name']} | {points} | {exponent} | {last} |")
    return "\n".join(lines) + "\n"


def _columns(fits: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe the growth of cost with columns, at the largest size that both tables have."""
    by_kind = {
        (fit["work"], fit["name"]): {int(size): s for size, s in fit["sizes"].items()}
        for fit in fits
    }
    told = []
    for (work, kind), wide in by_kind.items():
        narrow = by_kind.get((work, "few classes, 8 columns, texts"), {})
        if kind == "130 columns" and (both := sorted(set(wide) & set(narrow))):
            size = both[-1]
            grown = between((8, narrow[size]), (130, wide[size]))
            told.append(
                f"{work} {wide[size] / narrow[size]:.1f} times (exponent {grown:.2f}, {size:,} "
                "rows)"
            )
    return (
        [f"With 130 columns instead of 8, 16 times as many: {', '.join(told)}.\n"] if told else []
    )


# --- As charts ------------------------------------------------------------------------------------
def draw(record: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """Draw charts of ratios, growth and rivals, each if it was measured."""
    import altair as alt

    from divulge.charts import save
    from divulge.charts.theme import ACCENT, DASHES, MUTED, SEVERAL, WIDTH, data_of, finished

    charts: dict[str, Any] = {}
    beside = [
        row for part in BESIDE for row in record.get(part, {}).get("rows", []) if "ratio" in row
    ]
    for name, rows, better in (
        ("beside", beside, False),
        ("rivals", record.get("rivals", {}).get("rows", []), True),
    ):
        if not rows:
            continue
        points = []
        for row in rows:
            ends = [1 / end for end in reversed(row["ratio"])] if better else row["ratio"]
            label = (
                f"{row['name']}, beside {row['beside']}"
                if better
                else f"{row['part']}, {row['name']}: {row['work']}"
            )
            points.append(
                {"label": label, **dict(zip(("low", "middle", "high"), ends, strict=True))}
            )
        y = alt.Y("label:N", sort=None, title=None)
        scale, axis = alt.Scale(type="log"), alt.Axis(format="~g")
        base = alt.Chart(data_of(points))
        title = "times as fast" if better else "time over that of the bare work"
        layers = [
            alt.Chart(data_of([{"one": 1}]))
            .mark_rule(color=MUTED, strokeDash=[4, 4])
            .encode(x=alt.X("one:Q", scale=scale)),
            base.mark_rule(color=ACCENT, strokeWidth=3).encode(
                y=y, x=alt.X("low:Q", scale=scale, title=title, axis=axis), x2="high:Q"
            ),
            base.mark_point(size=60).encode(y=y, x=alt.X("middle:Q", scale=scale)),
        ]
        heading = "How many times as fast as others" if better else "Beside the bare work"
        said = (
            "The median of the runs, with the lowest and the highest; the dashed line is as fast."
        )
        drawn = finished(
            alt.layer(*layers).properties(width=WIDTH, height=alt.Step(20)), heading, said
        )
        # Space for a reader whose fonts are wider than those with which the chart was measured.
        charts[name] = drawn.properties(padding={"left": 90, "right": 5, "top": 5, "bottom": 5})
    fits = record.get("growth", {}).get("rows", [])
    if fits:
        points = [
            {"rows": int(size), "seconds": seconds, "work": fit["work"], "table": fit["name"]}
            for fit in fits
            for size, seconds in fit["sizes"].items()
        ]
        works = list(dict.fromkeys(point["work"] for point in points))
        line = (
            alt.Chart()
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "rows:Q",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(format="~s", values=[10**n for n in range(3, 9)]),
                ),
                y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g")),
                color=alt.Color(
                    "work:N", title=None, scale=alt.Scale(domain=works, range=list(SEVERAL))
                ),
                strokeDash=alt.StrokeDash(
                    "work:N", title=None, scale=alt.Scale(domain=works, range=list(DASHES))
                ),
            )
            .properties(width=220, height=180)
        )
        tables = list(dict.fromkeys(point["table"] for point in points))
        panels = alt.layer(line, data=data_of(points)).facet(
            facet=alt.Facet("table:N", title=None, sort=tables), columns=2
        )
        charts["growth"] = finished(
            panels, "Seconds against rows", "Both axes are logarithmic: a slope of one is linear."
        )
    return {name: save(chart, folder / f"speed-{name}.svg") for name, chart in charts.items()}
