# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/: every link leads somewhere, names of the library are public, and every
page is in the navigation of mkdocs.yml.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_structure import ORDER

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.rglob("*.md")),
]
GENERATED = re.findall(
    r'^    "([\w/.-]+\.(?:md|json))": ',
    (DOCS / "generated_pages.py").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""Pages that exist only in the built site (test_site.py)."""
GROUPS = ["Home", "Tutorial", "How-to", "Concepts", "Reference", "Papers"]

PRIVATE = re.compile(
    rf"\bdivulge\.(?:{'|'.join(set(ORDER) - {'charts', 'datasets', 'dossier', 'integrations', '__init__', '__main__'})})\b"  # noqa: E501
)
"""A layer that users are not to know; `divulge.measure` is a function."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that mkdocs makes of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        if linked in [DOCS / made for made in GENERATED]:
            continue
        if not linked.exists() or (
            anchor and linked.suffix == ".md" and anchor not in anchors(linked)
        ):
            broken.append(target)
    assert broken == []


def navigation() -> str:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return configuration[configuration.index("\nnav:") :]


def test_every_page_is_in_the_navigation_and_nothing_else() -> None:
    listed = re.findall(r"([\w/.-]+\.md)\s*$", navigation(), re.MULTILINE)
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(
        [*written, *(page for page in GENERATED if page.endswith(".md"))]
    )


def test_the_navigation_has_its_groups_in_order() -> None:
    assert re.findall(r"^  - ([\w-]+):", navigation(), re.MULTILINE) == GROUPS


def test_private_layers_are_recognised() -> None:
    text = (
        "from divulge.hierarchies import x; divulge.generalization.cut_points.optimal_cuts; "
        "divulge.measure; divulge.dossier; divulge.toml"
    )
    assert PRIVATE.findall(text) == ["divulge.hierarchies", "divulge.generalization"]


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.parent != ROOT or page.name == "README.md"],
    ids=lambda page: page.stem,
)
def test_users_are_told_public_names_only(page: Path) -> None:
    assert PRIVATE.findall(page.read_text(encoding="utf-8")) == []


def test_contributors_find_every_layer_and_every_file_that_they_are_told_of() -> None:
    pages = [(ROOT / "CONTRIBUTING.md"), DOCS / "architecture.md", DOCS / "comparison.md"]
    text, *others = (page.read_text(encoding="utf-8") for page in pages)
    table = "".join(re.findall(r"^\| (.*?) \| ", text, re.MULTILINE))
    layers = {name.rstrip("/") for name in re.findall(r"`(\w+/?)`", table)}
    assert set(ORDER) - {"__init__", "__main__"} <= layers
    paths = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.]*)`", "\n".join([text, *others]))
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path.replace("NAME", "check")).exists()] == []
    files = re.findall(r"`(\w+\.py)`", text)
    present = {
        path.name
        for folder in ("src", "tests", "benchmarks", "docs", "reproduction")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(files) > 10
    assert [name for name in files if name not in present] == []
