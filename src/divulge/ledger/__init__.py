# SPDX-License-Identifier: Apache-2.0
"""The ledger: prior releases of the same people, with dates and recipients.

A new release is judged together with them.
"""

from divulge.ledger.ledger import Entry, Holdings, Ledger, PriorReleases

__all__ = ["Entry", "Holdings", "Ledger", "PriorReleases"]
