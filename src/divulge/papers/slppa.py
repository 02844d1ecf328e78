# SPDX-License-Identifier: Apache-2.0
"""Yao, Chen, Wang, Liu and Wu 2021 (SLPPA): the eight people of Table 1, their division and groups, and the proofs by example."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from divulge import anatomy, answers, datasets
from divulge.api import anatomize as api_anatomize
from divulge.api.measure import measure
from divulge.engines import DuckDBEngine
from divulge.papers.reproduction import Figure, Paper, Row, claim, row
from divulge.table import read

PAPER = Paper(
    "slppa",
    "Yao, Chen, Wang, Liu and Wu 2021: SLPPA",
    "Sensitive Label Privacy Preservation with Anatomization for Data Publishing",
    "Nothing is made coarser: columns are divided into tables, records into groups, and only the group ties the tables together. Four "
    "bounds hold in every group: **alpha** (record linkage), **beta** (attribute linkage), **gamma** (presence) and **delta** (how far a "
    "belief moves). [Concepts](../concepts/anatomize.md) and [the how-to page](../how-to/anatomize.md) tell more.",
)
Found = Iterator[Row | Figure]
QUASI_IDENTIFIERS = ("gender", "job", "age", "zipcode")
TABLES = (("age", "zipcode"), ("gender", "job"))
"""Table 4; the salary is a table of its own."""
GROUPS = (1, 1, 1, 1, 2, 2, 2, 2)
"""Table 3: the group of each person of Table 1."""
QUESTION = "age > 30 and job = 'Doctor' and salary = 6700"
TABLE_3: dict[str, Any] = {"alpha": "1/2", "beta": "1/2", "gamma": "1/32", "delta": "1/4"}
"""What Table 3 reaches."""


def _people() -> pa.Table:
    return datasets.load("slppa-table-1")


def _published(groups: Sequence[int] = GROUPS) -> list[pa.Table]:
    """The tables as anybody can read them."""
    people = _people()
    return [people.select(list(names)).append_column("GID", [list(groups)]) for names in (*TABLES, ("salary",))]


def _release(tables: Sequence[pa.Table]) -> anatomy.Published:
    engine = DuckDBEngine(threads=1)
    sensitive = [name for table in tables if table.num_columns == 2 for name in table.column_names if name == "salary"]
    return anatomy.join_tables([read(table, engine=engine) for table in tables], sensitive=sensitive, group="GID")


def _asked(tables: Sequence[pa.Table], asked: str) -> float:
    """What a release answers to a count, by eq. 11."""
    return answers.estimate(answers.AnatomizedSource(_release(tables)), asked).estimate or 0.0


def _count(people: pa.Table, asked: str) -> float:
    """How many records of a table as it is satisfy a condition."""
    return _asked([people.append_column("GID", [[1] * people.num_rows])], asked)


def _levels(groups: Sequence[int] = GROUPS) -> anatomy.Reached:
    return anatomy.measure_tables(_release(_published(groups)), anatomy.AlphaBetaGammaDelta()).levels


def _shares(person: dict[str, Any], group: int) -> tuple[Fraction, Fraction, Fraction]:
    """How much of a group has a person's row of each table."""
    members = [each for each, own in zip(_people().to_pylist(), GROUPS, strict=True) if own == group]
    first, second, third = (
        Fraction(sum(all(each[name] == person[name] for name in names) for each in members), len(members))
        for names in (*TABLES, ("salary",))
    )
    return first, second, third


def _group_gamma(group: int) -> Fraction:
    """Eq. 6 of one group: the product of the commonest shares of its tables."""
    members = [each for each, own in zip(_people().to_pylist(), GROUPS, strict=True) if own == group]
    first, second, third = (max(_shares(each, group)[place] for each in members) for place in range(3))
    return first * second * third


def _counted(number: int, tables: Sequence[pa.Table], printed: Sequence[str]) -> Iterator[Row]:
    """How often each row of the tables of Table 3 or 4 stands there, in the order of Table 1."""
    for letter, table, counts in zip("abc", tables, printed, strict=True):
        found = Counter(tuple(each.values()) for each in table.to_pylist())
        label = f"Table {number}({letter})"
        yield row(label, "rows", len(found), str(len(counts.split())))
        yield row(label, "count of each", " ".join(map(str, found.values())), counts)


