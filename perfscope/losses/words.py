"""What losses are called where people read of them."""

from perfscope.losses.entry import Entry
from perfscope.schema.enums import LossKind


def label(entry: Entry) -> str:
    """What a loss is called where people read it."""
    cause = entry.cause
    if entry.causes > 1:
        return f"{cause.kind.label}: {entry.causes} smaller causes"
    if entry.waited_for is not None:
        return f"Waiting for {entry.waited_for.label}"
    if cause.activity is not None:
        return cause.activity.label
    if cause.kind is LossKind.TRANSFER:
        return (
            f"Data transfer: {cause.operation}"
            if cause.operation
            else "Waiting for other ranks' data transfers"
        )
    if cause.kind is LossKind.COMMUNICATION:
        return f"{cause.kind.label}: {cause.operation}" if cause.operation else cause.kind.label
    if cause.kind is LossKind.WAITING:
        if cause.account is None:
            return "Unexplained waiting"
        return f"Waiting for other ranks{f': {cause.phase}' if cause.phase else ''}"
    return cause.account.label if cause.account is not None else cause.kind.label
