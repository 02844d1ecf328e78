# SPDX-License-Identifier: Apache-2.0
"""The version, in a file of its own: every module may know it, and none needs to import the package for it."""

__version__ = "0.1.0"
