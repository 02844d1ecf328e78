# SPDX-License-Identifier: Apache-2.0
"""Shared options of the dossier commands: the measure of leakage, and the adversary's methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import divulge as dv
from divulge.arguments import outside
from divulge.cli import redaction
from divulge.cli.options import Text, Texts
from divulge.cli.progress import progress_bar
from divulge.errors import BadInput

Item = TypeVar("Item")
Finding = TypeVar(
    "Finding",
    "dv.dossier.Attack",
    "dv.dossier.Dip",
    "dv.dossier.Alternatives",
    "dv.dossier.Disinformation",
)
_RECORDS = "Records"


@dataclass(frozen=True)
class MeasureOptions:
    """The measure of leakage."""

    weights: Text = None
    beta: float = 1.0
    equivalence: Text = None
    grade: Texts = None
    statistics: Text = None
    joint: Texts = None

    def read(self) -> dv.dossier.Measure:
        """Return the measure, with its files read."""
        return dv.dossier.Measure(
            weights=dv.dossier.read_weights(self.weights) if self.weights else None,
            beta=self.beta,
            equivalence=read_equivalence(self.equivalence),
            graded=numbers(self.grade or [], "--grade"),
            background=dv.dossier.read_background(self.statistics) if self.statistics else None,
            joint=_joints(self.joint or []),
        )


def warn_about_labels(measure: dv.dossier.Measure, records: Iterable[dv.dossier.Record]) -> None:
    """Print a warning for labels of the measure's options that no record has."""
    record_labels = {label for record in records for label in record.labels}
    joints = (measure.joint or {}).values()
    together = [joint.members if isinstance(joint, dv.dossier.Joint) else joint for joint in joints]
    option_labels = {
        *(measure.graded or ()),
        *(measure.background or ()),
        *(label for labels in together for label in labels),
    }
    if unknown := sorted(option_labels - record_labels):
        redaction.print_sentence(
            f"warning: no record has the label {outside(', '.join(unknown))} of --grade, "
            "--statistics or --joint"
        )


def read_equivalence(file: str | None) -> dv.dossier.Equivalence | None:
    """Read the equivalence file, if there is one."""
    if file:
        return dv.dossier.Equivalence.read(file)
    return None


