# SPDX-License-Identifier: Apache-2.0
"""Reports: one file without requests; a public report shows only what the release shows."""

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
from divulge.output import html
from divulge.output.report import not_promised
from divulge.releases import private_place
from tests.helpers import run_cli
from tests.output.test_html import Seen
from tests.releases.test_what_a_release_hides import (
    DISEASES,
    changed,
    guesses,
    numbers_in,
    original_json,
    people,
    publish,
)

pytestmark = pytest.mark.xdist_group(
    "browser"
)  # one process builds the drawing script for all tests of pages
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
    """Return the visible text of a page."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(text.strip() for text in Seen(body).texts if text.strip())


def test_the_page_allows_its_own_style_sheet_and_scripts_and_nothing_else() -> None:
    page = dv.report(PATIENTS, {"k_anonymity": 5}, **ROLES).html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}

    def hashed(tag: str) -> list[str]:
        found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        return [
            f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
            for each in found
        ]

    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert rules["script-src"] == hashed("script")
    assert rules["style-src"] == hashed("style")
    assert rules["img-src"] == ["data:"]
    assert len(page.encode()) < 3_000_000
    seen = Seen(re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL))
    assert {"a", "link", "iframe", "object", "form", "base"} & set(seen.elements) == set()
    assert {"style", "href", "onclick", "onload"} & {name for name, _ in seen.attributes} == set()


def test_the_page_shows_numbers_counted_by_hand() -> None:
    """In 47701 all six have HIV, a third of all; elsewhere three diseases are equally common."""
    report = dv.report(
        PATIENTS,
        {"k_anonymity": 5, "l_diversity": 2},
        plain="note",
        **ROLES,
        date=DAY,
        title="Our patients",
    )
    text = texts(report.html())
    assert "INTERNAL" in text
    assert "What Our patients tells" in text
    assert "17 November 2026" in text
    assert (
        "No record is unique by zip : each combination is shared by at least 6 people." in text
    )  # the name is an element
    assert "The disease of 6 people can be inferred with more than 80% confidence" in text
    assert "with 100% confidence (best guess without the table: 33%)" in text
    assert "1 of 2 promises is broken" in text
    assert "6 people. Everybody here has the same disease ." in text
    assert "18 of 18 people (100%) are unique for one who also knows note" in text
    assert "--qi zip --sensitive disease" in text
    assert "[promises] k_anonymity = 5 l_diversity = 2" in " ".join(text.split())
    assert report.to_dict()["promises"] == [
        {"promise": "k_anonymity >= 5", "bound": 5.0, "value": 6.0, "holds": True},
        {"promise": "l_diversity >= 2 (disease)", "bound": 2.0, "value": 1.0, "holds": False},
    ]


def test_the_policy_of_a_report_is_a_policy_file(tmp_path: Path) -> None:
    from divulge.output.provenance import invocation

    report = dv.report(PATIENTS, {"k_anonymity": 5}, plain="note", **ROLES, date=DAY)
    (tmp_path / "divulge.toml").write_text(invocation(report).as_policy(), encoding="utf-8")
    assert dv.check(PATIENTS, tmp_path / "divulge.toml").holds


@pytest.mark.slow
def test_only_protections_of_a_policy_file_are_repeated_by_the_command(tmp_path: Path) -> None:
    sentence = "Promises to chosen people or values have to be given again"
    people = pa.table({"zip": [*"112233"], "disease": [*"xyxyxy"]})
    file = tmp_path / "policy.toml"
    protect = '[[protect]]\nwhere = {disease = "x"}\nk_anonymity = 2\n'
    file.write_text(f"[promises]\nk_anonymity = 2\n{protect}", encoding="utf-8")
    from_file = dv.Policy.load(file)
    in_python = dv.Policy(k_anonymity=2, protections=from_file.protections)
    for policy, is_repeated in ((file, True), (in_python, False)):
        report = dv.report(people, policy, quasi_identifiers="zip", sensitive="disease")
        assert (sentence in texts(report.html())) is not is_repeated


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
    text = texts(dv.report(release).html())
    assert "without k_anonymity >= 7" in text  # the cost of the requirement
    assert "from the original's distribution on average" in text  # utility
    assert "prosecutor" in text  # attacks
    assert "Bounded by k_anonymity >= 7" in text


def test_options_that_a_result_already_has_raise_an_error() -> None:
    with pytest.raises(BadInput, match="policy= has no effect: a Measurement says itself"):
        dv.report(dv.measure(PATIENTS, **ROLES), {"k_anonymity": 5})


@pytest.mark.parametrize("path", ["report.pdf", "report", "nowhere/report.html"])
def test_an_invalid_path_raises_an_error_before_the_work(path: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="report"):
        dv.report(dv.measure(PATIENTS, **ROLES)).save(tmp_path / path)
    found = run_cli(
        "report", str(tmp_path / "there-is-no-table.csv"), "--out", str(tmp_path / path)
    )
    assert found.code == 2
    assert "there-is-no-table" not in found.err


# --- for the public -------------------------------------------------------------------------------
def public_page(folder: Path) -> str:
    """Return the public report that anyone can make from the published files."""
    return dv.report(folder, audience="public", date=DAY, title="The release").html()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes, Counter[str]]]:
    """Return public reports of releases, the published tables, and the suppressed values.

    Images are omitted because they are drawn from the embedded specification, which takes most of
    the time.
    """
    found = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            html, "picture", lambda spec: html.el("img", alt=html.title_of(json.loads(spec)))
        )
        for seed in range(8):
            rng = random.Random(seed)  # noqa: S311
            left_out = [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))]
            folder = tmp_path_factory.mktemp("r") / "out"
            public = publish(people(rng, left_out), folder)
            found.append((public_page(folder), public["table.csv"], Counter(left_out)))
    return found


@pytest.mark.slow
def test_a_public_report_has_no_hash_of_what_is_private(
    pages: list[tuple[str, bytes, Counter[str]]],
) -> None:
    for page, table, truth in pages:
        shown, ways = guesses(table)
        assert truth in ways
        made = [hashlib.sha256(original_json(shown + way)).hexdigest() for way in ways]
        assert not [digest for digest in made if digest in page]
        text = texts(page)
        assert set(re.findall(r"\b[0-9a-f]{64}\b", text)) == {hashlib.sha256(table).hexdigest()}


@pytest.mark.slow
def test_no_number_of_a_public_report_distinguishes_guesses(
    pages: list[tuple[str, bytes, Counter[str]]],
) -> None:
    """The adversary computes the leakage against the original for each guess.

    No guess gives a number that is on the page.
    """
    for page, table, truth in pages:
        shown, ways = guesses(table)
        classes: dict[str, Counter[str]] = {}
        for line in table.decode().splitlines()[1:]:
            town, _, disease = line.rpartition(",")
            classes.setdefault(town, Counter())[disease] += 1
        shown_numbers = [float(text) for text in re.findall(r"(?<![\w.])\d+\.\d{3,}", texts(page))]
        for spec in re.findall(
            r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL
        ):
            shown_numbers += list(numbers_in(json.loads(spec)))

        def distance(before: Counter[str], inside: dict[str, Counter[str]] = classes) -> float:
            prior = {value: before[value] / before.total() for value in before}
            return float(
                max(
                    sum((c[v] / c.total() - prior[v]) ** 2 for v in prior) ** 0.5
                    for c in inside.values()
                )
            )

        published_distance = distance(shown)
        assert shown_numbers
        assert truth in ways
        hits = [
            way
            for way in ways
            if abs(distance(shown + way) - published_distance) > 1e-3
            and _is_shown(distance(shown + way), shown_numbers)
        ]
        assert truth not in hits


def _is_shown(value: float, shown_numbers: list[float]) -> bool:
    return any(abs(number - value) < 1e-9 for number in shown_numbers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_originals_that_differ_in_what_is_left_out_give_the_same_public_report(
    seed: int, tmp_path: Path
) -> None:
    rng = random.Random(300 + seed)  # noqa: S311
    table = people(rng, [rng.choice(DISEASES) for _ in range(rng.randint(2, 4))])
    other = changed(rng, table, [town in ("a", "b") for town in table.column("town").to_pylist()])
    other = other.slice(0, other.num_rows - seed % 2)
    for name, original in (("one", table), ("two", other)):
        (tmp_path / name).mkdir()
        publish(original, tmp_path / name / "release")
    first_page, second_page = (public_page(tmp_path / name / "release") for name in ("one", "two"))
    assert first_page == second_page


@pytest.mark.slow
def test_a_public_report_shows_no_value_shared_by_fewer_people_than_k() -> None:
    """Every class has 6 people, and one disease has only 1.

    That disease is shown to the publisher, never to the public.
    """
    diseases = ["flu", "cold", "ulcer"] * 5 + ["flu", "flu", "kuru"]
    table = pa.table({"zip": PATIENTS["zip"], "disease": diseases})
    inside = dv.report(table, {"k_anonymity": 5}, **ROLES)
    public = dv.report(table, {"k_anonymity": 5}, **ROLES, audience="public")
    assert "kuru" in texts(inside.html())
    assert "kuru" not in public.html()
    assert "PUBLIC" in texts(public.html())
    # a class is smaller than required, and no k is required
    for policy in ({"k_anonymity": 7}, {"l_diversity": 2}):
        page = dv.report(table, policy, **ROLES, audience="public").html()
        assert not [name for name in ("kuru", "47601", "47602", "47701") if name in page]


def test_a_public_report_is_made_from_published_files_alone(tmp_path: Path) -> None:
    release = dv.generalize(PATIENTS, policy={"k_anonymity": 7}, leave_out="note", **ROLES)
    with pytest.raises(
        BadInput, match="made from published files, and a GeneralizedRelease may know more"
    ):
        dv.report(release, audience="public")
    with pytest.raises(BadInput, match="original= is none of them"):
        dv.report(PATIENTS, audience="public", adversary=dv.Adversary(original=PATIENTS), **ROLES)
    folder = release.write(tmp_path / "release")
    page = dv.report(folder, audience="public", date=DAY).html()
    for path in (private_place(folder) / "mapping").iterdir():
        path.unlink()
    (private_place(folder) / "mapping").rmdir()
    assert dv.report(folder, audience="public", date=DAY).html() == page
    assert str(tmp_path) not in page


# --- other content of a public page ---------------------------------------------------------------
@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Publish a release into a folder whose name must not be disclosed."""
    secret = tmp_path / "ward-for-HIV"
    secret.mkdir()
    table = PATIENTS.append_column("ssn", [[str(1000 + number) for number in range(18)]])
    policy = dv.Policy(k_anonymity=7, roles={"identifier": "ssn", "leave_out": "note"})
    return dv.generalize(table, policy=policy, **ROLES).write(
        secret / "release of the clinic", seed=1
    )


