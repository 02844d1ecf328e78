# SPDX-License-Identifier: Apache-2.0
"""Yao, Chen, Wang, Liu and Wu 2021 (SLPPA): Table 1, its division and groups, and examples."""

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

from divulge import anatomization, datasets, queries
from divulge.api import anatomize as api_anatomize
from divulge.api.measure import measure
from divulge.engines import DuckDBEngine
from divulge.sources import read
from reproduction.verdicts import Figure, Paper, Row, claim, row

PAPER = Paper(
    "slppa",
    "Yao, Chen, Wang, Liu and Wu 2021: SLPPA",
    "Sensitive Label Privacy Preservation with Anatomization for Data Publishing",
    "Nothing is made coarser: columns are divided into tables, records into groups, and only the "
    "group ties the tables together. Four "
    "bounds hold in every group: **alpha** (record linkage), **beta** (attribute linkage), "
    "**gamma** (presence) and **delta** (how far a "
    "belief moves). [Concepts](../concepts/anatomize.md) and [the how-to "
    "page](../how-to/anatomize.md) tell more.",
)
RowsAndFigures = Iterator[Row | Figure]
QUASI_IDENTIFIERS = ("gender", "job", "age", "zipcode")
TABLES = (("age", "zipcode"), ("gender", "job"))
"""The division of Table 4; the salary is a separate table."""
GROUPS = (1, 1, 1, 1, 2, 2, 2, 2)
"""Table 3: the group of each person of Table 1."""
QUESTION = "age > 30 and job = 'Doctor' and salary = 6700"
TABLE_3: dict[str, Any] = {"alpha": "1/2", "beta": "1/2", "gamma": "1/32", "delta": "1/4"}
"""Levels that Table 3 reaches."""


def _people() -> pa.Table:
    return datasets.load("slppa-table-1")


def _published_tables(groups: Sequence[int] = GROUPS) -> list[pa.Table]:
    """The published tables of a grouping of Table 1."""
    people = _people()
    return [
        people.select(list(names)).append_column("GID", [list(groups)])
        for names in (*TABLES, ("salary",))
    ]


def _release(tables: Sequence[pa.Table]) -> anatomization.Published:
    engine = DuckDBEngine(threads=1)
    sensitive = [
        name
        for table in tables
        if table.num_columns == 2
        for name in table.column_names
        if name == "salary"
    ]
    return anatomization.join_tables(
        [read(table, engine=engine) for table in tables], sensitive=sensitive, group="GID"
    )


def _estimate_count(tables: Sequence[pa.Table], condition: str) -> float:
    """Estimated count of a condition in a release, by eq. 11."""
    return queries.estimate(queries.AnatomizedSource(_release(tables)), condition).estimate or 0.0


def _count(people: pa.Table, condition: str) -> float:
    """Number of records of an original table that satisfy a condition."""
    return _estimate_count([people.append_column("GID", [[1] * people.num_rows])], condition)


def _levels(groups: Sequence[int] = GROUPS) -> anatomization.Reached:
    return anatomization.measure_tables(
        _release(_published_tables(groups)), anatomization.AlphaBetaGammaDelta()
    ).levels


def _group_shares(person: dict[str, Any], group: int) -> tuple[Fraction, Fraction, Fraction]:
    """Share of a group's records with the person's row, for each table."""
    members = [
        record
        for record, record_group in zip(_people().to_pylist(), GROUPS, strict=True)
        if record_group == group
    ]
    first, second, third = (
        Fraction(
            sum(all(record[name] == person[name] for name in names) for record in members),
            len(members),
        )
        for names in (*TABLES, ("salary",))
    )
    return first, second, third


def _group_gamma(group: int) -> Fraction:
    """Eq. 6 of one group: the product of the shares of its most common rows."""
    members = [
        record
        for record, record_group in zip(_people().to_pylist(), GROUPS, strict=True)
        if record_group == group
    ]
    first, second, third = (
        max(_group_shares(record, group)[table_index] for record in members)
        for table_index in range(3)
    )
    return first * second * third