def _exactly(label: str, quantity: str, ours: float | Fraction, printed: str | None = None, **more: Any) -> Row:
    return row(label, quantity, float(ours), printed, exact=True, **more)


@PAPER.part(
    "Section 3",
    "example",
    title="attacks on Table 2",
    told="Table 2 is Table 1 without names. Counts are asked of it as it is.",
    how="`divulge query`, `alpha` of `divulge measure`.",
)
def section_3() -> Found:
    """Who fits, and what a teacher earns."""
    people = _people().drop_columns(["name"])
    for told, job, age, number, which in (("Cary", "Engineer", 40, "1", "3"), ("Eric", "Doctor", 30, "2", "5, 8")):
        label = f"{told}, job {job}, over {age}"
        fit = [at for at, each in enumerate(people.to_pylist(), start=1) if each["job"] == job and each["age"] > age]
        yield row(label, "tuples that fit", _count(people, f"job = '{job}' and age > {age}"), number)
        yield row(label, "which", ", ".join(map(str, fit)), which)
    teachers = measure(people, quasi_identifiers=["job"], sensitive="salary")
    of_class = dict(zip((teachers.contingency.class_key(at)["job"] for at in range(len(teachers.contingency))),
                        teachers.per_class("alpha", "salary"), strict=True))  # fmt: skip
    yield claim(
        "Alice is a teacher, so her salary must be 4500",
        holds=of_class["Teacher"] == 1,
        ours=f"best guess {of_class['Teacher']:.2f}",
    )
    police = _count(people.take([0, 1, 2, 3, 4, 6, 7]), "job = 'Police'")
    yield claim(
        "without Frank's record no police is left, which tells that he is not there",
        holds=police == 0 and _count(people, "job = 'Police'") == 1,
        ours=f"{police:.0f} without him",
    )
    prior = _count(people, "salary = 4500") / people.num_rows
    yield _exactly("salary = 4500", "prior belief", prior, "1/4")
    paid = [at for at, each in enumerate(people.to_pylist()) if each["salary"] == 4500]
    yield row("salary = 4500", "which", ", ".join(str(at + 1) for at in paid), "1, 4")
    left = people.take([at for at in range(people.num_rows) if at not in paid])
    yield row("without the 1st and 4th tuple", "posterior belief", _count(left, "salary = 4500") / left.num_rows, "0")


@PAPER.part(
    "Table 3",
    "table",
    title="Definitions 1 to 4",
    told="Eight people in two groups. The second group holds (M, Doctor) twice, so Eric and Henry are linked with probability 1/2.",
    how="`dv.check_anatomized`, as exact fractions.",
)
def table_3() -> Found:
    """The four levels."""
    alice = _people().to_pylist()[0]
    first = [each for each, own in zip(_people().to_pylist(), GROUPS, strict=True) if own == 1]
    ways = list(permutations(range(4)))
    hers = [way for way in ways if (first[way[0]]["gender"], first[way[0]]["job"]) == (alice["gender"], alice["job"])]
    yield row("combinations of the first group", "number", len(ways), "24", where="Definition 1")
    yield row("of them with Alice's quasi-identifiers", "number", len(hers), "6", where="Definition 1")
    yield _exactly("Alice", "alpha", Fraction(len(hers), len(ways)), "1/4", where="Definition 1")
    levels = _levels()
    yield _exactly("Alice", "beta", _shares(alice, 1)[2], "1/2", where="Definition 2")
    yield _exactly(
        "Alice's combination in the first group", "gamma", math.prod(_shares(alice, 1)), "1/32", where="Definition 3"
    )
    mixed = {"gender": "M", "job": "Doctor", "age": 33, "zipcode": "12200", "salary": 6700}
    yield _exactly(
        "(M, Doctor, 33, 12200, 6700) in the second",
        "gamma",
        math.prod(_shares(mixed, 2)),
        "1/32",
        where="Definition 3",
    )
    prior = Fraction(sum(each["salary"] == alice["salary"] for each in _people().to_pylist()), len(GROUPS))
    yield _exactly("Alice's salary in Table 1", "probability", prior, "2/8", where="Definition 4")
    for group, text in ((1, "2/4"), (2, "0")):
        share = _shares(alice, group)[2]
        shift = abs(prior - share)
        yield _exactly(f"Alice's salary in group {group}", "probability", share, text, where="Definition 4")
        yield _exactly(f"Alice's salary in group {group}", "delta", shift, "1/4", where="Definition 4")
    for name in ("alpha", "beta", "gamma", "delta"):
        yield _exactly("the table", f"{name}, the worst of all", getattr(levels, name))
    yield from _counted(3, _published(), ("1 1 1 1 1 1 1 1", "1 1 1 1 2 1 1", "2 1 1 1 1 1 1"))


