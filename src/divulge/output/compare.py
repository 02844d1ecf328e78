# SPDX-License-Identifier: Apache-2.0
"""Views of tables and releases side by side: text, JSON document, table and HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import metrics, results
from divulge.api import compare as comparing
from divulge.composition import PeopleMoved
from divulge.output import attack, html, summary
from divulge.output.formatting import (
    bullet,
    grid,
    heading,
    noted,
    number,
    people,
    percent,
    written_text,
)
from divulge.output.html import Html, el, joined
from divulge.text import class_name

_UTILITY_LABELS = {
    "rows_left_out": "rows left out",
    "mean_distance": "distance of columns, mean",
    "largest_distance": "distance of columns, largest",
    "association_change": "change of associations",
    "query_error_median": "query error, median",
    "query_error_mean": "query error, mean",
    "information_loss": "information lost",
}
_CHANGES: tuple[Literal["better", "worse", "same"], ...] = ("better", "worse", "same")
_SHARE_MEASURES = ("rows_left_out", "query_error_median", "query_error_mean", "information_loss")


# --- numbers and changes --------------------------------------------------------------------------
def _attributes(comparison: comparing.TableComparison) -> list[str | None]:
    return list(dict.fromkeys(attribute for attribute, _ in comparison.reference.numbers))


def _changes(
    comparison: comparing.TableComparison, other: comparing.ComparedTable
) -> dict[str, int]:
    """Count the risks that are better, worse and the same."""
    differences = [
        comparison.difference(other, *key)
        for key, score in other.numbers.items()
        if score.metric.kind == "risk"
    ]
    changes = [difference.change for difference in differences if difference is not None]
    return {word: changes.count(word) for word in _CHANGES}


def _leading_moves(other: comparing.ComparedTable) -> list[PeopleMoved]:
    """Changes for people by the leading metrics of identity and of each sensitive column."""
    return [move for move in other.moved if move.metric.leads]


# --- text -----------------------------------------------------------------------------------------
def _comparison_sentence(comparison: comparing.TableComparison) -> str:
    names = ", ".join(other.name for other in comparison.others)
    sentence = f"{names} against {comparison.reference.name}, the reference"
    if comparison.original is None:
        return f"{sentence}."
    is_first = comparison.original == comparison.reference.source
    if is_first:
        return f"{sentence} and the original."
    return f"{sentence}; the original is {comparison.original}."


def joint_risk_sentence(comparison: comparing.TableComparison) -> tuple[str, str] | None:
    """Describe the joint disclosure risk of all releases, or return None.

    Returns the subject and the rest of the sentence.
    """
    joint_result = comparison.together
    if (
        joint_result is None
        or joint_result.together is None
        or (measured := joint_result.measurement) is None
    ):
        return None
    joint_risk = joint_result.together
    leading = next(score for score in measured.identity.values() if score.metric.leads)
    parts = [
        (
            f"{leading.metric.name} {number(leading.number)} where no class alone has fewer than "
            f"{joint_risk.smallest:,}"
        )
    ]
    parts.append(
        f"{people(joint_risk.became_alone) if joint_risk.became_alone else 'nobody'} became alone"
    )
    for name in measured.beliefs:
        single_risks = [
            release.alone.sensitive[name]["alpha"].value
            for release in joint_result.releases
            if release.alone is not None
        ]
        confidence = (
            f"{percent(measured.sensitive[name]['alpha'].value)}; with one release alone: "
            f"{percent(max(single_risks))}"
        )
        parts.append(
            f"the best guess of {name} is right in the worst class with probability {confidence}"
        )
    if joint_result.settings["upper_bound"]:
        bound_note = ""
    else:
        bound_note = "; no upper bound, for some people's classes are not known for certain"
    names = f"all {len(joint_result.releases)} releases together"
    return names, f"{'; '.join(parts)}{bound_note}. `divulge compose` tells more."


def sentences(comparison: comparing.TableComparison) -> Iterator[tuple[str, str]]:
    """Yield (name, sentence) for each other table, then for all releases together."""
    yield from _table_sentences(comparison)
    if (joint_sentence := joint_risk_sentence(comparison)) is not None:
        yield joint_sentence


def _table_sentences(comparison: comparing.TableComparison) -> Iterator[tuple[str, str]]:
    for other in comparison.others:
        if other.refused is not None:
            yield other.name, f"nothing keeps this policy: {other.refused}."
            continue
        parts = []
        if other.numbers:
            changes = _changes(comparison, other)
            parts.append(
                f"of {sum(changes.values())} risks {changes['better']} are better, "
                f"{changes['worse']} worse, {changes['same']} the same"
            )
        if other.levels is not None:
            levels = ", ".join(f"{name} {text}" for name, text in other.levels.texts().items())
            parts.append(f"anatomized, its groups reach {levels}")
        if other.verdict is not None:
            broken = sum(not outcome.holds for outcome in other.verdict.outcomes)
            parts.append(
                f"{broken} of {len(other.verdict.outcomes)} promises are broken"
                if broken
                else "every promise is kept"
            )
        parts += [_move_sentence(move, other) for move in _leading_moves(other)]
        parts += list(_attack_sentences(comparison, other))
        if other.unmatched:
            parts += ["nobody can be followed there"]
        yield other.name, f"{'; '.join(parts)}."


def _attack_sentences(
    comparison: comparing.TableComparison, other: comparing.ComparedTable
) -> Iterator[str]:
    """Yield the success rates of the `prosecutor` and `inference` attacks.

    Each rate is compared with that on the reference.
    """
    reference_rates, other_rates = (
        _attack_rates(compared_table) for compared_table in (comparison.reference, other)
    )
    for (name, about), rate in other_rates.items():
        if name in ("prosecutor", "inference") and (name, about) in reference_rates:
            if about is None:
                target = "the right row"
            else:
                target = str(about)
            yield (
                f"{name} gets {target} for {percent(rate.value)} instead of "
                f"{percent(reference_rates[name, about].value)}"
            )


def _attack_rates(compared_table: comparing.ComparedTable) -> dict[tuple[str, str | None], Any]:
    """Success rate by attack and target column (None for rows)."""
    if compared_table.attacked is None:
        return {}
    return {
        (attempt.name, attempt.about): attempt.rate for attempt in compared_table.attacked.attempts
    }


def _attack_table(comparison: comparing.TableComparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the head and the rows of a table of attacks.

    It has a row for each attack and target column. Cells have the rate and its interval in each
    table. Violated bounds are marked.
    """
    attacked_tables = [
        compared_table for compared_table in comparison if compared_table.attacked is not None
    ]
    broken = {
        (compared_table.name, attempt.name, attempt.about)
        for compared_table in attacked_tables
        for attempt in (() if compared_table.attacked is None else compared_table.attacked.broken)
    }
    rows = []
    for name, about in dict.fromkeys(
        key for compared_table in attacked_tables for key in _attack_rates(compared_table)
    ):
        cells = []
        for compared_table in attacked_tables:
            rate = _attack_rates(compared_table).get((name, about))
            if (compared_table.name, name, about) in broken:
                mark = ", bound broken"
            else:
                mark = ""
            cells.append("-" if rate is None else f"{attack.interval_text(rate)}{mark}")
        rows.append((name, about or "row", *cells))
    return ["attack", "about", *(compared_table.name for compared_table in attacked_tables)], rows


