# SPDX-License-Identifier: Apache-2.0
"""The Spark engine itself: quoting, types, sessions, errors, and messages if Spark is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from divulge.engines import SparkEngine, spark_session
from divulge.engines import spark as spark_module
from divulge.engines.spark_session import wait_until_clean
from divulge.engines.spark_types import explain_spark
from divulge.errors import BadInput, DivulgeError, InternalError, MissingDependency
from tests.helpers import run_cli

ROOT = Path(__file__).parent.parent.parent


def test_names_and_texts_mean_themselves(spark: SparkEngine) -> None:
    """Spark reads "name" as a text and a backslash as an escape."""
    odd = ["a`b", "``", 'say "x"', "back\\slash", "it's", "semi;colon -- no", "😀", "select"]
    relation = spark.store(
        pa.table({name: [place] for place, name in enumerate(odd)}), source="odd names"
    )
    found = spark.query(f"SELECT {', '.join(spark.quote(name) for name in odd)} FROM {relation}")
    assert found.to_pylist() == [{name: place for place, name in enumerate(odd)}]
    constants = ", ".join(f"{spark.literal(text)} AS c{place}" for place, text in enumerate(odd))
    assert list(spark.query(f"SELECT {constants}").to_pylist()[0].values()) == odd


def test_parameters_are_bound(spark: SparkEngine) -> None:
    assert spark.query("SELECT ? AS a, ? AS b", ["x'; --", 3]).to_pylist() == [
        {"a": "x'; --", "b": 3}
    ]


def test_types_have_the_names_that_duckdb_gives_them(spark: SparkEngine) -> None:
    columns = {
        "TINYINT": "TINYINT",
        "SMALLINT": "SMALLINT",
        "INT": "INTEGER",
        "BIGINT": "BIGINT",
        "FLOAT": "FLOAT",
        "DOUBLE": "DOUBLE",
        "DECIMAL(10,2)": "DECIMAL(10,2)",
        "STRING": "VARCHAR",
        "BOOLEAN": "BOOLEAN",
        "DATE": "DATE",
        "BINARY": "BLOB",
        "TIMESTAMP_NTZ": "TIMESTAMP",
        "TIMESTAMP_LTZ": "TIMESTAMP WITH TIME ZONE",
        "ARRAY<INT>": "INTEGER[]",
        "STRUCT<a: INT>": "STRUCT(...)",
        "MAP<STRING, INT>": "MAP(...)",
    }
    selected = ", ".join(
        f"CAST(NULL AS {type_}) AS c{place}" for place, type_ in enumerate(columns)
    )
    assert [type_ for _, type_ in spark.describe(f"(SELECT {selected})")] == list(columns.values())


def test_a_statement_that_spark_rejects_is_an_internal_error(
    spark: SparkEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    """Spark's own message, a page of Java, is not printed."""
    capfd.readouterr()
    with pytest.raises(
        InternalError, match=r"TABLE_OR_VIEW_NOT_FOUND.*the statement was: SELECT \* FROM nowhere"
    ):
        spark.query("SELECT * FROM nowhere")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered\n[MALFORMED_CSV_RECORD] x",
            BadInput,
            "t.csv: a line does not have the fields",
        ),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] File x", BadInput, "t.csv: a file does not exist"),
        (
            "Total size of serialized results is bigger than spark.driver.maxResultSize",
            DivulgeError,
            "too large for the driver",
        ),
        (
            "ModuleNotFoundError: No module named 'numpy'",
            BadInput,
            "the Python of Spark's workers has no numpy",
        ),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", BadInput, "run another Python"),
        (
            "Cannot call methods on a stopped SparkContext.\nThis",
            DivulgeError,
            "the Spark session is gone",
        ),
        (
            "something new\nat java.lang",
            InternalError,
            "something new; the statement was: SELECT 1",
        ),
    ],
)
def test_errors_of_spark_become_one_line(text: str, kind: type[DivulgeError], told: str) -> None:
    found = explain_spark(RuntimeError(text), sql="SELECT 1", source="t.csv")
    assert type(found) is kind
    assert told in str(found)
    assert "\n" not in str(found)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "pyspark" else find(name, *a)
    )
    with pytest.raises(
        MissingDependency,
        match=r"needs pyspark, not installed here\. Install it with: pip install "
        r"'pyspark\[connect\]>=4",
    ) as error:
        SparkEngine()
    assert error.value.hint.endswith("; Spark itself also needs Java 17 or newer")
    told = run_cli("profile", "x.csv", "--engine", "spark")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)


def test_an_old_package_is_named(needs_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - it skips
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "3.5.1")
    with pytest.raises(MissingDependency, match=r"needs pyspark 4, and 3\.5\.1 is installed"):
        SparkEngine()


