"""What waiting is charged to: the work of late ranks by account, phase and function."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfscope.arrays import Floats, Ints, SmallCodes, narrowed
from perfscope.attribution.ledger import ACCOUNTS
from perfscope.matching.pool import dense
from perfscope.metrics.results import Results
from perfscope.replay.measured import MeasuredWaits
from perfscope.replay.program import Program
from perfscope.replay.steps import Steps
from perfscope.schema.enums import Account, Activity
from perfscope.structures import dataclass

MOST_FUNCTIONS = 48
"""Functions that waits are charged to one by one, most work first; the others go without a name."""


@dataclass(frozen=True)
class Cause:
    """A kind of work that made others wait; of communication alone the account is None."""

    account: Account | None
    phase: str = ""
    function: int = -1  # index in the names of `Program.functions`, -1 unknown
    activity: Activity | None = None  # what was done in place of training


@dataclass(frozen=True)
class Charges:
    """Waiting by step, late rank and cause; arrays have one element each."""

    causes: tuple[Cause, ...]  # what `cause` holds indices of
    steps: Steps  # the steps of the run
    unit: SmallCodes  # the unit of `steps` in which the rank came late
    rank: SmallCodes  # place of the rank that was waited for
    cause: SmallCodes  # what it did longer than those who waited
    ns: Floats  # nanoseconds that all others together waited for it, directly and through a third
    waiting_ns: float  # all that was waited, charged or not


@dataclass(frozen=True)
class Kinds:
    """Every kind of work, communication alone as the last, and the kind of each piece."""

    causes: tuple[Cause, ...]
    of_piece: SmallCodes

    @classmethod
    def of(cls, results: Results, program: Program) -> Kinds:
        """Those of a run."""
        function = _worth_naming(program.functions.of_piece, program.work.ns)
        account, phase = program.work.account, program.phase
        if not len(account):
            return cls((Cause(None),), np.empty(0, np.int8))
        activity = program.functions.activity
        kind = dense(account, phase, function, activity)
        first = np.zeros(int(kind.max()) + 1, np.int64)
        first[kind[::-1]] = np.arange(len(kind))[::-1]
        ids, activities = results.phase_ids, tuple(Activity)
        causes = [
            Cause(
                ACCOUNTS[int(account[piece])],
                ids[int(phase[piece])] if phase[piece] >= 0 else "",
                int(function[piece]),
                activities[int(activity[piece])] if activity[piece] >= 0 else None,
            )
            for piece in first.tolist()
        ]
        return cls((*causes, Cause(None)), narrowed(kind))


def charges(found: dict[str, Any], kinds: Kinds, steps: Steps, waits: MeasuredWaits) -> Charges:
    """What made ranks wait, step by step, as the engine has found it."""
    return Charges(
        causes=kinds.causes,
        steps=steps,
        unit=narrowed(found["charged_unit"]),
        rank=narrowed(found["charged_rank"]),
        cause=narrowed(found["charged_tag"]),
        ns=found["charged_ns"],
        waiting_ns=waits.total_ns,
    )


def _worth_naming(function: Ints, ns: Floats) -> Ints:
    """The functions with those that little work was seen in as unknown."""
    known = function >= 0
    if not known.any():
        return function
    spent = np.bincount(function[known], ns[known])
    kept = np.zeros(len(spent), np.bool_)
    kept[np.argsort(-spent, kind="stable")[:MOST_FUNCTIONS]] = True
    return np.where(known & kept[np.maximum(function, 0)], function, -1)
