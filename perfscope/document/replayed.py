"""The replay as an object of analysis.json: its error, critical path, delay costs, who waited."""

from perfscope.document.measures import place
from perfscope.replay import model
from perfscope.replay.replay import Replay
from perfscope.schema.common import DelayCause
from perfscope.schema.replay import (
    CriticalPath,
    DelayCosts,
    PathOfLine,
    PathOfRank,
    ReplayedSteps,
    ReplayResult,
    Waits,
)

LEAST_S = 1e-9
MOST_RANKS = 64
MOST_LINES = 20
MOST_DELAYS = 50
MOST_PAIRS = 100


def replayed(replay: Replay) -> ReplayResult:
    """Whether the run could be replayed, and what that told."""
    prediction = replay.predict(())
    found = replay.causes
    return ReplayResult(
        available=replay.available,
        reason=replay.reason,
        relative_error=replay.relative_error,
        ideal_runtime_s=replay.ideal_runtime_s,
        edits_assumptions=tuple(prediction.assumptions) if prediction else (),
        critical_path=_path(found.path) if found else None,
        delay_costs=_delay_costs(found) if found else None,
        waits=_waits(found) if found else None,
        by_step=tuple(_step(part) for part in found.steps) if found else None,
    )


def resolved(seconds: float) -> float:
    """What is left of a sum: less than clocks count is what floating-point numbers leave."""
    return 0.0 if abs(seconds) < LEAST_S else seconds


def _path(path: model.CriticalPath) -> CriticalPath:
    return CriticalPath(
        seconds=path.length_s,
        work_s=path.work_s,
        transfer_s=path.transfer_s,
        by_rank=tuple(PathOfRank(*row) for row in path.by_rank[:MOST_RANKS]),
        ranks=len(path.by_rank),
        by_phase=tuple(path.by_phase),
        by_operation=tuple(path.by_operation),
        by_line=tuple(
            PathOfLine(**vars(place(part.frame)), seconds=part.seconds)
            for part in path.by_line[:MOST_LINES]
        ),
    )


def _delay_costs(found: model.Causes) -> DelayCosts:
    return DelayCosts(
        waiting_s=found.waiting_s,
        direct_s=sum(delay.direct_s for delay in found.delays),
        indirect_s=sum(delay.indirect_s for delay in found.delays),
        unattributed_s=resolved(found.unattributed_s),
        causes=tuple(_delay(delay, found.waiting_s) for delay in found.delays[:MOST_DELAYS]),
        causes_left_out=max(0, len(found.delays) - MOST_DELAYS),
    )


def _delay(delay: model.Delay, waiting_s: float) -> DelayCause:
    return DelayCause(**vars(delay), share=delay.seconds / waiting_s if waiting_s else 0.0)


def _step(part: model.StepCauses) -> ReplayedSteps:
    waiting_s = part.direct_s + part.indirect_s + part.unattributed_s
    return ReplayedSteps(
        first=part.first,
        count=part.count,
        work_s=part.work_s,
        transfer_s=part.transfer_s,
        waiting_s=waiting_s,
        direct_s=part.direct_s,
        indirect_s=part.indirect_s,
        unattributed_s=resolved(part.unattributed_s),
        cause=_delay(part.cause, waiting_s) if part.cause else None,
    )


def _waits(found: model.Causes) -> Waits:
    return Waits(
        pairs=tuple(found.pairs[:MOST_PAIRS]),
        pairs_left_out=max(0, len(found.pairs) - MOST_PAIRS),
        left_out_s=sum(pair.seconds for pair in found.pairs[MOST_PAIRS:]),
        ranks_per_block=found.ranks_per_block,
        blocks_s=tuple(tuple(row) for row in found.block),
    )
