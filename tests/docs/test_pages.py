# SPDX-License-Identifier: Apache-2.0
"""Every command and every Python block of README.md and docs/ runs, and prints what its page shows.

A page's blocks run in order in one folder, so that a later command finds what an earlier one wrote.
Files that a page shows are written first; the rest comes from world.py.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from divulge.integrations import pytest as plugin
from divulge.releases import private_place
from tests.docs import pictures
from tests.docs.blocks import SHELLS, Block, Command, blocks_of, commands_of
from tests.docs.world import write_world
from tests.helpers import run_cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUNNING = [
    page
    for page in PAGES
    if any(block.language in (*SHELLS, "python") for block in blocks_of(page))
]

# What no test of a page can do, and why.
NOT_RUN = {
    r"--engine spark|--master|--remote|SparkSession|pyspark": "starts Spark, which has tests of its own",  # noqa: E501
    r"postgresql://|snowflake://": "asks a database server",
    r"https://data|s3://": "fetches a table from elsewhere; tests/sources/test_remote.py does",
    r"^measure - ": "reads what is piped in; tests/sources/test_remote.py does",
    r"^datasets \w+( |$)|^datasets \w+-(complete|test|income)|datasets\.load\(.(adult|census)": "fetches data from elsewhere",  # noqa: E501
    r"^anatomize adult.csv": "needs the public Adult",
    r"^demo$": "has been run for all pages",
}


MAY_SAY_NO = ("check", "--check", "apply")
"""Commands whose exit code 1 is an answer: a promise does not hold."""


def reason_not_to_run(text: str) -> str | None:
    return next((reason for pattern, reason in NOT_RUN.items() if re.search(pattern, text)), None)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `divulge demo` leaves behind: pages show what divulge says about it."""
    found = tmp_path_factory.mktemp("demo") / "divulge-demo"
    assert run_cli("demo", "--out", str(found)).code == 0
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# pandera imports it
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.slow
@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_does_what_it_says(page: Path, folder: Path, demo: Path) -> None:
    blocks = blocks_of(page)
    write_world(folder)
    shutil.copytree(demo, folder / demo.name)
    for block in blocks:
        if name := file_shown(block):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(block.text, encoding="utf-8")
    names: dict[str, object] = {}
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language == "python":
            run_python(block, names, following, where=f"{page.name}:{block.line}")
        elif block.language in SHELLS:
            for command in commands_of(block, following):
                with without_stray_policy(
                    folder, command, shown={file_shown(each) for each in blocks}
                ):
                    run_command(command, where=f"{page.name}:{command.line}")
    for picture in pictures.shown(page):
        drawn = folder / pictures.drawn_as(picture)
        if drawn.exists():
            assert pictures.told(picture) == pictures.told(drawn), (
                f"{picture.name} is out of date: make pictures"
            )


def test_every_picture_is_drawn_by_a_page_that_shows_it_and_is_light() -> None:
    stored = sorted(pictures.FOLDER.iterdir())
    pages = {page: page.read_text(encoding="utf-8") for page in PAGES}
    for picture in stored:
        name = re.escape(pictures.drawn_as(picture))
        drawing = rf"^(?:\$ )?divulge [^#]*?--(?:chart|out) (?:\w+=)?{name}\s"
        assert any(
            picture in pictures.shown(page) and re.search(drawing, pages[page], re.MULTILINE)
            for page in PAGES
        )
        assert pictures.told(picture)
        assert picture.stat().st_size < 300_000
    assert {picture for page in PAGES for picture in pictures.shown(page)} == set(stored)


def file_shown(block: Block) -> str:
    """The file that a block shows; promises without a title are the policy."""
    return block.title or (
        "divulge.toml" if block.language == "toml" and "[promises]" in block.text else ""
    )


@contextlib.contextmanager
def without_stray_policy(folder: Path, command: Command, *, shown: set[str]) -> Iterator[None]:
    """The world's own policy is there for commands that name it.

    One that a page shows is found by itself.
    """
    policy, away = folder / "divulge.toml", folder / "divulge.toml.away"
    stray = policy.exists() and policy.name not in shown and "divulge.toml" not in command.arguments
    if stray:
        policy.rename(away)
    yield
    if stray:
        away.rename(policy)


def make_room(folder: str) -> None:
    """Forget a release, because a page may show several ways to make the same one."""
    for part in (Path(folder), private_place(folder)):
        shutil.rmtree(part, ignore_errors=True)


def run_command(command: Command, *, where: str) -> None:
    if reason_not_to_run(" ".join(command.arguments)):
        return
    if "--out" in command.arguments and "--force" not in command.arguments:
        make_room(command.arguments[command.arguments.index("--out") + 1])
    found = run_cli(*command.arguments)
    allowed = (0, 1) if set(MAY_SAY_NO) & set(command.arguments) else (0,)
    assert found.code in allowed, f"{where}: exit code {found.code}: {found.err}"
    if command.whole:
        assert found.out.strip().splitlines() == list(command.shown), where
    else:
        printed = {line.strip() for line in found.out.splitlines()}
        missing = [line for line in command.shown if line.strip() not in {*printed, "", "…", "..."}]
        assert not missing, f"{where}: the page shows what is not printed: {missing}"


def run_python(
    block: Block, names: dict[str, object], following: Block | None, *, where: str
) -> None:
    if reason_not_to_run(block.text):
        return
    for folder in re.findall(r'\.write\("([^"]+)"', block.text):
        make_room(folder)
    exec(compile(block.text, where, "exec"), names)  # noqa: S102 - the project's own pages
    for name, value in list(names.items()):
        if name.startswith("test_") and callable(value) and name in block.text:
            run_test(
                value,
                "" if following is None or following.language != "text" else following.text.strip(),
            )


def run_test(test: Callable[..., object], shown: str) -> None:
    """As pytest would, with our fixture; the text below it is what its failure tells."""
    asked = inspect.signature(test).parameters
    told = ""
    try:
        test(**({"divulge_check": plugin.check} if "divulge_check" in asked else {}))
    except pytest.fail.Exception as failed:
        told = str(failed)
    assert told == shown


def test_the_pages_that_must_run_are_found() -> None:
    found = {page.relative_to(ROOT).as_posix() for page in RUNNING}
    assert {
        "README.md",
        "docs/tutorial.md",
        "docs/how-to/dossier.md",
        "docs/how-to/hierarchies.md",
    } <= found


def test_commands_are_recognised() -> None:
    text = (
        "make demo\n$ divulge measure a.csv \\\n    --qi 'my zip'   # a comment\nprinted\n$ "
        "divulge check a.csv || exit 1\n"
    )
    block = Block("console", "", text, 10)
    assert commands_of(block, None) == [
        Command(("measure", "a.csv", "--qi", "my zip"), 11, ("printed",)),
        Command(("check", "a.csv"), 14),
    ]
    one, output = (
        Block("sh", "", "divulge check a.csv > x.json\n", 1),
        Block("text", "", "It holds.\n", 4),
    )
    assert commands_of(one, output) == [Command(("check", "a.csv"), 1, ("It holds.",), whole=True)]
