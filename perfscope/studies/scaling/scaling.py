"""`perfscope scaling`: what more ranks, cores, GPUs or nodes give, where they are lost, and why."""

from collections.abc import Sequence
from statistics import median

from perfscope.errors import UsageError
from perfscope.metrics.efficiency.scalability import Variant
from perfscope.schema.enums import COMMUNICATION_ACCOUNTS
from perfscope.schema.scaling import Amdahl, Composition, ExtraP, ScaledLoss, Spread, Superlinear
from perfscope.schema.time import Phase
from perfscope.structures import dataclass
from perfscope.studies.common.comparable import left_out_of_sizes
from perfscope.studies.common.run import StudyRun
from perfscope.studies.common.spent import ONCE
from perfscope.studies.scaling import models
from perfscope.studies.scaling.growth import Growth, growth, trained_samples, whole_rate
from perfscope.studies.scaling.laws import Sizes, laws_of, sizes_of
from perfscope.studies.scaling.losses import scaled_losses
from perfscope.studies.scaling.oversubscription import oversubscribed
from perfscope.studies.scaling.pop_table import PopTable, pop_table, totals_of
from perfscope.studies.scaling.series import Axis, Point, choose_axis, fold
from perfscope.studies.scaling.superlinear import superlinear

EXCHANGE = "communication"
NOT_DIVIDED = "Amdahl's law is about work that is divided, not about communication"


@dataclass(frozen=True)
class Speedup:
    """One size against the smallest; ideal is `ratio`."""

    # run time, or time in a phase of the rank that spent most in it; None where missing
    time_s: Spread | None
    # t(first)/t, times the work of this size over that of the first where it is more or less than
    # that
    speedup: float | None
    efficiency: float | None  # speedup over ratio


@dataclass(frozen=True)
class Part:
    """A part of the run over all sizes: the whole, a phase, or communication."""

    id: str  # `run`, the id of a phase, or `communication`
    label: str  # for people
    ranks: tuple[int, ...] | None  # how many ranks enter it at each size, None for the whole
    values: tuple[Speedup, ...]  # one by size
    amdahl: Amdahl | str  # a law of its time, or why there is none
    model: models.Model | str  # a law of its time, or why there is none
    extra_p: ExtraP | str  # the model that Extra-P chooses, or why there is none


@dataclass(frozen=True)
class Throughput:
    """Training samples per second at one size, by both clocks."""

    samples_per_s: Spread | None  # of the whole focus of analysis
    speedup: float | None  # of that, against the smallest size
    efficiency: float | None  # of that, against the smallest size
    # samples of a step over its median time: what a log line shows
    step_samples_per_s: Spread | None
    step_speedup: float | None  # of that


