# SPDX-License-Identifier: Apache-2.0
"""Tabs about the planned release in a real browser: they show what their commands report."""

from __future__ import annotations

import json
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from tests.helpers import run_cli
from tests.output import browser as driver
from tests.studio.pages import Page
from tests.studio.served import Served

pytestmark = driver.NEEDED


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def opened(context: Any, served: Served, folder: Path, place: str) -> Page:
    """Open the patients with the policy of their hospital, on a tab."""
    page = Page(context, served).open("patients.csv", folder / "hospital.toml")
    page.go(place)
    assert page.trouble() == ""
    page.welcomes_everybody()
    return page


def run_said(page: Page, folder: Path) -> list[dict[str, Any]]:
    """Return the output of the page's commands, run with the policy file that it saves."""
    (folder / "divulge.toml").write_text(page.said("policy"), encoding="utf-8")
    found = []
    for line in page.said("command").splitlines():
        program, *arguments = shlex.split(line)
        assert program == "divulge"
        done = run_cli(*arguments, *(["--force"] if "--out" in arguments else []), "--json")
        assert done.code in (0, 1), done.err
        found.append(json.loads(done.out))
    return found


def test_attacks_on_the_page_equal_those_of_the_command(
    context: Any, served: Served, folder: Path
) -> None:
    source, roles = folder / "patients.csv", ["zip", "sex", "diagnosis"]
    others = [name for name in dv.read(source).names if name not in roles]
    made = dv.generalize(
        source,
        policy=dv.Policy(k_anonymity=9),
        quasi_identifiers=roles[:2],
        sensitive="diagnosis",
        leave_out=others,
    )
    made.write(folder / "last-year")
    page = opened(context, served, folder, "attack")
    page.click("input[name=knows][data-of=sex]")
    page.fill("input[name=records]", "200")
    page.click("input[name=release][data-of=last-year]")
    assert page.trouble() == ""
    _, attacked, composed = run_said(page, folder)
    assert attacked["settings"]["knows"] == ["zip", "age"]
    assert attacked["settings"]["records"] == 200
    shown = page.page.locator("#attacked .card tbody tr").all_inner_texts()
    for told in attacked["attacks"]:
        row = next(text for text in shown if text.startswith(told["attack"]))
        assert f"{told['rate']:.2%}".replace(".00%", "%") in row.replace(".00%", "%")
    together = composed["together"]
    assert f"{together['below']:,} of" in page.page.inner_text("#together .verdict")
    assert together["below"] > 0
    page.choose("select[name=against]", "the tables and groups of Anatomize")
    assert page.trouble() == ""
    *_, grouped, _ = run_said(page, folder)
    words = shlex.split(page.said("command"))
    bound = Fraction(words[words.index("--beta") + 1])
    assert f"beta <= {bound}" in grouped["settings"]["promises"]
    shown = page.page.locator("#attacked .card tbody tr").all_inner_texts()
    # rates differ: groups are drawn anew by each of the two
    names = {told["attack"] for told in grouped["attacks"]}
    assert "definetti" in names
    assert {text.split()[0] for text in shown} >= names
    page.fill("input[name=release][type=text]", "nowhere")
    assert "nowhere" in page.trouble()
    page.click("input[name=release][data-of=nowhere]")
    assert page.trouble() == ""
    page.fill("input[name=ledger]", "no-ledger")
    assert "no ledger 'no-ledger'" in page.trouble()
    page.close()


def test_the_anatomized_page_answers_like_the_written_folder(
    context: Any, served: Served, folder: Path
) -> None:
    page = opened(context, served, folder, "anatomize")
    reached = (
        dv.generalize("patients.csv", policy="hospital.toml")
        .after.sensitive["diagnosis"]["alpha"]
        .value
    )
    assert (
        reached <= float(shlex.split(page.said("command"))[-3]) <= reached + 1e-4
    )  # the same protection, unless somebody says otherwise
    page.choose("select[data-of=beta]", "1/3")
    condition = "sex = 'female' and age >= 50 and diagnosis = 'asthma'"
    page.fill("input[name=condition]", condition)
    assert page.trouble() == ""
    rows = (
        dv.read("patients.csv")
        .engine.query("SELECT sex, age, diagnosis FROM 'patients.csv'")
        .to_pylist()
    )
    counted = sum(
        row["sex"] == "female" and row["age"] >= 50 and row["diagnosis"] == "asthma" for row in rows
    )
    asked = [row.split("\t") for row in page.page.locator("#ask tbody tr").all_inner_texts()]
    assert asked[0][1:] == [str(counted)] * 3 + ["0"]
    sides = page.page.locator("#sides tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in sides] == [
        "anatomized",
        "anatomized, records alike",
        "generalized, full-domain",
        "generalized, mondrian",
    ]
    page.fill("input[name=out]", "groups")
    page.click("button[name=publish]")
    assert page.trouble() == ""
    assert "published and verified" in page.page.inner_text("#done")
    assert dv.check(folder / "groups", beta="1/3").holds
    found = dv.query(folder / "groups", condition)
    assert found.low <= counted <= found.high
    assert [float(text) for text in asked[1][1:4]] == pytest.approx(
        [found.estimate, found.low, found.high], rel=0.01
    )
    page.close()


def test_a_dossier_shows_what_its_commands_print(
    context: Any, served: Served, folder: Path
) -> None:
    """Two shops and a purchase, as in docs/how-to/dossier.md.

    By hand: all records together cover 4 of 5 true values, 2·1·0.8/1.8.
    """
    held = [
        ("s", "N", "Ann"),
        ("s", "C", "c1"),
        ("s", "P", "555"),
        ("t", "N", "Ann"),
        ("t", "C", "c2"),
        ("u", "N", "Ann"),
        ("u", "C", "c2"),
        ("u", "P", "555"),
    ]
    lines = [
        "record,label,value,confidence",
        *(f"{key},{label},{value},1" for key, label, value in held),
    ]
    (folder / "shops.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    truth = [("N", "Ann"), ("C", "c1"), ("C", "c2"), ("P", "555"), ("A", "1 Main St")]
    attributes = [{"label": label, "value": value} for label, value in truth]
    (folder / "me.json").write_text(json.dumps({"attributes": attributes}), encoding="utf-8")
    page = Page(context, served)
    page.go("dossier")  # no table is needed
    for name in ("shops.csv", "me.json"):
        page.give(folder / name)
    assert page.trouble() == ""
    # nothing is linked: s tells 3 of 5
    assert page.page.inner_text("#known .tile:nth-child(1) b") == "75 %"
    page.fill("input[name=rule]", "N+C,N+P")
    assert page.page.inner_text("#known .tile:nth-child(1) b") == "89 %"
    page.fill("input[name=budget]", "4")
    assert page.trouble() == ""
    leaks, enhanced, plan = run_said(page, folder)
    assert leaks["leakage"] == pytest.approx(2 * 0.8 / 1.8)
    assert [step["id"] for step in leaks["timeline"]] == ["s", "t", "u"]
    assert enhanced is not None
    assert plan["leakage"] < leaks["leakage"]
    assert "falls from 89 %" in page.page.inner_text("#disinformation")
    assert page.page.locator("#grew svg, #labels svg, #disinformation svg").count() >= 3
    page.welcomes_everybody()
    page.click("button[name=again]")
    page.click("button[name=example]")
    assert page.trouble() == ""
    assert "links these 3 records" in page.page.inner_text("#known")
    page.close()
