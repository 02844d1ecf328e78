# SPDX-License-Identifier: Apache-2.0
"""A report: one file that asks nobody for anything, and, for the public, tells nothing that the published files do not tell."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.views import html
from tests.helpers import run_cli
from tests.publish.test_what_a_release_hides import (
    DISEASES,
    changed,
    guesses,
    numbers_in,
    original_json,
    people,
    publish,
)
from tests.views.test_html import Seen

pytestmark = pytest.mark.xdist_group(
    "browser"
)  # with others that draw pages: one process builds the script of the pictures
DAY = dt.date(2026, 11, 17)
PATIENTS = pa.table(
    {
        "zip": ["47601"] * 6 + ["47602"] * 6 + ["47701"] * 6,
        "disease": ["flu", "cold", "ulcer"] * 4 + ["HIV"] * 6,
        "note": [f"n{i % 6}" for i in range(18)],
    }
)
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}


def texts(page: str) -> str:
    """What somebody reads."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(text.strip() for text in Seen(body).texts if text.strip())


def test_the_page_allows_its_own_style_sheet_and_scripts_and_nothing_else() -> None:
    page = dv.report(PATIENTS, {"k_anonymity": 5}, **ROLES).html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}

    def hashed(tag: str) -> list[str]:
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        return [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in found]

    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["script-src"] == hashed("script")
    assert rules["style-src"] == hashed("style")
    assert rules["img-src"] == ["data:"]
    assert len(page.encode()) < 3_000_000
    seen = Seen(re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL))
    assert {"a", "link", "iframe", "object", "form", "base"} & set(seen.elements) == set()
    assert {"style", "href", "onclick", "onload"} & {name for name, _ in seen.attributes} == set()


def test_the_page_tells_what_can_be_counted_by_hand() -> None:
    """In 47701 all six have HIV, a third of all; elsewhere three diseases are equally common."""
    report = dv.report(
        PATIENTS, {"k_anonymity": 5, "l_diversity": 2}, plain="note", **ROLES, date=DAY, title="Our patients"
    )
    told = texts(report.html())
    assert "INTERNAL" in told
    assert "What Our patients tells" in told
    assert "17 November 2026" in told
    assert "Nobody is alone: at least 6 people share each combination of zip" in told
    assert "the disease of 6 people is all but public" in told
    assert "is right 100% of the time, against 33% without the table" in told
    assert "1 of 2 promises is broken" in told
    assert "6 people. Everybody here has the same disease ." in told
    assert "With note known too, 18 people are alone, of 18." in told
    assert "--qi zip --sensitive disease" in told
    assert "[promises] k_anonymity = 5 l_diversity = 2" in " ".join(told.split())
    assert report.to_dict()["promises"] == [
        {"promise": "k_anonymity >= 5", "bound": 5.0, "value": 6.0, "holds": True},
        {"promise": "l_diversity >= 2 (disease)", "bound": 2.0, "value": 1.0, "holds": False},
    ]


def test_the_policy_of_a_report_is_a_policy_file(tmp_path: Path) -> None:
    from divulge.views.provenance import policy_text

    report = dv.report(PATIENTS, {"k_anonymity": 5}, plain="note", **ROLES, date=DAY)
    (tmp_path / "divulge.toml").write_text(policy_text(report), encoding="utf-8")
    assert dv.check(PATIENTS, tmp_path / "divulge.toml").holds


@pytest.mark.slow
def test_a_report_of_any_result_is_a_page() -> None:
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 7}, leave_out="note", **ROLES)
    anatomized = dv.anatomize(PATIENTS, beta="1/2", leave_out="note", **ROLES)
    headings = {
        "GeneralizedRelease": "What it cost",
        "AnatomizedRelease": "Attacks that were tried",
        "Ranking": "What was found",
        "Measurement": "Who is at risk",
    }
    for result in (
        release,
        anatomized,
        dv.rank(PATIENTS, quasi_identifiers=["zip", "note"]),
        dv.measure(PATIENTS, **ROLES),
    ):
        report = dv.report(result)
        assert headings[type(result).__name__] in report.to_dict()["sections"]
        assert report.html().startswith("<!doctype html>")
    told = texts(dv.report(release).html())
    assert "without k_anonymity >= 7" in told  # the price of the promise
    assert "from the original's distribution on average" in told  # what is left of the data
    assert "prosecutor" in told  # what attacks achieve
    assert "Bounded by k_anonymity >= 7" in told


def test_what_a_result_says_itself_is_not_said_again() -> None:
    with pytest.raises(BadInput, match="policy= has no effect: a Measurement says itself"):
        dv.report(dv.measure(PATIENTS, **ROLES), {"k_anonymity": 5})


