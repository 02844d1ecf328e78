# SPDX-License-Identifier: Apache-2.0
"""What mkdocs makes anew at each build: every command as the program has it, every public name and
every layer as the code has it.

A hook of mkdocs.yml. Signatures and docstrings of the Python pages are read by mkdocstrings,
without running anything.
"""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from mkdocs.structure.files import File, Files
from typer.main import get_command

import divulge as dv
from divulge.cli.main import COMMANDS
from divulge.output import json_schema

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

_PYTHON = """# Python: every public name

```python
import divulge as dv
```

These names are kept; whatever else a module holds may change. `import divulge` is quick: each name is loaded when it is first used.
A result prints as its command does; `repr` is one line, `to_dict()` the document of `--json`, `to_frame()` a table of it, `settings` what
it depends on. `dv.dossier` has [a page of its own](dossier.md).
"""  # noqa: E501
_DOSSIER = """# Python: dv.dossier

What scattered records give away about one person (Whang and Garcia-Molina). [How to use it](../how-to/dossier.md), and
[what it means](../concepts/dossier.md).
"""  # noqa: E501
_COMMANDS = """# Every command

As `divulge COMMAND --help` tells it. Exit codes: 0 done; 1 a promise does not hold; 2 bad input, one clear line; 3 nothing can satisfy the
request. With `--json` a command prints [one JSON object](json.md), and nothing else.
"""  # noqa: E501


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Called by mkdocs once it knows the pages that are written by hand."""
    for name, page in PAGES.items():
        files.append(File.generated(config, name, content=page()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page: figures that would go stale are made from the code."""
    return markdown.replace("<!-- layers -->", layers_table())


