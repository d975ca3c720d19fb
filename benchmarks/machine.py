"""On what a benchmark ran, and where in a document its numbers stand."""

import os
import platform
import re
from pathlib import Path


def machine() -> str:
    """The processor, the number of its cores that may be used, and the kernel."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", text)
    name = model[1] if model else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()}"


def describe() -> str:
    """The machine, and what else ran on it in the last minute."""
    return f"{machine()}; load {os.getloadavg()[0]:.1f} when it began."


def _marked(name: str) -> re.Pattern[str]:
    """What stands between the markers `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    return re.compile(f"({re.escape(begin)})(.*)({re.escape(end)})", re.DOTALL)


def between(document: Path, name: str) -> str:
    """The text between the markers of this name in a file; empty where it has none."""
    found = _marked(name).search(document.read_text(encoding="utf-8"))
    return found[2] if found else ""


def replace_between(document: Path, name: str, text: str) -> None:
    """Puts a text between the markers of this name in a file.

    Raises:
        ValueError: the file has no such markers.
    """
    before = document.read_text(encoding="utf-8")
    after, count = _marked(name).subn(lambda found: f"{found[1]}{text}\n{found[3]}", before)
    if count != 1:
        raise ValueError(f"{document} has no place for {name}")
    document.write_text(after, encoding="utf-8")
