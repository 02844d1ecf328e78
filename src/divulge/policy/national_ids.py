# SPDX-License-Identifier: Apache-2.0
"""Recognition of national ids, IBANs and payment cards by their format and check digits.

A check digit distinguishes such a number from any other of the same length. Of random numbers one
in ten or eleven passes, so that a column in which most pass is no accident. Numbers without a check
digit (US, Denmark, the British NINO) are recognized by their format alone.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_ODD_ITALIAN = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            1,
            0,
            5,
            7,
            9,
            13,
            15,
            17,
            19,
            21,
            2,
            4,
            18,
            20,
            11,
            3,
            6,
            8,
            12,
            14,
            16,
            10,
            22,
            25,
            24,
            23,
        ),
        strict=True,
    )
)
_CURP_ALPHABET = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ"


class Form(NamedTuple):
    """Format of a number, and the condition on its digits."""

    country: str
    pattern: str
    check: Callable[[str], bool]
    """Check of the text in capitals, without blanks, points, dashes and slashes."""

    def fits(self, text: str) -> bool:
        """Report whether a text is such a number."""
        normalized = text.strip().upper()
        return re.fullmatch(self.pattern, normalized) is not None and self.check(
            re.sub(r"[ ./\-]", "", normalized)
        )


def _weighted(text: str, weights: Sequence[int]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(text, weights, strict=False))


def luhn(text: str) -> bool:
    """Check Luhn's digit, as in payment cards and the numbers of several states."""
    digits = [int(letter) for letter in reversed(text)]
    return sum(digits[0::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) in range(
        0, 1000, 10
    )


def iban(text: str) -> bool:
    """Check an IBAN: the account, then country and check digits, is 1 modulo 97 (ISO 13616)."""
    normalized = re.sub(r"\s", "", text).upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", normalized):
        return False
    return (
        int("".join(str(int(letter, 36)) for letter in normalized[4:] + normalized[:4])) % 97 == 1
    )


def payment_card(text: str) -> bool:
    """Check 13 to 19 digits of a known network, with Luhn's check digit."""
    normalized = re.sub(r"[ \-]", "", text)
    return re.fullmatch(r"[3-6][0-9]{12,18}", normalized) is not None and luhn(normalized)


def _day(year: str, month: str, day: str) -> bool:
    """Report whether the day exists in some century."""
    try:
        dt.date(2000 + int(year) % 100, int(month), int(day))
    except ValueError:
        return False
    return True


def _nhs(text: str) -> bool:
    return (11 - _weighted(text, range(10, 1, -1)) % 11) % 11 == int(text[9])


def _mod_11_10(text: str) -> bool:
    rest = 10
    for letter in text[:-1]:
        rest = (int(letter) + rest) % 10 or 10
        rest = rest * 2 % 11
    return (11 - rest) % 10 == int(text[-1])


def _german_tax(text: str) -> bool:
    """Check the German tax number: one of the first ten digits occurs two or three times.

    No other of these digits is repeated.
    """
    often = sorted(text[:10].count(digit) for digit in set(text[:10]))
    return often[-1] in (2, 3) and often[-2] == 1 and _mod_11_10(text)


def _french(text: str) -> bool:
    number = int(text[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(text[13:])


def _italian(text: str) -> bool:
    total = sum(_ODD_ITALIAN[letter] for letter in text[0:15:2])
    total += sum(int(letter) if letter.isdigit() else ord(letter) - 65 for letter in text[1:15:2])
    return chr(65 + total % 26) == text[15]


def _spanish(text: str) -> bool:
    first = {"X": "0", "Y": "1", "Z": "2"}.get(text[0], text[0])
    return _DNI_LETTERS[int(first + text[1:8]) % 23] == text[8]


def _dutch(text: str) -> bool:
    return int(text) > 0 and _weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _belgian(text: str) -> bool:
    return int(text[9:]) in (97 - int(text[:9]) % 97, 97 - int("2" + text[:9]) % 97)


def _polish(text: str) -> bool:
    day = _day(text[:2], f"{int(text[2:4]) % 20:02}", text[4:6])
    return day and _weighted(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _swedish(text: str) -> bool:
    short = text.replace("+", "")[-10:]
    return _day(short[:2], short[2:4], short[4:6]) and luhn(short)


def _norwegian(text: str) -> bool:
    first = (11 - _weighted(text, (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11) % 11
    second = (11 - _weighted(text, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 11
    return f"{first}{second}" == text[9:] and _day(text[4:6], text[2:4], text[:2])


def _danish(text: str) -> bool:
    return _day(text[4:6], text[2:4], text[:2])


def _finnish(text: str) -> bool:
    digits = re.sub(r"[^0-9]", "", text[:-1])[-9:]
    return (
        _day(digits[4:6], digits[2:4], digits[:2]) and _HETU_LETTERS[int(digits) % 31] == text[-1]
    )


def _swiss(text: str) -> bool:
    return _weighted(text, (1, 3) * 6 + (1,)) % 10 == 0


def _portuguese(text: str) -> bool:
    return (11 - _weighted(text, range(9, 1, -1)) % 11) % 11 % 10 == int(text[8])


def _czech(text: str) -> bool:
    month = int(text[2:4]) % 50 % 20
    return int(text[:9]) % 11 % 10 == int(text[9]) and _day(text[:2], f"{month:02}", text[4:6])


def _brazilian(text: str) -> bool:
    if len(set(text)) == 1:
        return False
    first = (11 - _weighted(text[:9], range(10, 1, -1)) % 11) % 11 % 10
    second = (11 - _weighted(text[:10], range(11, 1, -1)) % 11) % 11 % 10
    return f"{first}{second}" == text[9:]


def _mexican(text: str) -> bool:
    total = sum(
        _CURP_ALPHABET.index(letter) * (18 - position) for position, letter in enumerate(text[:17])
    )
    return _day(text[4:6], text[6:8], text[8:10]) and str(-total % 10) == text[17]


def _chilean(text: str) -> bool:
    total = sum(
        int(letter) * (2 + position % 6) for position, letter in enumerate(reversed(text[:-1]))
    )
    return "0123456789K"[-total % 11] == text[-1]


def _dihedral_product(a: int, b: int) -> int:
    """Multiply two symmetries of a pentagon: rotations are 0 to 4, reflections 5 to 9."""
    if a < 5:
        if b < 5:
            return (a + b) % 5
        return (a + b - 5) % 5 + 5
    if b < 5:
        return (a - b) % 5 + 5
    return (a - b) % 5


@functools.cache
def _dihedral() -> tuple[list[list[int]], list[list[int]]]:
    """Products of the symmetries of a pentagon, and the permutations of Verhoeff's scheme."""
    product = [[_dihedral_product(a, b) for b in range(10)] for a in range(10)]
    permutation = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4]
    powers = [list(range(10))]
    for _ in range(7):
        powers.append([permutation[element] for element in powers[-1]])
    return product, powers


def _verhoeff(text: str) -> bool:
    product, powers = _dihedral()
    rest = 0
    for position, letter in enumerate(reversed(text)):
        rest = product[rest][powers[position % 8][int(letter)]]
    return rest == 0


def _chinese(text: str) -> bool:
    total = sum(
        int(letter) * pow(2, 17 - position, 11) for position, letter in enumerate(text[:17])
    )
    return _day(text[8:10], text[10:12], text[12:14]) and "10X98765432"[total % 11] == text[17]


def _south_african(text: str) -> bool:
    return _day(text[:2], text[2:4], text[4:6]) and luhn(text)


def _turkish(text: str) -> bool:
    digits = [int(letter) for letter in text]
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return digits[9] == tenth and digits[10] == sum(digits[:10]) % 10


def _australian(text: str) -> bool:
    return _weighted(text, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _by_form(text: str) -> bool:  # noqa: ARG001 - nothing is left to check
    return True


FORMS = (
    Form(
        "the United States (SSN)",
        r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}",
        _by_form,
    ),
    Form(
        "the United Kingdom (NINO)",
        r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?([0-9]{2} ?){3}[A-D]",
        _by_form,
    ),
    Form("the United Kingdom (NHS)", r"[0-9]{3}[ \-]?[0-9]{3}[ \-]?[0-9]{4}", _nhs),
    Form("Germany (tax)", r"[1-9][0-9](?: ?[0-9]{3}){3}", _german_tax),
    Form(
        "France (NIR)",
        r"[1278] ?[0-9]{2} ?[0-9]{2} ?(?:[0-9]{2}|2[AB]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
        _french,
    ),
    Form(
        "Italy (codice fiscale)",
        r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-EHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]",
        _italian,
    ),
    Form("Spain (DNI, NIE)", r"[0-9XYZ][0-9]{7}-?[A-Z]", _spanish),
    Form("the Netherlands (BSN)", r"[0-9]{9}", _dutch),
    Form("Belgium (NRN)", r"[0-9]{2}\.?[0-9]{2}\.?[0-9]{2}-?[0-9]{3}\.?[0-9]{2}", _belgian),
    Form("Poland (PESEL)", r"[0-9]{11}", _polish),
    Form("Sweden (personnummer)", r"(?:19|20)?[0-9]{6}[\-+]?[0-9]{4}", _swedish),
    Form("Norway (fødselsnummer)", r"[0-9]{6} ?[0-9]{5}", _norwegian),
    Form("Denmark (CPR)", r"[0-9]{6}-[0-9]{4}", _danish),
    Form("Finland (HETU)", r"[0-9]{6}[\-+A-FU-Y][0-9]{3}[0-9A-FHJ-NPR-Y]", _finnish),
    Form("Switzerland (AHV)", r"756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}", _swiss),
    Form("Portugal (NIF)", r"[1-9][0-9]{8}", _portuguese),
    Form("Czechia or Slovakia (rodné číslo)", r"[0-9]{6}/?[0-9]{4}", _czech),
    Form("Brazil (CPF)", r"[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2}", _brazilian),
    Form("Mexico (CURP)", r"[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]", _mexican),
    Form("Chile (RUT)", r"[0-9]{1,2}\.?[0-9]{3}\.?[0-9]{3}-[0-9K]", _chilean),
    Form("India (Aadhaar)", r"[2-9][0-9]{3}[ \-]?[0-9]{4}[ \-]?[0-9]{4}", _verhoeff),
    Form("China (resident number)", r"[1-9][0-9]{16}[0-9X]", _chinese),
    Form("South Africa (ID)", r"[0-9]{13}", _south_african),
    Form("Turkey (TCKN)", r"[1-9][0-9]{10}", _turkish),
    Form("Canada (SIN)", r"[1-79][0-9]{2}[ \-]?[0-9]{3}[ \-]?[0-9]{3}", luhn),
    Form("Australia (TFN)", r"[0-9]{3} ?[0-9]{3} ?[0-9]{3}", _australian),
)
"""Formats, the most specific first: of two that match equally often, the first is reported."""
