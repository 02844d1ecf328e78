# SPDX-License-Identifier: Apache-2.0
"""Charts as files.

SVG and PNG are written without a browser and without the network. An HTML page has tooltips and
opens offline.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from divulge import results
from divulge.errors import BadInput
from divulge.validation import checked

FORMATS = (".svg", ".png", ".html")
_PNG_SCALE = 2
"""Pixels of a PNG for each pixel of the drawing: sharp on screens and in print."""
_START_SCRIPT = (
    "for(const e of document.querySelectorAll('script[type=\"application/json\"]'))"
    "vegaEmbed('#'+e.dataset.into,JSON.parse(e.textContent),{mode:'vega-lite',renderer:'svg',actions:false,ast:true});"
)
"""Script that draws each specification of the page.

With `ast`, Vega interprets expressions instead of compiling them, so no text is run as a program.
"""


@checked
def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Write a chart as an image or as an HTML page, depending on the extension.

    The file is replaced at once: a reader sees the old file or the complete new one.

    Args:
        chart: result of `result.chart()` or of a function of `dv.charts`, or any Altair chart
        path: ends in .svg, .png or .html; a page is self-contained and opens offline

    Examples:
        >>> import tempfile
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["flu", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dv.charts.save(measured.chart(), f"{folder}/leakage.svg").name
        'leakage.svg'
    """
    target = check_path(path)
    return results.write_file(target, _render(chart, target.suffix.lower()), "chart")


@checked
def check_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a chart after checking its extension and its folder.

    An unknown extension or a missing folder raises an error before the work, not after it.

    Args:
        path: ends in .svg, .png or .html

    Examples:
        >>> import divulge as dv
        >>> dv.charts.check_path("leakage.svg").suffix
        '.svg'
    """
    results.refuse_to_show("chart")
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        if target.suffix:
            ending = f"as {target.suffix!r}"
        else:
            ending = f"to {str(target)!r}, whose name has no ending"
        raise BadInput(
            f"a chart cannot be written {ending}",
            hint=f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
        )
    if not target.parent.is_dir():
        raise BadInput(
            f"the chart cannot be written to {target}: there is no folder {target.parent}"
        )
    return target


def _specification(chart: Any, *, validate: bool = True) -> dict[str, Any]:
    import altair as alt

    if not isinstance(chart, alt.TopLevelMixin):
        raise BadInput(
            f"{type(chart).__name__} is not a chart",
            hint="draw one with result.chart() or dv.charts",
        )
    specification: dict[str, Any] = chart.to_dict(validate=validate)
    return specification


def _render(chart: Any, suffix: str) -> bytes:
    import vl_convert

    specification = _specification(chart)
    if suffix == ".svg":
        return str(vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])).encode()
    if suffix == ".png":
        png = vl_convert.vegalite_to_png(
            specification, scale=_PNG_SCALE, ppi=72, allowed_base_urls=[]
        )
        return bytes(png)
    return page(chart).encode()


def page(chart: Any) -> str:
    """Return an HTML page that loads nothing from the network.

    Its content security policy allows only its own two scripts.
    """
    scripts = (drawing_script(), _START_SCRIPT)
    script_hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    policy = (
        f"default-src 'none'; script-src {script_hashes}; style-src 'unsafe-inline'; img-src data:"
    )
    program, start = (f"<script>{script}</script>" for script in scripts)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" '
        'content="width=device-width,initial-scale=1"><title>divulge</title>'
        "<style>body{margin:24px;background:#fff}</style></head><body>"
        '<div id="chart"></div><script type="application/json" '
        f'data-into="chart">{as_json(chart)}</script>{program}{start}</body></html>'
    )


@checked
def as_json(chart: Any) -> str:
    """Return the Vega-Lite specification as JSON that can be embedded in a script element.

    Characters are escaped, so text of a table cannot end the script.

    Args:
        chart: any Altair chart

    Examples:
        >>> import pyarrow as pa
        >>> import divulge as dv
        >>> people = pa.table({"zip": ["1", "2"], "disease": ["</script>", "cold"]})
        >>> measured = dv.measure(people, quasi_identifiers="zip", sensitive="disease")
        >>> "</script>" in dv.charts.as_json(measured.of_class(zip="1").chart())
        False
    """
    specification = {
        key: value
        for key, value in _specification(chart, validate=False).items()
        if key != "$schema"
    }
    text = json.dumps(specification, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@functools.cache
def drawing_script() -> str:
    """Vega, Vega-Lite and vega-embed as one script, which defines `vegaEmbed`.

    It is part of every page because no page uses the network.

    Examples:
        >>> import divulge as dv
        >>> script = dv.charts.drawing_script()
    """
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace(
        "</script", "<\\/script"
    )
