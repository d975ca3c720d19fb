"""The replay as an object of analysis.json: its error, critical path, delay costs, who waited."""

from dataclasses import replace

from perfscope.replay import model
from perfscope.replay.replay import Replay
from perfscope.schema.replay import CriticalPath, DelayCosts, ReplayResult, Waits

MOST_RANKS = 64
MOST_LINES = 20
MOST_DELAYS = 50


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
        by_step=found.steps if found else None,
    )


def _path(path: CriticalPath) -> CriticalPath:
    return replace(path, by_rank=path.by_rank[:MOST_RANKS], by_line=path.by_line[:MOST_LINES])


def _delay_costs(found: model.Causes) -> DelayCosts:
    return DelayCosts(
        waiting_s=found.waiting_s,
        direct_s=sum(delay.direct_s for delay in found.delays),
        indirect_s=sum(delay.indirect_s for delay in found.delays),
        unattributed_s=found.unattributed_s,
        causes=found.delays[:MOST_DELAYS],
        causes_left_out=max(0, len(found.delays) - MOST_DELAYS),
    )


def _waits(found: model.Causes) -> Waits:
    return Waits(
        pairs=found.pairs,
        pairs_left_out=found.pairs_left_out,
        left_out_s=found.left_out_s,
        ranks_per_block=found.ranks_per_block,
        blocks_s=tuple(tuple(row) for row in found.block),
    )
