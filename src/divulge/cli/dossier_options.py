# SPDX-License-Identifier: Apache-2.0
"""Options of the dossier commands, written once: how leakage is measured, and what the adversary does with records."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Option

import divulge as dv
from divulge.cli.options import Text, Texts, progress_bar
from divulge.errors import BadInput

Item = TypeVar("Item")
DatabaseOption = Annotated[str, Option(help="The records: .json, .jsonl or .csv (record,label,value,confidence).")]
ReferenceOption = Annotated[str, Option(help="The truth about the person: a record.")]


@dataclass(frozen=True)
class MeasureOptions:
    """How leakage is measured."""

    weights: Annotated[Text, Option(metavar="FILE", help='How much each label matters, as {"N": 2}.')] = None
    beta: Annotated[float, Option(help="Above 1, completeness counts more; below 1, correctness.")] = 1.0
    equivalence: Annotated[
        Text, Option(metavar="FILE", help='Values that mean the same: {"Zip": ["11*"], "Age": [">=50"]}.')
    ] = None

    def read(self) -> dv.dossier.Measure:
        """The files opened."""
        weights = dv.dossier.read_weights(self.weights) if self.weights else None
        same = dv.dossier.Equivalence.read(self.equivalence) if self.equivalence else None
        return dv.dossier.Measure(weights, self.beta, same)


@dataclass(frozen=True)
class AdversaryOptions:
    """What the adversary does before looking."""

    resolve: Annotated[
        Text, Option("--resolve", "--rule", metavar="RULE", help="Merge records that share these labels: N+C,N+P.")
    ] = None
    er: Annotated[str, Option(help="How to merge: swoosh (merged records match anew) or closure.")] = "swoosh"
    trust: Annotated[float, Option(help="Attributes with less confidence than this join nothing.")] = 0.0
    link: Annotated[
        Text,
        Option(metavar="LABELS", help="Merge by probability instead (Splink): N~1,P,C; ~1 allows one typing error."),
    ] = None
    probability: Annotated[float, Option(help="With --link: how likely a match must be.")] = 0.9
    prior: Annotated[float | None, Option(help="With --link: chance that two records are about one person.")] = None
    augment: Annotated[
        Texts, Option(metavar="A=Z:FILE", help="Infer label Z from label A by a CSV of two columns; repeatable.")
    ] = None

    @property
    def merges(self) -> bool:
        """Whether records are put together."""
        return bool(self.resolve or self.link)

    def operator(self, measure: dv.dossier.Measure) -> dv.dossier.Operator:
        """The steps in order: canonical values, inferred values, then merging."""
        if self.resolve and self.link:
            raise BadInput("--resolve and --link were both given", hint="merge by a rule or by probability, not both")
        steps = list(self._preparations(measure))
        if self.resolve:
            steps.append(dv.dossier.Resolve(self.match_rule(), method=self.er))  # type: ignore[arg-type]
        if self.link:
            steps.append(dv.dossier.Link(self.compared(), threshold=self.probability, prior=self.prior))
        return steps[0] if len(steps) == 1 else dv.dossier.Chain(tuple(steps))

    def merge(
        self, records: dv.dossier.Database, measure: dv.dossier.Measure
    ) -> tuple[dv.dossier.Database, dict[str, Any], dict[str, Any]]:
        """The merged records, the graph of what joined, and how it was done."""
        prepared = dv.dossier.Chain(tuple(self._preparations(measure)))(records)
        if self.link:
            linkage = dv.dossier.link(prepared, self.compared(), threshold=self.probability, prior=self.prior)
            settings = {"method": "splink", "model": linkage.model, "prior": linkage.prior, "engine": linkage.engine}
            return linkage.records, linkage.graph(), settings
        rule = self.match_rule()
        watched = tracked(prepared, len(prepared), what="linking records")
        found = dv.dossier.resolve(watched, rule, method=self.er)  # type: ignore[arg-type]
        return found.records, found.graph(), {"method": found.method, "rule": str(rule)}

    def _preparations(self, measure: dv.dossier.Measure) -> Iterator[dv.dossier.Operator]:
        if measure.equivalence:
            yield dv.dossier.Correct(measure.equivalence)
        for text in self.augment or []:
            yield dv.dossier.Augment(*_lookup(text))

    def match_rule(self) -> dv.dossier.MatchRule:
        """The rule, which a command may insist on."""
        if not self.resolve:
            raise BadInput(
                "there is no match rule", hint="say when two records are about one person: --resolve N+C,N+P"
            )
        return dv.dossier.MatchRule.parse(self.resolve, threshold=self.trust)

    def compared(self) -> tuple[dv.dossier.Compared, ...]:
        """The labels of --link: N~1 allows one typing error."""
        found = []
        for part in (self.link or "").split(","):
            label, _, edits = part.strip().partition("~")
            if not label or not (edits or "0").isdecimal():
                raise BadInput(f"--link {self.link!r} is not a list of labels", hint="write N~1,P,C")
            found.append(dv.dossier.Compared(label, edits=int(edits or 0)))
        return tuple(found)

    def warn_about_labels(self, records: Iterable[dv.dossier.Record]) -> None:
        """One line on standard error for labels of the rule that no record has: they join nothing."""
        if self.resolve and (unknown := self.match_rule().unknown_labels(records)):
            sys.stderr.write(
                f"divulge: warning: no record has the label {', '.join(unknown)} of --resolve {self.resolve}\n"
            )


@dataclass(frozen=True)
class ReleaseOptions:
    """A published table, as an adversary reads it."""

    table: Annotated[Text, Option(help="A published table instead of records: any file divulge reads.")] = None
    qi: Annotated[Text, Option(help="With --table: rows that agree on these columns are merged: Zip,Age.")] = None
    background: Annotated[
        Texts, Option(metavar="TABLE", help="With --table: what the adversary knows besides; repeatable.")
    ] = None

    def measure(self, reference: str, options: dv.dossier.Measure) -> tuple[dv.dossier.TableLeakage, ...]:
        """The leakage of each person of the reference file."""
        if not self.qi:
            raise BadInput("--table needs --qi", hint="name the columns by which rows are about the same people")
        columns = [name.strip() for name in self.qi.split(",")]
        people = dv.dossier.read_database(reference)
        return dv.dossier.table_leakage(
            self.table, people, quasi_identifiers=columns, background=self.background or (), measure=options
        )


def tracked(items: Iterable[Item], total: int, *, what: str) -> Iterator[Item]:
    """The items one by one, with a bar on a terminal."""
    with progress_bar(what) as progress:
        for number, item in enumerate(items):
            if progress and number % 200 == 0:
                progress(number, total)
            yield item


def named_files(given: Sequence[str]) -> dict[str, str]:
    """NAME=FILE or FILE (named by its stem), repeated."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, path = text.partition("=")
        if not sign or Path(text).exists():
            name, path = Path(text).stem, text
        if name in found:
            raise BadInput(f"two files are called {name!r}", hint="name them: NAME=FILE")
        found[name] = path
    return found


def numbers(given: Sequence[str], option: str) -> dict[str, float]:
    """NAME=NUMBER, repeated."""
    found = {}
    for text in given:
        name, _, value = text.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise BadInput(f"{option} {text!r} does not have the form NAME=NUMBER") from None
    return found


def _lookup(text: str) -> tuple[str, str, Mapping[str, str]]:
    """A=Z:FILE as the labels and the table."""
    labels, colon, path = text.partition(":")
    source, sign, target = labels.partition("=")
    if not (colon and sign and source and target and path):
        raise BadInput(f"--augment {text!r} does not have the form A=Z:FILE", hint="such as address=zip:zips.csv")
    return source, target, dv.dossier.read_lookup(path)
