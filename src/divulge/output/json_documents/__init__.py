# SPDX-License-Identifier: Apache-2.0
"""Types of the JSON documents that commands print.

Each type of a field says whether it may hold a data value (`divulge.marks`). The JSON Schema is
written from these types, and redaction follows them. A field without a type is hidden.
"""

from __future__ import annotations

from typing import Any

from divulge.output.json_documents import attacks, dossiers, joint, releases, tables

ERROR = "error"
"""Name of the object that any command prints instead of an answer."""

DOCUMENTS: dict[str, Any] = {
    "anatomize": releases.AnatomizeDocument | releases.AdviceDocument,
    "apply": releases.ApplyDocument,
    "attack": attacks.AttackDocument,
    "check": tables.VerdictDocument | tables.AnatomyVerdictDocument | tables.CheckedTables,
    "compare": joint.CompareDocument,
    "compose": joint.ComposeDocument | joint.PersonDocument,
    "datasets": joint.DatasetsDocument | joint.FetchedDocument,
    "dbt": joint.DbtDocument,
    "demo": joint.DemoDocument,
    "dossier dip": dossiers.DipDocument,
    "dossier disinform": dossiers.DisinformationDocument,
    "dossier enhance": dossiers.EnhancementsDocument,
    "dossier leakage": dossiers.DossierAttackDocument
    | dossiers.RecordLeakageDocument
    | dossiers.PeopleLeakageDocument,
    "dossier release": dossiers.AlternativesDocument,
    "dossier resolve": dossiers.ResolutionDocument,
    "generalize": releases.GeneralizeDocument | releases.FrontDocument,
    "hierarchy build": releases.HierarchyBuildDocument,
    "hierarchy check": releases.HierarchyCheckDocument,
    "hierarchy convert": releases.HierarchyConvertDocument,
    "hierarchy cut": releases.HierarchyCutDocument,
    "hierarchy show": releases.HierarchyShowDocument,
    "init": tables.InitDocument,
    "ledger add": releases.EntryDocument,
    "ledger export": releases.HoldingsDocument,
    "ledger forget": releases.ForgottenDocument,
    "ledger list": releases.HoldingsDocument,
    "ledger retract": releases.EntryDocument,
    "ledger show": releases.EntryDocument,
    "measure": tables.MeasurementDocument | tables.ClassDetailDocument,
    "metrics": joint.MetricsDocument,
    "perturbed": tables.PerturbedDocument,
    "profile": tables.ProfileDocument,
    "query": releases.CountDocument | releases.AggregateDocument,
    "rank": tables.RankingDocument | tables.GrowthDocument,
    "report": joint.ReportDocument,
    "studio": joint.StudioDocument,
    ERROR: joint.ErrorDocument | joint.UncoveredDocument,
}
"""The documents of each command."""
