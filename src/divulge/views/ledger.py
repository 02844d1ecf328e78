# SPDX-License-Identifier: Apache-2.0
"""A ledger: what is out, who holds it, and one release of it; in words, as a document and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import ledger, results
from divulge.views.words import bullet, grid, heading, rows

_STATES = {
    "published": "It is out.",
    "retracted": "It was called back. What is out stays known: later releases are judged against it as before.",
    "expired": "Its time is over. What is out stays known: later releases are judged against it as before.",
    "unclear": "A process died while it published, and what was left has been tidied up since: it is judged as if it were out. "
    "If it never was, forget it.",
}


def entry_row(entry: ledger.Entry) -> dict[str, Any]:
    """What the ledger says of a release."""
    found: dict[str, Any] = results.plain(entry)
    return {name: value for name, value in found.items() if name != "settings"}


@results.text_of.register(ledger.Holdings)
def holdings_text(found: ledger.Holdings) -> RenderableType:
    """How many there are, and a line for each."""
    asked = found.settings["recipients"]
    what = "release is" if len(found) == 1 else "releases are"
    whose = f"held by {' and '.join(asked)}, alone or with everybody" if asked else "out"
    told = Text(f"{found.settings['ledger']}: {len(found) or 'no'} {what} {whose}")
    if not found.items:
        return told
    table = grid(
        "number",
        "published",
        "dataset",
        "recipient",
        "kind",
        "rows",
        "version",
        "state",
        "place",
        right=[0, 5, 6],
        prose=1,
    )
    for entry in found:
        version = "" if entry.version is None else str(entry.version)
        about = (entry.dataset, entry.recipient, entry.kind, f"{entry.rows:,}", version, entry.state)
        table.add_row(str(entry.number), entry.at[:10], *about, str(entry.place))
    legend = "Releases of a dataset with the same version were made from a table with the same rows."
    return Group(told, table, Text(legend, style="dim"))


@results.document_of.register(ledger.Holdings)
def holdings_document(found: ledger.Holdings) -> dict[str, Any]:
    """What `divulge ledger list --json` prints."""
    return {"releases": [entry_row(entry) for entry in found], "settings": dict(found.settings)}


@results.rows_of.register(ledger.Holdings)
def holdings_rows(found: ledger.Holdings) -> results.Rows:
    """A row for each release."""
    names = "number dataset recipient state at expires retracted kind rows version place".split()
    return names, [[entry_row(entry)[name] for name in names] for entry in found]


@results.text_of.register(ledger.Entry)
def entry_text(entry: ledger.Entry, *, forgotten: bool | None = None) -> RenderableType:
    """One release: what, when, to whom, and what it promises; `forgotten`: whether it is gone now, or would be."""
    told = f"release {entry.number} of {entry.dataset}: {entry.kind}, {rows(entry.rows)}, for {entry.recipient}"
    if forgotten is not None:
        gone = "is forgotten: nothing is judged against it any more" if forgotten else "would be forgotten"
        return Group(Text(f"{told}, {gone}"), bullet("What was handed out is where it is."))
    document = entry.document
    days = {"published": entry.at, "expires": entry.expires, "retracted": entry.retracted}
    roles = [f"{role.replace('_', ' ')}: {', '.join(names)}" for role, names in _roles(document).items() if names]
    return Group(
        Text(told),
        bullet(_STATES[entry.state]),
        bullet("; ".join(f"{what} {day}" for what, day in days.items() if day)),
        bullet(f"place: {entry.place}"),
        *(bullet(line) for line in roles),
        heading("What it promises"),
        *(bullet(text) for text in _promises(document)),
    )


@results.document_of.register(ledger.Entry)
def entry_document(entry: ledger.Entry, *, forgotten: bool | None = None) -> dict[str, Any]:
    """What `divulge ledger show --json` prints; of a release that is gone, only what the ledger said of it."""
    if forgotten is not None:
        return {**entry_row(entry), "forgotten": forgotten, "settings": dict(entry.settings)}
    told = {"roles": _roles(entry.document), "promises": _promises(entry.document)}
    return {**entry_row(entry), **told, "settings": dict(entry.settings)}


@results.rows_of.register(ledger.Entry)
def entry_rows(entry: ledger.Entry) -> results.Rows:
    """One row."""
    row = entry_row(entry)
    return list(row), [list(row.values())]


def _roles(document: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: list(document["roles"][name]) for name in ("quasi_identifiers", "sensitive")}


def _promises(document: Mapping[str, Any]) -> list[str]:
    """What a release of either kind promises to everybody."""
    if document["kind"] == "anatomized":
        return [f"{name} <= {bound}" for name, bound in document["promises"].items() if bound is not None]
    return [str(item["promise"]) for item in document["policy"]["promises"]]
