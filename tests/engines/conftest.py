# SPDX-License-Identifier: Apache-2.0
"""Processes with a Spark of their own, started on first use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.spark_children import Child, child, free_port


@pytest.fixture(scope="session")
def cluster(needs_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:  # noqa: ARG001 - it skips
    """A real multi-process Spark, local-cluster[2,1,1024], which also serves Spark Connect."""
    with child("cluster", port=free_port(), folder=tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def connected(cluster: Child, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A client of the cluster's Spark Connect server."""
    pytest.importorskip("grpc", reason="no Spark Connect: pip install '.[spark]'")
    with child("connect", port=cluster.port, folder=tmp_path_factory.mktemp("connect")) as started:
        yield started
