# SPDX-License-Identifier: Apache-2.0
"""query(): ask a release, anatomized or generalized, ours or another's (Yao et al. 2021, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import anatomy, answers, engines, publish, values
from divulge.api.anatomized import AnatomizedRelease
from divulge.engines import DuckDBEngine, OwnEngine, choose_engine
from divulge.errors import BadInput, BrokenPromise
from divulge.results import Result
from divulge.table import Table, read

_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow")


@values.checked
def query(
    release: Any,
    condition: str = "true",
    *,
    total: str | None = None,
    average: str | None = None,
    group: str = anatomy.GROUP,
    count: str = anatomy.COUNT,
    hierarchies: str | Path | None = None,
) -> answers.Estimate:
    """Count the records for which a condition holds, or sum up or average an expression over them.

    Args:
        release: The folder of a release, anatomized or generalized; what `anatomize` or `open_release` gave; or the tables of another's
            anatomized release: a folder without a manifest, or a list of files or frames.
        condition: What holds for the records, as in SQL's WHERE: "age >= 80 and disease = 'dementia'".
        total: The expression to sum up instead.
        average: The expression to average instead.
        group: The column of another's release that names the group.
        count: The column of another's release that says how often a row stands in its group.
        hierarchies: A folder of hierarchy files that says what the labels of a generalized release stand for, where it comes without its
            mappings.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table({"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]})
        >>> dv.query([ages, jobs], "age > 40 and job = 'Doctor'").estimate
        1.0
        >>> found = dv.query([ages, jobs], "age > 42 and job = 'Doctor'")
        >>> found.estimate, found.low, found.high
        (0.5, 0.0, 1.0)
    """
    source = open_release(release, group=group, count=count, hierarchies=hierarchies)
    return answers.estimate(source, condition, total=total, average=average)


@values.checked
def open_release(
    release: Any, *, group: str = anatomy.GROUP, count: str = anatomy.COUNT, hierarchies: str | Path | None = None
) -> answers.Source:
    """Open a release once, to ask it many times with `query`.

    Args:
        release: As in `query`.
        group: The column of another's release that names the group.
        count: The column of another's release that says how often a row stands in its group.
        hierarchies: A folder of hierarchy files, as in `query`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table({"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]})
        >>> opened = dv.open_release([ages, jobs])
        >>> [dv.query(opened, f"job = '{job}'").estimate for job in ("Teacher", "Doctor")]
        [3.0, 1.0]
    """
    opened = isinstance(release, answers.AnatomizedSource | answers.GeneralizedSource | AnatomizedRelease)
    found = None if opened else manifests_of(release)
    generalized = found is not None and found.public["kind"] == "generalized"
    columns = [
        name for name, value in {"group": group != anatomy.GROUP, "count": count != anatomy.COUNT}.items() if value
    ]
    if columns and (opened or found is not None):
        told = f"{columns[0]}= has no effect: this release says itself what its columns are"
        raise BadInput(told, hint="Leave it out; it is for tables that another tool wrote")
    if hierarchies is not None and not generalized:
        told = "hierarchies= has no effect: only a generalized release that is opened here has labels"
        raise BadInput(told, hint="Leave it out")
    if isinstance(release, answers.AnatomizedSource | answers.GeneralizedSource):
        return release
    if isinstance(release, AnatomizedRelease):
        return answers.AnatomizedSource(release.published, release.model.texts())
    if found is not None and found.public["kind"] == "generalized":
        document, private = found.public, found.private
        folder, described, engine = Path(release), document["table"], DuckDBEngine()
        form = publish.Format(described["format"], described["delimiter"])
        table = publish.read_rows(engine, folder / described["file"], form=form, types=described["types"])
        labels = answers.read_labels(engine, table, document, folder, hierarchies=hierarchies)
        left_out = None if private is None else private["rows"]["original"] - private["rows"]["published"]
        return answers.GeneralizedSource(table, labels, left_out, folder)
    if found is not None and found.public["kind"] == "applied":
        told = f"{release} holds later rows, and its mapping does not list every value of their labels: no bound would be certain"
        raise BadInput(told, hint="Ask the release that it continues, or generalize old and new rows together")
    published = open_anatomized(release, group=group, count=count)
    anatomy.check_groups(published)
    return answers.AnatomizedSource(published, _promised(release))


def open_anatomized(
    release: Any,
    *,
    sensitive: Sequence[str] = (),
    group: str = anatomy.GROUP,
    count: str = anatomy.COUNT,
    engine: OwnEngine | None = None,
) -> anatomy.Published:
    """The tables of an anatomized release, ours or another's; which columns are sensitive a manifest says, unless it is given."""
    if isinstance(release, answers.AnatomizedSource | AnatomizedRelease):
        return release.published
    reader = engine or DuckDBEngine()
    found = manifests_of(release)
    if found is None:
        return anatomy.join_tables(_foreign_tables(release, reader), sensitive=sensitive, group=group, count=count)
    document = found.public
    if document["kind"] != "anatomized":
        told = f"{release} is a release of the kind {document['kind']!r}"
        raise BadInput(told, hint="Name an anatomized release")
    form = publish.Format(document["format"], document["delimiter"])
    tables = [
        publish.read_rows(reader, Path(release) / table["file"], form=form, types=table["types"])
        for table in document["tables"]
    ]
    return anatomy.join_tables(
        tables,
        sensitive=sensitive or document["roles"]["sensitive"],
        group=document["group_column"],
        count=document["count_column"],
    )


def manifests_of(release: Any) -> publish.Manifests | None:
    """The manifests of a folder that has them; its files are held against their hashes."""
    if not isinstance(release, str | Path) or not (Path(release) / publish.NAME).is_file():
        return None
    return publish.read_manifests(Path(release), handed_out=True)


def is_anatomized(release: Any) -> bool:
    """Whether it is the folder of an anatomized release of ours; its files are held against their hashes."""
    is_release = isinstance(release, str | Path) and (Path(release) / publish.NAME).is_file()
    return is_release and publish.read_manifests(Path(release), private_part=False).public["kind"] == "anatomized"


def _foreign_tables(release: Any, engine: OwnEngine) -> list[Table]:
    """The tables of a release that was not made by us."""
    tables: Any = release.values() if isinstance(release, Mapping) else release
    if isinstance(release, str | Path):
        folder, hint = Path(release), "Name the folder that holds its tables"
        if not folder.is_dir():
            raise BadInput(f"{release} is not the folder of a release", hint=hint)
        tables = sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS)
        if not tables:
            told = f"{release} is not a release: it has no {publish.NAME} and no tables ({', '.join(_ENDINGS)})"
            raise BadInput(told, hint=hint)
    elif not isinstance(release, Mapping | Sequence):
        told = f"a release cannot be read from {type(release).__name__}"
        raise BadInput(told, hint="Give a folder, or a list of its tables")
    return [read(table, engine=engine) for table in tables]


# --- check_anatomized(): which (alpha, beta, gamma, delta) an anatomized release keeps, ours or another's, from its tables alone.
@dataclass(frozen=True, repr=False)
class ReleaseCheck(Result):
    """What a release reaches, and whether it keeps what is asked."""

    view = "releases"

    levels: anatomy.Reached
    model: anatomy.AlphaBetaGammaDelta
    tables: tuple[tuple[str, ...], ...]
    groups: int
    smallest: int
    largest: int
    breaking: int
    """How many groups break a bound."""
    settings: Mapping[str, Any]
    """Where each bound comes from, the tables, and which of their columns are sensitive, name the group, and count."""

    def raise_for_broken(self) -> None:
        """Raise `BrokenPromise`, which names what is broken, unless every group keeps every bound."""
        if not self.holds:
            told = [
                f"{name} <= {getattr(self.model, name)} (reached {getattr(self.levels, name)})" for name in self.broken
            ]
            raise BrokenPromise(f"the release breaks {', '.join(told)}")

    @property
    def broken(self) -> tuple[str, ...]:
        """The names of the bounds that are exceeded."""
        return self.model.broken_by(self.levels)

    @property
    def holds(self) -> bool:
        """Every group keeps every bound."""
        return self.breaking == 0


@values.checked
def check_anatomized(
    release: Any,
    *,
    alpha: anatomy.Share | None = None,
    beta: anatomy.Share | None = None,
    gamma: anatomy.Share | None = None,
    delta: anatomy.Share | None = None,
    sensitive: str | Sequence[str] = (),
    group: str = anatomy.GROUP,
    count: str = anatomy.COUNT,
    engine: engines.EngineChoice = None,
) -> ReleaseCheck:
    """Work out the exact levels of an anatomized release from its tables alone, and hold them against what it promises.

    A bound that is given goes before the one that the release promises. Where there is neither, nothing is judged: that is refused. All
    four levels are shown by the files alone; the prior of delta is the distribution of the sensitive values over all groups, for an
    anatomized release leaves nobody out.

    Args:
        release: An anatomized release, ours or another's, as in `query`.
        alpha: As in `anatomize`, and so are the other bounds; 1 demands nothing. By default what the release promises.
        beta: The bound on attribute linkage.
        gamma: The bound on table linkage.
        delta: The bound on the probabilistic attack.
        sensitive: The sensitive columns of another's release; ours says itself, and what is given goes before it.
        group: The column of another's release that names the group.
        count: The column of another's release that says how often a row stands in its group.
        engine: As in `read`; with Spark groups are measured on the workers, which must see the files.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> ages = pa.table({"GID": [1, 1, 2, 2], "age": [30, 33, 45, 42]})
        >>> jobs = pa.table({"GID": [1, 2, 2], "job": ["Teacher", "Doctor", "Teacher"], "Count": [2, 1, 1]})
        >>> found = dv.check_anatomized([ages, jobs], sensitive="job", beta="1/2")
        >>> found.levels.beta, found.holds
        (Fraction(1, 1), False)
    """
    bounds = {"alpha": alpha, "beta": beta, "gamma": gamma, "delta": delta}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    model = anatomy.AlphaBetaGammaDelta(**{**_promised(release), **given})
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    published = open_anatomized(release, sensitive=names, group=group, count=count, engine=choose_engine(engine))
    found = anatomy.measure_tables(published, model)
    if not given and model == anatomy.AlphaBetaGammaDelta():
        reached = ", ".join(f"{name} {level}" for name, level in found.levels.texts().items())
        told = f"the release promises nothing, so there is nothing to hold it against; it reaches {reached}"
        raise BadInput(told, hint="Give a bound, for example beta=1/4")
    tables = tuple(table.columns for table in published.tables)
    return ReleaseCheck(
        levels=found.levels,
        model=model,
        tables=tables,
        groups=found.groups,
        smallest=found.smallest,
        largest=found.largest,
        breaking=found.breaking,
        settings={
            "bounds": {name: "given" if name in given else "the release" for name in model.texts()},
            "engine": published.engine.name,
            "source": [table.source for table in published.tables],
            "sensitive": list(published.sensitive),
            "group": published.group,
            "count": published.count,
            "prior": "release",
        },
        frame=published.frame,
    )


def _promised(release: Any) -> dict[str, str]:
    """The bounds that an anatomized release of ours promises."""
    if isinstance(release, answers.AnatomizedSource):
        return dict(release.promises)
    if isinstance(release, AnatomizedRelease):
        return release.model.texts()
    found = manifests_of(release)
    return {} if found is None else dict(found.public.get("promises", {}))
