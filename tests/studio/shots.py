# SPDX-License-Identifier: Apache-2.0
"""`make shots`: screenshots of every tab with the demo's patients, on a phone and on a screen.

They are written to build/shots. Three of them are images of the documentation, and are updated
there.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.csv

import divulge as dv
from divulge.studio.tabs import TABS
from tests.output import browser as driver
from tests.studio.served import studio

FOLDER = Path("build") / "shots"
DOCS = Path("docs") / "assets" / "studio"
IN_DOCS = ("risk", "levels", "promises")
"""Places whose pictures stand in README and docs."""
LONG = 120_000


def shown(page: Any) -> None:
    """Wait until every request is answered and every chart is drawn."""
    page.wait_for_function("() => Number(document.body.dataset.shown ?? 0) > 0", timeout=LONG)
    page.wait_for_timeout(300)


def take(page: Any, name: str, size: str) -> None:
    """Take a screenshot of the first screen, and of the whole page."""
    page.screenshot(path=FOLDER / f"studio-{name}-{size}.png")
    if size == "desktop" and name in IN_DOCS:
        page.screenshot(path=DOCS / f"{name}.png")
    # The fixed bars would appear in the middle of a long screenshot.
    page.evaluate(
        "() => document.querySelectorAll('.top, .same').forEach((bar) => { bar.style.position = "
        "'static'; })"
    )
    page.screenshot(path=FOLDER / f"studio-{name}-{size}-whole.png", full_page=True)


def main() -> int:
    """Write the screenshots, and print where they are."""
    if driver.chromium() is None:
        sys.stderr.write(f"{driver.MISSING}\n")
        return 1
    for written in (FOLDER, DOCS):
        written.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, driver.started() as browser:
        folder = Path(name)
        pyarrow.csv.write_csv(dv.datasets.patients(), folder / "patients.csv")
        (folder / "hospital.toml").write_text(
            "suppression = 0.01\n" + dv.datasets.POLICY, encoding="utf-8"
        )
        with studio(folder, ["patients.csv", "--policy", "hospital.toml"]) as served:
            context = browser.new_context()
            page = context.new_page()
            page.goto(served.address)
            shown(page)
            for size, (width, height) in driver.SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                for place in TABS:
                    page.goto(page.url.rpartition("/")[0] + f"/{place}")
                    shown(page)
                    take(page, place, size)
    sys.stdout.write(f"look at {FOLDER}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
