# SPDX-License-Identifier: Apache-2.0
"""measure(): measure every metric of a table: read, resolve roles, count, form beliefs, score.

The input may also be the folder of a release; table and roles then come from its manifest. Modules
for releases are imported only if a release is passed, because most inputs are plain tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge import engines, metrics
from divulge.adversary import Adversary, Assumptions
from divulge.api.opened import (
    OneTable,
    OpenedAnatomized,
    OpenedGeneralized,
    ThirdPartyTable,
    is_release,
    open_release,
)
from divulge.api.request import resolve_request
from divulge.arguments import arg
from divulge.counting import Request
from divulge.errors import BadInput, without_secrets
from divulge.metrics import Measurement
from divulge.policy import guard
from divulge.sources import Names, Roles, Table, read, read_with_engine_of, resolve_roles
from divulge.validation import checked

if TYPE_CHECKING:
    from divulge import releases

ANATOMIZED_BOUNDS = "what it promises are levels of its groups, alpha, beta, gamma and delta"
ANATOMIZED_MESSAGE = f"this is an anatomized release: {ANATOMIZED_BOUNDS}"
_OWN_PRIOR_NOTE = (
    "the prior is the distribution of the published table itself; that of the original, by which a "
    "release is judged, may give other numbers"
)


def open_measurable(
    table_input: Any,
    *,
    with_private: bool = False,
    private_dir: str | Path | None = None,
    engine: engines.EngineChoice = None,
) -> OneTable:
    """Open an input that has one table, as `open_release` does; others raise an error."""
    with_private = with_private or private_dir is not None
    if with_private and isinstance(table_input, str | Path) and not is_release(table_input):
        raise _private_part_error(table_input, private_dir)
    opened = open_release(
        table_input, with_private=with_private, private_dir=private_dir, engine=engine
    )
    if isinstance(opened, OpenedAnatomized):
        raise _anatomized_error(opened, table_input)
    is_open_already = opened is table_input
    if with_private and isinstance(opened, ThirdPartyTable) and not is_open_already:
        raise _private_part_error(table_input, private_dir)
    if isinstance(opened, OpenedGeneralized) and opened.unwritten is not None:
        read(table_input)  # raises the error for objects that are not tables
    return opened


def _anatomized_error(opened: OpenedAnatomized, table_input: Any) -> BadInput:
    """Error: an anatomized release has groups and no equivalence classes to measure."""
    if opened.folder is not None:
        message = f"{opened.folder} is an anatomized release, which has groups and no classes"
        return BadInput(
            f"{message}: {ANATOMIZED_BOUNDS}", hint=f"`divulge check {opened.folder}` checks them"
        )
    if isinstance(table_input, list | tuple | Mapping):
        read(table_input)  # raises the error for objects that are not tables
    return BadInput(ANATOMIZED_MESSAGE, hint="dv.check checks them")


def assumptions_of(target: OneTable, adversary: Adversary, roles: Roles) -> Assumptions:
    """Resolve the adversary's assumptions.

    For a release opened with its private part, the prior is that of the original.
    """
    prior_assumptions = Assumptions.of(adversary.holding_nothing, target.table, roles)
    release = target.release
    if release is None or release.private is None:
        return prior_assumptions
    if adversary.original is not None and adversary.population is None:
        message = (
            "the prior of the original is in the private part of the release, and in "
            f"{arg('original')}"
        )
        raise BadInput(message, hint="Give one of them")
    prior_sources = release.settings["prior"]
    original_masses = {
        name: masses
        for name, masses in release.masses.items()
        if prior_sources.get(name) == "original"
    }
    return replace(
        prior_assumptions, original_values={} if adversary.original is not None else original_masses
    )


def with_release_guess_settings(
    release: releases.OpenedRelease, adversary: Adversary, roles: Roles
) -> Adversary:
    """Merge the guess settings (`tries`, `within`) of the manifest into the adversary.

    Explicit settings take precedence.
    """
    guess_settings = {
        setting: {
            name: number
            for name, number in release.guesses.get(setting, {}).items()
            if name in roles.sensitive
        }
        or None
        for setting in ("tries", "within")
    }
    return adversary.over(Adversary(tries=guess_settings["tries"], within=guess_settings["within"]))


def _private_part_error(table_input: Any, private_dir: str | Path | None) -> BadInput:
    """Error that explains why a private part cannot be used."""
    if isinstance(table_input, str | Path) and "://" in str(table_input):
        if private_dir is None:
            message = (
                f"{without_secrets(str(table_input))} is an address, which has no private part "
                "next to it"
            )
            return BadInput(
                message,
                hint=f"Copy the release to a folder, and say with {arg('private_dir')} "
                "where its private "
                "part is",
            )
        message = (
            f"{without_secrets(str(table_input))} is an address: a release is opened from a folder "
            "of this machine"
        )
        return BadInput(message, hint="Copy the release to a folder first")
    if private_dir is None:
        name = arg("with_private")
    else:
        name = arg("private_dir")
    message = f"{name} opens the private part of a release, and no release was named"
    return BadInput(message, hint="Name the folder that holds manifest.json, or leave it out")


@checked
def measure(
    table: Any,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    identifier: Names = (),
    weight: str | None = None,
    person: str | None = None,
    joint: bool = False,
    adversary: Adversary | None = None,
    with_private: bool = False,
    private_dir: str | Path | None = None,
    engine: engines.EngineChoice = None,
) -> Measurement:
    """Measure the disclosure risk of a table for the people in it.

    Args:
        table: Any source that `read` opens, the folder of a release, or a result of `open_release`.
            A release declares the roles of its columns; explicit roles take precedence.
        quasi_identifiers: The columns that an adversary may know about a person; people with equal
            values in all of them form an equivalence class.
        sensitive: The columns whose values must not be disclosed.
        identifier: Columns that identify people; they are ignored.
        weight: The column with the number of people that a row represents.
        person: The column that names the person each row belongs to, if people have several rows.
        joint: Also measure all sensitive columns together as one.
        adversary: The adversary's prior, background knowledge and other data; the default prior is
            the table's own distribution.
        with_private: For a release: use the distribution of the original, which is in its private
            part, as the prior.
        private_dir: The folder of the release's private part, if it is not next to it; implies
            `with_private`.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table(
        ...     {"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]}
        ... )
        >>> m = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> m["k_anonymity"].value, m["l_diversity"].worst.key
        (2.0, {'zip': '1'})
    """
    explicit_roles = guard.ExplicitRoles(
        quasi_identifiers, sensitive, identifier, weight=weight, person=person
    )
    effective_adversary = resolve_request(explicit_roles, adversary=adversary).adversary
    target = open_measurable(
        table, with_private=with_private, private_dir=private_dir, engine=engine
    )
    release = target.release
    if release is None:
        roles = resolve_roles(target.table, **explicit_roles.arguments, declared=True)
    else:
        roles = guard.roles_in_force(target.table, release.roles, explicit_roles)
        effective_adversary = with_release_guess_settings(release, effective_adversary, roles)
    if not roles.sensitive:
        effective_adversary.refuse(
            ("recursive_l", "distances", "orders", "taxonomies", "tries", "within"),
            "no column is sensitive",
        )
    measurement = measure_target(target, roles, effective_adversary, joint=joint)
    if release is None:
        return measurement
    return replace(measurement, notes=(*measurement.notes, *guarantee_notes(release)))


def measure_target(
    target: OneTable, roles: Roles, adversary: Adversary, *, joint: bool
) -> Measurement:
    """Count and measure.

    A note reports an identifier with repeated values, which may be a person column.
    """
    source = target.table
    release = target.release
    assumptions = assumptions_of(target, adversary, roles)
    joint_table, counting_roles, prior_releases = _add_prior_classes(target, roles, adversary)
    request = Request(
        joint_table, counting_roles, adversary.counted_nulls, joint, adversary.suppression
    )
    if request.wildcards:
        _reject_wildcard_options(adversary, roles, joint=joint)
    population, recoded = _population_request(target, adversary, roles)
    measurement = metrics.measure_request(request, assumptions=assumptions, population=population)
    if prior_releases is not None:
        table_settings = {
            **source.reading_settings,
            "quasi_identifiers": list(roles.quasi_identifiers),
        }
        measurement = prior_releases.add_settings_to(
            replace(measurement, settings={**measurement.settings, **table_settings})
        )
    if recoded is None:
        population_notes = []
    else:
        population_notes = [recoded.text]
    measurement = replace(
        measurement, notes=(*guard.repeated(source, roles), *measurement.notes, *population_notes)
    )
    if adversary.population is not None:
        measurement = replace(
            measurement,
            settings={**measurement.settings, "population_recoded": recoded and recoded.setting},
        )
    if release is None:
        return measurement
    if "table" in measurement.settings["prior"].values():
        prior_notes = [_OWN_PRIOR_NOTE]
    else:
        prior_notes = []
    release_settings = {
        "folder": str(release.folder),
        "kind": release.document["kind"],
        "private": release.private is not None,
    }
    return replace(
        measurement,
        settings={**measurement.settings, "release": release_settings},
        notes=(*measurement.notes, *prior_notes),
    )


def _add_prior_classes(
    target: OneTable, roles: Roles, adversary: Adversary
) -> tuple[Table, Roles, releases.EarlierReleases | None]:
    """Table and roles to count: with prior releases, the joint classes of the original's people."""
    if adversary.released is None and adversary.released_of is None:
        return target.table, roles, None
    from divulge.api.prior_releases import add_prior_releases, join_new_release

    if adversary.released is None or (target.release is None and adversary.original is None):
        table, prior_releases = add_prior_releases(
            target.table, roles, adversary, measure_only=True
        )
        return table, prior_releases.roles_with_priors(roles), prior_releases
    new_release = target.table if target.release is None else target
    counting_roles = roles
    if adversary.released_of and isinstance(target, OpenedGeneralized):
        identifier = tuple(target.release.document["roles"].get("identifier", ()))
        counting_roles = replace(
            roles, person=roles.person or target.person_column, identifier=identifier
        )
    table, prior_releases = join_new_release(new_release, target.table, counting_roles, adversary)
    return (
        table,
        replace(
            counting_roles,
            quasi_identifiers=prior_releases.columns,
            identifier=(),
            leave_out=(),
            plain=(),
        ),
        prior_releases,
    )


@dataclass(frozen=True)
class _RecodedPopulation:
    """A population of original values that was recoded to the labels of a release."""

    folder: Path
    left_out: int
    """Number of rows with values that are not in the release."""

    @property
    def setting(self) -> dict[str, Any]:
        return {"by": str(self.folder), "left_out": self.left_out}

    @property
    def text(self) -> str:
        left_out = (
            f"; {self.left_out:,} rows of it have values that it does not know and were left out"
        )
        return (
            "the population was recoded by the mapping of "
            f"{self.folder}{left_out if self.left_out else ''}"
        )


def _population_request(
    target: OneTable, adversary: Adversary, roles: Roles
) -> tuple[Request | None, _RecodedPopulation | None]:
    """Population of the adversary, recoded to the labels of the release if necessary.

    It is recoded if the mapping of the release is next to the table and the population has original
    values.
    """
    if adversary.population is None:
        return None, None
    population = read_with_engine_of(target.table, adversary.population)
    unrecoded_request = metrics.population_request(
        population, roles, adversary.counted_nulls, people=adversary.population_count
    )
    if target.release is not None:
        folder = target.release.folder
    else:
        folder = Path(target.table.source).parent
    if not is_release(folder):
        return unrecoded_request, None
    release = target.release or open_measurable(folder).release
    if release is not None:
        release = release.with_private_part
    if release is None or release.private is None:
        return unrecoded_request, None
    recoding = release.recode_table(population, roles.quasi_identifiers, adversary.counted_nulls)
    if recoding is None:
        return unrecoded_request, None
    return replace(unrecoded_request, table=recoding[0]), _RecodedPopulation(folder, recoding[1])


def guarantee_notes(release: releases.OpenedRelease) -> list[str]:
    """Notes that list the guarantees proved by the files and those only the publisher can prove."""
    promise_texts: dict[str, list[str]] = {"files": [], "publisher": list(release.protections)}
    for promise in release.promises:
        about = [promise.attribute] if promise.attribute else release.sensitive or [None]
        proof_sources = {release.shown_by(promise, name) for name in about}
        promise_texts["publisher" if "publisher" in proof_sources else "files"].append(promise.text)
    files, publisher = (", ".join(promise_texts[name]) for name in ("files", "publisher"))
    file_notes = [f"of what the release promises, its files alone show: {files}"] if files else []
    return [
        *file_notes,
        *(
            [f"of what the release promises, only its publisher can show: {publisher}"]
            if publisher
            else []
        ),
    ]


def _reject_wildcard_options(adversary: Adversary, roles: Roles, *, joint: bool) -> None:
    """Raise BadInput for options that cannot be counted or have no effect if classes overlap."""
    if roles.person is not None:
        message = (
            f"with wildcards the rows of one {roles.person!r} would be counted as people who hide "
            "each other"
        )
        raise BadInput(message, hint="reduce the table to one row per person first")
    adversary.refuse(
        sorted(set(adversary.explicit_settings) - {"nulls", "suppressed"}),
        "with wildcards nothing is told that depends on it",
    )
    if joint:
        raise metrics.overlap_error(arg("joint", value=True))
