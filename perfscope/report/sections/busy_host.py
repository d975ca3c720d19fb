"""What a verdict says of other work on the host, and what need not be said again."""

from perfscope.report.sections.quality import OTHER_WORK, trust_and_doubts
from perfscope.schema.analysis import Analysis
from perfscope.schema.run import Verdict


def is_host_told(result: Analysis) -> bool:
    """Whether the verdict tells how much other processes used of the CPUs, as their check does."""
    told = next((one.title for one in result.quality if one.id == OTHER_WORK), "")
    used = told.rpartition(" used ")[2]
    return bool(used) and f"used {used}" in result.verdict.sentence


def checked(result: Analysis) -> str:
    """How many checks of the recording passed, and what raises a doubt that was not told yet."""
    return trust_and_doubts(result.quality, is_host_told=is_host_told(result))


def is_host_first(verdict: Verdict) -> bool:
    """Whether the sentence begins with what other work on the host cost."""
    return bool(verdict.host) and verdict.sentence.startswith(verdict.host)


def own_sentence(verdict: Verdict) -> str:
    """What the verdict says of the job, without what the host cost where that stands before it."""
    begin = len(verdict.host) if is_host_first(verdict) else 0
    return verdict.sentence[begin:].lstrip()