@pytest.mark.parametrize("path", ["report.pdf", "report", "nowhere/report.html"])
def test_a_name_that_no_page_can_have_is_refused_before_the_work(path: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="report"):
        dv.report(dv.measure(PATIENTS, **ROLES)).save(tmp_path / path)
    found = run_cli("report", str(tmp_path / "there-is-no-table.csv"), "--out", str(tmp_path / path))
    assert found.code == 2
    assert "there-is-no-table" not in found.err


# --- for the public ---------------------------------------------------------------------------------------------------
def public_page(folder: Path) -> str:
    """As anybody who has the published files makes it."""
    return dv.report(folder, audience="public", date=DAY, title="The release").html()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes, Counter[str]]]:
    """Public reports of releases, the published tables, and what was left out.

    Without images: one is drawn from the specification that stands beside it, and that takes most of the time.
    """
    found = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(html, "picture", lambda spec: html.el("img", alt=html.title_of(json.loads(spec))))
        for seed in range(8):
            rng = random.Random(seed)  # noqa: S311
            left_out = [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))]
            folder = tmp_path_factory.mktemp("r") / "out"
            public = publish(people(rng, left_out), folder)
            found.append((public_page(folder), public["table.csv"], Counter(left_out)))
    return found


@pytest.mark.slow
def test_a_public_report_has_no_hash_of_what_is_private(pages: list[tuple[str, bytes, Counter[str]]]) -> None:
    for page, table, truth in pages:
        shown, ways = guesses(table)
        assert truth in ways
        made = [hashlib.sha256(original_json(shown + way)).hexdigest() for way in ways]
        assert not [digest for digest in made if digest in page]
        told = texts(page)
        assert set(re.findall(r"\b[0-9a-f]{64}\b", told)) == {hashlib.sha256(table).hexdigest()}


@pytest.mark.slow
def test_no_number_of_a_public_report_tells_guesses_apart(pages: list[tuple[str, bytes, Counter[str]]]) -> None:
    """She works out what each guess would make of the leakage against the original: no guess gives a number that stands on the page."""
    for page, table, truth in pages:
        shown, ways = guesses(table)
        classes: dict[str, Counter[str]] = {}
        for line in table.decode().splitlines()[1:]:
            town, _, disease = line.rpartition(",")
            classes.setdefault(town, Counter())[disease] += 1
        told = [float(text) for text in re.findall(r"(?<![\w.])\d+\.\d{3,}", texts(page))]
        for spec in re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL):
            told += list(numbers_in(json.loads(spec)))

        def distance(before: Counter[str], inside: dict[str, Counter[str]] = classes) -> float:
            prior = {value: before[value] / before.total() for value in before}
            return float(max(sum((c[v] / c.total() - prior[v]) ** 2 for v in prior) ** 0.5 for c in inside.values()))

        alone = distance(shown)
        assert told
        assert truth in ways
        hits = [
            way for way in ways if abs(distance(shown + way) - alone) > 1e-3 and _stands(distance(shown + way), told)
        ]
        assert truth not in hits


def _stands(value: float, told: list[float]) -> bool:
    return any(abs(number - value) < 1e-9 for number in told)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_originals_that_differ_in_what_is_left_out_give_the_same_public_report(seed: int, tmp_path: Path) -> None:
    rng = random.Random(300 + seed)  # noqa: S311
    table = people(rng, [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))])
    other = changed(rng, table, [town in ("a", "b") for town in table.column("town").to_pylist()])
    other = other.slice(0, other.num_rows - seed % 2)
    for name, each in (("one", table), ("two", other)):
        (tmp_path / name).mkdir()
        publish(each, tmp_path / name / "release")
    one, two = (public_page(tmp_path / name / "release") for name in ("one", "two"))
    assert one == two


@pytest.mark.slow
def test_a_public_report_names_no_value_that_fewer_people_share_than_promised() -> None:
    """Every class has 6 people, and one disease only 1: it is named to the publisher, never to the public."""
    diseases = ["flu", "cold", "ulcer"] * 5 + ["flu", "flu", "kuru"]
    table = pa.table({"zip": PATIENTS["zip"], "disease": diseases})
    inside = dv.report(table, {"k_anonymity": 5}, **ROLES)
    public = dv.report(table, {"k_anonymity": 5}, **ROLES, audience="public")
    assert "kuru" in texts(inside.html())
    assert "kuru" not in public.html()
    assert "PUBLIC" in texts(public.html())
    for policy in ({"k_anonymity": 7}, {"l_diversity": 2}):  # a class is smaller than promised, and no k is promised
        page = dv.report(table, policy, **ROLES, audience="public").html()
        assert not [name for name in ("kuru", "47601", "47602", "47701") if name in page]


