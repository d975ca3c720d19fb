"""Looks through every byte of what was written for what was to be removed."""

import re
from collections.abc import Callable, Collection
from pathlib import Path

from perfscope import files
from perfscope.errors import PerfscopeError
from perfscope.readers.recording.layout import HEADER_BYTES
from perfscope.readers.recording.record_file import BLOCK_BYTES
from perfscope.redaction.names import WORD

LEAST_LETTERS = 3
"""Shorter texts are found everywhere by chance."""
LEAST_IN_RECORDS = 6
"""Records are numbers, in which a short text is found by chance."""


def prove(directory: Path, removed: Collection[str], *, is_common: Callable[[str], bool]) -> int:
    """Fails if any of some texts stands anywhere in a directory, also in the names of files.

    `is_common` says whether a word may stay: `symbol` was removed, and `symbolic` is a library's.

    Returns:
        How many bytes were looked at.

    Raises:
        PerfscopeError: one does, or a file cannot be read.
    """
    search = _Search(removed, is_common)
    count = 0
    for path in sorted(directory.rglob("*")):
        search.look(str(path.relative_to(directory)).encode("utf-8", "surrogateescape"), path)
        if path.is_file():
            count += _look_into(path, search)
    return count


class _Search:
    def __init__(self, removed: Collection[str], is_common: Callable[[str], bool]) -> None:
        self._is_common = is_common
        texts = {text.lower() for text in removed if len(text) >= LEAST_LETTERS}
        self._words = {text for text in texts if WORD.fullmatch(text)}
        self._inside = [word for word in self._words if len(word) >= LEAST_IN_RECORDS]
        self._several = [text.encode("utf-8", "replace") for text in texts - self._words]
        self._sound: set[str] = set()

    def look(self, content: bytes, path: Path) -> None:
        low = content.lower()
        if any(text in low for text in self._several):
            raise _found(path)
        words = set(WORD.findall(content.decode("utf-8", "replace"))) - self._sound
        if any(self._is_private(word) for word in words):
            raise _found(path)
        self._sound |= words

    def _is_private(self, word: str) -> bool:
        low = word.lower()
        if low in self._words:
            return True
        return any(text in low for text in self._inside) and not self._is_common(word)


def _look_into(path: Path, search: _Search) -> int:
    size, overlap = files.size_of(path), 4096
    with files.open_input(path) as file:
        if path.suffix != ".rec":
            search.look(file.read(), path)
            return size
        search.look(file.read(HEADER_BYTES), path)
        kept = b""
        while block := file.read(BLOCK_BYTES):
            # a text in records is a run of letters; between numbers there are few
            runs = re.findall(rb"[^\x00-\x1f\x7f]{%d,}" % LEAST_IN_RECORDS, kept + block)
            search.look(b"\0".join(runs), path)
            kept = block[-overlap:]
    return size


def _found(path: Path) -> PerfscopeError:
    # which text it was stays unsaid: this message may be copied
    return PerfscopeError(
        "The recording could not be redacted; nothing was written.",
        why=f"The proof found a text in {path.name} that was to be removed.",
        action="Please report this; do not hand out the recording.",
    )
