"""What a verdict says of other work on the host, and what need not be said again."""

from perfscope.schema.run import Verdict


def is_host_first(verdict: Verdict) -> bool:
    """Whether the sentence begins with what other work on the host cost."""
    return bool(verdict.host) and verdict.sentence.startswith(verdict.host)


def own_sentence(verdict: Verdict) -> str:
    """What the verdict says of the job, without what the host cost where that stands before it."""
    begin = len(verdict.host) if is_host_first(verdict) else 0
    return verdict.sentence[begin:].lstrip()
