# SPDX-License-Identifier: Apache-2.0
"""The studio in a real browser: from a table to a verified release by clicks alone, by keyboard alone, twice at once, and cancelled."""

from __future__ import annotations

import json
import shlex
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.studio.places import PLACES, place_named
from tests.helpers import run_cli
from tests.studio.served import Served
from tests.views import browser as driver

pytestmark = driver.NEEDED
LONG = 60_000


class Page:
    """A page of the studio, and everything it should not have done."""

    def __init__(self, context: Any, served: Served) -> None:
        self.page, self.events = context.new_page(), list[str]()
        keep, here = (
            self.events.append,
            (f"http://127.0.0.1:{served.port}/", "data:", f"blob:http://127.0.0.1:{served.port}/"),
        )
        self.page.on("console", lambda message: keep(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: keep(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (keep(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on(
            "request", lambda request: None if request.url.startswith(here) else keep(f"request: {request.url}")
        )
        self.page.set_default_timeout(LONG)
        self.page.goto(f"http://127.0.0.1:{served.port}/")
        self.shown()

    def shown(self, after: int = 0) -> int:
        """Wait until the newest request is answered, and every picture drawn; its number."""
        self.page.wait_for_function("(n) => Number(document.body.dataset.shown ?? 0) > n", arg=after)
        self.page.wait_for_function("() => document.querySelectorAll('figure.live:not(:has(.drawn svg))').length === 0")
        return int(self.page.evaluate("Number(document.body.dataset.shown)"))

    def click(self, selector: str) -> None:
        """Click, and wait for the answer."""
        before = int(self.page.evaluate("Number(document.body.dataset.shown ?? 0)"))
        self.page.click(selector)
        self.shown(before)

    def go(self, place: str) -> None:
        """To another tab."""
        self.page.click(f"nav a[href={place}]")
        self.page.wait_for_url(f"**/{place}")
        self.shown()

    def open(self, name: str, policy: Path | None = None) -> Page:
        """A table of the folder, by a click; and a policy file, as it is dropped."""
        self.click(f"button[name=open][value='{name}']")
        if policy is not None:
            before = int(self.page.evaluate("Number(document.body.dataset.shown)"))
            self.page.set_input_files("input[type=file]", policy)
            self.shown(before)
        return self

    def said(self, kind: str) -> str:
        """What does the same without the page."""
        self.page.click(f"[data-same={kind}]")
        return str(self.page.inner_text("#same"))

    def tabbed(self, there: str) -> bool:
        """Press Tab until the focus is there; each step is seen by who works so."""
        for _ in range(20):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(there):
                return True
        return False

    def trouble(self) -> str:
        """What stands there instead of an answer."""
        return str(self.page.inner_text("#trouble")) if self.page.is_visible("#trouble") else ""


def test_from_a_table_to_a_verified_release_and_its_report(
    context: Any, served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    assert page.page.input_value("select[data-of=age]") == "quasi_identifiers"
    policy = dv.Policy.load(folder / "hospital.toml")
    expected = dv.generalize(folder / "patients.csv", policy=policy)
    page.go("promises")
    assert page.page.inner_text("#answer .tile:nth-child(1) b") == "keeps all 4"
    assert page.page.inner_text("#answer .tile:nth-child(3) b") == f"{expected.plan.suppressed:,}"
    # A point of the front is a promise.
    page.page.click("#front summary")
    told, loss = (float(text) for text in page.page.locator("#front tbody tr:nth-child(3) td").all_inner_texts()[:2])
    page.click("#front tbody tr:nth-child(3) button")
    assert page.trouble() == ""
    assert float(page.page.inner_text("#answer .tile:nth-child(2) b")) <= loss
    bound = float(page.page.input_value("input[type=number][data-of=entropy_leakage]"))
    assert told <= bound <= told + 0.001
    assert f"entropy_leakage = {bound}" in page.said("policy")
    _does_the_same(page, folder, monkeypatch)
    page.go("publish")
    page.page.fill("input[name=out]", "out/release")
    (folder / "out").mkdir()
    page.click("button[name=publish]")
    assert page.trouble() == ""
    assert "published and verified" in page.page.inner_text("#done")
    assert dv.check(folder / "out" / "release", adversary=dv.Adversary(original=folder / "patients.csv")).holds
    assert {each.name for each in (folder / "out" / "release-papers").iterdir()} == {
        "report.html",
        "public-report.html",
        "divulge.toml",
    }
    with page.page.context.expect_page() as opened:
        page.page.click("#done a:first-of-type")
    opened.value.wait_for_selector("figure .drawn svg")
    assert "INTERNAL" in opened.value.inner_text("header")
    opened.value.close()
    again = shlex.split(page.said("command"))
    assert again[:3] == ["divulge", "generalize", "patients.csv"]
    page.click("button[name=publish]")  # it is there now, and is not replaced unless somebody says so
    assert "out/release" in page.trouble()
    assert page.events == []
    page.page.close()


def _does_the_same(page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command, the Python and the policy file of the page lose as much as the page says."""
    lost = page.page.inner_text("#answer .tile:nth-child(2) b")
    (folder / "divulge.toml").write_text(page.said("policy"), encoding="utf-8")
    command, program = shlex.split(page.said("command")), page.said("python")
    monkeypatch.chdir(folder)
    told = run_cli(*command[1:], "--json", "--no-explain")
    assert told.code == 0, told.err
    assert f"{told.json()['objective']['value']:.4g}" == lost
    namespace: dict[str, Any] = {}
    exec(program.replace("print(release)", ""), namespace)  # noqa: S102 - that is what a user does with it
    assert f"{namespace['release'].plan.value:.4g}" == lost
    (folder / "divulge.toml").unlink()


def test_classes_are_looked_at_knowledge_counts_and_levels_are_edited(
    context: Any, served: Served, folder: Path, tmp_path: Path
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("risk")
    page.page.click("#classes summary")
    name = page.page.get_attribute("#classes tbody tr:nth-child(4) button", "value")
    page.click("#classes tbody tr:nth-child(4) button")
    shown = page.page.inner_text("#class h2")
    assert shown.replace(", ", " ").split() == name.replace("=", " ").replace(", ", " ").split()
    page.page.click("#controls summary")
    page.click("#controls label:has-text('influenza') input")
    roles: dict[str, Any] = {"quasi_identifiers": ["zip", "age", "sex"], "sensitive": "diagnosis"}
    her = dv.Adversary(rule_out={"diagnosis": "influenza"})
    expected = (
        dv.measure(folder / "patients.csv", **roles, adversary=her).sensitive["diagnosis"]["entropy_leakage"].value
    )
    assert f"{float(expected):.4g}" in page.page.inner_text("#kept")
    assert 'rule_out = ["influenza"]' in page.said("policy") or 'diagnosis = ["influenza"]' in page.said("policy")
    page.go("levels")
    before = page.shown()
    page.page.select_option("select[name=column]", "age")
    before = page.shown(before)
    page.page.select_option("select[name=kind]", "intervals")
    before = page.shown(before)
    page.page.fill("input[name=parameter]", "7, 21")
    page.page.press("input[name=parameter]", "Tab")
    before = page.shown(before)
    assert "intervals = [7, 21]" in page.said("policy")
    assert "[14, 21)" in page.page.inner_text("#view")
    page.page.fill("input[name=parameter]", "7, many")
    page.page.press("input[name=parameter]", "Tab")
    before = page.shown(before)
    assert "'many' is not a number" in page.trouble()
    assert "intervals = [7, 21]" in page.said("policy")  # as it was
    page.click("button[name=cut]")
    promises = dv.Policy(dv.Policy.load(folder / "hospital.toml").promises)
    ranges = dv.cut(folder / "patients.csv", "age", about="diagnosis", policy=promises, adversary=her)
    assert f"cuts = {json.dumps(ranges.rule['cuts'])}" in page.said("policy")
    before = page.shown()
    page.page.select_option("select[name=column]", "sex")
    before = page.shown(before)
    (tmp_path / "sex.csv").write_text("female;anybody\nmale;anybody\n", encoding="utf-8")
    page.page.set_input_files("input[type=file]", tmp_path / "sex.csv")
    page.shown(before)
    assert dv.Policy.of(tomllib.loads(page.said("policy"))).hierarchies["sex"] == {
        "rows": {"female": ["anybody"], "male": ["anybody"]}
    }
    assert page.events == []
    page.page.close()


def test_names_and_values_of_a_table_run_nothing(context: Any, served: Served) -> None:
    page = Page(context, served).open("evil.csv")
    for place in PLACES:
        page.go(place)
        assert (
            page.page.evaluate(
                "document.querySelectorAll('main script:not([type]), main iframe, main [onerror]').length"
            )
            == 0
        )
    assert page.events == []
    page.page.close()


def test_long_work_is_cancelled_and_the_page_goes_on(context: Any, served: Served) -> None:
    page = Page(context, served).open("wide.csv")
    page.page.click("nav a[href=promises]")
    page.page.wait_for_selector("#cancel", state="visible")
    page.page.click("#cancel")
    page.page.wait_for_function("() => document.querySelector('#trouble').innerText.includes('Cancelled')")
    page.go("table")
    assert "wide.csv" in page.page.inner_text("#controls")
    assert page.page.input_value("select[data-of=column_3]") != ""
    page.page.close()


def test_two_pages_do_not_disturb_each_other_and_nothing_is_lost_with_a_connection(
    context: Any, served: Served
) -> None:
    first, second = Page(context, served), Page(context, served)
    first.open("patients.csv")
    second.open("evil.csv")
    before = first.shown()
    first.page.select_option("select[data-of=income]", "leave_out")
    first.shown(before)
    for page, name in ((first, "patients.csv"), (second, "evil.csv")):
        page.page.reload()
        page.shown()
        assert name in page.page.inner_text("#head")
    assert first.page.input_value("select[data-of=income]") == "leave_out"
    assert first.page.url != second.page.url
    assert first.events == second.events == []
    second.page.close()
    context.set_offline(True)  # what was not heard is not done, and the page comes back by itself
    first.page.select_option("select[data-of=sex]", "plain")
    first.page.wait_for_function("() => document.querySelector('#trouble').innerText.includes('does not answer')")
    context.set_offline(False)
    first.page.wait_for_function("() => document.querySelector('#trouble').hidden")
    assert first.page.input_value("select[data-of=sex]") == "quasi_identifiers"
    first.page.close()


def test_it_works_by_keyboard_alone(context: Any, served: Served, folder: Path) -> None:
    page = Page(context, served)
    page.page.focus("#path")
    page.page.keyboard.type("patients.csv")
    page.page.keyboard.press("Enter")
    page.shown(1)
    page.page.set_input_files("input[type=file]", folder / "hospital.toml")
    page.shown(2)
    page.page.focus(".skip")
    assert page.tabbed("document.activeElement.getAttribute('href') === 'promises'")
    page.page.keyboard.press("Enter")
    page.page.wait_for_url("**/promises")
    before = page.shown()
    page.page.focus(".skip")
    assert page.tabbed("document.activeElement.type === 'range'")
    assert page.page.evaluate("document.activeElement.dataset.of") == "k_anonymity"
    page.page.keyboard.press("ArrowRight")
    page.shown(before)
    assert "k_anonymity = 6" in page.said("policy")
    assert page.events == []
    page.page.close()


def test_nobody_is_shut_out_and_it_fits_a_phone(context: Any, served: Served, folder: Path) -> None:
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    page = Page(context, served)
    links = page.page.query_selector_all("nav a")
    places = [place_named(name) for name in PLACES]
    assert [(link.get_attribute("href"), link.inner_text()) for link in links] == [
        (each.name, each.title) for each in places
    ]
    for place in ("", *PLACES):
        if place == PLACES[0]:
            page.open("patients.csv", folder / "hospital.toml")
        elif place:
            page.go(place)
        session = page.page.context.new_cdp_session(page.page)
        session.send("Runtime.evaluate", {"expression": axe})
        asked = {
            "expression": "axe.run().then((r) => JSON.stringify(r.violations))",
            "awaitPromise": True,
            "returnByValue": True,
        }
        found = json.loads(session.send("Runtime.evaluate", asked)["result"]["value"])
        serious = [
            (each["id"], each["nodes"][0]["html"][:160]) for each in found if each["impact"] in ("serious", "critical")
        ]
        assert (place, serious) == (place, [])
        for width in (1366, 390):
            page.page.set_viewport_size({"width": width, "height": 800})
            assert (place, page.page.evaluate("document.documentElement.scrollWidth")) == (place, width)
    page.page.close()