def test_a_public_report_is_made_from_published_files_alone(tmp_path: Path) -> None:
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 7}, leave_out="note", **ROLES)
    with pytest.raises(BadInput, match="made from published files, and a GeneralizedRelease may know more"):
        dv.report(release, audience="public")
    with pytest.raises(BadInput, match="original= is none of them"):
        dv.report(PATIENTS, audience="public", adversary=dv.Adversary(original=PATIENTS), **ROLES)
    folder = release.write(tmp_path / "release")
    page = dv.report(folder, audience="public", date=DAY).html()
    for path in (folder / "mapping").iterdir():
        path.unlink()
    (folder / "mapping").rmdir()
    assert dv.report(folder, audience="public", date=DAY).html() == page
    assert str(tmp_path) not in page


# --- what else could stand on a public page ---------------------------------------------------------------------------
@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A release in a folder whose name is its publisher's affair, made from a table of the same kind."""
    secret = tmp_path / "ward-for-HIV"
    secret.mkdir()
    table = PATIENTS.append_column("ssn", [[str(1000 + place) for place in range(18)]])
    policy = dv.Policy(k_anonymity=7, roles={"identifier": "ssn", "leave_out": "note"})
    return dv.generalize(table, policy=policy, **ROLES).write(secret / "release of the clinic", seed=1)


@pytest.mark.slow
def test_a_public_page_tells_neither_folder_nor_machine(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = dv.report(published, audience="public", date=DAY).html()
    for told in ("ward-for-HIV", "release of the clinic", str(published.parent)):
        assert told not in page
    moved = published.rename(published.with_name("b"))
    monkeypatch.chdir(published.parent)
    monkeypatch.setattr("platform.python_version", lambda: "3.99.9")  # not the publisher's affair either
    assert dv.report(moved, audience="public", date=DAY).html() == page
    assert dv.report("b", audience="public", date=DAY).html() == page
    document = dv.report("b", audience="public", date=DAY).to_dict()
    assert str(published.parent) not in json.dumps(document)


def test_a_public_page_of_a_release_names_the_columns_that_its_manifest_names(published: Path) -> None:
    """That there was a column ssn, and that it was left out, everybody reads in manifest.json; of its values nothing is anywhere."""
    page = dv.report(published, audience="public", date=DAY).html()
    manifest = (published / "manifest.json").read_text(encoding="utf-8")
    assert "ssn" in page
    assert "ssn" in manifest
    assert not [number for number in range(1000, 1018) if re.search(rf"(?<![\w.]){number}(?![\w.])", texts(page))]


def test_a_public_page_of_a_table_names_no_column_that_is_not_in_it(tmp_path: Path) -> None:
    import pyarrow.csv

    (tmp_path / "secret").mkdir()
    pyarrow.csv.write_csv(PATIENTS.drop_columns(["note"]), tmp_path / "secret" / "patients.csv")
    (tmp_path / "secret" / "our-policy.toml").write_text(
        'leave_out = ["hiv_status"]\nidentifier = "ssn"\nquasi_identifiers = "zip"\nsensitive = "disease"\n[promises]\nk_anonymity = 5\n',
        encoding="utf-8",
    )
    where = tmp_path / "secret"
    asked = ("report", str(where / "patients.csv"), "--policy", str(where / "our-policy.toml"))
    found = run_cli(*asked, "--audience", "public", "--json", "--out", str(tmp_path / "public.html"))
    assert found.code == 0, found.err
    page = (tmp_path / "public.html").read_text(encoding="utf-8")
    answer = json.loads(found.out)
    assert answer.pop("written") == str(tmp_path / "public.html")
    for told in (page, json.dumps(answer)):
        assert not [word for word in ("hiv_status", "ssn", "secret", str(tmp_path)) if word in told]
    assert "patients.csv" in page


def test_a_public_page_of_something_that_is_no_file_is_about_the_table() -> None:
    page = dv.report(PATIENTS, {"k_anonymity": 5}, **ROLES, plain="note", audience="public", date=DAY).html()
    assert "What the table tells" in texts(page)


def test_no_data_of_a_picture_on_a_public_page_is_about_few_people() -> None:
    """A picture carries its data. Each value that is rarer than k, and each class that is smaller, is in none of them."""
    diseases = ["flu", "cold", "ulcer"] * 5 + ["flu", "flu", "kuru"]
    table = pa.table({"zip": ["47601"] * 6 + ["47602"] * 6 + ["47701"] * 4 + ["47702"] * 2, "disease": diseases})
    page = dv.report(table, {"k_anonymity": 5}, **ROLES, audience="public").html()
    specs = re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL)
    images = [base64.b64decode(each).decode() for each in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)]
    assert specs
    assert images
    for drawn in (*specs, *images, page):
        assert not [rare for rare in ("kuru", "47701", "47702") if rare in drawn]
