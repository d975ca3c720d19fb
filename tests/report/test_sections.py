"""Every section by itself: with a full document, with nothing measured, and with parts missing."""

import json
from dataclasses import replace
from typing import Any

import pytest

from perfscope.registry import members
from perfscope.report.build import build_html
from perfscope.report.sections import ORDER, losses
from perfscope.report.sections.combined import together
from perfscope.report.sections.section import Section
from perfscope.savings import interval_text
from perfscope.schema.read import read_known
from tests.report.page_outline import part, shown
from tests.report.sample_document import (
    everything_null,
    four_ranks_healthy,
    metric,
    sample_page,
    two_ranks_evaluation,
    with_horovod,
)
from tests.support.environments import REPOSITORY

SECTIONS: dict[str, Section] = {
    section.id: section for section in members("perfscope.report.sections", "SECTION", order=ORDER)
}
ABSENT = {
    "overview": "nothing was recorded of this run",
    "ledger": "no rank left a recording of its time",
    "efficiency": "nothing was recorded of this run",
    "phases": "no phases were seen",
    "steps": "step times, because nothing was recorded",
    "timeline": "no rank left a recording of its time",
    "communication": "no communication was recorded",
    "causes": "critical path and delay costs: nothing was recorded of this run",
    "memory": "--sample-hz",
    "threads": "--sample-hz",
    "devices": "no accelerator was visible",
    "functions": "--stack-hz",
    "stacks": "--stacks",
    "other_tools": "no file of another tool",
    "findings": "1 diagnosis not measured",
    "environment": "no rank left a recording",
    "losses": "no rank left a recording of its time",
    "quality": "this run could not be replayed",
    "method": "Focus of analysis",
}


def context(section: str, document: dict[str, Any]) -> dict[str, Any]:
    """What a section takes from a document."""
    return SECTIONS[section].context(read_known(document))


@pytest.mark.parametrize("section", SECTIONS)
def test_nothing_measured_is_a_sentence_that_says_why(section: str) -> None:
    assert ABSENT[section] in shown(everything_null(), section)


def test_a_missing_part_breaks_no_section() -> None:
    for missing in four_ranks_healthy():
        document = everything_null()
        del document[missing]
        assert [name for name in SECTIONS if not context(name, document)] == [], missing


@pytest.mark.parametrize("section", SECTIONS)
def test_a_context_is_a_pure_function_of_the_document(section: str) -> None:
    document = two_ranks_evaluation()
    assert context(section, document) == context(section, document)


def product(document: dict[str, Any], *names: str) -> str:
    """An efficiency and its factors, as a page shows them."""
    full = (name if name in document["metrics"] else f"{name}_efficiency" for name in names)
    whole, *factors = (f"{document['metrics'][name]['value']:.3f}" for name in full)
    return f"{whole} = {' × '.join(factors)}"


def test_efficiency_shows_each_value_as_the_product_of_its_factors() -> None:
    document = two_ranks_evaluation()
    tree = shown(document, "efficiency")
    assert product(document, "parallel", "load_balance", "communication") in tree
    assert "Lowest factor: productive share" in tree


def test_one_missing_factor_has_its_own_reason() -> None:
    document = two_ranks_evaluation()
    document["metrics"]["transfer_efficiency"] = metric(None, "ratio", "clocks disagree")
    tree = shown(document, "efficiency")
    assert "clocks disagree" in tree
    assert product(document, "communication", "serialization") not in tree
    assert product(document, "parallel", "load_balance", "communication") in tree


def test_efficiency_above_one_is_shown_as_it_is() -> None:
    document = two_ranks_evaluation()
    document["metrics"]["transfer_efficiency"] = metric(1.25, "ratio")
    assert "1.250" in shown(document, "efficiency")


def test_late_arrivals_name_rank_function_and_line() -> None:
    communication = shown(two_ranks_evaluation(), "communication")
    assert "while it was in evaluate() (train_numpy.py:96)" in communication
    assert "…/rank_zero_evaluation/train_numpy.py:59" in communication
    assert "work in no phase" in communication


def test_kinds_of_waiting_have_their_shares_and_ranks() -> None:
    causes = shown(two_ranks_evaluation(), "causes")
    assert "Wait at N × N" in causes
    assert "75.0 %" in causes
    assert "not known (" in causes  # who is asked in vain is nobody


