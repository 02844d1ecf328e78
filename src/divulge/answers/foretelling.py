# SPDX-License-Identifier: Apache-2.0
"""How well a plain model that learns from a release foretells a column, beside one that learns from the original.

The people of the original are dealt into folds. For each fold one model learns from the original rows of the other folds, one from what
the release says of the same people; both are scored on the original rows of the fold. The model is a logistic regression on one column
of 0 and 1 for each value or label (scikit-learn's, with its usual L2 penalty), the area under the ROC curve (AUC) the score where the
target has two values, else the share that is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge import anatomy
from divulge.answers.meaning import Spread
from divulge.arrays import Bools, Codes, Floats, Ints
from divulge.errors import BadInput

_MOST_CLASSES = 50
"""A target with more values is a number, not a class."""
_MOST_VALUES = 1000
"""A column with more values is no feature."""
_STEPS = 2000


@dataclass(frozen=True)
class Task:
    """What is to be foretold, and how it is tried."""

    target: str
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise BadInput(f"folds = {self.folds} leaves nothing to learn from", hint="Use 5, say")


@dataclass(frozen=True)
class ModelScore:
    """One score of the model: of the original and of the release, on average over the folds."""

    name: str
    before: float
    after: float
    guess: float
    """Of a guess that looks at nothing: .5 for the AUC, the share of the commonest value, one over the number of values."""
    folds: tuple[tuple[float, float], ...] = field(repr=False)
    """Before and after for each fold."""


@dataclass(frozen=True)
class ModelQuality:
    """What a model still learns."""

    target: str
    values: int
    """How many the target has."""
    scores: tuple[ModelScore, ...]
    """AUC for two values; accuracy and balanced accuracy for more."""
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Learning:
    """What one of the two models learns from: records by their features and the target."""

    features: tuple[Codes, ...]
    """For each column the number of the value or label, -1: none of those that are published."""
    sizes: tuple[int, ...]
    """How many there are in each column."""
    target: Codes

    def matrix(self) -> Any:
        """One row for each record, one column of 0 and 1 for each value or label."""
        from scipy import sparse

        starts = np.cumsum([0, *self.sizes])
        rows, columns = [], []
        for start, codes in zip(starts[:-1], self.features, strict=True):
            known = np.flatnonzero(codes >= 0)
            rows.append(known)
            columns.append(codes[known].astype(np.int64) + start)
        at = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_matrix((np.ones(len(at[0])), at), shape=(len(self.target), int(starts[-1])))


def require_scikit_learn() -> None:
    """Say before any long work that the model's package is missing."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise BadInput(
            "a model needs scikit-learn, which is not installed", hint="pip install 'divulge[model]'"
        ) from None


def model_of_labels(
    original: anatomy.CodedTable, labels: Mapping[str, Ints], spreads: Mapping[str, Spread], task: Task, *, kept: Bools
) -> ModelQuality:
    """Of a release in one table: each row of the original, the labels that it was published under, and whether it was published."""
    target, rows = task.target, original.rows
    if not spreads[target].exact:
        told = f"{target!r} is published in a coarser form, so who learns from the release cannot foretell its values"
        raise BadInput(told, hint="Choose a column that is published as it is")
    features, settings = _features(rows, task, list(spreads))
    y = rows.column(target)
    weights = _deal(y, original.records, task)
    before = _Learning(tuple(map(rows.column, features)), tuple(len(rows.domain(name)) for name in features), y)
    sizes = tuple(len(spreads[name].labels) for name in features)
    after = _Learning(tuple(labels[name] for name in features), sizes, y)
    published = weights * kept[:, None]
    return _cross_validate(before, after, after, weights=weights, published=published, settings=settings)


def model_of_groups(release: anatomy.Anatomized, task: Task, names: Sequence[str]) -> ModelQuality:
    """Of an anatomized release: records are put together at random within their groups, which is all that it says.

    Groups are dealt into folds as a whole, so that nobody is learnt from and asked about.
    """
    rows, rng = release.rows, np.random.default_rng(task.seed)
    features, settings = _features(rows, task, names)
    fold = rng.permutation(np.arange(release.groups) % task.folds)[release.group]
    weights = (fold[:, None] == np.arange(task.folds)).astype(np.int64)
    in_groups = np.argsort(release.group, kind="stable")
    drawn: dict[str, Codes] = {}
    for columns in release.tables:
        other = np.empty(len(rows), dtype=np.int64)
        other[in_groups] = np.lexsort((rng.random(len(rows)), release.group))
        drawn |= {name: rows.column(name)[other] for name in columns}
    sizes = tuple(len(rows.domain(name)) for name in features)
    before = _Learning(tuple(map(rows.column, features)), sizes, rows.column(task.target))
    after = _Learning(tuple(drawn[name] for name in features), sizes, drawn[task.target])
    settings["records"] = "put together at random within each group; folds are of whole groups"
    return _cross_validate(before, after, before, weights=weights, published=weights, settings=settings)


