# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of speed and of accuracy, compared with bare work and with other tools.

Usage: `make bench ARGS=--help`.
"""
