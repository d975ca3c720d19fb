"""What a command that makes a document says on stdout: JSON, or a summary for people."""

from __future__ import annotations

from typing import Any

from perfscope.output import say_json


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
