"""What stands behind it that nothing was found: seen, would have shown, not looked at."""

from perfscope.document.assurance import assurance
from perfscope.document.verdict import verdict
from perfscope.findings.facts.facts import Facts
from perfscope.losses.account import loss_account
from perfscope.metrics.results import Options
from perfscope.schema.enums import Status
from perfscope.schema.findings import QualityRow
from perfscope.units import format_seconds, format_share
from tests.findings.analyzed import Analyzed, analyze, analyze_trace
from tests.findings.training_runs import Plan, training_run


def told(found: Analyzed, *, is_disturbed: bool = False) -> str:
    losses = loss_account(found.results, found.replay)
    findings = tuple(found.findings.values())
    return assurance(found.results, findings, losses, is_disturbed=is_disturbed)


def test_a_healthy_run_is_answered_with_the_least_loss_that_would_have_shown() -> None:
    found = analyze(Plan())
    said = verdict(
        Facts(found.results, found.replay),
        tuple(found.findings.values()),
        (),
        loss_account(found.results, found.replay),
    )
    assert said.assurance == told(found)
    assert said.assurance.startswith("Yes, for what was looked at. Looked at: ")
    least, run = map(format_seconds, (0.01 * found.results.window_s, found.results.run_s))
    assert f"reported from {least} of the {run} run on" in told(found)
    assert "it known to be useful computation." in said.assurance
    assert "start-up and end" in said.assurance
    assert said.assurance.endswith("beyond the kinds of waste that are checked for.")


def test_a_check_that_did_not_pass_is_a_doubt() -> None:
    found = analyze(Plan())
    findings, losses = (*found.findings.values(),), loss_account(found.results, found.replay)
    rows = [QualityRow("clocks", Status.WARN, "Clocks", ""), QualityRow("x", Status.INFO, "", "")]
    for checks, doubt in ((rows, "a check"), (2 * rows, "2 checks")):
        said = assurance(found.results, findings, losses, checks, is_disturbed=False)
        assert said.startswith(f"Partly: nothing was found, and {doubt} of the recording did not ")
    said = assurance(found.results, findings, losses, rows[1:], is_disturbed=False)
    assert said.startswith("Yes, for what was looked at.")


def test_few_samples_show_large_losses_alone() -> None:
    found = analyze(Plan())
    focus = found.results.focus
    for rank in found.results.trace.ranks:
        rows = focus.within(rank.main_stacks)
        assert len(rows) >= 60
        rank.stacks = rows[:60]
    much = f"{format_seconds(0.05 * found.results.window_s)} of the "
    assert f"reported from {much}" in told(found)
    first, *rest = found.results.trace.ranks
    first.stacks = first.stacks[:0]
    assert "reported" not in told(found)  # of one rank nothing would have shown
    for rank in rest:
        rank.stacks = rank.stacks[:0]
    assert f"from {format_seconds(0.01 * found.results.window_s)} of the " in told(found)
    assert "but of no function, as no stacks were sampled" in told(found)


def test_other_load_is_the_doubt_where_there_is_any() -> None:
    found = analyze(Plan())
    said = told(found, is_disturbed=True)
    assert said.startswith("Partly: nothing was found, but the busy host may hide something.")
    assert "known to be useful" not in said
    assert "would be reported" not in said  # a larger one may be hidden
    assert " As a rule, a loss of a kind that is checked for would be " in told(found)


def test_around_a_window_that_was_chosen_lie_no_start_up_and_end_alone() -> None:
    found = analyze_trace(training_run(Plan()), Options(focus="step:5-9"))
    rest = format_seconds(found.results.run_s - found.results.window_s)
    assert f"Not looked at: {rest} around that window" in told(found)
    assert "start-up and end" not in told(found)


def test_the_share_that_is_useful_is_what_is_not_lost() -> None:
    found = analyze(Plan())
    losses = loss_account(found.results, found.replay)
    assert losses.lost_share is not None
    useful = 1.0 - losses.lost_share - (losses.unknown_share or 0.0)
    assert f"{format_share(useful)} of it known" in told(found)


def test_beside_a_finding_there_is_none() -> None:
    found = analyze(Plan(ranks=2, evaluate_s=2.0))
    facts = Facts(found.results, found.replay)
    assert verdict(facts, tuple(found.findings.values()), ()).assurance == ""
