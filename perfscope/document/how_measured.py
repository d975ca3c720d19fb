"""What each number of the document means for this run: its `how_measured` rows."""

from perfscope.metrics.results import Results
from perfscope.schema.findings import HowMeasured
from perfscope.units import NS, format_seconds

TERMS = (
    (
        "Useful time",
        (
            "What counts as useful in an efficiency: all time that a rank spends outside "
            "communication; for training efficiency only forward, backward, optimizer and the "
            "rest of the training steps; where a trace shows several threads per rank, the "
            "computing time of each of them."
        ),
    ),
    (
        "Serialization and transfer efficiency",
        (
            "Largest time outside communication over T_id, and T_id over T, where T_id is the "
            "run time replayed on a network with zero transfer time."
        ),
    ),
    (
        "Productive share and training efficiency",
        (
            "Training work over time outside communication; training efficiency is parallel "
            "efficiency × productive share. Both are perfscope's own, not part of POP's model."
        ),
    ),
    (
        "Ledger",
        (
            "Every nanosecond of every rank's process life in exactly one account; inside the "
            "focus, communication takes precedence over the innermost phase, and phases over "
            "functions."
        ),
    ),
    (
        "Waiting and transfer",
        (
            "Waiting ends when the last rank that the operation needs has arrived; the rest of "
            "the operation is transfer."
        ),
    ),
    (
        "Gain by replay",
        (
            "The run is replayed with a change: work keeps its measured duration, each "
            "collective its transfer time, and who waits for whom follows anew. The 95 % "
            "interval is a moving-block bootstrap over the segments between collectives of all "
            "ranks, with a fixed seed. A rank made as fast as the others is given their "
            "distribution of step times, so it is still late by chance as often as they are."
        ),
    ),
    (
        "Gain as an upper bound",
        "Where the run cannot be replayed: the time that the job lost waiting for the late rank.",
    ),
    (
        "Functions",
        (
            "A stack sampler inside each rank names the function and line; seconds of functions "
            "are estimates from its samples."
        ),
    ),
    (
        "Threads",
        (
            "Runnable threads, CPU time and run-queue delay are sampled from the operating "
            "system's accounting; the recorder's own thread is excluded."
        ),
    ),
)
_FROM_END = (
    "from the end of one to the end of the next. When the first began does not show: it is counted "
    "and has no time."
)
STEPS = {
    "marker": "A step is what the program marked with perfscope.step().",
    "framework": "A step is one iteration of the training loop as the framework reports it.",
    "collectives": f"A step is one period of the repeating pattern of collectives, {_FROM_END}",
    "communication": "A step is one period of the repeating pattern of each rank's own calls, "
    f"{_FROM_END}",
    "samples": f"A step is one iteration of the loop that the stack samples show, {_FROM_END}",
    None: "No steps were found in this run.",
}


def how_measured(results: Results) -> tuple[HowMeasured, ...]:
    """Terms and their meaning, those with numbers of this run first."""
    rows = (_focus(results), _efficiency(), _steps(results), *TERMS)
    return tuple(HowMeasured(*row) for row in rows)


def _focus(results: Results) -> tuple[str, str]:
    focus = results.focus
    start, end = (format_seconds(ns * NS) for ns in (focus.start_ns, focus.end_ns))
    text = f"From {start} to {end} after the start: {focus.reason.rstrip('.')}."
    return (
        "Focus of analysis",
        (
            f"{text} Its length is T. It is the analyzed window: the stretch of the run over which "
            "numbers are taken, so that start-up and shutdown do not count."
        ),
    )


def _efficiency() -> tuple[str, str]:
    return (
        "Parallel efficiency",
        (
            "Time of all ranks outside communication over ranks × T; the product of load balance "
            "(mean over largest) and communication efficiency (largest over T)."
        ),
    )


def _steps(results: Results) -> tuple[str, str]:
    return "Steps", STEPS.get(results.steps.source, f"A step is {results.steps.source}.")
