"""Samples that a data set prepares anew in each epoch though nothing about them changes."""

from collections.abc import Mapping
from typing import Any

from perfscope.findings.core.finding import Evidence
from perfscope.judging import FEWEST_SAMPLES
from perfscope.trace.model import Rank
from perfscope.units import format_bytes


def same_items(rank: Rank) -> Mapping[str, Any] | None:
    """The data set of which most samples were compared, if all were as the last time; else None."""
    rows = rank.framework("torch").get("items")
    told = [row for row in rows if _is_whole(row)] if isinstance(rows, list) else []
    most = max(told, key=lambda row: int(row["compared"]), default=None)
    if most is None or most["compared"] < FEWEST_SAMPLES or most["same"] < most["compared"]:
        return None
    found: Mapping[str, Any] = most
    return found


def _is_whole(row: object) -> bool:
    """Whether the agent told all of a data set, and nothing odd."""
    if not isinstance(row, dict) or not isinstance(row.get("dataset"), str):
        return False
    counts = [row.get(name) for name in ("compared", "same", "bytes")]
    return all(type(one) is int and one >= 0 for one in counts)


def same_evidence(rank: Rank) -> tuple[Evidence, ...]:
    """How many samples were the same again; nothing where some were not."""
    found = same_items(rank)
    if found is None:
        return ()
    label = f"Samples of {found['dataset'][:60]} that were prepared again and are the same"
    return (Evidence(label, f"{found['same']} of {found['compared']} that were compared"),)


def keeping_action(rank: Rank) -> str:
    """To prepare each sample once, and what that takes; "" where samples differ from time to time.

    How much it takes is told where the loader tells how many samples there are.
    """
    found = same_items(rank)
    if found is None:
        return ""
    loaders = rank.framework("torch").get("loaders")
    rows = loaders if isinstance(loaders, list) else []
    counts = [
        row["samples"]
        for row in rows
        if isinstance(row, dict) and row.get("dataset") == found["dataset"]
        if type(row.get("samples")) is int
    ]
    size = format_bytes(found["bytes"] * max(counts)) if counts else ""
    room = f" ({size} for all of them)" if size else ""
    return (
        "Prepare each sample once: those that perfscope compared came out the same in every epoch. "
        f"Keep prepared samples in memory{room}, or store them before the training."
    )
