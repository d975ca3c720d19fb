"""How many threads the linear algebra libraries of the process use."""

from __future__ import annotations

import os

from .. import metadata
from ..kinds import Any, ModuleType, Sequence

_SYMBOLS = {
    "openblas": (
        "openblas_get_num_threads",
        "openblas_get_num_threads64_",
        "scipy_openblas_get_num_threads64_",
        "scipy_openblas_get_num_threads",
    ),
    "mkl_rt": ("MKL_Get_Max_Threads", "mkl_get_max_threads"),
    "blis": ("bli_thread_get_num_threads",),
    "gomp": ("omp_get_max_threads",),
    "iomp5": ("omp_get_max_threads",),
    "libomp": ("omp_get_max_threads",),
}


def install(_module: ModuleType) -> None:
    """Reads the threads of OpenBLAS as they are when numpy has been loaded.

    OpenBLAS reads its settings while it is loaded. Others do so when first called, and the program
    may still want to change them.
    """
    _note(thread_counts(("openblas",)))


def finish() -> None:
    """Reads the thread counts that are in effect at the end; the program may have changed them."""
    _note(thread_counts(tuple(_SYMBOLS)))


def _note(libraries: list[dict[str, Any]]) -> None:
    metadata.facts["blas_libraries"] = libraries
    counts = [library["threads"] for library in libraries if "omp" not in library["library"]]
    metadata.facts["blas_threads"] = max(counts) if counts else None


def thread_counts(stems: Sequence[str]) -> list[dict[str, Any]]:
    """The loaded maths libraries of these names with the threads that each would use."""
    import ctypes

    found = []
    for path in _loaded_libraries():
        name = os.path.basename(path)
        stem = next((stem for stem in stems if stem in name), None)
        if stem is None:
            continue
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        for symbol in _SYMBOLS[stem]:
            if hasattr(library, symbol):
                found.append({"library": name, "threads": int(getattr(library, symbol)())})
                break
    return found


def _loaded_libraries() -> list[str]:
    """Paths of the shared libraries mapped into this process, each once, in order."""
    paths: dict[str, None] = {}
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            path = line[73:].rstrip("\n")
            if path.startswith("/") and ".so" in os.path.basename(path):
                paths[path] = None
    return list(paths)
