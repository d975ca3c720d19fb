"""What the runs of a study measured, in one file: analyses, and how runs of a sweep ended."""

import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

FILE = "measured.tar.xz"
CACHE = ".perfscope-analysis.json"  # perfscope.studies.common.cache, which scripts do not need
ANALYSIS = "analysis.json"
OF_A_SWEEP = ("plan.json", "outcome.json")
UNUSED = ("timeline",)  # parts of an analysis that no study reads, and that are large


def keep(place: Path, target: Path, check: Callable[[Path], None]) -> None:
    """Puts what was measured below a directory into a file in another one.

    Args:
        place: where the last command of the study ran.
        target: the directory of the kept study.
        check: is given a directory with the files as they will be kept, and may raise.
    """
    found = dict(sorted(_files(place)))
    with tempfile.TemporaryDirectory() as beside:
        for number, content in enumerate(found.values()):
            Path(beside, str(number)).write_bytes(content)
        check(Path(beside))
    with tarfile.open(target / FILE, "w:xz", preset=9) as archive:
        for name, content in found.items():
            entry = tarfile.TarInfo(name)  # without times and owners: the same runs, the same file
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def bring_back(kept: Path, place: Path) -> bool:
    """Puts it back below a directory; whether a kept study has any."""
    if not (kept / FILE).is_file():
        return False
    with tarfile.open(kept / FILE, "r:xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not in Python 3.11.2
        archive.extractall(place)
    return True


def _files(place: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents: each analysis stands in the directory of its recording."""
    for path in place.rglob("*"):
        name = path.relative_to(place)
        if path.name in OF_A_SWEEP:
            yield str(name), path.read_bytes()
        elif path.name == CACHE:
            document = json.loads(path.read_text(encoding="utf-8"))["document"]
            shown = {key: value for key, value in document.items() if key not in UNUSED}
            text = json.dumps(shown, ensure_ascii=False)
            yield str(name.with_name(ANALYSIS)), text.encode("utf-8")
