# SPDX-License-Identifier: Apache-2.0
"""Generalization: which levels, boxes or columns to publish so that promises hold and as little as possible is lost."""
