"""Where the parts that are loaded into a job lie in this installation."""

import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from perfscope.compiled import digest_of

LIBRARY_NAME = "libperfscope_recorder.so"
_HERE = Path(__file__).resolve().parent
SOURCES = _HERE.parent.parent / "native" / "recorder"
"""In a checkout; an installed package has none."""


def recorder_library() -> Path | None:
    """The shared library that is preloaded into every process of a job.

    Returns:
        Its absolute path, or None when this installation lacks it (sources that were never built).
    """
    return next((path for path in _candidates() if path.is_file()), None)


def is_outdated(library: Path) -> bool:
    """Whether the sources of the recorder beside this file are others than it was made from."""
    try:
        return SOURCES.is_dir() and digest_of(SOURCES).encode() not in library.read_bytes()
    except OSError:
        return False


def load_problem(library: Path) -> str | None:
    """Why the dynamic linker of this machine does not load the recorder, None when it does.

    Asked of a process that does nothing: a library that cannot be loaded would be printed about by
    every process of the job, and one with an unmet symbol would end them all.
    """
    program = shutil.which("true")
    if program is None:
        return None
    done = subprocess.run(
        [program],
        env={"LD_PRELOAD": str(library), "LD_BIND_NOW": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 and not done.stderr:
        return None
    return done.stderr.strip().splitlines()[0] if done.stderr.strip() else "the linker gave up"


def _candidates() -> Iterator[Path]:
    yield _HERE / "lib" / LIBRARY_NAME
    # An editable installation leaves the sources where they are and puts what was compiled here.
    for scheme in ("platlib", "purelib"):
        yield Path(sysconfig.get_path(scheme), "perfscope", "record", "lib", LIBRARY_NAME)


def agent_directory() -> Path:
    """The directory put on PYTHONPATH; it holds `sitecustomize` and `perfscope_agent` alone."""
    return _HERE.parent / "agent"
