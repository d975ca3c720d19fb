"""Methods of a Keras model that build an input pipeline in every call, called in a loop."""

from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, Gain, not_measured
from perfscope.findings.core.gain import predicted_gain, saved
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.growth_causes import INSTEAD, PIPELINES
from perfscope.findings.facts.keras_loops import Loop, loops_of_calls
from perfscope.findings.facts.tracing import traced_often
from perfscope.metrics.efficiency.phases import PhaseResult
from perfscope.metrics.results import Results
from perfscope.replay.model import Edit
from perfscope.replay.replay import Replay
from perfscope.schema.enums import Confidence, PhaseKind, Status
from perfscope.trace.model import Frame
from perfscope.units import format_seconds, format_share

PASSED = "Calls of the model spend little on their input pipelines"
KINDS = {"predict": PhaseKind.PREDICT, "evaluate": PhaseKind.EVALUATE, "fit": PhaseKind.TRAIN}


def uses_keras(results: Results) -> bool:
    """Whether a rank had Keras loaded, or calls of its models were seen."""
    return bool(results.framework_calls) or any(
        "keras" in rank.frameworks for rank in results.trace.ranks
    )


def judge(run: Facts) -> Outcome:
    """Whether building pipelines costs enough of the run to act on, and by which method."""
    results, replay = run.results, run.replay
    loops = loops_of_calls(results)
    if not loops:
        return _not_judged(results)
    worst = max(loops, key=lambda loop: loop.saved_s)
    found = _price(results, replay, loops, worst)
    is_fault = thresholds.deserved(found).is_fault
    same = [loop for loop in loops if loop.calls.name == worst.calls.name]
    return Finding(
        status=thresholds.deserved(found),
        title=_title(results, worst) if is_fault else PASSED,
        summary=_summary(results, worst, found),
        gain=found,
        confidence=Confidence.HIGH if worst.cure else Confidence.MEDIUM,
        ranks=tuple(loop.calls.rank for loop in same) if is_fault else (),
        where=_where(results, worst),
        evidence=_evidence(worst),
        actions=(_action(worst),) if is_fault else (),
        overlaps=("memory_growth", "frequent_evaluation", "rank_zero_evaluation", "start_up"),
    )


def _not_judged(results: Results) -> Outcome:
    """That no call in a loop was seen, or that it is not known what such calls set up."""
    for name in PIPELINES:
        if (calls := _times(results, name)) >= 2 * thresholds.PREDICTS_OFTEN:
            return not_measured(
                f"Model.{name} was called {calls:,} times, and it is not known what each call sets "
                "up: no compiled function was seen in it (run_eagerly=True), or an older perfscope "
                "recorded the run. Record it with perfscope run and without run_eagerly."
            )
    text = "No method of a Keras model was called again and again."
    return Finding(Status.NOT_APPLICABLE, PASSED, text, confidence=Confidence.HIGH)


def _times(results: Results, name: str) -> int:
    """Most calls of a method on one rank: as counted, else its phases where pipelines are built.

    A program may give a phase of its own the same name: that alone is no call of Keras.
    """
    counted = [one.calls for one in results.framework_calls if one.name == name]
    names = results.trace.names
    if counted or name not in names or not any(one.is_pipeline for one in traced_often(results)):
        return max(counted, default=0)
    number = names.index(name)
    return max(int((rank.phases["name"] == number).sum()) for rank in results.trace.ranks)


def _phase(results: Results, loop: Loop) -> PhaseResult | None:
    kind = KINDS[loop.calls.name]
    return next((phase for phase in results.phases if phase.kind is kind), None)


def _edits(results: Results, loop: Loop) -> list[Edit]:
    """The phase without what need not be; none where other work shares the phase."""
    phase = _phase(results, loop)
    if phase is None or loop.calls.name == "fit":
        return []
    position = phase.ranks.index(loop.calls.rank)
    spent_s = phase.seconds_by_rank[position]
    # predictions that a function of evaluation makes are another phase
    if spent_s < loop.each_s * loop.calls.calls / 2:
        return []
    factor = max(0.0, 1.0 - loop.saved_s / spent_s)
    return [Edit(phase=phase.id, factor=factor, ranks=_ranks(results, loop))]


def _ranks(results: Results, loop: Loop) -> tuple[int, ...]:
    name = loop.calls.name
    return tuple(one.calls.rank for one in loops_of_calls(results) if one.calls.name == name)


