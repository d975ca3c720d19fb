"""Sequences that are filled up further than the longest one needs."""

from dataclasses import replace

from perfscope.findings.core import thresholds, wording
from perfscope.findings.core.diagnosis import RANK_BY_RANK, Diagnosis, Outcome
from perfscope.findings.core.finding import Evidence, Finding, passed
from perfscope.findings.core.gain import saved
from perfscope.findings.facts.backward_passes import backward_s
from perfscope.findings.facts.facts import Facts
from perfscope.findings.facts.hot_operands import has_operands, ranks_of, seen_on, shape_of
from perfscope.findings.facts.worker_turns import collated_at
from perfscope.judging import MAIN, MAJOR
from perfscope.metrics.host.hot_lines import HotLine
from perfscope.metrics.host.looks import FEWEST_LOOKS
from perfscope.schema.enums import Confidence
from perfscope.trace.model import Frame
from perfscope.trace.operands import ROWS_READ, Operand
from perfscope.units import format_seconds, format_share


def judge(run: Facts) -> Outcome:
    """Whether what is computed with padding takes enough of the run to act on."""
    results = run.results
    padded = [
        (line, one) for line in run.hot_lines for one in line.site.operands if _is_padded(one)
    ]
    if not padded:
        return passed("No batch of sequences was seen that is filled up beyond its longest one.")
    line, operand = max(padded, key=lambda one: _spent_s(run, one[0]))
    share = operand.share("padding_of_longest")
    # What each position is compared with, as attention does, is padded as well.
    spent_s, part = _spent_s(run, line), 1.0 - (1.0 - share) ** 2
    gain = replace(
        saved(results, spent_s * part),
        counts=_counted(line.site.frame, spent_s, part),
        counts_more=True,
    )
    status = thresholds.deserved(gain)
    if not status.is_fault:
        return passed("Lines that compute with padded sequences take little of the run.")
    made = collated_at(results)
    return Finding(
        status=status,
        title=(
            f"{format_share(operand.share('padding'))} of `{operand.name}` in "
            f"{wording.called(line.site.frame)} is padding{_made_in(made)}"
        ),
        summary=(
            f"Rows of `{operand.name}` are filled up to {_width(operand):,}, and even the longest "
            f"of those looked at (up to {ROWS_READ} of a batch) ends {format_share(share)} before "
            "that. Cut to the longest, it would save "
            f"{wording.saving(results, gain.seconds, is_bound=True)}, with the backward pass."
        ),
        gain=gain,
        confidence=Confidence.MEDIUM,
        ranks=ranks_of(one for one, _ in padded),
        where=(*((made,) if made else ()), line.site.frame),
        is_elsewhere=made is None,
        evidence=(*_evidence(operand), *seen_on([one for one, _ in padded])),
        actions=(_action(operand.name, made),),
    )


def _made_in(made: Frame | None) -> str:
    """Where batches are made that a loader of PyTorch gives, as the end of a title."""
    return f", of batches made in {wording.place(made)}" if made else ""


def _action(name: str, made: Frame | None) -> str:
    at = f"In {wording.place(made)}" if made else f"Where `{name}` is made, before this line"
    return (
        f"{at}: pad each batch to its own longest sequence and not to one fixed length (a collate "
        "function, `padding='longest'`), and put sequences of similar lengths into one batch."
    )


def _counted(frame: Frame, spent_s: float, part: float) -> str:
    """Of which time how much counts."""
    return (
        f"is {format_share(part)} of the {format_seconds(spent_s)} that {wording.place(frame)} and "
        "the backward pass take (more than the share of padding, as attention compares each two "
        "positions)"
    )


def _width(operand: Operand) -> int:
    return operand.shape[-1] if operand.shape else 0


def _is_padded(operand: Operand) -> bool:
    """Whether most of the padding is that of all rows: it does not come from different lengths."""
    shared = operand.share("padding_of_longest")
    is_seen = operand.looks >= FEWEST_LOOKS
    return is_seen and shared >= MAJOR and shared > MAIN * operand.share("padding")


def _spent_s(run: Facts, line: HotLine) -> float:
    """In the line and what it calls, and in the backward pass of that."""
    spent_s = run.line_samples.seconds(line.rank, [line.site.frame])
    spent_s += backward_s(run.results, line.rank.number)
    return min(spent_s, run.results.window_s)


def _evidence(operand: Operand) -> tuple[Evidence, ...]:
    return (
        Evidence(f"Looks at `{operand.name}`", operand.looks),
        Evidence(f"`{operand.name}`", shape_of(operand)),
        Evidence("Padding of all rows", format_share(operand.share("padding"))),
        Evidence("Of the longest row looked at", format_share(operand.share("padding_of_longest"))),
    )


DIAGNOSIS = Diagnosis(
    id="padded_input",
    title="Sequences are padded further than they need",
    description=(
        "Looks at tables of integers that lines of the program take, and at how far one value "
        "is repeated to the end of their rows: of all rows, and of the one that is filled most."
    ),
    judge=judge,
    applies=has_operands,
    intact=RANK_BY_RANK,
    passed="No sequences are padded beyond the longest of their batch",
    evidence="shape, and which share of all rows and of the longest one is padding",
    gain_from=(
        "upper bound: the padded share, twice where positions are compared with each other, of the "
        "line with what it calls and of the backward pass"
    ),
    rank=286,
    of_work=True,
)
