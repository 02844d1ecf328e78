# SPDX-License-Identifier: Apache-2.0
"""pycanon as a differential oracle: its nine numbers on random tables, and its known errors.

If the definitions differ, the translation is spelled out. Its delta-disclosure is in nats and skips
absent values. Its entropy l is truncated to an integer. Its enhanced beta is min(basic, -ln of the
rarest share), which is the true one wherever that is finite.
"""

from __future__ import annotations

from math import floor, inf, log
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.drawn import measured

anonymity = pytest.importorskip(
    "pycanon.anonymity", reason="pycanon is not installed (requirements-oracle.txt)"
)

# pycanon groups by lists of one name, which newer versions of pandas warn of.
pytestmark = pytest.mark.filterwarnings(
    "ignore:In a future version, the keys of", "ignore:The default of observed"
)

QI, SA = ["zip", "age"], ["disease", "visits"]

row = st.fixed_dictionaries(
    {
        "zip": st.sampled_from(["476", "479"]),
        "age": st.sampled_from([20, 30]),
        "disease": st.sampled_from(["flu", "gout", "cancer"]),
        "visits": st.sampled_from([0, 1, 5]),
    }
)
# Inputs for which pycanon is right: no nulls, an index from 0, and at least two values in each
# attribute.
frames = (
    st.lists(row, min_size=2, max_size=25)
    .map(pd.DataFrame)
    .filter(lambda frame: all(len(set(frame[name])) > 1 for name in SA))
)


@pytest.mark.slow
@given(frames)
@settings(deadline=None, max_examples=30)
def test_random_tables(frame: pd.DataFrame) -> None:
    found = measured(frame, quasi_identifiers=QI, sensitive=SA)
    ours = {name: found[name].value for name in ("k_anonymity", *found.sensitive["disease"])}
    assert ours["k_anonymity"] == anonymity.k_anonymity(frame, QI)
    assert (ours["alpha"], ours["k_anonymity"]) == pytest.approx(
        anonymity.alpha_k_anonymity(frame, QI, SA)
    )
    assert ours["l_diversity"] == anonymity.l_diversity(frame, QI, SA)
    assert floor(ours["entropy_l_diversity"] + 1e-9) - anonymity.entropy_l_diversity(
        frame, QI, SA
    ) in (0, 1)
    assert ours["t_closeness"] == pytest.approx(anonymity.t_closeness(frame, QI, SA), abs=1e-9)
    assert ours["basic_beta_likeness"] == pytest.approx(
        anonymity.basic_beta_likeness(frame, QI, SA), abs=1e-9
    )
    assert ours["delta_disclosure_present"] * log(2) == pytest.approx(
        anonymity.delta_disclosure(frame, QI, SA), abs=1e-9
    )
    if ours["enhanced_beta_likeness"] < inf:
        assert ours["enhanced_beta_likeness"] == pytest.approx(
            anonymity.enhanced_beta_likeness(frame, QI, SA), abs=1e-9
        )


# --- Where pycanon is wrong -----------------------------------------------------------------------


