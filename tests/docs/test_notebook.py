# SPDX-License-Identifier: Apache-2.0
"""The tutorial notebook runs from top to bottom, and every result in it shows itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_tutorial_notebook_runs_and_its_results_show_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(DOCS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    )
    notebook = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    # written without them: they are made anew
    assert all(cell.get("outputs", []) == [] for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = [
        out["data"]["text/html"]
        for cell in notebook.cells
        for out in cell.get("outputs", ())
        if "text/html" in out.get("data", {})
    ]
    assert len(shown) == 6
    assert all(page.startswith('<div class="divulge note">') for page in shown)
    assert sum("data:image/" in page for page in shown) >= 4
    last = notebook.cells[-1]["outputs"][0]["data"]["text/plain"]
    assert last == "['internal.html', 'public.html', 'release', 'release.private']"
