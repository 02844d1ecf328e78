# SPDX-License-Identifier: Apache-2.0
"""`divulge metrics`: the list of metrics with their definitions, and the reference page."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import divulge as dv
from divulge.cli.options import emit_json, new_app, show
from divulge.errors import BadInput
from divulge.output import formatting

if TYPE_CHECKING:
    from divulge.metrics import Measurement, Metric
import html
import math
import re
from collections.abc import Iterator, Sequence

from divulge.metrics import Measurement, Metric
from divulge.policy import Promise

app = new_app()


@app.command()
def metrics(markdown: bool, json_: bool) -> None:
    """List every metric with its definition, and how it is promised.

    \b
    Examples:
      divulge metrics
      divulge metrics --json
    """
    if json_ and markdown:
        raise BadInput("--markdown and --json were both given", hint="ask for one of them")
    if json_:
        emit_json({"metrics": [_facts(metric) for metric in dv.METRICS]})
        return
    if markdown:
        sys.stdout.write(reference_page(_example()))
        return
    for scope, heading in SCOPES.items():
        table = formatting.grid(
            "metric", "symbol", "unit", "as a promise", "meaning", "source", prose=2
        )
        for metric in dv.METRICS:
            if metric.scope == scope:
                table.add_row(
                    metric.name,
                    metric.symbol,
                    metric.unit,
                    promise_of(metric),
                    metric.plain,
                    metric.source,
                )
        show(heading, table, "")


def _facts(metric: Metric[Any]) -> dict[str, object]:
    return {
        "name": metric.name,
        "scope": metric.scope,
        "symbol": metric.symbol,
        "unit": metric.unit,
        "worse": metric.worse,
        "monotone": metric.monotone,
        "per_class": metric.per_class is not None,
        "can_be_promised": metric.kind == "risk",
        "promise": promise_of(metric),
        "source": metric.source,
        "meaning": metric.plain,
        "formula": metric.formula,
    }


def _example() -> Measurement:
    """Measure the eight people of the reference page."""
    import pyarrow as pa

    people = pa.table({"class": list(CLASSES), "value": list(VALUES)})
    class_sizes = POPULATION
    population = pa.table({"class": list(class_sizes), "people": list(class_sizes.values())})
    adversary = dv.Adversary(population=population, population_count="people")
    return dv.measure(people, quasi_identifiers="class", sensitive="value", adversary=adversary)


# --- page -----------------------------------------------------------------------------------------
# The reference page of all metrics: the meaning of each, its formula as MathML, and its value and
# chart for one small example. The example is measured when the page is written, so its numbers are
# the library's; tests compare them with hand counts. The browser draws the formulas, and the charts
# are part of the page: nothing is downloaded.
CLASSES = "AAAABBCC"
VALUES = "xxyzxxyz"
POPULATION = {"A": 8, "B": 6, "C": 4}
"""Eight people: class A has the values of the whole table, B only one value, C the two others."""

SCOPES = {
    "identity": "Identity: who is this?",
    "sensitive": "Sensitive attributes: what does this person have?",
}
_TOP = f"""# Every metric

Written by `divulge metrics --markdown`. *Monotone*: merging classes never makes it worse. Where each class has a number, the worst of
them is the table's, or their average where the formula says so. The promise is what `--promise` takes.

## The example

Eight people in three classes. Half of them have x, a quarter y, a quarter z: 1.5 bits of uncertainty. Class A is like all, B has x only,
C has y and z. The population has 8, 6 and 4 people like them. All numbers below are of this table, and can be counted by hand.

```python
import divulge as dv
import pyarrow as pa

people = pa.table({{"class": list("{CLASSES}"), "value": list("{VALUES}")}})
population = pa.table({{"class": list("{"".join(POPULATION)}"), "people": {list(POPULATION.values())}}})
adversary = dv.Adversary(population=population, population_count="people")
m = dv.measure(people, quasi_identifiers="class", sensitive="value", adversary=adversary)
assert m["entropy_leakage"].value == 1.5  # class B leaves 0 of 1.5 bits
```

