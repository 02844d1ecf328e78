# SPDX-License-Identifier: Apache-2.0
"""measure(): from a table to every metric: read, resolve roles, count, form beliefs, score.

It takes the folder of a release too; table and roles then come from its manifest. Most tables are none, so what knows releases is loaded
when one is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge import engines, metrics, values
from divulge.belief import Adversary, Assumptions, adversary_in_force
from divulge.count import Request
from divulge.engines import DuckDBEngine, choose_engine
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import guard
from divulge.table import Names, Roles, Table, read, read_beside, resolve_roles

if TYPE_CHECKING:
    from divulge import publish

GROUPS = "this is an anatomized release: what it promises are levels of its groups, alpha, beta, gamma and delta"
_OF_ITSELF = (
    "the prior is the distribution of the published table itself; that of the original, by which a release is judged, may give "
    "other numbers"
)


@dataclass(frozen=True)
class TableOrRelease:
    """A table to be measured, and the release that it is the table of, where a release was named."""

    table: Table
    release: publish.OpenedRelease | None = None
    key: str | None = None
    """The column of the original that names people, where the release does not have it."""

    @classmethod
    def of(cls, given: Any, *, private: bool = False, engine: engines.EngineChoice = None) -> TableOrRelease:
        """Open whatever `read` opens, the folder of a release, or what `open_release` gave."""
        if isinstance(given, TableOrRelease):
            return given
        folder = _folder_of(given)
        if folder is None:
            if private:
                told = "private= looks into mapping/ of a release, and no release was named"
                raise BadInput(told, hint="Name the folder that holds manifest.json, or leave it out")
            return cls(read(given, engine=engine))
        from divulge import publish

        release = publish.OpenedRelease.read_folder(folder, private=private)
        table = release.read(choose_engine(engine) or DuckDBEngine())
        return cls(replace(table, source=str(folder)), release)

    @staticmethod
    def is_release(path: str | Path) -> bool:
        """Whether it is the folder of a release of ours."""
        if not Path(path).is_dir():
            return False
        from divulge import publish

        return (Path(path) / publish.NAME).is_file()

    def assumptions(self, her: Adversary, roles: Roles) -> Assumptions:
        """What she comes to; of a release that is opened with its private part, her prior is that of the original."""
        found = Assumptions.of(her.holding_nothing, self.table, roles)
        if self.release is None or self.release.private is None:
            return found
        if her.original is not None and her.population is None:
            told = "the prior of the original is in the private part of the release, and in original="
            raise BadInput(told, hint="Give one of them")
        own = self.release.settings["prior"]
        counted = {name: masses for name, masses in self.release.masses.items() if own.get(name) == "original"}
        return replace(found, original_values={} if her.original is not None else counted)


def guessing_as(release: publish.OpenedRelease, her: Adversary, roles: Roles) -> Adversary:
    """What she says, over when a guess is right by the release."""
    told = {
        how: {name: number for name, number in release.guesses.get(how, {}).items() if name in roles.sensitive} or None
        for how in ("tries", "within")
    }
    return her.over(Adversary(tries=told["tries"], within=told["within"]))


def _folder_of(given: Any) -> Path | None:
    """The folder of a release, where one is given."""
    if isinstance(given, str | Path):
        return Path(given) if TableOrRelease.is_release(given) else None
    if isinstance(given, Table):
        return None
    from divulge import answers

    if isinstance(given, answers.AnatomizedSource):
        raise BadInput(GROUPS, hint="dv.check_anatomized holds them against its tables")
    return given.folder if isinstance(given, answers.GeneralizedSource) else None


@values.checked
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
    private: bool = False,
    engine: engines.EngineChoice = None,
) -> Measurement:
    """Measure what a table gives away about the people in it.

    Args:
        table: Whatever `read` opens, the folder of a release, or what `open_release` gave. A release says itself what roles its
            columns have; what is given goes before it.
        quasi_identifiers: The columns that an adversary may know of a person; people who agree on all of them make a class.
        sensitive: The columns whose values must not be learnt.
        identifier: Columns that name people; they take no part.
        weight: The column that says how many people a row stands for.
        person: The column that says whose row it is, where people own several.
        joint: Measure all sensitive columns together as one, too.
        adversary: What she believed before, rules out and holds; by default she believes the table's own distribution.
        private: Of a release: take the distribution of the original, which is in its private part (mapping/), for her prior.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "flu", "flu", "cancer"]})
        >>> m = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> m["k_anonymity"].value, m["l_diversity"].worst.key
        (2.0, {'zip': '1'})
    """
    her = adversary_in_force(adversary)
    judged = TableOrRelease.of(table, private=private, engine=engine)
    given = guard.GivenRoles(quasi_identifiers, sensitive, identifier, weight=weight, person=person)
    release = judged.release
    if release is None:
        roles = resolve_roles(judged.table, **given.arguments, declared=True)
    else:
        roles = guard.roles_in_force(judged.table, release.roles, given)
        her = guessing_as(release, her, roles)
    if not roles.sensitive:
        her.refuse(("recursive_l", "distances", "orders", "taxonomies", "tries", "within"), "no column is sensitive")
    found = measured(judged, roles, her, joint=joint)
    return found if release is None else replace(found, notes=(*found.notes, *told_of(release)))


def measured(judged: TableOrRelease, roles: Roles, her: Adversary, *, joint: bool) -> Measurement:
    """Count and measure; an identifier whose values repeat is said to be perhaps a person."""
    source, release = judged.table, judged.release
    assumptions = judged.assumptions(her, roles)
    counted, by, held = _beside_released(judged, roles, her)
    request = Request(counted, by, her.counted_nulls, joint, her.suppression)
    if request.wildcards:
        _refuse_beside_wildcards(her, roles, joint=joint)
    everybody, recoded = _population(judged, her, roles)
    found = metrics.measure_request(request, assumptions=assumptions, population=everybody)
    if held is not None:
        named = {**source.told, "quasi_identifiers": list(roles.quasi_identifiers)}
        found = held.told_by(replace(found, settings={**found.settings, **named}))
    noted = [] if recoded is None else [recoded.text]
    found = replace(found, notes=(*guard.repeated(source, roles), *found.notes, *noted))
    if her.population is not None:
        found = replace(found, settings={**found.settings, "population_recoded": recoded and recoded.setting})
    if release is None:
        return found
    of_itself = [_OF_ITSELF] if "table" in found.settings["prior"].values() else []
    told = {"folder": str(release.folder), "kind": release.document["kind"], "private": release.private is not None}
    return replace(found, settings={**found.settings, "release": told}, notes=(*found.notes, *of_itself))


def _beside_released(
    judged: TableOrRelease, roles: Roles, her: Adversary
) -> tuple[Table, Roles, publish.EarlierReleases | None]:
    """What is counted, and by which columns: with releases that are out already, the joint classes of the people in the original."""
    if her.released is None and her.released_of is None:
        return judged.table, roles, None
    from divulge.api.released import beside_new, beside_released

    if her.released is None or (judged.release is None and her.original is None):
        table, held = beside_released(judged.table, roles, her)
        return table, held.judged(roles), held
    new = judged.table if judged.release is None else judged.release.folder
    by = roles
    if her.released_of and judged.release is not None:
        identifier = tuple(judged.release.document["roles"].get("identifier", ()))
        by = replace(roles, person=roles.person or judged.key, identifier=identifier)
    table, held = beside_new(new, judged.table, by, her)
    return table, replace(by, quasi_identifiers=held.columns, identifier=(), leave_out=(), plain=()), held


@dataclass(frozen=True)
class _Recoded:
    """A population of original values that got the labels of a release."""

    folder: Path
    left_out: int
    """Rows with values that the release does not know."""

    @property
    def setting(self) -> dict[str, Any]:
        return {"by": str(self.folder), "left_out": self.left_out}

    @property
    def text(self) -> str:
        left_out = f"; {self.left_out:,} rows of it have values that it does not know and were left out"
        return f"the population was recoded by the mapping of {self.folder}{left_out if self.left_out else ''}"


def _population(judged: TableOrRelease, her: Adversary, roles: Roles) -> tuple[Request | None, _Recoded | None]:
    """Her population, with the labels of the release where its mapping lies beside the table and the population holds original values."""
    if her.population is None:
        return None, None
    everybody = read_beside(judged.table, her.population)
    as_it_is = metrics.population_request(everybody, roles, her.counted_nulls, people=her.population_count)
    folder = judged.release.folder if judged.release is not None else Path(judged.table.source).parent
    if not TableOrRelease.is_release(folder):
        return as_it_is, None
    from divulge import publish

    if not (folder / publish.FOLDER).is_dir():
        return as_it_is, None
    release = publish.OpenedRelease.read_folder(folder, private=True)
    found = release.recode_table(everybody, roles.quasi_identifiers, her.counted_nulls)
    if found is None:
        return as_it_is, None
    return replace(as_it_is, table=found[0]), _Recoded(folder, found[1])


def told_of(release: publish.OpenedRelease) -> list[str]:
    """Which promises the files alone prove, and which only the publisher could."""
    shown: dict[str, list[str]] = {"files": [], "publisher": list(release.protections)}
    for promise in release.promises:
        about = [promise.attribute] if promise.attribute else release.sensitive or [None]
        by = {release.shown_by(promise, name) for name in about}
        shown["publisher" if "publisher" in by else "files"].append(promise.text)
    files, publisher = (", ".join(shown[name]) for name in ("files", "publisher"))
    told = [f"of what the release promises, its files alone show: {files}"] if files else []
    return [*told, *([f"of what the release promises, only its publisher can show: {publisher}"] if publisher else [])]


def _refuse_beside_wildcards(her: Adversary, roles: Roles, *, joint: bool) -> None:
    """What could not be counted, or would have no effect, where classes overlap."""
    if roles.person is not None:
        told = f"with wildcards the rows of one {roles.person!r} would be counted as people who hide each other"
        raise BadInput(told, hint="reduce the table to one row per person first")
    her.refuse(sorted(set(her.given) - {"nulls", "suppressed"}), "with wildcards nothing is told that depends on it")
    if joint:
        raise metrics.not_told("joint=True")
