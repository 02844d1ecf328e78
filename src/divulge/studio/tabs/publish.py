# SPDX-License-Identifier: Apache-2.0
"""The tab Publish: write the release to a folder, verify it, and write its reports.

It also shows the risks that the release does not cover.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import results
from divulge.api.report import Report
from divulge.errors import BadInput
from divulge.options import FORMAT_LABELS
from divulge.output import html, releases, report, summary
from divulge.releases import private_place
from divulge.studio.session_state import FILE, SessionState
from divulge.studio.tabs.promises import planned_release
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    button,
    card,
    checkbox,
    dropdown,
    el,
    labeled_field,
    require_table,
    void_element,
)
from divulge.studio.worker import Worker

_REPORTS = {"internal": "report.html", "public": "public-report.html"}


def _set_folder(worker: Worker, _: str, value: Any) -> SessionState:
    return replace(worker.state, out=str(value).strip())


def _set_format(worker: Worker, _: str, value: Any) -> SessionState:
    return replace(worker.state, format=str(value))


def _set_force(worker: Worker, _: str, value: Any) -> SessionState:
    return replace(worker.state, force=bool(value))


def _publish(worker: Worker, *_: Any) -> None:
    """Write, read back and measure the release; then write its reports and the policy."""
    folder = Path(worker.state.target).expanduser()
    release = planned_release(worker)
    worker.begin_step("writing the release, reading it back and measuring it again")
    worker.clear_outcome("publish", "done")
    worker.announce_release(folder)
    release.write(folder, format=worker.state.format or None, force=worker.state.force)
    reports_folder = folder.parent / f"{folder.name}-papers"
    reports_folder.mkdir(mode=0o700, exist_ok=True)
    reports_folder.chmod(0o700)  # an earlier version made it readable by others
    worker.begin_step("writing the reports")
    with html.stills(enabled=True):
        reports = [
            dv.report(release, title=worker.state.name).save(reports_folder / _REPORTS["internal"])
        ]
        reports.append(
            dv.report(folder, audience="public").save(reports_folder / _REPORTS["public"])
        )
    results.write_file(reports_folder / FILE, worker.state.text.encode(), "policy", private=True)
    worker.send(papers=str(reports_folder.resolve()))
    worker.put_outcome(
        "publish", "done", _published_card(folder, [*reports, reports_folder / FILE])
    )


def _published_card(folder: Path, report_paths: list[Path]) -> Html:
    rows = [
        [el("code", str(path)), purpose] for path, purpose in _file_purposes(folder, report_paths)
    ]
    return card(
        html.joined((html.chip("ok", "published"), " and verified")),
        el(
            "p",
            "It was written, read back from the disk, counted and measured again, and keeps "
            "every promise.",
        ),
        el(
            "p",
            _report_link("Open the report for you", "internal"),
            _report_link("Open the report to hand out", "public"),
        ),
        html.table(("file", "what it is"), rows),
    )


def _report_link(label: str, audience: str) -> Html:
    return el(
        "a",
        label,
        href=f"paper/{_REPORTS[audience]}",
        target="_blank",
        rel="noopener",
        class_="button",
    )


def _file_purposes(folder: Path, report_paths: list[Path]) -> Iterator[tuple[Path, Any]]:
    """Yield each file with its purpose: shared, private, or a report."""
    parts = {folder: "handed out", private_place(folder): "stays with you"}
    for part, purpose in parts.items():
        yield from ((path, purpose) for path in sorted(part.rglob("*")) if path.is_file())
    purposes = (
        "report for you: shows values of people",
        "report to hand out, made from the published files alone",
        "the policy of this page",
    )
    yield from zip(report_paths, purposes, strict=True)


def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the planned release, and the button that publishes it."""
    if not require_table(worker):
        return
    state = worker.state
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    format_flags: dict[str, Any] = {"format_": state.format} if state.format else {}
    call = state.invocation(
        "generalize",
        out=state.target,
        **format_flags,
        force=state.force,
        report=_REPORTS["internal"],
    )
    write_arguments = (f", format={state.format!r}" if state.format else "") + (
        ", force=True" if state.force else ""
    )
    worker.send_equivalents(
        call.as_command(),
        f"release = {call.as_python()}",
        f"release.write({state.target!r}{write_arguments})",
        f'dv.report(release).save("{_REPORTS["internal"]}")',
    )
    if changed:
        return
    worker.put_part("controls", *_controls(state))
    worker.put_part("view", *(el("div", id=element_id) for element_id in ("done", "what")))
    if not (state.policy.promises or state.policy.protections):
        raise BadInput(
            "nothing is promised yet", hint="promise something on the tab Promises first"
        )
    release = planned_release(worker)
    lines = summary.lines_of(release.verdict)
    today = dt.date.today()  # noqa: DTZ011 - it is not shown
    internal_report = Report(state.name, "internal", today, release, uniqueness=release.uniqueness)
    worker.put_part(
        "what",
        el("h1", "What would be published"),
        el(
            "p",
            summary.answer(release.after, summary.DisclosureRule(public=state.hidden)),
            summary.requirements_sentence(lines),
            class_="verdict",
        ),
        summary.unique_people(release.uniqueness, release.after),
        summary.four_tiles(release.after),
        card(
            "What happens to each column",
            html.bullets(*_column_sentences(release, hidden=state.hidden)),
        ),
        card("What it costs", html.bullets(*releases.costs_in_words(release))),
        card("What this does not promise", html.bullets(*report.not_promised(internal_report))),
    )


def _column_sentences(release: Any, *, hidden: bool) -> Iterator[str]:
    """Return a sentence about each column; without examples if values are hidden."""
    if not hidden:
        return releases.columns_in_words(release)
    return (
        f"{name}: level {level} of {release.hierarchies[name].height}."
        for name, level in release.plan.levels.items()
    )


def _controls(state: SessionState) -> Iterator[Html]:
    yield el("h2", "Into a folder")
    field = void_element(
        "input", type="text", name="out", value=state.target, spellcheck="false", autocomplete="off"
    )
    yield labeled_field("folder of the release", field, small=f"in {Path.cwd()}")
    formats = (("", "as the table came"), *FORMAT_LABELS.items())
    yield labeled_field("format", dropdown("format", formats, state.format))
    yield checkbox("force", "replace a release that is there", on=state.force)
    yield button("publish", "Publish", main=True)
    yield el(
        "p",
        "Beside it, in a folder of its own: the report for you, one to hand out, and the policy "
        "file.",
        class_="lead",
    )


TAB = Tab(
    "publish",
    "Publish",
    show,
    {"out": _set_folder, "format": _set_format, "publish": _publish, "force": _set_force},
)
