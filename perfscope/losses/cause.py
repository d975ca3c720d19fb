"""What time is lost to."""

from __future__ import annotations

from dataclasses import dataclass

from perfscope.schema.enums import Account, LossKind

OTHER_WORK = (Account.INPUT_WAIT, Account.EVALUATION, Account.CHECKPOINT, Account.IO)
"""Accounts of work that is no training."""

TRAINING = (Account.TRAINING, Account.COMPUTATION, Account.USER_PHASES, Account.DEVICE_WAIT)
"""Accounts of training work, as far as nothing tells that it is something else.

The host that waits for a device is no loss of its own: the device works meanwhile.
"""

OUTSIDE = (Account.START_UP, Account.SHUTDOWN)

Function = tuple[str, str]
"""Name and file."""


@dataclass(frozen=True)
class LossCause:
    """One cause of lost time.

    Attributes:
        kind: what kind of cause it is.
        account: what the work was for; None of communication, and of what is not known.
        phase: id of the phase that it was part of, "" none.
        function: the user's function in which it was; None unknown.
        operation: of transfer, what moved the data; "" where that is not told.
    """

    kind: LossKind
    account: Account | None = None
    phase: str = ""
    function: Function | None = None
    operation: str = ""


UNEXPLAINED = LossCause(LossKind.WAITING)
"""Waiting of which it is not known for what."""


def cause_of_work(account: Account | None, phase: str, function: Function | None) -> LossCause:
    """What others wait for where a rank works longer; of account None, where it communicates."""
    if account is None:
        return LossCause(LossKind.TRANSFER)
    if account is Account.UNTRACED:
        return LossCause(LossKind.UNKNOWN)
    kind = LossKind.OTHER_WORK if account in OTHER_WORK else LossKind.WAITING
    return LossCause(kind, account, phase, function)
