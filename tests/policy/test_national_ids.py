# SPDX-License-Identifier: Apache-2.0
"""National ids and bank accounts, compared with python-stdnum, an independent library."""

from __future__ import annotations

import importlib
import random

import pytest

from divulge.policy import national_ids

ORACLES = {
    "SSN": ("us.ssn", "ddd-dd-dddd"),
    "NHS": ("gb.nhs", "dddddddddd"),
    "tax": ("de.idnr", "ttttttttttt"),
    "NIR": ("fr.nir", "2ym75ddddddc"),
    "codice fiscale": ("it.codicefiscale", "rssmra"),
    "DNI, NIE": ("es.dni", "dddddddd-l"),
    "BSN": ("nl.bsn", "ddddddddd"),
    "NRN": ("be.nn", "ymDddddd"),
    "PESEL": ("pl.pesel", "ymDddddd"),
    "personnummer": ("se.personnummer", "ymD-dddd"),
    "fødselsnummer": ("no.fodselsnummer", "Dmyddddd"),
    "CPR": ("dk.cpr", "Dmy-dddd"),
    "HETU": ("fi.hetu", "Dmy-dddh"),
    "AHV": ("ch.ssn", "756dddddddddd"),
    "NIF": ("pt.nif", "2dddddddd"),
    "rodné číslo": ("cz.rc", "ymDdddd"),
    "CPF": ("br.cpf", "ddddddddddd"),
    "CURP": ("mx.curp", "GOMCymDHNLLRR0d"),
    "RUT": ("cl.rut", "dddddddd-k"),
    "Aadhaar": ("in_.aadhaar", "dddddddddddd"),
    "resident number": ("cn.ric", "11010119ymDdddx"),
    "ID": ("za.idnr", "ymDdddd08d"),
    "TCKN": ("tr.tckimlik", "ddddddddddd"),
    "SIN": ("ca.sin", "ddddddddd"),
    "TFN": ("au.tfn", "ddddddddd"),
}
"""Module of stdnum and the form of a random number, for each number.

A small letter means one of PLACES, others mean themselves.
"""
PLACES = {
    "d": "0123456789",
    "l": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "h": "0123456789ABCDEFHJKLMNPRSTUVWXY",
    "k": "0123456789K",
    "x": "0123456789X",
    "m": [f"{month:02}" for month in range(1, 13)],
    "D": [f"{day:02}" for day in range(1, 29)],
    "y": [str(year) for year in range(40, 97)],
    "c": [f"{key:02}" for key in range(1, 98)],
}


def drawn(form: str, draw: random.Random) -> str:
    """Draw a number in this form, whose check digit is right only by chance."""
    if form == "ttttttttttt":  # one digit twice, another not at all
        digits = draw.sample("0123456789", 9)
        digits.insert(draw.randint(1, 9), digits[0])
        return "".join(digits) + draw.choice("0123456789")
    if form.startswith("rssmra"):
        day = draw.randint(1, 28)
        return f"RSSMRA{draw.randint(40, 96)}A{day:02}F{draw.randint(100, 999)}{draw.choice(PLACES['l'])}"  # noqa: E501
    return "".join(draw.choice(PLACES.get(letter, [letter])) for letter in form)


@pytest.mark.parametrize("form", national_ids.FORMS, ids=lambda form: form.country)
def test_validity_agrees_with_stdnum(form: national_ids.Form) -> None:
    called = form.country.partition("(")[2].rstrip(")")
    if called == "NINO":  # stdnum has none; the examples of the British tax office
        assert [
            form.fits(text) for text in ("AB 12 34 56 C", "QQ123456C", "AO123456C", "AB123456E")
        ] == [True, False, False, False]
        return
    name, written = ORACLES[called]
    oracle = importlib.import_module(f"stdnum.{name}")
    draw = random.Random(7)  # noqa: S311 - not for secrets
    tried = [drawn(written, draw) for _ in range(2000)]
    right = [text for text in tried if oracle.is_valid(text)]
    assert len(right) >= 5, "the test draws too few right ones"
    assert [text for text in right if not form.fits(text)] == []
    # The last digits of a Danish number determine the century, so that some are of future days.
    wrong = [text for text in tried if form.fits(text) and not oracle.is_valid(text)]
    assert len(wrong) <= (0.15 if name == "dk.cpr" else 0.01) * len(tried), wrong[:5]


def test_accounts_and_cards() -> None:
    # The examples of ISO 13616 and of the networks' test pages.
    for text in (
        "GB82 WEST 1234 5698 7654 32",
        "DE89370400440532013000",
        "FR1420041010050500013M02606",
    ):
        assert national_ids.iban(text)
        assert not national_ids.iban(text[:-1] + ("0" if text[-1] != "0" else "1"))
    assert national_ids.payment_card("4111 1111 1111 1111")
    assert not national_ids.payment_card("4111 1111 1111 1112")
