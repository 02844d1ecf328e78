# SPDX-License-Identifier: Apache-2.0
"""query(): ask a release, anatomized or generalized, ours or another's (Yao et al. 2021, section 5.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from divulge import anatomy, answers, publish, values
from divulge.api.anatomized import AnatomizedRelease
from divulge.engines import DuckDBEngine, OwnEngine
from divulge.errors import BadInput
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
    return answers.AnatomizedSource(published, promised_by(release))


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


def promised_by(release: Any) -> dict[str, str]:
    """The bounds that an anatomized release of ours promises."""
    if isinstance(release, answers.AnatomizedSource):
        return dict(release.promises)
    if isinstance(release, AnatomizedRelease):
        return release.model.texts()
    found = manifests_of(release)
    return {} if found is None else dict(found.public.get("promises", {}))
