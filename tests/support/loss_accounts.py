"""Loss accounts of results that tests make up."""

from typing import Any

from perfscope.schema.common import Place
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry, Losses, LossSaving
from perfscope.schema.write import plain


def losses_of(training_s: float, *entries: tuple[str, str, float, int]) -> Any:
    """A loss account; of each entry label, function, seconds and how many causes it stands for."""
    ns = [round(seconds * 1e9) for _, _, seconds, _ in entries]
    training_ns = round(training_s * 1e9)
    found = Losses(
        life_ns=training_ns + sum(ns),
        window_ns=training_ns + sum(ns),
        training_ns=training_ns,
        lost_ns=sum(ns),
        lost_share=0.5,
        unknown_share=0.0,
        entries=tuple(
            LossEntry(
                label=label,
                kind=LossKind.OUTSIDE if label == "Start-up" else LossKind.OTHER_WORK,
                account=None,
                activity=None,
                phase="",
                operation="",
                ns=round(seconds * 1e9),
                own_ns=round(seconds * 1e9),
                waiting_ns=0,
                share=None,
                ranks=(0,),
                ranks_left_out=0,
                where=Place("train.py", 7, function) if function else None,
                pattern=None,
                is_certain=None,
                steps=None,
                causes=causes,
                saving=LossSaving(None, None, None, "not asked"),
                findings=(),
            )
            for label, function, seconds, causes in entries
        ),
    )
    return plain(found)