@dataclass(frozen=True)
class Scaling:
    """Everything that a scaling study found."""

    runs: tuple[StudyRun, ...]  # in the order given, also those that do not count
    axis: Axis  # what the sizes are of
    axis_reason: str  # why that
    points: tuple[Point, ...]  # runs by size
    growth: Growth  # strong or weak
    whole: Part  # the run time
    phases: tuple[Part, ...]  # each phase, then communication
    throughput: tuple[Throughput, ...]  # one by size
    table: PopTable  # the POP table
    variant: Variant  # of serialization and transfer efficiency
    superlinear: tuple[Superlinear, ...]  # sizes above ideal
    composition: Composition  # where the time of a rank goes
    # training work and what the time is lost to; empty without loss accounts
    losses: tuple[ScaledLoss, ...]
    # of each size, how many threads shared how few CPUs; "" where they did not
    oversubscribed: tuple[str, ...]
    left_out: tuple[tuple[StudyRun, str], ...] = ()  # runs that do not count, with the reason

    @property
    def counted(self) -> tuple[StudyRun, ...]:
        """The runs that count."""
        return tuple(run for run in self.runs if not left_out_of_sizes(run))

    @property
    def fitting(self) -> tuple[int, ...]:
        """Places of the sizes at which every thread had a CPU."""
        return tuple(place for place, shared in enumerate(self.oversubscribed) if not shared)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes on the axis."""
        return tuple(point.size for point in self.points)

    def ratio(self, place: int) -> float:
        """A size over the smallest: the ideal speed-up."""
        return self.points[place].size / self.points[0].size


def scaling(
    runs: Sequence[StudyRun],
    *,
    axis: Axis | None = None,
    weak: bool | None = None,
    variant: Variant = Variant.POP,
) -> Scaling:
    """The study of some runs of one program at different sizes.

    Runs that failed or were killed, or whose size nobody knows, do not count. The axis is chosen
    where it is None, and `weak` told from the runs.

    Raises:
        UsageError: no run counts, the axis is not known of a run, or runs of one size are no
            repeats.
    """
    counted, dropped = _divided(runs)
    for run in counted:
        if length(run) <= 0:
            raise UsageError(
                f"{run.label} has no length.",
                why="Its focus of analysis is empty, so no speed-up can be told.",
                action="Leave it out, or analyze it alone: perfscope analyze.",
            )
    chosen, reason = choose_axis(counted, axis)
    points = fold(counted, chosen)
    totals = [totals_of(point.representative) for point in points]
    grown = growth(points, totals, wanted=weak)
    table = pop_table(points, grown, variant=variant)
    whole = _part("run", "Whole run", points, [[length(r) for r in p.runs] for p in points], grown)
    return Scaling(
        runs=tuple(runs),
        axis=chosen,
        axis_reason=reason,
        points=points,
        growth=grown,
        whole=whole,
        phases=_phases(points, grown),
        throughput=_throughput(points),
        table=table,
        variant=variant,
        superlinear=superlinear(
            points, chosen, [value.efficiency for value in whole.values], table
        ),
        composition=_composition(points),
        losses=scaled_losses(points, grown),
        oversubscribed=tuple(map(oversubscribed, points)),
        left_out=tuple(dropped),
    )


def _divided(runs: Sequence[StudyRun]) -> tuple[list[StudyRun], list[tuple[StudyRun, str]]]:
    """The runs that count, and the others with the reason.

    Who dies early only seems fast, and of an unknown size there is no speed-up.
    """
    dropped = [(run, reason) for run in runs if (reason := left_out_of_sizes(run))]
    counted = [run for run in runs if not left_out_of_sizes(run)]
    if not counted:
        run, reason = dropped[0]
        raise UsageError(
            "None of the runs counts.",
            why=f"{run.label}: {reason}.",
            action="Give runs that came to their end, each with the files of all its ranks.",
        )
    return counted, dropped


def length(run: StudyRun) -> float:
    """T: the run time that efficiencies are over."""
    return totals_of(run).runtime_s


def phase_seconds(phase: Phase | None) -> float | None:
    """Time in a phase of the rank that spent most in it."""
    return max(phase.seconds_by_rank, default=0.0) if phase is not None else None


def communication_s(run: StudyRun) -> float:
    """Mean seconds of a rank in communication, waiting included."""
    spent = sum(run.spent_s(account.value) for account in COMMUNICATION_ACCOUNTS)
    return run.of_mean_rank(spent)


def _phases(points: Sequence[Point], grown: Growth) -> tuple[Part, ...]:
    names: dict[str, str] = {}
    for point in points:
        for phase in point.representative.result.phases:
            names.setdefault(phase.id, phase.label or phase.id)
    parts = []
    for identity, label in names.items():
        values = [[phase_seconds(run.phase(identity)) for run in p.runs] for p in points]
        entered = [p.representative.phase(identity) for p in points]
        ranks = tuple(len(phase.ranks) if phase else 0 for phase in entered)
        parts.append(_part(identity, label, points, values, grown, ranks=ranks))
    values = [[communication_s(run) for run in point.runs] for point in points]
    if any(value for group in values for value in group):
        ranks = tuple(point.ranks for point in points)
        label = "Communication (mean of the ranks)"
        parts.append(_part(EXCHANGE, label, points, values, grown, ranks=ranks))
    return tuple(parts)


def _part(
    identity: str,
    label: str,
    points: Sequence[Point],
    values: Sequence[Sequence[float | None]],
    grown: Growth,
    *,
    ranks: tuple[int, ...] | None = None,
) -> Part:
    """A part from its seconds by point and repeat."""
    times = [_spread(group) for group in values]
    reference = times[0]
    found = []
    for point, time, factor in zip(points, times, grown.factors, strict=True):
        ratio = point.size / points[0].size
        speedup = None
        if reference and time and reference.median > 0 and time.median > 0:
            speedup = reference.median / time.median * factor
        found.append(Speedup(time, speedup, speedup / ratio if speedup is not None else None))
    laws = laws_of_part(
        identity, sizes_of(points, grown), values, [point.ranks for point in points]
    )
    return Part(identity, label, ranks, tuple(found), *laws)


def laws_of_part(
    identity: str, of: Sizes, values: Sequence[Sequence[float | None]], ranks: Sequence[int]
) -> tuple[Amdahl | str, models.Model | str, ExtraP | str]:
    """The laws of a part of the run, or why there is none.

    Values are seconds in the part, by size and repeat.
    """
    # a rank alone exchanges nothing, which is no point of a law of exchanging
    counted = [not (identity == EXCHANGE and count == 1) for count in ranks]
    laws = laws_of(of, values, counted)
    return (NOT_DIVIDED, *laws[1:]) if identity == EXCHANGE else laws


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    return Spread(median(known), min(known), max(known), len(known))


def _throughput(points: Sequence[Point]) -> tuple[Throughput, ...]:
    whole = [point.spread(whole_rate) for point in points]
    steps = [point.spread(step_rate) for point in points]
    found = []
    for place, point in enumerate(points):
        ratio = point.size / points[0].size
        speedup = _over(whole[place], whole[0])
        found.append(
            Throughput(
                samples_per_s=whole[place],
                speedup=speedup,
                efficiency=speedup / ratio if speedup is not None else None,
                step_samples_per_s=steps[place],
                step_speedup=_over(steps[place], steps[0]),
            )
        )
    return tuple(found)


def step_rate(run: StudyRun) -> float | None:
    """Samples per second inside a median step: those of a step of all ranks, over its time."""
    samples = trained_samples(run)
    batch_size, told = run.result.run.batch_size, run.throughput
    if batch_size is not None:
        step = float(batch_size * run.ranks)
    elif samples is not None and told.steps:
        step = samples / told.steps  # as the program told them, step by step
    else:
        return None
    return step / told.step_s_median.value if told.step_s_median.value else None


def _over(spread: Spread | None, reference: Spread | None) -> float | None:
    if spread is None or reference is None or reference.median <= 0:
        return None
    return spread.median / reference.median


def _composition(points: Sequence[Point]) -> Composition:
    runs = [point.representative for point in points]
    accounts = [
        one
        for one in runs[0].result.ledger
        if one.id not in ONCE and any(run.spent_s(one.id) > 0 for run in runs)
    ]
    return Composition(
        accounts=tuple(one.id for one in accounts),
        labels=tuple(one.label for one in accounts),
        seconds=tuple(
            tuple(run.of_mean_rank(run.spent_s(one.id)) for run in runs) for one in accounts
        ),
    )
