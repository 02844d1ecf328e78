# SPDX-License-Identifier: Apache-2.0
"""Results for readers: in words, on a terminal, as JSON, as charts. One file for each kind of result, loaded when one is looked at."""
