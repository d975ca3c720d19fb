"""What a framework did that the recording cannot tell, in the words of the agent that saw it."""

from collections.abc import Iterator

from perfscope.trace.model import Trace

_NAMES = {
    "deepspeed": "DeepSpeed",
    "fsdp": "FSDP",
    "horovod": "Horovod",
    "keras": "Keras",
    "torch": "PyTorch",
}
_WHAT = {
    "exposed_reason": "exposed communication of {}",
    "phases_reason": "phases of {}",
    "steps_reason": "steps of {}",
    "asynchronous": "asynchronous calls of {}",
}


def unmeasured(trace: Trace) -> list[tuple[str, str]]:
    """What was not measured and why, each once, in the order of the ranks."""
    return list(dict.fromkeys(_told(trace)))


def _told(trace: Trace) -> Iterator[tuple[str, str]]:
    for rank in trace.ranks:
        for name, facts in rank.frameworks.items():
            for key, what in _WHAT.items():
                reason = facts.get(key)
                if isinstance(reason, str) and reason:
                    yield what.format(_NAMES.get(name, name)), reason