@dataclass(frozen=True)
class MatchOptions:
    """The rule by which the adversary merges records."""

    resolve: Text = None
    er: str = "swoosh"
    trust: float = 0.0

    def match_rule(self) -> dv.dossier.MatchRule:
        """Return the match rule.

        Raises:
            BadInput: There is none.
        """
        if not self.resolve:
            raise BadInput(
                "there is no match rule",
                hint="say when two records are about one person: --resolve N+C,N+P",
            )
        return dv.dossier.MatchRule.parse(self.resolve, threshold=self.trust)

    def warn_about_labels(self, records: Iterable[dv.dossier.Record]) -> None:
        """Print a warning for labels of the rule that no record has."""
        if self.resolve and (unknown := self.match_rule().unknown_labels(records)):
            redaction.print_sentence(
                f"warning: no record has the label {outside(', '.join(unknown))} of --resolve "
                f"{outside(self.resolve)}"
            )

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the adversary for the JSON output."""
        if self.resolve:
            return {"resolve": str(self.match_rule()), "er": self.er, "trust": self.trust}
        return {}


@dataclass(frozen=True)
class AdversaryOptions(MatchOptions):
    """The adversary's methods of inferring and merging."""

    link: Text = None
    probability: float = 0.9
    prior: float | None = None
    augment: Texts = None

    def with_files(self, result: Finding) -> Finding:
        """Return the result with the files of inferred values in its settings."""
        if self.augment:
            return replace(result, settings={**result.settings, "augment": list(self.augment)})
        return result

    @property
    def merges(self) -> bool:
        """True if records are merged."""
        return bool(self.resolve or self.link)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the adversary for the JSON output."""
        by_probability = {"link": self.link, "probability": self.probability, "prior": self.prior}
        if self.augment:
            inferred = {"augment": list(self.augment)}
        else:
            inferred = {}
        return {**super().settings, **(by_probability if self.link else {}), **inferred}

    def operator(
        self, same: dv.dossier.Equivalence | None, price: dv.dossier.Cost | None = None
    ) -> dv.dossier.Operator:
        """Return the steps in order: canonical values, inferred values, then merging."""
        if self.resolve and self.link:
            raise BadInput(
                "--resolve and --link were both given",
                hint="merge by a rule or by probability, not both",
            )
        steps = list(self._preparations(same))
        price = price or dv.dossier.Cost(exponent=2)
        if self.resolve:
            steps.append(dv.dossier.Resolve(self.match_rule(), method=self.er, price=price))  # type: ignore[arg-type]
        if self.link:
            chances = {"threshold": self.probability, "prior": self.prior}
            steps.append(dv.dossier.Link(self.compared(), **chances, price=price))  # type: ignore[arg-type]
        if len(steps) == 1:
            return steps[0]
        return dv.dossier.Chain(tuple(steps))

    def merge(
        self, records: dv.dossier.Database, same: dv.dossier.Equivalence | None
    ) -> tuple[dv.dossier.Database, dict[str, Any], dict[str, Any]]:
        """Return the merged records, the graph of their links, and the settings of the method."""
        if self.resolve and self.link:
            raise BadInput(
                "--resolve and --link were both given",
                hint="merge by a rule or by probability, not both",
            )
        prepared = dv.dossier.Chain(tuple(self._preparations(same)))(records)
        if self.link:
            linkage = dv.dossier.link(
                prepared, self.compared(), threshold=self.probability, prior=self.prior
            )
            settings = {
                "method": "splink",
                "model": linkage.model,
                "prior": linkage.prior,
                "engine": linkage.engine,
            }
            return linkage.records, linkage.graph(), settings
        rule = self.match_rule()
        watched = tracked(prepared, len(prepared), what="linking records")
        resolution = dv.dossier.resolve(watched, rule, method=self.er)  # type: ignore[arg-type]
        return (
            resolution.records,
            resolution.graph(),
            {"method": resolution.method, "rule": str(rule)},
        )

    def _preparations(self, same: dv.dossier.Equivalence | None) -> Iterator[dv.dossier.Operator]:
        if same:
            yield dv.dossier.Correct(same)
        for text in self.augment or []:
            yield dv.dossier.Augment(*_lookup(text))

    def compared(self) -> tuple[dv.dossier.Compared, ...]:
        """Parse the labels of --link: N~1 allows one typing error."""
        comparisons = []
        for part in (self.link or "").split(","):
            label, _, edits = part.strip().partition("~")
            if not label or not (edits or "0").isdecimal():
                raise BadInput(
                    f"--link {self.link!r} is not a list of labels", hint="write N~1,P,C"
                )
            comparisons.append(dv.dossier.Compared(label, edits=int(edits or 0)))
        return tuple(comparisons)


@dataclass(frozen=True)
class CostOptions:
    """Cost of merging for the adversary (section 2.4 of the paper)."""

    cost_coefficient: float = 1.0
    cost_exponent: float = 2.0

    def read(self) -> dv.dossier.Cost:
        """Return the cost function."""
        return dv.dossier.Cost(self.cost_coefficient, self.cost_exponent)


@dataclass(frozen=True)
class ReleaseOptions:
    """A published table, as an adversary reads it."""

    table: Text = None
    quasi_identifiers: Text = None
    background: Texts = None
    generalized_confidence: float = 1.0

    def measure(self, reference: str, options: dv.dossier.Measure) -> dv.dossier.PeopleLeakage:
        """Measure the leakage of each person of the reference file."""
        if not self.quasi_identifiers:
            raise BadInput(
                "--table needs --qi",
                hint="name the columns by which rows are about the same people",
            )
        columns = [name.strip() for name in self.quasi_identifiers.split(",")]
        people = dv.dossier.read_database(reference)
        return dv.dossier.table_leakage(
            self.table,
            people,
            quasi_identifiers=columns,
            background=self.background or (),
            generalized_confidence=self.generalized_confidence,
            measure=options,
        )


def tracked(items: Iterable[Item], total: int, *, what: str) -> Iterator[Item]:
    """Yield the items, with a progress bar on a terminal."""
    with progress_bar(what) as progress:
        for number, item in enumerate(items):
            if progress and number % 200 == 0:
                progress(number, total)
            yield item


def named_files(texts: Sequence[str]) -> dict[str, str]:
    """Parse repeated NAME=FILE or FILE, which is named by its stem."""
    paths_by_name: dict[str, str] = {}
    for text in texts:
        name, sign, path = text.partition("=")
        if not sign or Path(text).exists():
            name = Path(text).stem
            path = text
        if name in paths_by_name:
            raise BadInput(f"two files are called {name!r}", hint="name them: NAME=FILE")
        paths_by_name[name] = path
    return paths_by_name


def numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """Parse repeated NAME=NUMBER."""
    numbers_by_name: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        if name in numbers_by_name:
            raise BadInput(f"{option} was given twice for {name!r}", hint="keep one of them")
        try:
            numbers_by_name[name] = float(value)
        except ValueError:
            raise BadInput(f"{option} {text!r} does not have the form NAME=NUMBER") from None
    return numbers_by_name


def _joints(texts: Sequence[str]) -> dict[str, dv.dossier.Joint | Iterable[str]]:
    joints_by_label: dict[str, dv.dossier.Joint | Iterable[str]] = {}
    for label, joint_members in map(_joint, texts):
        if label in joints_by_label:
            raise BadInput(
                f"--joint was given twice for {label!r}", hint="give each joint a label of its own"
            )
        joints_by_label[label] = joint_members
    return joints_by_label


def _joint(text: str) -> tuple[str, dv.dossier.Joint | list[str]]:
    """Parse J=A+P or J=A+P:FILE into the label and its members."""
    labels, colon, path = text.partition(":")
    label, _, members = labels.partition("=")
    member_labels = [member.strip() for member in members.split("+")]
    if not label or not all(member_labels) or (colon and not path):
        raise BadInput(f"--joint {text!r} does not have the form J=A+P or J=A+P:FILE")
    if not colon:
        return label, member_labels
    return label, dv.dossier.Joint(
        label, frozenset(member_labels), dv.dossier.read_joint_values(path)
    )


def _lookup(text: str) -> tuple[str, str, Mapping[str, str]]:
    """Parse A=Z:FILE into the two labels and the lookup table."""
    labels, colon, path = text.partition(":")
    source, sign, target = labels.partition("=")
    if not (colon and sign and source and target and path):
        raise BadInput(
            f"--augment {text!r} does not have the form A=Z:FILE",
            hint="such as address=zip:zips.csv",
        )
    return source, target, dv.dossier.read_lookup(path)