@PAPER.part(
    "Table 4",
    "table",
    title="the division",
    told="Gender goes with age (phi2 = 1) and not with job (1/9). Only a limit of two columns per table gives the printed division. Eqs. 9 "
    "and 10 are not worked out in the paper; ours are shown. The text calls 4(c), the table of the salary, Table 6.",
    how="`divulge anatomize`, with `--linkage first` and with `--max-table-size 2`; `division` of its JSON document.",
)
def table_4() -> Found:
    """Weights, associations, and three readings of the division."""
    rows = anatomy.read_rows(read(_people()), [*QUASI_IDENTIFIERS, "salary"])
    any_model = anatomy.AlphaBetaGammaDelta()
    as_written = anatomy.Slppa(any_model, tables=2).divide(rows, QUASI_IDENTIFIERS)
    for name, weight in as_written.weights:
        yield row(name, "entropy (eq. 9)", weight)
    for pair in anatomy.Slicing(1, tables=2).divide(rows, QUASI_IDENTIFIERS).coefficients:
        yield _exactly(f"{pair.left} and {pair.right}", "phi2 (eq. 10)", pair.value)
    printed = "{age, zipcode}, {gender, job}"
    reason = (
        "gender goes with age (phi2 = 1), not with job (1/9); a limit of two columns per table gives what is printed"
    )
    for told, method in (
        ("eqs. 9 and 10 as written", anatomy.Slppa(any_model, tables=2)),
        ("association with the first column only", anatomy.Slppa(any_model, tables=2, linkage="first")),
        ("at most two columns in a table", anatomy.Slppa(any_model, tables=2, max_table_size=2)),
    ):
        tables = method.divide(rows, QUASI_IDENTIFIERS).tables
        order = ("age", "zipcode", "gender", "job")
        ours = ", ".join(f"{{{', '.join(sorted(names, key=order.index))}}}" for names in tables)
        yield row(told, "tables", ours, printed, erratum=reason if ours != printed else "")
    alone = [table.drop_columns(["GID"]) for table in _published()]
    yield from _counted(4, alone, ("2 2 1 1 1 1", "1 1 1 1 2 1 1", "2 2 1 1 1 1"))


@PAPER.part(
    "Algorithm 1",
    "claim",
    title="on Table 1",
    told="With the paper's own levels the printed rule gives up, although groups exist; and Table 3 is not the best: half of each of its "
    "levels can be kept. It cannot come from lines 1 to 19, for 4500 stands twice in its first group.",
    how='`dv.anatomize(..., algorithm="paper")` and the default, `"guaranteed"`.',
)
def algorithm_1() -> Found:
    """As printed, and ours."""
    half: dict[str, Any] = {name: str(Fraction(bound) / 2) for name, bound in TABLE_3.items()}
    tried: dict[str, str] = {}
    ways: tuple[tuple[str, dict[str, Any], anatomy.Algorithm], ...] = (
        ("Algorithm 1", TABLE_3, "paper"),
        ("ours", TABLE_3, "guaranteed"),
        ("ours, half", half, "guaranteed"),
    )
    for told, bounds, algorithm in ways:
        try:
            release = api_anatomize.anatomize(
                _people(), sensitive="salary", quasi_identifiers=QUASI_IDENTIFIERS, identifier="name", tables=TABLES,
                algorithm=algorithm, seed=0, **bounds,
            )  # fmt: skip
            tried[told] = (
                f"{release.summary.groups} groups, {', '.join(f'{name} {level}' for name, level in release.levels.texts().items())}"
            )
        except anatomy.InfeasibleModel as refused:
            tried[told] = f"gives up: {refused.because}"
    yield claim(
        "Table 3 is what the algorithm publishes for Table 1",
        holds="groups" in tried["Algorithm 1"] and not tried["Algorithm 1"].startswith("gives up"),
        ours=f"for the levels of Table 3 it {tried['Algorithm 1']}",
        note=f"Ours for the same levels: {tried['ours']}; for half of each: {tried['ours, half']}.",
    )


