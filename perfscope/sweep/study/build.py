"""The document of a sweep: study.json, from the directory of a sweep alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from perfscope.schema.study import StudyRunRow
from perfscope.schema.sweep_result import (
    ConfigurationResult,
    NoiseBetweenRepeats,
    SweepObjective,
    SweepResult,
    VariedAxis,
)
from perfscope.sweep.study import fabric, why
from perfscope.sweep.study.model import FAILED, MISSING, REFUSED, Result, Sweep, measure
from perfscope.sweep.study.runs import load
from perfscope.sweep.study.stored import read_plan


def read(place: Path, *, progress: Callable[[str], None] = lambda _: None) -> Sweep:
    """What the runs measured that are finished in a directory.

    Raises:
        UnreadableInputError: it holds no plan that can be read.
    """
    plan = read_plan(place)
    return measure(plan, load(plan, progress=progress))


class Parts(TypedDict):
    """What the document of a sweep is made of, beside its findings; see `study_of`."""

    runs: Sequence[StudyRunRow]
    body: SweepResult
    verdict: Callable[[object], tuple[str, str]]
    how_measured: Sequence[tuple[str, str]]


def parts(sweep: Sweep) -> Parts:
    """What study.json says of a sweep, before its diagnoses judge it."""
    return {
        "runs": [run.row() for run in sweep.runs],
        "body": _body(sweep),
        "verdict": lambda _: _verdict(sweep),
        "how_measured": _how_measured(sweep),
    }


def _body(sweep: Sweep) -> SweepResult:
    plan, best, noise = sweep.plan, sweep.best, sweep.noise
    return SweepResult(
        command=plan.command,
        recording=plan.recording,
        repeat=plan.repeat,
        time_limit_s=plan.time_limit_s,
        search=plan.search,
        cpus=plan.cpus,
        axes=tuple(
            VariedAxis(axis.name, axis.kind, axis.values, axis.numbers) for axis in sweep.axes
        ),
        objective=SweepObjective(
            **vars(sweep.objective),
            reason=sweep.objective_reason or None,
            caution=sweep.caution or None,
        ),
        quality=_quality_name(sweep),
        configurations=tuple(_configuration(sweep, result) for result in sweep.results),
        best=None if best is None else best.number,
        best_reason=sweep.no_best or None,
        contenders=noise.numbers,
        noise=NoiseBetweenRepeats(
            noise.noise, noise.span, noise.reason or None, noise.repeats_needed
        ),
        why=why.explanations(sweep),
        memory=why.memory_warning(sweep) or None,
        constant={axis.name: axis.values[0] for axis in sweep.axes if len(axis.values) == 1},
        fabric=fabric.comparison(sweep),
    )


def _configuration(sweep: Sweep, result: Result) -> ConfigurationResult:
    one, best = result.configuration, sweep.best
    return ConfigurationResult(
        number=one.number,
        label=one.label,
        values=one.values,
        environment=one.environment,
        command=one.command,
        ranks=one.ranks,
        threads=one.threads,
        status=result.status,
        reason=result.reason or None,
        end=next((run.stored.end for run in result.runs if run.failure), None),
        runs=len(result.runs),
        failed_runs=sum(bool(run.failure) for run in result.runs),
        speeds=result.speeds,
        speed=result.speed,
        speed_interval=sweep.noise.intervals.get(result.number),
        is_best=best is not None and result.number == best.number,
        may_be_best=result.number in sweep.noise.numbers and not sweep.noise.reason,
        quality=result.quality,
        factors=result.factors,
    )


def _quality_name(sweep: Sweep) -> str | None:
    names = [run.quality.name for run in sweep.runs if run.quality is not None]
    return names[0] if names else None


def _verdict(sweep: Sweep) -> tuple[str, str]:
    plan, best, count = sweep.plan, sweep.best, len(sweep.results)
    counts = {
        words: sum(result.status == status for result in sweep.results)
        for status, words in (
            (FAILED, "failed"),
            (REFUSED, "not run (too few CPUs)"),
            (MISSING, "not run yet" if plan.search is None else "not tried"),
        )
    }
    measured = len(sweep.measured)
    rest = "; ".join(f"{number} of {count} {words}" for words, number in counts.items() if number)
    if sweep.no_best:
        told = f"{measured} configurations were measured, and none is named the best"
        return "warn", f"{told}: {sweep.no_best}{f' ({rest})' if rest else ''}."
    if best is None or best.speed is None:
        if not sweep.runs:
            return "info", f"None of the {count} configurations has been run yet."
        return "fail", f"No configuration was measured: {rest}."
    unit = sweep.objective.unit
    said = f"{_written(best.speed)} {unit} with {best.configuration.named}"
    if measured < 2:
        sentence = f"{said}, the only configuration that was measured"
    else:
        sentence = f"Fastest of {measured}: {said}{_lead(sweep)}"
    if rest:
        sentence += f" ({rest})"
    if sweep.caution:
        return "warn", f"{sentence}. Careful: {sweep.caution}."
    is_told = len(sweep.noise.numbers) < measured or measured < 2
    return ("info" if rest else "pass") if is_told else "warn", f"{sentence}."


def _lead(sweep: Sweep) -> str:
    """How far the best is from the others, and whether that is more than noise."""
    fastest, slowest = sweep.measured[0], sweep.measured[-1]
    assert fastest.speed is not None
    assert slowest.speed is not None
    lead = f", {fastest.speed / slowest.speed:.2f} times the slowest"
    if sweep.noise.reason:
        return f"{lead}; whether that exceeds the noise is unknown, as {sweep.noise.reason}"
    others = len(sweep.noise.numbers) - 1
    if others:
        noun = "configuration is" if others == 1 else "configurations are"
        return f"{lead}; {others} other {noun} within its noise"
    return f"{lead}, which is more than noise explains"


def _written(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


_METHODS = (
    (
        "Interval, and within the noise",
        (
            "Both use one estimate of noise: the standard deviation of runs of the same "
            "configuration, on logarithms, pooled over all configurations. By Hsu's multiple "
            "comparisons with the best, a configuration is slower if the fastest leads by more "
            "than this noise explains (5 % for all comparisons together, by Bonferroni's rule). "
            "The intervals are as wide as that rule makes them: one overlaps that of the fastest "
            "exactly if its configuration is not known to be slower. For a single configuration "
            "it is the 95 % confidence interval of the median."
        ),
    ),
    (
        "Why",
        (
            "Speed = ranks × parallel efficiency × work speed, where the work speed is the work of "
            "a rank in a second outside communication. A ratio of two speeds is the product of "
            "these three ratios."
        ),
    ),
)
_IN_ROUNDS = (
    "In rounds: each configuration once per round, reshuffled in every round with a fixed seed, so "
    "that drift over time affects all configurations alike."
)
_SEARCHED = "Chosen one by one by Optuna's TPE sampler with a fixed seed, from the runs before."


def _how_measured(sweep: Sweep) -> list[tuple[str, str]]:
    plan, objective = sweep.plan, sweep.objective
    why = f" It is used because {sweep.objective_reason}." if sweep.objective_reason else ""
    found = [
        (objective.label, f"{objective.meaning} The median of a configuration's runs counts.{why}"),
        ("Order of the runs", _IN_ROUNDS if plan.search is None else _SEARCHED),
        *_METHODS,
    ]
    if plan.recording:
        found.append(("Part of the training", f"perfscope run {' '.join(plan.recording)}"))
    return found