def _row_counts(number: int, tables: Sequence[pa.Table], printed: Sequence[str]) -> Iterator[Row]:
    """Compare the counts of each row in Table 3 or 4 with print, in the order of Table 1."""
    for letter, table, counts in zip("abc", tables, printed, strict=True):
        tuple_counts = Counter(tuple(record.values()) for record in table.to_pylist())
        label = f"Table {number}({letter})"
        yield row(label, "rows", len(tuple_counts), str(len(counts.split())))
        yield row(label, "count of each", " ".join(map(str, tuple_counts.values())), counts)


def _exact_row(
    label: str, quantity: str, ours: float | Fraction, printed: str | None = None, **more: Any
) -> Row:
    return row(label, quantity, float(ours), printed, exact=True, **more)


@PAPER.part(
    "Section 3",
    "example",
    title="attacks on Table 2",
    told="Table 2 is Table 1 without names. Counts are asked of it as it is.",
    how="`divulge query`, `alpha` of `divulge measure`.",
)
def section_3() -> RowsAndFigures:
    """People who match, and the salary of a teacher."""
    people = _people().drop_columns(["name"])
    for person, job, age, number, tuple_numbers in (
        ("Cary", "Engineer", 40, "1", "3"),
        ("Eric", "Doctor", 30, "2", "5, 8"),
    ):
        label = f"{person}, job {job}, over {age}"
        fit = [
            at
            for at, record in enumerate(people.to_pylist(), start=1)
            if record["job"] == job and record["age"] > age
        ]
        yield row(
            label, "tuples that fit", _count(people, f"job = '{job}' and age > {age}"), number
        )
        yield row(label, "which", ", ".join(map(str, fit)), tuple_numbers)
    teachers = measure(people, quasi_identifiers=["job"], sensitive="salary")
    of_class = dict(
        zip(
            (teachers.contingency.class_key(at)["job"] for at in range(len(teachers.contingency))),
            teachers.per_class("alpha", "salary"),
            strict=True,
        )
    )
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
    yield _exact_row("salary = 4500", "prior belief", prior, "1/4")
    matching_rows = [at for at, record in enumerate(people.to_pylist()) if record["salary"] == 4500]
    yield row("salary = 4500", "which", ", ".join(str(at + 1) for at in matching_rows), "1, 4")
    other_people = people.take([at for at in range(people.num_rows) if at not in matching_rows])
    yield row(
        "without the 1st and 4th tuple",
        "posterior belief",
        _count(other_people, "salary = 4500") / other_people.num_rows,
        "0",
    )


@PAPER.part(
    "Table 3",
    "table",
    title="Definitions 1 to 4",
    told="Eight people in two groups. The second group holds (M, Doctor) twice, so Eric and "
    "Henry are linked with probability 1/2.",
    how="`dv.check`, as exact fractions.",
)
def table_3() -> RowsAndFigures:
    """The four levels of Table 3."""
    alice = _people().to_pylist()[0]
    first = [
        record
        for record, record_group in zip(_people().to_pylist(), GROUPS, strict=True)
        if record_group == 1
    ]
    ways = list(permutations(range(4)))
    matching_combinations = [
        way
        for way in ways
        if (first[way[0]]["gender"], first[way[0]]["job"]) == (alice["gender"], alice["job"])
    ]
    yield row("combinations of the first group", "number", len(ways), "24", where="Definition 1")
    yield row(
        "of them with Alice's quasi-identifiers",
        "number",
        len(matching_combinations),
        "6",
        where="Definition 1",
    )
    yield _exact_row(
        "Alice",
        "alpha",
        Fraction(len(matching_combinations), len(ways)),
        "1/4",
        where="Definition 1",
    )
    levels = _levels()
    yield _exact_row("Alice", "beta", _group_shares(alice, 1)[2], "1/2", where="Definition 2")
    yield _exact_row(
        "Alice's combination in the first group",
        "gamma",
        math.prod(_group_shares(alice, 1)),
        "1/32",
        where="Definition 3",
    )
    fictitious_person = {
        "gender": "M",
        "job": "Doctor",
        "age": 33,
        "zipcode": "12200",
        "salary": 6700,
    }
    yield _exact_row(
        "(M, Doctor, 33, 12200, 6700) in the second",
        "gamma",
        math.prod(_group_shares(fictitious_person, 2)),
        "1/32",
        where="Definition 3",
    )
    prior = Fraction(
        sum(record["salary"] == alice["salary"] for record in _people().to_pylist()), len(GROUPS)
    )
    yield _exact_row("Alice's salary in Table 1", "probability", prior, "2/8", where="Definition 4")
    for group, text in ((1, "2/4"), (2, "0")):
        share = _group_shares(alice, group)[2]
        shift = abs(prior - share)
        yield _exact_row(
            f"Alice's salary in group {group}", "probability", share, text, where="Definition 4"
        )
        yield _exact_row(
            f"Alice's salary in group {group}", "delta", shift, "1/4", where="Definition 4"
        )
    for name in ("alpha", "beta", "gamma", "delta"):
        yield _exact_row("the table", f"{name}, the worst of all", getattr(levels, name))
    yield from _row_counts(
        3, _published_tables(), ("1 1 1 1 1 1 1 1", "1 1 1 1 2 1 1", "2 1 1 1 1 1 1")
    )