def test_kinds_of_waiting_need_no_replay() -> None:
    document = two_ranks_evaluation()
    document["replay"] = everything_null()["replay"]
    assert "Wait at N × N" in shown(document, "causes")


def test_horovods_thread_is_shown_where_it_was_used() -> None:
    assert "Horovod&#39;s thread" not in shown(two_ranks_evaluation(), "communication")
    document = with_horovod()
    communication = shown(document, "communication")
    assert "Horovod&#39;s thread on each rank" in communication
    assert "50.0 ms" in communication
    assert "12,345" in communication
    assert "Tensors, as Horovod" in communication
    assert "20 operations on the wire, of 1 to 4 tensors each" in communication
    assert "rank 1, 100.0 %" in communication
    assert "<script>alert" not in communication
    document["horovod"]["exposed"] |= {"reason": "no bits were exchanged"}
    assert "no bits were exchanged" in shown(document, "communication")


def test_overlaps_are_shown_with_what_was_found_alone() -> None:
    document = two_ranks_evaluation()
    evaluation, imbalance = document["findings"][0], document["findings"][1]
    document["findings"] = [evaluation, imbalance]
    assert evaluation["overlaps"] == [imbalance["id"]]
    imbalance["overlaps"] = []
    assert "Overlaps with" in shown(document, "findings")
    imbalance["status"] = "pass"
    assert "Overlaps with" not in shown(document, "findings")


def test_a_gain_has_its_assumptions_and_what_it_is_of_the_planned_run() -> None:
    document = two_ranks_evaluation()
    first = document["findings"][0]
    assert "What this gain assumes" not in shown(document, "findings")
    first["assumptions"] = ["Input queues are not modeled."]
    first["planned"] = {"steps": 40_000, "gain_s": 7200.0, "runtime_s": 9000.0, "reason": None}
    for section in ("findings", "overview"):
        assert "of 40,000 planned steps: 2 h 00 min" in shown(document, section)
    assert "Input queues are not modeled." in shown(document, "findings")
    first["planned"] |= {"gain_s": None, "runtime_s": None, "reason": "no steps were found"}
    assert "of 40,000 planned steps: not known" in shown(document, "findings")


def test_the_first_screen_tells_the_combined_gain_as_the_verdict_does() -> None:
    document = two_ranks_evaluation()
    told = "fixing both findings that have an estimate would save about 3.00 s"
    document["verdict"] |= {"combined_text": told, "combined_gain_s": 3.0}
    overview = shown(document, "overview")
    assert "Fixing both findings that have an estimate would save about 3.00 s" in overview
    assert "up to 3.00 s" not in overview
    document["verdict"] |= {"combined_text": None, "combined_gain_s": None}
    assert "because they could not be simulated together" in shown(document, "overview")


def test_passed_findings_are_folded_and_failed_ones_are_not() -> None:
    findings = shown(two_ranks_evaluation(), "findings")
    before_fold, _, folded = findings.partition('<details class="quiet">')
    assert "Rank 0 evaluates alone" in before_fold
    assert "Checkpoints cost little" not in before_fold
    assert "diagnoses passed" in folded
    assert "Checkpoints cost little" in folded


def test_a_diagnosis_that_failed_to_run_is_named() -> None:
    document = two_ranks_evaluation()
    document["findings"][-1]["status"] = "error"
    assert "1 diagnosis failed to run" in shown(document, "findings")


def test_many_ranks_become_quartiles_and_means() -> None:
    page = sample_page("thousand_ranks")
    assert "Each bar is the mean of up to 40 neighboring ranks." in part(page, "ledger")
    assert "75th percentile" in part(page, "memory")
    assert "the middle half of them" in part(page, "memory")
    assert page.count('scope="row">rank 500<') == 0


def test_few_ranks_are_shown_one_by_one() -> None:
    memory = shown(four_ranks_healthy(), "memory")
    assert all(f"rank {rank}" in memory for rank in range(4))


def test_endings_of_many_ranks_are_grouped_with_the_odd_ones_first() -> None:
    environment = part(sample_page("thousand_ranks"), "environment")
    assert environment.index("killed by signal 9") < environment.index(">finalized<")
    assert "ranks 17, 400" in environment


def test_ranks_without_a_recording_keep_the_numbers_of_the_others() -> None:
    document = four_ranks_healthy()
    document["run"] |= {"ranks": 5, "missing_ranks": [1], "recorded_ranks": 4}
    ledger = shown(document, "ledger")
    assert "rank 4" in ledger
    assert "rank 1<" not in ledger


