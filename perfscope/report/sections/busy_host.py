"""What a verdict says of other work on the host, and what need not be said again."""

from perfscope.schema.run import Verdict


def is_host_told(verdict: Verdict) -> bool:
    """Whether the sentence tells what other work on the host cost, at one of its ends."""
    sentence, host = verdict.sentence, verdict.host
    return bool(host) and (sentence.startswith(host) or sentence.endswith(host))


def own_sentence(verdict: Verdict) -> str:
    """What the verdict says of the job, without what the host cost, which has its own place."""
    if not is_host_told(verdict):
        return verdict.sentence
    if verdict.sentence.startswith(verdict.host):
        return verdict.sentence[len(verdict.host) :].lstrip()
    return verdict.sentence[: -len(verdict.host)].rstrip()