# --- layers ---------------------------------------------------------------------------------------
def layers_table() -> str:
    """The layers in the order that the structure test keeps: what each is for in its own words,
    and how large it is.
    """
    root = Path(__file__).parents[1]
    order = _assigned(
        "ORDER", ast.parse((root / "tests" / "test_structure.py").read_text(encoding="utf-8"))
    )
    layers = [_layer(root / "src" / "divulge", name) for name in order if not name.startswith("__")]
    head = [
        "| layer | what it is for | files | lines | names others may use |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *layers])


def _layer(package: Path, name: str) -> str:
    folder = package / name
    files = sorted(folder.glob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    tree = ast.parse(files[0].read_text(encoding="utf-8"))
    purpose = (ast.get_docstring(tree) or "").partition("\n")[0]
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    names = len(_assigned("__all__", tree)) or ""
    return (
        f"| `{name}{'/' if folder.is_dir() else ''}` | {_cell(purpose)} | {len(files)} | "
        f"{lines:,} | {names} |"
    )


def _assigned(name: str, tree: ast.Module) -> tuple[str, ...]:
    """The names that a file lists under a name; none where it has no such list."""
    found = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return next((tuple(ast.literal_eval(value)) for value in found), ())


# --- commands -------------------------------------------------------------------------------------
def commands_page() -> str:
    """Each command with its usage, its examples and all that it takes."""
    return "\n".join(
        [_COMMANDS, *(_command(found, name) for name, found in all_commands().items())]
    )


def all_commands() -> dict[str, Any]:
    """The commands of the program and their subcommands, by what a user types after `divulge`."""
    found = {}
    for name in COMMANDS:
        command = get_command(importlib.import_module(f"divulge.cli.{name}").app)
        found[name] = command
        found |= {f"{name} {own}": inner for own, inner in getattr(command, "commands", {}).items()}
    return found


def _command(command: Any, name: str) -> str:
    context = typer.Context(command, info_name=f"divulge {name}")
    usage = " ".join(["divulge", name, *command.collect_usage_pieces(context)])
    lines = [
        f"{'#' * (2 + name.count(' '))} divulge {name}",
        "",
        "```text",
        usage,
        "```",
        "",
        *_help(command.help or ""),
    ]
    panels: dict[str, list[str]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and "--help" not in parameter.opts:
            title = (
                getattr(parameter, "rich_help_panel", None)
                or f"{parameter.param_type_name}s".capitalize()
            )
            panels.setdefault(title, []).append(
                f"| {_code(record[0])} | {_cell(record[1], escape=True)} |"
            )
    for title, rows in panels.items():
        lines += [f"| {title} | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _help(text: str) -> Iterator[str]:
    """The text of a docstring; its examples become a block."""
    for paragraph in re.split(r"\n\s*\n", text.replace("\b", "").strip()):
        title, *rest = paragraph.strip("\n").split("\n")
        if rest and title.strip() in ("Example:", "Examples:"):
            yield from ("```sh", inspect.cleandoc("\n".join(rest)), "```", "")
        else:
            yield from (_plain(paragraph.strip("\n")), "")


def _cell(text: str, *, escape: bool = False) -> str:
    """Text that can stand in a cell of a table."""
    line = " ".join(text.split()).replace("|", "\\|")
    return _plain(line) if escape else line


def _code(text: str) -> str:
    """Code in a cell of a table; between backquotes a bar would need a backslash, and show it."""
    return f"<code>{html.escape(' '.join(text.split())).replace('|', '&#124;')}</code>"


def _plain(text: str) -> str:
    """Nothing of it is Markdown, and an option is code."""
    escaped = re.sub(r"([\\<>*_\[\]`])", r"\\\1", text).replace("\\\\|", "\\|")
    return re.sub(r"(?<![\w-])(--[a-z][a-z-]*)", r"`\1`", escaped)


# --- Python ---------------------------------------------------------------------------------------
def python_page() -> str:
    """The verbs, the values they take, what comes back, and the smaller layers."""
    public = {name: getattr(dv, name) for name in vars(dv)["__all__"]}
    verbs = {name: value for name, value in public.items() if inspect.isfunction(value)}
    values = {
        name: value
        for name, value in public.items()
        if name not in verbs and not inspect.ismodule(value)
    }
    layers = [
        name for name, value in public.items() if inspect.ismodule(value) and name != "dossier"
    ]
    sections = [_section("Verbs", verbs), _section("Values", values), _returned(verbs)]
    return "\n".join(
        [_PYTHON, *sections, *(_section(f"dv.{layer}", _members(layer)) for layer in layers)]
    )


def dossier_page() -> str:
    """All of dv.dossier."""
    members = _members("dossier")
    return "\n".join([_DOSSIER, _section("dv.dossier", members), _returned(members)])


def _members(layer: str) -> dict[str, Any]:
    """What a public layer holds, by the name below `dv`: functions first."""
    module = getattr(dv, layer)
    names = sorted(
        module.__all__,
        key=lambda name: (not inspect.isfunction(getattr(module, name)), name.lower()),
    )
    return {f"{layer}.{name}": getattr(module, name) for name in names}


def _section(title: str, members: dict[str, Any]) -> str:
    """A heading, and what mkdocstrings is to show below it: each name as a user writes it."""
    return "\n".join(
        [
            f"## {title}",
            "",
            *(_shown(_path(name, value), f"dv.{name}") for name, value in members.items()),
        ]
    )


def _path(name: str, value: Any) -> str:
    """Where mkdocstrings finds a public name.

    One that its own module is named like, it would take for that module.
    """
    home, own = getattr(value, "__module__", "divulge"), name.rpartition(".")[2]
    package = importlib.import_module(home.rpartition(".")[0] or home)
    hidden = home.endswith(f".{own}") and getattr(package, own) is value
    return f"{home}.{own}" if hidden else f"divulge.{name}"


def _returned(members: dict[str, Any]) -> str:
    """The classes that functions return and that have no public name: a user meets them all the
    same.
    """
    public = {
        id(value)
        for layer in ("charts", "dossier", "datasets")
        for value in _members(layer).values()
    }
    public |= {id(getattr(dv, name)) for name in dir(dv)}
    # Arguments are checked by a function around each, which has the names of another module.
    functions = [inspect.unwrap(value) for value in members.values() if inspect.isfunction(value)]
    kinds = [eval(found.__annotations__["return"], found.__globals__) for found in functions]  # noqa: S307 - ours
    ours = [
        kind for kind in kinds if inspect.isclass(kind) and kind.__module__.startswith("divulge.")
    ]
    paths = {
        kind.__name__: f"{kind.__module__}.{kind.__qualname__}"
        for kind in ours
        if id(kind) not in public
    }
    return "\n".join(
        ["## What comes back", "", *(_shown(paths[name], name) for name in sorted(paths))]
    )


def _shown(path: str, heading: str) -> str:
    return f"::: {path}\n    options:\n      heading: {heading}\n      toc_label: {heading}\n"


def _documents_schema() -> str:
    return json.dumps(json_schema.schema(), indent=1, ensure_ascii=False) + "\n"


PAGES = {
    "reference/documents.schema.json": _documents_schema,
    "reference/commands.md": commands_page,
    "reference/python.md": python_page,
    "reference/dossier.md": dossier_page,
}