@PAPER.part(
    "Table 4",
    "table",
    title="the division",
    told="Gender goes with age (phi2 = 1) and not with job (1/9). Only a limit of two columns "
    "per table gives the printed division. Eqs. 9 "
    "and 10 are not worked out in the paper; ours are shown. The text calls 4(c), the table of "
    "the salary, Table 6.",
    how="`divulge anatomize`, with `--linkage first` and with `--max-table-size 2`; `division` "
    "of its JSON document.",
)
def table_4() -> RowsAndFigures:
    """Weights, associations, and three readings of the division."""
    rows = anatomization.read_rows(read(_people()), [*QUASI_IDENTIFIERS, "salary"])
    any_model = anatomization.AlphaBetaGammaDelta()
    division_as_printed = anatomization.Slppa(any_model, tables=2).divide(rows, QUASI_IDENTIFIERS)
    for name, weight in division_as_printed.weights:
        yield row(name, "entropy (eq. 9)", weight)
    for pair in anatomization.Slicing(1, tables=2).divide(rows, QUASI_IDENTIFIERS).coefficients:
        yield _exact_row(f"{pair.left} and {pair.right}", "phi2 (eq. 10)", pair.value)
    printed = "{age, zipcode}, {gender, job}"
    reason = (
        "gender goes with age (phi2 = 1), not with job (1/9); a limit of two columns per "
        "table "
        "gives what is printed"
    )
    for reading, method in (
        ("eqs. 9 and 10 as written", anatomization.Slppa(any_model, tables=2)),
        (
            "association with the first column only",
            anatomization.Slppa(any_model, tables=2, linkage="first"),
        ),
        (
            "at most two columns in a table",
            anatomization.Slppa(any_model, tables=2, max_table_size=2),
        ),
    ):
        tables = method.divide(rows, QUASI_IDENTIFIERS).tables
        order = ("age", "zipcode", "gender", "job")
        ours = ", ".join(f"{{{', '.join(sorted(names, key=order.index))}}}" for names in tables)
        yield row(reading, "tables", ours, printed, erratum=reason if ours != printed else "")
    ungrouped_tables = [table.drop_columns(["GID"]) for table in _published_tables()]
    yield from _row_counts(4, ungrouped_tables, ("2 2 1 1 1 1", "1 1 1 1 2 1 1", "2 2 1 1 1 1"))


@PAPER.part(
    "Algorithm 1",
    "claim",
    title="on Table 1",
    told="With the paper's own levels the printed rule gives up, although groups exist; and "
    "Table 3 is not the best: half of each of its "
    "levels can be kept. It cannot come from lines 1 to 19, for 4500 stands twice in its first "
    "group.",
    how='`dv.anatomize(..., algorithm="paper")` and the default, `"guaranteed"`.',
)
def algorithm_1() -> RowsAndFigures:
    """Algorithm 1 as printed, and ours."""
    half: dict[str, Any] = {name: str(Fraction(bound) / 2) for name, bound in TABLE_3.items()}
    outcomes: dict[str, str] = {}
    ways: tuple[tuple[str, dict[str, Any], anatomization.Algorithm], ...] = (
        ("Algorithm 1", TABLE_3, "paper"),
        ("ours", TABLE_3, "guaranteed"),
        ("ours, half", half, "guaranteed"),
    )
    for label, bounds, algorithm in ways:
        try:
            release = api_anatomize.anatomize(
                _people(),
                sensitive="salary",
                quasi_identifiers=QUASI_IDENTIFIERS,
                identifier="name",
                tables=TABLES,
                algorithm=algorithm,
                seed=0,
                **bounds,
            )
            outcomes[label] = (
                f"{release.summary.groups} groups, "
                f"{', '.join(f'{name} {level}' for name, level in release.levels.texts().items())}"
            )
        except anatomization.InfeasibleModel as error:
            outcomes[label] = f"gives up: {error.because}"
    yield claim(
        "Table 3 is what the algorithm publishes for Table 1",
        holds="groups" in outcomes["Algorithm 1"]
        and not outcomes["Algorithm 1"].startswith("gives up"),
        ours=f"for the levels of Table 3 it {outcomes['Algorithm 1']}",
        note=f"Ours for the same levels: {outcomes['ours']}; for half of each: "
        f"{outcomes['ours, half']}.",
    )


