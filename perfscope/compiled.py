"""What compiled parts were made from, to tell those older than the sources beside them."""

import hashlib
from pathlib import Path

__all__ = ["digest_of"]

_ENDINGS = (".c", ".cpp", ".def", ".h")


def digest_of(sources: Path) -> str:
    """What all C and C++ files below a directory are, as native/digest.cmake computes it.

    Contents count and not times: another branch that was checked out and left again has the same.

    Raises:
        OSError: where a file cannot be read.
    """
    found = {path.relative_to(sources).as_posix(): path for path in sources.rglob("*.*")}
    hashes = (
        hashlib.sha256(found[name].read_bytes()).hexdigest()
        for name in sorted(found)
        if name.endswith(_ENDINGS)
    )
    return hashlib.sha256("".join(hashes).encode()).hexdigest()
