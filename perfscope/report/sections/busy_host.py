"""What a verdict says of other work on the host, and what need not be said again."""

from perfscope.report.sections.quality import trust_and_doubts
from perfscope.schema.analysis import Analysis
from perfscope.schema.run import Verdict


def checked(result: Analysis) -> str:
    """How many checks of the recording passed, and what raises a doubt that was not told yet."""
    return trust_and_doubts(result.quality, is_host_told=bool(result.verdict.host))


def is_host_first(verdict: Verdict) -> bool:
    """Whether the sentence begins with what other work on the host cost."""
    return bool(verdict.host) and verdict.sentence.startswith(verdict.host)


def own_sentence(verdict: Verdict) -> str:
    """What the verdict says of the job, without what the host cost where that stands before it."""
    begin = len(verdict.host) if is_host_first(verdict) else 0
    return verdict.sentence[begin:].lstrip()
