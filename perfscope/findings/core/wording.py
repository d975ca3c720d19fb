"""How findings put places and ranks into words."""

from collections.abc import Sequence

from perfscope import places
from perfscope.findings.core.finding import Gain
from perfscope.metrics.results import Results
from perfscope.savings import ROUGHLY, SAME_FROM, Wholes
from perfscope.trace.model import Format, Frame, Trace
from perfscope.units import NS, capitalized, counted, format_seconds, format_share, inside, listed

IN_TENSORBOARD = (
    "record a window with perfscope run --tf-profiler 20:30, install tensorboard-plugin-profile "
    "and look under Profile in tensorboard --logdir DIR, where DIR is the run directory"
)
"""How to see what TensorFlow's profiler saw: its files are kept beside the records, not read."""

_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def wholes(results: Results) -> Wholes:
    """What a saving is a share of: the run, and its part that is analyzed.

    Findings are of the kept steps of a thinned run, of which the run is no whole.
    """
    run_s = results.run_s if results.whole_run is None else None
    return Wholes(run_s, results.focus.length_ns * NS)


def wholes_of_run(results: Results) -> Wholes:
    """The same of what is said of the whole run, with the steps that were left out."""
    return Wholes(results.run_s, results.window_s)


def saving(results: Results, seconds: float, *, is_bound: bool = False) -> str:
    """Seconds that a change saves, with their shares of the run and of the analyzed window."""
    return wholes(results).saving(seconds, is_bound=is_bound)


def saves(results: Results, seconds: float, *, is_bound: bool = False) -> str:
    """What a change that is not the first one saves: `: that saves about 1.31 s of the 9.36 s run`.

    Of the first one a finding tells the saving itself, with its shares and interval.
    """
    of = wholes(results)
    whole = f"{format_seconds(of.run_s)} run" if of.run_s else "analyzed window"
    roughly = ROUGHLY if is_bound else ""
    return f": that saves {roughly}{format_seconds(seconds)} of the {whole}"


def exported(*settings: str) -> str:
    """Settings as they are typed: "`export OMP_NUM_THREADS=1`"; a page offers to copy them."""
    return f"`export {' '.join(settings)}`"


def unset(*names: str) -> str:
    """The same of variables that are to go: "`unset NCCL_P2P_DISABLE`"."""
    return f"`unset {' '.join(names)}`"


def of_window(share: float) -> str:
    """A share of the analyzed window, which is named."""
    return f"{format_share(share)} of the analyzed window"


def there(at: str, change: str) -> str:
    """`In train() (train.py:12): send less`; the change alone where no place is known."""
    return f"{at}: {inside(change)}" if at else change


def place(frame: Frame | None) -> str:
    """A function with its file and line: `evaluate() (train.py:212)`; "" when it is not known."""
    if frame is None or not frame.function:
        return ""
    return places.place(frame.function, frame.file, frame.line)


def called(frame: Frame) -> str:
    """A function inside a sentence: `evaluate()`; of code in none its line, `train.py:212`."""
    return places.called(frame.function, frame.file, frame.line)


INDEPENDENT = "The ranks never communicate: none of them waits for another."


def ranks(numbers: Sequence[int]) -> str:
    """Ranks inside a sentence: `rank 1`, `ranks 1 and 3`, `ranks 0, 1, 2 and 5 more`.

    Of many the first ones are named, all in the order of their numbers.
    """
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    if len(numbers) > 4:
        return f"ranks {', '.join(map(str, sorted(numbers[:3])))} and {len(numbers) - 3} more"
    return f"ranks {listed([str(number) for number in sorted(numbers)])}"


def cpus(count: float) -> str:
    """`1 CPU`, `4 CPUs`, `0.5 CPUs`."""
    return "1 CPU" if count == 1 else f"{count:g} CPUs"


def processes(count: int) -> str:
    """`1 process` or `3 processes`."""
    return counted(count, "process", "processes")


def not_recorded(trace: Trace, part: str, otherwise: str) -> str:
    """Why a part was not measured and what to do: of traces of other formats, or `otherwise`.

    `part` is a key of `Trace.not_recorded`; `otherwise` is said of a recording of perfscope's own.
    """
    reason = trace.not_recorded.get(part)
    if not reason:
        return otherwise
    said = f"{capitalized(reason.rstrip('.'))}."
    if trace.format is Format.PERFSCOPE:  # that is how it was recorded
        return said
    return f"{said} Record the job with perfscope run to have it judged."


def to_see_functions(results: Results) -> str:
    """What to record so that functions get names, as the beginning of a sentence."""
    trace = results.trace
    if trace.format is not Format.PERFSCOPE:
        return "Record the job with perfscope run"
    if trace.has_stacks:
        return "Record once more with --stacks, which sees functions of compiled code too"
    options = trace.environment.get("options")
    if isinstance(options, dict) and options.get("stack_hz"):
        how = "Record once more with --stacks, which sees functions of compiled code too"
        if any(rank.metadata.get("python") for rank in trace.ranks):
            return how
        return (
            f"{how} (of a Python program without what keeps its stacks out, as options -E and -I "
            "of Python do)"
        )
    return "Record once more with --stack-hz 50 (the default)"


def no_phases(trace: Trace, phase: str, glob: str) -> str:
    """Why work of a kind could not be seen in a run, and what to do.

    `glob` is what names of its functions are often like.
    """
    if trace.format is Format.PERFSCOPE:
        return (
            "Neither phases nor stack samples were recorded: record with --stack-hz 50 (the "
            f'default), or mark such work with `with perfscope.phase("{phase}"):`.'
        )
    if trace.format.is_report:
        return not_recorded(trace, "steps", "The files tell no times.")
    return (
        "The trace has neither phases nor stack samples: tell which functions are such work "
        f"(perfscope analyze --phase {phase}='{glob}'), or record the job with perfscope run."
    )


def others(waiting: Sequence[int]) -> str:
    """The ranks that wait: `rank 1 waits`, `3 ranks wait`."""
    return f"rank {waiting[0]} waits" if len(waiting) == 1 else f"{len(waiting):,} ranks wait"


def differs(spent_s: float, gain: Gain) -> int:
    """How what a change saves compares with what was spent: -1 less, 1 more, 0 hardly differs.

    A bound is no prediction, and so differs from nothing.
    """
    if gain.is_bound:
        return 0
    if gain.seconds < SAME_FROM * spent_s:
        return -1
    return int(spent_s < SAME_FROM * gain.seconds)


def why_more(spent_s: float, gain: Gain) -> str:
    """Why a change saves more than one rank was just said to spend; "" where it hardly does."""
    if spent_s >= SAME_FROM * gain.seconds:
        return ""
    return " The saving is more, because other ranks spend time on it or wait for it meanwhile."


def ordinal(number: int) -> str:
    """`2nd`, `3rd`, `11th`, `21st`."""
    last = 0 if number % 100 in {11, 12, 13} else number % 10
    return f"{number}{_ENDINGS.get(last, 'th')}"


def threads_not_sampled(trace: Trace) -> str:
    """Why nothing is known about threads and their CPU time, and what to do."""
    return not_recorded(
        trace,
        "threads",
        "No threads were sampled: record with --sample-hz 50 (the default).",
    )
