"""`perfscope export TRACE --to FORMAT`: writes a trace for other tools."""

from pathlib import Path

import click

from perfscope.cli.options import output_option, paths_argument, verbose_option
from perfscope.errors import ExitCode, UsageError
from perfscope.output import say, tell

# \b keeps click from folding the lines behind it.
_HELP = """Write a trace for other tools; nothing that exists is overwritten.

\b
otf2      Vampir, Cube, Scalasca, otf2-print; a directory (pip install otf2)
chrome    ui.perfetto.dev, chrome://tracing; a JSON file, or .json.gz
perfetto  ui.perfetto.dev, Perfetto's trace processor; a file, or .gz
parquet   pandas, DuckDB, Spark; a file a table (pip install pyarrow)
csv       spreadsheets, R and all others; a file a table

\b
perfscope export trace/ --to chrome
perfscope export trace/ --to chrome -o run.json.gz
perfscope export trace/ --to otf2 -o archive/
perfscope export trace/ --to parquet -o tables/
"""


@click.command(help=_HELP)
@paths_argument("paths", "TRACE...")
@click.option(
    "--to",
    "target_name",
    required=True,
    metavar="FORMAT",
    help="otf2, chrome, perfetto, parquet or csv.",
)
@output_option(
    "OUT", "The file or directory to make [default: the trace's name in the current directory]."
)
@verbose_option
def export(paths: tuple[Path, ...], *, target_name: str, output: Path | None) -> int:
    """Write a trace for other tools."""
    from perfscope.dataframes.source import Source
    from perfscope.export.target import (
        completed,
        default_output,
        refuse_existing,
        refuse_without_events,
        targets,
    )
    from perfscope.readers.registry import open_traces

    known = targets()
    if target_name not in known:
        raise UsageError(
            f"There is no format {target_name!r} to export to.",
            why="--to takes the name of a format.",
            action=f"Use one of: {', '.join(known)}.",
        )
    target = known[target_name]
    place = output or default_output(paths[0], target)
    target.check()
    refuse_existing(place)
    trace = open_traces(paths)
    if target.needs_events:
        refuse_without_events(trace)
    source = Source(trace)
    with completed(place) as path:
        notes = target.write(source, path)
    for note in notes:
        tell(f"Note: {note}")
    say(f"Written: {place}")
    return ExitCode.OK
