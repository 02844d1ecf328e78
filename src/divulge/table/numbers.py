# SPDX-License-Identifier: Apache-2.0
"""Numbers read from text and written back without rounding.

Binary floats put 0.3 below 3 * 0.1, so a value on a bound would fall into the wrong range. Fractions do not.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from divulge.errors import BadInput

_NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?")


def as_number(text: str) -> Fraction | None:
    """The finite number that a text writes, exactly; None where it writes none.

    >>> as_number("0.1"), as_number("-3"), as_number("1e3"), as_number("ten")
    (Fraction(1, 10), Fraction(-3, 1), Fraction(1000, 1), None)
    """
    return Fraction(Decimal(text)) if _NUMBER.fullmatch(text) else None


def number_text(number: Fraction) -> str:
    """The shortest decimal text of a number whose decimals end.

    >>> number_text(Fraction(-5, 2)), number_text(Fraction(20)), number_text(Fraction(1, 1000))
    ('-2.5', '20', '0.001')
    """
    places = next((n for n in range(number.denominator.bit_length()) if 10**n % number.denominator == 0), None)
    if places is None:
        raise BadInput(f"{number} has no finite decimal text")
    digits = str(abs(number.numerator) * (10**places // number.denominator)).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"
