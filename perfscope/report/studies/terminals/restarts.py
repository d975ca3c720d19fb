"""What the terminal prints of a job in several attempts."""

from rich.console import Console

from perfscope.report.studies.sections.restarts import attempts, found_in, interval
from perfscope.report.studies.terminal import StudyTerminal, print_table
from perfscope.report.terminal import line
from perfscope.schema.study import Study


def _print(study: Study, console: Console) -> None:
    found = found_in(study)
    print_table(attempts(found), console)
    if advice := interval(found):
        console.print()
        line(console, advice)


TERMINAL = StudyTerminal("restarts", _print)
