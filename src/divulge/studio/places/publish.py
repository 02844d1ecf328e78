# SPDX-License-Identifier: Apache-2.0
"""Publish: the release into a folder, read back and verified, with its reports; and what it does not promise."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import publish
from divulge.api.report import Report
from divulge.errors import BadInput
from divulge.studio.desk import Desk
from divulge.studio.places.place import Html, Place, button, card, choice, el, labelled, needs_table, tick, void
from divulge.studio.places.promises import released
from divulge.studio.work import FILE, POLICY, TABLE, Work
from divulge.views import html, releases, report, summary

_REPORTS = {"internal": "report.html", "public": "public-report.html"}


def _out(desk: Desk, _: str, value: Any) -> Work:
    return replace(desk.work, out=str(value).strip())


def _format(desk: Desk, _: str, value: Any) -> Work:
    return replace(desk.work, format=str(value))


def _force(desk: Desk, _: str, value: Any) -> Work:
    return replace(desk.work, force=bool(value))


def _publish(desk: Desk, *_: Any) -> None:
    """Write, read back, measure again; then the reports and the policy beside it."""
    folder = Path(desk.work.target).expanduser()
    release = released(desk)
    desk.progress("writing the release, reading it back and measuring it again")
    release.write(folder, format=desk.work.format or None, force=desk.work.force)
    beside = folder.parent / f"{folder.name}-papers"
    beside.mkdir(exist_ok=True)
    desk.progress("writing the reports")
    with html.stills(wanted=True):
        made = [dv.report(release, title=desk.work.name).save(beside / _REPORTS["internal"])]
        made.append(dv.report(folder, audience="public").save(beside / _REPORTS["public"]))
    (beside / FILE).write_text(desk.work.text, encoding="utf-8")
    desk.say(papers=str(beside.resolve()))
    desk.put("done", _done(folder, [*made, beside / FILE]))


def _done(folder: Path, papers: list[Path]) -> Html:
    rows = [[el("code", str(path)), told] for path, told in _told_files(folder, papers)]
    return card(
        html.joined((html.chip("ok", "published"), " and verified")),
        el("p", "It was written, read back from the disk, counted and measured again, and keeps every promise."),
        el("p", _link("Open the report for you", "internal"), _link("Open the report to hand out", "public")),
        html.table(("file", "what it is"), rows),
    )


def _link(words: str, audience: str) -> Html:
    return el("a", words, href=f"paper/{_REPORTS[audience]}", target="_blank", rel="noopener", class_="button")


def _told_files(folder: Path, papers: list[Path]) -> Iterator[tuple[Path, Any]]:
    """What is handed out, what stays, and what tells about it."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            private = publish.FOLDER in path.relative_to(folder).parts
            yield path, "stays with you: what each value became" if private else "handed out"
    told = (
        "report for you: shows values of people",
        "report to hand out, made from the published files alone",
        "the policy of this page",
    )
    yield from zip(papers, told, strict=True)


def show(desk: Desk, changed: bool) -> None:  # noqa: FBT001 - as every place
    """What would be published, and the button that does it."""
    if not needs_table(desk):
        return
    work = desk.work
    desk.say(head=f"{work.name} · {desk.rows:,} rows")
    more = (*(("--format", work.format) if work.format else ()), *(("--force",) if work.force else ()))
    as_format = (f", format={work.format!r}" if work.format else "") + (", force=True" if work.force else "")
    desk.same_as(
        work.command("generalize", "--out", work.target, *more, "--report", _REPORTS["internal"]),
        f"release = dv.generalize({TABLE}, policy={POLICY})",
        f"release.write({work.target!r}{as_format})",
        f'dv.report(release).save("{_REPORTS["internal"]}")',
    )
    if changed:
        return
    desk.put("controls", *_controls(work))
    desk.put("view", *(el("div", id=each) for each in ("done", "what")))
    if not (work.policy.promises or work.policy.protections):
        raise BadInput("nothing is promised yet", hint="promise something on the tab Promises first")
    release = released(desk)
    lines = summary.lines_of(release.verdict.outcomes)
    about = Report(work.name, "internal", dt.date.today(), release, alone=release.alone)  # noqa: DTZ011 - it is not shown
    desk.put(
        "what",
        el("h1", "What would be published"),
        el("p", summary.answer(release.after, summary.Lens(public=work.hidden)), summary.kept(lines), class_="verdict"),
        summary.four_tiles(release.after),
        card("What happens to each column", html.bullets(*_columns(release, hidden=work.hidden))),
        card("What it costs", html.bullets(*releases.costs_in_words(release))),
        card("What this does not promise", html.bullets(*report.not_promised(about))),
    )


def _columns(release: Any, *, hidden: bool) -> Iterator[str]:
    """What becomes of each; hidden: without examples."""
    if not hidden:
        return releases.columns_in_words(release)
    return (
        f"{name}: level {level} of {release.hierarchies[name].height}." for name, level in release.plan.levels.items()
    )


def _controls(work: Work) -> Iterator[Html]:
    yield el("h2", "Into a folder")
    field = void("input", type="text", name="out", value=work.target, spellcheck="false", autocomplete="off")
    yield labelled("folder of the release", field, small=f"in {Path.cwd()}")
    formats = (("", "as the table came"), ("csv", "CSV"), ("parquet", "Parquet"), ("arrow", "Arrow"))
    yield labelled("format", choice("format", formats, work.format))
    yield tick("force", "replace a release that is there", on=work.force)
    yield button("publish", "Publish", main=True)
    yield el(
        "p",
        "Beside it, in a folder of its own: the report for you, one to hand out, and the policy file.",
        class_="lead",
    )


PLACE = Place("publish", "Publish", show, {"out": _out, "format": _format, "publish": _publish, "force": _force})
