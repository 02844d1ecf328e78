# SPDX-License-Identifier: Apache-2.0
"""A table as divulge sees it: where its rows are, what its columns are, and which role each column plays."""

from divulge.table.arx_project import ArxProject, read_project
from divulge.table.paths import kind_by_name
from divulge.table.read import own_table, read, read_beside
from divulge.table.table import (
    Column,
    Declared,
    Kind,
    Names,
    Roles,
    Table,
    kind_of,
    resolve_roles,
    split_names,
    table_of,
)

__all__ = [
    "ArxProject", "Column", "Declared", "Kind", "Names", "Roles", "Table", "kind_by_name", "kind_of",
    "own_table", "read", "read_beside", "read_project", "resolve_roles", "split_names", "table_of",
]  # fmt: skip
