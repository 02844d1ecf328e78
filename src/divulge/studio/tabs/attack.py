# SPDX-License-Identifier: Apache-2.0
"""The tab Attack: simulate attacks on the planned release, and measure joint disclosure risk.

The joint risk is that of the planned release together with the prior releases.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import divulge as dv
from divulge import attacks, charts, output
from divulge.errors import BadInput
from divulge.options import Invocation, PythonCode, command_words
from divulge.output import html
from divulge.studio.session_state import FILE, SessionState
from divulge.studio.tabs.anatomize import (
    anatomize_arguments,
    anatomized_release,
    equivalent_anatomize,
)
from divulge.studio.tabs.promises import planned_release
from divulge.studio.tabs.tab import (
    Html,
    Tab,
    card,
    checkbox,
    column_name_html,
    dropdown,
    el,
    labeled_field,
    parse_integer,
    parse_number,
    require_table,
    void_element,
)
from divulge.studio.worker import Worker

_TAB_NAME = "attack"
_PLANNED_RELEASE = ""
_ORIGINAL = "the table as it came"
_ANATOMIZED = "the tables and groups of Anatomize"
_DEFAULTS = {"records": 1000, "seed": 1, "wrong": 0, "subsets": 0}
_FURTHER_TABLES = {
    "control": (
        "people who are not in it",
        "what she achieves against them is no fault of the release",
    ),
    "background": (
        "another table that she holds",
        "what it says of people like the target weighs in",
    ),
}
_LARGEST_SUBSET = 3


# --- functions of the controls --------------------------------------------------------------------
def _argument_edit(name: str, parse: Any) -> Any:
    """Return the function of a control that sets an argument of `dv.attack` or `dv.compose`."""

    def edit(worker: Worker, _: str, value: Any) -> SessionState:
        parsed = parse(value)
        return worker.state.with_argument(
            _TAB_NAME, name, None if parsed == _DEFAULTS.get(name) else parsed
        )

    return edit


def _set_known_column(worker: Worker, subject: str, value: Any) -> SessionState:
    columns = [
        name
        for name in _quasi_identifiers(worker.state)
        if (value if name == subject else name in _known_columns(worker.state))
    ]
    if not columns:
        raise BadInput("an adversary who knows nothing finds nobody", hint="leave her one column")
    return worker.state.with_argument(
        _TAB_NAME, "knows", [] if columns == _quasi_identifiers(worker.state) else columns
    )


def _select_attack(worker: Worker, subject: str, value: Any) -> SessionState:
    """Select an attack by name; with none selected, every applicable attack runs."""
    before = worker.state.argument(_TAB_NAME, "attacks", [])
    chosen = [
        attacker.name
        for attacker in attacks.ATTACKERS
        if (value if attacker.name == subject else attacker.name in before)
    ]
    return worker.state.with_argument(_TAB_NAME, "attacks", chosen)


def _set_prior_release(worker: Worker, subject: str, value: Any) -> SessionState:
    """Add a prior release, or remove it."""
    path = subject or str(value).strip()
    paths = [earlier_path for earlier_path in _prior_releases(worker.state) if earlier_path != path]
    worker.redraw_controls = True
    against = worker.state.argument(_TAB_NAME, "against")
    if value or against != path:
        state = worker.state
    else:
        state = worker.state.with_argument(_TAB_NAME, "against", None)
    return state.with_argument(_TAB_NAME, "releases", [*paths, path] if value and path else paths)


def _set_ledger(worker: Worker, _: str, value: Any) -> SessionState:
    """Set the ledger, which must exist: a missing one would mean that nothing was released."""
    folder = _stripped(value)
    if folder and not Path(folder).expanduser().is_dir():
        raise BadInput(
            f"there is no ledger {folder!r}", hint="name the folder of one that is there"
        )
    return worker.state.with_argument(_TAB_NAME, "ledger", folder)


def _quasi_identifiers(state: SessionState) -> list[str]:
    names = state.policy.roles.get("quasi_identifiers") or []
    if isinstance(names, str):
        return [names]
    return list(names)


def _known_columns(state: SessionState) -> list[str]:
    return list(state.argument(_TAB_NAME, "knows") or _quasi_identifiers(state))


def _prior_releases(state: SessionState) -> list[str]:
    return list(state.argument(_TAB_NAME, "releases", []))


# --- results of the library -----------------------------------------------------------------------
def _attack_arguments(state: SessionState) -> dict[str, Any]:
    """Return the arguments of `dv.attack` that were set on this tab."""
    argument_names = ("knows", "records", "wrong", "subsets", "seed", "attacks", *_FURTHER_TABLES)
    return {
        name: value
        for name in argument_names
        if (value := state.argument(_TAB_NAME, name)) is not None
    }


def _attack_result(worker: Worker) -> Any:
    """Return the result of the attacks."""
    state = worker.state
    against = worker.state.argument(_TAB_NAME, "against", _PLANNED_RELEASE)
    options = _attack_arguments(state)
    settings = ""
    if against == _ANATOMIZED:  # groups guarantee their own bounds, not those of the policy
        release = anatomized_release(worker)
        settings = json.dumps(anatomize_arguments(worker))
        options["policy"] = replace(dv.Policy(), adversary=state.policy.adversary)
    else:
        options["policy"] = state.policy
        if against == _PLANNED_RELEASE:
            release = planned_release(worker)
        elif against == _ORIGINAL:
            release = worker.table
        else:
            release = against

    def run_attacks() -> Any:
        return dv.attack(
            release,
            truth=worker.table,
            progress=worker.begin_step("playing the adversaries"),
            **options,
        )

    return worker.cached_by_policy(
        "attack", run_attacks, about=(against, settings, json.dumps(_attack_arguments(state)))
    )


def _composition(worker: Worker) -> Any:
    """Return the joint disclosure risk of prior and planned releases; None without prior ones."""
    state = worker.state
    prior_releases = _prior_releases(worker.state)
    ledger = worker.state.argument(_TAB_NAME, "ledger")
    if not prior_releases and not ledger:
        return None
    if _has_requirements(state):
        release = [planned_release(worker)]
    else:
        release = []

    def compose() -> Any:
        worker.begin_step("putting releases together")
        person = state.policy.roles.get("person")
        return dv.compose(
            [*prior_releases, *release], truth=worker.table, person=person, ledger=ledger
        )

    return worker.cached_by_policy("composed", compose, about=json.dumps([prior_releases, ledger]))


def _has_requirements(state: SessionState) -> bool:
    return bool(state.policy.promises or state.policy.protections)


# --- equivalent command and Python code -----------------------------------------------------------
def _send_equivalents(worker: Worker) -> None:
    """Send the equivalent commands and Python code, made from one mapping of arguments."""
    state = worker.state
    options = _attack_arguments(worker.state)
    prior_releases = _prior_releases(worker.state)
    against = state.argument(_TAB_NAME, "against", _PLANNED_RELEASE)
    ledger = state.argument(_TAB_NAME, "ledger")
    target = {_PLANNED_RELEASE: state.target, _ORIGINAL: state.source}.get(against, against)
    table = PythonCode(state.invocation("profile").table_expression)
    lines: list[str] = []
    python: list[str] = []
    if against == _PLANNED_RELEASE or prior_releases or ledger:
        generalize = state.invocation("generalize", out=state.target)
        lines.append(generalize.as_command())
        python.append(f"release = {generalize.as_python()}")
    source = {_PLANNED_RELEASE: "release", _ORIGINAL: table, _ANATOMIZED: "groups"}.get(against)
    attack = Invocation(
        "attack", (target,), {"truth": state.source, **options}, {}, {"policy": FILE}, FILE
    )
    if against == _ANATOMIZED:
        anatomize = equivalent_anatomize(worker, anatomize_arguments(worker))
        lines.append(anatomize.as_command())
        python.append(f"groups = {anatomize.as_python()}")
        attack = _attack_on_groups(attack, state, anatomize.flags["out"], lines)
    if state.reading:  # in the Python code, the reading options are given with the table
        lines.insert(
            0,
            "# --truth takes no options of reading: give a file that needs none, or take the "
            "Python",
        )
    lines.append(attack.as_command())
    in_python = replace(attack, adversary={}, arguments={**attack.arguments, "truth": table})
    python.append(f"print({in_python.as_python(source or repr(against))})")
    if prior_releases or ledger:
        joint = {"person": state.policy.roles.get("person"), "ledger": ledger}
        arguments = {name: value for name, value in joint.items() if value}
        compose = Invocation(
            "compose", (*prior_releases, state.target), {"truth": state.source, **arguments}
        )
        lines.append(compose.as_command())
        in_python = replace(
            compose,
            sources=(*prior_releases, PythonCode("release")),
            arguments={"truth": table, **arguments},
        )
        python.append(f"print({in_python.as_python()})")
    worker.send_equivalents("\n".join(lines), *python)


def _attack_on_groups(
    attack: Invocation, state: SessionState, folder: str, lines: list[str]
) -> Invocation:
    """Return the attack on an anatomized release, which guarantees bounds of its own.

    Of the policy it takes the adversary. If attacks are named, an option that none of them uses
    raises an error, so the command gets a comment instead.
    """
    adversary = state.policy.adversary.explicit_settings
    document = state.document.get("adversary")
    policy = {"adversary": document} if document else None
    on_groups = replace(attack, sources=(folder,), flags={}, policy=policy)
    words = command_words(adversary, "attack")
    if words and "attacks" in attack.arguments:
        lines.append(
            f"# the adversary of the policy, for attacks that look at it: {shlex.join(words)}"
        )
    return on_groups if "attacks" in attack.arguments else replace(on_groups, adversary=adversary)


# --- controls -------------------------------------------------------------------------------------
def _controls(state: SessionState) -> Iterator[Html]:
    yield el("h2", "Against")
    options = [
        (_PLANNED_RELEASE, "what would be published"),
        (_ORIGINAL, _ORIGINAL),
        *([(_ANATOMIZED, _ANATOMIZED)] if state.policy.roles.get("sensitive") else []),
        *((path, path) for path in _prior_releases(state)),
    ]
    yield dropdown(
        "against",
        options,
        state.argument(_TAB_NAME, "against", _PLANNED_RELEASE),
        label="what is attacked",
    )
    yield el("h2", "She knows of each person")
    known_columns = _known_columns(state)
    yield from (
        checkbox("knows", column_name_html(name), on=name in known_columns, subject=name)
        for name in _quasi_identifiers(state)
    )
    yield _number_field(
        "wrong",
        "of it wrong or outdated, in %",
        100 * state.argument(_TAB_NAME, "wrong", 0),
        largest=99,
    )
    sets = [
        ("0", "no"),
        *((str(size), f"sets of up to {size}") for size in range(1, _LARGEST_SUBSET + 1)),
    ]
    chosen = str(state.argument(_TAB_NAME, "subsets", 0))
    yield labeled_field("also if she knows less", dropdown("subsets", sets, chosen))
    yield _number_field(
        "records",
        "people who are attacked",
        state.argument(_TAB_NAME, "records", _DEFAULTS["records"]),
        smallest=1,
    )
    yield _number_field(
        "seed", "drawn at random by seed", state.argument(_TAB_NAME, "seed", _DEFAULTS["seed"])
    )
    yield from _further_table_controls(state)
    yield from _attack_controls(state)
    yield from _prior_release_controls(state)


def _number_field(
    name: str, words: str, value: float, *, smallest: int = 0, largest: int | None = None
) -> Html:
    return labeled_field(
        words,
        void_element(
            "input", type="number", name=name, value=f"{value:g}", min=smallest, max=largest
        ),
    )


def _path_field(name: str, words: str, value: str, small: str) -> Html:
    field = void_element(
        "input", type="text", name=name, value=value, spellcheck="false", autocomplete="off"
    )
    return labeled_field(words, field, small=small)


def _further_table_controls(state: SessionState) -> Iterator[Html]:
    fields = [
        _path_field(name, words, state.argument(_TAB_NAME, name, ""), small)
        for name, (words, small) in _FURTHER_TABLES.items()
    ]
    if any(state.argument(_TAB_NAME, name) for name in _FURTHER_TABLES):
        is_open = "open"
    else:
        is_open = None
    yield el("details", el("summary", "other tables"), *fields, open=is_open)


def _attack_controls(state: SessionState) -> Iterator[Html]:
    chosen = state.argument(_TAB_NAME, "attacks", [])
    if chosen:
        head = f"only these {len(chosen)} attacks"
    else:
        head = "every attack that has something to attack"
    ticks = [
        el(
            "div",
            checkbox(_TAB_NAME, attacker.name, on=attacker.name in chosen, subject=attacker.name),
            el("small", attacker.plain),
        )
        for attacker in attacks.ATTACKERS
    ]
    yield el("details", el("summary", head), *ticks)


def _prior_release_controls(state: SessionState) -> Iterator[Html]:
    """Yield the controls of prior releases: folders found here, further paths, a ledger."""
    yield el("h2", "Out already, of the same people")
    prior_releases = _prior_releases(state)
    here = sorted(path.parent.name for path in Path().glob("*/manifest.json"))
    all_names = dict.fromkeys([*prior_releases, *here])
    yield from (
        checkbox("release", html.value(name), on=name in prior_releases, subject=name)
        for name in all_names
    )
    yield _path_field(
        "release",
        "folder of a release, or a table",
        "",
        "what it tells together with this one is counted",
    )
    small = "the folder of a ledger: all that it knows to be out"
    yield _path_field("ledger", "or a ledger", state.argument(_TAB_NAME, "ledger", ""), small)


# --- view -----------------------------------------------------------------------------------------
def show(worker: Worker, changed: bool) -> None:  # noqa: FBT001 - as in every tab
    """Show the result of each attack, then the joint disclosure risk of several releases."""
    if not require_table(worker):
        return
    state = worker.state
    worker.send(head=f"{state.name} · {worker.row_count:,} rows")
    _send_equivalents(worker)
    if not _quasi_identifiers(state):
        raise BadInput(
            "no column is a quasi-identifier",
            hint="say on the tab Table which columns others may know",
        )
    if not changed:
        worker.put_part("controls", *_controls(state))
        worker.put_part("view", el("div", id="attacked"), el("div", id="together"))
    if state.argument(
        _TAB_NAME, "against", _PLANNED_RELEASE
    ) == _PLANNED_RELEASE and not _has_requirements(state):
        raise BadInput(
            "nothing is promised yet, so nothing would be published",
            hint="promise something on the tab Promises, or attack the table as it came",
        )
    worker.put_part("attacked", *_attack_view(worker, _attack_result(worker)))
    worker.put_part("together", *_composition_view(_composition(worker)))


def _attack_view(worker: Worker, result: Any) -> Iterator[Html]:
    against = worker.state.argument(_TAB_NAME, "against", _PLANNED_RELEASE)
    release_name = {_PLANNED_RELEASE: "what would be published"}.get(against, against)
    title = release_name[0].upper() + release_name[1:]
    result = replace(
        result,
        settings={**result.settings, "source": title},
        notes=tuple(map(worker.reworded, result.notes)),
    )
    if worker.state.hidden:
        result = replace(
            result, attempts=tuple(replace(attempt, most_at_risk=()) for attempt in result.attempts)
        )
    yield el("h1", "What an adversary achieves")
    yield el("p", output.attack.verdict(result), class_="verdict")
    yield output.attack.tiles(result)
    if result.knowledge:
        curve = html.figure(charts.as_json(charts.knowledge(result)))
    else:
        curve = None
    yield el("div", html.figure(charts.as_json(result.chart())), class_="card")
    yield card("Attack by attack", output.attack.sections(result, curve, with_details=True))


def _composition_view(result: Any) -> Iterator[Html]:
    if result is None:
        lead_text = (
            "Whoever holds two releases of the same people can put them together. Name what is out "
            "already at the side, or its ledger."
        )
        yield card("Together with what is out already", el("p", lead_text, class_="lead"))
        return
    if result.together is not None:
        chart = html.figure(charts.as_json(result.chart()))
    else:
        chart = None
    numbers = el(
        "details",
        el("summary", "every number, alone and together"),
        output.compose.sections(result, None),
    )
    lead_text = html.bullets(*output.compose.sentences(result))
    yield card(
        "Together with what is out already",
        el("p", output.compose.answer(result), class_="verdict"),
        chart,
        lead_text,
        numbers,
    )


def _stripped(value: Any) -> str:
    return str(value).strip()


TAB = Tab(
    _TAB_NAME,
    "Attack",
    show,
    {
        "against": _argument_edit("against", str),
        "knows": _set_known_column,
        "wrong": _argument_edit("wrong", lambda value: round(parse_number(value) / 100, 6)),
        "subsets": _argument_edit("subsets", parse_integer),
        "records": _argument_edit("records", parse_integer),
        "seed": _argument_edit("seed", parse_integer),
        "control": _argument_edit("control", _stripped),
        "background": _argument_edit("background", _stripped),
        "attack": _select_attack,
        "release": _set_prior_release,
        "ledger": _set_ledger,
    },
)
