"""What a run spent its time on, as parts that add up: accounts, or training work and losses."""

from dataclasses import replace

from perfscope import places
from perfscope.schema.enums import LossKind
from perfscope.schema.losses import LossEntry
from perfscope.schema.read import read_losses
from perfscope.structures import dataclass
from perfscope.studies.common.run import StudyRun

MOST_LOSSES = 12
LEAST_SHARE = 0.005
"""Of the time of a mean rank: what is less in all runs of a study is not told."""

ONCE = ("start_up", "shutdown")
"""Accounts of what happens once a run, whatever its steps."""

_SMALL = "small:"


@dataclass(frozen=True)
class Spent:
    """Seconds of all ranks that a run spent on something.

    `is_once` says that it happens once in a run, however many steps there are.
    """

    id: str
    label: str
    seconds: float
    is_once: bool = False


def accounts(run: StudyRun) -> tuple[Spent, ...]:
    """The accounts of the ledger, of all ranks together."""
    return tuple(
        Spent(one.id, one.label, one.seconds, is_once=one.id in ONCE) for one in run.result.ledger
    )


def losses(run: StudyRun) -> tuple[Spent, ...]:
    """Training work and what the time was lost to, of all ranks together; all or none.

    Losses of one name in one function are one, whatever their lines: what is compared between runs
    may have moved.
    """
    account = read_losses(run.document)
    if account is None:
        return ()
    training_s = account.training_ns / 1e9
    found = {"training_work": Spent("training_work", "Useful computation", training_s)}
    for entry in account.entries:
        one = _loss(entry)
        known = found.get(one.id, replace(one, seconds=0.0))
        found[one.id] = replace(known, seconds=known.seconds + one.seconds)
    return tuple(found.values())


def is_no_training(loss: str) -> bool:
    """Whether the loss of this id is work that is not training, such as evaluation."""
    kind: str = LossKind.OTHER_WORK.value
    return loss.removeprefix(_SMALL).partition(":")[0] == kind


def _loss(entry: LossEntry) -> Spent:
    kind, seconds = entry.kind.value, entry.ns / 1e9
    is_once = entry.kind is LossKind.OUTSIDE
    if entry.causes > 1:  # how many they are differs from run to run
        return Spent(
            f"{_SMALL}{kind}", f"Smaller ones: {entry.kind.label.lower()}", seconds, is_once
        )
    name = entry.label
    if entry.where and entry.where.function:
        name = f"{name} in {places.called(entry.where.function, entry.where.file, None)}"
    return Spent(f"{kind}:{name}", name, seconds, is_once)
