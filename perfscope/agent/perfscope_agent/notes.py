"""Problems of the agent in one sentence each; they go into the metadata file and nowhere else."""

from __future__ import annotations

MAX_NOTES = 50

notes: list[str] = []


def add(text: str) -> None:
    """Keeps a note once; beyond the limit it is dropped."""
    if text not in notes and len(notes) < MAX_NOTES:
        notes.append(text)


def failure(where: str, error: BaseException) -> None:
    """Notes that a part of the agent failed and was skipped."""
    try:
        told = str(error)[:200]
    except Exception:  # an exception of the program's own may not even tell what it is
        told = "no message"
    add("%s: %s: %s" % (where, type(error).__name__, told))
