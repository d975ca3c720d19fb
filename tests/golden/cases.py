"""The golden net: inputs whose every output is kept in the repository, byte for byte.

A case is a command line of perfscope on an input that is small and always the same. What it
prints and writes stands in tests/golden/expected/<case>/; the files of the sample recordings
stand in reports/<sample>/. `make golden` writes all of it anew; what changes there is reviewed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from perfscope.cli.group import cli
from tests.golden import foreign
from tests.support.environments import REPOSITORY
from tests.support.recording import working_in
from tests.support.study_pages import page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTED = REPOSITORY / "tests" / "golden" / "expected"
SAMPLES = sorted(path.parent.name for path in REPOSITORY.glob("sample_traces/*/run.json"))
STUDIES = sorted(path.parent.name for path in REPOSITORY.glob("reports/studies/*/study.json"))
PRINTED = "terminal.txt"
WIDTH = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Case:
    """One command line and where its outputs are kept."""

    name: str  # of the case and of its folder
    arguments: Sequence[str]  # the words after `perfscope`; `OUT` is the folder of its files
    # writes the input into the folder that the command is run in; without it the command is run in
    # the repository
    prepare: Callable[[Path], object] | None = None
    files: Sequence[str] = ()  # what it writes into `OUT` and is kept, beside what it prints
    kept: Path | None = None  # the folder of its files, where that is not the case's own

    def kept_at(self, file: str) -> Path:
        """Where one of its outputs is kept."""
        own = EXPECTED / self.name
        return (own if file == PRINTED or self.kept is None else self.kept) / file

    def outputs(self, place: Path) -> dict[str, bytes]:
        """Runs the command in a new folder; its files and what it prints, by name."""
        out = place / "out"
        if self.prepare is not None:
            self.prepare(place)
        home = REPOSITORY if self.prepare is None else place
        words = [str(out) if word == "OUT" else word for word in self.arguments]
        printed = run(words, home=home).replace(str(out), "OUT")
        kept = {name: (out / name).read_bytes() for name in self.files}
        return {**kept, PRINTED: printed.encode()}


def run(words: Sequence[str], *, home: Path) -> str:
    """What a command prints on stdout, run in a directory and a terminal of 100 columns."""
    with working_in(home, {**os.environ, **WIDTH}):
        done = CliRunner().invoke(cli, list(words), catch_exceptions=False, standalone_mode=False)
    return done.stdout


ANALYSIS = ("analysis.json", "report.html")
STUDY = ("study.json", "study.html")


def _samples() -> Iterator[Case]:
    for name in SAMPLES:
        words = ("analyze", f"sample_traces/{name}", "-o", "OUT")
        yield Case(f"sample-{name}", words, files=ANALYSIS, kept=REPOSITORY / "reports" / name)


def _foreign() -> Iterator[Case]:
    for name, writer in foreign.WRITERS.items():
        words = ("analyze", "input", "-o", "OUT")
        yield Case(f"foreign-{name}", words, prepare=writer, files=ANALYSIS)


def _copied_samples(place: Path) -> None:
    """Studies keep what they find beside a recording, so they get copies."""
    for name in ("rank_zero_evaluation", "horovod_straggler"):
        shutil.copytree(REPOSITORY / "sample_traces" / name, place / name)


def _studies() -> Iterator[Case]:
    both = ("rank_zero_evaluation", "horovod_straggler")
    compare = ("compare", *both, "-o", "OUT")
    yield Case("compare", compare, prepare=_copied_samples, files=STUDY)
    yield Case("compare-markdown", (*compare, "--markdown", "-"), prepare=_copied_samples)
    scaling = ("scaling", "runs/1", "runs/2", "-o", "OUT")
    yield Case("scaling", scaling, prepare=foreign.paraver_of_two_sizes, files=STUDY)
    whatif = ("whatif", f"sample_traces/{both[0]}", "--edit", "balance")
    yield Case("whatif", whatif)
    yield Case("whatif-json", (*whatif, "--json"))


CASES = {case.name: case for case in (*_samples(), *_foreign(), *_studies())}


def study_page(name: str) -> tuple[Path, str]:
    """The file of a kept study's page, and the page that its document gives now."""
    folder = REPOSITORY / "reports" / "studies" / name
    document = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    return folder / "study.html", page_of(document)


def main() -> int:
    """Writes what all cases give, or those named, into their folders; and the studies' pages."""
    for name in sys.argv[1:] or CASES:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as place:
            for file, content in case.outputs(Path(place)).items():
                kept = case.kept_at(file)
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(content)
    for name in STUDIES:
        page, text = study_page(name)
        page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
