# SPDX-License-Identifier: Apache-2.0
"""The manifests of a release: files are compared with them, and they may come from anyone."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

import divulge as dv
from divulge.cli.main import run
from divulge.errors import BadInput, DivulgeError
from divulge.releases import ContinuedRelease, private_place, read_manifest, read_manifests
from divulge.releases.manifest import refuse_unless_release
from divulge.releases.schema import check, schemas
from tests.releases.folders import copy_release, names

ROWS = 24
_RNG = random.Random(5)  # noqa: S311
PEOPLE = pa.table(
    {
        "zip": [_RNG.choice(["13053", "13068", "14850"]) for _ in range(ROWS)],
        "age": [_RNG.randint(20, 59) for _ in range(ROWS)],
        "disease": [_RNG.choice(["flu", "cold", "HIV"]) for _ in range(ROWS)],
        "name": [f"p{i}" for i in range(ROWS)],
    }
)
ROLES: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age"],
    "sensitive": "disease",
    "identifier": "name",
}
POLICY = dv.Policy(k_anonymity=3, entropy_leakage=1.3, suppression=0.15)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One release of each kind."""
    folder = tmp_path_factory.mktemp("releases")
    found = dv.generalize(
        PEOPLE, **ROLES, policy=POLICY, hierarchies={"age": {"intervals": [10, 20]}}
    )
    found.write(folder / "generalized", format="csv", seed=1)
    dv.generalize(PEOPLE, **ROLES, policy=dv.Policy(k_anonymity=3), method="mondrian").write(
        folder / "mondrian", format="csv"
    )
    dv.apply(
        folder / "generalized",
        PEOPLE.slice(0, 12),
        folder / "applied",
        unseen="suppress",
        suppression=1,
        seed=1,
    )
    dv.anatomize(PEOPLE, sensitive="disease", identifier="name", beta="1/2").write(
        folder / "anatomized", format="csv"
    )
    return folder


