"""`perfscope run -- COMMAND`: starts a job and records it."""

from pathlib import Path
from typing import Any

import click

from perfscope.cli.options import output_option
from perfscope.record.launch import (
    DEFAULT_GPU_HZ,
    DEFAULT_HZ,
    DEFAULT_MAX_BYTES,
    DEFAULT_STACK_HZ,
    DEFAULT_STACKS_HZ,
)
from perfscope.record.rundir import DEFAULT_NAME
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
            self.fail(f"{value!r} is too small; the minimum is 1M", param, ctx)
        return size_bytes


class Steps(click.ParamType[tuple[int, "int | None"]]):
    """A range of steps such as 20:30."""

    name = "steps"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int | None]:
        """First step, and the step before which it ends, None the last."""
        first, separator, end = str(value).partition(":")
        numbers = [text for text in (first, end) if text]
        is_sound = separator and numbers and all(t.isascii() and t.isdigit() for t in numbers)
        if not is_sound or max(map(len, numbers)) > 9 or (end and int(end) <= int(first or 0)):
            self.fail(f"{value!r} is not a range of steps; write it as 20:30", param, ctx)
        return int(first or 0), int(end) if end else None


class _Window(click.ParamType[tuple[int, int]]):
    """A closed range of steps for a profiler, written like every range of steps."""

    name = "steps"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """The first and the last step."""
        first, end = Steps().convert(value, param, ctx)
        if end is None:
            self.fail(f"{value!r} has no end; write it as 20:30", param, ctx)
        return first, end - 1


class _Ranks(click.ParamType[tuple[int, ...]]):
    """Rank numbers such as 0,4-7."""

    name = "ranks"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The numbers, each once, in order."""
        numbers: set[int] = set()
        for part in str(value).split(","):
            first, separator, last = part.partition("-")
            texts = (first, last if separator else first)
            if not all(t.isascii() and t.isdigit() and len(t) < 8 for t in texts):
                self.fail(f"{value!r} is no list of ranks; write it as 0,4-7", param, ctx)
            if int(texts[1]) - int(texts[0]) > _MOST_RANKS:
                self.fail(f"{value!r} names more ranks than there can be", param, ctx)
            numbers.update(range(int(texts[0]), int(texts[1]) + 1))
        if not numbers:
            self.fail(f"{value!r} names no rank; write it as 0,4-7", param, ctx)
        return tuple(sorted(numbers))


class _MemoryDetail(click.ParamType[tuple[int, str]]):
    """A rank, and perhaps what records its allocations: 0 or 0:memray."""

    name = "rank"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, str]:
        """The rank and the engine, "" for memray."""
        rank, _, engine = str(value).partition(":")
        if not (rank.isascii() and rank.isdigit() and len(rank) < 8):
            self.fail(f"{value!r} does not begin with a rank; write it as 0", param, ctx)
        if engine not in ("", *_MEMORY_ENGINES):
            known = " or ".join(_MEMORY_ENGINES)
            self.fail(f"{engine!r} is not known; write 0:{known}", param, ctx)
        return int(rank), engine


_MOST_RANKS = 1 << 20
_MEMORY_ENGINES = ("memray", "tracemalloc", "memory_profiler")
_LEAST_BYTES = 1024 * 1024
_RATE = click.IntRange(min=0, max=1000)
_GPU_RATE = click.IntRange(min=0, max=20)
_STACK_RATE = click.IntRange(min=0, max=50)


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
@output_option(
    "DIR",
    f"Run directory [default: {DEFAULT_NAME}]; never overwritten, numbered when taken.",
    default=Path(DEFAULT_NAME),
)
@click.option(
    "--max-size",
    "max_size_bytes",
    type=_Size(),
    default=DEFAULT_MAX_BYTES,
    metavar="SIZE",
    help="Limit per process [default: 256M]; beyond it whole steps are left out, never totals.",
)
@click.option(
    "--sample-hz",
    type=_RATE,
    default=DEFAULT_HZ,
    show_default=True,
    help="Samples per second of memory, threads and CPU; 0: off.",
)
@click.option(
    "--stack-hz",
    type=_STACK_RATE,
    default=DEFAULT_STACK_HZ,
    show_default=True,
    help="Maximum Python stack samples per second; 0: off.",
)
@click.option(
    "--gpu-hz",
    type=_GPU_RATE,
    default=DEFAULT_GPU_HZ,
    show_default=True,
    help="Samples per second of NVIDIA GPUs, through their driver; 0: off.",
)
@click.option(
    "--steps",
    type=Steps(),
    metavar="A:B",
    help="Record single MPI calls only from step A up to, not including, step B; totals: always.",
)
@click.option(
    "--stop-after",
    type=click.IntRange(min=0),
    metavar="N",
    help="Stop the job (SIGTERM) after step N of rank 0; perfscope then exits with 0.",
)
@click.option(
    "--torch-profiler",
    type=_Window(),
    metavar="A:B",
    help="Run PyTorch's profiler from step A up to, not including, step B; one trace per rank.",
)
@click.option(
    "--tf-profiler",
    type=_Window(),
    metavar="A:B",
    help="Run TensorFlow's profiler from step A up to, not including, step B.",
)
@click.option(
    "--stacks",
    is_flag=True,
    help="Sample the stacks of all Python processes of the job with py-spy: flame graphs by phase.",
)
@click.option(
    "--stacks-hz",
    type=click.IntRange(min=1, max=1000),
    default=DEFAULT_STACKS_HZ,
    show_default=True,
    help="Samples per second of --stacks.",
)
@click.option(
    "--stacks-ranks",
    type=_Ranks(),
    metavar="LIST",
    help="Only these ranks, such as 0,4-7 [default: all].",
)
@click.option(
    "--memory-detail",
    type=_MemoryDetail(),
    metavar="RANK[:ENGINE]",
    help="Record which lines of this rank hold memory, with memray or a slower ENGINE.",
)
@click.option(
    "--nccl-profiler",
    is_flag=True,
    help="Have NCCL tell when its kernels ran, by its profiler plugin interface (v4 or v5).",
)
@click.option(
    "--on-hang",
    "on_hang_s",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="Save all ranks' stacks and pending collectives when none makes progress for this long.",
)
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
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
    from perfscope.record.job import record
    from perfscope.record.launch import RecordingOptions

    options = RecordingOptions(**recording)
    ctx.exit(record(command, output=output, options=options, quiet=quiet))
