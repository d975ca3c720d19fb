"""What time is lost to."""

from perfscope.schema.enums import Account, Activity, LossKind
from perfscope.structures import dataclass
from perfscope.trace.model import Function

OTHER_WORK = (Account.INPUT_WAIT, Account.EVALUATION, Account.CHECKPOINT, Account.IO)
"""Accounts of work that is no training."""

OUTSIDE = (Account.START_UP, Account.SHUTDOWN)


@dataclass(frozen=True)
class LossCause:
    """One cause of lost time."""

    kind: LossKind  # what kind of cause it is
    # what the work was for; None of communication, and of what is not known
    account: Account | None = None
    phase: str = ""  # id of the phase that it was part of, "" none
    # the user's function in which it was, where functions are told apart; None unknown
    function: Function | None = None
    operation: str = ""  # of transfer, what moved the data; "" where that is not told
    # what was done in place of training, where no phase or mark tells more
    activity: Activity | None = None


UNEXPLAINED = LossCause(LossKind.WAITING)
"""Waiting of which it is not known for what."""


def cause_of_work(
    account: Account | None,
    phase: str = "",
    function: Function | None = None,
    activity: Activity | None = None,
) -> LossCause:
    """The cause that work is, or that others wait for where a rank works longer.

    What a phase or an activity names is one cause in whatever functions it is seen; training work
    and what the interpreter does is told by function. Account None stands for communication.
    """
    if account is None:
        return LossCause(LossKind.TRANSFER)
    if account is Account.UNTRACED:
        return LossCause(LossKind.UNKNOWN)
    if account in OTHER_WORK:
        return LossCause(LossKind.OTHER_WORK, account, phase)
    if activity is None:
        return LossCause(LossKind.WAITING, account, phase, function)
    where = function if activity is Activity.INTERPRETER else None
    return LossCause(LossKind.OTHER_WORK, account, phase, where, activity=activity)
