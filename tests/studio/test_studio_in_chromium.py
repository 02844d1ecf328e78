# SPDX-License-Identifier: Apache-2.0
"""The studio in a real browser: from a table to a verified release.

By mouse only, by keyboard only, on two pages at once, and with cancellation.
"""

from __future__ import annotations

import json
import shlex
import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.studio.tabs import TABS, load_tab
from tests.helpers import run_cli
from tests.metrics.adult import adult
from tests.output import browser as driver
from tests.studio.pages import Page
from tests.studio.served import Served, studio

pytestmark = driver.NEEDED
DRAG = """async () => {
  let answers = 0;
  new MutationObserver(() => { answers += 1; }).observe(document.querySelector("#answer"), { childList: true });
  const slider = document.querySelector("#controls input[type=range][data-of=k_anonymity]");
  for (let value = 6; value <= 40; value += 1) {
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 60));
  }
  return answers;
}"""  # noqa: E501
LOSS = "#answer .tile:nth-child(2) b"
DROP = """([name, size, text]) => {
  const data = new DataTransfer();
  data.items.add(new File(size ? [new ArrayBuffer(size)] : [text], name));
  document.body.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
}"""  # noqa: E501


def test_from_a_table_to_a_verified_release_and_its_report(
    context: Any, served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(context, served)
    page.welcomes_everybody()
    links = [
        (link.get_attribute("href"), link.inner_text())
        for link in page.page.query_selector_all("nav a")
    ]
    assert links == [(place.name, place.title) for place in map(load_tab, TABS)]
    page.open("patients.csv", folder / "hospital.toml")
    assert page.page.input_value("select[data-of=age]") == "quasi_identifiers"
    page.welcomes_everybody()
    policy = dv.Policy.load(folder / "hospital.toml")
    expected = dv.generalize(folder / "patients.csv", policy=policy)
    page.go("promises")
    assert page.page.inner_text("#answer .tile:nth-child(1) b") == "keeps all 4"
    assert page.page.inner_text("#answer .tile:nth-child(3) b") == f"{expected.plan.suppressed:,}"
    page.welcomes_everybody()
    _drags_and_clicks(page)
    # A point of the front is a promise.
    page.page.click("#front summary")
    told, loss = (
        float(text)
        for text in page.page.locator("#front tbody tr:nth-child(3) td").all_inner_texts()[:2]
    )
    page.click("#front tbody tr:nth-child(3) button")
    assert page.trouble() == ""
    assert float(page.page.inner_text("#answer .tile:nth-child(2) b")) <= loss
    bound = float(page.page.input_value("input[type=number][data-of=entropy_leakage]"))
    assert told <= bound <= told + 0.001
    assert f"entropy_leakage = {bound}" in page.said("policy")
    _does_the_same(page, folder, monkeypatch)
    page.go("publish")
    page.welcomes_everybody()
    page.page.fill("input[name=out]", "out/release")
    (folder / "out").mkdir()
    page.click("button[name=publish]")
    assert page.trouble() == ""
    assert "published and verified" in page.page.inner_text("#done")
    assert dv.check(
        folder / "out" / "release", adversary=dv.Adversary(original=folder / "patients.csv")
    ).holds
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
    # it is there now, and is not replaced unless somebody says so
    page.click("button[name=publish]")
    assert "out/release" in page.trouble()
    page.close()


def _drags_and_clicks(page: Page) -> None:
    """Drag a slider, which updates the chart; click a point, which requires its bound."""
    # no longer as on a phone
    page.page.wait_for_function("() => document.querySelector('#front svg').clientWidth > 390")
    page.page.evaluate("document.querySelector('#front svg').dataset.same = 'yes'")
    drawn = page.page.inner_html("#front svg")
    answers: list[int] = []
    page.change(lambda: answers.append(page.page.evaluate(DRAG)))
    assert answers[0] > 1  # what is lost is told while somebody drags, not only at the end
    assert "k_anonymity = 40" in page.said("policy")
    assert page.page.get_attribute("#front svg", "data-same") == "yes"
    assert page.page.inner_html("#front svg") != drawn
    page.fill("input[type=number][data-of=k_anonymity]", "5")
    assert page.page.inner_html("#front svg") == drawn
    before = page.said("policy")
    at = page.page.locator("#front svg path[fill='#0b5d6e']").nth(2)
    told = float(at.get_attribute("aria-label").split("entropy leakage: ")[1].split(";")[0])
    page.change(lambda: at.click(force=True))
    assert float(
        page.page.input_value("input[type=number][data-of=entropy_leakage]")
    ) == pytest.approx(told, abs=2e-4)
    assert page.said("policy") != before
    page.fill("input[type=number][data-of=entropy_leakage]", "1.5")
    assert page.said("policy") == before


def _does_the_same(page: Page, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the page's command, Python code and policy file give the same loss."""
    lost = page.page.inner_text(LOSS)
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


@pytest.mark.public_data
def test_adult_from_table_to_release_and_its_saved_policy_restores_the_page(
    context: Any, served: Served, folder: Path, tmp_path: Path
) -> None:
    adult_csv(folder)
    page = Page(context, served).open("adult.csv")
    assert page.page.input_value("select[data-of=age]") == "quasi_identifiers"
    for column in dv.read(folder / "adult.csv").names:
        wanted = {"occupation": "sensitive"} | dict.fromkeys(
            ["age", "sex", "race", "marital-status"], "quasi_identifiers"
        )
        if page.page.input_value(f"select[data-of='{column}']") != wanted.get(column, "leave_out"):
            page.choose(f"select[data-of='{column}']", wanted.get(column, "leave_out"))
    page.go("promises")
    page.fill("input[type=number][name=suppression]", "5")
    page.fill("input[type=number][data-of=l_diversity]", "3")
    policy = dv.Policy.of(tomllib.loads(page.said("policy")))
    expected = dv.generalize(folder / "adult.csv", policy=policy)
    assert (policy.suppression, [promise.text for promise in policy.promises]) == (
        0.05,
        ["k_anonymity >= 5", "l_diversity >= 3"],
    )
    assert page.page.inner_text(LOSS) == f"{expected.plan.value:.4g}"
    page.fill("input[type=number][name=suppression]", "0")
    page.choose("select[name=method]", "mondrian")
    boxes = page.page.inner_text(LOSS)
    assert float(boxes) < expected.plan.value
    with page.page.expect_download() as saved:
        page.page.click("#save")
    saved.value.save_as(tmp_path / "divulge.toml")
    assert 'method = "mondrian"' in (tmp_path / "divulge.toml").read_text(encoding="utf-8")
    page.go("publish")
    page.page.fill("input[name=out]", "adult-release")
    page.click("button[name=publish]")
    assert page.trouble() == ""
    assert "published and verified" in page.page.inner_text("#done")
    assert dv.check(folder / "adult-release").holds
    for link, told in (("first", "INTERNAL"), ("last", "PUBLIC")):
        with page.page.context.expect_page() as opened:
            page.page.click(f"#done a:{link}-of-type")
        opened.value.wait_for_selector("figure .drawn svg")
        assert told in opened.value.inner_text("header").upper()
        opened.value.close()
    page.close()
    page = Page(context, served)
    page.give(tmp_path / "divulge.toml")  # before its table
    page.open("adult.csv")
    assert page.page.input_value("select[data-of=occupation]") == "sensitive"
    page.go("promises")
    assert page.page.inner_text(LOSS) == boxes
    page.close()


def adult_csv(folder: Path) -> None:
    """The public data set Adult, next to the other tables."""
    import pyarrow.csv

    if not (folder / "adult.csv").exists():
        pyarrow.csv.write_csv(adult(), folder / "adult.csv")


def test_classes_adversary_knowledge_and_levels(
    context: Any, served: Served, folder: Path, tmp_path: Path
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("risk")
    page.welcomes_everybody()
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
        dv.measure(folder / "patients.csv", **roles, adversary=her)
        .sensitive["diagnosis"]["entropy_leakage"]
        .value
    )
    assert f"{float(expected):.4g}" in page.page.inner_text("#kept")
    assert 'rule_out = ["influenza"]' in page.said(
        "policy"
    ) or 'diagnosis = ["influenza"]' in page.said("policy")
    page.go("levels")
    page.welcomes_everybody()
    page.choose("select[name=column]", "age")
    page.choose("select[name=kind]", "intervals")
    page.fill("input[name=parameter]", "7, 21")
    assert "intervals = [7, 21]" in page.said("policy")
    assert "[14, 21)" in page.page.inner_text("#view")
    page.fill("input[name=parameter]", "7, many")
    assert "'many' is not a number" in page.trouble()
    assert "intervals = [7, 21]" in page.said("policy")  # as it was
    page.click("button[name=cut]")
    promises = dv.Policy(dv.Policy.load(folder / "hospital.toml").promises)
    ranges = dv.cut(
        folder / "patients.csv", "age", about="diagnosis", policy=promises, adversary=her
    )
    assert f"cuts = {json.dumps(ranges.rule['cuts'])}" in page.said("policy")
    page.choose("select[name=column]", "sex")
    (tmp_path / "sex.csv").write_text("female;anybody\nmale;anybody\n", encoding="utf-8")
    page.give(tmp_path / "sex.csv")
    assert dv.Policy.of(tomllib.loads(page.said("policy"))).hierarchies["sex"] == {
        "rows": {"female": ["anybody"], "male": ["anybody"]}
    }
    page.close()


def test_markup_in_names_and_values_is_not_executed(context: Any, served: Served) -> None:
    page = Page(context, served).open("evil.csv")
    for place in TABS:
        page.go(place)
        assert (
            page.page.evaluate(
                "document.querySelectorAll('main script:not([type]), main iframe, main "
                "[onerror]').length"
            )
            == 0
        )
    page.close()


def test_long_work_is_cancelled_and_the_page_goes_on(context: Any, served: Served) -> None:
    page = Page(context, served).open("wide.csv")
    page.page.click("nav a[href=promises]")
    page.page.wait_for_selector("#cancel", state="visible")
    page.page.click("#cancel")
    page.page.wait_for_function(
        "() => document.querySelector('#trouble').innerText.includes('Cancelled')"
    )
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
    first.choose("select[data-of=income]", "leave_out")
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
    first.page.wait_for_function(
        "() => document.querySelector('#trouble').innerText.includes('does not answer')"
    )
    context.set_offline(False)
    first.page.wait_for_function("() => document.querySelector('#trouble').hidden")
    assert first.page.input_value("select[data-of=sex]") == "quasi_identifiers"
    first.page.close()


def test_a_restarted_studio_restores_its_pages(browser: Any, folder: Path, tmp_path: Path) -> None:
    """There are two pages, one of them with an uploaded table; the new studio has other keys."""
    (tmp_path / "ages.csv").write_text("age,disease\n31,flu\n42,cold\n", encoding="utf-8")
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    with studio(folder) as first:
        context.new_page().goto(first.address)
        page, dropped = Page(context, first).open("patients.csv"), Page(context, first)
        page.choose("select[data-of=income]", "leave_out")
        page.go("promises")
        page.fill("input[type=number][data-of=k_anonymity]", "9")
        dropped.give(tmp_path / "ages.csv")
        policy = dropped.said("policy")
    for each in (page, dropped):
        each.page.wait_for_function(
            "() => document.querySelector('#trouble').innerText.includes('does not answer')"
        )
    with studio(folder, ["--port", str(first.port)]) as second:
        for each in (page, dropped):
            each.page.wait_for_function(
                "() => document.querySelector('#trouble').innerText.includes('no longer good')"
            )
        assert page.page.inner_text("#head") == "patients.csv · 1,500 rows"  # what is seen stays
        stranger = browser.new_context().new_page()
        stranger.goto(page.page.url)
        assert "start the studio again" in stranger.inner_text("body")
        # whoever opens the printed address is let in, with all pages
        context.new_page().goto(second.address)
        page.page.wait_for_function(
            "() => document.querySelector('#trouble').innerText.includes('as it was')"
        )
        assert page.trouble() == "The studio was started again. This page is as it was."
        assert page.page.input_value("input[type=number][data-of=k_anonymity]") == "9"
        page.fill("input[type=number][data-of=k_anonymity]", "4")
        assert (page.trouble(), "k_anonymity = 4" in page.said("policy")) == ("", True)
        page.go("table")
        assert page.page.input_value("select[data-of=income]") == "leave_out"
        dropped.page.wait_for_function(
            "() => document.querySelector('#trouble').innerText.includes('not there any more')"
        )
        assert "Open ages.csv again" in dropped.trouble()
        dropped.give(tmp_path / "ages.csv")
        assert (dropped.trouble(), dropped.said("policy")) == ("", policy)
        page.page.goto(f"http://127.0.0.1:{second.port}/w/somebody-else/risk")
        page.shown()
        assert page.trouble().startswith("The studio was started again, and this is a new page")
    context.close()


def test_it_works_by_keyboard_alone(context: Any, served: Served, folder: Path) -> None:
    """Only keys are used, except in the browser's own window for choosing a file."""
    page = Page(context, served)
    keys = page.page.keyboard

    def go(place: str) -> None:
        assert page.tabbed(
            "document.activeElement.closest('nav') && "
            f"document.activeElement.getAttribute('href') === '{place}'"
        )
        keys.press("Enter")
        page.page.wait_for_url(f"**/{place}")
        page.shown()

    assert page.tabbed("document.activeElement.id === 'path'")
    keys.type("patients.csv")
    page.change(lambda: keys.press("Enter"))
    assert page.tabbed("document.activeElement.type === 'file'")
    page.give(folder / "hospital.toml")  # what Enter opens here is the browser's own
    assert page.tabbed(
        "document.activeElement.name === 'role' && document.activeElement.dataset.of === 'income'"
    )
    page.change(lambda: keys.type("as it is"))
    # who works so stays where she was
    assert page.page.evaluate("document.activeElement.dataset.of") == "income"
    page.change(lambda: keys.press("ArrowUp"))
    assert page.page.input_value("select[data-of=income]") == "leave_out"
    go("risk")
    assert page.tabbed("document.activeElement.closest('#classes summary')")
    keys.press("Enter")
    assert page.tabbed("document.activeElement.name === 'look'")
    name = page.page.evaluate("document.activeElement.value")
    page.change(lambda: keys.press("Enter"))
    assert page.page.inner_text("#class h2").split()[-1] == name.split("=")[-1]
    go("promises")
    assert page.tabbed("document.activeElement.type === 'range'")
    assert page.page.evaluate("document.activeElement.dataset.of") == "k_anonymity"
    page.change(lambda: keys.press("ArrowRight"))
    assert page.tabbed("document.activeElement.closest('#front summary')")
    keys.press("Enter")
    assert page.tabbed("document.activeElement.name === 'take'")
    page.change(lambda: keys.press("Enter"))
    assert page.trouble() == ""
    go("publish")
    assert page.tabbed("document.activeElement.name === 'out'")
    keys.press("Control+A")
    keys.type("by-keyboard")
    page.change(lambda: keys.press("Tab"))
    assert page.tabbed("document.activeElement.name === 'publish'")
    page.change(lambda: keys.press("Enter"))
    assert (page.trouble(), "published and verified" in page.page.inner_text("#done")) == ("", True)
    policy = dv.Policy.load(folder / "by-keyboard-papers" / "divulge.toml")
    assert "k_anonymity >= 6" in [promise.text for promise in policy.promises]
    assert dv.check(
        folder / "by-keyboard", adversary=dv.Adversary(original=folder / "patients.csv")
    ).holds
    page.close()


def test_labels_are_edited_value_by_value_and_a_saved_file_restores_the_page(
    context: Any, served: Served, folder: Path, tmp_path: Path
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("levels")
    page.choose("select[name=column]", "zip")
    page.choose("select[name=kind]", "rows")
    rows = page.page.locator("input[name=label][aria-label$='level 1']")
    zips = [
        label.split(",")[0]
        for label in rows.evaluate_all("all => all.map((each) => each.ariaLabel)")
    ]
    levels = page.page.locator("#view .hand thead th").count() - 1
    page.click("button[name=height][value=more]")
    page.fill(f"input[aria-label='{zips[0]}, level 1']", "north")
    page.fill(f"input[aria-label='{zips[1]}, level 1']", "north")
    page.welcomes_everybody()
    found = dv.Policy.of(tomllib.loads(page.said("policy"))).hierarchies["zip"]["rows"]
    assert (len(found), {len(labels) for labels in found.values()}) == (len(zips), {levels + 1})
    assert [found[zips[0]][0], found[zips[1]][0], found[zips[2]][0]] == ["north", "north", zips[2]]
    # who has the label of another goes on as that one does
    assert found[zips[1]][1:] == found[zips[0]][1:]
    page.click("button[name=height][value=fewer]")
    assert page.trouble() == ""
    page.choose("select[name=kind]", "rule")
    assert page.page.input_value("input[name=parameter]").startswith("{rows = {")
    page.choose("select[name=kind]", "")
    page.go("attack")
    page.click("input[name=knows][data-of=sex]")
    page.fill("input[name=records]", "200")
    page.go("anatomize")
    page.choose("select[data-of=beta]", "1/3")
    page.fill("input[name=out]", "groups-of-mine")
    with page.page.expect_download() as saved:
        page.page.click("#save")
    saved.value.save_as(tmp_path / "divulge.toml")
    assert dv.Policy.load(tmp_path / "divulge.toml") == dv.Policy.of(
        tomllib.loads(page.said("policy"))
    )
    page.close()
    page = Page(context, served).open("patients.csv", tmp_path / "divulge.toml")
    page.go("attack")
    assert not page.page.is_checked("input[name=knows][data-of=sex]")
    assert page.page.input_value("input[name=records]") == "200"
    page.go("anatomize")
    assert page.page.input_value("select[data-of=beta]") == "1/3"
    assert page.page.input_value("input[name=out]") == "groups-of-mine"
    page.close()


def test_a_table_is_read_with_the_chosen_options(
    context: Any, served: Served, folder: Path
) -> None:
    rows = [
        (f"{number % 7}", number % 40, "flu" if number % 3 else "cold") for number in range(200)
    ]
    with sqlite3.connect(folder / "clinic.db") as database:
        database.execute("CREATE TABLE patients (zip TEXT, age INTEGER, disease TEXT)")
        database.execute("CREATE TABLE wards (ward TEXT)")
        database.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
    (folder / "bars.csv").write_text("zip|cost\n1|2,5\n2|3,5\n", encoding="utf-8")
    page = Page(context, served)
    page.click("button[value='clinic.db']")
    assert "Choose one with table: 'patients', 'wards'" in page.trouble()
    page.page.click("#view summary")
    page.page.fill("#path", "typed.csv")
    page.fill("input[data-of=table]", "patients")
    assert page.page.input_value("#path") == "typed.csv"
    page.click("button[value='clinic.db']")
    assert (page.trouble(), page.page.inner_text("#head")) == ("", "clinic.db · 200 rows")
    assert page.said("command") == "divulge profile clinic.db --table patients"
    assert "dv.read('clinic.db', table='patients')" in page.said("python")
    page.fill("input[data-of=delimiter]", ";")
    assert "is for delimited text" in page.trouble()
    page.click("button[name=close]")
    page.click("button[value='bars.csv']")
    assert "numbers" in page.page.inner_text("#column-1")
    page.page.click("#controls summary")
    page.fill("input[data-of=decimal]", ".")
    assert "text" in page.page.inner_text("#column-1")
    page.choose("select[data-of=header]", "no")
    assert page.page.inner_text("#head") == "bars.csv · 3 rows"
    page.close()


def test_files_are_uploaded_and_large_ones_are_rejected(context: Any, served: Served) -> None:
    page = Page(context, served)
    page.change(lambda: page.page.evaluate(DROP, ["ages.csv", 0, "age,disease\n31,flu\n42,cold\n"]))
    assert page.page.inner_text("#head") == "ages.csv · 2 rows"
    page.page.evaluate(DROP, ["many.csv", 200 * 1024 * 1024 + 1, ""])
    page.page.wait_for_selector("#trouble:not([hidden])")
    assert page.trouble() == "many.csv is larger than 200 MB. Open it by its path instead."
    page.close()
