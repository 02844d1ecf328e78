# SPDX-License-Identifier: Apache-2.0
"""Tables: where their rows are, the types of their columns, and the role of each column."""

from divulge.sources.arx_project import ArxProject, read_project
from divulge.sources.paths import kind_by_name
from divulge.sources.read import own_table, read, read_with_engine_of
from divulge.sources.roles import Roles, resolve_roles, split_names
from divulge.sources.table import (
    Column,
    Declared,
    Kind,
    Names,
    Table,
    kind_of,
    known_options,
    table_of,
)

__all__ = [
    "ArxProject",
    "Column",
    "Declared",
    "Kind",
    "Names",
    "Roles",
    "Table",
    "kind_by_name",
    "kind_of",
    "known_options",
    "own_table",
    "read",
    "read_project",
    "read_with_engine_of",
    "resolve_roles",
    "split_names",
    "table_of",
]
