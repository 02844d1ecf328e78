# SPDX-License-Identifier: Apache-2.0
"""Views of a ledger: all published releases, their recipients, and one release.

Results are shown as text, as JSON documents and as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from divulge import ledger, results
from divulge.output.formatting import bullet, grid, heading, rows

_STATE_SENTENCES = {
    "published": "It is out.",
    "retracted": "It was called back. What is out stays known: later releases are judged against "
    "it as before.",
    "expired": "Its time is over. What is out stays known: later releases are judged against it "
    "as before.",
    "unclear": "A process died while it published, and what was left has been tidied up since: it "
    "is judged as if it were out. If it never was, forget it.",
}


def entry_row(entry: ledger.Entry) -> dict[str, Any]:
    """Return the fields of a ledger entry, without its settings."""
    document: dict[str, Any] = results.plain(entry)
    return {name: value for name, value in document.items() if name != "settings"}


@results.text_of.register(ledger.Holdings)
def holdings_text(holdings: ledger.Holdings) -> RenderableType:
    """Render the number of releases, and a line for each."""
    recipients = holdings.settings["recipients"]
    if len(holdings) == 1:
        subject = "release is"
    else:
        subject = "releases are"
    if recipients:
        holders = f"held by {' and '.join(recipients)}, alone or with everybody"
    else:
        holders = "out"
    title = Text(f"{holdings.settings['ledger']}: {len(holdings) or 'no'} {subject} {holders}")
    if not holdings.items:
        return title
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
    for entry in holdings:
        if entry.version is None:
            version = ""
        else:
            version = str(entry.version)
        cells = (
            entry.dataset,
            entry.recipient,
            entry.kind,
            f"{entry.rows:,}",
            version,
            entry.state,
        )
        table.add_row(str(entry.number), entry.at[:10], *cells, str(entry.place))
    legend = (
        "Releases of a dataset with the same version were made from a table with the same rows."
    )
    return Group(title, table, Text(legend, style="dim"))


@results.document_of.register(ledger.Holdings)
def holdings_document(holdings: ledger.Holdings) -> dict[str, Any]:
    """Return the document of `divulge ledger list --json`."""
    return {
        "releases": [entry_row(entry) for entry in holdings],
        "settings": dict(holdings.settings),
    }


@results.rows_of.register(ledger.Holdings)
def holdings_rows(holdings: ledger.Holdings) -> results.Rows:
    """Table with one row for each release."""
    names = "number dataset recipient state at expires retracted kind rows version place".split()
    return names, [[entry_row(entry)[name] for name in names] for entry in holdings]


@results.text_of.register(ledger.Entry)
def entry_text(entry: ledger.Entry, *, forgotten: bool | None = None) -> RenderableType:
    """Render one release: kind, dates, recipient, roles and guarantees.

    `forgotten` is True if the entry was removed, and False if it would be.
    """
    title = (
        f"release {entry.number} of {entry.dataset}: {entry.kind}, {rows(entry.rows)}, for "
        f"{entry.recipient}"
    )
    if forgotten is not None:
        if forgotten:
            removal = "is forgotten: nothing is judged against it any more"
        else:
            removal = "would be forgotten"
        return Group(Text(f"{title}, {removal}"), bullet("What was handed out is where it is."))
    document = entry.document
    dates = {"published": entry.at, "expires": entry.expires, "retracted": entry.retracted}
    roles = [
        f"{role.replace('_', ' ')}: {', '.join(names)}"
        for role, names in _roles(document).items()
        if names
    ]
    return Group(
        Text(title),
        bullet(_STATE_SENTENCES[entry.state]),
        bullet("; ".join(f"{event} {date}" for event, date in dates.items() if date)),
        bullet(f"place: {entry.place}"),
        *(bullet(line) for line in roles),
        heading("What it promises"),
        *(bullet(text) for text in _guarantees(document)),
    )


@results.document_of.register(ledger.Entry)
def entry_document(entry: ledger.Entry, *, forgotten: bool | None = None) -> dict[str, Any]:
    """Return the document of `divulge ledger show --json`.

    For a forgotten release it has only the fields of the entry.
    """
    if forgotten is not None:
        return {**entry_row(entry), "forgotten": forgotten, "settings": dict(entry.settings)}
    details = {"roles": _roles(entry.document), "promises": _guarantees(entry.document)}
    return {**entry_row(entry), **details, "settings": dict(entry.settings)}


@results.rows_of.register(ledger.Entry)
def entry_rows(entry: ledger.Entry) -> results.Rows:
    """Table with one row."""
    row = entry_row(entry)
    return list(row), [list(row.values())]


def _roles(document: Mapping[str, Any]) -> dict[str, list[str]]:
    return {name: list(document["roles"][name]) for name in ("quasi_identifiers", "sensitive")}


def _guarantees(document: Mapping[str, Any]) -> list[str]:
    """List the guarantees of a generalized or anatomized release for everyone."""
    if document["kind"] == "anatomized":
        return [
            f"{name} <= {bound}"
            for name, bound in document["promises"].items()
            if bound is not None
        ]
    return [str(item["promise"]) for item in document["policy"]["promises"]]
