# SPDX-License-Identifier: Apache-2.0
"""The tests: folders mirror src/divulge.

Expected values come from a paper, a hand count or an independent oracle.
"""
