"""`%%perfscope` for Jupyter: records a cell as a program of its own and shows what was found.

    %load_ext perfscope.magic

    %%perfscope -n 2
    from mpi4py import MPI
    ...

The cell runs in processes of its own, as `perfscope run` starts them: the kernel itself cannot be
recorded after its start, and has one rank. What the cell needs stands in it or in files, and
modules beside the notebook can be imported as in its other cells.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from perfscope.dataframes.opened import OpenedTrace
from perfscope.errors import PerfscopeError, UsageError
from perfscope.files import read_json
from perfscope.output import tell_lines, visible
from perfscope.schema.read import read_known
from perfscope.structures import dataclass

MOST_FINDINGS = 8
CELL = "cell.py"
SHOWN = "ledger"
"""The section that is shown with the verdict: what each rank spent its time in."""
_GROWS = "this.style.height = this.contentDocument.documentElement.scrollHeight + 8 + 'px'"


@dataclass(frozen=True)
class Shown:
    """A section of the report: a notebook shows its charts and tables."""

    name: str
    page: str

    def __repr__(self) -> str:
        return f"<section {self.name!r} of a report>"

    def _repr_html_(self) -> str:
        held = escape(self.page, quote=True)
        style = "width: 100%; height: 30em; border: 0"
        return f"<iframe srcdoc='{held}' style='{style}' onload='{escape(_GROWS)}'></iframe>"


@dataclass(frozen=True)
class Recorded:
    """A recorded cell: shown by a notebook as its verdict, findings and a chart of the time."""

    directory: Path  # the run directory
    document: dict[str, Any]  # as analysis.json holds it

    @property
    def report(self) -> Path:
        """The page."""
        return self.directory / "report.html"

    def open_trace(self) -> OpenedTrace:
        """The tables as DataFrames."""
        import perfscope  # noqa: PLC0415 - an analysis is heavy

        return perfscope.open_trace(self.directory)

    @property
    def sections(self) -> list[str]:
        """What can be shown of the report: names for `show`."""
        from perfscope.report.build import section_names  # noqa: PLC0415 - the same

        return section_names()

    def show(self, section: str = SHOWN) -> Shown:
        """A section of the report with its charts and tables, for a notebook to show.

        Raises:
            UsageError: the report has no such section.
        """
        from perfscope.report.build import build_excerpt  # noqa: PLC0415 - the same

        return Shown(section, build_excerpt(read_known(self.document), section))

    def __repr__(self) -> str:
        return f"{visible(self._sentence)} ({self.report})"

    @property
    def _sentence(self) -> str:
        return str((self.document.get("verdict") or {}).get("sentence") or "")

    def _repr_html_(self) -> str:
        """What a notebook shows; every text is escaped, as it comes from the program."""
        rows = [
            (row.get("status"), row.get("title"), row.get("gain_s"))
            for row in self.document.get("findings") or []
            if row.get("status") in ("fail", "warn")
        ][:MOST_FINDINGS]
        body = "".join(
            f"<tr><td>{_cell(status)}</td><td style='text-align:left'>{_cell(title)}</td>"
            f"<td>{'' if gain is None else f'{gain:.3g} s'}</td></tr>"
            for status, title, gain in rows
        )
        table = (
            f"<table><thead><tr><th></th><th>finding</th><th>gain</th></tr></thead>"
            f"<tbody>{body}</tbody></table>"
            if rows
            else ""
        )
        link = escape(str(self.report), quote=True)
        shown = self.show()._repr_html_()
        head = f"<p><b>{_cell(self._sentence)}</b></p>"
        return f"{head}{table}{shown}<p><a href='{link}'>{link}</a></p>"


def record_cell(line: str, cell: str) -> Recorded:
    """Records the code of a cell.

    Args:
        line: `-n RANKS` for mpirun, and options of `perfscope run`, as a shell would split it.
        cell: the code.

    Raises:
        UsageError: the line cannot be understood.
        PerfscopeError: the cell failed or could not be analyzed.
    """
    number, options = _taken(_words(line), "-n")
    ranks = 1 if number is None else _ranks(number)
    chosen, options = _taken(options, "-o", "--output")
    place = Path(tempfile.mkdtemp(prefix="perfscope-cell-"))
    (place / CELL).write_text(cell, encoding="utf-8")
    directory = place / "trace" if chosen is None else Path(chosen).absolute()
    launcher = [_mpirun(), "-n", str(ranks)] if ranks > 1 else []
    _run(
        ["run", *options, "-o", str(directory), "--", *launcher, sys.executable, str(place / CELL)]
    )
    return analyzed(directory)


def analyzed(recording: str | Path) -> Recorded:
    """What a recording that is there tells, as a cell's: `analyzed("trace/")`.

    Raises:
        PerfscopeError: it could not be analyzed.
    """
    directory = Path(recording).absolute()
    _run(["analyze", str(directory), "--no-strict", "--json"], is_told=False)
    place = directory if directory.is_dir() else directory.parent
    return Recorded(place, read_json(place / "analysis.json"))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            f"The line {line!r} cannot be read.",
            why=f"{error}.",
            action="Close the quotes, as in a shell.",
        ) from error


def _mpirun() -> str:
    """That of the environment of this Python, which a kernel need not have in its PATH."""
    beside = Path(sys.executable).parent
    return (
        shutil.which("mpirun", path=f"{beside}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
        or "mpirun"
    )


def _taken(words: list[str], *names: str) -> tuple[str | None, list[str]]:
    """The value of an option, None without it, and the words without the option."""
    place = next((place for place, word in enumerate(words) if word in names), None)
    if place is None:
        return None, words
    return " ".join(words[place + 1 : place + 2]), words[:place] + words[place + 2 :]


def _ranks(number: str) -> int:
    if not (number.isascii() and number.isdigit() and 0 < int(number[:6]) < 100_000):
        raise UsageError(
            f"-n {number!r} is no number of ranks.",
            why="It says how many processes mpirun starts.",
            action="Write it as %%perfscope -n 2",
        )
    return int(number)


def _run(words: list[str], *, is_told: bool = True) -> None:
    """Runs perfscope; what it and the program print goes to the notebook."""
    found = [str(Path.cwd()), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "perfscope", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(found)},
        capture_output=True,
        text=True,
        errors="backslashreplace",
        check=False,
    )
    if is_told:
        tell_lines(done.stdout + done.stderr)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise PerfscopeError(
            f"perfscope {words[0]} ended with exit code {done.returncode}.",
            why=visible(lines[-1]) if lines else "It said nothing.",
            action="See what the cell printed above.",
        )


def _cell(text: object) -> str:
    return escape(visible(str(text or "")))


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext perfscope.magic`."""

    def perfscope_cell(line: str, cell: str) -> Recorded | None:
        try:
            return record_cell(line, cell)
        except PerfscopeError as error:
            tell_lines("\n".join(error.lines()))
            return None

    shell.register_magic_function(perfscope_cell, "cell", "perfscope")