| letter | what it is |
|---|---|
| *c*, *q* | a class; how many there are |
| *n*, *n*<sub>*c*</sub>, *N*<sub>*c*</sub> | people in the table, in the class, and in the class's part of the population |
| *u*<sub>*i*</sub> | the survey weight of a person |
| *w*, *W* | a value, and the sensitive attribute |
| *p*<sub>*w*</sub> | the share of a value that was expected before: the prior, by default the table's own |
| *p*<sub>*w*&#124;*c*</sub> | its share in the class |
| *H*(*p*), *H*(*W*), *H*(*W*&#124;*c*), *H*(*C*) | entropy of the prior, of the table, of a class, of the classes; 0 log 0 is 0 |
| *I* | the mutual information |
| *V* | the posterior vulnerability |
| *r*<sub>1</sub>, *r*<sub>2</sub>, … | how often the values of a class occur, the commonest first |
| 1<sub>*c*</sub> | whether somebody is in the class |
| E[1/*N*<sub>*c*</sub>] | 1/*N*<sub>*c*</sub> where the population is known, else its expectation from survey weights |
"""  # noqa: E501


def reference_page(example: Measurement) -> str:
    """Return the reference page, made from METRICS and the measured example."""
    lines = [_TOP]
    for scope, heading in SCOPES.items():
        chosen = [metric for metric in dv.METRICS if metric.scope == scope]
        lines += [f"## {heading}", "", "| metric | symbol | meaning |", "|---|---|---|"]
        lines += [_row(metric) for metric in chosen]
        lines.append("")
        for metric in chosen:
            lines += _section(metric, example)
    return "\n".join(lines).rstrip("\n") + "\n"


def promise_of(metric: Metric[Any]) -> str:
    """Return the requirement as --promise takes it; "" for a metric that cannot be required."""
    if metric.kind != "risk":
        return ""
    return f"{Promise.name_of(metric)} {metric.sign} {'c,l' if metric.takes_l else 'bound'}"


def _row(metric: Metric[Any]) -> str:
    name = Promise.name_of(metric)
    if metric.symbol:
        symbol = f"<code>{html.escape(metric.symbol)}</code>"
    else:
        symbol = ""
    breakable_name = name.replace("_", "_<wbr>")  # narrow screens may break the line here
    cells = [f"[{breakable_name}](#{name.replace(' ', '-')})", symbol, metric.plain]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _section(metric: Metric[Any], example: Measurement) -> list[str]:
    if metric.scope == "sensitive":
        attribute = next(iter(example.sensitive))
    else:
        attribute = None
    if attribute is None:
        scores = example.identity
    else:
        scores = example.sensitive[attribute]
    value = scores[metric.name].value
    if metric.per_class is None:
        classes = []
    else:
        classes = [float(class_value) for class_value in example.per_class(metric.name, attribute)]
    if classes:
        picture = _bars(classes, metric)
    else:
        picture = _maximum_chart(value, metric, example)
    facts = [
        f"Unit: {metric.unit}",
        f"{metric.worse} is worse",
        *(["monotone"] if metric.monotone else []),
    ]
    if promise_of(metric):
        promise = f" Promise: `{promise_of(metric)}`."
    else:
        promise = ""
    if metric.source:
        source = f" {metric.source}."
    else:
        source = ""
    return [
        f"### {Promise.name_of(metric)}",
        "",
        f"{metric.plain[0].upper()}{metric.plain[1:]}. {'; '.join(facts)}.{promise}{source}",
        "",
        f'<div class="metric">{mathml(metric.formula)}{picture}</div>',
        "",
        f"In the example: **{formatting.number(value)}**.",
        "",
    ]


# --- formulas -------------------------------------------------------------------------------------
_TOKEN = re.compile(r"\.\.\.|<=|[A-Za-z]+|\d+|\S")
_SIGNS = {"sum": "∑", "in": "∈", "<=": "≤", "-": "\u2212", "...": "…", "beta": "β"}
_OVER_CLASSES = ("max", "min", "median", "sum")
_FUNCTIONS = ("log", "ln")


def mathml(formula: str) -> str:
    """Convert a typed formula (`Metric.formula`) to MathML, which browsers draw themselves."""
    drawn = "".join(_items(_TOKEN.findall(formula), end=""))
    return f'<math display="block" alttext="{html.escape(formula)}">{drawn}</math>'


def _items(tokens: list[str], *, end: str) -> Iterator[str]:
    while tokens and tokens[0] != end:
        name = tokens[0]
        base = _atom(tokens)
        below = ""
        above = ""
        while tokens and tokens[0] in ("_", "^"):
            if tokens.pop(0) == "_":
                below = _argument(tokens)
            else:
                above = _argument(tokens)
        if name in _OVER_CLASSES:
            kind = "under"
        else:
            kind = "sub"
        yield _scripted(base, below, above, kind)


def _scripted(base: str, below: str, above: str, kind: str) -> str:
    if below and above:
        return f"<msubsup>{base}{below}{above}</msubsup>"
    if below:
        return f"<m{kind}>{base}{below}</m{kind}>"
    if above:
        return f"<msup>{base}{above}</msup>"
    return base


def _argument(tokens: list[str]) -> str:
    """Convert a group in braces, or one atom."""
    if tokens[0] != "{":
        return _atom(tokens)
    tokens.pop(0)
    inner = "".join(_items(tokens, end="}"))
    tokens.pop(0)
    return f"<mrow>{inner}</mrow>"


def _atom(tokens: list[str]) -> str:
    word = tokens.pop(0)
    if word == "frac":
        return f"<mfrac>{_argument(tokens)}{_argument(tokens)}</mfrac>"
    if word == "sqrt":
        return f"<msqrt>{_argument(tokens)}</msqrt>"
    if word == "(":
        inner = "".join(_items(tokens, end=")"))
        tokens.pop(0)
        return f"<mrow><mo>(</mo>{inner}<mo>)</mo></mrow>"
    sign = html.escape(_SIGNS.get(word, word))
    if word.isdigit():
        return f"<mn>{sign}</mn>"
    if word in _OVER_CLASSES or word in _FUNCTIONS:
        return f'<mo lspace="0.15em" rspace="0.15em">{sign}</mo>'
    if sign.isalpha():
        return f"<mi>{sign}</mi>"
    return f"<mo>{sign}</mo>"


# --- pictures -------------------------------------------------------------------------------------
_LONGEST = 130
_LINE = 16


def _bars(values: Sequence[float], metric: Metric[Any]) -> str:
    """Draw one bar for each class; the worst ones are filled."""
    finite = [abs(value) for value in values if math.isfinite(value)]
    scale = max(finite, default=0.0) or 1.0
    if metric.worse == "high":
        worst = max(values)
    else:
        worst = min(values)
    lengths = [
        _LONGEST if math.isinf(value) else max(value, 0.0) / scale * _LONGEST for value in values
    ]
    return _svg(
        [
            (name, length, formatting.number(value), value == worst)
            for name, length, value in zip(POPULATION, lengths, values, strict=True)
        ]
    )


def _maximum_chart(value: float, metric: Metric[Any], example: Measurement) -> str:
    """Draw the value of the table next to its maximum.

    The maximum is 1, all bits, all people or all values, depending on the unit.
    """
    bits = example.identity_view.person_entropy
    if metric.scope == "sensitive":
        bits = next(iter(example.beliefs.values())).whole_table.entropy
    maxima = {
        "bits": bits,
        "people": float(example.people),
        "classes": float(example.people),
        "values": len(set(VALUES)),
    }
    limit = maxima.get(metric.unit, 1.0)
    return _svg(
        [
            ("", value / limit * _LONGEST, formatting.number(value), True),
            ("at most", _LONGEST, formatting.number(limit), False),
        ]
    )


def _svg(lines: Sequence[tuple[str, float, str, bool]]) -> str:
    title = ", ".join(f"{name} {text}".strip() for name, _, text, _ in lines)
    rows = "".join(
        f'<text x="44" y="{top + 12}" text-anchor="end">{name}</text>'
        f'<rect x="50" y="{top + 2}" width="{max(length, 1.0):.0f}" height="11" '
        f'class="{"worst" if full else "other"}"/>'
        f'<text x="{56 + max(length, 1.0):.0f}" y="{top + 12}">{text}</text>'
        for top, (name, length, text, full) in zip(
            range(0, _LINE * len(lines), _LINE), lines, strict=True
        )
    )
    height = _LINE * len(lines)
    return (
        f'<svg viewBox="0 0 240 {height}" width="240" height="{height}" role="img" '
        f'aria-label="{title}">{rows}</svg>'
    )
