"""`perfscope watch DIR`: a job while it runs."""

from contextlib import nullcontext
from pathlib import Path

import click

from perfscope.cli.answer import writing
from perfscope.cli.options import path_option, verbose_option
from perfscope.errors import ExitCode

# \b keeps click from folding the lines behind it.
_HELP = """Show a job while it runs: rates, efficiency, who waits for whom, memory, hangs.

DIR is what `perfscope run` writes to, from any shell or node that sees it; nothing is asked of the
job. Ends with the job; Ctrl-C ends it earlier.

\b
perfscope watch trace/
perfscope watch trace/ --html live.html     a page that reloads itself
perfscope watch trace/ --once               a snapshot; exit code 1 if stalled
"""


@click.command(help=_HELP)
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Print one snapshot and exit.")
@path_option("--html", metavar="FILE", text="Write an HTML page instead, again and again.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(0.5, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two updates.",
)
@click.option(
    "--window",
    "window_s",
    type=click.FloatRange(1, 86400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time over which rates and efficiencies are taken.",
)
@click.option(
    "--stalled-after",
    "stall_s",
    type=click.FloatRange(0.5, 86400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Call the job stalled when no rank makes progress for this long.",
)
@click.option("--all-ranks", is_flag=True, help="Show every rank, however many there are.")
@verbose_option
def watch(
    path: Path,
    *,
    once: bool,
    html: Path | None,
    interval_s: float,
    window_s: float,
    stall_s: float,
    all_ranks: bool,
) -> int:
    """Show a job while it runs."""
    from perfscope.report.console import console
    from perfscope.watch.live import View, show, show_once

    view = View(path, html, interval_s, window_s, stall_s, all_ranks)
    is_terminal = console().is_terminal
    with nullcontext() if html is None else writing(html):
        if once or not (is_terminal or html):
            picture = show_once(view)
        else:
            picture = show(view, is_terminal=is_terminal)
    is_stalled = not picture.is_over and picture.stalled_s >= stall_s
    return ExitCode.GATE_FAILED if is_stalled else ExitCode.OK
