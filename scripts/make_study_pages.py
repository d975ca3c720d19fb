#!/usr/bin/env python3
"""Tells the studies in reports/studies/ anew, from what was measured: `make study-pages`.

Nothing is run: of a study that keeps the analyses of its runs (measured.tar.xz) its last command
is repeated on these, and of one measured before they were kept study.json is told anew.
"""

import importlib.util
import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from perfscope.document.build import write  # noqa: E402, the path above finds it
from perfscope.report.studies.build import write_page  # noqa: E402
from perfscope.schema.read import known  # noqa: E402
from perfscope.schema.study import Study as Told  # noqa: E402
from perfscope.schema.write import as_json  # noqa: E402
from scripts import measured, study_words  # noqa: E402
from scripts.make_studies import DESTINATION, KEPT  # noqa: E402
from scripts.study_runs import OUT, STUDIES, Study  # noqa: E402


def main() -> int:
    """Tells all kept studies anew, or those named."""
    chosen = set(sys.argv[1:])
    for study in STUDIES:
        kept = DESTINATION / study.name
        if (kept / "study.json").exists() and study.name in (chosen or {study.name}):
            print(study.name, flush=True)
            tell_anew(study, kept)
    return 0


def tell_anew(study: Study, kept: Path) -> None:
    """Replaces what a kept study says, and keeps what it measured."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        if measured.bring_back(kept, place):
            _repeat(study, place, kept)
            return
    document = json.loads((kept / "study.json").read_text(encoding="utf-8"))
    told = study_words.anew(known(document, Told))
    write(kept / "study.json", as_json(told))
    write_page(told, kept / "study.html")


def _repeat(study: Study, place: Path, kept: Path) -> None:
    """Repeats the last command of a study on the analyses of its runs."""
    if study.packages and importlib.util.find_spec(study.packages) is None:
        print(f"  left as it is: it was made with {study.packages}, which is not installed here")
        return
    words = shlex.split(study.commands[-1])
    if words[0] == "sweep":
        words = ["sweep", "--resume", "--no-run", "--no-reports", "-o", OUT]
    command = [sys.executable, "-m", "perfscope", *words]
    subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
    for one in KEPT:
        if (place / OUT / one).exists():
            shutil.copy2(place / OUT / one, kept / one)


if __name__ == "__main__":
    sys.exit(main())
