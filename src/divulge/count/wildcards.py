# SPDX-License-Identifier: Apache-2.0
"""Cells that may not mean what they say: suppressed ones, which may match anything, and one value that is written in several ways.

Other tools write `*` (ARX), a null (sdcMicro) or a word where a value was suppressed. Counted as a value of its own it separates people;
as a wildcard it matches every value, in the way of ARX and of sdcMicro's freqCalc, and classes overlap. Neither is assumed in silence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from divulge import arrays
from divulge.arrays import Bools, Ints
from divulge.count.contingency import Contingency, Domain

SuppressedAs = Literal["wildcard", "value"]
Suppression = Mapping[str | None, SuppressedAs]
"""What was said about the text of a suppressed cell; None is the null."""


_JOIN = 100_000
"""A join costs as much as about so many comparisons of cells."""


# --- who matches whom -------------------------------------------------------------------------------------------------
def people_matching(contingency: Contingency, wildcards: Sequence[str | None]) -> tuple[Ints, int]:
    """For each class how many people it matches, and how many people have nothing but wildcards.

    Two records match where in each quasi-identifier their values are the same or one of them is a wildcard (ARX's
    RiskModelSampleWildcard; freqCalc with alpha = 1). A record of wildcards alone matches everybody, and is nobody's cover: a release with
    a few rows that are suppressed as a whole would otherwise hide all others. ARX leaves such records out, too.

    Classes are grouped by where their wildcards stand. Of all groups that suppress the same columns beyond those of one group, the
    classes that agree with it in what is left match: few joins, where a comparison of all pairs would be many. A group of few classes
    among many groups is compared with all classes one by one.
    """
    wild = _wild_cells(contingency, wildcards)
    which, first = arrays.class_ids(list(wild.T), [2] * wild.shape[1], rows=len(contingency))
    patterns, groups = wild[first], arrays.lay_out(which, len(first))
    found = np.zeros(len(contingency), dtype=np.int64)
    covering, nothing_left = np.flatnonzero(~patterns.all(axis=1)), wild.all(axis=1)
    for place in covering.tolist():
        mine, _ = groups.gather(np.array([place]))
        kinds, of_kind = np.unique(patterns[covering] & ~patterns[place], axis=0, return_inverse=True)
        if len(mine) * wild.size < len(kinds) * _JOIN:
            found[mine] = [_matching_one(contingency, wild, index) for index in mine.tolist()]
            continue
        for kind in range(len(kinds)):
            others, _ = groups.gather(covering[of_kind.ravel() == kind])
            common = np.flatnonzero(~(patterns[place] | kinds[kind])).tolist()
            found[mine] += _matching(contingency, common, mine, others)
    found[nothing_left] = contingency.sizes.sum()
    return found, int(contingency.sizes[nothing_left].sum())


def _wild_cells(contingency: Contingency, wildcards: Sequence[str | None]) -> Bools:
    """For each class and quasi-identifier whether it is a wildcard."""
    return np.stack(
        [
            np.array([_is_one_of(label, wildcards) for label in key.labels], dtype=bool)[codes]
            for key, codes in zip(contingency.keys, contingency.codes, strict=True)
        ],
        axis=1,
    )


def _is_one_of(label: Any, texts: Sequence[str | None]) -> bool:
    return (label is None or isinstance(label, str)) and label in texts


def _matching_one(contingency: Contingency, wild: Bools, index: int) -> int:
    """The people who match one class, by looking at every other."""
    matching = ~wild.all(axis=1)
    for place in np.flatnonzero(~wild[index]).tolist():
        codes = contingency.codes[place]
        matching &= wild[:, place] | (codes == codes[index])
    return int(contingency.sizes[matching].sum())


def _matching(contingency: Contingency, common: Sequence[int], mine: Ints, others: Ints) -> Ints:
    """For each of my classes the people of the others that agree with it in the common columns."""
    both = np.concatenate([mine, others])
    codes = [contingency.codes[place][both] for place in common]
    key = arrays.combined_key(codes, [len(contingency.keys[place]) for place in common], rows=len(both))
    known, ids = np.unique(key[len(mine) :], return_inverse=True)
    people = arrays.exact_sums(ids, contingency.sizes[others], len(known))
    place = np.minimum(np.searchsorted(known, key[: len(mine)]), len(known) - 1)
    matching: Ints = np.where(known[place] == key[: len(mine)], people[place], 0)
    return matching


# --- what looks suppressed, and nobody said how it is meant ------------------------------------------------------------
_LOOKS_SUPPRESSED = re.compile(r"\*+|n/?a|<na>|\(?null\)?|\(?suppressed\)?", re.IGNORECASE)


def looks_suppressed(label: Any) -> bool:
    """Whether a whole cell is what other tools write for a suppressed value.

    >>> [looks_suppressed(label) for label in ("*", "*****", None, "NA", "476**", 7)]
    [True, True, True, True, False, False]
    """
    return label is None or (isinstance(label, str) and _LOOKS_SUPPRESSED.fullmatch(label) is not None)


Suspects = Mapping[str, Mapping[str | None, int]]
"""Quasi-identifier to what looks suppressed in it and how many people have that."""


def suspects_of(contingency: Contingency) -> dict[str, dict[str | None, int]]:
    """What looks suppressed in the quasi-identifiers of some classes."""
    return {
        key.name: {
            label: int(contingency.sizes[codes == code].sum())
            for code, label in enumerate(key.labels)
            if looks_suppressed(label)
        }
        for key, codes in zip(contingency.keys, contingency.codes, strict=True)
    }


def unsaid_suppression(suspects: Suspects, people: int, said: Suppression) -> dict[str | None, dict[str, float]]:
    """What looks suppressed beside other values, and nobody said how it is meant: text to column to its share of the people."""
    found: dict[str | None, dict[str, float]] = {}
    for name, texts in suspects.items():
        for text, many in texts.items() if sum(texts.values()) < people else ():
            if text not in said:
                found.setdefault(text, {})[name] = many / people
    return found


def suppression_notes(unsaid: Mapping[str | None, Mapping[str, float]], counted: str) -> Iterator[str]:
    """That it was counted as a value, and how to say otherwise; `counted` are rows or people."""
    for text, columns in unsaid.items():
        where = ", ".join(f"{_percent(share)} of the {counted} in {name}" for name, share in columns.items())
        how = "nulls='wildcard'" if text is None else f"suppressed={{{shown_text(text)}: 'wildcard'}}"
        what = "null" if text is None else shown_text(text)
        yield f"{what} stands in {where}; it counts as a value of its own; say {how} if it matches anything"


def _percent(share: float) -> str:
    return "under 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")


# --- one value that is written in several ways ------------------------------------------------------------------------
MOST_VALUES = 100_000
"""Among more values of a column than these, ones that are written alike are not looked for."""
_MOST_SETS, _MOST_SHOWN, _LONGEST = 3, 6, 60
_BLANKS, _CONTROLS = r"[\x09-\x0d\x1c-\x20]+", r"[\x00-\x08\x0e-\x1b\x7f]+"


def folded(text: str) -> str:
    r"""A text without what people do not see or do not mean: Unicode form, case, blanks around, invisible characters.

    >>> {folded(text) for text in ("HIV", "hiv", " HIV ", "H\u200bIV", "\uff28\uff29\uff36")}
    {'hiv'}
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = (sign for sign in plain if sign.isspace() or unicodedata.category(sign) not in ("Cf", "Cc"))
    return " ".join("".join(seen).split())


