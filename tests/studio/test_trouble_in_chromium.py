# SPDX-License-Identifier: Apache-2.0
"""Errors in a real browser: shown in place, with nothing outdated left, and correctable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.output import browser as driver
from tests.studio.pages import Page
from tests.studio.served import Served

pytestmark = driver.NEEDED
KEPT = "#answer .tile:nth-child(1) b"
K = "input[type=number][data-of=k_anonymity]"


def test_infeasible_requirements_are_not_shown_as_met(
    context: Any, served: Served, folder: Path
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("promises")
    assert page.page.inner_text(KEPT) == "keeps all 4"
    page.fill(K, "1501")  # of 1,500 patients
    assert "no generalization keeps k-anonymity >= 1501" in page.trouble()
    assert "What would fit: k-anonymity >= 1500." in page.trouble()
    assert page.page.inner_text(KEPT) == "cannot keep all 4"
    # no front, no price
    assert page.page.inner_text("#view").split("\n")[-1].startswith("nothing would be published")
    assert page.page.get_attribute(K, "aria-invalid") == "true"
    page.welcomes_everybody()
    page.fill(K, "5")
    assert (
        page.trouble(),
        page.page.inner_text(KEPT),
        page.page.get_attribute(K, "aria-invalid"),
    ) == ("", "keeps all 4", None)
    page.fill(K, "-1")  # which is refused, so that what stands there still holds
    assert "is below 0" in page.trouble()
    assert (page.page.inner_text(KEPT), page.page.get_attribute(K, "aria-invalid")) == (
        "keeps all 4",
        "true",
    )
    assert "k_anonymity = 5" in page.said("policy")
    page.fill("input[type=number][name=suppression]", "300")
    assert page.trouble() == "300 % of the people cannot be left out. Give a number from 0 to 100."
    page.close()


def test_files_that_do_not_fit_are_rejected_by_name(
    context: Any, served: Served, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    (tmp_path / "noise.csv").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "sex.csv").write_text("woman;anybody\nman;anybody\n", encoding="utf-8")
    (tmp_path / "other.toml").write_text(
        'quasi_identifiers = ["zip", "shoe_size"]\nleave_out = ["*"]', encoding="utf-8"
    )
    page = Page(context, served)
    for name, told in (
        ("empty.csv", "empty.csv is empty"),
        ("noise.csv", "noise.csv is not a text file"),
    ):
        page.give(tmp_path / name)
        assert page.trouble().startswith(told)
    page.page.fill("#path", "patient.csv")
    page.change(lambda: page.page.keyboard.press("Enter"))
    assert page.trouble().startswith("there is no file patient.csv. Did you mean 'patients.csv'")
    assert page.trouble().endswith("'?")
    page.open("patients.csv", folder / "hospital.toml")
    page.go("levels")
    page.choose("select[name=column]", "sex")
    before = page.said("policy")
    page.give(tmp_path / "sex.csv")
    assert "misses 2 values: 'female', 'male'" in page.trouble()
    page.give(tmp_path / "empty.csv")
    assert page.trouble() == "hierarchy file 'empty.csv' is empty."
    page.choose("select[name=kind]", "dates")
    assert "no date: 'female', 'male'" in page.trouble()
    assert page.said("policy") == before
    page.go("risk")
    page.fill("input[name=prior]", "nowhere.csv")
    assert page.trouble() == "there is no prior file 'nowhere.csv'."
    assert page.said("policy") == before
    page.go("publish")
    (folder / "taken").mkdir(exist_ok=True)
    (folder / "taken" / "thesis.txt").write_text("years of work", encoding="utf-8")
    page.page.fill("input[name=out]", "taken")
    page.click("button[name=publish]")
    assert (
        "taken exists already. Name another folder, or replace the release with the tick at the "
        "side." in page.trouble()
    )
    assert (folder / "taken" / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    page.go("table")
    page.give(tmp_path / "other.toml")
    assert (
        "A column that the policy names is not in this table: shoe_size."
        in page.page.inner_text("#view")
    )
    assert page.page.input_value("select[data-of=age]") == "leave_out"  # by its pattern
    page.click("button[name=strangers]")
    assert 'quasi_identifiers = ["zip"]' in page.said("policy")
    page.close()


def test_a_prior_whose_file_is_gone_can_be_removed(
    context: Any, served: Served, folder: Path
) -> None:
    (folder / "prior.csv").write_text("diagnosis,probability\ninfluenza,1\n", encoding="utf-8")
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("risk")
    page.fill("input[name=prior]", "prior.csv")
    believed = page.trouble() or page.page.inner_text("#answer")
    (folder / "prior.csv").unlink()
    page.fill("input[name=prior]", "")
    assert page.trouble() == ""
    assert page.page.inner_text("#answer") != believed
    page.close()


def test_opening_a_second_browser_tab_creates_a_page_of_its_own(
    context: Any, served: Served, folder: Path
) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    with context.expect_page() as opened:
        page.page.click("nav a[href=promises]", modifiers=["Control"])
    other = Page.of(opened.value)
    other.shown()
    assert other.page.url.rsplit("/", 2)[1] != page.page.url.rsplit("/", 2)[1]
    assert other.page.inner_text(KEPT) == "keeps all 4"  # it begins where the first one is
    other.fill(K, "7")
    page.choose("select[data-of=income]", "plain")
    assert "k_anonymity = 5" in page.said("policy")
    assert 'plain = ["income"]' not in other.said("policy")
    address = other.page.url
    other.page.reload()  # a tab keeps its page
    other.shown()
    assert (other.page.url, "k_anonymity = 7" in other.said("policy")) == (address, True)
    other.page.close()
    page.close()


def test_long_work_can_be_cancelled_from_another_tab(context: Any, served: Served) -> None:
    page = Page(context, served).open("wide.csv")
    page.page.click("nav a[href=promises]")
    page.page.wait_for_selector("#cancel", state="visible")
    page.page.click("nav a[href=table]")  # which waits behind the search
    page.page.wait_for_url("**/table")
    page.page.click("#cancel")
    page.shown()
    assert (page.trouble(), page.page.inner_text("#head")) == ("", "wide.csv · 3,000 rows")
    page.page.go_back()
    page.page.wait_for_url("**/promises")
    page.page.wait_for_selector("#cancel", state="visible")
    page.page.click("#cancel")
    page.page.wait_for_function(
        "() => document.querySelector('#trouble').innerText.includes('Cancelled')"
    )
    page.page.close()


def test_a_cancelled_attack_is_undone(context: Any, served: Served, folder: Path) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go("attack")
    shown, command = page.page.inner_text("#attacked"), page.said("command")
    page.page.evaluate(
        "() => { const plain = fetch; fetch = async (...of) => { const got = await plain(...of); "
        "window.begun = true; return got; }; }"
    )
    page.page.select_option("select[name=subsets]", "3")
    page.page.wait_for_function("() => window.begun")  # it has begun
    page.change(lambda: page.page.evaluate("document.querySelector('#cancel').click()"))
    assert page.trouble() == "Cancelled. The page is as it was before."
    assert page.page.input_value("select[name=subsets]") == "0"
    assert (page.page.inner_text("#attacked"), page.said("command")) == (shown, command)
    page.choose("select[name=subsets]", "1")
    assert (page.trouble(), page.said("command")) == ("", command + " --subsets 1")
    page.close()


def test_values_are_hidden_everywhere(context: Any, served: Served, folder: Path) -> None:
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.click("input[name=hidden]")
    values = ["Huntington", "influenza", "04240", "P00", "female", "[20, 25)"]
    for place in ("table", "risk", "levels", "promises", "anatomize", "attack", "publish"):
        page.go(place)
        assert page.trouble() == ""
        shown = page.page.inner_html("main")
        assert [value for value in values if value in shown] == [], place
    page.go("dossier")
    page.click("button[name=example]")
    assert page.trouble() == ""
    shown = page.page.inner_html("main")
    assert [value for value in ("insulin", "Ann Lee", "bookshop") if value in shown] == []
    page.close()
