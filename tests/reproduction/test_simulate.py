# SPDX-License-Identifier: Apache-2.0
"""The generator of section 6 and the shapes of its experiments."""

from __future__ import annotations

import numpy as np
import pytest

from divulge.dossier import leakage, set_leakage
from divulge.errors import BadInput
from reproduction.simulate import Parameters, SeedSpread, figure3, figure3d, generate, run, table5


def test_the_generator_keeps_its_probabilities() -> None:
    parameters = Parameters(n=50, records=2000, p_c=0.6, p_p=0.25, p_b=0.4, m=0.8)
    simulation = generate(parameters, seed=3)
    cells = parameters.n * parameters.records
    copied = (simulation.column < parameters.n).sum() / cells
    correct = (simulation.batch.credit > 0).sum() / cells
    bogus = (simulation.column >= parameters.n).sum() / cells
    # Five standard deviations of a share over 100,000 draws.
    assert copied == pytest.approx(0.6, abs=5 * (0.24 / cells) ** 0.5)
    assert correct == pytest.approx(0.6 * 0.75, abs=5 * (0.2475 / cells) ** 0.5)
    assert bogus == pytest.approx(0.4, abs=5 * (0.24 / cells) ** 0.5)
    assert simulation.batch.confidence.max() < 0.8
    assert simulation.batch.confidence.mean() == pytest.approx(
        0.4, abs=5 * 0.8 / 12**0.5 / len(simulation.column) ** 0.5
    )


@pytest.mark.parametrize("w", ["C", "R"])
def test_numbers_and_records_of_a_run_are_the_same(w: str) -> None:
    simulation = generate(Parameters(n=8, records=30, w=w), seed=1)  # type: ignore[arg-type]
    database, p, weights = simulation.records(), simulation.reference(), simulation.weights()
    assert set_leakage(database, p, weights=weights).each == pytest.approx(
        simulation.exact(), rel=1e-12
    )
    for place in (0, 7):
        near = leakage(database[place], p, weights=weights, method="taylor").leakage
        assert near == pytest.approx(simulation.approximate()[place], rel=1e-12)
        worlds = leakage(database[place], p, weights=weights, method="naive").leakage
        assert simulation.exact()[place] == pytest.approx(worlds, rel=1e-12)


def test_the_same_seed_gives_the_same_run() -> None:
    first, again, other = (generate(Parameters(n=5, records=5), seed=seed) for seed in (1, 1, 2))
    assert first.exact().tolist() == again.exact().tolist() != other.exact().tolist()


@pytest.mark.slow
def test_table_5_is_compared_with_the_paper() -> None:
    rows = table5(seeds=(0, 1), records=1500)
    assert [row.printed_exact for row in rows] == [
        0.1740179,
        0.1374662,
        0.2752435,
        0.0,
        0.1581138,
        0.2625473,
        0.4047125,
    ]
    assert [bool(row.note) for row in rows] == [False, True, False, False, False, True, True]
    assert rows[6].as_stated.parameters.n == 10
    nothing = rows[3].as_stated
    assert (nothing.leakage.highest, nothing.taylor_error) == (0.0, 0.0)
    for row in rows:
        assert row.as_stated.seeds == (0, 1)
        assert row.with_1000.parameters.records == 1000


@pytest.mark.slow
def test_the_base_row_of_table_5_is_within_the_spread() -> None:
    leak = run(Parameters(), seeds=range(4)).leakage
    assert abs(leak.mean - 0.1740179) < 4 * leak.deviation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "printed"), [(Parameters(n=200), 0.1374662), (Parameters(m=1.0), 0.2625473)]
)
def test_no_seed_comes_down_to_the_two_rows_that_cannot_be_maxima(
    parameters: Parameters, printed: float
) -> None:
    assert run(parameters, seeds=range(3)).leakage.lowest > printed * 1.03


def test_taylor_is_close_where_the_paper_tried_it() -> None:
    # Section 6.2 reports an error of at most 0.006 %.
    assert run(Parameters(records=500), seeds=[0]).taylor_error < 6e-5


@pytest.mark.parametrize(("panel", "rises"), [("a", True), ("b", False), ("c", True)])
def test_the_trends_of_figure_3(panel: str, rises: bool) -> None:  # noqa: FBT001 - a test's parameter
    runs = figure3(panel, seeds=(0, 1), records=400, steps=4)  # type: ignore[arg-type]
    means = np.array([each.mean_record.mean for each in runs])
    assert len(runs) == 5
    assert (np.diff(means) > 0).all() if rises else (np.diff(means) < 0).all()
    # nothing copied, or no confidence; or everything perturbed
    assert means[0 if rises else -1] == 0.0


def test_figure_3d_times_every_method_up_to_its_limit() -> None:
    timings = figure3d(sizes=(4, 13), repeat=1)
    assert [(each.n, each.method) for each in timings] == [
        (4, "naive"),
        (4, "algorithm1"),
        (4, "taylor"),
        (4, "exact"),
        (13, "algorithm1"),
        (13, "taylor"),
        (13, "exact"),
    ]
    assert all(each.seconds > 0 for each in timings)


def test_a_spread_matches_its_definition() -> None:
    assert SeedSpread.of([1.0, 2.0, 3.0]) == SeedSpread(2.0, 1.0, 1.0, 3.0)
    assert SeedSpread.of([2.0]) == SeedSpread(2.0, 0.0, 2.0, 2.0)


@pytest.mark.parametrize(
    "wrong",
    [{"n": 0}, {"records": 0}, {"p_c": 1.2}, {"m": -0.1}, {"p_b": float("nan")}, {"w": "X"}],
    ids=str,
)
def test_bad_parameters_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        Parameters(**wrong)  # type: ignore[arg-type]


def test_bad_experiments_are_refused() -> None:
    with pytest.raises(BadInput, match="no seed"):
        run(Parameters(), seeds=[])
    with pytest.raises(BadInput, match="no panel 'e'"):
        figure3("e")  # type: ignore[arg-type]


def test_the_text_of_table_5_shows_taylor_next_to_exact() -> None:
    rows = table5(seeds=(0,), records=5)
    text = str(rows)
    assert "Taylor, printed" in text
    for row in rows:
        assert f"{row.printed_approximate:.5f}" in text
        assert f"{row.as_stated.approximate.mean:.5f}" in text
