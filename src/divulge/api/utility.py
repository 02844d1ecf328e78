# SPDX-License-Identifier: Apache-2.0
"""utility(): measure the utility of a release compared with its original."""

from __future__ import annotations

from typing import Any, Literal

from divulge import engines, generalization
from divulge.anatomization import CodedTables
from divulge.api.opened import OpenedAnatomized, OpenedGeneralized, open_release
from divulge.counting import Contingency, Request, count_in_memory
from divulge.errors import BadInput
from divulge.generalization import Hierarchies
from divulge.queries import (
    Meaning,
    ReleaseData,
    Utility,
    UtilityComparison,
    require_scikit_learn,
    unknown_meaning,
)
from divulge.sources import Names, Table, read, read_with_engine_of, resolve_roles
from divulge.validation import checked


@checked
def utility(
    original: Any,
    release: Any,
    *,
    quasi_identifiers: Names = (),
    sensitive: Names = (),
    target: str | None = None,
    queries: int | None = None,
    workload: Literal["anchored", "range"] = "anchored",
    hierarchies: Hierarchies | None = None,
    folds: int = 5,
    seed: int = 0,
    engine: engines.EngineChoice = None,
) -> Utility:
    """Measure the utility of a release compared with its original.

    Args:
        original: The table from which the release was made: any source that `read` opens.
        release: A result of `generalize`, `anatomize` or `open_release`, the folder of a release, a
            third-party table, or the list of the tables of a third-party anatomized release.
        quasi_identifiers: The columns for count queries and information; by default those of the
            release. For a table without roles, queries use any columns.
        sensitive: The sensitive columns; by default those of the release.
        target: A column that a model predicts from the others, trained on the original and on the
            release (needs scikit-learn).
        queries: Number of random count queries; 0 for none, by default 1000 and fewer for large
            tables.
        workload: Queries for the values of a record ("anchored"), or for ranges of values
            ("range").
        hierarchies: The meaning of labels, if it is not in the release: a folder of files, or for
            each column a rule, a file or a hierarchy.
        folds: Number of parts into which the people are split for the model.
        seed: Seed of the queries and of the folds.
        engine: As in `read`.

    Examples:
        >>> import divulge as dv, pyarrow as pa
        >>> people = pa.table({"age": [20, 25, 40, 45], "disease": ["flu", "flu", "cold", "cold"]})
        >>> coarse = pa.table(
        ...     {
        ...         "age": ["[20, 30)", "[20, 30)", "*", "*"],
        ...         "disease": ["flu", "flu", "cold", "cold"],
        ...     }
        ... )
        >>> found = dv.utility(people, coarse, quasi_identifiers="age", sensitive="disease")
        >>> found.columns[0].distance, found.information[0].loss
        (0.25, 0.0)
    """
    if queries is not None and queries < 0:
        raise BadInput(f"queries = {queries} is not possible", hint="0 asks none")
    if target is not None:
        require_scikit_learn()
    source = read(original, engine=engine)
    opened = _release_data(
        release, source, sensitive=sensitive, hierarchies=hierarchies, engine=engine
    )
    return UtilityComparison.of(source, opened, quasi_identifiers, sensitive).utility(
        target=target, queries=queries, workload=workload, folds=folds, seed=seed
    )


# --- releases of any kind -------------------------------------------------------------------------


def _release_data(
    release: Any,
    original: Table,
    *,
    sensitive: Names,
    hierarchies: Hierarchies | None,
    engine: engines.EngineChoice,
) -> ReleaseData:
    """Open any input that `utility` accepts."""
    table_engine = None if isinstance(release, Table) else engine
    opened = open_release(release, engine=table_engine)
    if isinstance(opened, OpenedAnatomized):
        if hierarchies is not None:
            message = "hierarchies say what labels stand for, and an anatomized release has values"
            raise BadInput(message, hint="Leave them out")
        return _anatomized_data(opened if opened.is_own else opened.with_sensitive(sensitive))
    if isinstance(opened, OpenedGeneralized):
        return _generalized_data(opened, hierarchies)
    table = read_with_engine_of(original, opened.table)
    return ReleaseData("table", table.source, table, hierarchies=hierarchies)


def _generalized_data(opened: OpenedGeneralized, hierarchies: Hierarchies | None) -> ReleaseData:
    """Rows of a generalized release, and the meaning of its labels if it is known."""
    release = opened.release.with_private_part
    has_private = release.private is not None
    unwritten = opened.unwritten
    if has_private and hierarchies is not None:
        if unwritten is None:
            subject = str(release.folder)
        else:
            subject = "the release"
        raise BadInput(
            f"{subject} itself says what its labels stand for", hint="Leave the hierarchies out"
        )

    def recode(original: Table) -> tuple[Contingency, generalization.Recoding]:
        if unwritten is not None:
            return unwritten.original.people, unwritten.plan.recoding
        roles = resolve_roles(original, quasi_identifiers=release.quasi_identifiers)
        contingency = count_in_memory(Request(original, roles, "category", joint=False))
        return contingency, release.recode(contingency)[0]

    meaning: Meaning = unknown_meaning
    if unwritten is not None:
        meaning = unwritten.values_of
        has_local_recoding = bool(unwritten.plan.boxes)
    else:
        has_local_recoding = has_private and bool(release.boxes)
        if has_private:
            meaning = release.values_of
    return ReleaseData(
        "generalized",
        opened.table.source,
        opened.table,
        {"quasi_identifiers": release.quasi_identifiers, "sensitive": release.sensitive},
        meaning=meaning,
        hierarchies=hierarchies,
        recode=recode if has_local_recoding else None,
    )


def _anatomized_data(opened: OpenedAnatomized) -> ReleaseData:
    """Tables of an anatomized release, as codes."""
    if opened.unwritten is not None:
        anatomization = opened.unwritten.rows_in_memory("its utility cannot be measured")
        coded = CodedTables.of(anatomization)
        sensitive = anatomization.sensitive
        source = opened.name
    else:
        published = opened.answers.published
        anatomization = None
        coded = CodedTables.read(published)
        sensitive = published.sensitive
        if opened.folder is not None:
            source = opened.name
        else:
            source = ", ".join(table.source for table in published.tables)
    roles = {
        "quasi_identifiers": [name for name in coded.table_by_column if name not in sensitive],
        "sensitive": sensitive,
    }
    # Values are published unchanged.
    return ReleaseData(
        "anatomized", source, coded, roles, meaning=lambda _: {}, anatomized=anatomization
    )
