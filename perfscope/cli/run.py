"""`perfscope run -- COMMAND`: starts a job and records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perfscope.collect.launch import DEFAULT_HZ, DEFAULT_MAX_BYTES
from perfscope.collect.rundir import DEFAULT_NAME
from perfscope.units import parse_bytes


class _Size(click.ParamType[int]):
    """A size such as 256M."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The size in bytes."""
        if isinstance(value, int):
            return value
        try:
            size_bytes = parse_bytes(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a size; write it as 256M or 1G", param, ctx)
        if size_bytes < _LEAST_BYTES:
            self.fail(f"{value!r} is too little; give at least 1M", param, ctx)
        return size_bytes


class _Steps(click.ParamType[tuple[int, int]]):
    """A window of steps such as 10:12."""

    name = "steps"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The first and the last step."""
        if isinstance(value, tuple):
            return value
        first, _, last = str(value).partition(":")
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
            self.fail(f"{value!r} is no window of steps; write it as 10:12", param, ctx)
        return int(first), int(last)


_LEAST_BYTES = 1024 * 1024
_RATE = click.IntRange(min=0, max=1000)
_STACK_RATE = click.IntRange(min=0, max=10)


# \b keeps click from folding the lines behind it.
_HELP = """Start COMMAND and record it; its output, signals and exit code stay its own.

\b
perfscope run -- mpirun -n 4 python train.py
perfscope run --output runs/baseline -- python train.py
"""


@click.command(
    help=_HELP,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    default=Path(DEFAULT_NAME),
    metavar="DIR",
    help=f"Run directory [default: {DEFAULT_NAME}]; never overwritten, numbered when taken.",
)
@click.option(
    "--max-size",
    "max_size_bytes",
    type=_Size(),
    default=DEFAULT_MAX_BYTES,
    metavar="SIZE",
    help="Most that one process may write [default: 256M]; beyond it only totals are kept.",
)
@click.option(
    "--sample-hz",
    type=_RATE,
    default=DEFAULT_HZ,
    show_default=True,
    help="Samples of memory, threads and CPU per second; 0 for none.",
)
@click.option(
    "--stack-hz",
    type=_STACK_RATE,
    default=DEFAULT_HZ,
    show_default=True,
    help="Samples of the Python stack per second; 0 for none.",
)
@click.option(
    "--torch-profiler",
    type=_Steps(),
    default=None,
    metavar="A:B",
    help="PyTorch's profiler for steps A to B, counted from 0; one trace a rank, not analysed.",
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but what went wrong.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(
    ctx: click.Context,
    /,
    *,
    output: Path,
    quiet: bool,
    command: tuple[str, ...],
    **recording: Any,
) -> None:
    """Records a command and ends with its exit code."""
    from perfscope.collect.launch import RecordingOptions
    from perfscope.collect.record import record

    options = RecordingOptions(**recording)
    ctx.exit(record(command, output=output, options=options, quiet=quiet))
