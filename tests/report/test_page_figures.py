"""Figures of one page agree: savings with the time they touch, CPUs of a host, savings of a place.

What is held against that are the committed reports, the golden documents, and runs made by hand.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perfscope.document.analysis import analysis
from perfscope.judging import MAIN
from perfscope.metrics.results import Options
from perfscope.savings import SAME_FROM
from perfscope.trace.model import Trace
from perfscope.units import format_seconds
from tests.findings.training_runs import Plan, training_run
from tests.support.environments import REPOSITORY
from tests.support.loader_epochs import Epochs, epochs_run

Json = dict[str, Any]

COMMITTED = sorted(
    path
    for folder in ("reports", "tests/golden/expected")
    for path in (REPOSITORY / folder).glob("*/analysis.json")
)


def of(trace: Trace) -> Json:
    return analysis(trace, Options())


KEPT_ANEW = {"loaders": [{"workers": 2, "persistent_workers": False, "training": True}]}
MADE: dict[str, Callable[[], Json]] = {
    "starved": lambda: of(training_run(Plan(steps=100, input_s=0.1))),
    "slow rank": lambda: of(training_run(Plan(slow_rank=1, slow_forward_s=0.05))),
    "another rank each step": lambda: of(training_run(Plan(unlucky_s=0.1))),
    "one evaluates": lambda: of(training_run(Plan(evaluate_s=1.0))),
    "workers anew": lambda: of(epochs_run(Epochs(), KEPT_ANEW)),
}

LEAST_TWICE_S = 1e-6
"""Of a run: what sums of rounded seconds differ by."""

WHY_MORE = re.compile(r"\bmore\b[^.]*\bbecause\b|\bat most\b")
CPUS = re.compile(
    r"(?:\bof the|\bmay use|\bon|\bof its|\bwhere there are) (\d+)(?: CPUs\b|\.(?=\s|$))"
)


@pytest.fixture(params=[*COMMITTED, *MADE], ids=[*(path.parent.name for path in COMMITTED), *MADE])
def document(request: pytest.FixtureRequest) -> Json:
    """A result of a run, as its page is made from it."""
    chosen = request.param
    if isinstance(chosen, Path):
        return dict(json.loads(chosen.read_text(encoding="utf-8")))
    return MADE[chosen]()


def faults(document: Json) -> Iterator[Json]:
    """The findings that tell what they save."""
    for row in document["findings"]:
        if row["status"] in ("warn", "fail") and row["first_action"] is not None:
            yield row


def touched_s(document: Json, name: str) -> float | None:
    """What the rank that loses most loses to what a finding explains, its waits among it.

    None where no loss is explained by it.
    """
    ranks = range(document["run"]["ranks"])
    spent: Counter[int] = Counter()
    for one in document["losses"]["entries"]:
        if name in one["findings"]:
            own = one["ranks"] or list(ranks)
            rest = [rank for rank in ranks if rank not in own] or list(ranks)
            spent.update({rank: one["own_ns"] // len(own) for rank in own})
            spent.update({rank: one["waiting_ns"] // len(rest) for rank in rest})
    whole = document.get("whole_run") or {}
    return 1e-9 * max(spent.values()) * whole.get("stands_for", 1.0) if spent else None


def unexplained(document: Json) -> list[str]:
    """Findings that save more than the time they touch, and do not say why."""
    found = []
    for row in faults(document):
        most_s = touched_s(document, row["id"])
        is_more = most_s is not None and most_s < SAME_FROM * row["first_action"]["gain_s"]
        if is_more and not WHY_MORE.search(" ".join([row["summary"], *row["actions"][:1]])):
            found.append(f"{row['id']}: {row['first_action']['gain_s']} s of {most_s} s")
    return found


def told_cpus(document: Json) -> set[int]:
    """How many CPUs texts say that there are."""
    texts = [document["verdict"]["sentence"]]
    for row in document["findings"]:
        texts += [row["title"], row["summary"], *row["actions"]]
        texts += [str(one["value"]) for one in row["evidence"]]
    texts += [f"{row['title']}. {row['detail']}" for row in document["quality"]]
    return {int(count) for text in texts for count in CPUS.findall(text)}


def known_cpus(document: Json) -> set[int]:
    """How many CPUs the hosts have, and how many of them the job may use there."""
    hosts = document["run"]["topology"] or ()
    allowed = {len(one["cpus_allowed"]) for one in hosts if one.get("cpus_allowed")}
    return allowed | {one["cpus"] for one in hosts if one.get("cpus")}


def twice_priced(document: Json) -> list[str]:
    """Lines at which more than one finding of its own tells a saving."""
    led = Counter(
        (place["file"], place["line"], place["function"])
        for row in faults(document)
        for place in row["where"][:1]
        if not row.get("seen_with")
    )
    return [f"{file}:{line} {function}" for (file, line, function), n in led.items() if n > 1]


def under_claimed(document: Json) -> list[str]:
    """Losses that are laid on findings which save less than half of what is lost there."""
    claimed = {row["id"]: row["gain_s"] or 0.0 for row in document["findings"]}
    found = []
    for one in document["losses"]["entries"]:
        own_s = one["saving"]["seconds"]
        most_s = max((claimed.get(name, 0.0) for name in one["findings"]), default=None)
        if own_s and most_s is not None and most_s < MAIN * own_s:
            found.append(f"{one['label']}: {most_s} s of {own_s} s")
    return found


def counted_twice(document: Json) -> float:
    """Seconds of the run that are both work which the verdict would save and known to be lost."""
    parts = document["breakdown"]
    work_s = sum(one["seconds"] for one in parts if one["id"] == "of_work")
    first, ranks = document["verdict"]["top"][:1], document["run"]["ranks"]
    row = next((one for one in document["findings"] if one["id"] in first), None)
    if not work_s or row is None or row["first_action"] is None:
        return 0.0
    lost_s = sum(
        1e-9 * one["own_ns"] / (len(one["ranks"]) or ranks)
        for one in document["losses"]["entries"]
        if row["id"] in one["findings"]
    )
    return float(max(0.0, work_s + lost_s - row["first_action"]["gain_s"]))


def test_no_loss_is_laid_on_a_finding_that_claims_little_of_it(document: Json) -> None:
    assert under_claimed(document) == []


def test_what_is_told_as_lost_is_not_told_as_work_again(document: Json) -> None:
    assert counted_twice(document) < LEAST_TWICE_S


def test_a_choice_of_assumptions_is_no_confidence_interval() -> None:
    """What workers that stay save depends on when they begin, which is no matter of chance."""
    document = MADE["workers anew"]()
    row = next(one for one in faults(document) if one["id"] == "data_stall")
    first = row["first_action"]
    assert first["is_by_assumption"]
    low, high = map(format_seconds, first["gain_interval_s"])
    sentence = document["verdict"]["sentence"]
    assert f", likely between {low} and {high}" in sentence
    ends = "The lower end holds where the workers together make one batch in each step"
    assert ends in first["bridge"]
    assert "confidence interval" not in sentence


def test_no_saving_is_more_than_the_time_it_touches_without_a_reason(document: Json) -> None:
    assert unexplained(document) == []


def test_a_host_has_one_number_of_cpus(document: Json) -> None:
    known = known_cpus(document)
    assert told_cpus(document) <= known or not known


def test_a_line_has_one_saving(document: Json) -> None:
    assert twice_priced(document) == []


def test_a_loss_of_another_cause_is_found() -> None:
    document = sample()
    entry = next(one for one in document["losses"]["entries"] if one["findings"])
    claimed = max(row["gain_s"] or 0.0 for row in document["findings"])
    entry["saving"]["seconds"] = 3.0 * claimed
    assert [one.split(":")[0] for one in under_claimed(document)] == [entry["label"]]


def test_seconds_that_are_told_twice_are_found() -> None:
    document = sample()
    row = next(one for one in document["findings"] if one["id"] in document["verdict"]["top"][:1])
    entry = next(one for one in document["losses"]["entries"] if row["id"] in one["findings"])
    entry["own_ns"] = int(1e9 * row["first_action"]["gain_s"])
    work = {"id": "of_work", "seconds": row["first_action"]["gain_s"]}
    document["breakdown"].append(work)
    assert counted_twice(document) > LEAST_TWICE_S


def sample() -> Json:
    path = REPOSITORY / "reports" / "rank_zero_evaluation" / "analysis.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_a_saving_beyond_its_time_is_found() -> None:
    document = sample()
    row = next(one for one in faults(document) if touched_s(document, one["id"]))
    row["first_action"]["gain_s"] = 1.5 * (touched_s(document, row["id"]) or 0.0)
    row["summary"], row["actions"] = "It is slow.", ["Do less."]
    assert [one.split(":")[0] for one in unexplained(document)] == [row["id"]]
    row["actions"] = ["The saving is more, because other ranks wait for it."]
    assert unexplained(document) == []


def test_another_number_of_cpus_is_found() -> None:
    document = sample()
    row = next(faults(document))
    row["summary"] = "Others used 1.0 of the 7 CPUs. Ask for 4 CPUs where there are 3."
    assert told_cpus(document) >= {3, 7}
    assert not told_cpus(document) <= known_cpus(document)


def test_two_savings_of_a_line_are_found() -> None:
    document = sample()
    row = next(one for one in faults(document) if one["where"])
    document["findings"].append({**row, "id": "another", "seen_with": None})
    assert len(twice_priced(document)) == 1
    document["findings"][-1]["seen_with"] = row["id"]
    assert twice_priced(document) == []
