# SPDX-License-Identifier: Apache-2.0
"""How much of a table is still in a release, and what it answers: in words, as a JSON document, and as one table."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import anatomy, answers, results
from divulge.api.utility import Utility
from divulge.views.words import bullet, grid, heading, noted, number, percent, rows

_SHOWN_PAIRS = 10
_RUINED = 0.5
_SCORES = {"auc": "AUC", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}


@results.text_of.register(Utility)
def utility_text(found: Utility) -> RenderableType:
    """The short answer first, then number by number."""
    source = f"{found.settings['release']} beside {found.settings['original']}"
    kept = f"{found.published:,} of {rows(found.rows)}, {len(found.columns)} columns"
    left_out = [bullet(f"not published: {', '.join(found.left_out)}")] if found.left_out else []
    return Group(Text(f"{source}: {kept}"), *left_out, *utility_parts(found))


def utility_parts(found: Utility) -> list[RenderableType]:
    """What follows the first line, also below a release."""
    parts: list[RenderableType] = [heading("How much is left"), *(bullet(told) for told in kept_in_words(found))]
    parts += [heading("Distance of each column (total variation, 0 to 1)"), _distances(found)]
    if found.associations:
        parts += [heading("Associations (Cramer's V), those that changed most"), _associations(found)]
    return [*parts, *(bullet(noted(note)) for note in found.notes)]


def kept_in_words(found: Utility) -> Iterator[str]:
    """The answer of each question in a sentence."""
    told = found.summary
    yield (
        f"Columns: {number(told['mean_distance'])} from the original's distribution on average, at most "
        f"{number(told['largest_distance'])}."
    )
    if found.associations:
        yield f"Associations: Cramer's V of {len(found.associations):,} pairs is off by {number(told['association_change'])} on average."
    if found.recq is not None:
        yield recq_sentence(found.recq)
    for each in found.information:
        yield (
            f"Information: the quasi-identifiers tell {number(each.after)} of {number(each.before)} bits about {each.attribute}; "
            f"{percent(each.loss)} of I(W;X) is lost."
        )
    yield from (_told(found.model, score) for score in (found.model.scores if found.model is not None else ()))


def ruined_models(found: Utility | None) -> Iterator[str]:
    """For the first lines of a release: a model that has lost more than half of what it knew beyond guessing."""
    model = None if found is None else found.model
    for score in model.scores if model is not None else ():
        if score.before - score.after > _RUINED * (score.before - score.guess) > 0:
            yield _told(model, score)


def _told(model: Any, score: Any) -> str:
    return (
        f"A model that foretells {model.target}: {_SCORES[score.name]} {score.before:.3f} from the "
        f"original, {score.after:.3f} from the release; a guess has {score.guess:.3f}."
    )


def recq_sentence(recq: anatomy.Recq) -> str:
    """The error of count queries."""
    fewest, most = recq.workload.quasi_identifiers
    beside = " and a sensitive value" if recq.workload.with_sensitive else ""
    zero = f" {recq.below_floor} of them match fewer than {recq.workload.floor} records." if recq.below_floor else ""
    return (
        f"{recq.queries:,} {recq.workload.kind} count queries over {fewest} to {most} quasi-identifiers{beside}: "
        f"relative error {percent(recq.mean)} on average, {percent(recq.median)} at the median, {percent(recq.p90)} at the 90th "
        f"percentile.{zero}"
    )


def _distances(found: Utility) -> RenderableType:
    table = grid("column", "distance", "values", "published", right=[1, 2, 3])
    for each in found.columns:
        table.add_row(each.column, number(each.distance), f"{each.values:,}", f"{each.labels:,}")
    return table


def _associations(found: Utility) -> RenderableType:
    table = grid("column", "with", "before", "after", right=[2, 3])
    pairs = sorted(found.associations, key=lambda pair: -abs(_v(pair.true) - _v(pair.reconstructed)))
    for pair in pairs[:_SHOWN_PAIRS]:
        table.add_row(pair.left, pair.right, number(_v(pair.true)), number(_v(pair.reconstructed)))
    more = len(pairs) - _SHOWN_PAIRS
    return Group(table, Text(f"... and {more} more (in the JSON and in the frame)", style="dim")) if more > 0 else table


def _v(coefficients: anatomy.Coefficients) -> float:
    return sqrt(coefficients.phi2)


@results.document_of.register(Utility)
def utility_document(found: Utility) -> dict[str, Any]:
    """What `--json` tells of a utility."""
    return {
        "kind": found.kind,
        "rows": found.rows,
        "published": found.published,
        "left_out": list(found.left_out),
        "summary": found.summary,
        "columns": [results.plain(each) for each in found.columns],
        "associations": [
            {
                "left": pair.left,
                "right": pair.right,
                "exact": pair.exact,
                "cramers_v": {"before": _v(pair.true), "after": _v(pair.reconstructed)},
                "bits": {"before": pair.true.mutual_information, "after": pair.reconstructed.mutual_information},
            }
            for pair in found.associations
        ],
        "queries": None if found.recq is None else found.recq.as_json(),
        "information": [{**results.plain(each), "loss": each.loss} for each in found.information],
        "model": None if found.model is None else results.plain(found.model),
        "notes": list(found.notes),
        "settings": dict(found.settings),
    }


@results.rows_of.register(Utility)
def utility_rows(found: Utility) -> results.Rows:
    """A row for each number: before, after, and what is between them."""
    rows: list[tuple[Any, ...]] = [("distance", each.column, None, None, each.distance) for each in found.columns]
    for pair in found.associations:
        before, after = _v(pair.true), _v(pair.reconstructed)
        rows.append(("cramers_v", f"{pair.left} + {pair.right}", before, after, after - before))
    if found.recq is not None:
        told = {"mean": found.recq.mean, "median": found.recq.median, "p90": found.recq.p90}
        rows += [("query_error", name, None, None, value) for name, value in told.items()]
    rows += [
        ("information", each.attribute, each.before, each.after, each.after - each.before) for each in found.information
    ]
    for score in found.model.scores if found.model is not None else ():
        rows.append(
            (
                score.name,
                found.model.target if found.model else None,
                score.before,
                score.after,
                score.after - score.before,
            )
        )
    return ("what", "of", "before", "after", "change"), rows


# --- answers to queries ------------------------------------------------------------------------------------------------
@results.text_of.register(answers.Estimate)
def estimate_text(found: answers.Estimate) -> RenderableType:
    """The answer in one line, and what it depends on in others."""
    if found.estimate is None or found.low is None or found.high is None:
        return Text(f"{found.what}: no record can satisfy the condition")
    if found.low == found.high:
        answer = f"{found.what}: {number(found.estimate)} (exact)"
    else:
        answer = f"{found.what}: certainly from {number(found.low)} to {number(found.high)}; estimate {number(found.estimate)}"
    notes = [
        f"the labels of {name} are read {_READ[told['from']]}, as {told['type']}"
        for name, told in found.settings.get("labels", {}).items()
        if told["from"] != "mapping"
    ]
    if found.settings.get("left_out"):
        notes.append(f"{found.settings['left_out']:,} records were left out of the release and are not counted")
    return Text("\n  ".join([answer, *notes]))


_READ = {"hierarchies": "by the hierarchies given", "as written": "as they are written"}


@results.document_of.register(answers.Estimate)
def estimate_document(found: answers.Estimate) -> dict[str, Any]:
    """What `divulge query --json` prints."""
    return {
        "what": found.what,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "settings": dict(found.settings),
    }


@results.rows_of.register(answers.Estimate)
def estimate_rows(found: answers.Estimate) -> results.Rows:
    """One row."""
    return ("what", "estimate", "low", "high"), [(found.what, found.estimate, found.low, found.high)]
