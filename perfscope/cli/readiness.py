"""What a command does before it analyzes a long run: it takes memory and threads as that needs."""

import os
from importlib import import_module

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def get_ready() -> None:
    """Loads numpy, keeps memory that was freed, and allows files for tables without room.

    OpenBLAS starts a thread for each CPU as it is loaded, which all spin for a moment: 0.07 s of
    each CPU, for products of matrices that no analysis computes. Whoever asks for threads by the
    environment gets them; processes that are started from here see the environment as it was.
    """
    is_ours = _BLAS_THREADS not in os.environ
    if is_ours:
        os.environ[_BLAS_THREADS] = "1"
    try:
        import_module("numpy")
    finally:
        if is_ours:
            del os.environ[_BLAS_THREADS]
    from perfscope.engine import engine
    from perfscope.scratch import allow

    engine.keep_memory()
    allow()
