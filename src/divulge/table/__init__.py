# SPDX-License-Identifier: Apache-2.0
"""A table as divulge sees it: where its rows are, what its columns are, and which role each column plays."""