def frame_of(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


HOMOGENEOUS = frame_of(q=["a", "b", "a", "b"], s=["x", "y", "x", "y"])
"""Class a has x and x, class b has y and y: l = 1 by hand."""


def ours(frame: pd.DataFrame, metric: str, **options: Any) -> float:
    return measured(frame, quasi_identifiers="q", sensitive="s", **options)[metric].value


def test_a_frame_in_another_order() -> None:
    """Index labels are mistaken for positions."""
    frame = HOMOGENEOUS.set_index(pd.Index([1, 3, 0, 2]))
    assert ours(frame, "l_diversity") == 1
    assert anonymity.l_diversity(frame, ["q"], ["s"]) == 2


@pytest.mark.parametrize("labels", [range(10, 14), list("wxyz")])
def test_a_frame_with_an_index_of_its_own(labels: Any) -> None:
    frame = HOMOGENEOUS.set_index(pd.Index(labels))
    assert ours(frame, "l_diversity") == 1
    with pytest.raises((IndexError, ValueError, KeyError)):
        anonymity.l_diversity(frame, ["q"], ["s"])


def test_a_unique_person_whose_quasi_identifier_is_null() -> None:
    """Null keys are dropped by pycanon, and with them the only unique person."""
    frame = frame_of(q=["a", "a", None], s=["x", "y", "x"])
    assert ours(frame, "k_anonymity") == 1
    assert anonymity.k_anonymity(frame, ["q"]) == 2


def test_a_category_that_does_not_occur() -> None:
    """A category without people is no class; pandas 2 groups by it, and pycanon reports k = 0."""
    frame = frame_of(q=pd.Categorical(["a", "a"], categories=["a", "b"]), s=["x", "y"])
    assert ours(frame, "k_anonymity") == 2
    assert anonymity.k_anonymity(frame, ["q"]) == (0 if pd.__version__.startswith("2.") else 2)


def test_a_null_as_a_sensitive_value() -> None:
    """Class a has x and null, two values."""
    frame = frame_of(q=["a", "a"], s=pd.Series(["x", None], dtype=object))
    assert ours(frame, "l_diversity") == 2
    assert pycanon_or_error(lambda: anonymity.l_diversity(frame, ["q"], ["s"])) != 2


def test_a_number_that_never_changes() -> None:
    """The attribute has no entropy: t = 0."""
    frame = frame_of(q=["a", "b"], s=[7, 7])
    assert ours(frame, "t_closeness") == 0
    assert isinstance(
        pycanon_or_error(lambda: anonymity.t_closeness(frame, ["q"], ["s"])), ZeroDivisionError
    )


def test_recursive_diversity_mistakes_the_rarest_value_for_the_most_common() -> None:
    """Counts 8, 1, 1 and l = 3: r1 = 8 < c r3 = c needs a c above 8."""
    frame = frame_of(q=["a"] * 10, s=["x"] * 8 + ["y", "z"])
    assert ours(frame, "recursive_c_l_diversity") == 8
    assert anonymity.recursive_c_l_diversity(frame, ["q"], ["s"]) == (1, 3)


def test_entropy_diversity_is_cut_to_a_whole_number() -> None:
    """3 flu to 1 gout: 2^.811 = 1.755."""
    frame = frame_of(q=["a"] * 4, s=["flu"] * 3 + ["gout"])
    assert ours(frame, "entropy_l_diversity") == pytest.approx(1.7547654)
    assert anonymity.entropy_l_diversity(frame, ["q"], ["s"]) == 1


@pytest.mark.slow
def test_entropy_diversity_of_equal_shares_is_cut_too_far() -> None:
    """Eight values, one each: l = 8, which rounding before the cut makes 7."""
    sizes = [
        n
        for n in range(2, 40)
        if anonymity.entropy_l_diversity(
            frame_of(q=["a"] * n, s=[f"v{i}" for i in range(n)]), ["q"], ["s"]
        )
        != n
    ]
    assert sizes
    for n in sizes:
        assert ours(
            frame_of(q=["a"] * n, s=[f"v{i}" for i in range(n)]), "entropy_l_diversity"
        ) == pytest.approx(n)


def test_a_value_that_a_class_rules_out() -> None:
    """The log of 0 is unbounded: no delta holds if a class excludes a value.

    pycanon (and ARX) skip such values.
    """
    frame = frame_of(q=["a", "a", "b", "b"], s=["x", "x", "x", "y"])
    assert ours(frame, "delta_disclosure") == inf
    assert anonymity.delta_disclosure(frame, ["q"], ["s"]) == pytest.approx(log(2))


def test_enhanced_beta_that_no_beta_satisfies() -> None:
    """The share of x rises from 3/4 to all of class a: by 1/3 > -ln .75 = .288.

    The definition requires the gain to be below both.
    """
    frame = frame_of(q=["a", "a", "b", "b"], s=["x", "x", "x", "y"])
    assert ours(frame, "enhanced_beta_likeness") == inf
    # y doubles: 2 - 1 = 1 <= -ln .25 is allowed, so that its answer is the basic beta.
    assert anonymity.enhanced_beta_likeness(frame, ["q"], ["s"]) == pytest.approx(1)


def test_a_name_instead_of_a_list() -> None:
    assert ours(HOMOGENEOUS, "l_diversity") == 1
    assert isinstance(
        pycanon_or_error(lambda: anonymity.l_diversity(HOMOGENEOUS, "q", "s")), Exception
    )


def pycanon_or_error(call: Any) -> Any:
    """The return value, or the error raised."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - which one it is differs between versions of pandas
        return error