def _move_sentence(move: PeopleMoved, other: comparing.ComparedTable) -> str:
    if move.attribute:
        about = f" of {move.attribute}"
    else:
        about = ""
    if other.matched_by == "mapping":
        unmatched_verb = "are left out"
    else:
        unmatched_verb = "have no class of the same values"
    if move.not_found:
        unmatched_note = f", and {percent(move.not_found / move.people)} {unmatched_verb}"
    else:
        unmatched_note = ""
    better, worse = (percent(count / move.people) for count in (move.better, move.worse))
    return (
        f"by the {move.metric.name}{about} of their class {better} of {people(move.people)} are "
        f"better off, {worse} worse{unmatched_note}"
    )


@results.text_of.register(comparing.TableComparison)
def comparison_text(
    comparison: comparing.TableComparison, *, written: Sequence[Any] = ()
) -> RenderableType:
    """Render the answer, metrics side by side, utility, attacks and the most changed classes."""
    parts: list[RenderableType] = [
        Text(_comparison_sentence(comparison)),
        *(bullet(f"{name}: {sentence}") for name, sentence in sentences(comparison)),
    ]
    for attribute in _attributes(comparison):
        parts += [heading(_section_title(attribute)), _metric_table(comparison, attribute)]
    if any(compared_table.utility is not None for compared_table in comparison):
        parts += [heading(f"What is left of {comparison.original}"), _utility_table(comparison)]
    head, rows = _attack_table(comparison)
    if rows:
        table = grid(*head, right=range(2, len(head)))
        for row in rows:
            table.add_row(*row)
        parts += [heading("What attacks achieve"), table]
    changed = [line for other in comparison.others for line in _changed_class_sentences(other)]
    if changed:
        parts += [heading("Classes that changed most"), *map(bullet, changed)]
    if comparison.notes:
        parts += [Text(""), *(bullet(noted(note)) for note in comparison.notes)]
    return Group(*parts, *written_text(tuple(written)))


