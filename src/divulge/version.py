# SPDX-License-Identifier: Apache-2.0
"""The version, in a module of its own: no other module has to import the package for it."""

__version__ = "0.1.0"
