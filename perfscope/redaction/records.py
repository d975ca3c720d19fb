"""The files of one process: records, definitions, metadata, ends."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from perfscope import files
from perfscope.readers.recording import agent_metadata
from perfscope.readers.recording.definitions import MOST_BYTES, entries
from perfscope.readers.recording.endings import MAX_ENDS_BYTES
from perfscope.readers.recording.framework_operations import HOROVOD, PACKAGE, SEPARATOR, parsed
from perfscope.readers.recording.layout import (
    COMMUNICATOR_DTYPE,
    DEFINITION_DTYPE,
    DEFINITIONS_MAGIC,
    HEADER_BYTES,
    DefinitionType,
)
from perfscope.readers.recording.record_file import read_record_file
from perfscope.readers.recording.unseen_collectives import PACKAGES
from perfscope.redaction.names import Names

HASHED_WHOLE = ("argv", "command", "cwd", "executable", "prefix")
"""Fields of which no word is needed: only whether they are the same."""
NAMES_OF_DEVICES = ("name", "driver", "capability")
"""What a GPU is: hardware, and known to its vendor's driver."""
_PACKAGES = (PACKAGE, HOROVOD, *PACKAGES)
_VOLUME = re.compile(r"\d+:\d+")
_CPU_LIST = re.compile(rb"[0-9,\-]*")
_UUID = re.compile(r"(GPU-|MIG-)?.*", re.DOTALL)


def record_file(path: Path, names: Names) -> bytes:
    """A file of records: its header without names, and the records that were written.

    Records hold numbers alone: times, ids, amounts and values of metrics.

    Raises:
        UnreadableInputError: it is no such file.
    """
    file = read_record_file(path)
    header = file.header.copy()
    for name, width in (("boot_id", 36), ("host", 63)):
        text = bytes(header[name]).split(b"\0")[0].decode("utf-8", "replace")
        other = names.host(text) if name == "host" else names.hashed(text) if text else ""
        header[name] = other.encode()[:width]
    for thread in header["threads"]:
        text = bytes(thread["name"]).split(b"\0")[0].decode("utf-8", "replace")
        thread["name"] = names.text(text).encode()[:15]
    return header.tobytes().ljust(HEADER_BYTES, b"\0") + file.records.tobytes()


def definitions(path: Path, names: Names) -> bytes:
    """A file of definitions: texts without names; what is of an unknown kind is left out.

    Raises:
        OSError: it cannot be read.
    """
    content = files.read_bytes(path, MOST_BYTES)
    parts = [DEFINITIONS_MAGIC]
    for kind, number, payload in entries(content, path.name, []):
        other = _payload(kind, payload, names)
        if other is not None:
            head = np.zeros(1, DEFINITION_DTYPE)
            head["type"], head["id"], head["bytes"] = kind, number, len(other)
            parts += [head.tobytes(), other]
    return b"".join(parts)


def _payload(kind: int, payload: bytes, names: Names) -> bytes | None:
    if kind == DefinitionType.STACK:
        return payload if len(payload) % 4 == 0 else None
    if kind == DefinitionType.AFFINITY:
        return payload if _CPU_LIST.fullmatch(payload) else b""
    if kind == DefinitionType.COMMUNICATOR:
        return _communicator(payload, names)
    text = payload.decode("utf-8", "replace")
    if kind == DefinitionType.DEVICE:
        return "".join(f"{_of_device(line, names)}\n" for line in text.splitlines()).encode()
    if kind == DefinitionType.NAME:
        return _name(text, names).encode()
    if kind in (DefinitionType.LIBRARY, DefinitionType.NOTE):
        return names.text(text).encode()
    return None


def _name(text: str, names: Names) -> str:
    """What a phase or value is called; the bytes that a collective's name ends in are amounts."""
    head, separator, volume = text.rpartition(SEPARATOR)
    if _VOLUME.fullmatch(volume) and any(parsed(text, package) for package in _PACKAGES):
        return names.text(head) + separator + names.keep(volume)
    return names.text(text)


def _communicator(payload: bytes, names: Names) -> bytes | None:
    size = COMMUNICATOR_DTYPE.itemsize
    if len(payload) < size or len(payload) % 4:
        return None
    head = np.frombuffer(payload, COMMUNICATOR_DTYPE, count=1).copy()
    head["identity"] = names.number(int(head["identity"][0]))
    return head.tobytes() + payload[size:]


def _of_device(line: str, names: Names) -> str:
    key, _, value = line.partition("=")
    if key in NAMES_OF_DEVICES:
        return names.keep(line)
    if key in ("uuid", "board") and value:
        found = _UUID.match(value)
        begin = (found[1] if found else "") or ""
        return f"{key}={begin}{names.hashed(value)}"
    return f"{names.text(key)}={names.text(value)}"


def json_file(path: Path, names: Names) -> bytes | None:
    """A document of the agent or of `perfscope run`; None where it is none."""
    values, problem = agent_metadata.read_json(path)
    if problem is not None and not values:
        return None
    for key in ("host", "boot_id"):
        if isinstance(values.get(key), str):
            hashed = names.host if key == "host" else names.hashed
            values[key] = hashed(values[key])
    done = {names_key(key, names): _value(key, value, names) for key, value in values.items()}
    return (json.dumps(done, indent=1) + "\n").encode()


def names_key(key: str, names: Names) -> str:
    """A key of a document: as it is where perfscope knows it."""
    return key if names.knows(key) else names.text(key)


def _value(key: str, value: Any, names: Names) -> Any:
    if isinstance(value, dict):
        return {names_key(name, names): _value(name, one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [_value(key, one, names) for one in value]
    if not isinstance(value, str) or key in ("host", "boot_id"):
        return value
    if key in HASHED_WHOLE and value:
        # what a program is called tells that it trains, and nothing else
        return names.path(value) if value.endswith(".py") else names.hashed(value)
    return names.text(value)


def ends_file(path: Path) -> bytes:
    """What a launcher saw of its children: the lines that are four numbers.

    Raises:
        OSError: it cannot be read.
    """
    lines = files.read_bytes(path, MAX_ENDS_BYTES).splitlines()
    whole = (line for line in lines if re.fullmatch(rb"\d{1,19}( \d{1,19}){3}", line))
    return b"".join(line + b"\n" for line in whole)
