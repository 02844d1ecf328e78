# SPDX-License-Identifier: Apache-2.0
"""Views of utility, query answers and utility costs of requirements: text, JSON and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import anatomization, generalization, queries, results
from divulge.arguments import arg, spelled
from divulge.output.formatting import (
    bullet,
    classes,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    rows,
)
from divulge.queries import Utility

_SHOWN_PAIRS = 10
_RUINED_SHARE = 0.5
_SCORES = {"auc": "AUC", "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}


@results.text_of.register(Utility)
def utility_text(utility: Utility) -> RenderableType:
    """Render the sizes, the short answer, then all numbers."""
    source = f"{utility.settings['release']} beside {utility.settings['original']}"
    sizes_text = f"{utility.published:,} of {rows(utility.rows)}, {len(utility.columns)} columns"
    if utility.left_out:
        left_out = [bullet(f"not published: {', '.join(utility.left_out)}")]
    else:
        left_out = []
    return Group(Text(f"{source}: {sizes_text}"), *left_out, *utility_parts(utility))


def utility_parts(utility: Utility) -> list[RenderableType]:
    """Render the part after the first line, which follows the text of a release too."""
    parts: list[RenderableType] = [
        heading("How much is left"),
        *(bullet(sentence) for sentence in utility_sentences(utility)),
    ]
    parts += [
        heading("Distance of each column (total variation, 0 to 1)"),
        _distance_table(utility),
    ]
    if utility.associations:
        parts += [
            heading("Associations (Cramer's V), those that changed most"),
            _association_table(utility),
        ]
    return [*parts, *(bullet(noted(note)) for note in utility.notes)]


def utility_sentences(utility: Utility) -> Iterator[str]:
    """Yield one sentence for each measure of utility."""
    summary = utility.summary
    yield (
        f"Columns: {number(summary['mean_distance'])} from the original's distribution on average, "
        f"at most {number(summary['largest_distance'])}."
    )
    if utility.associations:
        yield (
            f"Associations: Cramer's V of {len(utility.associations):,} pairs is off by "
            f"{number(summary['association_change'])} on average."
        )
    if utility.recq is not None:
        yield recq_sentence(utility.recq)
    for information in utility.information:
        yield (
            f"Information: the quasi-identifiers tell {number(information.after)} "
            f"of {number(information.before)} bits about {information.attribute}; "
            f"{percent(information.loss)} of I(W;X) is lost."
        )
    yield from (
        _model_sentence(utility.model, score)
        for score in (utility.model.scores if utility.model is not None else ())
    )


def model_warnings(utility: Utility | None) -> Iterator[str]:
    """Yield warnings about models for the first lines of a release.

    Such a model lost more than half of its advantage over guessing.
    """
    if utility is None:
        model = None
    else:
        model = utility.model
    if model is not None:
        chosen_scores = model.scores
    else:
        chosen_scores = ()
    for score in chosen_scores:
        if score.before - score.after > _RUINED_SHARE * (score.before - score.guess) > 0:
            yield _model_sentence(model, score)


def _model_sentence(model: Any, score: Any) -> str:
    return (
        f"A model that foretells {model.target}: {_SCORES[score.name]} {score.before:.3f} from the "
        f"original, {score.after:.3f} from the release; a guess has {score.guess:.3f}."
    )


def recq_sentence(recq: anatomization.Recq) -> str:
    """State the error of count queries."""
    fewest_columns, most_columns = recq.workload.quasi_identifiers
    if recq.workload.with_sensitive:
        sensitive_part = " and a sensitive value"
    else:
        sensitive_part = ""
    if recq.below_floor:
        floor_note = f" {recq.below_floor} of them match fewer than {recq.workload.floor} records."
    else:
        floor_note = ""
    return (
        f"{recq.queries:,} {recq.workload.kind} count queries "
        f"over {fewest_columns} to {most_columns} quasi-identifiers{sensitive_part}: "
        f"relative error {percent(recq.mean)} on average, {percent(recq.median)} at the median, "
        f"{percent(recq.p90)} at the 90th percentile.{floor_note}"
    )


def _distance_table(utility: Utility) -> RenderableType:
    table = grid("column", "distance", "values", "published", right=[1, 2, 3])
    for column_utility in utility.columns:
        table.add_row(
            column_utility.column,
            number(column_utility.distance),
            f"{column_utility.values:,}",
            f"{column_utility.labels:,}",
        )
    return table


def _association_table(utility: Utility) -> RenderableType:
    table = grid("column", "with", "before", "after", right=[2, 3])
    pairs = sorted(
        utility.associations,
        key=lambda pair: -abs(_cramers_v(pair.true) - _cramers_v(pair.reconstructed)),
    )
    for pair in pairs[:_SHOWN_PAIRS]:
        table.add_row(
            pair.left,
            pair.right,
            number(_cramers_v(pair.true)),
            number(_cramers_v(pair.reconstructed)),
        )
    more = len(pairs) - _SHOWN_PAIRS
    if more > 0:
        return Group(
            table, Text(f"... and {more} more (in the JSON and in the frame)", style="dim")
        )
    return table


def _cramers_v(coefficients: anatomization.Coefficients) -> float:
    return sqrt(coefficients.phi2)


@results.document_of.register(Utility)
def utility_document(utility: Utility) -> dict[str, Any]:
    """Return the JSON document of a utility."""
    return {
        "kind": utility.kind,
        "rows": utility.rows,
        "published": utility.published,
        "left_out": list(utility.left_out),
        "summary": utility.summary,
        "columns": [results.plain(entry) for entry in utility.columns],
        "associations": [
            {
                "left": pair.left,
                "right": pair.right,
                "exact": pair.exact,
                "cramers_v": {
                    "before": _cramers_v(pair.true),
                    "after": _cramers_v(pair.reconstructed),
                },
                "bits": {
                    "before": pair.true.mutual_information,
                    "after": pair.reconstructed.mutual_information,
                },
            }
            for pair in utility.associations
        ],
        "queries": None if utility.recq is None else utility.recq.as_json(),
        "information": [
            {**results.plain(entry), "loss": entry.loss} for entry in utility.information
        ],
        "model": None if utility.model is None else results.plain(utility.model),
        "notes": list(utility.notes),
        "settings": dict(utility.settings),
    }


@results.rows_of.register(Utility)
def utility_rows(utility: Utility) -> results.Rows:
    """Table with one row for each number: before, after and change."""
    rows: list[tuple[Any, ...]] = [
        ("distance", entry.column, None, None, entry.distance) for entry in utility.columns
    ]
    for pair in utility.associations:
        before = _cramers_v(pair.true)
        after = _cramers_v(pair.reconstructed)
        rows.append(("cramers_v", f"{pair.left} + {pair.right}", before, after, after - before))
    if utility.recq is not None:
        query_errors = {
            "mean": utility.recq.mean,
            "median": utility.recq.median,
            "p90": utility.recq.p90,
        }
        rows += [("query_error", name, None, None, value) for name, value in query_errors.items()]
    rows += [
        ("information", entry.attribute, entry.before, entry.after, entry.after - entry.before)
        for entry in utility.information
    ]
    if utility.model is not None:
        chosen_scores = utility.model.scores
    else:
        chosen_scores = ()
    for score in chosen_scores:
        rows.append(
            (
                score.name,
                utility.model.target if utility.model else None,
                score.before,
                score.after,
                score.after - score.before,
            )
        )
    return ("what", "of", "before", "after", "change"), rows


# --- answers to queries ---------------------------------------------------------------------------
@results.text_of.register(queries.Estimate)
def estimate_text(estimate: queries.Estimate) -> RenderableType:
    """Render the answer in one line, and its assumptions below it."""
    if estimate.estimate is None or estimate.low is None or estimate.high is None:
        return Text(f"{estimate.what}: no record can satisfy the condition")
    if estimate.low == estimate.high:
        answer = f"{estimate.what}: {number(estimate.estimate)} (exact)"
    else:
        answer = (
            f"{estimate.what}: certainly from {number(estimate.low)} to {number(estimate.high)}; "
            f"estimate {number(estimate.estimate)}"
        )
    notes = [
        f"the labels of {name} are read {_LABEL_SOURCES[reading['from']]}, as {reading['type']}"
        for name, reading in estimate.settings.get("labels", {}).items()
        if reading["from"] != "mapping"
    ]
    if estimate.settings.get("left_out"):
        notes.append(
            f"{estimate.settings['left_out']:,} records were left out of the release and are not "
            "counted"
        )
    return Text("\n  ".join([answer, *notes]))


_LABEL_SOURCES = {"hierarchies": "by the hierarchies given", "as written": "as they are written"}


@results.document_of.register(queries.Estimate)
def estimate_document(estimate: queries.Estimate) -> dict[str, Any]:
    """Return the document of `divulge query --json`."""
    return {
        "what": estimate.what,
        "estimate": estimate.estimate,
        "low": estimate.low,
        "high": estimate.high,
        "settings": dict(estimate.settings),
    }


@results.rows_of.register(queries.Estimate)
def estimate_rows(estimate: queries.Estimate) -> results.Rows:
    """Table with one row."""
    return ("what", "estimate", "low", "high"), [
        (estimate.what, estimate.estimate, estimate.low, estimate.high)
    ]


# --- utility costs of requirements ----------------------------------------------------------------
# Views of the costs, and the warning that a release has little utility.
_MONDRIAN_OPTION = arg("method", "mondrian")
_SMALLEST_SAVING = 0.1
"""Smallest share of the information loss that advice must save."""


@results.text_of.register(generalization.Explanation)
def explanation_text(explanation: generalization.Explanation) -> RenderableType:
    """Render the utility cost of each requirement, the columns it binds, and alternatives."""
    if len(explanation.promises) == 1:
        promises = "1 promise"
    else:
        promises = f"{len(explanation.promises):,} promises"
    title = (
        f"{explanation.method}: {explanation.objective} {number(explanation.value)} under "
        f"{promises}"
    )
    return Group(Text(title), *explanation_parts(explanation))


def explanation_parts(explanation: generalization.Explanation) -> Iterator[RenderableType]:
    """Yield the costs of requirements, which follow the text of a release too."""
    yield heading("What each promise costs")
    losses = (f"{explanation.objective} {name}" for name in ("without it", "of it alone"))
    table = grid("promise", *losses, "makes coarser", right=[1, 2], prose=3)
    for price in explanation.promises:
        single_cost = _value_text(price.alone)
        table.add_row(
            price.promise,
            _value_text(price.without),
            single_cost,
            ", ".join(price.binds) or "nothing by itself",
        )
    yield table
    yield from (
        bullet(sentence)
        for sentence in (
            *_column_sentences(explanation),
            *_alternative_sentences(explanation),
            *map(noted, explanation.notes),
        )
    )


def _value_text(instead: Any) -> str:
    if instead.exact:
        return number(instead.value)
    return f"{number(instead.value)} or better"


def _column_sentences(explanation: generalization.Explanation) -> Iterator[str]:
    """Yield sentences on columns that only several requirements together generalize.

    Further sentences name the weaker bounds that would preserve something of fully suppressed
    columns.
    """
    bound_columns = {name for price in explanation.promises for name in price.binds}
    if jointly_bound := [
        item.column
        for item in explanation.columns
        if item.level and item.column not in bound_columns
    ]:
        yield (
            f"{', '.join(jointly_bound)}: coarse by several promises together; giving up one of "
            "them changes nothing."
        )
    columns_by_terms: dict[tuple[str, bool, bool, float], list[str]] = {}
    for item in explanation.columns:
        for bound in item.gentler:
            columns_by_terms.setdefault(
                (_terms_text(bound), bound.given_up, bound.proved, bound.at.value), []
            ).append(item.column)
    for (terms, given_up, proved, value), columns in columns_by_terms.items():
        if given_up:
            if proved:
                claim = "no gentler bound keeps"
            else:
                claim = "a gentler bound may keep, too,"
        elif proved:
            claim = "the nearest bound that keeps"
        else:
            claim = "keeps, and a nearer bound may keep,"
        remainder = f"something of {', '.join(columns)} ({explanation.objective} {number(value)})"
        yield f"{terms}: {claim} {remainder}."
    unsaved_columns = [
        item.column
        for item in explanation.columns
        if item.wiped_out and item.level is not None and not item.gentler
    ]
    if unsaved_columns:
        if explanation.cut_short:
            search_note = " of those looked at"
        else:
            search_note = ""
        names = ", ".join(unsaved_columns)
        yield f"{names}: no gentler bound of one promise alone{search_note} keeps anything."


def _terms_text(bound: Any) -> str:
    """Name a weaker bound, or the requirement that it gives up because the original meets it."""
    if bound.given_up:
        return f"without {bound.of}"
    return f"{bound.promise} instead of {number(bound.instead_of)}"


def _alternative_sentences(explanation: generalization.Explanation) -> Iterator[str]:
    for share, instead in explanation.suppression.items():
        if instead.saves > 0:
            suppressed_people = people(instead.suppressed)
            cost_text = (
                f"{explanation.objective} {_value_text(instead)}, {suppressed_people} left out"
            )
            saved_columns = [
                name
                for name in explanation.wiped_out
                if instead.levels[name] < _column_levels(explanation)[name]
            ]
            if saved_columns:
                saving_note = f"; something of {', '.join(saved_columns)} is kept"
            else:
                saving_note = ""
            yield (
                f"{spelled(arg('suppression', share))} (up to {percent(share)}): "
                f"{cost_text}{saving_note}."
            )
    if explanation.suppression and not any(
        instead.saves > 0 for instead in explanation.suppression.values()
    ):
        yield f"Leaving out up to {percent(max(explanation.suppression))} would buy nothing."
    if explanation.boxes is not None:
        if explanation.boxes.saves > 0:
            comparison_note = ""
        else:
            comparison_note = ", no better"
        yield (
            f"{spelled(_MONDRIAN_OPTION)}: loss {number(explanation.boxes.value)}"
            f"{comparison_note} ({classes(explanation.boxes.classes)})."
        )


def _column_levels(explanation: generalization.Explanation) -> dict[str, int]:
    return {item.column: item.level or 0 for item in explanation.columns}


def warning_parts(
    plan: generalization.Plan,
    explanation: generalization.Explanation | None,
    utility: Utility | None = None,
) -> Iterator[RenderableType]:
    """Yield the first lines of a release that meets its requirements but has little utility."""
    ruin = generalization.severe_loss(plan)
    yield from (Text(f"Beware: {sentence}", style="bold") for sentence in model_warnings(utility))
    if ruin is None:
        return
    if ruin.columns:
        suppressed_note = (
            f"{', '.join(ruin.columns)}: every value became one, so nothing is told by it. "
        )
    else:
        suppressed_note = ""
    yield Text(
        f"Beware: {suppressed_note}The loss is {number(ruin.loss)} "
        "(0: as it came, 1: nothing is left).",
        style="bold",
    )
    if explanation is None:
        yield Text("release.explain() says which promise does this, and what would help.")
    elif advice := list(_advice(explanation)):
        yield Text(f"What would help most: {'; or '.join(advice)}.")
    else:
        yield Text(
            "No gentler bound, no suppression up to 5 % and no boxes help: use fewer "
            "quasi-identifiers."
        )


def _advice(explanation: generalization.Explanation) -> Iterator[str]:
    """Yield the best alternative of each kind, the least harmful first."""
    bounds = [bound for item in explanation.columns for bound in item.gentler]
    if bounds:
        nearest_bound = min(
            bounds,
            key=lambda bound: (
                abs(bound.bound - bound.instead_of) / max(abs(bound.instead_of), 1e-9)
            ),
        )
        value = number(nearest_bound.at.value)
        yield f"{_terms_text(nearest_bound)} ({explanation.objective} {value})"
    shares = [
        (share, alternative)
        for share, alternative in explanation.suppression.items()
        if alternative.saves > _SMALLEST_SAVING * abs(explanation.value)
    ]
    if shares:
        share, instead = shares[0]
        yield (
            f"{spelled(arg('suppression', share))} ({explanation.objective} "
            f"{number(instead.value)})"
        )
    if (
        explanation.boxes is not None
        and explanation.boxes.saves > _SMALLEST_SAVING * explanation.loss
    ):
        yield f"{spelled(_MONDRIAN_OPTION)} (loss {number(explanation.boxes.value)})"


@results.document_of.register(generalization.Explanation)
def explanation_document(explanation: generalization.Explanation) -> dict[str, Any]:
    """Return the `explanation` of `divulge generalize --json`."""
    document: Mapping[str, Any] = results.plain(explanation)
    suppression = [
        {"share": share, **results.plain(alternative)}
        for share, alternative in explanation.suppression.items()
    ]
    return {
        **document,
        "suppression": suppression,
        "wiped_out": list(explanation.wiped_out),
        "exact": explanation.exact,
    }


@results.rows_of.register(generalization.Explanation)
def explanation_rows(explanation: generalization.Explanation) -> results.Rows:
    """Table with one row for each alternative release."""
    columns = [item.column for item in explanation.columns]
    terms = [
        *(
            ("without", price.promise, price.without, price.without.exact)
            for price in explanation.promises
        ),
        *(
            ("alone", price.promise, price.alone, price.alone.exact)
            for price in explanation.promises
        ),
        *(
            (f"saves {item.column}", bound.promise, bound.at, bound.proved)
            for item in explanation.columns
            for bound in item.gentler
        ),
        *(
            ("suppression", f"{share:g}", alternative, alternative.exact)
            for share, alternative in explanation.suppression.items()
        ),
        *(
            [("mondrian", "loss", explanation.boxes, False)]
            if explanation.boxes is not None
            else []
        ),
    ]
    rows = [
        (
            kind,
            of,
            alternative.value,
            alternative.saves,
            alternative.suppressed,
            alternative.classes,
            exact,
            *map(alternative.levels.get, columns),
        )
        for kind, of, alternative, exact in terms
    ]
    names = (
        "terms",
        "of",
        "value",
        "saves",
        "suppressed",
        "classes",
        "exact",
        *(f"level.{name}" for name in columns),
    )
    return names, rows


# --- anatomized releases --------------------------------------------------------------------------
@results.text_of.register(anatomization.GroupPrices)
def group_prices_text(group_prices: anatomization.GroupPrices) -> RenderableType:
    """Render the cost of each bound in groups."""
    return Group(
        Text(f"{group_prices.settings['source']}: {group_prices.groups:,} groups"),
        *group_prices_parts(group_prices),
    )


def group_prices_parts(group_prices: anatomization.GroupPrices) -> Iterator[RenderableType]:
    """Yield the cost of each bound in groups, which follows the text of a release too."""
    yield heading("What each bound costs, in groups (more groups tell more)")
    table = grid("bound", "with all", "without it", "it alone", right=[1, 2, 3])
    for price in group_prices.bounds:
        terms = (price.without, price.alone)
        group_counts = (
            f"{grouping.groups:,}{'' if grouping.exact else ' or more'}" for grouping in terms
        )
        table.add_row(f"{price.name} <= {price.bound}", f"{group_prices.groups:,}", *group_counts)
    if group_prices.bounds:
        yield table
    if group_prices.bounds and not any(
        price.without.groups > group_prices.groups for price in group_prices.bounds
    ):
        yield bullet("Giving up one of them alone gives no more groups.")
    yield from (bullet(noted(note)) for note in group_prices.notes)


@results.document_of.register(anatomization.GroupPrices)
def group_prices_document(group_prices: anatomization.GroupPrices) -> dict[str, Any]:
    """Return the `explanation` of `divulge anatomize --json`.

    Levels are exact fractions.
    """

    def describe_grouping(grouping: Any) -> dict[str, Any]:
        sizes = {"min": grouping.smallest, "max": grouping.largest}
        levels = grouping.levels.texts()
        return {
            "groups": grouping.groups,
            "groups_at_most": grouping.at_most,
            "group_sizes": sizes,
            "levels": levels,
        }

    return {
        "groups": group_prices.groups,
        "bounds": [
            {
                "name": price.name,
                "bound": str(price.bound),
                "without": describe_grouping(price.without),
                "alone": describe_grouping(price.alone),
            }
            for price in group_prices.bounds
        ],
        "cut_short": group_prices.cut_short,
        "notes": list(group_prices.notes),
        "settings": results.plain(group_prices.settings),
    }


@results.rows_of.register(anatomization.GroupPrices)
def group_prices_rows(group_prices: anatomization.GroupPrices) -> results.Rows:
    """Table with one row for each alternative grouping."""
    names = (
        "terms",
        "of",
        "groups",
        "groups_at_most",
        "smallest",
        "largest",
        "alpha",
        "beta",
        "gamma",
        "delta",
    )
    return names, [
        (
            kind,
            price.name,
            grouping.groups,
            grouping.at_most,
            grouping.smallest,
            grouping.largest,
            float(grouping.levels.alpha),
            float(grouping.levels.beta),
            float(grouping.levels.gamma),
            float(grouping.levels.delta),
        )
        for price in group_prices.bounds
        for kind, grouping in (("without", price.without), ("alone", price.alone))
    ]