@pytest.fixture
def release(releases: Path, tmp_path: Path) -> Path:
    """A generalized release for one test."""
    return copy_release(releases / "generalized", tmp_path / "release")


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_the_public_manifest_lists_only_public_files(release: Path) -> None:
    public = load(release / "manifest.json")
    private_folder = private_place(release)
    private = load(private_folder / "manifest.json")
    table = (release / "table.csv").read_bytes()
    assert public["files"] == {
        "table.csv": {"sha256": hashlib.sha256(table).hexdigest(), "bytes": len(table)}
    }
    assert names(release) == ["manifest.json", "table.csv"]
    assert "mapping" not in json.dumps(public)
    assert private["release_id"] == public["release_id"]
    assert (
        private["manifest"] == hashlib.sha256((release / "manifest.json").read_bytes()).hexdigest()
    )
    mappings = ("zip.csv", "age.csv", "original.json", "rules.json", "types.json")
    assert set(private["files"]) == {f"mapping/{name}" for name in mappings}
    assert {"divulge", "python", "duckdb", "numpy", "pyarrow"} == set(public["versions"])
    for path in (private_folder, *private_folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert read_manifest(release) == public
    assert refuse_unless_release(release, private_folder) == private_folder


def test_public_numbers_are_those_of_the_published_file(release: Path) -> None:
    """Anyone who measures table.csv gets every number of the manifest."""
    public = load(release / "manifest.json")
    by_hand = dv.measure(
        release / "table.csv", quasi_identifiers=["zip", "age"], sensitive="disease"
    ).to_dict()
    assert public["measured"]["identity"] == by_hand["identity"]
    assert public["measured"]["sensitive"] == by_hand["sensitive"]
    assert public["rows"] == public["measured"]["rows"] == by_hand["rows"]
    told = {
        item["promise"]: (item["holds"], item["shown_by"], item["value"])
        for item in public["verdict"]
    }
    assert told == {
        "k_anonymity >= 3": (True, "files", by_hand["identity"]["k_anonymity"]),
        "entropy_leakage <= 1.3": (True, "publisher", None),
    }
    assert load(private_place(release) / "manifest.json")["rows"]["original"] == ROWS


@pytest.mark.parametrize("promise", [{"l_diversity": 2}, {"alpha": 0.6}, {"entropy_leakage": 1.0}])
def test_a_requirement_on_chosen_values_is_published_without_its_value(
    promise: dict[str, float], tmp_path: Path
) -> None:
    """Protected values are measured as a separate attribute, which the published table lacks."""
    table = pa.table({"zip": ["1", "1", "2", "2"], "disease": ["flu", "cold"] * 2})
    chosen = dv.Protection.make(promise, attribute="disease", values=["flu"])
    asked: dict[str, Any] = {
        "policy": {"k_anonymity": 2},
        "quasi_identifiers": "zip",
        "sensitive": "disease",
    }
    folder = dv.generalize(table, **asked, protections=[chosen]).write(tmp_path / "release")
    everybody, values = load(folder / "manifest.json")["verdict"]
    assert (everybody["shown_by"], everybody["value"]) == ("files", 2)
    assert (values["attribute"], values["holds"], values["shown_by"], values["value"]) == (
        "disease = flu",
        True,
        "publisher",
        None,
    )


def test_every_key_that_is_written_is_declared(releases: Path) -> None:
    for kind in ("generalized", "anatomized", "applied"):
        schema = schemas()[f"{kind}-3"]
        declared = set(schema["properties"]).union(
            *(schemas()[part["$ref"].rpartition("/")[2]]["properties"] for part in schema["allOf"])
        )
        written = set(load(releases / kind / "manifest.json"))
        assert written - declared <= {"read_back_by"}, kind


# --- files that were changed after the release ----------------------------------------------------
def _change(folder: Path) -> None:
    (folder / "table.csv").write_text("a\n2\n", encoding="utf-8")


def _change_private(folder: Path) -> None:
    (private_place(folder) / "mapping" / "original.json").write_text("{}", encoding="utf-8")


def _remove(folder: Path) -> None:
    (private_place(folder) / "mapping" / "age.csv").unlink()


def _remove_private_manifest(folder: Path) -> None:
    (private_place(folder) / "manifest.json").unlink()


def _add(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")


def _add_private(folder: Path) -> None:
    (private_place(folder) / "notes.txt").write_text("mine", encoding="utf-8")


def _link(folder: Path) -> None:
    (folder / "table.csv").rename(folder.parent / "elsewhere.csv")
    (folder / "table.csv").symlink_to(folder.parent / "elsewhere.csv")


def _link_folder(folder: Path) -> None:
    mapping = private_place(folder) / "mapping"
    mapping.rename(folder.parent / "elsewhere")
    mapping.symlink_to(folder.parent / "elsewhere")


def _lose_private(folder: Path) -> None:
    private_place(folder).rename(folder.parent / "elsewhere")


def _swap_private(folder: Path) -> None:
    """Put the private part of another release of the same table in place."""
    path = private_place(folder) / "manifest.json"
    path.write_text(json.dumps({**load(path), "release_id": "0" * 32}), encoding="utf-8")


def _strip(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def _text(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "manifest.json").write_text(text, encoding="utf-8")

    return write


def _edit(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        document = load(folder / "manifest.json")
        change(document)
        (folder / "manifest.json").write_text(json.dumps(document), encoding="utf-8")

    return edit


def _named(name: str) -> Callable[[Path], None]:
    return _edit(lambda document: document["files"].update({name: document["files"]["table.csv"]}))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_change, "table.csv has changed"),
        (_change_private, "original.json has changed"),
        (_remove, "age.csv is missing"),
        (_remove_private_manifest, "the private part of .* is not at"),
        (_lose_private, "the private part of .* is not at"),
        (_swap_private, "another release"),
        (_add, "notes.txt is not in the manifest"),
        (_add_private, "notes.txt is not in the manifest"),
        (_link, "table.csv in .* is a link"),
        (_link_folder, "mapping in .* is a link"),
        (_strip, "is not a release"),
        (_text("{"), "is not JSON"),
        (_text('{"a": 1, "a": 2}'), "a key stands twice"),
        (_text('{"a": NaN}'), "NaN is not a number"),
        (_text("[" * 5000 + "]" * 5000), "nested too deeply|not the manifest"),
        (_text('{"divulge_release": ' + "9" * 5000 + "}"), "is not JSON"),
        (_text('{"name": "an app"}'), "not the manifest of a release"),
        (_edit(lambda document: document.update(divulge_release=99)), "format 99"),
        (
            _edit(lambda document: document.update(divulge_release=2)),
            "held the private part inside the release",
        ),
        (_edit(lambda document: document.update(divulge_release=True)), "format True"),
        (_edit(lambda document: document.update(kind="other")), "kind 'other'"),
        (
            _edit(lambda document: document["table"].update(file="mapping/original.json")),
            "not one of its files",
        ),
        (_named("../release/table.csv"), "cannot be"),
        (_named("/etc/hostname"), "cannot be"),
        (_named("C:/secret"), "cannot be"),
        (_named("a\\..\\b"), "cannot be"),
        (_named("a/./b"), "cannot be"),
        (_named("a\n/../../b"), "cannot be"),
        (_edit(lambda document: document.update(rows=1)), "belongs to another manifest.json"),
    ],
)
def test_a_changed_release_is_rejected_and_never_replaced(
    release: Path, spoil: Callable[[Path], None], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(release)
    with pytest.raises(BadInput, match=message):
        read_manifests(release)
    with pytest.raises(BadInput, match="not replaced"):
        refuse_unless_release(release, private_place(release))
    assert run(["apply", str(release), "none.csv", "--out", str(release.parent / "out")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_recipient_can_open_the_public_part(release: Path) -> None:
    shutil.rmtree(private_place(release))
    assert read_manifests(release, private_part="if there").private is None
    with pytest.raises(BadInput, match=r"the private part of .* is not at"):
        read_manifests(release)
    assert (dv.query(release, "disease = 'flu'").low or 0) > 0


# --- manifests from others: seeded mutations ------------------------------------------------------
def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value in a document."""
    yield at
    for name, item in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(item, (*at, name))


def nested(depth: int) -> Any:
    return json.loads("[" * depth + "]" * depth)


ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    "",
    "\x00",
    "../x",
    "x" * 5000,
    [],
    {},
    [[]],
    {"": {}},
    nested(300),
    "nan",
    [None],
)


def mutations(document: Any, rng: random.Random, most: int) -> Iterator[str]:
    """Yield mutated documents as text.

    A key is missing or repeated, a value is replaced, or the nesting is 5,000 deep.
    """
    ways = [at for at in places(document) if at]
    for at in ways:
        changed = copy.deepcopy(document)
        parent = changed
        for step in at[:-1]:
            parent = parent[step]
        del parent[at[-1]]
        yield json.dumps(changed)
    for at in rng.choices(ways, k=most):
        changed = copy.deepcopy(document)
        parent = changed
        for step in at[:-1]:
            parent = parent[step]
        parent[at[-1]] = rng.choice(ODD)
        yield json.dumps(changed)
    yield json.dumps(document).replace('"kind":', '"kind": 1, "kind":', 1)
    yield json.dumps(document).replace(": null", ": " + "[" * 5000 + "]" * 5000, 1)
    yield json.dumps(document).replace(": null", ": 1e999", 1)
    yield json.dumps(document)[:-7]


def survives(use: Callable[[], object]) -> bool:
    """Return True if it works; an error must have one line and exit code 1, 2 or 3."""
    refused = None
    try:
        use()
    except DivulgeError as error:
        refused = error
    assert refused is None or (refused.exit_code in (1, 2, 3) and len(str(refused)) < 2000), refused
    return refused is None


def opening(kind: str, folder: Path) -> Callable[[], object]:
    """Open a release: the first step of every use, which costs little."""
    if kind in ("anatomized", "applied") or not private_place(folder).exists():
        return lambda: read_manifests(folder, private_part="if there")

    def use() -> None:
        earlier = ContinuedRelease.open(folder)
        for name in (
            "quasi_identifiers",
            "sensitive",
            "weight",
            "settings",
            "unchanged",
            "columns",
            "form",
        ):
            getattr(earlier, name)
        for name in (
            ("promises", "boxes", "masses")
            if kind == "mondrian"
            else ("promises", "mappings", "masses")
        ):
            getattr(earlier, name)

    return use


def using(kind: str, folder: Path, out: Path) -> Callable[[], object]:
    """Use a release of a kind for its purpose."""
    if kind == "anatomized":
        return lambda: (dv.query(folder, "age > 30"), dv.check(folder, beta="1/2"))
    if kind == "applied":
        return opening(kind, folder)

    def use() -> None:
        dv.query(folder, "disease = 'flu'")
        if private_place(folder).exists():
            dv.apply(
                folder,
                PEOPLE.slice(0, 8),
                out,
                unseen="suppress",
                suppression=1,
                force=True,
                accept_incremental_risk=True,
            )

    return use


@pytest.mark.slow
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("kind", ["generalized", "mondrian", "anatomized", "applied"])
def test_mutated_manifests_are_used_or_rejected(
    releases: Path, tmp_path: Path, *, kind: str, private: bool, quick: bool
) -> None:
    folder = copy_release(releases / kind, tmp_path / "release")
    path = (private_place(folder) if private else folder) / "manifest.json"
    if not private:
        shutil.rmtree(private_place(folder))  # the private manifest would detect every change
    first, use = opening(kind, folder), using(kind, folder, tmp_path / "out")
    honest = path.read_text(encoding="utf-8")
    assert survives(use)
    rng, passed, refused = random.Random(f"{kind}{private}"), 0, 0  # noqa: S311
    for text in mutations(json.loads(honest), rng, 20 if quick else 60):
        path.write_text(text, encoding="utf-8")
        if survives(first):
            passed += 1
            if passed % 50 == 0:  # a release that opens is used once in a while
                survives(use)
        else:
            refused += 1
    assert refused > (3 if quick else 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["original.json", "boxes.json"])
def test_mutated_private_files_with_the_right_hash(
    releases: Path, tmp_path: Path, name: str
) -> None:
    kind = "mondrian" if name == "boxes.json" else "generalized"
    folder = copy_release(releases / kind, tmp_path / "release")
    path = private_place(folder) / "mapping" / name
    sealed = private_place(folder) / "manifest.json"
    document, rng = json.loads(path.read_text(encoding="utf-8")), random.Random(name)  # noqa: S311
    use = using(kind, folder, tmp_path / "out")
    assert survives(use)
    first = opening(kind, folder)
    for number, text in enumerate(mutations(document, rng, 40)):
        path.write_text(text, encoding="utf-8")
        private = load(sealed)
        private["files"][f"mapping/{name}"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        sealed.write_text(json.dumps(private), encoding="utf-8")
        if survives(first) and number % 10 == 0:
            survives(use)


@pytest.mark.slow
def test_the_check_agrees_with_another_implementation_of_json_schema(releases: Path) -> None:
    """The published schema is checked here, and jsonschema agrees with our check."""
    assert (Path(__file__).parents[2] / "docs/reference/manifest.schema.json").read_text(
        encoding="utf-8"
    ) == (Path(__file__).parents[2] / "src/divulge/releases/manifest.schema.json").read_text(
        encoding="utf-8"
    )
    whole = load(Path(__file__).parents[2] / "src/divulge/releases/manifest.schema.json")
    jsonschema.Draft202012Validator.check_schema(whole)
    rng, seen = random.Random(3), set()  # noqa: S311
    for kind in ("generalized", "anatomized", "applied"):
        document = load(releases / kind / "manifest.json")
        validator = jsonschema.Draft202012Validator(
            {"$ref": f"#/$defs/{kind}-3", "$defs": whole["$defs"]}
        )
        for text in mutations(document, rng, 50):
            try:
                changed = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if "Infinity" in json.dumps(changed):
                continue  # not a number of JSON
            expected = validator.is_valid(changed)
            try:
                check(changed, f"{kind}-3", Path("m"))
                found = True
            except BadInput:
                found = False
            assert found == expected, text
            seen.add(found)
    assert seen == {True, False}
