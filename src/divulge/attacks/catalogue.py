# SPDX-License-Identifier: Apache-2.0
"""ATTACKERS: all attacks on a release, in the order in which they are shown.

Commands and documents loop over this tuple.
"""

from __future__ import annotations

from divulge.attacks import inference, linkage
from divulge.attacks.definetti import DEFINETTI
from divulge.attacks.group_linkage import GROUP_ATTACKERS
from divulge.attacks.membership import MEMBERSHIP
from divulge.attacks.minimality import MINIMALITY
from divulge.attacks.nearest_row import DISTANCE_ATTACKERS
from divulge.attacks.noisy_linkage import NOISY_LINKAGE
from divulge.attacks.result import Attacker

_EL_EMAM = "El Emam and Dankar 2008"
_MACHANAVAJJHALA = "Machanavajjhala et al. 2007"
_LI = "Li et al. 2007"
ATTACKERS: tuple[Attacker, ...] = (
    Attacker(
        "prosecutor",
        "linkability",
        "picks the row of somebody who is known to be in the release",
        _EL_EMAM,
        linkage.prosecutor,
        linkage.in_several_tables,
    ),
    Attacker(
        "journalist",
        "linkability",
        "names somebody of a population for each row",
        _EL_EMAM,
        linkage.journalist,
        linkage.without_population,
    ),
    Attacker(
        "marketer",
        "linkability",
        "gives every row to somebody on a list of all people",
        "Dankar and El Emam 2010",
        linkage.marketer,
        linkage.in_several_tables,
    ),
    Attacker(
        "singling-out",
        "singling out",
        "makes a predicate that fits exactly one person",
        "Cohen and Nissim 2020; Giomi et al. 2023",
        linkage.singling_out,
        linkage.in_several_tables,
    ),
    Attacker(
        "inference",
        "inference",
        "guesses the commonest value of the rows that fit",
        "Giomi et al. 2023",
        inference.inference,
        inference.nothing_sensitive,
    ),
    Attacker(
        "homogeneity",
        "inference",
        "knows a value that all rows that fit have",
        _MACHANAVAJJHALA,
        inference.homogeneity,
        inference.nothing_sensitive,
    ),
    Attacker(
        "background",
        "inference",
        "guesses after what she rules out, and after another table",
        _MACHANAVAJJHALA,
        inference.background,
        inference.without_background,
    ),
    Attacker(
        "skewness",
        "inference",
        "guesses the value that gained most against the prior",
        _LI,
        inference.skewness,
        inference.nothing_sensitive,
    ),
    Attacker(
        "similarity",
        "inference",
        "guesses the kind of value, by a taxonomy",
        _LI,
        inference.similarity,
        inference.without_taxonomy,
    ),
    Attacker(
        "negative",
        "inference",
        "names a value that somebody has not",
        "Afifi et al. 2018, Sec. 2",
        inference.negative,
        inference.nothing_sensitive,
    ),
    *DISTANCE_ATTACKERS,
    NOISY_LINKAGE,
    *GROUP_ATTACKERS,
    DEFINETTI,
    MEMBERSHIP,
    MINIMALITY,
)
