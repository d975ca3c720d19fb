"""What the agent noted about a rank, read defensively: a recording may hold anything."""

from collections.abc import Mapping
from typing import Any

_TABLES = (dict, Mapping)
"""Nearly all are the first, which is told sooner than the second."""


def noted_frameworks(metadata: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The frameworks of a rank's metadata; what is no table of facts is left out."""
    found = metadata.get("frameworks")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): facts for name, facts in found.items() if isinstance(facts, Mapping)}


def noted_framework(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """One framework of a rank's metadata; empty where it was not noted."""
    found = metadata.get("frameworks")
    facts = None if found is None or not isinstance(found, _TABLES) else found.get(name)
    return {} if facts is None or not isinstance(facts, _TABLES) else facts


def computes_no_gradients(metadata: Mapping[str, Any]) -> bool:
    """Whether the agent saw no gradients in a rank that used JAX."""
    return noted_framework(metadata, "jax").get("gradients") is False


def noted_libraries(metadata: Mapping[str, Any]) -> set[str]:
    """What a rank had loaded of the frameworks and libraries that the agent knows, by name."""
    versions = metadata.get("versions")
    found = set(map(str, versions)) if isinstance(versions, Mapping) else set()
    return found | set(noted_frameworks(metadata))


def noted_environment(metadata: Mapping[str, Any]) -> Mapping[str, str]:
    """The environment variables of a rank's metadata by name; empty where none were noted."""
    found = metadata.get("environment")
    if not isinstance(found, Mapping):
        return {}
    return {str(name): text for name, text in found.items() if isinstance(text, str)}


def noted_directory(metadata: Mapping[str, Any]) -> str:
    """The working directory in which a rank's Python began; "" where none was noted."""
    found = metadata.get("cwd")
    return found if isinstance(found, str) else ""
