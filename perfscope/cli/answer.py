"""What a command that makes a document leaves behind, and says on stdout: JSON, or a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfscope.errors import ExitCode
from perfscope.output import say_json, tell

if TYPE_CHECKING:
    from rich.console import Console

    from perfscope.cli.options import Forms
    from perfscope.integrations.junit import Case
    from perfscope.schema.study import Study
    from perfscope.studies.common.run import StudyRun

PAGE_SUFFIXES = (".html", ".htm")


def answer(
    document: dict[str, Any], summary: Callable[[Console], None], *, as_json: bool, last: str
) -> None:
    """Prints a document of a run or of a study.

    `last` stands below the summary and says where to look.
    """
    from perfscope.schema.write import document_text

    if as_json:
        say_json(document_text(document))
        return
    from perfscope.report.console import console as of_stdout
    from perfscope.report.terminal import line

    console = of_stdout()
    summary(console)
    console.print()
    line(console, last)


def finish_study(
    study: Study,
    output: Path,
    *,
    forms: Forms,
    last: str = "Report: {page}",
    beside: Mapping[str, str] | None = None,
    is_told: bool = True,
    gates: Callable[[], Sequence[str]] = tuple,
) -> ExitCode:
    """Ends a command that makes a study: its files, what stdout says, and the gates.

    `last` stands below the summary; `{page}` and `{folder}` in it say where the page lies. What of
    the user's `gates` failed is asked when all is written. Nothing is said on stdout where it is
    not free for an answer (`is_told`).

    Raises:
        PerfscopeError: a file cannot be written.
    """
    from perfscope.document.build import write
    from perfscope.report.studies.build import PAGE_FILE, contexts, write_page
    from perfscope.schema import write as written
    from perfscope.studies.common.document import STUDY_FILE
    from perfscope.studies.common.places import with_links

    place, page = results_in(output, document=STUDY_FILE, page=PAGE_FILE)
    study = with_links(study, page)
    document = written.as_json(study)
    write(place, document)
    for name, content in (beside or {}).items():
        write_text(place.with_name(name), content)
    with writing(page):
        write_page(study, page)
    if forms.tables is not None:
        write_tables(contexts(study), forms.tables)
    if is_told:
        told = last.format(page=page, folder=page.parent)
        answer(document, partial(_print_study, study), as_json=forms.as_json, last=told)
    failed = gates()
    for reason in failed:
        tell(f"Gate failed: {reason}")
    return ExitCode.GATE_FAILED if failed else ExitCode.OK


def write_reports(runs: Sequence[StudyRun]) -> None:
    """Writes the reports that are missing; where one cannot be written the study has no link."""
    from perfscope.report.build import write_report
    from perfscope.studies.common.places import report_of

    for run in runs:
        report = report_of(run.path)
        if report.is_file():
            continue
        try:
            write_report(run.result, report)
        except OSError as error:
            tell(f"{report} cannot be written: {error.strerror}")


def write_tables(contexts: Any, directory: Path) -> None:
    """Writes the tables of a page as CSV files.

    Raises:
        PerfscopeError: they cannot be written there.
    """
    from perfscope.report import csv

    with writing(directory):
        csv.write_tables(contexts, directory)


def write_text(path: Path, text: str) -> None:
    """Writes a text where the user wants it.

    Raises:
        PerfscopeError: it cannot be written there.
    """
    from perfscope.files import write_output

    with writing(path):
        write_output(path, text.encode("utf-8"))


def write_junit(path: Path | None, command: str, cases: Sequence[Case]) -> None:
    """Writes what a command judged as a JUnit report, where one is wanted; see `write_text`."""
    if path is not None:
        from perfscope.integrations.junit import junit

        write_text(path, junit(command, cases))


def _print_study(study: Study, console: Console) -> None:
    from perfscope.report.studies.terminal import print_study

    print_study(study, console)


def results_in(output: Path, *, document: str, page: str) -> tuple[Path, Path]:
    """Where the document and the page go that `-o` asks for.

    A name that ends with .html is that of the page: the document then stands beside it, as
    `name.json`.
    """
    if output.suffix.lower() in PAGE_SUFFIXES and not output.is_dir():
        return output.with_suffix(".json"), output
    return output / document, output / page


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Says which file could not be written, and why.

    Raises:
        PerfscopeError: in the place of an OSError.
    """
    from perfscope.document.build import unwritable

    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error
