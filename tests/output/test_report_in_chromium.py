# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: no script of a table runs, no content is lost, it is accessible.

Pages fit a phone and paper.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.text import visible
from tests.output import browser as driver
from tests.output.test_html import EVIL

pytestmark = driver.NEEDED
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def page_of_evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of a table whose names and values all look like markup or scripts.

    It has 14 classes, each with one certain value.
    """
    values = [*EVIL, *EVIL]
    people = pa.table(
        {
            EVIL[0]: values,
            EVIL[1]: ["x"] * len(values),
            EVIL[4]: values,
            EVIL[2]: [*EVIL[1:], *EVIL, EVIL[0]],
        }
    )
    roles: dict[str, Any] = {
        "quasi_identifiers": [EVIL[0], EVIL[1]],
        "sensitive": EVIL[4],
        "plain": EVIL[2],
    }
    release = dv.generalize(
        people,
        policy={"k_anonymity": 2},
        hierarchies={EVIL[0]: {"suppress": True}, EVIL[1]: {"suppress": True}},
        **roles,
    )
    folder = tmp_path_factory.mktemp("evil")
    dv.report(release, title=EVIL[0]).save(folder / "release.html")
    measured = dv.measure(people, quasi_identifiers=EVIL[1], sensitive=EVIL[4])
    dv.report(measured.of_class(**{EVIL[1]: "x"})).save(folder / "class.html")
    return dv.report(
        dv.check(people, {"k_anonymity": 2, "l_diversity": 2}, **roles), title=EVIL[4]
    ).save(folder / "report.html")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of synthetic patients, with every kind of section that a table has."""
    folder = tmp_path_factory.mktemp("patients")
    table = dv.datasets.generalized(dv.datasets.patients(rows=1000, seed=3))
    policy = {"k_anonymity": 5, "l_diversity": 2, "entropy_leakage": 1.5}
    made = dv.report(
        table,
        policy,
        quasi_identifiers=["zip", "age", "sex"],
        sensitive="diagnosis",
        title="Patients",
    )
    return made.save(folder / "report.html")


def test_a_table_full_of_markup_runs_nothing_and_loses_nothing(
    browser: Any, page_of_evil: Path
) -> None:
    for path in (page_of_evil, page_of_evil.with_name("release.html")):
        watched = driver.opened(browser, path)
        assert watched.drawn() >= 1
        # Hover over every mark: text of a tooltip comes from the table too.
        for mark in watched.page.query_selector_all(
            "figure.live .drawn svg path[aria-label], figure.live .drawn svg .mark-symbol path"
        )[:20]:
            mark.dispatch_event("pointermove")
            mark.dispatch_event("mouseover")
        assert watched.events == []
        assert (
            watched.page.evaluate(
                "document.querySelectorAll('main script:not([type]), main iframe, main a, main "
                "[onerror]').length"
            )
            == 0
        )
    page_text = driver.opened(browser, page_of_evil.with_name("class.html")).page.inner_text("main")
    assert [text for text in EVIL if visible(text) not in page_text] == []
    assert not {"\u202e", "\x00", "\u00ad"} & set(page_text)


def test_pages_are_accessible(browser: Any, page: Path, page_of_evil: Path) -> None:
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    for path in (page, page_of_evil):
        watched = driver.opened(browser, path)
        watched.drawn()
        # The page forbids every script but its own, so the test runs axe through the inspector.
        session = watched.page.context.new_cdp_session(watched.page)
        session.send("Runtime.evaluate", {"expression": axe})
        call = {
            "expression": "axe.run().then((r) => JSON.stringify(r.violations))",
            "awaitPromise": True,
            "returnByValue": True,
        }
        violations = json.loads(session.send("Runtime.evaluate", call)["result"]["value"])
        assert [
            (violation["id"], violation["nodes"][0]["html"][:200])
            for violation in violations
            if violation["impact"] in SERIOUS
        ] == []


def test_it_fits_a_phone(browser: Any, page: Path, page_of_evil: Path) -> None:
    for path in (page, page_of_evil):
        watched = driver.opened(browser, path, "phone")
        watched.drawn()
        assert (
            watched.page.evaluate("document.documentElement.scrollWidth")
            == driver.SIZES["phone"][0]
        )
        assert watched.events == []


def test_it_prints_and_shows_its_pictures_without_scripts(browser: Any, page: Path) -> None:
    watched = driver.opened(browser, page, scripts=False)
    assert watched.page.locator("figure.live img").count() >= 3
    assert (
        all(
            image.evaluate("image => image.naturalWidth") > 100
            for image in watched.page.query_selector_all("figure.live img")
        )
        is True
    )
    assert watched.page.pdf(format="A4").startswith(b"%PDF")
    assert watched.events == []
