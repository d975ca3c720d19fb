"""Files that somebody else may have made, and files that somebody else may be reading.

Only regular files are opened, so that nothing waits for a writer or reads a device forever; no
more is read than the caller says; and what is written appears whole or not at all.
"""

import errno
import json
import math
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

MOST_JSON_BYTES = 256 << 20
"""A document of perfscope does not become larger."""

_unfinished: set[Path] = set()
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_input(path: Path) -> BinaryIO:
    """Opens a regular file for reading; a link counts as what it leads to.

    Raises:
        OSError: there is none, it may not be read, or it is something else than a file.
    """
    try:
        # Looked at before it is opened: a FIFO that is opened lets its writer run into a closed
        # pipe, and devices may act on being opened.
        _refuse_other_kinds(path, path.stat().st_mode)
        # what is there may be another thing by now, which must not make the open wait
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        descriptor = os.open(path, flags)
    except ValueError as error:  # a NUL in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    try:
        _refuse_other_kinds(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refuse_other_kinds(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = _KINDS.get(stat.S_IFMT(mode), "something else")
    raise OSError(errno.EINVAL, f"It is {kind}, not a file", str(path))


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: there is none, it cannot be read, or it has more than `most_bytes`.
    """
    with open_input(path) as file:
        # a sparse file may claim more than any memory holds
        size = os.fstat(file.fileno()).st_size
        # room is made for as much as is asked for: of a large limit that takes longer than reading
        content = file.read(size + 1) if size <= most_bytes else b""
        if len(content) > size:  # it grows, or is of a kind that does not tell its size
            content += file.read(most_bytes - size)
    if max(size, len(content)) > most_bytes:
        text = f"It has {max(size, len(content)):,} bytes, and at most {most_bytes:,} are read"
        raise OSError(errno.EFBIG, text, str(path))
    return content


def head_of(path: Path, length: int) -> bytes:
    """The first bytes of a regular file, fewer where it is shorter.

    Raises:
        OSError: there is none, or it cannot be read.
    """
    with open_input(path) as file:
        return file.read(length) or b""  # None of one that would have to be waited for


def open_database(path: Path) -> Any:
    """A `sqlite3.Connection` to a database that is read and never written.

    A Python that was built without SQLite does all else.

    Raises:
        OSError: it is no regular file, or cannot be opened.
    """
    try:
        import sqlite3  # noqa: PLC0415 - one format needs it
    except ImportError as error:
        raise OSError(f"this Python has no SQLite: {error}") from error

    open_input(path).close()
    try:
        place = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1"
        return sqlite3.connect(place, uri=True)
    except sqlite3.Error as error:
        raise OSError(str(error)) from error


def read_json(path: Path, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """The value in a JSON file, as strictly as `parse_json` has it.

    Raises:
        OSError: there is no regular file, it cannot be read, or is too large.
        ValueError: it is not JSON.
    """
    return parse_json(read_bytes(path, most_bytes))


def parse_json(content: bytes | str, not_finite: list[str] | None = None) -> Any:
    """The value of a JSON text in UTF-8; halves of characters in it are replaced.

    `not_finite` gets the names of the fields whose numbers are not finite and become null; without
    it they are an error.

    Raises:
        ValueError: it is not JSON, is nested too deeply, names a field twice, or holds a number
            that is not finite.
    """
    odd: list[str] = []

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            odd.append(text)
        return value

    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    try:
        value = json.loads(
            text, parse_float=number, parse_constant=number, object_pairs_hook=_object
        )
        if odd:
            if not_finite is None:
                raise ValueError(f"it holds {odd[0][:20]}, which is no finite number")
            value = _finite(value, "", not_finite)
        if "\\ud" in text.lower():
            value = _without_surrogates(value)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it names {twice[:40]!r} twice")
    return value


def _finite(value: Any, name: str, names: list[str]) -> Any:
    """The value with null for numbers that are not finite, whose fields are added to `names`."""
    if isinstance(value, float) and not math.isfinite(value):
        names.append(name)
        return None
    if isinstance(value, list):
        return [_finite(item, name, names) for item in value]
    if isinstance(value, dict):
        return {
            key: _finite(item, f"{name}.{key}" if name else key, names)
            for key, item in value.items()
        }
    return value


def _without_surrogates(value: Any) -> Any:
    """The same value with halves of characters replaced, which no text file could hold."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value


def resolved(path: Path) -> Path:
    """The path without links, also where links lead in a circle or to nothing."""
    return Path(os.path.realpath(path))


def size_of(path: Path) -> int:
    """The size of a regular file, 0 of anything else."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def replace_file(path: Path, content: bytes, *, mode: int = 0o666, durable: bool = False) -> None:
    """Writes a file in one step: who reads it meanwhile sees the old one or the new one, whole.

    Any number of processes may write it at once; the last one counts.

    The umask is taken from the mode; a `durable` file survives a power cut from here on.

    Raises:
        OSError: the file system takes nothing, or something else than a file has the name; what
            was there stays.
    """
    with suppress(FileNotFoundError):
        _refuse_other_kinds(path, path.stat().st_mode)
    partial = unique_name(path)
    try:
        descriptor = _unnamed(path.parent, mode)
        is_named = descriptor is None
        if descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(partial, flags, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            if not is_named:
                _name(descriptor, partial)
        partial.replace(path)
    finally:
        remove(partial)
    if durable:
        flush_directory(path.parent)


def write_output(path: Path, content: bytes) -> None:
    """Writes what the user wants at a place: a file in one step, a device or FIFO as it comes.

    Raises:
        OSError: the place takes nothing.
    """
    if not path.exists() or path.is_file():
        replace_file(path, content)
        return
    with path.open("wb") as file:
        file.write(content)


def unique_name(path: Path) -> Path:
    """A name beside `path` that no other process uses, for what is not complete yet.

    Who asked for it removes it in the end, or an interrupt does.
    """
    name = path.with_name(f".{path.name[:180]}.{os.urandom(8).hex()}.partial")
    _unfinished.add(name)
    return name


def remove(path: Path) -> None:
    """Removes what is not complete, if it is still there: a file or a directory."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):  # what led here is the one to tell
        path.unlink(missing_ok=True)
    _unfinished.discard(path)


def remove_unfinished() -> None:
    """Removes all that is not complete: the process ends before it can be."""
    for path in tuple(_unfinished):
        remove(path)


def _unnamed(directory: Path, mode: int) -> int | None:
    """A file without a name, of which nothing is left when the process is killed.

    None where the file system knows no such files.
    """
    try:
        descriptor = os.open(directory, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT):
            return None
        raise
    if Path(f"/proc/self/fd/{descriptor}").exists():
        return descriptor
    os.close(descriptor)
    return None


def _name(descriptor: int, path: Path) -> None:
    # A directory's descriptor, unused beside an absolute path, makes Python follow the link.
    os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=descriptor, follow_symlinks=True)


def flush_directory(directory: Path) -> None:
    """Lets the names in a directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