def _section_title(attribute: str | None) -> str:
    if attribute is None:
        return "Whose record is it?"
    return f"What is learnt about {attribute}"


def _measured_tables(comparison: comparing.TableComparison) -> list[comparing.ComparedTable]:
    return [other for other in comparison.others if other.measurement is not None]


def _metric_table(comparison: comparing.TableComparison, attribute: str | None) -> RenderableType:
    others = _measured_tables(comparison)
    head = [
        comparison.reference.name,
        *(name for other in others for name in (other.name, "change")),
    ]
    table = grid(
        "metric",
        *head,
        right=[column for column in range(1, len(head) + 1) if column == 1 or column % 2 == 0],
    )
    for name, cells in _metric_rows(comparison, attribute):
        table.add_row(name, *cells)
    return table


def _metric_rows(
    comparison: comparing.TableComparison, attribute: str | None
) -> Iterator[tuple[str, list[str]]]:
    for (about, name), reference_score in comparison.reference.numbers.items():
        if about != attribute:
            continue
        cells = [number(reference_score.number)]
        for other in _measured_tables(comparison):
            score = other.numbers.get((about, name))
            if score is None:
                cells += ["-", ""]
            else:
                cells += [
                    number(score.number),
                    _change_text(comparison.difference(other, about, name)),
                ]
        yield name, cells


def _change_text(difference: comparing.Difference | None) -> str:
    if difference is None:
        return "not comparable"
    if difference.change == "same":
        return "same"
    return f"{_signed_text(difference.value)} {difference.change or ''}".strip()


def _signed_text(difference: float) -> str:
    return f"{'+' if difference > 0 else '-'}{number(abs(difference))}"


def _utility_table(comparison: comparing.TableComparison) -> RenderableType:
    utility_rows = _utility_rows(comparison)
    names = [
        compared_table.name for compared_table in comparison if compared_table.utility is not None
    ]
    table = grid("what", *names, right=range(1, len(names) + 1))
    for measure, cells in utility_rows:
        table.add_row(measure, *cells)
    return table


def _utility_rows(comparison: comparing.TableComparison) -> list[tuple[str, list[str]]]:
    summaries = [
        compared_table.utility.summary
        for compared_table in comparison
        if compared_table.utility is not None
    ]
    names = dict.fromkeys(name for utility_summary in summaries for name in utility_summary)
    return [
        (
            _utility_label(name),
            [
                _utility_cell(name, utility_summary[name]) if name in utility_summary else "-"
                for utility_summary in summaries
            ],
        )
        for name in names
    ]


def _utility_label(name: str) -> str:
    measure, _, attribute = name.partition(".")
    label = _UTILITY_LABELS.get(measure, measure.replace("_", " "))
    if attribute:
        return f"{label} about {attribute}"
    return label


def _utility_cell(name: str, value: float) -> str:
    if name.partition(".")[0] in _SHARE_MEASURES:
        return percent(value)
    return number(value)


def _changed_class_sentences(other: comparing.ComparedTable) -> Iterator[str]:
    for move in _leading_moves(other):
        if move.attribute:
            about = f" of {move.attribute}"
        else:
            about = ""
        class_changes = [
            (
                "worse"
                if (class_change.after > class_change.before) == (move.metric.worse == "high")
                else "better",
                class_change,
            )
            for class_change in move.classes
        ]
        first_better = next(
            (index for index, (word, _) in enumerate(class_changes) if word == "better"),
            len(class_changes),
        )
        # the classes that got worse, and one that got better
        for word, class_change in class_changes[: first_better + 1]:
            if dict(class_change.key) == dict(class_change.becomes):
                became = ""
            else:
                became = f", now {class_name(class_change.becomes)}"
            yield (
                f"{other.name}, {move.metric.name}{about} "
                f"{word}: {class_name(class_change.key)}{became} ({people(class_change.people)}), "
                f"{number(class_change.before)} before, {number(class_change.after)} now"
            )