def test_missing_java_is_named(needs_spark: None, tmp_path: Path) -> None:  # noqa: ARG001 - it skips
    """In a separate process, because a running Spark needs no other Java."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    environment = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "divulge", "profile", "t.csv", "--engine", "spark"]
    found = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith(
        "divulge: the Spark engine needs Java, and none was found. Install Java 17"
    )
    assert found.stderr.count("\n") == 1


@pytest.mark.slow
def test_spark_is_imported_only_when_asked_for() -> None:
    program = (
        "import sys, pyarrow as pa, divulge as dv\n"
        "dv.measure(pa.table({'a': [1, 2]}), quasi_identifiers='a'); dv.profile(pa.table({'a': "
        "[1]}))\n"
        "print(*(name for name in ('pyspark', 'py4j', 'grpc') if name in sys.modules))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"remote": "sc://127.0.0.1:1"}, "nobody answers at sc://127.0.0.1:1"),
        (
            {"remote": "localhost"},
            "'localhost' is not the address of a Spark Connect server. Write sc://host:15002",
        ),
        (
            {"master": "spark://127.0.0.1:1,127.0.0.1:2"},
            "nobody answers at spark://127.0.0.1:1,127.0.0.1:2",
        ),
        (
            {"master": "nonsense"},
            "Spark cannot start on nonsense: Master must either be yarn or start with",
        ),
    ],
)
def test_an_address_where_no_spark_is(needs_spark: None, asked: dict[str, str], told: str) -> None:  # noqa: ARG001 - it skips
    """In a separate process without a Spark; Spark itself would try for minutes."""
    program = (
        "import sys; from divulge.engines.spark import SparkEngine; from divulge.errors import "
        "BadInput\n"
        f"try: SparkEngine(**{asked!r})\n"
        "except BadInput as error: print(error)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert told in done.stdout
    assert done.stderr == ""


def test_one_process_has_one_spark(spark: SparkEngine) -> None:
    assert SparkEngine().session is spark.session
    assert SparkEngine(master="local[2,4]").session is spark.session
    with pytest.raises(
        BadInput,
        match=r"spark://elsewhere:7077 was asked for, and a Spark session on local\[2,4\] runs",
    ):
        SparkEngine(master="spark://elsewhere:7077")
    with pytest.raises(BadInput, match="sc://elsewhere was asked for, and a Spark session"):
        SparkEngine(remote="sc://elsewhere")
    with pytest.raises(BadInput, match="master and remote were both given"):
        SparkEngine(master="local", remote="sc://elsewhere")


def test_scratch_files_are_private_and_nothing_listens_outside(spark: SparkEngine) -> None:
    context = spark.session.sparkContext
    folder = Path(str(context.getConf().get("spark.local.dir")))
    assert folder == spark_session.private_directory()
    assert folder.stat().st_mode & 0o077 == 0
    assert context.getConf().get("spark.driver.bindAddress") == "127.0.0.1"
    assert context.uiWebUrl is None


def test_a_freed_engine_sends_no_request_in_the_thread_that_freed_it(
    spark: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The garbage collector may free an engine in the middle of another request.

    It would take the reply to that request.
    """
    asked: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(
        spark_module,
        "_drop_views",
        lambda _, views: asked.append((threading.current_thread().name, views)),
    )
    going = SparkEngine(spark.session)
    view = going.view(spark.session.range(1))
    del going
    wait_until_clean()
    assert asked == [("divulge-spark-cleanup", [view.strip("`")])]
    spark.session.catalog.dropTempView(asked[0][1][0])


def test_a_divulge_error_in_a_worker_is_not_retried(spark: SparkEngine) -> None:
    """It is the user's mistake, not a failure of the worker, so it is not tried four times."""
    held = spark.hold("SELECT 1 AS a")
    with pytest.raises(BadInput, match=r"^the answer is no$"):
        spark.fold(held, _refuse, _keep)


def _refuse(batches: Any) -> int:
    list(batches)
    raise BadInput("the answer is no")


def test_cached_rows_belong_to_the_session_itself(spark: SparkEngine) -> None:
    """A clone of the session would copy our code, and remove it when the clone is collected.

    Executors that start later look for the code there.
    """
    held = spark.hold("SELECT id FROM range(3)")
    assert held.rows == 3
    session: Any = spark.session._jsparkSession  # noqa: SLF001 - there is no other way to ask
    kept = session.sharedState().cacheManager().lookupCachedData(held.frame._jdf).get()  # noqa: SLF001 - as above
    plan = kept.cachedRepresentation().cacheBuilder().cachedPlan()
    assert plan.session().sessionUUID() == session.sessionUUID()


def _keep(one: int, _: int) -> int:
    return one
