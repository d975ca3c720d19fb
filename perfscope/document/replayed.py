"""The replay as an object of analysis.json: its error, critical path, delay costs, who waited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfscope.document.measures import frame_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfscope.replay.model import Causes, CriticalPath, Delay, Part, StepCauses
    from perfscope.replay.replay import Replay

Json = dict[str, Any]
LEAST_S = 1e-9
MOST_RANKS = 64
MOST_LINES = 20
MOST_DELAYS = 50
MOST_PAIRS = 100


def replay_json(replay: Replay) -> Json:
    """Whether the run could be replayed, and what that told."""
    prediction = replay.predict(())
    found = replay.causes
    return {
        "available": replay.available,
        "reason": replay.reason,
        "relative_error": replay.relative_error,
        "ideal_runtime_s": replay.ideal_runtime_s,
        "edits_assumptions": list(prediction.assumptions) if prediction else [],
        "critical_path": _path(found.path) if found else None,
        "delay_costs": _delay_costs(found) if found else None,
        "waits": _waits(found) if found else None,
        "by_step": [_step(part) for part in found.steps] if found else None,
    }


def resolved(seconds: float) -> float:
    """What is left of a sum: less than clocks count is what floating-point numbers leave."""
    return 0.0 if abs(seconds) < LEAST_S else seconds


def _path(path: CriticalPath) -> Json:
    return {
        "seconds": path.length_s,
        "work_s": path.work_s,
        "transfer_s": path.transfer_s,
        "by_rank": [
            {"rank": rank, "work_s": work_s, "transfer_s": transfer_s}
            for rank, work_s, transfer_s in path.by_rank[:MOST_RANKS]
        ],
        "ranks": len(path.by_rank),
        "by_phase": [{"phase": part.phase, "seconds": part.seconds} for part in path.by_phase],
        "by_operation": _parts(path.by_operation),
        "by_line": [
            {**frame_json(part.frame), "seconds": part.seconds}
            for part in path.by_line[:MOST_LINES]
        ],
    }


def _parts(parts: Sequence[Part]) -> list[Json]:
    return [{"name": part.name, "seconds": part.seconds} for part in parts]


def _delay_costs(found: Causes) -> Json:
    return {
        "waiting_s": found.waiting_s,
        "direct_s": sum(delay.direct_s for delay in found.delays),
        "indirect_s": sum(delay.indirect_s for delay in found.delays),
        "unattributed_s": resolved(found.unattributed_s),
        "causes": [_delay(delay, found.waiting_s) for delay in found.delays[:MOST_DELAYS]],
        "causes_left_out": max(0, len(found.delays) - MOST_DELAYS),
    }


def _delay(delay: Delay, waiting_s: float) -> Json:
    return {
        "rank": delay.rank,
        "phase": delay.phase,
        "direct_s": delay.direct_s,
        "indirect_s": delay.indirect_s,
        "share": delay.seconds / waiting_s if waiting_s else 0.0,
    }


def _step(part: StepCauses) -> Json:
    waiting_s = part.direct_s + part.indirect_s + part.unattributed_s
    return {
        "first": part.first,
        "count": part.count,
        "work_s": part.work_s,
        "transfer_s": part.transfer_s,
        "waiting_s": waiting_s,
        "direct_s": part.direct_s,
        "indirect_s": part.indirect_s,
        "unattributed_s": resolved(part.unattributed_s),
        "cause": _delay(part.cause, waiting_s) if part.cause else None,
    }


def _waits(found: Causes) -> Json:
    return {
        "pairs": [
            {"waiter": pair.waiter, "cause": pair.cause, "seconds": pair.seconds}
            for pair in found.pairs[:MOST_PAIRS]
        ],
        "pairs_left_out": max(0, len(found.pairs) - MOST_PAIRS),
        "left_out_s": sum(pair.seconds for pair in found.pairs[MOST_PAIRS:]),
        "ranks_per_block": found.ranks_per_block,
        "blocks_s": [list(row) for row in found.block],
    }