# --- JSON and table -------------------------------------------------------------------------------
@results.document_of.register(comparing.TableComparison)
def comparison_document(
    comparison: comparing.TableComparison, *, written: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the document of `divulge compare --json`."""
    return {
        "reference": comparison.reference.name,
        "original": comparison.original,
        "compared": [_table_document(comparison, compared_table) for compared_table in comparison],
        "together": _joint_document(comparison),
        "notes": list(comparison.notes),
        "settings": dict(comparison.settings),
        "written": [str(path) for path in written],
    }


def _joint_document(comparison: comparing.TableComparison) -> dict[str, Any] | None:
    """Numbers of the joint classes; `divulge compose --json` has those of single releases too."""
    joint_result = comparison.together
    if (
        joint_result is None
        or joint_result.together is None
        or (measured := joint_result.measurement) is None
    ):
        return None
    joint_risk = joint_result.together
    identity = measured.identity.items()
    return {
        "releases": [release.name for release in joint_result.releases],
        "people": joint_risk.people,
        "alone": joint_risk.alone,
        "became_alone": joint_risk.became_alone,
        "identity": {name: score.number for name, score in identity},
        "sensitive": {
            attribute: {name: score.number for name, score in scores.items()}
            for attribute, scores in measured.sensitive.items()
        },
        "upper_bound": joint_result.settings["upper_bound"],
    }


def _table_document(
    comparison: comparing.TableComparison, compared_table: comparing.ComparedTable
) -> dict[str, Any]:
    measured = compared_table.measurement
    is_other = compared_table is not comparison.reference

    def difference(key: tuple[str | None, str], _: metrics.Score) -> float | None:
        risk_difference = comparison.difference(compared_table, *key)
        if risk_difference is None:
            return None
        return risk_difference.value

    def change(key: tuple[str | None, str], _: metrics.Score) -> str | None:
        risk_difference = comparison.difference(compared_table, *key)
        if risk_difference is None:
            return None
        return risk_difference.change

    return {
        "name": compared_table.name,
        "kind": compared_table.kind,
        "source": compared_table.source,
        "refused": compared_table.refused,
        "rows": None if measured is None else measured.rows,
        "people": None if measured is None else measured.people,
        "classes": None if measured is None else measured.class_count,
        **_by_attribute(compared_table, lambda _, score: score.number),
        "difference": _by_attribute(compared_table, difference) if is_other else None,
        "change": _by_attribute(compared_table, change) if is_other else None,
        "levels": None
        if compared_table.levels is None
        else {
            level_name: float(getattr(compared_table.levels, level_name))
            for level_name in compared_table.levels.texts()
        },
        "broken": None
        if compared_table.verdict is None
        else [outcome.text for outcome in compared_table.verdict.outcomes if not outcome.holds],
        "utility": None if compared_table.utility is None else compared_table.utility.summary,
        "attacks": attack.attack_summaries(compared_table.attacked),
        "matched_by": compared_table.matched_by,
        "unmatched": compared_table.unmatched,
        "moved": [_move_document(move) for move in compared_table.moved],
    }


def _by_attribute(
    compared_table: comparing.ComparedTable,
    describe_score: Callable[[tuple[str | None, str], metrics.Score], Any],
) -> dict[str, Any]:
    document: dict[str, Any] = {"identity": {}, "sensitive": {}}
    for (attribute, name), score in compared_table.numbers.items():
        if attribute is None:
            section = document["identity"]
        else:
            section = document["sensitive"].setdefault(attribute, {})
        section[name] = describe_score((attribute, name), score)
    return document


def _move_document(move: PeopleMoved) -> dict[str, Any]:
    return {
        "metric": move.metric.name,
        "attribute": move.attribute,
        "better": move.better,
        "worse": move.worse,
        "same": move.same,
        "not_found": move.not_found,
        "classes": [
            {
                "class": dict(class_change.key),
                "becomes": dict(class_change.becomes),
                "people": class_change.people,
                "before": class_change.before,
                "after": class_change.after,
            }
            for class_change in move.classes
        ],
    }


@results.rows_of.register(comparing.TableComparison)
def comparison_rows(comparison: comparing.TableComparison) -> results.Rows:
    """Table with one row for each metric, level, utility and attack rate of each table."""
    rows: list[tuple[Any, ...]] = []
    for compared_table in comparison:
        for (attribute, name), score in compared_table.numbers.items():
            risk_difference = comparison.difference(compared_table, attribute, name)
            if risk_difference is None:
                difference = None
                change = None
            else:
                difference = risk_difference.value
                change = risk_difference.change
            rows.append(
                (
                    compared_table.name,
                    "metric",
                    attribute,
                    name,
                    float(score.value),
                    difference,
                    change,
                )
            )
        if compared_table.levels is None:
            levels = {}
        else:
            levels = {
                name: float(getattr(compared_table.levels, name))
                for name in compared_table.levels.texts()
            }
        rows += [
            (compared_table.name, "level", None, name, level, None, None)
            for name, level in levels.items()
        ]
        if compared_table.utility is None:
            summary_items: Iterable[tuple[str, float]] = ()
        else:
            summary_items = compared_table.utility.summary.items()
        for name, value in summary_items:
            measure, _, attribute_name = name.partition(".")
            rows.append(
                (
                    compared_table.name,
                    "utility",
                    attribute_name or None,
                    measure,
                    float(value),
                    None,
                    None,
                )
            )
        rows += list(_attack_rows(comparison, compared_table))
    return ("table", "kind", "attribute", "name", "value", "difference", "change"), rows


def _attack_rows(
    comparison: comparing.TableComparison, compared_table: comparing.ComparedTable
) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each rate; it is better or worse only if the intervals do not overlap."""
    reference_rates = _attack_rates(comparison.reference)
    for (name, about), rate in _attack_rates(compared_table).items():
        if compared_table is comparison.reference:
            reference_rate = None
        else:
            reference_rate = reference_rates.get((name, about))
        if reference_rate is None:
            difference = None
        else:
            difference = rate.value - reference_rate.value
        change = None
        if reference_rate is not None and (
            rate.low > reference_rate.high or rate.high < reference_rate.low
        ):
            if rate.low > reference_rate.high:
                change = "worse"
            else:
                change = "better"
        yield compared_table.name, "attack", about, name, rate.value, difference, change


# --- HTML -----------------------------------------------------------------------------------------
def answer(comparison: comparing.TableComparison) -> Html:
    """Name the compared tables in one sentence."""
    return html.escape(_comparison_sentence(comparison))


def sections(comparison: comparing.TableComparison, chart: Html | None) -> Html:
    """Build the HTML of the chart, the metrics side by side, utility and changed classes."""
    others = _measured_tables(comparison)
    head = [
        "metric",
        comparison.reference.name,
        *(name for other in others for name in (other.name, "change")),
    ]
    sentence_items = [
        joined((el("b", html.value(name)), ": ", text)) for name, text in sentences(comparison)
    ]
    parts: list[Any] = [
        html.bullets(*sentence_items),
        el("div", chart, class_="card") if chart else None,
    ]
    for attribute in _attributes(comparison):
        rows = [(name, *cells) for name, cells in _metric_rows(comparison, attribute)]
        parts += [
            el("h3", _section_title(attribute)),
            el("div", html.table(head, rows), class_="card"),
        ]
    if any(compared_table.utility is not None for compared_table in comparison):
        names = [
            "what",
            *(
                compared_table.name
                for compared_table in comparison
                if compared_table.utility is not None
            ),
        ]
        utility_table = html.table(
            names, [(what, *cells) for what, cells in _utility_rows(comparison)]
        )
        parts += [
            el("h3", "What is left of ", html.value(comparison.original)),
            el("div", utility_table, class_="card"),
        ]
    attack_head, rates = _attack_table(comparison)
    if rates:
        parts += [
            el("h3", "What attacks achieve"),
            el("div", html.table(attack_head, rates), class_="card"),
        ]
    changed = [line for other in comparison.others for line in _changed_class_sentences(other)]
    if changed:
        parts += [el("h3", "Classes that changed most"), html.bullets(*changed)]
    if comparison.notes:
        parts += [html.bullets(*(noted(note) for note in comparison.notes))]
    return joined(parts)


@results.html_of.register(comparing.TableComparison)
def comparison_html(comparison: comparing.TableComparison, **_: Any) -> str:
    """Return the HTML for notebooks."""
    return summary.notebook(
        el("p", answer(comparison), class_="verdict"),
        sections(comparison, summary.main_picture(comparison)),
    )