def _features(rows: anatomy.RowCodes, task: Task, names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The columns that the model looks at, and all that it depends on; refused where there is nothing to foretell."""
    target, count = task.target, len(rows.domain(task.target))
    if not 2 <= count <= _MOST_CLASSES:
        told = f"a model foretells one of 2 to {_MOST_CLASSES} values, and {target!r} has {count:,}"
        raise BadInput(told, hint="Choose another target, or a coarser column")
    others = [name for name in names if name != target]
    features = [name for name in others if len(rows.domain(name)) <= _MOST_VALUES]
    if not features:
        raise BadInput(
            f"there is no column to foretell {target!r} from", hint="Give tables that have more columns in common"
        )
    return features, {
        "target": target,
        "values": count,
        "model": "logistic regression on one column of 0 and 1 for each value or label, L2 penalty, C = 1",
        "features": features,
        "too_many_values": [name for name in others if name not in features],
        "folds": task.folds,
        "seed": task.seed,
        "scored_on": "the original rows of each fold, by models that learnt from the other people",
    }


def _deal(target: Codes, count: Ints, task: Task) -> Ints:
    """How many of the records of each kind are in each fold: those of each value of the target are shuffled and dealt in turn."""
    rng = np.random.default_rng(task.seed)
    kinds = np.repeat(np.arange(len(count)), count)
    found = np.zeros((len(count), task.folds), dtype=np.int64)
    for value in np.unique(target):
        these = rng.permutation(kinds[target[kinds] == value])
        np.add.at(found, (these, np.arange(len(these)) % task.folds), 1)
    return found


def _cross_validate(
    before: _Learning, after: _Learning, seen: _Learning, *, weights: Ints, published: Ints, settings: Mapping[str, Any]
) -> ModelQuality:
    """Score both models on the folds.

    Record i of all three is the same one: in the original, as the release has it, and the original's as the second model is asked.
    `weights` says how many people record i stands for in each fold, `published` the same of what the release has.
    """
    target, values = settings["target"], settings["values"]
    names = ["auc"] if values == 2 else ["accuracy", "balanced_accuracy"]
    matrices = [each.matrix() for each in (before, after, seen)]
    found: list[tuple[list[float], list[float]]] = []
    for fold in range(weights.shape[1]):
        held = weights[:, fold]
        if values == 2 and len(np.unique(before.target[held > 0])) < 2:
            told = f"a fold has only one value of {target!r}, so no model can be scored on it"
            raise BadInput(told, hint="Ask for fewer folds, or choose another target")
        first = _fit(matrices[0], before.target, weights.sum(axis=1) - held)
        second = _fit(matrices[1], after.target, published.sum(axis=1) - published[:, fold])
        both = (first, matrices[0], before.target), (second, matrices[2], seen.target)
        found.append((_scores(*both[0], held, names), _scores(*both[1], held, names)))
    often = np.bincount(before.target, weights.sum(axis=1))
    guesses = {"auc": 0.5, "accuracy": float(often.max() / often.sum()), "balanced_accuracy": 1 / values}
    scores = []
    for place, name in enumerate(names):
        folds = tuple((one[place], other[place]) for one, other in found)
        means = np.mean(folds, axis=0)
        scores.append(ModelScore(name, float(means[0]), float(means[1]), guesses[name], folds))
    return ModelQuality(target, values, tuple(scores), settings)


def _fit(matrix: Any, target: Codes, weight: Ints) -> Any:
    """A model, or the one value that there is to learn from."""
    from sklearn.linear_model import LogisticRegression

    here = np.flatnonzero(weight)
    known = np.unique(target[here])
    if len(known) < 2:
        return known
    return LogisticRegression(max_iter=_STEPS).fit(matrix[here], target[here], sample_weight=weight[here])


def _scores(model: Any, matrix: Any, target: Codes, weight: Ints, names: Sequence[str]) -> list[float]:
    from sklearn import metrics

    here = np.flatnonzero(weight)
    true, often = target[here], weight[here]
    learnt = isinstance(model, np.ndarray)
    if names == ["auc"]:
        told: Floats = np.zeros(len(here)) if learnt else model.decision_function(matrix[here])
        return [float(metrics.roc_auc_score(true, told, sample_weight=often))]
    guessed = np.full(len(here), model[0] if len(model) else -1) if learnt else model.predict(matrix[here])
    right = guessed == true
    of_value = [float(np.average(right[true == value], weights=often[true == value])) for value in np.unique(true)]
    return [float(np.average(right, weights=often)), float(np.mean(of_value))]