def _price(results: Results, replay: Replay, loops: list[Loop], worst: Loop) -> Gain:
    """Replayed where the run itself tells what the call costs otherwise; else at most."""
    edits = _edits(results, worst)
    bound = max(loop.saved_s for loop in loops if loop.calls.name == worst.calls.name)
    if edits and worst.cure is not None:
        found = predicted_gain(results, replay, edits, bound_s=bound, is_planned=True)
        return replace(found, edits=()) if found.is_bound else found
    gain = saved(results, min(bound, results.window_s), is_of_run=True)
    return replace(gain, counts=_counted(worst), counts_more=bool(_counted(worst)))


def _counted(loop: Loop) -> str:
    """That whole calls count, where setting up is most of them; "" where that alone counts."""
    if loop.needless_s < loop.each_s:
        return ""
    return f"counts all {format_seconds(loop.each_s)} of each call, as most of it is set-up"


def _title(results: Results, loop: Loop) -> str:
    calls = loop.calls
    place = next((wording.place(frame) for frame in _where(results, loop)), "")
    at = f" in {place}" if place else ""
    if loop.cure is not None and loop.cure.seconds:
        ratio = loop.each_s / loop.cure.seconds
        return (
            f"Model.{calls.name} is called {calls.calls:,} times{at} and takes {ratio:,.0f} times "
            f"as long as {loop.cure.name}"
        )
    share = format_share((calls.set_up_s or 0.0) / loop.each_s)
    return (
        f"Model.{calls.name} is called {calls.calls:,} times{at} and builds an input pipeline each "
        f"time: {share} of each call"
    )


def _summary(results: Results, loop: Loop, found: Gain) -> str:
    text = f"A call of Model.{loop.calls.name} takes {format_seconds(loop.each_s)}"
    if loop.calls.set_up_s:
        text += (
            f", of which {format_seconds(loop.calls.set_up_s)} pass before its compiled function "
            "begins: the input pipeline and callbacks are made anew"
        )
    if loop.cure is not None and loop.cure.seconds:
        text += f". {loop.cure.name} takes {format_seconds(loop.cure.seconds)} in this run"
    return (
        f"{text}. Without it the run would take "
        f"{wording.saving(results, found.seconds, is_bound=found.is_bound)} less."
    )


def _where(results: Results, loop: Loop) -> tuple[Frame, ...]:
    phase = _phase(results, loop)
    return phase.where if phase is not None else ()


def _evidence(loop: Loop) -> tuple[Evidence, ...]:
    calls = loop.calls
    rows = [
        Evidence(f"Calls of {calls.name} on rank {calls.rank}", calls.calls),
        Evidence(f"One {calls.name}(), median of the last half", loop.each_s, "s"),
        Evidence("Of it before the compiled function begins", calls.set_up_s or 0.0, "s"),
    ]
    if loop.cure is not None and loop.cure.seconds:
        rows.append(Evidence(f"One {loop.cure.name}() in this run", loop.cure.seconds, "s"))
        rows.append(Evidence("Times as long", loop.each_s / loop.cure.seconds))
    return tuple(rows)


def _action(loop: Loop) -> str:
    return (
        f"Use {INSTEAD[loop.calls.name]} for single batches in a loop. Where predictions can wait, "
        "collect them and predict many at once."
    )


DIAGNOSIS = Diagnosis(
    id="predict_in_loop",
    title="Keras builds an input pipeline in every call",
    description=(
        "Compares what each call of Model.predict, evaluate or fit takes until its first compiled "
        "function begins (an input pipeline, callbacks) with the whole call, and with the on_batch "
        "method of the model where the run calls that as well."
    ),
    judge=judge,
    applies=uses_keras,
    intact=RANK_BY_RANK,
    passed=PASSED,
    evidence=(
        "seconds of a call, of it before the compiled function begins, the same of the "
        "`_on_batch` method where the run calls it"
    ),
    gain_from=(
        "replay with the `_on_batch` method's time where the run has it, else an upper "
        "bound: the whole calls where setting up is most of them, what they set up where it "
        "is not"
    ),
    counts_from=f"{2 * thresholds.PREDICTS_OFTEN} calls",
    rank=279,
    references=(
        (
            "Keras, what is the difference between predict and a call or predict_on_batch: "
            "https://keras.io/getting_started/faq/"
        ),
    ),
)
