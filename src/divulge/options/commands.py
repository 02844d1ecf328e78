# SPDX-License-Identifier: Apache-2.0
"""Options of single commands: demo, query, ledger, studio and others."""

from __future__ import annotations

from divulge.options.row import Option

COMMAND_OPTIONS = (
    Option("out", "Folder for the table, the charts and the numbers.", verbs=("demo",)),
    Option("rows", "How many patients to invent.", verbs=("demo",), takes="integer", low=100),
    Option("seed", "The same seed invents the same people.", verbs=("demo",), takes="integer"),
    Option(
        "folder",
        "The new folder of the package, such as divulge_dbt.",
        verbs=("dbt",),
        takes="folder",
        positional=True,
    ),
    Option("force", "Write it anew where it is.", verbs=("dbt",), takes="flag"),
    Option(
        "release",
        "The folder of a release, anatomized or generalized.",
        verbs=("query",),
        positional=True,
        metavar="RELEASE",
    ),
    Option(
        "condition",
        "What would stand after WHERE; everything if not given.",
        verbs=("query",),
        positional=True,
        metavar="CONDITION",
    ),
    Option(
        "total",
        "Sum this up instead of counting.",
        verbs=("query",),
        flags=("--sum",),
        metavar="EXPRESSION",
    ),
    Option("average", "Average this instead of counting.", verbs=("query",), metavar="EXPRESSION"),
    Option("group", "The group column, in another's release.", verbs=("query",)),
    Option("count", "The count column, in another's release.", verbs=("query",)),
    Option(
        "hierarchies",
        "What labels stand for, where a generalized release comes without its mapping.",
        verbs=("query",),
        takes="folder",
    ),
    Option(
        "ledger",
        "The folder of a ledger.",
        verbs=("ledger list", "ledger show", "ledger retract", "ledger forget", "ledger export"),
        takes="path",
        positional=True,
        metavar="LEDGER",
    ),
    Option(
        "recipient",
        "Only what these hold, with what everybody was given. Repeatable.",
        verbs=("ledger list", "ledger export"),
        metavar="NAMES",
    ),
    Option(
        "dataset",
        "Only releases of this dataset.",
        verbs=("ledger list", "ledger export"),
        metavar="NAME",
    ),
    Option(
        "number",
        "The number of a release, as list shows it.",
        verbs=("ledger show", "ledger retract", "ledger forget"),
        takes="integer",
        positional=True,
        metavar="NUMBER",
    ),
    Option(
        "ledger",
        "The folder of a ledger; made if it is not there.",
        verbs=("ledger add",),
        takes="path",
        positional=True,
        metavar="LEDGER",
    ),
    Option(
        "release",
        "The folder of a release, with its mappings.",
        verbs=("ledger add",),
        takes="path",
        positional=True,
        metavar="RELEASE",
    ),
    Option(
        "recipient",
        "Who gets the release; everybody, if nobody is named.",
        verbs=("ledger add",),
        metavar="NAME",
    ),
    Option(
        "dataset",
        "Whom it is about: releases of one dataset are judged together.",
        verbs=("ledger add",),
        metavar="NAME",
    ),
    Option(
        "expires",
        "The last day on which its recipient should have it.",
        verbs=("ledger add",),
        metavar="DAY",
    ),
    Option("force", "Forget it although it is out.", verbs=("ledger forget",), takes="flag"),
    Option("dry_run", "Only say what would be forgotten.", verbs=("ledger forget",), takes="flag"),
    Option(
        "out", "The file to write: .csv, .json or .parquet.", verbs=("ledger export",), takes="file"
    ),
    Option(
        "table",
        "What to open; else the page asks for it.",
        verbs=("studio",),
        positional=True,
        metavar="[TABLE]",
    ),
    Option("policy", "The policy file to begin with.", verbs=("studio",), takes="file"),
    Option(
        "port",
        "Where to listen; 0: any port that is free.",
        verbs=("studio",),
        takes="integer",
        low=0,
        high=65535,
    ),
    Option(
        "no_browser", "Print the address, and open no browser.", verbs=("studio",), takes="flag"
    ),
    Option(
        "stop_after",
        "Without any page open, stop after so many minutes.",
        verbs=("studio",),
        takes="number",
        metavar="MINUTES",
        low=0,
    ),
    Option(
        "original", "The original table.", verbs=("perturbed",), positional=True, metavar="ORIGINAL"
    ),
    Option(
        "published",
        "The published table.",
        verbs=("perturbed",),
        positional=True,
        metavar="PUBLISHED",
    ),
    Option(
        "columns",
        "Columns whose values were changed; names, globs or several with commas.",
        verbs=("perturbed",),
        takes="columns",
        panel="Roles",
    ),
    Option(
        "sensitive",
        "Attributes of the original about which the published values tell something.",
        verbs=("perturbed",),
        takes="columns",
        panel="Roles",
        policy_key="sensitive",
    ),
    Option(
        "key",
        "Column that says which rows belong together; by position if not given.",
        verbs=("perturbed",),
        takes="column",
        panel="Roles",
    ),
    Option(
        "epsilon",
        "Of the differential privacy promised for each value: the bits it allows, beside those "
        "measured.",
        verbs=("perturbed",),
        takes="number",
        metavar="NUMBER",
        panel="Adversary",
    ),
    Option(
        "name",
        "The data set to fetch; without it, all are listed.",
        verbs=("datasets",),
        positional=True,
        metavar="NAME",
        values_of="datasets",
    ),
    Option("out", "Write the table as .csv or .parquet.", verbs=("datasets",), takes="file"),
    Option("markdown", "Print the reference page.", verbs=("metrics",), takes="flag"),
)
