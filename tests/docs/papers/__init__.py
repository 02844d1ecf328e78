# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/papers: what each paper prints beside what divulge computes.

`python -m tests.docs.papers` writes them; tests/docs/test_papers.py fails when a committed page says anything else.
"""
