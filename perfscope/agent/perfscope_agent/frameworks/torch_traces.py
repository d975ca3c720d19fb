"""How often torch.compile compiled each function, and which of them it gave up."""

from __future__ import annotations

import os
import sys

from .. import files, metadata, notes
from ..kinds import Any

_MOST_NAMES = 20
_RESUMES = "torch_dynamo_resume_in_"
_OF_TENSORS = {"size": "shape", "dtype": "type", "rank": "shape", "stride": "shape"}
_LIMITS = ("recompile limit", "recompile_limit", "cache_size_limit", "cache size limit")


def collect() -> None:
    """At exit: notes the compiled functions, most often compiled first.

    PyTorch keeps the last 64 compilations: of programs with more the counts are at least so high.
    """
    dynamo = sys.modules.get("torch._dynamo.utils")
    latest = getattr(dynamo, "get_compilation_metrics", None)
    if latest is None:
        return
    try:
        rows = _rows(latest())
    except Exception as error:
        notes.failure("compilations of torch.compile not noted", error)
        return
    if rows:
        metadata.framework("torch", tracing=rows)


def _rows(compilations: Any) -> list[dict[str, Any]]:
    """The same rows as for TensorFlow's functions, by name and place."""
    times: dict[tuple[str, str, int], dict[str, int]] = {}
    changes: dict[tuple[str, str, int], dict[tuple[str, str], int]] = {}
    given_up = set()
    for one in compilations:
        frame = str(getattr(one, "compile_id", None) or "").rpartition("/")[0]
        if _is_limit(one):
            given_up.add(frame)
        elif _is_compiled(one):
            place = (_name(str(one.co_name)), str(one.co_filename), int(one.co_firstlineno or 0))
            frames = times.setdefault(place, {})
            frames[frame] = frames.get(frame, 0) + 1
            found = _changed(str(getattr(one, "recompile_reason", None) or ""))
            counted = changes.setdefault(place, {})
            counted[found] = counted.get(found, 0) + bool(found[0])
    ranked = sorted(times.items(), key=lambda item: (-max(item[1].values()), item[0]))
    return [
        {
            "name": name,
            "functions": len(frames),
            "traces": sum(frames.values()),
            "most_traces": max(frames.values()),
            "file": _absolute(file),
            "line": line,
            "given_up": bool(given_up.intersection(frames) - {""}),
            **_most_changed(changes[name, file, line]),
        }
        for (name, file, line), frames in ranked[:_MOST_NAMES]
    ]


def _changed(reason: str) -> tuple[str, str]:
    """Name and kind of what was another one than before, from PyTorch's reason; empty unknown.

    `0/0: tensor 'x' size mismatch at index 0. expected 3, actual 4`, `1/0: s.k == 0  # ...`.
    """
    said = reason.partition(": ")[2].partition("#")[0]
    first, _, rest = said.partition("' ")
    if first.startswith("tensor '"):
        kind = _OF_TENSORS.get(rest.partition(" mismatch")[0], "")
        return (_name_of(first[len("tensor '") :]), kind) if kind else ("", "")
    name, is_compared, _ = said.partition(" == ")
    return (_name_of(name.strip()), "value") if is_compared else ("", "")


def _name_of(source: str) -> str:
    """What the source calls it: `L['scale']` is `scale`; empty of what is no variable."""
    inner = source[3:-2] if source.startswith("L['") and source.endswith("']") else source
    return inner if all(part.isidentifier() for part in inner.split(".")) else ""


def _most_changed(counted: dict[tuple[str, str], int]) -> dict[str, Any]:
    most = max(counted, key=lambda one: counted[one], default=("", ""))
    if not most[0]:
        return {}
    return {"argument": most[0], "changes": most[1], "again": counted[most]}


def _absolute(file: str) -> str:
    """The path of a file of the program, "" of others and where it is not known any more."""
    try:
        return os.path.abspath(file) if files.is_program(file) else ""
    except OSError:
        return ""  # the working directory is gone


def _is_limit(one: Any) -> bool:
    """Whether it is no compilation, but the end of them: a function had too many."""
    reason = str(getattr(one, "fail_reason", None) or "").lower()
    return any(limit in reason for limit in _LIMITS)


def _is_compiled(one: Any) -> bool:
    """Whether a function of Python's was compiled, and not its gradient nor in vain."""
    if not getattr(one, "co_name", None) or getattr(one, "fail_type", None):
        return False
    is_gradient = getattr(one, "is_forward", None) is False
    return not is_gradient and getattr(one, "has_guarded_code", None) is not False


def _name(code_name: str) -> str:
    """The program's name of a function; after a break of its graph the rest has one of its own."""
    if not code_name.startswith(_RESUMES):
        return code_name
    return code_name[len(_RESUMES) :].rpartition("_at_")[0] or code_name
