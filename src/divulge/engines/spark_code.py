# SPDX-License-Identifier: Apache-2.0
"""Sends this package to Spark's workers, so that they compute with the same code as the driver whatever is installed there.

The workers need numpy and pyarrow; divulge comes with the work.
"""

from __future__ import annotations

import functools
import hashlib
import io
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from divulge.engines.spark_session import private_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = Path(__file__).parent.parent


def send_code(session: SparkSession) -> None:
    """Make `import divulge` work in this session's workers; sending the same code again does nothing."""
    before = list(sys.path)
    try:
        session.addArtifacts(str(_archive()), pyfile=True)
    finally:
        sys.path[:] = before  # pyspark puts the archive there as well; the driver has the package itself


@functools.cache
def _archive() -> Path:
    """The package as a zip file, named by its content. It lives as long as the process: a worker may start at any time."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(_PACKAGE.rglob("*.py")):
            # A fixed date, so that the same code has the same name.
            archive.writestr(zipfile.ZipInfo(f"divulge/{path.relative_to(_PACKAGE).as_posix()}"), path.read_bytes())
    name = f"divulge-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}.zip"
    target = private_directory() / name
    target.write_bytes(packed.getvalue())
    return target