def test_a_reference_is_a_title_and_a_link() -> None:
    findings = shown(two_ranks_evaluation(), "findings")
    assert "POP Centre of Excellence, load balance efficiency:" in findings
    assert '<a href="https://co-design.pop-coe.eu/metrics/"' in findings


def test_phases_of_different_kinds_have_different_colors() -> None:
    document = two_ranks_evaluation()
    names = ("forward", "backward", "optimizer", "input", "evaluate", "user:a", "user:b", "predict")
    document["phases"] = [document["phases"][0] | {"id": name, "label": name} for name in names]
    drawn = context("phases", document)["drawn"]
    assert len({phase.role for phase in drawn}) == len(names)


def test_gains_name_their_basis_and_interval() -> None:
    document = two_ranks_evaluation()
    findings = shown(document, "findings")
    low, high = document["findings"][0]["gain_interval_s"]
    assert f"{low:.2f} s to {high:.2f} s as its steps vary" in findings
    assert "about 480 ms (" in findings
    assert "an upper bound" in findings


def test_exposed_gradient_exchange_is_shown_or_said_not_to_be_measured() -> None:
    document = four_ranks_healthy()
    by_rank = {f"{part}_s_by_rank": [0.0201] * 4 for part in ("exposed", "wait", "transfer")}
    document["collectives"]["gradient_exchange"] = {
        "exchanges": 60,
        "exposed_s": {"value": 0.0227, "unit": "s"},
        **by_rank,
    }
    text = shown(document, "communication")
    assert "60 exchanges" in text
    assert "22.7 ms" in text
    document["collectives"]["gradient_exchange"]["exposed_s"] = {
        "value": None,
        "unit": "s",
        "reason": "collectives of backend nccl do not block the host",
    }
    assert "backend nccl do not block" in shown(document, "communication")


def test_a_run_that_lost_nothing_is_not_called_unmeasured() -> None:
    found = four_ranks_healthy()
    found["losses"] |= {"entries": [], "life_ns": 4_000_000_000}
    page = build_html(read_known(found))
    assert "none of their 4.00\u00a0s was lost" in page
    assert "no rank left a recording of its time" not in page


def test_communication_of_devices_alone_is_not_called_absent() -> None:
    found = everything_null()
    found["devices"] = found["devices"] | {"devices": [], "communication": {"matched": 1}}
    assert "see the devices for their communication" in build_html(read_known(found))
    assert "no communication was recorded" not in build_html(read_known(found))


def test_what_a_process_grew_by_is_not_called_allocated() -> None:
    """memory_profiler reads how large the process is: nothing tells what was freed."""
    found = four_ranks_healthy()
    found["memory"]["lines"]["ranks"][0]["is_growth"] = True
    page = build_html(read_known(found))
    assert "Growth of the process of rank 0 in" in page
    assert "Allocated and not freed" not in page
    assert "Allocated in</th>" not in page


@pytest.mark.parametrize(("together_s", "is_said"), [(3.4, False), (3.0, True)])
def test_savings_overlap_where_together_they_save_less(together_s: float, is_said: bool) -> None:
    """What the first actions save is compared, not what the whole faults cost."""
    result = read_known(
        json.loads((REPOSITORY / "reports/sgan_evaluation/analysis.json").read_text("utf-8"))
    )
    evaluation = next(row for row in result.findings if row.first_action is not None)
    assert evaluation.first_action is not None
    saving = replace(evaluation.first_action, gain_s=2.2)
    rows = [
        replace(evaluation, gain_s=4.4, first_action=saving),
        replace(evaluation, id="another", gain_s=1.2, first_action=None),
    ]
    names = (evaluation.id, "another")
    verdict = replace(
        result.verdict,
        combined_gain_s=together_s,
        combined_of=names,
        combined_text="both",
        top=names,
    )
    said = together(verdict, rows)
    assert said == ["Both", *(["Savings overlap: do not add them up"] if is_said else [])]


def test_what_steps_tell_of_an_interval_is_called_so_in_tables_and_sentences() -> None:
    titles = [column.title.lower() for column in losses.OF_WHOLE_RUN]
    assert any(title in interval_text((1.0, 2.0)) for title in titles)
