"""What else differs between the sides: versions, variables, hosts, ranks, pinning, transport."""

import shlex
from collections.abc import Callable, Sequence

from perfscope.schema.compare import SideDifference
from perfscope.studies.common.comparable import are_different, programs
from perfscope.studies.common.measures import Measure
from perfscope.studies.common.run import PINNING_PREFIXES, TRANSPORT_PREFIXES, StudyRun, starting
from perfscope.studies.compare.sides import Side

MOST_VALUES = 3  # different ones of a side that are spelled out
# Of the launcher and of one rank: they differ between any two runs and say nothing.
OF_ONE_RANK = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
               "SLURM_PROCID", "SLURM_LOCALID", "RANK", "LOCAL_RANK", "PMI_JOBID", "SLURM_JOB_ID",
               "PMIX_NAMESPACE", "MASTER_PORT")  # fmt: skip


def differences(sides: Sequence[Side]) -> tuple[SideDifference, ...]:
    """Rows of what is not alike on all sides.

    A side whose runs disagree among themselves is named too: then its repeats are none.
    """
    rows = [_row(kind, name, read, sides) for kind, name, read in _FACTS]
    tables: tuple[tuple[str, Callable[[StudyRun], dict[str, str]]], ...] = (
        ("version", lambda run: run.result.run.versions),
        ("variable", _plain_variables),
        ("transport", lambda run: starting(run.result.run.environment, TRANSPORT_PREFIXES)),
        ("pinning", lambda run: run.pinning),
    )
    for kind, table in tables:
        names = {name for side in sides for run in side.runs for name in table(run)}
        rows += [_row(kind, name, _entry(table, name), sides) for name in sorted(names)]
    return tuple(row for row in rows if row is not None)


def unlike(sides: Sequence[Side], measure: Measure) -> list[str]:
    """Sentences on why the sides cannot be compared like with like; empty when they can."""
    found = [sentence] if (sentence := different_programs(sides)) else []
    for what, read in (
        ("ranks", lambda run: _of_job(run, run.ranks)),
        ("hosts", lambda run: len(run.hosts) or None),
        ("batch size", lambda run: run.result.run.batch_size),
        ("devices", lambda run: _of_job(run, run.devices)),
    ):
        values = [_known(read, side) for side in sides]
        if len({tuple(v) for v in values if v}) > 1:
            told = "; ".join(
                f"{side.label} has {_joined(v) if v else 'an unknown number'}"
                for side, v in zip(sides, values, strict=True)
            )
            found.append(f"The sides differ in their {what}: {told}.")
    if measure.id in ("wall", "focus"):
        counts = [_known(lambda run: run.throughput.steps, side) for side in sides]
        if len({tuple(v) for v in counts if v}) > 1:
            told = "; ".join(
                f"{side.label} did {_joined(v)}" for side, v in zip(sides, counts, strict=True) if v
            )
            found.append(f"The sides did different numbers of steps: {told}.")
    return found


def different_programs(sides: Sequence[Side]) -> str:
    """That the sides run different programs, so that no difference means anything; else ""."""
    found = [programs(side.runs) for side in sides]
    if len({*found} - {()}) < 2:
        mixed = next((names for names in found if names), ())
        return are_different(mixed, who="The runs of each side")
    told = "; ".join(
        f"{side.label} ran {_joined(names) if names else 'an unknown program'}"
        for side, names in zip(sides, found, strict=True)
    )
    return f"The sides are different programs: {told}."


def _known(read: Callable[[StudyRun], int | None], side: Side) -> list[str]:
    return sorted({f"{value:,}" for run in side.runs if (value := read(run)) is not None})


def _joined(values: Sequence[str]) -> str:
    return " and ".join(values)


def _of_job(run: StudyRun, number: int | None) -> int | None:
    """A number of ranks or devices, None where those of the files need not be all."""
    return None if run.unknown_size else number


def _in_words(run: StudyRun, number: int | None) -> str:
    return f"at least {number}" if number and run.unknown_size else str(number or "")


def _command(run: StudyRun) -> str:
    return shlex.join(run.result.run.command)


def _commit(run: StudyRun) -> str:
    commit = run.result.run.commit
    return commit.text if commit is not None else ""


_FACTS: tuple[tuple[str, str, Callable[[StudyRun], str]], ...] = (
    ("program", "commit", _commit),
    ("program", "command", _command),
    ("job", "ranks", lambda run: _in_words(run, run.ranks)),
    ("job", "batch size", lambda run: str(run.result.run.batch_size or "")),
    ("job", "steps", lambda run: str(run.throughput.steps or "")),
    ("job", "launcher", lambda run: run.result.run.launcher),
    ("machine", "hosts", lambda run: ", ".join(run.hosts)),
    ("machine", "CPUs", lambda run: str(run.cores or "")),
    ("machine", "accelerators", lambda run: _in_words(run, run.devices)),
)


def _plain_variables(run: StudyRun) -> dict[str, str]:
    special = (*TRANSPORT_PREFIXES, *PINNING_PREFIXES)
    return {
        name: value
        for name, value in run.result.run.environment.items()
        if not name.startswith(special) and name not in OF_ONE_RANK
    }


def _entry(table: Callable[[StudyRun], dict[str, str]], name: str) -> Callable[[StudyRun], str]:
    return lambda run: table(run).get(name, "")


def _row(
    kind: str, name: str, read: Callable[[StudyRun], str], sides: Sequence[Side]
) -> SideDifference | None:
    values = [sorted({read(run) for run in side.runs}) for side in sides if side.runs]
    if len({tuple(found) for found in values}) <= 1 and all(len(found) <= 1 for found in values):
        return None
    told = tuple(_text(sorted({read(run) for run in side.runs})) for side in sides)
    return SideDifference(kind, name, told, any(len(found) > 1 for found in values))


def _text(values: Sequence[str]) -> str | None:
    """The values of a side in words; None where it has none."""
    if not any(values):
        return None
    shown = " | ".join(value or "(not set)" for value in values[:MOST_VALUES])
    left = len(values) - MOST_VALUES
    return f"{shown} | {left} more" if left > 0 else shown
