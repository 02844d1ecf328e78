# SPDX-License-Identifier: Apache-2.0
"""ATTACKERS: every way to attack a release, in the order in which people read them. Commands and documents loop over this tuple."""

from __future__ import annotations

from divulge.attacks import inferring, linking
from divulge.attacks.attempt import Attacker
from divulge.attacks.definetti import DEFINETTI
from divulge.attacks.distance import DISTANCE_ATTACKERS
from divulge.attacks.groups import GROUP_ATTACKERS
from divulge.attacks.membership import MEMBERSHIP
from divulge.attacks.minimality import MINIMALITY
from divulge.attacks.noisy_linkage import NOISY_LINKAGE

_EL_EMAM, _MACHANAVAJJHALA, _LI = "El Emam and Dankar 2008", "Machanavajjhala et al. 2007", "Li et al. 2007"
ATTACKERS: tuple[Attacker, ...] = (
    Attacker("prosecutor", "linkability", "picks the row of somebody who is known to be in the release", _EL_EMAM, linking.prosecutor,
             linking.taken_apart),
    Attacker("journalist", "linkability", "names somebody of a population for each row", _EL_EMAM, linking.journalist,
             linking.without_population),
    Attacker("marketer", "linkability", "gives every row to somebody on a list of all people", "Dankar and El Emam 2010", linking.marketer,
             linking.taken_apart),
    Attacker("singling-out", "singling out", "makes a predicate that fits exactly one person", "Cohen and Nissim 2020; Giomi et al. 2023",
             linking.singling_out, linking.taken_apart),
    Attacker("inference", "inference", "guesses the commonest value of the rows that fit", "Giomi et al. 2023", inferring.inference,
             inferring.nothing_sensitive),
    Attacker("homogeneity", "inference", "knows a value that all rows that fit have", _MACHANAVAJJHALA, inferring.homogeneity,
             inferring.nothing_sensitive),
    Attacker("background", "inference", "guesses after what she rules out, and after another table", _MACHANAVAJJHALA, inferring.background,
             inferring.without_background),
    Attacker("skewness", "inference", "guesses the value that gained most against the prior", _LI, inferring.skewness,
             inferring.nothing_sensitive),
    Attacker("similarity", "inference", "guesses the kind of value, by a taxonomy", _LI, inferring.similarity, inferring.without_taxonomy),
    Attacker("negative", "inference", "names a value that somebody has not", "Afifi et al. 2018, Sec. 2", inferring.negative,
             inferring.nothing_sensitive),
    *DISTANCE_ATTACKERS,
    NOISY_LINKAGE,
    *GROUP_ATTACKERS,
    DEFINETTI,
    MEMBERSHIP,
    MINIMALITY,
)  # fmt: skip
