# SPDX-License-Identifier: Apache-2.0
"""Utility of a release for prediction: a model trained on it compared with one on the original.

The people of the original are split into folds. For each fold, one model is trained on the original
rows of the other folds. Another is trained on the released rows of the same people. Both are scored
on the original rows of the fold. The model is a logistic regression on one-hot encoded values or
labels (scikit-learn's, with its default L2 penalty). The score is the area under the ROC curve
(AUC) if the target has two values. Otherwise the scores are accuracy and balanced accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from divulge import anatomization
from divulge.arrays import Bools, Codes, Floats, Ints
from divulge.errors import BadInput, MissingDependency
from divulge.queries.label_matching import Spread

_MAX_CLASSES = 50
"""Maximum number of values of a target; one with more is a number, not a class."""
_MAX_VALUES = 1000
"""Maximum number of values of a feature; columns with more are not used."""
_MAX_ITERATIONS = 2000


@dataclass(frozen=True)
class Task:
    """Prediction task: the target column and the settings of the cross-validation."""

    target: str
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2:
            raise BadInput(f"folds = {self.folds} leaves nothing to learn from", hint="Use 5, say")


@dataclass(frozen=True)
class ModelScore:
    """One score of the models of the original and of the release, averaged over the folds."""

    name: str
    before: float
    after: float
    guess: float
    """Baseline score without any feature.

    0.5 for the AUC, the share of the most common value for the accuracy, and one over the number of
    values for the balanced accuracy.
    """
    folds: tuple[tuple[float, float], ...] = field(repr=False)
    """Before and after for each fold."""


@dataclass(frozen=True)
class ModelQuality:
    """Scores of models trained on the original and on the release."""

    target: str
    values: int
    """Number of values of the target."""
    scores: tuple[ModelScore, ...]
    """AUC for two values; accuracy and balanced accuracy for more."""
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _TrainingData:
    """Training or test records of a model: features and target."""

    features: tuple[Codes, ...]
    """For each column, the code of the value or label; -1 for one that is not published."""
    sizes: tuple[int, ...]
    """Number of values or labels of each column."""
    target: Codes

    def matrix(self) -> Any:
        """One-hot matrix with a row for each record and a column for each value or label."""
        from scipy import sparse

        starts = np.cumsum([0, *self.sizes])
        rows = []
        columns = []
        for start, codes in zip(starts[:-1], self.features, strict=True):
            nonnull_rows = np.flatnonzero(codes >= 0)
            rows.append(nonnull_rows)
            columns.append(codes[nonnull_rows].astype(np.int64) + start)
        coordinates = np.concatenate(rows), np.concatenate(columns)
        return sparse.csr_matrix(
            (np.ones(len(coordinates[0])), coordinates), shape=(len(self.target), int(starts[-1]))
        )


def require_scikit_learn() -> None:
    """Raise MissingDependency before any long work if scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependency(
            "a model needs scikit-learn, which is not installed", extra="model"
        ) from None


def model_of_labels(
    original: anatomization.CodedTable,
    labels: Mapping[str, Ints],
    spreads: Mapping[str, Spread],
    task: Task,
    *,
    is_published: Bools,
) -> ModelQuality:
    """Score the models of a release in one table.

    Each row of the original comes with its published labels; `is_published` marks the published
    rows.
    """
    target = task.target
    rows = original.rows
    if not spreads[target].exact:
        message = (
            f"{target!r} is published in a coarser form, so who learns from the release cannot "
            "foretell its values"
        )
        raise BadInput(message, hint="Choose a column that is published as it is")
    features, settings = _features(rows, task, list(spreads))
    target_codes = rows.column(target)
    weights = _assign_folds(target_codes, original.records, task)
    original_records = _TrainingData(
        tuple(map(rows.column, features)),
        tuple(len(rows.domain(name)) for name in features),
        target_codes,
    )
    sizes = tuple(len(spreads[name].labels) for name in features)
    released_records = _TrainingData(tuple(labels[name] for name in features), sizes, target_codes)
    published = weights * is_published[:, None]
    return _cross_validate(
        original_records,
        released_records,
        released_records,
        weights=weights,
        published=published,
        settings=settings,
    )


def model_of_groups(
    release: anatomization.Anatomized, task: Task, names: Sequence[str]
) -> ModelQuality:
    """Score the models of an anatomized release.

    Its records are joined at random within their groups, because the release does not link them
    more closely. Folds consist of whole groups, so that no person is in both training and test
    data.
    """
    rows = release.rows
    rng = np.random.default_rng(task.seed)
    features, settings = _features(rows, task, names)
    fold = rng.permutation(np.arange(release.groups) % task.folds)[release.group]
    weights = (fold[:, None] == np.arange(task.folds)).astype(np.int64)
    group_order = np.argsort(release.group, kind="stable")
    joined_codes: dict[str, Codes] = {}
    for columns in release.tables:
        partner = np.empty(len(rows), dtype=np.int64)
        partner[group_order] = np.lexsort((rng.random(len(rows)), release.group))
        joined_codes |= {name: rows.column(name)[partner] for name in columns}
    sizes = tuple(len(rows.domain(name)) for name in features)
    original_records = _TrainingData(
        tuple(map(rows.column, features)), sizes, rows.column(task.target)
    )
    released_records = _TrainingData(
        tuple(joined_codes[name] for name in features), sizes, joined_codes[task.target]
    )
    settings["records"] = "put together at random within each group; folds are of whole groups"
    return _cross_validate(
        original_records,
        released_records,
        original_records,
        weights=weights,
        published=weights,
        settings=settings,
    )


