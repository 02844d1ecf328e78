# SPDX-License-Identifier: Apache-2.0
"""Every number of a text, recomputed on data in which minimum, mean and maximum differ."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest

import divulge as dv
from divulge.output import attack, ci_reports, summary
from divulge.output.measurement import story_text
from divulge.policy import Promise, judge
from tests.output.test_text import printed

ROWS: list[dict[str, Any]] = [
    {"zip": zip_, "sex": sex, "disease": disease, "pay": pay}
    for zip_, sex, disease, pay, copies in (
        ("a", "f", "flu", 10, 6),
        ("a", "f", "cold", 10, 2),
        ("a", "m", "flu", 20, 5),
        ("a", "m", "hiv", 20, 5),
        ("b", "f", "flu", 30, 9),
        ("b", "f", "hiv", 20, 1),
        ("b", "m", "cold", 10, 3),
        ("c", "f", "hiv", 30, 7),
        ("c", "m", "flu", 20, 1),
        ("d", "m", "cold", 10, 1),
    )
    for _ in range(copies)
]
ROLES: dict[str, Any] = {"quasi_identifiers": ["zip", "sex"], "sensitive": "disease"}


def table(rows: Sequence[Mapping[str, Any]] = ROWS) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows])


def classes(
    rows: Sequence[Mapping[str, Any]], *keys: str
) -> dict[tuple[Any, ...], list[Mapping[str, Any]]]:
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def shares(rows: Sequence[Mapping[str, Any]], column: str) -> dict[Any, float]:
    return {
        value: count / len(rows) for value, count in Counter(row[column] for row in rows).items()
    }


def divergence(posterior: Mapping[Any, float], prior: Mapping[Any, float]) -> float:
    return sum(share * math.log2(share / prior[value]) for value, share in posterior.items())


def entropy(distribution: Mapping[Any, float]) -> float:
    return -sum(share * math.log2(share) for share in distribution.values())


def in_one_line(shown: Any) -> str:
    return " ".join((shown if isinstance(shown, str) else printed(shown)).split())


def page(shown: Any) -> str:
    return in_one_line(re.sub("<[^>]+>", "", str(shown)).replace("&#x27;", "'"))


# --- a measurement --------------------------------------------------------------------------------
def test_the_story_of_a_measurement() -> None:
    members, prior = classes(ROWS, "zip", "sex"), shares(ROWS, "disease")
    unique = sum(len(rows) == 1 for rows in members.values())
    divergences = {key: divergence(shares(rows, "disease"), prior) for key, rows in members.items()}
    average = sum(len(members[key]) / len(ROWS) * value for key, value in divergences.items())
    far = sum(len(members[key]) for key, value in divergences.items() if value > 2 * average)
    output = in_one_line(story_text(dv.measure(table(), **ROLES)))
    assert f"{len(ROWS)} rows, {len(ROWS)} people, {len(members)} classes of zip + sex" in output
    assert f"{unique} people ({unique / len(ROWS):.0%}) are unique" in output
    assert len({min(divergences.values()), average, max(divergences.values())}) == 3
    assert (
        f"is {average:.4g} bits on average and {max(divergences.values()):.4g} in the worst "
        "class, zip=b, sex=m" in output
    )
    assert (
        f"Classes with more than twice the average hold {far / len(ROWS):.0%} of people." in output
    )


def test_the_story_where_nobody_is_unique() -> None:
    rows = [row for row in ROWS if (row["zip"], row["sex"]) not in (("c", "m"), ("d", "m"))]
    fewest = min(map(len, classes(rows, "zip", "sex").values()))
    output = in_one_line(story_text(dv.measure(table(rows), **ROLES)))
    assert fewest == 3
    assert "every class has at least 3 people (k = 3)" in output
    assert "picked with probability at most 1/3 (about 33%)" in output


def test_the_list_of_the_worst_classes_states_prior_and_posterior() -> None:
    prior = shares(ROWS, "disease")
    output = in_one_line(story_text(dv.measure(table(), **ROLES)))
    assert (
        f"zip=c, sex=f (7 people): everybody has disease=hiv, against {prior['hiv']:.0%} before."
        in output
    )
    assert (
        f"zip=b, sex=f (10 people): disease rises: flu from {prior['flu']:.0%} to 90%; an "
        "observer can rule out cold" in output
    )


# --- the headline ---------------------------------------------------------------------------------
def test_the_headline_states_both_priors() -> None:
    """The rare value is disclosed; the most common value has another prior.

    The headline must not confuse them.
    """
    rows = (
        [{"q": "x", "s": "rare"}] * 9 + [{"q": "x", "s": "often"}] + [{"q": "y", "s": "often"}] * 50
    )
    rows += [{"q": "y", "s": "other"}] * 40
    output = page(summary.answer(dv.measure(table(rows), quasi_identifiers="q", sensitive="s")))
    assert "No record is unique by q: each combination is shared by at least 10 people." in output
    assert (
        "The s of 10 people can be inferred with more than 80% confidence: rare for q x (10 "
        "people), " in output
    )
    assert (
        "with 90% confidence (prior of this value: 9%; best guess without the table: 51%)."
        in output
    )


def test_the_headline_counts_wildcards() -> None:
    """A null fits 1 and 2: two people match `1` and the null, three match `2` and the null.

    With another person in 3, only the null itself matches that person too.
    """
    wildcards = dv.Adversary(nulls="wildcard")
    rows = [{"q": q, "s": s} for q, s in zip(["1", "1", None, "2", "2"], "xyxyx", strict=True)]
    measured = dv.measure(table(rows), quasi_identifiers="q", sensitive="s", adversary=wildcards)
    assert "No record is unique by q: each matches at least 2 people." in page(
        summary.answer(measured)
    )
    assert (
        "every record matches at least 2 people (k = 2), wildcards counted, so the record of a "
        "person is picked with probability at most 1/2 (about 50%)." in in_one_line(str(measured))
    )
    rows.append({"q": "3", "s": "y"})
    measured = dv.measure(table(rows), quasi_identifiers="q", sensitive="s", adversary=wildcards)
    assert "1 of 6 people is unique: no other record matches by q, wildcards counted." in page(
        summary.answer(measured)
    )


def test_the_headline_is_not_silent_about_a_likely_value() -> None:
    """Of 100 people in x, 71 have the common value.

    The larger gain is that of a rare value in y.
    """
    rows = [{"q": "x", "s": "often"}] * 71 + [{"q": "x", "s": "other"}] * 29
    rows += [{"q": "y", "s": "rare"}] * 50 + [{"q": "y", "s": "other"}] * 50
    output = page(summary.answer(dv.measure(table(rows), quasi_identifiers="q", sensitive="s")))
    assert (
        "The most confident inference of s: often for q x (100 people), with 71% confidence"
        in output
    )
    assert "prior of this value: 36%; best guess without the table: 40%" in output


def test_a_disclosed_value_does_not_hide_a_more_confident_one() -> None:
    rows = [{"q": "x", "s": "+"}] * 9 + [{"q": "x", "s": "-"}] + [{"q": "y", "s": "-"}] * 90
    output = page(summary.answer(dv.measure(table(rows), quasi_identifiers="q", sensitive="s")))
    assert "The s of 10 people can be inferred with more than 80% confidence: + for q x" in output
    assert "another value, likely without the table, with 100%" in output


def test_every_disclosed_column_is_in_the_headline() -> None:
    """Each of five columns is disclosed in the class x, with another posterior."""
    columns = "cdefg"
    rows = []
    for row in range(40):
        exceptions = {column: row < at for at, column in enumerate(columns)}
        rows.append(
            {"q": "x"} | {column: "no" if exceptions[column] else "yes" for column in columns}
        )
    rows += [{"q": "y"} | dict.fromkeys(columns, "no") for _ in range(60)]
    output = page(
        summary.answer(dv.measure(table(rows), quasi_identifiers="q", sensitive=list(columns)))
    )
    assert output.count("can be inferred with more than 80% confidence") == 3
    assert "f and g can also be inferred of some people with more than 80% confidence." in output


def test_the_four_numbers_above_a_page() -> None:
    members, prior = classes(ROWS, "zip", "sex"), shares(ROWS, "disease")
    before = entropy(prior)
    changes = {key: abs(before - entropy(shares(rows, "disease"))) for key, rows in members.items()}
    average = sum(len(members[key]) / len(ROWS) * change for key, change in changes.items())
    output = page(summary.four_tiles(dv.measure(table(), **ROLES)))
    assert f"{len(ROWS)}people in {len(members)} classes of zip and sex" in output
    assert "1person in the smallest class (k = 1)" in output
    assert "100%confidence in a value of disease in one class" in output
    assert (
        f"{max(changes.values()):.2g} bitschange of the entropy of disease in the worst class"
        in output
    )
    assert f"prior entropy {before:.2g} bits, change {average:.4g} on average" in output


def test_cards_of_classes_state_the_chance_for_one_person() -> None:
    """One person has c and two have b."""
    rows = [{"q": value} for value in "aaaabbc"]
    output = page(dv.measure(table(rows), quasi_identifiers="q")._repr_html_())
    assert "1 person: anyone who knows these values knows whose record it is." in output
    assert "2 people: the record of one of them is picked with probability 50%." in output


# --- several rows per person ----------------------------------------------------------------------
VISITS: list[dict[str, Any]] = [
    {"who": who, "zip": zip_, "s": s}
    for who, zip_, s in (
        (1, "a", "u"),
        (1, "b", "u"),
        (1, "c", "v"),
        (2, "d", "u"),
        (3, "e", "v"),
        (4, "e", "u"),
        (5, "e", "u"),
        (5, "f", "u"),
        (6, "f", "v"),
        (6, "f", "v"),
    )
]


def test_people_are_distinct_people() -> None:
    """1 is the only person of three classes and 2 of one: two people are unique, in four
    classes.
    """
    measured = dv.measure(table(VISITS), quasi_identifiers="zip", sensitive="s", person="who")
    assert measured.identity["uniques"].value == 2
    output = in_one_line(story_text(measured))
    assert "10 rows, 6 people, 6 classes of zip" in output
    assert (
        "2 people (33%) are unique in at least one of their rows (4 classes of 6 hold one person)"
        in output
    )
    assert "2 of 6 people are unique in at least one of their rows" in page(
        summary.answer(measured)
    )
    subtitle = dv.charts.class_sizes(measured).to_dict()["title"]["subtitle"]
    expected = (
        "9 people in 6 classes; 4 of the classes hold one person. A person counts once "
        "in each "
        "class."
    )
    assert expected in in_one_line(" ".join([subtitle] if isinstance(subtitle, str) else subtitle))


def test_a_sum_over_classes_says_that_people_count_in_each() -> None:
    measured = dv.measure(table(VISITS), quasi_identifiers="zip", sensitive="s", person="who")
    verdict = judge(measured, [Promise.make("k_anonymity", 3)])
    people = Counter(
        row["zip"] for row in {(row["who"], row["zip"]): row for row in VISITS}.values()
    )
    few = [size for size in people.values() if size < 3]
    expected = f"{len(few)} classes with {sum(few)} people (a person counts once in each class)"
    assert expected == "5 classes with 6 people (a person counts once in each class)"
    assert expected in in_one_line(verdict.text())
    assert expected in "".join(case.broken for case in ci_reports.cases_of(verdict))
    assert expected in page(summary.lines_of(verdict)[0].why)


def test_a_person_is_in_one_class_of_all_their_rows() -> None:
    """By all their rows people are in abc, d, e, e, ef and f: five classes, each with fewer than
    three people.
    """
    verdict = dv.check(
        table(VISITS),
        dv.Policy(k_anonymity=3),
        quasi_identifiers="zip",
        sensitive="s",
        person="who",
    )
    expected = "broken by 5 classes with 6 people"
    for text in (
        in_one_line(verdict.text()),
        " ".join(
            case.broken.replace("is broken: measured 1, by", "is broken by")
            for case in ci_reports.cases_of(verdict)
        ),
        " ".join(f"{page(line.name)} is {line.why}." for line in summary.lines_of(verdict)),
    ):
        linked = text.rsplit("by all rows of a person", 1)[1]
        assert expected in linked
        assert "a person counts once" not in linked


def test_nulls_are_shares_of_rows_or_of_people_in_classes() -> None:
    rows = [{**row, "zip": None if row["zip"] == "e" else row["zip"]} for row in VISITS]
    (by_row,) = dv.measure(
        table(rows), quasi_identifiers="zip", identifier="who", sensitive="s"
    ).notes[-1:]
    assert "null stands in 30 % of the rows in zip" in by_row
    (note,) = dv.measure(table(rows), quasi_identifiers="zip", sensitive="s", person="who").notes
    assert "null stands in 33 % of the people (each counted once in each class) in zip" in note
    assert "wildcard" not in note  # it is rejected where a person may own several rows


# --- perturbation ---------------------------------------------------------------------------------
def test_the_numbers_of_a_perturbation() -> None:
    """Pay was published as a two-valued column; disease is what an adversary is after."""
    published = [
        {**row, "pay": 10 if row["pay"] == 10 or row["zip"] == "a" else 30} for row in ROWS
    ]
    found = dv.perturbed(table(), table(published), columns="pay", sensitive="disease", epsilon=2.0)
    pairs = [
        {"pay": new["pay"], "old": old["pay"], "disease": old["disease"]}
        for old, new in zip(ROWS, published, strict=True)
    ]
    members = classes(pairs, "pay")
    weights = {key: len(rows) / len(pairs) for key, rows in members.items()}
    original, disease = entropy(shares(pairs, "old")), shares(pairs, "disease")
    left = {key: entropy(shares(rows, "old")) for key, rows in members.items()}
    i1 = {key: divergence(shares(rows, "disease"), disease) for key, rows in members.items()}
    i2 = {key: entropy(disease) - entropy(shares(rows, "disease")) for key, rows in members.items()}
    known = classes(pairs, "old")
    by_original = sum(
        len(rows) / len(pairs) * divergence(shares(rows, "disease"), disease)
        for rows in known.values()
    )
    of_original = {
        key: divergence(shares(rows, "pay"), shares(pairs, "pay")) for key, rows in known.items()
    }
    mutual = original - sum(weights[key] * left[key] for key in members)
    for numbers in (left, i1, i2, of_original):
        assert max(numbers.values()) - min(numbers.values()) > 0.01
    output = in_one_line(found.text())
    assert (
        f"There were {original:.4g} bits to learn; publication gives {mutual:.4g} on average."
        in output
    )
    assert (
        f"The worst class gives {original - min(left.values()):.4g} bits and leaves "
        f"{min(left.values()):.4g}." in output
    )
    about = sum(weights[key] * i1[key] for key in members)
    assert (
        f"About disease they give {about:.4g} of {entropy(disease):.4g} bits on average" in output
    )
    assert f"(the original would give {by_original:.4g})" in output
    assert f"the KL divergence from the prior (I1) is at most {max(i1.values()):.4g} bits" in output
    assert f"the entropy falls by at most {max(i2.values()):.4g} (I2)" in output
    allowed = 2.0 * math.tanh(1.0) * math.log2(math.e)
    assert f"Epsilon 2 for each value allows {allowed:.4g} bits of surprise" in output
    assert (
        f"measured are at most {max(of_original.values()):.4g} ({mutual:.4g} on average)." in output
    )
    document = found.to_dict()
    assert document["conditional_entropy"] == pytest.approx(min(left.values()))
    assert document["specific_information"] == pytest.approx(original - min(left.values()))
    assert document["surprise_of_original"] == pytest.approx(max(of_original.values()))
    assert document["surprise_bound"] == pytest.approx(allowed)
    assert document["attributes"]["disease"] == pytest.approx(
        {
            "entropy": entropy(disease),
            "mutual_information": about,
            "information_of_original": by_original,
            "surprise": max(i1.values()),
            "specific_information": max(i2.values()),
        }
    )


# --- columns --------------------------------------------------------------------------------------
def test_the_numbers_of_a_profile() -> None:
    output = in_one_line(dv.profile(table()).text())
    bits = math.log2(len(ROWS))
    for column in ("zip", "sex", "disease", "pay"):
        distribution = shares(ROWS, column)
        column_bits = entropy(distribution)
        assert re.search(
            rf"\b{column} \w+ {len(distribution)} 0 {column_bits:.2f} {column_bits / bits:.2f} ",
            output,
        ), column


def test_the_numbers_of_a_ranking() -> None:
    output = in_one_line(dv.rank(table(), quasi_identifiers=["zip", "sex", "pay"], up_to=2).text())
    bits = math.log2(len(ROWS))
    rates = {}
    for columns in (("zip",), ("sex",), ("zip", "sex"), ("zip", "sex", "pay")):
        sizes = [len(rows) for rows in classes(ROWS, *columns).values()]
        unique = sum(size == 1 for size in sizes)
        rates[columns] = 1 - sum(size * math.log2(size) for size in sizes) / len(ROWS) / bits
        if len(columns) < 3:
            row = f"{' + '.join(columns)} {min(sizes)} {len(sizes)} {unique} {rates[columns]:.4f} "
            assert row in output
    assert f"{len(ROWS)} rows; all together: DR {rates['zip', 'sex', 'pay']:.4f}" in output


# --- a policy and a release -----------------------------------------------------------------------
def test_the_numbers_of_a_verdict() -> None:
    members = classes(ROWS, "zip", "sex")
    verdict = judge(
        dv.measure(table(), **ROLES),
        [Promise.make("k_anonymity", 8), Promise.make("l_diversity", 2)],
        sample=2,
    )
    output = in_one_line(verdict.text(sample=2))
    small = [len(rows) for rows in members.values() if len(rows) < 8]
    same = [len(rows) for rows in members.values() if len({row["disease"] for row in rows}) < 2]
    assert (len(small), sum(small), len(same), sum(same)) == (4, 12, 4, 12)
    assert f"{len(ROWS)} rows, {len(members)} classes" in output
    assert "k_anonymity >= 8 is broken by 4 classes with 12 people; the worst: " in output
    assert (
        "l_diversity >= 2 (disease) is broken by 4 classes with 12 people; the worst: zip=c, "
        "sex=f (7 people): 1 " in output
    )
    assert "2 of 2 promises are broken" in output
    assert [line.measured for line in summary.lines_of(verdict)] == [1.0, 1.0]
    assert [line.limit for line in summary.lines_of(verdict)] == [8.0, 2.0]


def test_the_numbers_of_a_release(tmp_path: Path) -> None:
    release = dv.generalize(
        table(), policy=dv.Policy(k_anonymity=4, suppression=0.2), leave_out="pay", **ROLES
    )
    release.write(tmp_path / "release", format="csv")
    output = in_one_line(release.text())
    published = pyarrow.csv.read_csv(tmp_path / "release" / "table.csv").to_pylist()
    gone = len(ROWS) - len(published)
    before, after = classes(ROWS, "zip", "sex"), classes(published, "zip", "sex")
    assert gone > 0
    assert f"{gone} people left out ({gone / len(ROWS):.0%}; allowed: 20%)." in output
    assert f"{len(before)} classes become {len(after)}." in output
    assert f"k_anonymity >= 4 1 {min(map(len, after.values()))} holds" in output
    zips, published_zips = ({row["zip"] for row in rows} for rows in (ROWS, published))
    assert f"zip: published as it is ({len(published_zips)} of {len(zips)} values)." in output
    unique = sum(len(rows) == 1 for rows in classes(published, "zip", "sex", "disease").values())
    assert f"{unique} of {len(published)} people ({100 * unique / len(published):.3g}%)" in output


# --- an attack ------------------------------------------------------------------------------------
def test_the_numbers_of_an_attack() -> None:
    """An adversary who knows zip and sex picks the right row with probability 1 / size, and the
    most common disease.
    """
    members = classes(ROWS, "zip", "sex")
    right = len(members) / len(ROWS)
    inferred = sum(
        max(Counter(row["disease"] for row in rows).values()) for rows in members.values()
    ) / len(ROWS)
    found = dv.attack(table(), truth=table(), knows=["zip", "sex"], sensitive="disease")
    output = in_one_line(found.text())
    assert f"She knows zip, sex of {len(ROWS)} people." in output
    by_name = {attempt.name: attempt for attempt in found.attempts}
    assert by_name["prosecutor"].rate.value == pytest.approx(right)
    low, high = (getattr(by_name["inference"].rate, end) for end in ("low", "high"))
    assert low < inferred < high
    assert (
        f"Inference gets disease for {inferred:.2%} ({low:.2%} to {high:.2%}; blind guessing "
        "33.33%" in output
    )
    assert f"Prosecutor gets the right row for {right:.2%}" in output
    common = max(shares(ROWS, "disease").values())
    tiles = page(attack.tiles(found))
    assert "0 of 0bounds: nothing is promised that limits these attacks" in tiles
    assert (
        f"{right:.2%}of the time she gets the right row (prosecutor); {1 / len(ROWS):.2%} "
        "without looking anybody up" in tiles
    )
    assert (
        f"{by_name['inference'].rate.value:.2%}of the time she gets disease of a person "
        f"(inference); {common:.2%} without looking anybody up" in tiles
    )
    assert tiles.endswith(f"{len(ROWS)}people attacked, drawn at random")


# --- utility --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("columns", "more"), [("abcde", 0), ("abcdef", 5)])
def test_ten_pairs_of_columns_are_listed(columns: str, more: int) -> None:
    """Five columns make ten pairs, six make fifteen."""
    people = pa.table({column: [column, column, "y", "y"] for column in columns})
    utility = dv.utility(people, people, quasi_identifiers=list(columns), queries=0)
    note = f"... and {more} more (in the JSON and in the frame)"
    assert (note in in_one_line(str(utility))) is (more > 0)
    assert (" more (in the JSON" in in_one_line(str(utility))) is (more > 0)


# --- several releases -----------------------------------------------------------------------------
def written(folder: Path, name: str, *quasi_identifiers: str) -> str:
    """Publish the disease and these columns without changes."""
    others = [column for column in ROWS[0] if column not in (*quasi_identifiers, "disease")]
    policy = dv.Policy(k_anonymity=2, suppression=0.1)
    release = dv.generalize(
        table(),
        policy=policy,
        quasi_identifiers=list(quasi_identifiers),
        sensitive="disease",
        leave_out=others,
        method="full-domain",
    )
    release.write(folder / name, format="csv")
    return str(folder / name)


def test_the_numbers_of_several_releases(tmp_path: Path) -> None:
    """By pay and by sex nobody is suppressed; together people are in classes of pay and sex."""
    by_pay, by_sex = written(tmp_path, "by_pay", "pay"), written(tmp_path, "by_sex", "sex")
    single_sizes = [
        len(rows) for column in ("pay", "sex") for rows in classes(ROWS, column).values()
    ]
    both = classes(ROWS, "pay", "sex")
    below = sum(len(rows) for rows in both.values() if len(rows) < min(single_sizes))
    unique = sum(len(rows) == 1 for rows in both.values())
    assert unique == 1
    found = dv.compose([by_pay, by_sex], truth=table())
    output = in_one_line(found.text())
    assert (
        f"{below} of {len(ROWS)} people share all their classes "
        f"with fewer than {min(single_sizes)}, which" in output
    )
    assert "which no release does alone; 1 person became alone." in output
    sizes = {
        column: [len(rows) for rows in classes(ROWS, column).values()] for column in ("pay", "sex")
    }
    smallest = [min(sizes["pay"]), min(sizes["sex"]), min(map(len, both.values()))]
    assert (
        f"k_anonymity {' '.join(map(str, smallest))} classes {len(sizes['pay'])} "
        f"{len(sizes['sex'])} {len(both)} " in output
    )


def test_the_numbers_of_a_comparison() -> None:
    """The second table has the same people with all zip codes made one."""
    coarse = [{**row, "zip": "*"} for row in ROWS]
    found = dv.compare([table(), table(coarse)], **ROLES)
    output = in_one_line(found.text())
    fewest = [min(map(len, classes(rows, "zip", "sex").values())) for rows in (ROWS, coarse)]
    assert re.search(rf"k_anonymity {fewest[0]} {fewest[1]}\b", output)
    sure = [
        max(
            max(shares(rows, "disease").values()) for rows in classes(people, "zip", "sex").values()
        )
        for people in (ROWS, coarse)
    ]
    assert re.search(rf"\balpha {sure[0]:.4g} {sure[1]:.4g}\b", output)


def test_classes_that_changed_most_are_worse_or_better() -> None:
    """Of three zip codes with four people, two of b and two of c are moved.

    The two of b join a. The others keep their zip code, in classes of two.
    """
    people = pa.table({"id": range(12), "zip": [*"aaaabbbbcccc"], "disease": [*"xyxyxyzwxxyz"]})
    moved = people.set_column(1, "zip", pa.array([*"aaaaaaaabbcc"]))
    roles: dict[str, Any] = {"quasi_identifiers": "zip", "identifier": "id", "sensitive": "disease"}
    output = in_one_line(str(dv.compare([people, moved], **roles)))
    for zip_code, before, now, word in (("b", 4, 2, "worse"), ("a", 4, 8, "better")):
        assert (
            f"table 2, k_anonymity {word}: zip={zip_code} (4 people), {before} before, {now} now"
            in output
        )
    assert re.search("table 2, surprise of disease better: zip=a ", output)


@pytest.mark.parametrize(
    ("posterior", "value_prior", "discloses"),
    [(0.8, 0.1, False), (0.81, 0.1, True), (0.81, 0.6, True), (0.85, 0.65, False)],
)
def test_a_disclosed_value_is_likelier_than_80_percent_and_was_20_percent_less_likely(
    posterior: float,
    value_prior: float,
    discloses: bool,  # noqa: FBT001
) -> None:
    """Exactly 80% disclose nothing, nor does a growth of 20 percentage points or less."""
    guess = summary.BestGuess(
        attribute="disease",
        after=posterior,
        value_prior=value_prior,
        before=0.7,
        key={"zip": "a"},
        size=9,
        value="flu",
        likeliest=posterior,
        inferred_people=9,
        inferred_classes=1,
    )
    assert guess.discloses is discloses


@pytest.mark.parametrize(
    ("policy", "jointly"),
    [({"k_anonymity": 2}, False), ({"k_anonymity": 2, "l_diversity": 2}, True)],
)
def test_a_column_that_one_requirement_generalizes_is_not_said_to_need_several(
    policy: dict[str, int],
    jointly: bool,  # noqa: FBT001
) -> None:
    """Four people with four zip codes: each of the two requirements alone needs the prefixes."""
    people = pa.table({"zip": ["11", "12", "21", "22"], "disease": [*"abab"]})
    release = dv.generalize(
        people,
        policy=policy,
        quasi_identifiers="zip",
        sensitive="disease",
        hierarchies={"zip": {"prefix": [1]}},
    )
    assert release.plan.levels == {"zip": 1}
    sentence = "zip: coarse by several promises together; giving up one of them changes nothing."
    assert (sentence in in_one_line(str(release.explain()))) is jointly