def _divisions() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Every way to put the quasi-identifiers of Table 1 into two tables."""
    first, *others = QUASI_IDENTIFIERS
    for size in range(len(others)):
        for chosen in combinations(others, size):
            yield (first, *chosen), tuple(name for name in others if name not in chosen)


def _least_alpha(tables: Iterable[Sequence[str]]) -> Fraction:
    """The share of the commonest row of any table: with less, no grouping keeps alpha."""
    rows = _people().to_pylist()
    return max(
        Fraction(max(Counter(tuple(each[name] for name in names) for each in rows).values()), len(rows))
        for names in tables
    )


@PAPER.part(
    "Section 4.4",
    "claim",
    title="parameter setting",
    told="Which bounds can be kept is known exactly: alpha and beta if the commonest row of each table and the commonest sensitive value "
    "are no more frequent in the whole table; delta always.",
    how="`divulge anatomize` says what can be kept, with exit code 3; `dv.advise`.",
)
def section_4_4() -> Found:
    """What is said about alpha and gamma."""
    four = pa.table({"sex": [*"MMMF"], "salary": [1, 2, 3, 4]})
    try:
        api_anatomize.anatomize(four, sensitive="salary", quasi_identifiers="sex", alpha="3/5", tables=1, seed=0)
        refused = ""
    except anatomy.InfeasibleModel as error:
        refused = error.because
    yield claim("when alpha is larger than 1/min, it can always be met", holds=not refused,
                ours=f"the column M, M, M, F has two values; alpha = 3/5: {refused}",
                note="What counts is the commonest value, not how many there are.")  # fmt: skip
    levels = _levels()
    yield claim(
        "gamma >= alpha^k beta satisfies the gamma requirement once alpha and beta are satisfied",
        holds=levels.gamma <= levels.alpha**2 * levels.beta,
        ours=f"Table 3: {levels.gamma} and {levels.alpha**2 * levels.beta}",
    )
    most = max(len(set(_people()[name].to_pylist())) for name in QUASI_IDENTIFIERS)
    never = Fraction(1, most ** (len(QUASI_IDENTIFIERS) - 1))
    least = min(map(_least_alpha, _divisions()))
    yield claim(
        "when alpha is smaller than 1/max^(X-k+1), it can never be met",
        holds=least >= never,
        ours=f"Table 1 in two tables: 1/max^3 = {never}, and the least alpha of any division is {least}",
        note="True, for a table cannot have more rows that differ; what can be kept is far above it.",
    )
    people, groups = len(GROUPS), len(set(GROUPS))
    often = max(Counter(_people()["salary"].to_pylist()).values())
    different = max(math.ceil(1 / levels.beta), math.ceil(1 / levels.delta))
    yield claim(
        "H <= G <= L/N, so that Pr[ASA(v)] <= H/L <= G/L <= 1/N",
        holds=often <= groups <= Fraction(people, different),
        ours=f"Table 3: H = {often}, G = {groups}, L/N = {people}/{different}",
        note="H <= G is sure only before groups are combined (lines 20 to 41).",
    )
    absent = _shares(_people().to_pylist()[0], 2)[2]
    yield claim(
        "Pr[ASA(v)|g] is between 1/(2N-1) and 1/N",
        holds=absent > 0,
        ours=f"4500 has {absent} in the second group of Table 3",
        note="A group may lack a value; that delta holds is true all the same.",
    )
    yield claim(
        "alpha, beta, gamma or delta is the lower bound of the privacy requirement",
        holds=False,
        ours=f"alpha = {levels.alpha} is kept by every alpha from {levels.alpha} upwards",
        note="They are upper bounds.",
    )


@PAPER.part(
    "Section 5.1",
    "example",
    title="a count from the release",
    told="How many doctors older than 30 earn 6700? One does. Grouping brings the estimate closer.",
    how="`divulge query`, `dv.query`; eq. 11.",
)
def section_5_1() -> Found:
    """With groups, and without."""
    true = _count(_people(), QUESTION)
    apart = _asked(_published(), QUESTION)
    together = _asked(_published([1] * 8), QUESTION)
    yield row("Table 1", "count", true, "1")
    second = [table.filter(pc.equal(table["GID"], 2)) for table in _published()]
    for told, tables, texts in (
        ("Table 3, the second group", second, ("3/4", "3/4")),
        ("Table 4", _published([1] * 8), ("6/8", "3/8")),
    ):
        for place, (asked, text) in enumerate(zip(("age > 30", "job = 'Doctor'"), texts, strict=True)):
            fit = _asked([tables[place]], asked)
            yield _exactly(f"{told}, {asked}", "share", Fraction(round(fit), tables[place].num_rows), text)
    yield _exactly("Table 3, two groups", "estimate", apart, "9/16")
    yield _exactly("Table 4, no groups", "estimate", together, "9/32")
    yield claim("grouping helps to find an answer closer to the actual value", holds=abs(apart - true) < abs(together - true),
                ours=f"{apart:.4f} and {together:.4f} for {true:.0f}")  # fmt: skip


@PAPER.part(
    "Section 5.2",
    "example",
    title="the four requirements by example",
    told="The pair (M, Doctor) in the second group is overlooked twice.",
    how="`dv.check_anatomized`; shares of one group by counting.",
)
def section_5_2() -> Found:
    """What the attacker infers of Alice."""
    alice, levels = _people().to_pylist()[0], _levels()
    yield _exactly(
        "Table 3",
        "least alpha that can be set",
        levels.alpha,
        "1/4",
        erratum="group 2 holds (M, Doctor) twice, so eq. 3 gives 2/4",
    )
    by_definition = {group: _shares(alice, group)[1] for group in (1, 2)}
    yield _exactly(
        "age and zip code known: Alice's quasi-identifiers in group 1", "probability", by_definition[1], "1/16",
        erratum="1/4 by Definition 1, where her row of Table 3(a) is known; 1/16 only if it must be guessed too",
    )  # fmt: skip
    yield _exactly(
        "age and zip code known: Alice's quasi-identifiers in group 2", "probability", by_definition[2], "1/16",
        erratum="0: group 2 has no (F, Teacher)",
    )  # fmt: skip
    both = _shares(alice, 1)[0] * _shares(alice, 1)[1]
    yield _exactly("salary known: Alice's quasi-identifiers", "probability", both, "1/16")
    yield _exactly("Table 3", "least beta that can be set", levels.beta, "2/4")
    for group, printed in ((1, "2/4"), (2, "0")):
        yield _exactly(f"Alice's salary in group {group}", "probability", _shares(alice, group)[2], printed)
    known = _shares(alice, 1)[2]
    yield claim(
        "who knows all quasi-identifiers of Alice infers her salary with a probability of less than 2/4",
        holds=known < Fraction(2, 4),
        ours=f"{known} in the first group",
        note="It is 2/4, not less: beta is met with equality.",
    )
    yield _exactly("Alice in group 1", "presence, at most", _group_gamma(1), "1/32")
    yield _exactly("salary known: Alice in group 1", "presence", math.prod(_shares(alice, 1)), "1/32")
    yield claim(
        "the biggest probability of inferring Bob in a group is smaller than beta", holds=levels.gamma < levels.beta,
        ours=f"{levels.gamma} and {levels.beta}", note="Meant is gamma, which is met with equality.",
    )  # fmt: skip
    yield _exactly(
        "Alice in group 2",
        "presence, at most",
        _group_gamma(2),
        "1/64",
        erratum="eq. 6 is 1/4 times 2/4 times 1/4: (M, Doctor) is there twice",
    )
    mean = (_group_gamma(1) + _group_gamma(2)) / 2
    yield _exactly(
        "either group",
        "presence of Alice",
        mean,
        "3/128",
        erratum="the mean of 1/32 and 1/32; with her own row it is 0 in group 2",
    )
    one, two = _shares(alice, 1)[2], _shares(alice, 2)[2]
    yield claim(
        "the difference between groups is at most 2 delta (eq. 12)", holds=abs(one - two) <= 2 * levels.delta,
        ours=f"{abs(one - two)} and {2 * levels.delta}",
    )  # fmt: skip


# --- Tables 5 and 6 ----------------------------------------------------------------------------------------------------
ADULT = {
    "age": "age", "workclass": "workclass", "education": "education", "marital": "marital-status", "occupation": "occupation",
    "relationship": "relationship", "race": "race", "sex": "sex", "hours": "hours-per-week", "country": "native-country",
}  # fmt: skip
CENSUS = {
    "age": "age", "worker": "class of worker", "industry": "detailed industry recode", "education": "education",
    "wagehour": "wage per hour", "marital": "marital stat", "major": "major industry code", "race": "race", "sex": "sex",
    "employment": "full or part time employment stat", "gains": "capital gains",
}  # fmt: skip
TABLE_5 = dict(zip(ADULT, ("72", "7", "16", "7", "14", "6", "5", "2", "94", "41"), strict=True))
TABLE_6 = dict(zip(CENSUS, ("91", "9", "52", "17", "1,240", "7", "24", "5", "2", "8", "132"), strict=True))


@cache
def public_table(data: str) -> pa.Table:
    """Adult without the rows that miss a value, or Census-Income."""
    return datasets.load("adult-complete" if data == "Adult" else "census-income")


def attributes(data: str) -> list[str]:
    """The columns of Table 5 or Table 6."""
    return list((ADULT if data == "Adult" else CENSUS).values())


def _distinct(data: str, printed: Mapping[str, str]) -> Iterator[Row]:
    names = attributes(data)
    rows = anatomy.read_rows(read(public_table(data).select(names)), names)
    for (told, text), column in zip(printed.items(), names, strict=True):
        yield row(told, "distinct values", len(rows.domain(column)), text)
    *known, _ = names
    sizes = public_table(data).group_by(known).aggregate([([], "count_all")])["count_all"]
    alone, people = pc.sum(pc.equal(sizes, 1)).as_py(), public_table(data).num_rows
    yield claim(
        f"these quasi-identifiers can uniquely identify the individuals ({data})",
        holds=alone == people,
        ours=f"{alone:,} of {people:,} are alone with theirs ({alone / people:.1%})",
        where="Section 6",
        note="The rest share all of theirs with somebody.",
    )


@PAPER.part(
    "Table 5",
    "table",
    title="Adult",
    told="The counts are those of the 30,162 rows without a missing value, not of the 48,842 that the text names.",
    how="`classes` of `divulge measure`, or `divulge profile`.",
    public=("adult", "adult-test"),
)
def table_5() -> Found:
    """Distinct values of ten attributes."""
    yield from _distinct("Adult", TABLE_5)
    whole = sum(datasets.load(part).num_rows for part in ("adult", "adult-test"))
    yield row("Adult, both parts", "instances", whole, "48842", where="Section 6")
    yield row("Adult, the rows that Table 5 counts", "instances", public_table("Adult").num_rows)


@PAPER.part(
    "Table 6",
    "table",
    title="Census-Income",
    told='"Mace" is race; Major is the major industry code, a function of the industry.',
    how="`classes` of `divulge measure`, or `divulge profile`.",
    public=("census-income",),
)
def table_6() -> Found:
    """Distinct values of eleven attributes."""
    yield from _distinct("Census-Income", TABLE_6)
    yield row("Census-Income", "instances", public_table("Census-Income").num_rows, "199523", where="Section 6")