@pytest.mark.slow
def test_a_public_page_shows_neither_folder_nor_machine(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = dv.report(published, audience="public", date=DAY).html()
    for secret in ("ward-for-HIV", "release of the clinic", str(published.parent)):
        assert secret not in page
    moved = published.rename(published.with_name("b"))
    monkeypatch.chdir(published.parent)
    # not the publisher's affair either
    monkeypatch.setattr("platform.python_version", lambda: "3.99.9")
    assert dv.report(moved, audience="public", date=DAY).html() == page
    assert dv.report("b", audience="public", date=DAY).html() == page
    document = dv.report("b", audience="public", date=DAY).to_dict()
    assert str(published.parent) not in json.dumps(document)


def test_a_public_page_of_a_release_names_the_columns_that_its_manifest_names(
    published: Path,
) -> None:
    """manifest.json states that there was a column ssn and that it was left out.

    None of its values is anywhere.
    """
    page = dv.report(published, audience="public", date=DAY).html()
    manifest = (published / "manifest.json").read_text(encoding="utf-8")
    assert "ssn" in page
    assert "ssn" in manifest
    assert not [
        number
        for number in range(1000, 1018)
        if re.search(rf"(?<![\w.]){number}(?![\w.])", texts(page))
    ]


def test_a_public_page_of_a_table_names_no_column_that_is_not_in_it(tmp_path: Path) -> None:
    import pyarrow.csv

    (tmp_path / "secret").mkdir()
    pyarrow.csv.write_csv(PATIENTS.drop_columns(["note"]), tmp_path / "secret" / "patients.csv")
    (tmp_path / "secret" / "our-policy.toml").write_text(
        'leave_out = ["hiv_status"]\nidentifier = "ssn"\nquasi_identifiers = "zip"\nsensitive = '
        '"disease"\n[promises]\nk_anonymity = 5\n',
        encoding="utf-8",
    )
    where = tmp_path / "secret"
    command = ("report", str(where / "patients.csv"), "--policy", str(where / "our-policy.toml"))
    found = run_cli(
        *command, "--audience", "public", "--json", "--out", str(tmp_path / "public.html")
    )
    assert found.code == 0, found.err
    page = (tmp_path / "public.html").read_text(encoding="utf-8")
    answer = json.loads(found.out)
    assert answer.pop("written") == str(tmp_path / "public.html")
    for output in (page, json.dumps(answer)):
        assert not [
            word for word in ("hiv_status", "ssn", "secret", str(tmp_path)) if word in output
        ]
    assert "patients.csv" in page


def test_a_public_page_of_a_table_in_memory_names_it_table() -> None:
    page = dv.report(
        PATIENTS, {"k_anonymity": 5}, **ROLES, plain="note", audience="public", date=DAY
    ).html()
    assert "What the table tells" in texts(page)


def test_no_chart_data_on_a_public_page_is_about_fewer_than_k_people() -> None:
    """A chart contains its data.

    No value rarer than k and no smaller class is in any of them.
    """
    diseases = ["flu", "cold", "ulcer"] * 5 + ["flu", "flu", "kuru"]
    table = pa.table(
        {"zip": ["47601"] * 6 + ["47602"] * 6 + ["47701"] * 4 + ["47702"] * 2, "disease": diseases}
    )
    page = dv.report(table, {"k_anonymity": 5}, **ROLES, audience="public").html()
    specs = re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL)
    images = [
        base64.b64decode(each).decode()
        for each in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    ]
    assert specs
    assert images
    for drawn in (*specs, *images, page):
        assert not [rare for rare in ("kuru", "47701", "47702") if rare in drawn]


def test_columns_that_are_not_counted_are_mentioned_only_if_they_were_not_measured() -> None:
    """A report on a table measures all its columns; a measurement alone knows its roles only."""
    sentence = "What somebody knows beside the quasi-identifiers is not counted."
    people = PATIENTS.select(["zip", "disease"])
    measured, of_table = dv.measure(people, **ROLES), dv.report(people, **ROLES)
    assert sentence in "".join(not_promised(dv.report(measured)))
    assert of_table.uniqueness is not None
    assert sentence not in "".join(not_promised(of_table))
