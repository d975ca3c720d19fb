"""What a command that makes a document leaves behind, and says on stdout: JSON, or a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfscope.output import say_json

PAGE_SUFFIXES = (".html", ".htm")


def answer(document: dict[str, Any], *, as_json: bool, last: str) -> None:
    """Prints a document of a run or of a study.

    Args:
        document: as written to analysis.json or study.json; that of a study tells its kind.
        as_json: print it as it is.
        last: the line below the summary, which says where to look.
    """
    from perfscope.document.build import dumps

    if as_json:
        say_json(dumps(document))
        return
    from perfscope.report.console import console as of_stdout
    from perfscope.report.terminal import line

    console = of_stdout()
    if "kind" in document:
        from perfscope.report.studies.terminal import print_study

        print_study(document, console)
    else:
        from perfscope.report.terminal import print_summary

        print_summary(document, console)
    console.print()
    line(console, last)


def results_in(output: Path, *, document: str, page: str) -> tuple[Path, Path]:
    """Where the document and the page go that `-o` asks for.

    Args:
        output: a directory, or the page itself by a name that ends with .html: the document then
            stands beside it, as `name.json`.
        document: name of the document in a directory.
        page: that of the page.
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


def write_study_files(
    document: dict[str, Any], output: Path, beside: Mapping[str, str] | None = None
) -> Path:
    """Writes study.json, files beside it and the page; returns the page.

    Args:
        document: of the study.
        output: where to, made when it is not there; see `results_in`.
        beside: further files by name.

    Raises:
        PerfscopeError: one of them cannot be written.
    """
    from perfscope.document.build import write
    from perfscope.files import replace_file
    from perfscope.report.studies.build import PAGE_FILE, write_page
    from perfscope.studies.common.document import STUDY_FILE

    place, page = results_in(output, document=STUDY_FILE, page=PAGE_FILE)
    write(place, document)
    for name, content in (beside or {}).items():
        with writing(place.with_name(name)):
            replace_file(place.with_name(name), content.encode("utf-8"))
    with writing(page):
        write_page(document, page)
    return page
