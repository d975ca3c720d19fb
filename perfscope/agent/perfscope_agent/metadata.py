"""The small JSON file beside a process's records: who, what, where, and how it ended."""

from __future__ import annotations

import _thread
import os
import sys

from . import environment, notes, own_threads, recorder, roles
from .kinds import Any, Sequence
from .secrets.programs import redact_command
from .secrets.redact import redact_path, redact_value

SCHEMA = 1
_LONGEST_ARGUMENT = 1000
_MOST_ARGUMENTS = 200
_MODULES_OF_INTEREST = (
    "numpy",
    "scipy",
    "pandas",
    "mpi4py",
    "tensorflow",
    "keras",
    "torch",
    "lightning",
    "pytorch_lightning",
    "transformers",
    "accelerate",
    "deepspeed",
    "horovod",
    "jax",
    "sklearn",
    "daal4py",
    "h5py",
    "perfscope",
)

_CLEAN = (
    *("host", "argv", "environment", "rank_environment"),
    *("operands", "loops", "loop_turns", "updates", "read_files", "caches"),
)
"""The host is where files of the process are found; the others are redacted when they are noted."""

facts: dict[str, Any] = {}
"""Everything known so far; keys and types are those of the metadata file."""

_path = ""
_MOST_IMAGES = 100
_one_writer = _thread.RLock()
"""Reentrant, since a signal's handler may write while its own thread does."""

_writes = 0


def encode(value: Any) -> str:
    """JSON text of plain values; `json` would import `re` in each process of the job."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if value - value == 0 else "null"
    if isinstance(value, dict):
        # Copies, since other threads go on noting.
        return "{%s}" % ", ".join(encode(str(k)) + ": " + encode(v) for k, v in dict(value).items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(encode(item) for item in list(value))
    return _quoted(str(value))


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return '"%s"' % text
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return '"%s"' % "".join(escapes.get(c) or (c if " " <= c <= "~" else _escaped(c)) for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x10000:
        return "\\u%04x" % code
    code -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))


def start_ticks() -> int:
    """When the process started, in clock ticks since boot: with the pid its identity."""
    with open("/proc/self/stat", "rb") as stream:
        # The second field, the command, may hold spaces and parentheses.
        return int(stream.read().rpartition(b")")[2].split()[19])


def short_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line fit to be written: redacted, then shortened."""
    safe = redact_command(arguments)
    return [argument[:_LONGEST_ARGUMENT] for argument in safe[:_MOST_ARGUMENTS]]


def begin(role: str, owner_pid: int | None, arguments: Sequence[str], **cost: int) -> None:
    """Notes what is known at the start of the process, and what that cost, and writes it."""
    global _path
    ticks, host = start_ticks(), os.uname().nodename
    place = os.path.join(os.environ["PERFSCOPE_DIR"], host, "%d-%d" % (os.getpid(), ticks))
    _path = _beside_records() or _path or _free(place)
    facts.clear()
    facts.update(
        schema=SCHEMA,
        pid=os.getpid(),
        start_ticks=ticks,
        host=host,
        role=role,
        owner_pid=owner_pid,
        parent_pid=os.getppid(),
        argv=short_arguments(arguments),
        executable=sys.executable,
        python="%d.%d.%d" % sys.version_info[:3],
        **cost,
    )
    if role != roles.Role.WORKER:
        facts.update(
            prefix=sys.prefix,
            cwd=working_directory(),
            rank_environment=environment.rank_environment(),
            environment=environment.performance_environment(),
            versions={},
            topology={},
            frameworks={},
            blas_threads=None,
            batch_size=None,
            step_source=None,
            exception=None,
        )
    write()


def _beside_records() -> str:
    """The path beside the records of this process, "" where it has none."""
    rec = recorder.current
    base = os.fsdecode(rec.base_path()) if rec is not None else ""
    return base and base + ".json"


def _free(base: str) -> str:
    """A path that no program has taken that this process ran before, and replaced by exec.

    The recorder numbers its files in the same way.
    """
    path, image = base + ".json", 0
    while os.path.exists(path) and image < _MOST_IMAGES:
        image += 1
        path = "%s-%d.json" % (base, image)
    return path


def _follow_records() -> None:
    """Goes on beside the records, where these began after the file, perhaps with a number.

    A program that this process ran before may have no records, and its file the name of these.
    """
    global _path
    path = _beside_records()
    if not path or path == _path:
        return
    older, _path = _path, path
    if os.path.exists(path):
        os.replace(path, older)
    elif os.path.exists(older):
        os.unlink(older)


def working_directory() -> str:
    """The current directory, "" when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def framework(name: str, **details: Any) -> None:
    """Notes what is known about a framework in this process."""
    frameworks = facts.get("frameworks")
    if isinstance(frameworks, dict):
        frameworks.setdefault(name, {}).update(details)


def without_secrets(value: Any) -> Any:
    """What a program chose, also as names of its functions, models and directories, as written."""
    if isinstance(value, str):
        return redact_path(value) if value.startswith("/") else redact_value(value)
    if isinstance(value, dict):
        return {without_secrets(key): without_secrets(inner) for key, inner in dict(value).items()}
    if isinstance(value, (list, tuple)):
        return [without_secrets(inner) for inner in list(value)]
    return value


def collect_versions() -> None:
    """Notes the versions of the loaded modules that matter; imports nothing."""
    versions = {}
    for name in _MODULES_OF_INTEREST:
        version = own_threads.contents(name).get("__version__")
        if isinstance(version, str):
            versions[name] = version
    facts["versions"] = versions


def write() -> None:
    """Replaces the file in one step; a failure leaves the older one.

    May be called from any thread: the file that stays is that of the last call.
    """
    with _one_writer:
        if _path:
            try:
                _follow_records()
            except OSError as error:
                notes.failure("metadata not moved", error)
            _replace_file()


def _replace_file() -> None:
    global _writes
    _writes = mine = _writes + 1
    facts["agent_notes"] = list(notes.notes)
    temporary = "%s.%d-%d.tmp" % (_path, os.getpid(), mine)
    try:
        os.makedirs(os.path.dirname(_path), exist_ok=True)
        with open(temporary, "wb") as stream:  # a stream of text would import its encoding
            noted = dict(facts)
            safe = {key: without_secrets(noted[key]) for key in noted if key not in _CLEAN}
            stream.write((encode({**noted, **safe}) + "\n").encode("ascii"))
        if mine == _writes:  # else a signal's handler has written something newer
            os.replace(temporary, _path)
    except (OSError, ValueError) as error:
        notes.failure("metadata not written", error)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def leave() -> None:
    """In a forked child: the file belongs to the parent."""
    global _path
    _path = ""


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _one_writer
    leave()
    _one_writer = _thread.RLock()  # the thread that held the parent's may not be here
    facts.clear()
    del notes.notes[:]
