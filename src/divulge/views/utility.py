# SPDX-License-Identifier: Apache-2.0
"""How much of a table is still in a release, what it answers, and what each promise costs: in words, as a document, and as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import anatomy, answers, results, search
from divulge.api.utility import Utility
from divulge.views.words import bullet, classes, grid, heading, noted, number, people, percent, rows

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


# --- prices -----------------------------------------------------------------------------------------------------------
# The price of each promise in words, as a document and as one table; and the warning that a release tells next to nothing.
_BOXES = "method='mondrian'"
_GOOD = 0.1
"""Advice that saves less than this part of what is lost is no advice."""


@results.text_of.register(search.Explanation)
def explanation_text(found: search.Explanation) -> RenderableType:
    """What each promise costs, what binds each column, what would buy it back."""
    promises = "1 promise" if len(found.promises) == 1 else f"{len(found.promises):,} promises"
    told = f"{found.method}: {found.objective} {number(found.value)} under {promises}"
    return Group(Text(told), *explanation_parts(found))


def explanation_parts(found: search.Explanation) -> Iterator[RenderableType]:
    """The same below the text of a release."""
    yield heading("What each promise costs")
    losses = (f"{found.objective} {name}" for name in ("without it", "of it alone"))
    table = grid("promise", *losses, "makes coarser", right=[1, 2], prose=3)
    for price in found.promises:
        alone = _value(price.alone)
        table.add_row(price.promise, _value(price.without), alone, ", ".join(price.binds) or "nothing by itself")
    yield table
    yield from (bullet(sentence) for sentence in (*_columns(found), *_instead(found), *map(noted, found.notes)))


def _value(instead: Any) -> str:
    return number(instead.value) if instead.exact else f"{number(instead.value)} or better"


def _columns(found: search.Explanation) -> Iterator[str]:
    """Columns that are coarse though no single promise makes them so, and what would save those that tell nothing any more."""
    unmoved = {name for price in found.promises for name in price.binds}
    if together := [item.column for item in found.columns if item.level and item.column not in unmoved]:
        yield f"{', '.join(together)}: coarse by several promises together; giving up one of them changes nothing."
    saved: dict[tuple[str, bool, bool, float], list[str]] = {}
    for item in found.columns:
        for bound in item.gentler:
            saved.setdefault((_terms(bound), bound.given_up, bound.proved, bound.at.value), []).append(item.column)
    for (terms, given_up, proved, value), columns in saved.items():
        surely = "the nearest bound that keeps" if proved else "keeps, and a nearer bound may keep,"
        surely = surely if not given_up else ("no gentler bound keeps" if proved else "a gentler bound may keep, too,")
        told = f"something of {', '.join(columns)} ({found.objective} {number(value)})"
        yield f"{terms}: {surely} {told}."
    lost = [item.column for item in found.columns if item.wiped_out and item.level is not None and not item.gentler]
    if lost:
        untold = " of those looked at" if found.cut_short else ""
        yield f"{', '.join(lost)}: no gentler bound of one promise alone{untold} keeps anything."


def _terms(bound: Any) -> str:
    """A bound that the table as it came keeps is no promise any more."""
    return f"without {bound.of}" if bound.given_up else f"{bound.promise} instead of {number(bound.instead_of)}"


def _instead(found: search.Explanation) -> Iterator[str]:
    for share, instead in found.suppression.items():
        if instead.saves > 0:
            told = f"{found.objective} {_value(instead)}, {people(instead.suppressed)} left out"
            kept = [name for name in found.wiped_out if instead.levels[name] < _levels(found)[name]]
            saved = f"; something of {', '.join(kept)} is kept" if kept else ""
            yield f"{results.spoken(f'suppression={share:g}')} (up to {percent(share)}): {told}{saved}."
    if found.suppression and not any(instead.saves > 0 for instead in found.suppression.values()):
        yield f"Leaving out up to {percent(max(found.suppression))} would buy nothing."
    if found.boxes is not None:
        better = "" if found.boxes.saves > 0 else ", no better"
        yield f"{results.spoken(_BOXES)}: loss {number(found.boxes.value)}{better} ({classes(found.boxes.classes)})."


def _levels(found: search.Explanation) -> dict[str, int]:
    return {item.column: item.level or 0 for item in found.columns}


def warning_parts(
    plan: search.Plan, found: search.Explanation | None, utility: Utility | None = None
) -> Iterator[RenderableType]:
    """The first lines of a release that keeps its promises and is of little use, with what to do."""
    ruin = search.ruin_of(plan)
    yield from (Text(f"Beware: {told}", style="bold") for told in ruined_models(utility))
    if ruin is None:
        return
    gone = f"{', '.join(ruin.columns)}: every value became one, so nothing is told by it. " if ruin.columns else ""
    yield Text(f"Beware: {gone}The loss is {number(ruin.loss)} (0: as it came, 1: nothing is left).", style="bold")
    if found is None:
        yield Text("release.explain() says which promise does this, and what would help.")
    elif advice := list(_advice(found)):
        yield Text(f"What would help most: {'; or '.join(advice)}.")
    else:
        yield Text("No gentler bound, no suppression up to 5 % and no boxes help: use fewer quasi-identifiers.")


def _advice(found: search.Explanation) -> Iterator[str]:
    """The best of each kind, the least harmful first."""
    bounds = [bound for item in found.columns for bound in item.gentler]
    if bounds:
        first = min(bounds, key=lambda bound: abs(bound.bound - bound.instead_of) / max(abs(bound.instead_of), 1e-9))
        yield f"{_terms(first)} ({found.objective} {number(first.at.value)})"
    shares = [(share, each) for share, each in found.suppression.items() if each.saves > _GOOD * abs(found.value)]
    if shares:
        share, instead = shares[0]
        yield f"{results.spoken(f'suppression={share:g}')} ({found.objective} {number(instead.value)})"
    if found.boxes is not None and found.boxes.saves > _GOOD * found.loss:
        yield f"{results.spoken(_BOXES)} (loss {number(found.boxes.value)})"


@results.document_of.register(search.Explanation)
def explanation_document(found: search.Explanation) -> dict[str, Any]:
    """The part of `divulge generalize --json` that is called explanation."""
    document: Mapping[str, Any] = results.plain(found)
    suppression = [{"share": share, **results.plain(each)} for share, each in found.suppression.items()]
    return {**document, "suppression": suppression, "wiped_out": list(found.wiped_out), "exact": found.exact}


@results.rows_of.register(search.Explanation)
def explanation_rows(found: search.Explanation) -> results.Rows:
    """A row for each release that other terms would give."""
    columns = [item.column for item in found.columns]
    terms = [
        *(("without", price.promise, price.without, price.without.exact) for price in found.promises),
        *(("alone", price.promise, price.alone, price.alone.exact) for price in found.promises),
        *(
            (f"saves {item.column}", bound.promise, bound.at, bound.proved)
            for item in found.columns
            for bound in item.gentler
        ),
        *(("suppression", f"{share:g}", each, each.exact) for share, each in found.suppression.items()),
        *([("mondrian", "loss", found.boxes, False)] if found.boxes is not None else []),
    ]
    rows = [
        (kind, of, each.value, each.saves, each.suppressed, each.classes, exact, *map(each.levels.get, columns))
        for kind, of, each, exact in terms
    ]
    names = ("terms", "of", "value", "saves", "suppressed", "classes", "exact", *(f"level.{name}" for name in columns))
    return names, rows


# --- anatomized releases ----------------------------------------------------------------------------------------------
@results.text_of.register(anatomy.GroupPrices)
def group_prices_text(found: anatomy.GroupPrices) -> RenderableType:
    """What each bound costs, in groups."""
    return Group(Text(f"{found.settings['source']}: {found.groups:,} groups"), *group_prices_parts(found))


def group_prices_parts(found: anatomy.GroupPrices) -> Iterator[RenderableType]:
    """The same below the text of a release."""
    yield heading("What each bound costs, in groups (more groups tell more)")
    table = grid("bound", "with all", "without it", "it alone", right=[1, 2, 3])
    for price in found.bounds:
        terms = (price.without, price.alone)
        told = (f"{each.groups:,}{'' if each.exact else ' or more'}" for each in terms)
        table.add_row(f"{price.name} <= {price.bound}", f"{found.groups:,}", *told)
    if found.bounds:
        yield table
    if found.bounds and not any(price.without.groups > found.groups for price in found.bounds):
        yield bullet("Giving up one of them alone gives no more groups.")
    yield from (bullet(noted(note)) for note in found.notes)


@results.document_of.register(anatomy.GroupPrices)
def group_prices_document(found: anatomy.GroupPrices) -> dict[str, Any]:
    """The part of `divulge anatomize --json` that is called explanation; levels as exact fractions."""

    def told(each: Any) -> dict[str, Any]:
        sizes = {"min": each.smallest, "max": each.largest}
        levels = each.levels.texts()
        return {"groups": each.groups, "groups_at_most": each.at_most, "group_sizes": sizes, "levels": levels}

    return {
        "groups": found.groups,
        "bounds": [
            {"name": price.name, "bound": str(price.bound), "without": told(price.without), "alone": told(price.alone)}
            for price in found.bounds
        ],
        "cut_short": found.cut_short,
        "notes": list(found.notes),
        "settings": results.plain(found.settings),
    }


@results.rows_of.register(anatomy.GroupPrices)
def group_prices_rows(found: anatomy.GroupPrices) -> results.Rows:
    """A row for each grouping that other bounds would give."""
    names = ("terms", "of", "groups", "groups_at_most", "smallest", "largest", "alpha", "beta", "gamma", "delta")
    return names, [
        (
            kind, price.name, each.groups, each.at_most, each.smallest, each.largest, float(each.levels.alpha),
            float(each.levels.beta), float(each.levels.gamma), float(each.levels.delta),
        )
        for price in found.bounds
        for kind, each in (("without", price.without), ("alone", price.alone))
    ]  # fmt: skip