def shown_text(text: str) -> str:
    r"""In quotes, with what cannot be seen escaped; a text in another than the usual Unicode form is escaped as a whole.

    >>> print(shown_text("HIV\u200b"), shown_text("caf\u00e9"), shown_text("cafe\u0301"))
    'HIV\u200b' 'café' 'cafe\u0301'
    """
    short = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return repr(short) if unicodedata.is_normalized("NFKC", short) else ascii(short)


def written_alike(domain: Domain) -> list[list[str]]:
    """The values of a column that differ only in what `folded` takes away, those of one set together."""
    values = domain.values
    if len(values) > MOST_VALUES or not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return []
    values = values.drop_null()
    # Arrow folds ASCII, which most values are, at once; the rest goes through Python.
    forms = pc.replace_substring_regex(pc.replace_substring_regex(values, _CONTROLS, ""), _BLANKS, " ")
    forms = pc.ascii_lower(pc.ascii_trim(forms, characters=" "))
    others = pc.invert(pc.string_is_ascii(values))
    if pc.any(others).as_py():
        in_python = pa.array(map(folded, values.filter(others).to_pylist()), type=forms.type)
        forms = pc.replace_with_mask(forms, others, in_python)
    ids = forms.dictionary_encode().indices.to_numpy()
    shared = np.flatnonzero(arrays.how_many_alike(ids) > 1) if len(ids) else ids
    if not len(shared):
        return []
    sets: dict[int, list[str]] = {}
    for place, text in zip(ids[shared].tolist(), values.take(pa.array(shared)).to_pylist(), strict=True):
        sets.setdefault(place, []).append(text)
    return list(sets.values())


def alike_notes(domains: Iterable[Domain], *, effect: str = "") -> Iterator[str]:
    """That what may be one value counts as several; `effect` says what follows."""
    for domain in domains:
        sets = written_alike(domain)
        for texts in sets[:_MOST_SETS]:
            listed = ", ".join(map(shown_text, texts[:_MOST_SHOWN])) + (", ..." if len(texts) > _MOST_SHOWN else "")
            yield (
                f"{listed} of {domain.name} count as {len(texts)} values, though they differ only in case, blanks, invisible "
                f"characters or Unicode form{effect}"
            )
        if len(sets) > _MOST_SETS:
            yield f"{domain.name} has {len(sets) - _MOST_SETS:,} more sets of values that differ in nothing else"
