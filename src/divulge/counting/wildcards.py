# SPDX-License-Identifier: Apache-2.0
"""Doubtful cells: suppressed ones, which may match anything, and values with several spellings.

Other tools write `*` (ARX), a null (sdcMicro) or a word for a suppressed value. Counted as a value
of its own it separates people. As a wildcard it matches every value, as in ARX and in sdcMicro's
freqCalc, and classes overlap. Neither is assumed silently.
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
from divulge.arguments import Sentence, arg
from divulge.arrays import Bools, Ints
from divulge.counting.contingency import Contingency, Domain
from divulge.counting.encoding import encode

SuppressedAs = Literal["wildcard", "value"]
Suppression = Mapping[str | None, SuppressedAs]
"""Declared meaning of the text of a suppressed cell; None is the null."""


_COMPARISONS_PER_JOIN = 100_000
"""Number of comparisons of cells that cost as much as a join, approximately."""


# --- matching with wildcards -------------------------------------------------------------------
def people_matching(contingency: Contingency, wildcards: Sequence[str | None]) -> tuple[Ints, int]:
    """Return the number of people that each class matches, and of people with only wildcards.

    Two records match if, in each quasi-identifier, their values are equal or one of them is a
    wildcard (ARX's RiskModelSampleWildcard; freqCalc with alpha = 1). A record of wildcards only
    matches everybody, but does not count as a match of others. Otherwise a release with a few fully
    suppressed rows would hide all others. ARX leaves such records out, too.

    Classes are grouped by the positions of their wildcards. Two groups are joined on the columns in
    which neither has a wildcard. Groups with the same additional wildcards share a join. So there
    are few joins, where a comparison of all pairs would be many. A group of few classes among many
    groups is compared with all classes one by one.
    """
    wild = _wildcard_mask(contingency, wildcards)
    which, first = arrays.class_ids(list(wild.T), [2] * wild.shape[1], rows=len(contingency))
    patterns = wild[first]
    groups = arrays.lay_out(which, len(first))
    matching_people = np.zeros(len(contingency), dtype=np.int64)
    covering = np.flatnonzero(~patterns.all(axis=1))
    nothing_left = wild.all(axis=1)
    for class_index in covering.tolist():
        mine, _ = groups.gather(np.array([class_index]))
        kinds, of_kind = np.unique(
            patterns[covering] & ~patterns[class_index], axis=0, return_inverse=True
        )
        if len(mine) * wild.size < len(kinds) * _COMPARISONS_PER_JOIN:
            matching_people[mine] = [
                _people_matching_class(contingency, wild, index) for index in mine.tolist()
            ]
            continue
        for kind in range(len(kinds)):
            others, _ = groups.gather(covering[of_kind.ravel() == kind])
            common = np.flatnonzero(~(patterns[class_index] | kinds[kind])).tolist()
            matching_people[mine] += _people_agreeing(contingency, common, mine, others)
    matching_people[nothing_left] = contingency.sizes.sum()
    return matching_people, int(contingency.sizes[nothing_left].sum())


def _wildcard_mask(contingency: Contingency, wildcards: Sequence[str | None]) -> Bools:
    """Mask of the wildcards, by class and quasi-identifier."""
    return np.stack(
        [
            np.array([_is_one_of(label, wildcards) for label in key.labels], dtype=bool)[codes]
            for key, codes in zip(contingency.keys, contingency.codes, strict=True)
        ],
        axis=1,
    )


def _is_one_of(label: Any, texts: Sequence[str | None]) -> bool:
    return (label is None or isinstance(label, str)) and label in texts


def _people_matching_class(contingency: Contingency, wild: Bools, index: int) -> int:
    """Count the people who match one class, by comparing it with every other."""
    matching = ~wild.all(axis=1)
    for class_index in np.flatnonzero(~wild[index]).tolist():
        codes = contingency.codes[class_index]
        matching &= wild[:, class_index] | (codes == codes[index])
    return int(contingency.sizes[matching].sum())


def _people_agreeing(
    contingency: Contingency, common: Sequence[int], mine: Ints, others: Ints
) -> Ints:
    """Count, for each of my classes, the people of others that agree in the common columns."""
    stacked = np.concatenate([mine, others])
    codes = [contingency.codes[position][stacked] for position in common]
    key = arrays.combined_key(
        codes, [len(contingency.keys[position]) for position in common], rows=len(stacked)
    )
    distinct_keys, ids = np.unique(key[len(mine) :], return_inverse=True)
    people = arrays.exact_sums(ids, contingency.sizes[others], len(distinct_keys))
    position = np.minimum(np.searchsorted(distinct_keys, key[: len(mine)]), len(distinct_keys) - 1)
    matching: Ints = np.where(distinct_keys[position] == key[: len(mine)], people[position], 0)
    return matching


# --- suppressed cells without a declared meaning ----------------------------------------------
_LOOKS_SUPPRESSED = re.compile(r"\*+|n/?a|<na>|\(?null\)?|\(?suppressed\)?", re.IGNORECASE)


def looks_suppressed(label: Any) -> bool:
    """Report whether a whole cell is a usual text for a suppressed value.

    >>> [looks_suppressed(label) for label in ("*", "*****", None, "NA", "476**", 7)]
    [True, True, True, True, False, False]
    """
    return label is None or (
        isinstance(label, str) and _LOOKS_SUPPRESSED.fullmatch(label) is not None
    )


Suspects = Mapping[str, Mapping[str | None, int]]
"""Texts that look suppressed in each quasi-identifier, and the number of people with each."""


def suspects_of(contingency: Contingency) -> dict[str, dict[str | None, int]]:
    """Return the texts that look suppressed in the quasi-identifiers of some classes."""
    return {
        key.name: {
            label: int(contingency.sizes[codes == code].sum())
            for code, label in enumerate(key.labels)
            if looks_suppressed(label)
        }
        for key, codes in zip(contingency.keys, contingency.codes, strict=True)
    }


def undeclared_suppression(
    suspects: Suspects, people: int, suppression: Suppression
) -> dict[str | None, dict[str, float]]:
    """Return texts that look suppressed and have no declared meaning.

    Only columns with other values count. The result maps a text to columns and shares of the
    people.
    """
    unstated: dict[str | None, dict[str, float]] = {}
    for name, texts in suspects.items():
        for text, people_with_text in texts.items() if sum(texts.values()) < people else ():
            if text not in suppression:
                unstated.setdefault(text, {})[name] = people_with_text / people
    return unstated


def suppression_notes(
    undeclared_texts: Mapping[str | None, Mapping[str, float]], *, by_person: bool
) -> Iterator[str]:
    """Yield notes that suppressed cells count as a value, and how to change it.

    Wildcards need one row per person.
    """
    if by_person:
        unit = "people (each counted once in each class)"
    else:
        unit = "rows"
    for text, columns in undeclared_texts.items():
        shares = ", ".join(
            f"{_percent(share)} of the {unit} in {name}" for name, share in columns.items()
        )
        if text is None:
            label = "null"
            option = arg("nulls", "wildcard")
        else:
            label = shown_text(text)
            option = arg("suppressed", {text: "wildcard"})
        if by_person:
            advice = ""
        else:
            advice = f"; say {option} if it matches anything"
        yield Sentence(f"{label} stands in {shares}; it counts as a value of its own{advice}")


def _percent(share: float) -> str:
    if share < 0.01:
        return "under 1 %"
    return f"{share:.0%}".replace("%", " %")


# --- values with several spellings ------------------------------------------------------------
MOST_VALUES = 100_000
"""Number of values of a column above which spellings are not compared."""
_MAX_SETS_SHOWN = 3
_MAX_TEXTS_SHOWN = 6
_MAX_TEXT_LENGTH = 60
_BLANKS = r"[\x09-\x0d\x1c-\x20]+"
_CONTROLS = r"[\x00-\x08\x0e-\x1b\x7f]+"


def folded(text: str) -> str:
    r"""Normalize the Unicode form, case, surrounding blanks and invisible characters of a text.

    >>> {folded(text) for text in ("HIV", "hiv", " HIV ", "H\u200bIV", "\uff28\uff29\uff36")}
    {'hiv'}
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    visible = (
        sign for sign in plain if sign.isspace() or unicodedata.category(sign) not in ("Cf", "Cc")
    )
    return " ".join("".join(visible).split())


def shown_text(text: str) -> str:
    r"""Quote a text and escape invisible characters.

    A text in another than the usual Unicode form is escaped as a whole.

    >>> print(shown_text("HIV\u200b"), shown_text("caf\u00e9"), shown_text("cafe\u0301"))
    'HIV\u200b' 'café' 'cafe\u0301'
    """
    if len(text) <= _MAX_TEXT_LENGTH:
        short = text
    else:
        short = text[:_MAX_TEXT_LENGTH] + "..."
    if unicodedata.is_normalized("NFKC", short):
        return repr(short)
    return ascii(short)


def written_alike(domain: Domain) -> list[list[str]]:
    """Group the values of a column that differ only in what `folded` normalizes."""
    values = domain.values
    if len(values) > MOST_VALUES or not (
        pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    ):
        return []
    values = values.drop_null()
    # Arrow folds ASCII, which most values are, at once; Python folds the rest.
    forms = pc.replace_substring_regex(
        pc.replace_substring_regex(values, _CONTROLS, ""), _BLANKS, " "
    )
    forms = pc.ascii_lower(pc.ascii_trim(forms, characters=" "))
    others = pc.invert(pc.string_is_ascii(values))
    if pc.any(others).as_py():
        in_python = pa.array(map(folded, values.filter(others).to_pylist()), type=forms.type)
        forms = pc.replace_with_mask(forms, others, in_python)
    ids = encode(forms, name=domain.name, kind="text", is_sorted=False).int64_codes
    if len(ids):
        shared = np.flatnonzero(arrays.how_many_alike(ids) > 1)
    else:
        shared = ids
    if not len(shared):
        return []
    sets: dict[int, list[str]] = {}
    for group_id, text in zip(
        ids[shared].tolist(), values.take(pa.array(shared)).to_pylist(), strict=True
    ):
        sets.setdefault(group_id, []).append(text)
    return list(sets.values())


def alike_notes(domains: Iterable[Domain], *, effect: str = "") -> Iterator[str]:
    """Yield notes that several spellings count as several values; `effect` is added."""
    for domain in domains:
        sets = written_alike(domain)
        for texts in sets[:_MAX_SETS_SHOWN]:
            text_list = ", ".join(map(shown_text, texts[:_MAX_TEXTS_SHOWN])) + (
                ", ..." if len(texts) > _MAX_TEXTS_SHOWN else ""
            )
            yield (
                f"{text_list} of {domain.name} count as {len(texts)} values, though they differ "
                f"only in case, blanks, invisible characters or Unicode form{effect}"
            )
        if len(sets) > _MAX_SETS_SHOWN:
            yield (
                f"{domain.name} has {len(sets) - _MAX_SETS_SHOWN:,} more sets of values that "
                "differ in nothing else"
            )
