# SPDX-License-Identifier: Apache-2.0
"""`python -m divulge` is the `divulge` program."""

from divulge.cli.start import main

main()