def _divisions() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """All divisions of Table 1's quasi-identifiers into two tables."""
    first, *others = QUASI_IDENTIFIERS
    for size in range(len(others)):
        for chosen in combinations(others, size):
            yield (first, *chosen), tuple(name for name in others if name not in chosen)


def _least_alpha(tables: Iterable[Sequence[str]]) -> Fraction:
    """Share of the most common row of any table; no grouping satisfies a lower alpha."""
    rows = _people().to_pylist()
    return max(
        Fraction(
            max(Counter(tuple(record[name] for name in names) for record in rows).values()),
            len(rows),
        )
        for names in tables
    )


@PAPER.part(
    "Section 4.4",
    "claim",
    title="parameter setting",
    told="Which bounds can be kept is known exactly: alpha and beta if the commonest row of each "
    "table and the commonest sensitive value "
    "are no more frequent in the whole table; delta always.",
    how="`divulge anatomize` says what can be kept, with exit code 3; `dv.advise`.",
)
def section_4_4() -> RowsAndFigures:
    """Claims about alpha and gamma."""
    four = pa.table({"sex": [*"MMMF"], "salary": [1, 2, 3, 4]})
    try:
        api_anatomize.anatomize(
            four, sensitive="salary", quasi_identifiers="sex", alpha="3/5", tables=1, seed=0
        )
        reason = ""
    except anatomization.InfeasibleModel as error:
        reason = error.because
    yield claim(
        "when alpha is larger than 1/min, it can always be met",
        holds=not reason,
        ours=f"the column M, M, M, F has two values; alpha = 3/5: {reason}",
        note="What counts is the commonest value, not how many there are.",
    )
    levels = _levels()
    yield claim(
        "gamma >= alpha^k beta satisfies the gamma requirement once alpha and beta are satisfied",
        holds=levels.gamma <= levels.alpha**2 * levels.beta,
        ours=f"Table 3: {levels.gamma} and {levels.alpha**2 * levels.beta}",
    )
    most_values = max(len(set(_people()[name].to_pylist())) for name in QUASI_IDENTIFIERS)
    alpha_limit = Fraction(1, most_values ** (len(QUASI_IDENTIFIERS) - 1))
    least = min(map(_least_alpha, _divisions()))
    yield claim(
        "when alpha is smaller than 1/max^(X-k+1), it can never be met",
        holds=least >= alpha_limit,
        ours=f"Table 1 in two tables: 1/max^3 = {alpha_limit}, and the least alpha of any division "
        f"is {least}",
        note="True, for a table cannot have more rows that differ; what can be kept is far above "
        "it.",
    )
    people = len(GROUPS)
    groups = len(set(GROUPS))
    most_common_count = max(Counter(_people()["salary"].to_pylist()).values())
    records_per_group = max(math.ceil(1 / levels.beta), math.ceil(1 / levels.delta))
    yield claim(
        "H <= G <= L/N, so that Pr[ASA(v)] <= H/L <= G/L <= 1/N",
        holds=most_common_count <= groups <= Fraction(people, records_per_group),
        ours=f"Table 3: H = {most_common_count}, G = {groups}, L/N = {people}/{records_per_group}",
        note="H <= G is sure only before groups are combined (lines 20 to 41).",
    )
    absent_share = _group_shares(_people().to_pylist()[0], 2)[2]
    yield claim(
        "Pr[ASA(v)|g] is between 1/(2N-1) and 1/N",
        holds=absent_share > 0,
        ours=f"4500 has {absent_share} in the second group of Table 3",
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
def section_5_1() -> RowsAndFigures:
    """Counts with groups, and without."""
    true = _count(_people(), QUESTION)
    grouped_estimate = _estimate_count(_published_tables(), QUESTION)
    ungrouped_estimate = _estimate_count(_published_tables([1] * 8), QUESTION)
    yield row("Table 1", "count", true, "1")
    second = [table.filter(pc.equal(table["GID"], 2)) for table in _published_tables()]
    for label, tables, texts in (
        ("Table 3, the second group", second, ("3/4", "3/4")),
        ("Table 4", _published_tables([1] * 8), ("6/8", "3/8")),
    ):
        for table_index, (condition, text) in enumerate(
            zip(("age > 30", "job = 'Doctor'"), texts, strict=True)
        ):
            fit = _estimate_count([tables[table_index]], condition)
            yield _exact_row(
                f"{label}, {condition}",
                "share",
                Fraction(round(fit), tables[table_index].num_rows),
                text,
            )
    yield _exact_row("Table 3, two groups", "estimate", grouped_estimate, "9/16")
    yield _exact_row("Table 4, no groups", "estimate", ungrouped_estimate, "9/32")
    yield claim(
        "grouping helps to find an answer closer to the actual value",
        holds=abs(grouped_estimate - true) < abs(ungrouped_estimate - true),
        ours=f"{grouped_estimate:.4f} and {ungrouped_estimate:.4f} for {true:.0f}",
    )


@PAPER.part(
    "Section 5.2",
    "example",
    title="the four requirements by example",
    told="The pair (M, Doctor) in the second group is overlooked twice.",
    how="`dv.check`; shares of one group by counting.",
)
def section_5_2() -> RowsAndFigures:
    """Inferences of the attacker about Alice."""
    alice = _people().to_pylist()[0]
    levels = _levels()
    yield _exact_row(
        "Table 3",
        "least alpha that can be set",
        levels.alpha,
        "1/4",
        erratum="group 2 holds (M, Doctor) twice, so eq. 3 gives 2/4",
    )
    by_definition = {group: _group_shares(alice, group)[1] for group in (1, 2)}
    yield _exact_row(
        "age and zip code known: Alice's quasi-identifiers in group 1",
        "probability",
        by_definition[1],
        "1/16",
        erratum="1/4 by Definition 1, where her row of Table 3(a) is known; 1/16 only if it must "
        "be guessed too",
    )
    yield _exact_row(
        "age and zip code known: Alice's quasi-identifiers in group 2",
        "probability",
        by_definition[2],
        "1/16",
        erratum="0: group 2 has no (F, Teacher)",
    )
    product_of_shares = _group_shares(alice, 1)[0] * _group_shares(alice, 1)[1]
    yield _exact_row(
        "salary known: Alice's quasi-identifiers", "probability", product_of_shares, "1/16"
    )
    yield _exact_row("Table 3", "least beta that can be set", levels.beta, "2/4")
    for group, printed in ((1, "2/4"), (2, "0")):
        yield _exact_row(
            f"Alice's salary in group {group}",
            "probability",
            _group_shares(alice, group)[2],
            printed,
        )
    salary_share = _group_shares(alice, 1)[2]
    yield claim(
        "who knows all quasi-identifiers of Alice infers her salary with a probability of less "
        "than 2/4",
        holds=salary_share < Fraction(2, 4),
        ours=f"{salary_share} in the first group",
        note="It is 2/4, not less: beta is met with equality.",
    )
    yield _exact_row("Alice in group 1", "presence, at most", _group_gamma(1), "1/32")
    yield _exact_row(
        "salary known: Alice in group 1", "presence", math.prod(_group_shares(alice, 1)), "1/32"
    )
    yield claim(
        "the biggest probability of inferring Bob in a group is smaller than beta",
        holds=levels.gamma < levels.beta,
        ours=f"{levels.gamma} and {levels.beta}",
        note="Meant is gamma, which is met with equality.",
    )
    yield _exact_row(
        "Alice in group 2",
        "presence, at most",
        _group_gamma(2),
        "1/64",
        erratum="eq. 6 is 1/4 times 2/4 times 1/4: (M, Doctor) is there twice",
    )
    mean = (_group_gamma(1) + _group_gamma(2)) / 2
    yield _exact_row(
        "either group",
        "presence of Alice",
        mean,
        "3/128",
        erratum="the mean of 1/32 and 1/32; with her own row it is 0 in group 2",
    )
    first_share = _group_shares(alice, 1)[2]
    two = _group_shares(alice, 2)[2]
    yield claim(
        "the difference between groups is at most 2 delta (eq. 12)",
        holds=abs(first_share - two) <= 2 * levels.delta,
        ours=f"{abs(first_share - two)} and {2 * levels.delta}",
    )


# --- Tables 5 and 6 -------------------------------------------------------------------------------
ADULT = {
    "age": "age",
    "workclass": "workclass",
    "education": "education",
    "marital": "marital-status",
    "occupation": "occupation",
    "relationship": "relationship",
    "race": "race",
    "sex": "sex",
    "hours": "hours-per-week",
    "country": "native-country",
}
CENSUS = {
    "age": "age",
    "worker": "class of worker",
    "industry": "detailed industry recode",
    "education": "education",
    "wagehour": "wage per hour",
    "marital": "marital stat",
    "major": "major industry code",
    "race": "race",
    "sex": "sex",
    "employment": "full or part time employment stat",
    "gains": "capital gains",
}
TABLE_5 = dict(zip(ADULT, ("72", "7", "16", "7", "14", "6", "5", "2", "94", "41"), strict=True))
TABLE_6 = dict(
    zip(CENSUS, ("91", "9", "52", "17", "1,240", "7", "24", "5", "2", "8", "132"), strict=True)
)


@cache
def public_table(data: str) -> pa.Table:
    """Adult without rows that have a missing value, or Census-Income."""
    return datasets.load("adult-complete" if data == "Adult" else "census-income")


def attributes(data: str) -> list[str]:
    """The columns of Table 5 or Table 6."""
    return list((ADULT if data == "Adult" else CENSUS).values())


def _distinct_value_rows(data: str, printed: Mapping[str, str]) -> Iterator[Row]:
    names = attributes(data)
    rows = anatomization.read_rows(read(public_table(data).select(names)), names)
    for (attribute, text), column in zip(printed.items(), names, strict=True):
        yield row(attribute, "distinct values", len(rows.domain(column)), text)
    *quasi_columns, _ = names
    sizes = public_table(data).group_by(quasi_columns).aggregate([([], "count_all")])["count_all"]
    unique_people = pc.sum(pc.equal(sizes, 1)).as_py()
    people = public_table(data).num_rows
    yield claim(
        f"these quasi-identifiers can uniquely identify the individuals ({data})",
        holds=unique_people == people,
        ours=f"{unique_people:,} of {people:,} are alone with theirs "
        f"({unique_people / people:.1%})",
        where="Section 6",
        note="The rest share all of theirs with somebody.",
    )


@PAPER.part(
    "Table 5",
    "table",
    title="Adult",
    told="The counts are those of the 30,162 rows without a missing value, not of the 48,842 "
    "that the text names.",
    how="`classes` of `divulge measure`, or `divulge profile`.",
    public=("adult", "adult-test"),
)
def table_5() -> RowsAndFigures:
    """Distinct values of ten attributes."""
    yield from _distinct_value_rows("Adult", TABLE_5)
    instances = sum(datasets.load(part).num_rows for part in ("adult", "adult-test"))
    yield row("Adult, both parts", "instances", instances, "48842", where="Section 6")
    yield row("Adult, the rows that Table 5 counts", "instances", public_table("Adult").num_rows)


@PAPER.part(
    "Table 6",
    "table",
    title="Census-Income",
    told='"Mace" is race; Major is the major industry code, a function of the industry.',
    how="`classes` of `divulge measure`, or `divulge profile`.",
    public=("census-income",),
)
def table_6() -> RowsAndFigures:
    """Distinct values of eleven attributes."""
    yield from _distinct_value_rows("Census-Income", TABLE_6)
    yield row(
        "Census-Income",
        "instances",
        public_table("Census-Income").num_rows,
        "199523",
        where="Section 6",
    )
