"""What accounts are called in a run: the steps of one that trains nothing are no training."""

from perfscope.attribution.phase_catalog import trains_nothing
from perfscope.schema.enums import Account
from perfscope.trace.model import Trace

IN_STEPS = "Computation in steps"
"""What work in steps is called where nothing is trained."""


def account_labels(trace: Trace) -> dict[Account, str]:
    """What each account is called."""
    labels = {one: one.label for one in Account}
    return labels | ({Account.TRAINING: IN_STEPS} if trains_nothing(trace) else {})