def _features(
    rows: anatomization.RowCodes, task: Task, names: Sequence[str]
) -> tuple[list[str], dict[str, Any]]:
    """Choose the feature columns, and collect the settings of the models.

    Raises:
        BadInput: if the target is not a class or there is no feature.
    """
    target = task.target
    count = len(rows.domain(task.target))
    if not 2 <= count <= _MAX_CLASSES:
        message = (
            f"a model foretells one of 2 to {_MAX_CLASSES} values, and {target!r} has {count:,}"
        )
        raise BadInput(message, hint="Choose another target, or a coarser column")
    others = [name for name in names if name != target]
    features = [name for name in others if len(rows.domain(name)) <= _MAX_VALUES]
    if not features:
        raise BadInput(
            f"there is no column to foretell {target!r} from",
            hint="Give tables that have more columns in common",
        )
    return features, {
        "target": target,
        "values": count,
        "model": "logistic regression on one column of 0 and 1 for each value or label, L2 "
        "penalty, C = 1",
        "features": features,
        "too_many_values": [name for name in others if name not in features],
        "folds": task.folds,
        "seed": task.seed,
        "scored_on": "the original rows of each fold, by models that learnt from the other people",
    }


def _assign_folds(target: Codes, count: Ints, task: Task) -> Ints:
    """Assign records to stratified folds; return the number of records of each kind in each fold.

    The records of each value of the target are shuffled and assigned to the folds in turn.
    """
    rng = np.random.default_rng(task.seed)
    kinds = np.repeat(np.arange(len(count)), count)
    fold_counts = np.zeros((len(count), task.folds), dtype=np.int64)
    for value in np.unique(target):
        shuffled_kinds = rng.permutation(kinds[target[kinds] == value])
        np.add.at(fold_counts, (shuffled_kinds, np.arange(len(shuffled_kinds)) % task.folds), 1)
    return fold_counts


def _cross_validate(
    original_records: _TrainingData,
    released_records: _TrainingData,
    test_records: _TrainingData,
    *,
    weights: Ints,
    published: Ints,
    settings: Mapping[str, Any],
) -> ModelQuality:
    """Score both models on the folds.

    Record i is the same in all three: in the original, in the release, and in the test data of the
    second model. `weights` holds the number of people that record i represents in each fold,
    `published` the number of them that the release contains.
    """
    target = settings["target"]
    values = settings["values"]
    if values == 2:
        names = ["auc"]
    else:
        names = ["accuracy", "balanced_accuracy"]
    matrices = [records.matrix() for records in (original_records, released_records, test_records)]
    fold_scores: list[tuple[list[float], list[float]]] = []
    for fold in range(weights.shape[1]):
        test_weights = weights[:, fold]
        if values == 2 and len(np.unique(original_records.target[test_weights > 0])) < 2:
            message = f"a fold has only one value of {target!r}, so no model can be scored on it"
            raise BadInput(message, hint="Ask for fewer folds, or choose another target")
        original_model = _fit(
            matrices[0], original_records.target, weights.sum(axis=1) - test_weights
        )
        release_model = _fit(
            matrices[1], released_records.target, published.sum(axis=1) - published[:, fold]
        )
        fold_scores.append(
            (
                _scores(original_model, matrices[0], original_records.target, test_weights, names),
                _scores(release_model, matrices[2], test_records.target, test_weights, names),
            )
        )
    value_counts = np.bincount(original_records.target, weights.sum(axis=1))
    guesses = {
        "auc": 0.5,
        "accuracy": float(value_counts.max() / value_counts.sum()),
        "balanced_accuracy": 1 / values,
    }
    scores = []
    for score_index, name in enumerate(names):
        folds = tuple(
            (original_scores[score_index], release_scores[score_index])
            for original_scores, release_scores in fold_scores
        )
        means = np.mean(folds, axis=0)
        scores.append(ModelScore(name, float(means[0]), float(means[1]), guesses[name], folds))
    return ModelQuality(target, values, tuple(scores), settings)


def _fit(matrix: Any, target: Codes, weight: Ints) -> Any:
    """Fit a model; return the distinct target values instead if there are fewer than two."""
    from sklearn.linear_model import LogisticRegression

    weighted_rows = np.flatnonzero(weight)
    target_values = np.unique(target[weighted_rows])
    if len(target_values) < 2:
        return target_values
    return LogisticRegression(max_iter=_MAX_ITERATIONS).fit(
        matrix[weighted_rows], target[weighted_rows], sample_weight=weight[weighted_rows]
    )


def _scores(
    model: Any, matrix: Any, target: Codes, weight: Ints, names: Sequence[str]
) -> list[float]:
    from sklearn import metrics

    weighted_rows = np.flatnonzero(weight)
    true_values = target[weighted_rows]
    row_weights = weight[weighted_rows]
    is_constant = isinstance(model, np.ndarray)
    if names == ["auc"]:
        if is_constant:
            decision_values: Floats = np.zeros(len(weighted_rows))
        else:
            decision_values = model.decision_function(matrix[weighted_rows])
        return [
            float(metrics.roc_auc_score(true_values, decision_values, sample_weight=row_weights))
        ]
    if is_constant:
        if len(model):
            constant = model[0]
        else:
            constant = -1
        predicted = np.full(len(weighted_rows), constant)
    else:
        predicted = model.predict(matrix[weighted_rows])
    is_right = predicted == true_values
    value_recalls = [
        float(np.average(is_right[true_values == value], weights=row_weights[true_values == value]))
        for value in np.unique(true_values)
    ]
    return [float(np.average(is_right, weights=row_weights)), float(np.mean(value_recalls))]
