"""Who handed in what, and when, as Gradescope's export says it in submission_metadata.yml.

Gradescope writes it with Ruby: a folder's name, then `:submitters:` with `:name:`, `:sid:` and
`:email:` each, and `:created_at:`. Of several people each has handed in the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from autograder.errors import KitError
from autograder.platforms.identity import EMAIL, SIS, Identity

LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True)
class GradescopeMetadata:
    """By the name of the folder: the people, and the moment in UTC where it is known."""

    people: Mapping[str, tuple[Identity, ...]]
    handed_in: Mapping[str, datetime]


def read_metadata(content: bytes) -> GradescopeMetadata:
    """Read the file; raise `KitError` when it is not what Gradescope writes."""
    import yaml  # type: ignore[import-untyped]  # comes with nbgrader

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Reads the objects of Ruby as the plain mappings that they are written as."""

    Loader.add_multi_constructor("!ruby/", _plain_value)
    try:
        facts = yaml.load(content.decode("utf-8"), Loader=Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _wrong(type(error).__name__) from None
    if not isinstance(facts, dict):
        raise _wrong("it is no list of submissions")
    people: dict[str, tuple[Identity, ...]] = {}
    moments: dict[str, datetime] = {}
    for folder, entry in facts.items():
        entry = entry if isinstance(entry, dict) else {}
        submitters = entry.get(":submitters")
        found = submitters if isinstance(submitters, list) else []
        people[str(folder)] = tuple(_person(one) for one in found if isinstance(one, dict))
        moment = _moment(entry.get(":created_at"))
        if moment:
            moments[str(folder)] = moment
    return GradescopeMetadata(people, moments)


def _plain_value(loader: Any, suffix: str, node: Any) -> Any:
    if hasattr(node, "value") and node.id == "mapping":
        return loader.construct_mapping(node)
    return loader.construct_scalar(node) if node.id == "scalar" else None


def _person(facts: Mapping[str, Any]) -> Identity:
    name, sid, email = (str(facts.get(key) or "") for key in (":name", ":sid", ":email"))
    return Identity.of(name or email or sid, **{SIS: sid, EMAIL: email})


def _moment(value: object) -> datetime | None:
    if isinstance(value, dict):  # a time with its zone
        value = value.get("utc") or value.get("time")
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date) or not isinstance(value, str):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


def _wrong(why: str) -> KitError:
    return KitError(
        f"submission_metadata.yml cannot be read: {why}",
        place="in the download from Gradescope",
        cure="export the submissions again; with --platform plain, the folders' names count",
    )
