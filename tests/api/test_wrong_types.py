# SPDX-License-Identifier: Apache-2.0
"""Wrong types raise one clear sentence.

Every argument of every public function and class gets values of other types.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import divulge as dv
import reproduction
from divulge.dossier import Record
from divulge.errors import BadInput, DivulgeError, InternalError
from divulge.results import Result
from divulge.validation import checked, fits

WRONG = (None, 3, "x", object(), [1], {"a": 1}, dt.date(2026, 1, 1))
PEOPLE = pa.table(
    {"zip": ["1", "1", "2", "2"], "age": [1, 2, 3, 4], "disease": ["flu", "cold", "flu", "cold"]}
)
GROUPS = [pa.table({"GID": [1, 1], "age": [3, 4]}), pa.table({"GID": [1, 1], "job": ["a", "b"]})]
ROLES: dict[str, Any] = {"quasi_identifiers": "zip", "sensitive": "disease"}
KEPT = dv.Policy(k_anonymity=2)
ALICE = Record.of({"N": "Alice", "P": "1"}, "p")
RECORDS = (
    Record.of({"N": "Alice", "C": "2"}, "r"),
    Record.of({"N": "Alice", "P": ("2", 0.5)}, "s"),
)
MERGING = dv.dossier.Resolve("N")
BATCH = reproduction.simulate.generate(
    reproduction.simulate.Parameters(n=2, records=2), seed=1
).batch
SMALL: dict[str, Any] = {"seeds": [1], "records": 2}


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Arguments:
    """Arguments of a call."""
    return args, kwargs


@cache
def measured() -> dv.Measurement:
    return dv.measure(PEOPLE, **ROLES)


@cache
def ordered() -> dv.Measurement:
    return dv.measure(pa.table({"zip": list("11223"), "disease": list("fcffc")}), **ROLES)


@cache
def attacked() -> Any:
    return dv.attack(PEOPLE, truth=PEOPLE, knows="zip", sensitive="disease", subsets=1)


# Valid arguments of each public function; they are then replaced one by one. They are built on
# demand: each of the parallel test processes reads this file, and most of them run none of its
# tests.
CALLS: dict[str, Callable[[], Arguments]] = {
    "dv.advise": lambda: call(
        PEOPLE, sensitive="disease", quasi_identifiers=["zip", "age"], queries=2
    ),
    "dv.anatomize": lambda: call(
        PEOPLE, sensitive="disease", quasi_identifiers=["zip", "age"], beta="1/2"
    ),
    "dv.apply": lambda: call("release", PEOPLE, "out", force=True),
    "dv.attack": lambda: call(PEOPLE, truth=PEOPLE, knows="zip", sensitive="disease", records=2),
    "dv.check": lambda: call(PEOPLE, KEPT, **ROLES),
    "dv.compare": lambda: call([PEOPLE, PEOPLE], **ROLES),
    "dv.compose": lambda: call(
        [PEOPLE.select(["zip", "disease"]), PEOPLE], truth=PEOPLE, sensitive="disease"
    ),
    "dv.cut": lambda: call(PEOPLE, "age", about="disease", policy=KEPT),
    "dv.generalize": lambda: call(PEOPLE, policy=KEPT, plain=["age"], **ROLES),
    "dv.growing": lambda: call(PEOPLE, quasi_identifiers=["zip", "age"]),
    "dv.Ledger": lambda: call("ledger"),
    "dv.measure": lambda: call(PEOPLE, **ROLES),
    "dv.open_release": lambda: call("release"),
    "dv.perturbed": lambda: call(PEOPLE, PEOPLE, columns="zip"),
    "dv.profile": lambda: call(PEOPLE),
    "dv.query": lambda: call("release", "true"),
    "dv.report": lambda: call(PEOPLE, KEPT, **ROLES),
    "dv.rank": lambda: call(PEOPLE, quasi_identifiers=["zip", "age"]),
    "dv.read": lambda: call(PEOPLE),
    "dv.tradeoff": lambda: call(PEOPLE, "k_anonymity", **ROLES),
    "dv.utility": lambda: call(PEOPLE, PEOPLE, queries=5),
    "dv.Adversary": call,
    "dv.DuckDBEngine": call,
    "dv.Policy": call,
    "dv.Protection": lambda: call(dv.Policy(k_anonymity=2).promises, {"zip": "1"}),
    "datasets.available": call,
    "datasets.fetch": lambda: call("adult"),
    "datasets.generalized": lambda: call(dv.datasets.patients(rows=200)),
    "datasets.load": lambda: call("adult"),
    "datasets.patients": lambda: call(rows=200),
    "charts.after_each_release": lambda: call(dv.compose([PEOPLE, PEOPLE], truth=PEOPLE, **ROLES)),
    "charts.as_json": lambda: call(measured().chart()),
    "charts.before_and_after": lambda: call(measured().of_class(zip="1")),
    "charts.check_path": lambda: call("picture.svg"),
    "charts.class_sizes": lambda: call(measured()),
    "charts.what_is_left": lambda: call(dv.utility(PEOPLE, PEOPLE, queries=5)),
    "charts.compared": lambda: call(dv.compare([PEOPLE, PEOPLE], **ROLES)),
    "charts.independence": lambda: call(ordered().independence()),
    "charts.disinformation": lambda: call(
        dv.dossier.choose_disinformation(
            RECORDS, ALICE, dv.dossier.candidates_of(RECORDS[:1]), budget=1, operator=MERGING
        )
    ),
    "charts.distributions": lambda: call(
        dv.generalize(PEOPLE, policy=KEPT, plain=["age"], **ROLES)
    ),
    "reproduction.figure": lambda: call(
        reproduction.Figure("Fig. 1", "One", "x", "y", ({"x": "a", "y": 1.0},))
    ),
    "charts.front": lambda: call(dv.tradeoff(PEOPLE, "k_anonymity", **ROLES)),
    "charts.groups": lambda: call(
        dv.anatomize(PEOPLE, sensitive="disease", quasi_identifiers=["zip", "age"], beta="1/2")
    ),
    "charts.information": lambda: call(measured()),
    "charts.knowledge": lambda: call(attacked()),
    "charts.known_columns": lambda: call(dv.rank(PEOPLE, quasi_identifiers=["zip", "age"])),
    "charts.leakages": lambda: call(measured()),
    "charts.records": lambda: call(dv.dossier.set_leakage(RECORDS, ALICE)),
    "charts.save": lambda: call(measured().chart(), "picture.svg"),
    "charts.success": lambda: call(attacked()),
    "charts.sets": lambda: call(dv.rank(PEOPLE, quasi_identifiers=["zip", "age"])),
    "charts.timeline": lambda: call(dv.dossier.timeline(RECORDS, ALICE, operator=MERGING)),
    "dossier.Augment": lambda: call("C", "P", {"2": "1"}),
    "dossier.Chain": lambda: call((MERGING,)),
    "dossier.Compared": lambda: call("N"),
    "dossier.Correct": lambda: call({"N": {"Alise": "Alice"}}),
    "dossier.Cost": call,
    "dossier.Equivalence": lambda: call({"N": {"Alice": ["Alise"]}}),
    "dossier.Joint": lambda: call("J", frozenset(("N", "P"))),
    "dossier.Link": lambda: call(["N"]),
    "dossier.MatchRule": lambda: call((("N",),)),
    "dossier.Measure": call,
    "dossier.Record": lambda: call(ALICE.attributes),
    "dossier.Record.of": lambda: call({"N": "Alice"}),
    "dossier.Resolve": lambda: call("N"),
    "dossier.algorithm1_printed": lambda: call([0.5], [0]),
    "dossier.attack": lambda: call(RECORDS, ALICE, MERGING),
    "dossier.candidates_of": lambda: call(RECORDS),
    "dossier.choose_disinformation": lambda: call(
        RECORDS, ALICE, dv.dossier.candidates_of(RECORDS[:1]), budget=1, operator=MERGING
    ),
    "dossier.compare": lambda: call(RECORDS, ALICE, {"u": RECORDS[0]}, operator=MERGING),
    "dossier.dip": lambda: call(RECORDS, ALICE, MERGING),
    "dossier.enhance": lambda: call(RECORDS),
    "dossier.enhance_each": lambda: call(RECORDS, rule="N"),
    "dossier.expected_f": lambda: call(BATCH, 2.0),
    "dossier.from_rows": lambda: call([{"N": "Alice"}]),
    "dossier.incremental": lambda: call(RECORDS, ALICE, RECORDS[0], operator=MERGING),
    "dossier.leakage": lambda: call(RECORDS[0], ALICE),
    "dossier.link": lambda: call(RECORDS, ["N"]),
    "dossier.link_tables": lambda: call(
        PEOPLE.select(["zip"]),
        PEOPLE.select(["zip"]),
        [dv.dossier.Compared("zip", levels=((0.9, 0.1),))],
        blocking=[["zip"]],
        prior=0.5,
    ),
    "dossier.naive": lambda: call(BATCH, 2.0),
    "dossier.name_of": lambda: call(ALICE),
    "dossier.plan_disinformation": lambda: call(RECORDS, ALICE, rule="N", budget=1),
    "dossier.possible_worlds": lambda: call(ALICE),
    "dossier.read_background": lambda: call("background.json"),
    "dossier.read_joint_values": lambda: call("joint.csv"),
    "dossier.read_lookup": lambda: call("lookup.csv"),
    "dossier.read_database": lambda: call("records.json"),
    "dossier.read_record": lambda: call("record.json"),
    "dossier.read_weights": lambda: call("weights.json"),
    "dossier.record_leakages": lambda: call(RECORDS, ALICE),
    "dossier.record_to_json": lambda: call(ALICE),
    "dossier.resolve": lambda: call(RECORDS, "N"),
    "dossier.set_leakage": lambda: call(RECORDS, ALICE),
    "dossier.show": lambda: call(("N", "Alice")),
    "dossier.table_leakage": lambda: call([{"zip": "1*"}], [ALICE], quasi_identifiers=["zip"]),
    "dossier.taylor": lambda: call(BATCH, 2.0),
    "dossier.timeline": lambda: call(RECORDS, ALICE, operator=MERGING),
    "dossier.without": lambda: call(RECORDS, ALICE, operator=MERGING),
    "dossier.write_database": lambda: call(RECORDS, "written.json"),
    "reproduction.compare_distances": lambda: call(pairs=2, steps=10),
    "reproduction.reproduce": lambda: call("afifi", part="Example 8"),
    "dv.side_by_side": lambda: call(
        PEOPLE, sensitive="disease", beta="1/2", quasi_identifiers=["zip", "age"]
    ),
    "simulate.Parameters": call,
    "simulate.figure3": lambda: call("a", **SMALL, steps=1),
    "simulate.figure3d": lambda: call(sizes=(2,)),
    "simulate.generate": lambda: call(reproduction.simulate.Parameters(n=2, records=2), seed=1),
    "simulate.run": lambda: call(reproduction.simulate.Parameters(n=2, records=2), seeds=[1]),
    "simulate.table5": lambda: call(**SMALL),
}
ROOMS = {
    "dv": dv,
    "charts": dv.charts,
    "datasets": dv.datasets,
    "dossier": dv.dossier,
    "reproduction": reproduction,
    "simulate": reproduction.simulate,
}
# Parts of results and errors are excluded: users do not create them. SparkEngine without a session
# starts one.
MADE_BY_US = set(
    "dv.DivulgeError dv.SparkEngine datasets.Available dossier.Attribute dossier.Batch "
    "dossier.Operator "
    "dossier.TableLeakage dossier.TimelineStep dossier.Without reproduction.Figure "
    "reproduction.Paper reproduction.Reproduced reproduction.Row "
    "simulate.SeedSpread simulate.Table5Row "
    "simulate.Timing".split()
)


def public(room: str, module: ModuleType) -> Iterator[str]:
    """Public names of a module that a user may call."""
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
    ]
    for name in names:
        value = getattr(module, name)
        made_by_us = inspect.isclass(value) and issubclass(value, Result)
        if (
            not name.startswith("_")
            and not made_by_us
            and (inspect.isfunction(value) or inspect.isclass(value))
        ):
            yield f"{room}.{name}"


def found(name: str) -> Callable[..., Any]:
    """The function or the class."""
    room, *path = name.split(".")
    value: Any = ROOMS[room]
    for part in path:
        value = getattr(value, part)
    return value  # type: ignore[no-any-return]


def hint_of(function: Callable[..., Any], name: str) -> Any:
    """Annotation of an argument, as far as it is known here."""
    told = inspect.unwrap(function.__init__ if inspect.isclass(function) else function)
    space = getattr(inspect.getmodule(told), "__dict__", {})
    return get_type_hints(
        SimpleNamespace(__annotations__={name: told.__annotations__.get(name, Any)}), space
    )[name]


def test_no_public_function_is_left_out() -> None:
    known = {name for room, module in ROOMS.items() for name in public(room, module)}
    assert known - MADE_BY_US - set(CALLS) == set()
    assert set(CALLS) - known == {"dossier.Record.of"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the release that some calls name."""
    place = tmp_path_factory.mktemp("wrong")
    dv.generalize(PEOPLE, policy=KEPT, plain=["age"], **ROLES).write(place / "release")
    return place


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_type_gets_one_clear_sentence(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    function, (args, kwargs) = found(name), CALLS[name]()
    signature = inspect.signature(function)
    raw: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
            continue
        hint = hint_of(function, parameter.name)
        for wrong in WRONG:
            if hint is not Any and fits(wrong, hint):
                continue
            given = signature.bind(*args, **kwargs)
            given.arguments[parameter.name] = wrong
            try:
                function(*given.args, **given.kwargs)
            except InternalError as error:
                raw.append(f"{parameter.name}={wrong!r}: {error}")
            except DivulgeError as error:
                if "\n" in str(error):
                    raw.append(f"{parameter.name}={wrong!r}: more than one line")
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                raw.append(f"{parameter.name}={wrong!r}: {type(error).__name__}: {error}")
    assert not raw, "\n".join(raw)


def test_a_setting_of_spark_of_a_wrong_type_starts_no_spark() -> None:
    with pytest.raises(BadInput, match="master is 3, and it must be a text or None"):
        dv.SparkEngine(master=3)  # type: ignore[arg-type]


def test_an_unknown_keyword_stays_pythons_own() -> None:
    with pytest.raises(
        TypeError, match=r"measure\(\) got an unexpected keyword argument 'quasi_identifier'"
    ):
        dv.measure(PEOPLE, quasi_identifier="zip")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"times": 2.5}, "times is 2.5, and it must be a whole number or None"),
        ({"times": True}, "times is True, and it must be a whole number or None"),
        ({"names": None}, "names is None, and it must be a list (each a text)"),
        ({"names": "ab"}, "names is 'ab', and it must be a list (each a text)"),
        ({"names": ["a", 1]}, "names is ['a', 1], and it must be a list (each a text)"),
        ({"how": "lest"}, "there is no how 'lest'. did you mean 'least'?"),
        ({"how": object()}, "how is object, and it must be 'least' or 'most'"),
    ],
)
def test_the_sentence_names_the_value_and_the_expected_type(
    given: dict[str, Any], told: str
) -> None:
    from collections.abc import Sequence
    from typing import Literal

    def example(
        times: int | None = None, names: Sequence[str] = (), how: Literal["least", "most"] = "least"
    ) -> None:
        del times, names, how

    example.__annotations__ = {
        "times": int | None,
        "names": Sequence[str],
        "how": Literal["least", "most"],
    }
    with pytest.raises(BadInput) as error:
        checked(example)(**given)
    assert str(error.value) == told


def test_values_of_other_packages_count_as_what_they_are() -> None:
    frame = PEOPLE.to_pandas()
    numbers: dict[str, Any] = {"up_to": np.int64(2), "threshold": np.float32(0.5)}
    assert (
        dv.rank(frame, quasi_identifiers=frame.columns[:2], **numbers).settings["threshold"] == 0.5
    )
    others: dict[str, Any] = {"quasi_identifiers": pd.Series(["zip"]), "joint": np.bool_(False)}  # noqa: FBT003
    assert dv.measure(frame, **others).class_count == 2
