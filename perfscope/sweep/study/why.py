"""Why the best configuration wins: its speed against others', factor by factor."""

import math

from perfscope.schema.sweep_result import Explanation, FactorRatio, SpeedFactors
from perfscope.sweep.study.model import Result, Sweep
from perfscope.units import format_bytes, format_ratio

NOTABLE = 0.03  # of a ratio: less is not worth a word
MOST_OFF = 0.01  # of a product that is shown without its factors near one
NOTABLE_QUEUE = 0.02  # seconds waited for a CPU in a second
NOTABLE_RUNNABLE = 0.1
NOTABLE_EFFICIENCY = 0.03
HIGH_MEMORY = 0.5  # of a node


def explanations(sweep: Sweep) -> tuple[Explanation, ...]:
    """The best against the fastest that is surely slower, and against the slowest."""
    best = sweep.best
    if best is None or best.factors is None or len(sweep.measured) < 2:
        return ()
    slower = [r for r in sweep.measured[1:] if r.number not in sweep.noise.numbers]
    chosen = dict.fromkeys([r.number for r in (*slower[:1], sweep.measured[-1])])
    return tuple(_against(sweep, best, sweep.result(number)) for number in chosen)


def _against(sweep: Sweep, best: Result, other: Result) -> Explanation:
    assert best.speed is not None
    assert other.speed is not None
    ratio = best.speed / other.speed
    ours, theirs = best.factors, other.factors
    parts = _parts(ours, theirs) if ours is not None and theirs is not None else []
    facts = _facts(ours, theirs) if ours is not None and theirs is not None else []
    return Explanation(
        configuration=other.number,
        label=other.configuration.label,
        ratio=ratio,
        within_noise=other.number in sweep.noise.numbers and not sweep.noise.reason,
        factors=tuple(parts),
        facts=tuple(facts),
        sentence=_sentence(sweep, ratio, parts),
    )


def _parts(ours: SpeedFactors, theirs: SpeedFactors) -> list[FactorRatio]:
    """The ratio of two speeds as a product of three ratios."""
    found = []
    for name, label in (
        ("ranks", "ranks"),
        ("parallel_efficiency", "parallel efficiency"),
        ("work_speed", "work per rank-second outside communication"),
    ):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a and b:
            found.append(FactorRatio(name, label, a / b, best=a, other=b))
    return found if len(found) == 3 else []


def _facts(ours: SpeedFactors, theirs: SpeedFactors) -> list[str]:
    """What else was measured and is not alike, in sentences."""
    found = []
    for name, label in (
        ("load_balance", "Load balance"),
        ("communication_efficiency", "Communication efficiency"),
    ):
        a, b = getattr(ours, name), getattr(theirs, name)
        if a is not None and b is not None and abs(a - b) >= NOTABLE_EFFICIENCY:
            found.append(f"{label} {format_ratio(a)} against {format_ratio(b)}.")
    a, b = ours.runnable_per_cpu, theirs.runnable_per_cpu
    if a is not None and b is not None and abs(a - b) >= NOTABLE_RUNNABLE:
        found.append(f"Runnable threads per CPU: {a:.2f} against {b:.2f}.")
    a, b = ours.cpus_busy, theirs.cpus_busy
    if a is not None and b is not None and abs(a - b) >= NOTABLE_RUNNABLE:
        of = f" of {ours.cpus:g}" if ours.cpus else ""
        found.append(f"CPUs kept busy: {a:.2f}{of} against {b:.2f}.")
    a, b = ours.queue_share, theirs.queue_share
    if a is not None and b is not None and abs(a - b) >= NOTABLE_QUEUE:
        found.append(
            f"Run-queue wait per second of a rank: {1e3 * a:.0f} ms against {1e3 * b:.0f} ms."
        )
    return found + _memory(ours, theirs)


def _memory(ours: SpeedFactors, theirs: SpeedFactors) -> list[str]:
    a, b = ours.peak_bytes, theirs.peak_bytes
    if not a or not b or abs(a / b - 1) < 0.1:
        return []
    share = ours.memory_share
    node = f"; all ranks together {100 * share:.0f} % of the node" if share is not None else ""
    return [f"Peak memory of a rank: {format_bytes(a)} against {format_bytes(b)}{node}."]


def _sentence(sweep: Sweep, ratio: float, parts: list[FactorRatio]) -> str:
    speed = f"{ratio:.2f} times the {sweep.objective.unit}"
    if not parts:
        return f"{speed}; its factors were not measured in both."
    shown = [part for part in parts if abs(part.ratio - 1) >= NOTABLE]
    if not shown:
        return f"{speed}; no factor differs by {100 * NOTABLE:.0f} % or more."
    if abs(math.prod(part.ratio for part in shown) / ratio - 1) > MOST_OFF:
        shown = parts
    product = " × ".join(f"{part.ratio:.2f} ({part.label})" for part in shown)
    return f"{speed} = {product}."


def memory_warning(sweep: Sweep) -> str:
    """What to know of the memory of the best configuration, "" when there is room."""
    best = sweep.best
    share = best.factors.memory_share if best is not None and best.factors is not None else None
    if share is None or share < HIGH_MEMORY:
        return ""
    return f"Its ranks together took {100 * share:.0f} % of the node's memory at their peaks."
