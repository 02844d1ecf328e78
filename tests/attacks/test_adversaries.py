# SPDX-License-Identifier: Apache-2.0
"""Each attack on small tables counted by hand, and independence of guesses from the original."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import divulge as dv
from divulge.attacks import AttackResult, Attempt
from divulge.engines import DuckDBEngine, SparkEngine
from divulge.errors import BadInput, BrokenPromise

# Two classes: three people in their thirties, all with flu; four in their fifties.
TRUTH = pa.table(
    {
        "age": [31, 34, 38, 50, 52, 55, 59],
        "sex": ["f", "m", "m", "f", "f", "m", "m"],
        "disease": ["flu", "flu", "flu", "flu", "cold", "cold", "cancer"],
    }
)
RELEASE = pa.table({"age": ["[30, 40)"] * 3 + ["[50, 60)"] * 4, "disease": TRUTH["disease"]})


def found(release: Any = RELEASE, truth: Any = TRUTH, **options: Any) -> AttackResult:
    """Run the attacks of an adversary who knows the age."""
    return dv.attack(release, truth=truth, **({"knows": "age", "sensitive": "disease"} | options))


def attempt(result: AttackResult, name: str, about: str | None = None) -> Attempt:
    """Return the attempt of that name."""
    return next(one for one in result.attempts if one.name == name and about in (None, one.about))


def test_the_prosecutor_is_right_once_in_as_many_times_as_rows_fit(
    engine: DuckDBEngine | SparkEngine,
) -> None:
    """Three people with probability 1/3 and four with 1/4: two of seven; at random one of seven."""
    one = attempt(found(engine=engine, attacks="prosecutor"), "prosecutor")
    assert (one.targets, one.guesses) == (7, 7)
    assert one.successes == pytest.approx(2)
    assert one.random == pytest.approx(1 / 7)
    worst = one.most_at_risk[0]
    assert [worst.fitting, worst.belief, worst.people] == pytest.approx([3, 1 / 3, 1])


def test_the_marketer_gives_every_row_to_somebody() -> None:
    """With a list of all people, 3/3 + 4/4 = 2 rows are right.

    With a list that has two more people in their fifties, 3/3 + 4/6 rows are right.
    """
    assert attempt(found(), "marketer").successes == pytest.approx(2)
    longer = pa.concat_tables([TRUTH, TRUTH.slice(3, 2)])
    assert attempt(found(truth=longer), "marketer").successes == pytest.approx(1 + 4 / 6)
    assert attempt(found(truth=longer), "marketer").targets == 7


def test_the_journalist_names_somebody_of_the_population() -> None:
    """Six people are in their thirties, four in their fifties.

    So three rows have probability 1/6 and four rows 1/4.
    """
    population = pa.table({"age": [30, 31, 32, 33, 34, 35, 50, 51, 52, 53]})
    one = attempt(found(adversary=dv.Adversary(population=population)), "journalist")
    assert one.successes == pytest.approx(3 / 6 + 4 / 4)
    counted = pa.table({"age": [30, 50], "people": [6, 4]})
    her = dv.Adversary(population=counted, population_count="people")
    assert attempt(found(adversary=her), "journalist").successes == pytest.approx(1.5)


def test_singling_out_needs_a_row_and_a_person_who_are_alone() -> None:
    """The rows are [30, 40), 50 and [52, 60).

    50 is unique and one person matches it. The first row is also unique, and three people match it.
    """
    release = pa.table({"age": ["[30, 40)", "50", "[52, 60)", "[52, 60)"], "disease": ["flu"] * 4})
    one = attempt(found(release), "singling-out")
    assert (one.targets, one.guesses, one.successes) == (4, 2, 1)
    control = pa.table({"age": [35, 50, 50], "disease": ["flu"] * 3})
    aside = attempt(found(release, control=control), "singling-out")
    assert aside.control is not None
    # [30, 40) fits one of the control group
    assert (aside.control.successes, aside.control.tries) == (1, 4)
    assert one.control is None


def test_the_best_guess_is_the_commonest_value_of_the_rows_that_fit() -> None:
    """Thirties: flu, right for 3. Fifties: cold, right for 2 of 4.

    Without a lookup: flu, right for 4.
    """
    one = attempt(found(), "inference")
    assert (one.guesses, one.successes) == (7, 5)
    assert one.random == pytest.approx(1 / 3)
    assert one.prior == pytest.approx(4 / 7)
    assert (one.most_at_risk[0].guess, one.most_at_risk[0].belief) == ("flu", 1.0)


def test_one_of_two_guesses() -> None:
    """Thirties: flu, 3 of 3. Fifties: cold twice and one of flu and cancer, 3 of 4.

    By the prior only: flu and cold, 6 of 7.
    """
    one = attempt(
        found(adversary=dv.Adversary(tries={"disease": 2}), attacks="inference", subsets=1),
        "inference",
    )
    assert (one.guesses, one.successes, one.bound) == (7, 6, None)
    assert one.prior == pytest.approx(6 / 7)
    assert one.random == pytest.approx(2 / 3)


def test_a_guess_near_the_value() -> None:
    """Weights are 60, 64, 70 in one class: within 2, a guess of 62 covers two; within 5, 65 all.

    Others weigh 72 and 63.
    """
    truth = pa.table({"age": [30, 30, 30], "weight": [60, 64, 70]})
    control = pa.table({"age": [30, 30], "weight": [72, 63]})
    for near, right, of_others in ((2, 2, 1), (5, 3, 1), (6, 3, 2)):
        asked = dv.Adversary(within={"weight": near})
        one = attempt(
            found(truth, truth, sensitive="weight", control=control, adversary=asked), "inference"
        )
        assert one.control is not None
        assert (one.successes, one.control.successes) == (right, of_others)


@pytest.mark.parametrize(
    "gain", [{"tries": 2}, {"tries": 3}, {"within": 3}, {"within": 2.5, "tries": 2}]
)
def test_with_everybody_attacked_the_success_is_the_vulnerability(gain: dict[str, Any]) -> None:
    """Success equals the best gain of all sets of guesses on each class, and the metric."""
    chance = np.random.default_rng(4)
    truth = pa.table({"age": chance.integers(0, 6, 90), "weight": chance.integers(50, 75, 90)})
    said: dict[str, Any] = {name: {"weight": number} for name, number in gain.items()}
    her = dv.Adversary(**said)
    result = found(truth, truth, sensitive="weight", adversary=her, subsets=1)
    metric = dv.measure(truth, quasi_identifiers="age", sensitive="weight", adversary=her)[
        "posterior_vulnerability"
    ]
    reach, best = 2 * gain.get("within", 0), 0
    for age in range(6):
        own = np.array([w for a, w in zip(*truth.to_pydict().values(), strict=True) if a == age])
        windows = [(own >= low) & (own <= low + reach) for low in np.unique(own)]
        sets = itertools.combinations_with_replacement(windows, int(gain.get("tries", 1)))
        best += max(int(np.logical_or.reduce(some).sum()) for some in sets)
    assert attempt(result, "inference").successes == best
    assert result.knowledge[1].rate.successes == best
    assert metric.value == pytest.approx(best / 90)


def test_homogeneity_ventures_a_guess_only_where_all_rows_agree() -> None:
    one = attempt(found(), "homogeneity")
    assert (one.guesses, one.successes, one.precision) == (3, 3, 1.0)


def test_skewness_guesses_what_gained_most() -> None:
    """Thirties: flu (posterior 1, prior 4/7).

    Fifties: cold gained 2/4 : 2/7 and cancer 1/4 : 1/7, both 7/4; cold has the higher prior.
    """
    one = attempt(found(), "skewness")
    assert (one.guesses, one.successes) == (7, 5)
    # With a high prior of colds, cancer gains most: 1/4 : 1/10.
    rare = dv.Adversary(prior={"flu": 0.4, "cold": 0.5, "cancer": 0.1})
    assert attempt(found(adversary=rare), "skewness").successes == 3 + 1


def test_similarity_guesses_the_kind() -> None:
    """Infections: all three of the thirties, three of four fifties."""
    tree = {"flu": ["infection", "*"], "cold": ["infection", "*"], "cancer": ["tumour", "*"]}
    one = attempt(found(adversary=dv.Adversary(taxonomies={"disease": tree})), "similarity")
    assert (one.guesses, one.successes, one.random) == (7, 6, 0.5)
    assert one.prior == pytest.approx(6 / 7)


def test_negative_disclosure_names_a_value_that_the_person_does_not_have() -> None:
    """In the thirties no person has a cold, which has a higher prior than cancer: right for 3.

    In the fifties every value occurs.
    """
    one = attempt(found(), "negative")
    assert (one.guesses, one.successes) == (3, 3)


def test_a_value_without_prior_is_not_the_rarest_that_a_baseline_rules_out() -> None:
    """The baseline guesses "not a cold", which 2 of 8 people have: 75%.

    HIV, which one person has, has a prior of 0, so the baseline does not name it.
    """
    truth = pa.table(
        {"age": [31, 32, 33, 34, 51, 52, 53, 54], "disease": ["flu"] * 5 + ["cold"] * 2 + ["hiv"]}
    )
    release = pa.table({"age": ["30-39"] * 4 + ["50-59"] * 4, "disease": truth["disease"]})
    adversary = dv.Adversary(prior={"disease": {"flu": 0.75, "cold": 0.25, "hiv": 0.0}})
    one = attempt(found(release, truth, adversary=adversary, attacks="negative"), "negative")
    assert one.prior == pytest.approx(6 / 8)


def test_background_knowledge_strikes_values_and_weighs_them() -> None:
    """In the fifties without colds, flu and cancer tie, and flu has the higher prior.

    So 1 of 4 is right, and 3 of 3 in the thirties.
    """
    her = dv.Adversary(rule_out={"disease": "cold"})
    one = attempt(found(adversary=her), "background")
    assert (one.successes, one.bound) == (4, None)
    # Without flu and cancer there is no value left in the thirties, and no guess. The guess in the
    # fifties is a cold: 2 of 4.
    her = dv.Adversary(rule_out={"disease": ["flu", "cancer"]})
    one = attempt(found(adversary=her), "background")
    assert (one.guesses, one.successes) == (4, 2)
    # The auxiliary table has eight people of each age: (8 + p)/9 over p outweighs the shares of the
    # class, and all guesses are right.
    ages = [50, 52, 55, 59]
    other = pa.table({"age": ages * 8, "disease": ["flu", "cold", "cold", "cancer"] * 8})
    assert attempt(found(background=other), "background").successes == 7


def test_control_group_is_scored_by_its_own_truth() -> None:
    """Ages 32 (guess flu, true flu), 33 (flu, cold), 58 (cold, cold), 80 (no match): 2 of 4."""
    control = pa.table({"age": [32, 33, 58, 80], "disease": ["flu", "cold", "cold", "flu"]})
    one = attempt(found(control=control), "inference")
    assert one.control is not None
    assert (one.control.successes, one.control.tries) == (2, 4)
    assert one.risk == pytest.approx((5 / 7 - 0.5) / 0.5)


def test_control_rows_that_are_in_the_original_are_reported() -> None:
    """Ages 31 and 52 of the control are rows of the original; 31 with a cold is another person."""
    control = pa.table(
        {"age": [31, 31, 52, 80, 81], "disease": ["flu", "cold", "cold", "flu", "flu"]}
    )
    (note,) = [note for note in found(control=control).notes if "control" in note]
    assert note.startswith(
        "2 of 5 rows of the control are like a row of the truth in every column that both have"
    )
    assert not [note for note in found(control=control.slice(3)).notes if "control" in note]


def test_a_control_of_the_same_people_is_refused(engine: DuckDBEngine | SparkEngine) -> None:
    with pytest.raises(BadInput, match="every row of the control stands in the truth"):
        found(control=TRUTH.slice(2), engine=engine)


def test_a_key_says_who_of_the_control_is_in_the_truth() -> None:
    """Equal rows of other people are a control group; other rows of the same people are not."""
    truth = TRUTH.append_column("id", pa.array(list("abcdefg")))
    others = truth.set_column(3, "id", pa.array(list("ABCDEFg")))
    result = found(truth, truth, control=others, identifier="id")
    assert [
        note
        for note in result.notes
        if note.startswith("1 of 7 people of the control is in the truth too, by id")
    ]
    moved = truth.set_column(0, "age", pa.array([90.5] * 7))
    with pytest.raises(BadInput, match="every row of the control stands in the truth"):
        found(truth, truth, control=moved, identifier="id")


def test_a_control_of_rows_that_are_common_in_the_original_is_not_rejected() -> None:
    """Each row of the original occurs twice, so new people are expected to have equal rows."""
    truth = pa.concat_tables([TRUTH, TRUTH])
    assert [
        note
        for note in found(truth=truth, control=TRUTH).notes
        if note.startswith("7 of 7 rows of the control")
    ]


def test_a_note_says_how_many_rows_of_other_people_would_be_like_a_row_of_the_truth() -> None:
    """6 of 7 rows of the control are rows of the original.

    1 of the original's 13 rows occurs once, so 7 * 1/13 rows are expected to be new, about 6 not.
    """
    truth = pa.concat_tables([TRUTH, TRUTH.slice(1)])
    control = pa.concat_tables(
        [TRUTH.slice(0, 6), TRUTH.slice(0, 1).set_column(0, "age", pa.array([90]))]
    )
    (note,) = [
        note for note in found(truth=truth, control=control).notes if "rows of the control" in note
    ]
    assert note.startswith("6 of 7 rows of the control")
    assert "of other people about 6 would be" in note


def test_guesses_do_not_depend_on_the_truth() -> None:
    """With other true diseases the successes differ, and all guesses and beliefs are equal."""
    others = TRUTH.set_column(2, "disease", pa.array(["cancer", "cold", "flu"] * 2 + ["cold"]))
    both = [found(truth=truth) for truth in (TRUTH, others)]
    for name in ("inference", "homogeneity", "skewness", "negative"):
        said = [
            sorted(
                (str(one.known["age"]), str(one.guess), one.belief)
                for one in attempt(result, name).most_at_risk
            )
            for result in both
        ]
        assert said[0] == said[1]
    assert attempt(both[0], "inference").successes != attempt(both[1], "inference").successes


# --- bounds ---------------------------------------------------------------------------------------
def test_bounds_are_those_of_the_promises_and_only_of_those_that_bound() -> None:
    result = found(policy=dv.Policy(k_anonymity=3, l_diversity=2))
    assert attempt(result, "prosecutor").bound.value == pytest.approx(1 / 3)  # type: ignore[union-attr]
    assert attempt(result, "singling-out").bound.value == 0  # type: ignore[union-attr]
    assert attempt(result, "inference").bound is None  # distinct l promises nothing about guesses
    assert attempt(found(), "prosecutor").bound is None
    # The highest share in the original is 4/7; t of total variation is added to it.
    close = attempt(found(policy={"promises": {"t_closeness": 0.2}}), "inference").bound
    assert close is not None
    assert close.value == pytest.approx(4 / 7 + 0.2)


def test_an_ordered_distance_is_divided_by_its_least_step() -> None:
    """Three ordered values are at least 1/2 apart: t = 0.1 allows a total variation of 0.2."""
    her = dv.Adversary(
        orders={"disease": ["cold", "flu", "cancer"]}, distances={"disease": "ordered"}
    )
    bound = attempt(
        found(policy={"promises": {"t_closeness": 0.1}}, adversary=her), "inference"
    ).bound
    assert bound is not None
    assert bound.value == pytest.approx(4 / 7 + 0.2)


def test_no_requirement_bounds_an_adversary_who_knows_more_than_quasi_identifiers() -> None:
    release = RELEASE.append_column("sex", TRUTH["sex"])
    result = found(
        release, knows=["age", "sex"], quasi_identifiers="age", policy=dv.Policy(k_anonymity=3)
    )
    assert attempt(result, "prosecutor").bound is None
    assert any("no promise is about that" in note for note in result.notes)


def test_overlapping_classes_leave_the_best_guess_without_a_bound() -> None:
    """A person of 35 matches two classes, one of 31 only one: guesses differ within a class."""
    release = pa.table({"age": ["[30, 40)"] * 2 + ["[33, 36]"] * 2, "disease": ["flu", "cold"] * 2})
    truth = pa.table({"age": [31, 39, 35, 34], "disease": ["flu", "cold"] * 2})
    result = found(release, truth, policy={"promises": {"alpha": 0.5, "k_anonymity": 2}})
    assert attempt(result, "inference").bound is None
    assert attempt(result, "prosecutor").bound is not None


def test_the_reason_for_a_missing_bound_is_reported() -> None:
    release = pa.table(
        {"age": ["[30, 50)", "[30, 50)", "[40, 60)", "[40, 60)"], "disease": ["flu", "cold"] * 2}
    )
    truth = pa.table({"age": [31, 45, 45, 59], "disease": ["flu", "cold"] * 2})
    result = found(release, truth, policy={"promises": {"alpha": 0.5}})
    assert any("known of 2 of 4 targets fits several classes" in note for note in result.notes)


def test_a_violated_requirement_is_reported_and_raised() -> None:
    truth = pa.table({"age": list(range(30, 60)), "disease": ["flu", "cold"] * 15})
    result = found(truth, truth, policy=dv.Policy(k_anonymity=3))
    assert {one.name for one in result.broken} == {"prosecutor", "marketer", "singling-out"}
    assert str(result).startswith("BROKEN: k_anonymity >= 3")
    with pytest.raises(BrokenPromise, match="prosecutor reaches 1"):
        result.raise_for_broken()


def test_suppressed_people_violate_no_requirement(engine: DuckDBEngine | SparkEngine) -> None:
    """60 of 110 rows have flu, as alpha <= 0.6 allows.

    200 suppressed people also have flu, and the requirement does not cover them.
    """
    release = pa.table({"age": ["[30, 40)"] * 110, "disease": ["flu"] * 60 + ["cold"] * 50})
    truth = pa.table({"age": [35] * 310, "disease": ["flu"] * 60 + ["cold"] * 50 + ["flu"] * 200})
    asked: dict[str, Any] = {
        "policy": {"promises": {"alpha": 0.6}},
        "attacks": "inference",
        "engine": engine,
    }
    one = attempt(found(release, truth, **asked), "inference")
    assert (one.successes, one.targets) == (260, 310)
    assert one.in_release is not None
    assert [one.in_release.successes, one.in_release.tries] == pytest.approx([60, 110])
    assert not one.broken


def test_suppressed_people_do_not_hide_a_violated_requirement() -> None:
    """90 of 100 rows have flu, and 200 suppressed people have a cold.

    Guesses are right for 90 of 300 people in total, and for 90 of 100 in the release.
    """
    release = pa.table({"age": ["[30, 40)"] * 100, "disease": ["flu"] * 90 + ["cold"] * 10})
    truth = pa.table({"age": [35] * 300, "disease": ["flu"] * 90 + ["cold"] * 210})
    result = found(release, truth, policy={"promises": {"alpha": 0.5}})
    one = attempt(result, "inference")
    assert one.rate.value == pytest.approx(0.3)
    assert one.in_release is not None
    assert one.in_release.value == pytest.approx(0.9)
    assert one.broken
    assert "of 100 of them who are in the release" in str(result)


def test_suppressed_people_do_not_hide_re_identified_rows() -> None:
    """30 rows of one person each violate k >= 3, even if there are other people.

    With a key, the result is the same.
    """
    rows = pa.table(
        {"age": list(range(30, 60)), "disease": ["flu", "cold"] * 15, "id": list(range(30))}
    )
    others = pa.table({"age": [80] * 170, "disease": ["flu"] * 170, "id": list(range(100, 270))})
    truth = pa.concat_tables([rows, others])
    for options in ({}, {"identifier": "id"}):
        one = attempt(found(rows, truth, policy=dv.Policy(k_anonymity=3), **options), "prosecutor")
        assert one.rate.value == pytest.approx(30 / 200)
        assert one.in_release is not None
        assert [one.in_release.successes, one.in_release.tries] == pytest.approx([30, 30])
        assert one.broken


# --- what she knows -------------------------------------------------------------------------------
def test_sets_of_columns_up_to_a_size() -> None:
    """By sex only, 3 rows match each of 3 women, and 4 rows each of 4 men.

    By both columns, 1 row matches 31f, and 2 rows match each of 34m 38m, 50f 52f and 55m 59m.
    """
    result = found(TRUTH, knows=["age", "sex"], subsets=1)
    rates = {(one.knows, one.about): one.rate.successes for one in result.knowledge}
    assert rates[("sex",), None] == pytest.approx(2)
    assert rates[("age",), None] == pytest.approx(7)
    assert rates[("sex",), "disease"] == 2 + 2  # flu, for two of three women and two of four men
    assert len(result.knowledge) == 4


def test_progress_counts_attacks_and_sets() -> None:
    """There are one attack, and three sets of one or two of two columns."""
    seen: list[tuple[int, int]] = []
    found(
        TRUTH,
        knows=["age", "sex"],
        attacks="prosecutor",
        subsets=2,
        progress=lambda *told: seen.append(told),
    )
    assert seen == [(done, 4) for done in range(5)]


def test_wrong_knowledge_finds_fewer_rows(engine: DuckDBEngine | SparkEngine) -> None:
    """A lookup by another person's age yields that person's row.

    Only targets whose age is still their own are right, about half.
    """
    truth = pa.table({"age": list(range(200)), "disease": ["flu"] * 200})
    asked: dict[str, Any] = {"attacks": "prosecutor", "subsets": 1, "engine": engine}
    exact, astray = found(truth, truth, **asked), found(truth, truth, wrong=0.5, **asked)
    assert attempt(exact, "prosecutor").successes == 200
    assert attempt(astray, "prosecutor").guesses == 200
    assert 80 < attempt(astray, "prosecutor").successes < 120
    assert astray.knowledge[0].rate.successes == attempt(astray, "prosecutor").successes
    worst = attempt(astray, "prosecutor").most_at_risk
    # Among targets with the same believed age, it is right for at most one.
    assert all(
        one.right * one.people == pytest.approx(0) or one.right * one.people == pytest.approx(1)
        for one in worst
    )


def test_wrong_knowledge_within_the_own_class_is_no_harm() -> None:
    """All ages of the class are [30, 40), so the own row matches in spite of a wrong age."""
    truth = pa.table({"age": [30, 31, 32, 33, 34], "disease": ["flu"] * 5})
    release = pa.table({"age": ["[30, 40)"] * 5, "disease": ["flu"] * 5})
    assert attempt(found(release, truth, wrong=0.9), "prosecutor").successes == pytest.approx(1)


def test_suppressed_people_are_not_re_identified(engine: DuckDBEngine | SparkEngine) -> None:
    """Two of four people in their fifties are published: their two rows make one right guess.

    The thirties are unchanged.
    """
    release = RELEASE.slice(0, 5)
    result = found(release, attacks="prosecutor", subsets=1, engine=engine)
    assert attempt(result, "prosecutor").successes == pytest.approx(2)
    assert result.knowledge[0].rate.successes == pytest.approx(2)
    nobody = attempt(found(release.slice(0, 3)), "prosecutor")
    assert nobody.guesses == 3
    assert nobody.successes == pytest.approx(1)


def test_a_person_who_matches_overlapping_classes_may_be_in_any_of_them() -> None:
    """The rows are * and [30, 40), of people of 35 and 50; a person of 52 is suppressed.

    The guess for 35 is one of two rows, and 50 and 52 share *.
    """
    release = pa.table({"age": ["*", "[30, 40)"], "disease": ["flu", "cold"]})
    truth = pa.table({"age": [35, 50, 52], "disease": ["cold", "flu", "flu"]})
    assert attempt(found(release, truth), "prosecutor").successes == pytest.approx(
        1 / 2 + 1 / 2 + 1 / 2
    )


def test_an_identifier_determines_the_own_row() -> None:
    """The ages of a and b were swapped; c and d have equal ages and keep them.

    So a and b match each other's row, and c and d are right with probability 1/2.
    """
    truth = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "age": [30, 40, 50, 50],
            "disease": ["flu", "cold", "flu", "cold"],
        }
    )
    swapped = truth.set_column(1, "age", pa.array([40, 30, 50, 50]))
    assert attempt(found(swapped, truth), "prosecutor").successes == pytest.approx(3)
    told = found(swapped, truth, identifier="id", subsets=1)
    assert attempt(told, "prosecutor").successes == pytest.approx(1)
    assert told.knowledge[0].rate.successes == pytest.approx(1)


def test_the_same_seed_attacks_the_same_people(engine: DuckDBEngine | SparkEngine) -> None:
    truth = pa.table(
        {"age": [n % 37 for n in range(300)], "disease": ["flu", "cold", "cold"] * 100}
    )
    both = [
        found(truth, truth, records=40, seed=5, attacks="inference", engine=kind)
        for kind in (None, engine)
    ]
    assert both[0].attempts == both[1].attempts
    assert found(truth, truth, records=40, seed=6, attacks="inference").attempts[0].targets == 40


def test_rows_that_are_alike_are_drawn_one_by_one() -> None:
    """A draw of 100 from 1,000 rows with two values has about as many of each, not all of one."""
    truth = pa.table({"age": [30] * 500 + [50] * 500, "disease": ["flu"] * 500 + ["cold"] * 500})
    one = attempt(found(truth, truth, records=100), "prosecutor")
    people = sorted(each.people for each in one.most_at_risk)
    assert sum(people) == 100
    assert people[0] > 25


# --- releases -------------------------------------------------------------------------------------
def test_our_releases_provide_roles_requirements_and_meanings(tmp_path: Path) -> None:
    patients = dv.datasets.patients(rows=600)
    release = dv.generalize(
        patients,
        policy={"k_anonymity": 5},
        quasi_identifiers=["zip", "age", "marital_status"],
        sensitive="diagnosis",
        leave_out="*",
    )
    release.write(tmp_path / "r")
    results = [dv.attack(each, truth=patients, records=200) for each in (tmp_path / "r", release)]
    for result in results:
        assert result.holds
        one = attempt(result, "prosecutor")
        assert one.bound is not None
        assert (one.bound.value, one.bound.promise) == (0.2, "k_anonymity >= 5")
        assert one.most_at_risk[0].fitting >= 5
        assert not [note for note in result.notes if "could not be read" in note]
    assert results[0].settings["reading"]["zip"] == "mapping"


def test_words_of_a_release_in_memory_are_read_as_those_of_a_written_one(tmp_path: Path) -> None:
    """(other) represents the remaining values, which only the recoding lists.

    So classes do not overlap, and alpha bounds the attack.
    """
    patients = dv.datasets.patients(rows=400)
    roles: dict[str, Any] = {
        "quasi_identifiers": ["zip", "age", "education"],
        "sensitive": "diagnosis",
    }
    release = dv.generalize(
        patients, policy={"k_anonymity": 5, "alpha": 0.8}, leave_out="*", **roles
    )
    release.write(tmp_path / "r")
    asked: dict[str, Any] = {
        "truth": patients,
        "records": 400,
        "attacks": ["prosecutor", "inference"],
    }
    here, there = dv.attack(release, **asked), dv.attack(tmp_path / "r", **asked)
    assert "(other)" in release.tables()["table"]["education"].to_pylist()
    assert here.attempts == there.attempts
    assert attempt(here, "inference").bound is not None
    assert here.settings["reading"]["education"] == "mapping"


def test_a_promise_against_a_given_prior_bounds_nothing_here(tmp_path: Path) -> None:
    prior = {"disease": {"flu": 0.2, "cold": 0.2, "cancer": 0.6}}
    told = "judged against a prior that was given by hand"
    truth = pa.table(
        {"age": [30] * 6, "disease": ["flu", "flu", "cold", "cold", "cancer", "cancer"]}
    )
    asked: dict[str, Any] = {
        "quasi_identifiers": "age",
        "sensitive": "disease",
        "policy": {"t_closeness": 0.3},
    }
    plain, given = (
        dv.generalize(truth, **asked),
        dv.generalize(truth, adversary=dv.Adversary(prior=prior), **asked),
    )
    given.write(tmp_path / "r")
    assert attempt(dv.attack(plain, truth=truth), "inference").bound is not None
    for release in (given, tmp_path / "r"):
        result = dv.attack(release, truth=truth)
        assert attempt(result, "inference").bound is None
        assert any(told in note for note in result.notes)


def test_anatomized_releases_are_put_together_by_group() -> None:
    """Groups are 1 (flu, flu, cold; ages 31, 34, 38) and 2 (cold; 50), with unchanged ages.

    2 of 3 and 1 of 1 guesses are right.
    """
    ages = pa.table({"GID": [1, 1, 1, 2], "age": [31, 34, 38, 50]})
    diseases = pa.table({"GID": [1, 1, 2], "disease": ["flu", "cold", "cold"], "Count": [2, 1, 1]})
    truth = pa.table({"age": [31, 34, 38, 50], "disease": ["flu", "flu", "cold", "cold"]})
    result = dv.attack([ages, diseases], truth=truth, sensitive="disease")
    one = attempt(result, "inference")
    assert (one.guesses, one.successes, one.bound) == (4, 3, None)
    assert [each.belief for each in one.most_at_risk] == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3])
    assert attempt(result, "prosecutor").successes == pytest.approx(4)


def test_known_columns_in_several_tables_make_no_row(tmp_path: Path) -> None:
    ages = pa.table({"GID": [1, 1], "age": [31, 34]})
    sexes = pa.table({"GID": [1, 1], "sex": ["f", "m"]})
    diseases = pa.table({"GID": [1, 1], "disease": ["flu", "cold"]})
    result = dv.attack([ages, sexes, diseases], truth=TRUTH.slice(0, 2), sensitive="disease")
    assert {"prosecutor", "marketer", "singling-out"} <= set(result.left_out)
    assert attempt(result, "inference").most_at_risk[0].belief == 0.5
    page = dv.report(result).save(tmp_path / "attack.html").read_text(encoding="utf-8")
    assert "What each attack achieves" in page


# --- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"attacks": "guess"}, "there is no attack 'guess'"),
        ({"attacks": "journalist"}, "no population is given"),
        ({"records": 0}, "records=0"),
        ({"wrong": 1.0}, "wrong=1 is not possible"),
        ({"knows": "zip"}, "no column 'zip'"),
        ({"knows": "disease"}, "two roles"),
        ({"adversary": dv.Adversary(original=TRUTH)}, "original= of the adversary has no effect"),
        (
            {"adversary": dv.Adversary(tries={"disease": 2}), "attacks": "prosecutor"},
            "tries= has no effect on 'prosecutor'",
        ),
        (
            {"adversary": dv.Adversary(population=TRUTH), "attacks": "prosecutor"},
            "population= has no effect on 'prosecutor'",
        ),
        (
            {"adversary": dv.Adversary(rule_out={"disease": "flu"}), "attacks": "inference"},
            "rule_out= has no effect",
        ),
        (
            {"background": TRUTH, "attacks": ["prosecutor", "inference"]},
            "background= has no effect on 'inference', 'prosecutor'",
        ),
        ({"control": TRUTH, "attacks": "prosecutor"}, "control= has no effect"),
        ({"wrong": 0.1, "attacks": "marketer"}, "wrong= has no effect"),
        ({"adversary": dv.Adversary(within={"disease": 2})}, "neither numbers nor dates"),
        ({"knows": None, "quasi_identifiers": ()}, "it is not said what she knows"),
        ({"release": RELEASE.slice(0, 0)}, "the release has no rows"),
        ({"truth": TRUTH.slice(0, 0)}, "the truth has no rows"),
        ({"control": TRUTH.slice(0, 0)}, "the control has no rows"),
        ({"background": TRUTH.slice(0, 0)}, "the background has no rows"),
        ({"adversary": dv.Adversary(population=TRUTH.slice(0, 0))}, "the population has no rows"),
    ],
)
def test_invalid_arguments_raise_errors(options: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        found(**options)


def test_one_row_and_columns_of_nulls_are_attacked() -> None:
    """All attacks on a single row are right.

    With four equal rows, one of four rows is right, and all guesses of the value, null.
    """
    assert {one.rate.value for one in found(RELEASE.slice(0, 1), TRUTH.slice(0, 1)).attempts} <= {
        0.0,
        1.0,
    }
    nulls = pa.table(
        {"age": pa.array([None] * 4, pa.int64()), "disease": pa.array([None] * 4, pa.string())}
    )
    result = found(nulls, nulls)
    assert attempt(result, "prosecutor").rate.value == pytest.approx(1 / 4)
    assert (
        attempt(result, "nearest-value").rate.value == attempt(result, "inference").rate.value == 1
    )


def test_random_policies_stay_below_their_bounds() -> None:
    """Classes of random tables barely meet alpha and k: few of many intervals exceed a bound."""
    chance, broken = np.random.default_rng(11), 0
    for round_ in range(12):
        classes = chance.integers(0, 8, 400)
        values = [f"v{n}" for n in chance.integers(0, 3, 400)]
        table = pa.table(
            {"age": [f"[{10 * c}, {10 * c + 10})" for c in classes], "disease": values}
        )
        truth = pa.table(
            {
                "age": [
                    int(10 * c + n)
                    for c, n in zip(classes, chance.integers(0, 10, 400), strict=True)
                ],
                "disease": values,
            }
        )
        measured = dv.measure(table, quasi_identifiers="age", sensitive="disease")
        kept = {"k_anonymity": measured["k_anonymity"].value, "alpha": measured["alpha"].value}
        result = found(
            table,
            truth,
            records=60,
            seed=round_,
            policy={"promises": kept},
            attacks=["prosecutor", "inference"],
        )
        broken += len(result.broken)
        assert attempt(result, "inference").bound is not None
    assert broken <= 1
