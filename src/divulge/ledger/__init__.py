# SPDX-License-Identifier: Apache-2.0
"""The ledger: what was released of the same people, when and to whom; what a new release is judged against."""

from divulge.ledger.ledger import Entry, Holdings, Ledger, OutAlready

__all__ = ["Entry", "Holdings", "Ledger", "OutAlready"]
