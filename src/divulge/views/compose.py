# SPDX-License-Identifier: Apache-2.0
"""What several releases tell together: in words, as a JSON document, as one table, and on a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import composition, results, values
from divulge.api.anatomized import AnatomizedRelease
from divulge.api.check import ReleaseCheck
from divulge.metrics import Measurement
from divulge.views import html, summary
from divulge.views.html import Html, el, joined
from divulge.views.words import bullet, grid, heading, metric_words, noted, number, people, written_text


# --- what a release was judged together with --------------------------------------------------------------------------
def beside_section(released: Sequence[Mapping[str, Any]], found: Any) -> Iterator[tuple[str, Html]]:
    """Which releases were out already when one was made, and how its people were found in them; for its publisher."""
    if not released:
        return
    measured = getattr(found, "after", None) or getattr(found, "measurement", None) or found
    told = (
        "The promises above are about joint classes: people who are in the same class of this release and of each of these."
        if "released" in getattr(measured, "settings", {})
        else "When it was published its promises were held in joint classes, with those of these releases. The numbers on this page are "
        "those of the release alone."
    )
    head = ("release", "kind", "classes", "people of the table in it", "found by", "made of")
    rows = [(item["release"], item["kind"], f"{item['classes']:,}", f"{item['people']:,}", item["found_by"]["how"],
             item["made_of"]) for item in released]  # fmt: skip
    notes = (
        found.notes if isinstance(found, AnatomizedRelease | ReleaseCheck) else ()
    )  # others tell theirs with their numbers
    listed = html.bullets(*(noted(note) for note in notes)) if notes else ""
    card = el("div", html.table(head, rows), class_="card")
    yield "Beside what is out already", joined((el("p", told), card, listed))


# --- the answer -------------------------------------------------------------------------------------------------------
def first(found: composition.Composition) -> str:
    """What matters most, in one sentence."""
    several, told = len(found.releases), found.together
    if told is None:
        worst = max(found.derived, key=lambda item: item.below)
        return (
            f"{several} releases, without the truth, if they are about the same {people(worst.people)}: {_sharing(worst.below)} "
            f"classes with fewer than {worst.smallest}, which no release does alone."
        )
    if not told.below:
        return (
            f"{several} releases together: everybody of {people(told.people)} shares all classes with at least {told.smallest}, "
            "as in each of them alone."
        )
    return (
        f"{several} releases together: {told.below:,} of {people(told.people)} share all their classes with fewer than {told.smallest}, "
        f"which no release does alone; {_became(found)}."
    )


def _became(found: composition.Composition) -> str:
    told = found.together
    if told is None or not told.became_alone:
        return "nobody became alone"
    return f"{people(told.became_alone)} became alone"


def sentences(found: composition.Composition) -> Iterator[str]:
    """What follows: who became alone, m-invariance, what can be derived."""
    if found.together is not None:
        for one in found.together.named:
            classes = "; ".join(
                f"{name}: {'not there' if key is None else values.class_name(key)}"
                for name, key in one["classes"].items()
            )
            yield f"alone: {one.get('person', 'somebody')} ({classes})"
    for item in found.invariance:
        yield _invariant(item)
    for pair in found.derived:
        yield _derived(pair)


def _invariant(item: Any) -> str:
    if item.m:
        return f"{item.attribute}: {item.m}-invariant; whoever holds the releases alone has {item.m} values left for each person"
    why = []
    if not min(item.unique):
        why.append("some class has a value twice, so it is not m-unique for any m")
    if item.changed:
        why.append(
            f"the values of the class changed between releases for {item.changed:,} of {people(item.followed)} who are in several, "
            "and whoever intersects them has fewer left"
        )
    return f"{item.attribute}: not m-invariant: {'; '.join(why)} (fewest distinct values: {', '.join(map(str, item.distinct))})"


def _derived(pair: Any) -> str:
    about = f"; one value of {pair.attribute} is left for {_between(pair.one_value)}" if pair.attribute else ""
    certain = f"{pair.certain:,} surely do" if pair.certain else "none surely does"
    return (
        f"{pair.first} and {pair.second}: of {pair.possible:,} pairs of classes that may share people {certain}; "
        f"{_sharing(pair.below)} with fewer than {pair.smallest}{about}"
    )


def _sharing(bounds: tuple[int, int]) -> str:
    return f"{_between(bounds)} {'shares' if bounds in ((0, 0), (1, 1)) else 'share'} both"


def _between(bounds: tuple[int, int]) -> str:
    """How many people, from both sides."""
    low, high = bounds
    if low == high:
        return people(high) if high else "nobody"
    return f"at least {low:,} and at most {people(high)}" if low else f"nobody for certain and at most {people(high)}"


# --- words ------------------------------------------------------------------------------------------------------------
@results.text_of.register(composition.Composition)
def composition_text(found: composition.Composition, *, written: Sequence[Any] = ()) -> RenderableType:
    """The answer first, then the releases, every metric alone and together, and what each release adds."""
    parts: list[RenderableType] = [Text(first(found)), *map(bullet, sentences(found))]
    listed = grid(*_releases(found)[0], right=(2, 3))
    for release, kind, rows_, classes, how in _releases(found)[1]:
        listed.add_row(release, kind, f"{rows_:,}", f"{classes:,}", how)
    parts += [heading("The releases"), listed]
    for attribute in _attributes(found):
        title = "Whose record is it?" if attribute is None else f"What is learnt about {attribute}"
        head, rows = numbers(found, attribute)
        table = grid(*head, right=range(1, len(head)))
        for name, *cells in rows:
            table.add_row(name, *("-" if cell is None else number(cell) for cell in cells))
        parts += [heading(title), table]
    if lines := list(_added(found)):
        parts += [heading("What each release adds to those before it"), *map(bullet, lines)]
    parts += [Text(""), *(bullet(noted(note)) for note in found.notes)] if found.notes else []
    return Group(*parts, *written_text(tuple(written)))


def _releases(found: composition.Composition) -> tuple[tuple[str, ...], list[tuple[str, str, int, int, str]]]:
    """What each release is."""
    return ("release", "kind", "rows", "classes", "people found by"), [
        (f"{at} {one.name}", one.kind, one.people, one.classes, "-" if one.found is None else one.found.how)
        for at, one in enumerate(found.releases, start=1)
    ]


def _attributes(found: composition.Composition) -> list[str | None]:
    last = found.measurement
    return [] if last is None else [None, *last.sensitive]


def _scores(measured: Measurement | None, attribute: str | None) -> dict[str, Any]:
    if measured is None:
        return {}
    return dict(measured.identity if attribute is None else measured.sensitive.get(attribute, {}))


def numbers(found: composition.Composition, attribute: str | None) -> tuple[list[str], list[list[Any]]]:
    """Every metric: of each release alone, and of all together; None where one has it not."""
    columns = [_scores(one.alone, attribute) for one in found.releases] + [_scores(found.measurement, attribute)]
    head = ["metric", *(f"{at} alone" for at in range(1, len(found.releases) + 1)), "together"]
    rows = [[name, *(scores[name].number if name in scores else None for scores in columns)] for name in columns[-1]]
    return head, rows


def _added(found: composition.Composition) -> Iterator[str]:
    for before, one in zip(found.releases, found.releases[1:], strict=False):
        for attribute in _attributes(found):
            told = [
                f"{score.metric.name} {number(_scores(before.so_far, attribute)[name].number)} to {number(score.number)}"
                for name, score in _scores(one.so_far, attribute).items()
                if (score.metric.leads or score.metric.common) and name in _scores(before.so_far, attribute)
            ]
            bits = "" if attribute is None else f"{_bits(before, one, attribute):+.4g} bits; "
            yield f"{one.name}{'' if attribute is None else f', about {attribute}'}: {bits}{', '.join(told)}"


def _bits(before: composition.OneRelease, one: composition.OneRelease, attribute: str) -> float:
    """What the classes tell of an attribute on average, more than those before."""
    if before.so_far is None or one.so_far is None:
        return math.nan
    return one.so_far.information_about(attribute)[0] - before.so_far.information_about(attribute)[0]


# --- JSON and one table -----------------------------------------------------------------------------------------------
@results.document_of.register(composition.Composition)
def composition_document(found: composition.Composition, *, written: Sequence[Any] = ()) -> dict[str, Any]:
    """What `divulge compose --json` prints."""
    before: list[composition.OneRelease | None] = [None, *found.releases[:-1]]
    return {
        "releases": [_one(one, earlier) for earlier, one in zip(before, found.releases, strict=True)],
        "together": results.plain(found.together),
        "invariance": [{**results.plain(item), "m": item.m} for item in found.invariance],
        "derived": [results.plain(item) for item in found.derived],
        "notes": list(found.notes),
        "settings": dict(found.settings),
        "written": [str(path) for path in written],
    }


def _one(one: composition.OneRelease, before: composition.OneRelease | None) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "people": one.people,
        "classes": one.classes,
        "found": results.plain(one.found),
        "alone": _numbers(one.alone),
        "so_far": _numbers(one.so_far),
        "adds": None if before is None or one.so_far is None else _adds(before, one),
    }


def _numbers(measured: Measurement | None) -> dict[str, Any] | None:
    if measured is None:
        return None
    return {
        "people": measured.people,
        "classes": measured.class_count,
        "identity": {name: score.number for name, score in measured.identity.items()},
        "sensitive": {
            attribute: {name: score.number for name, score in scores.items()}
            for attribute, scores in measured.sensitive.items()
        },
    }


def _adds(before: composition.OneRelease, one: composition.OneRelease) -> dict[str, Any]:
    def differences(attribute: str | None) -> dict[str, float | None]:
        earlier = _scores(before.so_far, attribute)
        told = {
            name: float(score.value) - float(earlier[name].value)
            for name, score in _scores(one.so_far, attribute).items()
            if name in earlier
        }
        return {name: value if math.isfinite(value) else None for name, value in told.items()}

    names = [] if one.so_far is None else list(one.so_far.sensitive)
    return {
        "bits": {name: _bits(before, one, name) for name in names},
        "identity": differences(None),
        "sensitive": {name: differences(name) for name in names},
    }


@results.rows_of.register(composition.Composition)
def composition_rows(found: composition.Composition) -> results.Rows:
    """A row for each number of each release, alone and with those before it; without the truth, one for each two releases."""
    if found.together is None:
        head = ("first", "second", "attribute", "possible", "certain", "smallest", "at_least_below", "at_most_below")
        return head, [
            (pair.first, pair.second, pair.attribute, pair.possible, pair.certain, pair.smallest, *pair.below)
            for pair in found.derived
        ]
    rows = [
        (one.name, what, attribute, name, float(score.value))
        for one in found.releases
        for what, measured in (("alone", one.alone), ("so far", one.so_far))
        for attribute in _attributes(found)
        for name, score in _scores(measured, attribute).items()
    ]
    return ("release", "told", "attribute", "name", "value"), rows


# --- a page -----------------------------------------------------------------------------------------------------------
def answer(found: composition.Composition) -> Html:
    """The answer, in one sentence."""
    return html.escape(first(found))


def sections(found: composition.Composition, drawn: Html | None) -> Html:
    """The picture, who became alone, every number alone and together, what each release adds."""
    head, rows = _releases(found)
    parts: list[Any] = [html.bullets(*sentences(found)), el("div", html.table(head, rows), class_="card")]
    parts += [el("div", drawn, class_="card")] if drawn else []
    for attribute in _attributes(found):
        names, table = numbers(found, attribute)
        title = "Whose record is it?" if attribute is None else f"What is learnt about {attribute}"
        shown = [(metric_words(name), *cells) for name, *cells in table]
        parts += [el("h3", title), el("div", html.table(names, shown), class_="card")]
    if lines := list(_added(found)):
        parts += [el("h3", "What each release adds to those before it"), html.bullets(*lines)]
    parts += [html.bullets(*(noted(note) for note in found.notes))] if found.notes else []
    return joined(parts)


@results.html_of.register(composition.Composition)
def composition_html(found: composition.Composition, **_: Any) -> str:
    """For notebooks."""
    drawn = summary.main_picture(found) if found.together is not None else None
    return summary.notebook(el("p", answer(found), class_="verdict"), sections(found, drawn))


# --- one person -------------------------------------------------------------------------------------------------------
@results.text_of.register(composition.PersonTold)
def person_text(found: composition.PersonTold, **_: Any) -> RenderableType:
    """Her leakage after each release, and what is believed of her."""
    last = found.steps[-1]
    table = grid("release", "her class", "people in it", "leakage alone", "leakage so far", right=(2, 3, 4))
    for step in found.steps:
        alone = "-" if step.alone is None else number(step.alone)
        table.add_row(
            step.release,
            values.class_name(step.key) if step.key else "not there",
            f"{step.people:,}",
            alone,
            number(step.so_far),
        )
    believed = [
        f"{a.label}={a.value}: {c:.3g}" for a, c in sorted(last.record.attributes.items(), key=lambda it: -it[1])
    ]
    return Group(
        Text(
            f"{found.person}: leakage {number(last.so_far)} after {len(found.steps)} releases; {last.together:,} share all her classes."
        ),
        table,
        heading("What is believed of her then"),
        *map(bullet, believed),
        Text(""),
        *(bullet(noted(note)) for note in found.notes),
    )


@results.document_of.register(composition.PersonTold)
def person_document(found: composition.PersonTold, **_: Any) -> dict[str, Any]:
    """What `divulge compose --who --json` prints."""
    return {
        "person": found.person,
        "reference": {a.label: a.value for a in found.reference.attributes},
        "steps": [
            {
                "release": step.release,
                "class": step.key,
                "people": step.people,
                "together": step.together,
                "leakage_alone": step.alone,
                "leakage_so_far": step.so_far,
                "record": [[a.label, a.value, c] for a, c in step.record.attributes.items()],
            }
            for step in found.steps
        ],
        "notes": list(found.notes),
        "settings": dict(found.settings),
    }


@results.rows_of.register(composition.PersonTold)
def person_rows(found: composition.PersonTold, **_: Any) -> results.Rows:
    """A row for each release."""
    head = ("release", "people", "together", "leakage_alone", "leakage_so_far")
    return head, [(step.release, step.people, step.together, step.alone, step.so_far) for step in found.steps]
