"""The loss account of a made-up run."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from perfscope.schema.common import Place
from perfscope.schema.enums import Account, Basis, LossKind, LossPattern
from perfscope.schema.losses import LossEntry, Losses, LossSaving

NOT_REPLAYED = LossSaving(None, None, None, "not replayed")


def losses(seconds: Mapping[str, np.ndarray]) -> Losses:
    """What of made-up accounts was no training work: evaluation, and waiting for it."""
    ns = {name: int(np.sum(spent) * 1e9) for name, spent in seconds.items()}
    life = sum(ns.values())
    outside = ns.get("start_up", 0) + ns.get("shutdown", 0)
    window = life - outside
    evaluation = replace(
        _entry("Evaluation", LossKind.OTHER_WORK, ns.get("evaluation", 0), window),
        account=Account.EVALUATION,
        phase="evaluate",
        pattern=LossPattern.BURSTS,
        is_certain=True,
        steps=(20, 180),
        where=Place("examples/train.py", 212, "evaluate"),
        saving=LossSaving(3.1, (2.9, 3.3), Basis.REPLAY, None),
        findings=("rank_zero_evaluation",),
    )
    waiting = ns.get("communication_wait", 0)
    entries = (
        evaluation,
        _entry("Unexplained waiting", LossKind.WAITING, waiting, window),
        _entry("Before and after", LossKind.OUTSIDE, outside, None),
    )
    lost = sum(entry.ns for entry in entries)
    lost_share = (lost - outside) / window if window else None
    unknown_share = 0.0 if window else None
    return Losses(life, window, life - lost, lost, lost_share, unknown_share, entries)


def _entry(label: str, kind: LossKind, ns: int, window: int | None) -> LossEntry:
    waits = ns if kind is LossKind.WAITING else 0
    return LossEntry(
        label,
        kind,
        account=None,
        activity=None,
        phase="",
        operation="",
        ns=ns,
        own_ns=ns - waits,
        waiting_ns=waits,
        share=ns / window if window else None,
        ranks=(0,),
        ranks_left_out=0,
        where=None,
        pattern=None,
        is_certain=None,
        steps=None,
        causes=1,
        saving=NOT_REPLAYED,
        findings=(),
    )
