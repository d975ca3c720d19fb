"""Writes a redacted copy of a recording, and proves it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from perfscope import files
from perfscope.errors import UnreadableInputError
from perfscope.progress import counted
from perfscope.readers.recording.reader import is_recording
from perfscope.readers.recording.run_directory import RUN_FILE
from perfscope.redaction import records
from perfscope.redaction.names import Names
from perfscope.redaction.proof import prove
from perfscope.structures import dataclass

SALT_BYTES = 32
_OF_A_PROCESS = re.compile(r"\d{1,10}-\d{1,19}\.(rec|def|json)|\d{1,10}\.ends")


@dataclass(frozen=True)
class Redacted:
    """What was done."""

    removed: int  # different texts that were replaced
    looked_at_bytes: int  # of the copy, by the proof
    left_out: tuple[str, ...]  # names of files that were not copied


def redact(source: Path, target: Path) -> Redacted:
    """Writes a copy of a recording without what names anything.

    The target does not exist yet.

    Raises:
        UnreadableInputError: there is no recording, or a file of it cannot be read.
        PerfscopeError: the proof failed; what was written must go.
    """
    if not is_recording(source):
        raise UnreadableInputError(
            f"There is no recording at {source}.",
            why="A recording is the directory that `perfscope run` printed.",
            action="Name that directory. Traces of other tools cannot be redacted.",
        )
    names = Names(os.urandom(SALT_BYTES))
    hosts = sorted(path for path in source.iterdir() if path.is_dir())
    for host in hosts:
        names.host(host.name)
    target.mkdir()
    left_out = []
    for path, place in counted("redacting", list(_files(source, hosts, names))):
        content = _content(path, names)
        if content is None:
            left_out.append(path.name)
            continue
        (target / place).parent.mkdir(exist_ok=True)
        files.replace_file(target / place, content)
    private = names.private
    looked_at = prove(target, private, is_common=names.is_common)
    return Redacted(len(private), looked_at, tuple(left_out))


def _files(source: Path, hosts: list[Path], names: Names) -> Iterator[tuple[Path, Path]]:
    yield source / RUN_FILE, Path(RUN_FILE)
    for folder in (source, *hosts):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name != RUN_FILE:
                yield path, Path("" if folder == source else names.host(folder.name), path.name)


def _content(path: Path, names: Names) -> bytes | None:
    """The redacted content of a file, None where it is not taken over."""
    if not _OF_A_PROCESS.fullmatch(path.name) and path.name != RUN_FILE:
        return None
    try:
        match path.suffix:
            case ".rec":
                return records.record_file(path, names)
            case ".def":
                return records.definitions(path, names)
            case ".ends":
                return records.ends_file(path)
            case ".json":
                return records.json_file(path, names)
    except OSError as error:
        raise UnreadableInputError(
            f"{path} cannot be read.",
            why=f"{error.strerror or type(error).__name__}.",
            action="Redact a copy that you may read.",
        ) from error
    return None
