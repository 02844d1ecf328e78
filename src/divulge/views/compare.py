# SPDX-License-Identifier: Apache-2.0
"""Tables and releases side by side: in words, as a JSON document, as one table, and on a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import metrics, results
from divulge.api import compare as comparing
from divulge.views import attack, html, summary
from divulge.views.html import Html, el, joined
from divulge.views.words import bullet, class_name, grid, heading, noted, number, people, percent, written_text

_LEFT = {
    "rows_left_out": "rows left out",
    "mean_distance": "distance of columns, mean",
    "largest_distance": "distance of columns, largest",
    "association_change": "change of associations",
    "query_error_median": "query error, median",
    "query_error_mean": "query error, mean",
    "information_loss": "information lost",
}
_CHANGES: tuple[Literal["better", "worse", "same"], ...] = ("better", "worse", "same")
_SHARES = ("rows_left_out", "query_error_median", "query_error_mean", "information_loss")


# --- numbers and what changed -----------------------------------------------------------------------------------------
def _attributes(found: comparing.TableComparison) -> list[str | None]:
    return list(dict.fromkeys(attribute for attribute, _ in found.reference.numbers))


def _changes(found: comparing.TableComparison, other: comparing.ComparedTable) -> dict[str, int]:
    """How many risks are better, worse, the same."""
    differences = [found.difference(other, *key) for key, score in other.numbers.items() if score.metric.kind == "risk"]
    told = [difference.change for difference in differences if difference is not None]
    return {word: told.count(word) for word in _CHANGES}


def _leading(other: comparing.ComparedTable) -> list[comparing.PeopleMoved]:
    """What people are told by first: one metric of who they are, one of each sensitive column."""
    return [move for move in other.moved if move.metric.leads]


# --- words ------------------------------------------------------------------------------------------------------------
def _first(found: comparing.TableComparison) -> str:
    names = ", ".join(other.name for other in found.others)
    told = f"{names} against {found.reference.name}, the reference"
    if found.original is None:
        return f"{told}."
    is_first = found.original == found.reference.source
    return f"{told} and the original." if is_first else f"{told}; the original is {found.original}."


def together(found: comparing.TableComparison) -> tuple[str, str] | None:
    """What whoever holds all of them would learn beyond each alone."""
    all_of_them = found.together
    if all_of_them is None or all_of_them.together is None or (measured := all_of_them.measurement) is None:
        return None
    told = all_of_them.together
    leading = next(score for score in measured.identity.values() if score.metric.leads)
    parts = [f"{leading.metric.name} {number(leading.number)} where no class alone has fewer than {told.smallest:,}"]
    parts.append(f"{people(told.became_alone) if told.became_alone else 'nobody'} became alone")
    for name in measured.beliefs:
        alone = [summary.best_guess(one.alone, name).after for one in all_of_them.releases if one.alone is not None]
        best = (
            f"{percent(summary.best_guess(measured, name).after)}, of one release alone at most {percent(max(alone))}"
        )
        parts.append(f"the best guess at somebody's {name} is right at most {best}")
    bound = (
        ""
        if all_of_them.settings["upper_bound"]
        else "; no upper bound, for some people's classes are not known for certain"
    )
    names = f"all {len(all_of_them.releases)} releases together"
    return names, f"{'; '.join(parts)}{bound}. `divulge compose` tells more."


def sentences(found: comparing.TableComparison) -> Iterator[tuple[str, str]]:
    """Each other one by its name, and the answer about it; at last all of them together."""
    yield from _sentences(found)
    if (told := together(found)) is not None:
        yield told


def _sentences(found: comparing.TableComparison) -> Iterator[tuple[str, str]]:
    for other in found.others:
        if other.refused is not None:
            yield other.name, f"nothing keeps this policy: {other.refused}."
            continue
        parts = []
        if other.numbers:
            told = _changes(found, other)
            parts.append(
                f"of {sum(told.values())} risks {told['better']} are better, {told['worse']} worse, {told['same']} the same"
            )
        if other.levels is not None:
            levels = ", ".join(f"{name} {text}" for name, text in other.levels.texts().items())
            parts.append(f"anatomized, its groups reach {levels}")
        if other.verdict is not None:
            broken = sum(not outcome.holds for outcome in other.verdict.outcomes)
            parts.append(
                f"{broken} of {len(other.verdict.outcomes)} promises are broken" if broken else "every promise is kept"
            )
        parts += [_moved(move, other) for move in _leading(other)]
        parts += list(_caught(found, other))
        parts += ["nobody can be followed there"] if other.unmatched else []
        yield other.name, f"{'; '.join(parts)}."


def _caught(found: comparing.TableComparison, other: comparing.ComparedTable) -> Iterator[str]:
    """How often the first attack on a row, and on each value, is right, beside the reference."""
    here, there = (_rates(each) for each in (found.reference, other))
    for (name, about), rate in there.items():
        if name in ("prosecutor", "inference") and (name, about) in here:
            what = "the right row" if about is None else str(about)
            yield f"{name} gets {what} for {percent(rate.value)} instead of {percent(here[name, about].value)}"


def _rates(each: comparing.ComparedTable) -> dict[tuple[str, str | None], Any]:
    """The rate of each attack on each thing."""
    return {} if each.attacked is None else {(one.name, one.about): one.rate for one in each.attacked.attempts}


def _attacked_rows(found: comparing.TableComparison) -> tuple[list[str], list[tuple[str, ...]]]:
    """A row for each attack on each thing, with the rate and its interval in each table; broken bounds are marked."""
    tried = [each for each in found if each.attacked is not None]
    broken = {
        (each.name, one.name, one.about)
        for each in tried
        for one in (() if each.attacked is None else each.attacked.broken)
    }
    rows = []
    for name, about in dict.fromkeys(key for each in tried for key in _rates(each)):
        cells = []
        for each in tried:
            rate = _rates(each).get((name, about))
            mark = ", bound broken" if (each.name, name, about) in broken else ""
            cells.append("-" if rate is None else f"{attack.interval_text(rate)}{mark}")
        rows.append((name, about or "row", *cells))
    return ["attack", "about", *(each.name for each in tried)], rows


def _moved(move: comparing.PeopleMoved, other: comparing.ComparedTable) -> str:
    about = f" of {move.attribute}" if move.attribute else ""
    gone = "are left out" if other.matched_by == "mapping" else "have no class of the same values"
    more = f", and {percent(move.not_found / move.people)} {gone}" if move.not_found else ""
    better, worse = (percent(count / move.people) for count in (move.better, move.worse))
    return f"by the {move.metric.name}{about} of their class {better} of {people(move.people)} are better off, {worse} worse{more}"


@results.text_of.register(comparing.TableComparison)
def comparison_text(found: comparing.TableComparison, *, written: Sequence[Any] = ()) -> RenderableType:
    """The answer first, then every metric side by side, what is left, and the classes that changed most."""
    parts: list[RenderableType] = [Text(_first(found)), *(bullet(f"{name}: {told}") for name, told in sentences(found))]
    for attribute in _attributes(found):
        parts += [heading(_title(attribute)), _metrics(found, attribute)]
    if any(each.utility is not None for each in found):
        parts += [heading(f"What is left of {found.original}"), _left(found)]
    head, rows = _attacked_rows(found)
    if rows:
        table = grid(*head, right=range(2, len(head)))
        for row in rows:
            table.add_row(*row)
        parts += [heading("What attacks achieve"), table]
    changed = [line for other in found.others for line in _changed(other)]
    parts += [heading("Classes that changed most"), *map(bullet, changed)] if changed else []
    parts += [Text(""), *(bullet(noted(note)) for note in found.notes)] if found.notes else []
    return Group(*parts, *written_text(tuple(written)))


def _title(attribute: str | None) -> str:
    return "Whose record is it?" if attribute is None else f"What is learnt about {attribute}"


def _measured(found: comparing.TableComparison) -> list[comparing.ComparedTable]:
    return [other for other in found.others if other.measurement is not None]


def _metrics(found: comparing.TableComparison, attribute: str | None) -> RenderableType:
    others = _measured(found)
    head = [found.reference.name, *(name for other in others for name in (other.name, "change"))]
    table = grid("metric", *head, right=[place for place in range(1, len(head) + 1) if place == 1 or place % 2 == 0])
    for name, cells in _rows(found, attribute):
        table.add_row(name, *cells)
    return table


def _rows(found: comparing.TableComparison, attribute: str | None) -> Iterator[tuple[str, list[str]]]:
    for (about, name), against in found.reference.numbers.items():
        if about != attribute:
            continue
        cells = [number(against.number)]
        for other in _measured(found):
            score = other.numbers.get((about, name))
            cells += (
                ["-", ""] if score is None else [number(score.number), _change(found.difference(other, about, name))]
            )
        yield name, cells


def _change(difference: comparing.Difference | None) -> str:
    if difference is None:
        return "not comparable"
    if difference.change == "same":
        return "same"
    return f"{_signed(difference.value)} {difference.change or ''}".strip()


def _signed(difference: float) -> str:
    return f"{'+' if difference > 0 else '-'}{number(abs(difference))}"


def _left(found: comparing.TableComparison) -> RenderableType:
    told = _left_rows(found)
    names = [each.name for each in found if each.utility is not None]
    table = grid("what", *names, right=range(1, len(names) + 1))
    for what, cells in told:
        table.add_row(what, *cells)
    return table


def _left_rows(found: comparing.TableComparison) -> list[tuple[str, list[str]]]:
    summaries = [each.utility.summary for each in found if each.utility is not None]
    names = dict.fromkeys(name for told in summaries for name in told)
    return [
        (_in_words(name), [_left_cell(name, told[name]) if name in told else "-" for told in summaries])
        for name in names
    ]


def _in_words(name: str) -> str:
    what, _, about = name.partition(".")
    told = _LEFT.get(what, what.replace("_", " "))
    return f"{told} about {about}" if about else told


def _left_cell(name: str, value: float) -> str:
    return percent(value) if name.partition(".")[0] in _SHARES else number(value)


def _changed(other: comparing.ComparedTable) -> Iterator[str]:
    for move in _leading(other):
        about = f" of {move.attribute}" if move.attribute else ""
        told = [
            ("worse" if (each.after > each.before) == (move.metric.worse == "high") else "better", each)
            for each in move.classes
        ]
        first = next((at for at, (word, _) in enumerate(told) if word == "better"), len(told))
        for word, each in told[: first + 1]:  # those that got worse, and one that got better
            became = "" if dict(each.key) == dict(each.becomes) else f", now {class_name(each.becomes)}"
            yield (
                f"{other.name}, {move.metric.name}{about} {word}: {class_name(each.key)}{became} ({people(each.people)}), "
                f"{number(each.before)} before, {number(each.after)} now"
            )


# --- JSON and one table -----------------------------------------------------------------------------------------------
@results.document_of.register(comparing.TableComparison)
def comparison_document(found: comparing.TableComparison, *, written: Sequence[Any] = ()) -> dict[str, Any]:
    """What `divulge compare --json` prints."""
    return {
        "reference": found.reference.name,
        "original": found.original,
        "compared": [_document(found, each) for each in found],
        "together": _all_of_them(found),
        "notes": list(found.notes),
        "settings": dict(found.settings),
        "written": [str(path) for path in written],
    }


def _all_of_them(found: comparing.TableComparison) -> dict[str, Any] | None:
    """Their numbers together; `divulge compose --json` has those of each alone, and more."""
    all_of_them = found.together
    if all_of_them is None or all_of_them.together is None or (measured := all_of_them.measurement) is None:
        return None
    told, identity = all_of_them.together, measured.identity.items()
    return {
        "releases": [one.name for one in all_of_them.releases],
        "people": told.people,
        "alone": told.alone,
        "became_alone": told.became_alone,
        "identity": {name: score.number for name, score in identity},
        "sensitive": {
            attribute: {name: score.number for name, score in scores.items()}
            for attribute, scores in measured.sensitive.items()
        },
        "upper_bound": all_of_them.settings["upper_bound"],
    }


def _document(found: comparing.TableComparison, each: comparing.ComparedTable) -> dict[str, Any]:
    measured = each.measurement
    is_other = each is not found.reference

    def difference(key: tuple[str | None, str], _: metrics.Score) -> float | None:
        told = found.difference(each, *key)
        return None if told is None else told.value

    def change(key: tuple[str | None, str], _: metrics.Score) -> str | None:
        told = found.difference(each, *key)
        return None if told is None else told.change

    return {
        "name": each.name,
        "kind": each.kind,
        "source": each.source,
        "refused": each.refused,
        "rows": None if measured is None else measured.rows,
        "people": None if measured is None else measured.people,
        "classes": None if measured is None else measured.class_count,
        **_by_attribute(each, lambda _, score: score.number),
        "difference": _by_attribute(each, difference) if is_other else None,
        "change": _by_attribute(each, change) if is_other else None,
        "levels": None if each.levels is None else {at: float(getattr(each.levels, at)) for at in each.levels.texts()},
        "broken": None if each.verdict is None else [it.text for it in each.verdict.outcomes if not it.holds],
        "utility": None if each.utility is None else each.utility.summary,
        "attacks": attack.in_brief(each.attacked),
        "matched_by": each.matched_by,
        "unmatched": each.unmatched,
        "moved": [_move(move) for move in each.moved],
    }


def _by_attribute(
    each: comparing.ComparedTable, told: Callable[[tuple[str | None, str], metrics.Score], Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {"identity": {}, "sensitive": {}}
    for (attribute, name), score in each.numbers.items():
        place = found["identity"] if attribute is None else found["sensitive"].setdefault(attribute, {})
        place[name] = told((attribute, name), score)
    return found


def _move(move: comparing.PeopleMoved) -> dict[str, Any]:
    return {
        "metric": move.metric.name,
        "attribute": move.attribute,
        "better": move.better,
        "worse": move.worse,
        "same": move.same,
        "not_found": move.not_found,
        "classes": [
            {"class": dict(each.key), "becomes": dict(each.becomes), "people": each.people, "before": each.before, "after": each.after}
            for each in move.classes
        ],
    }  # fmt: skip


@results.rows_of.register(comparing.TableComparison)
def comparison_rows(found: comparing.TableComparison) -> results.Rows:
    """A row for each number of each table: metrics, levels of groups, what is left, and what attacks achieve."""
    rows: list[tuple[Any, ...]] = []
    for each in found:
        for (attribute, name), score in each.numbers.items():
            told = found.difference(each, attribute, name)
            difference, change = (None, None) if told is None else (told.value, told.change)
            rows.append((each.name, "metric", attribute, name, float(score.value), difference, change))
        levels = (
            {} if each.levels is None else {name: float(getattr(each.levels, name)) for name in each.levels.texts()}
        )
        rows += [(each.name, "level", None, name, level, None, None) for name, level in levels.items()]
        for name, value in {} if each.utility is None else each.utility.summary.items():
            what, _, about = name.partition(".")
            rows.append((each.name, "utility", about or None, what, float(value), None, None))
        rows += list(_attack_rows(found, each))
    return ("table", "kind", "attribute", "name", "value", "difference", "change"), rows


def _attack_rows(found: comparing.TableComparison, each: comparing.ComparedTable) -> Iterator[tuple[Any, ...]]:
    """Rates; better or worse only where the intervals have nothing in common."""
    first = _rates(found.reference)
    for (name, about), rate in _rates(each).items():
        against = None if each is found.reference else first.get((name, about))
        difference = None if against is None else rate.value - against.value
        change = None
        if against is not None and (rate.low > against.high or rate.high < against.low):
            change = "worse" if rate.low > against.high else "better"
        yield each.name, "attack", about, name, rate.value, difference, change


# --- a page -----------------------------------------------------------------------------------------------------------
def answer(found: comparing.TableComparison) -> Html:
    """What is compared, in one sentence."""
    return html.escape(_first(found))


def sections(found: comparing.TableComparison, drawn: Html | None) -> Html:
    """The picture, every number side by side, what is left, and the classes that changed most."""
    others = _measured(found)
    head = ["metric", found.reference.name, *(name for other in others for name in (other.name, "change"))]
    told = [joined((el("b", html.value(name)), ": ", text)) for name, text in sentences(found)]
    parts: list[Any] = [html.bullets(*told), el("div", drawn, class_="card") if drawn else None]
    for attribute in _attributes(found):
        rows = [(name, *cells) for name, cells in _rows(found, attribute)]
        parts += [el("h3", _title(attribute)), el("div", html.table(head, rows), class_="card")]
    if any(each.utility is not None for each in found):
        names = ["what", *(each.name for each in found if each.utility is not None)]
        left = html.table(names, [(what, *cells) for what, cells in _left_rows(found)])
        parts += [el("h3", "What is left of ", html.value(found.original)), el("div", left, class_="card")]
    tried, rates = _attacked_rows(found)
    parts += [el("h3", "What attacks achieve"), el("div", html.table(tried, rates), class_="card")] if rates else []
    changed = [line for other in found.others for line in _changed(other)]
    parts += [el("h3", "Classes that changed most"), html.bullets(*changed)] if changed else []
    parts += [html.bullets(*(noted(note) for note in found.notes))] if found.notes else []
    return joined(parts)


@results.html_of.register(comparing.TableComparison)
def comparison_html(found: comparing.TableComparison, **_: Any) -> str:
    """For notebooks."""
    return summary.notebook(el("p", answer(found), class_="verdict"), sections(found, summary.main_picture(found)))
