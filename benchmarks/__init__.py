# SPDX-License-Identifier: Apache-2.0
"""How fast divulge is beside the bare work and beside others, and how near its answers come: `make bench ARGS=--help`."""
