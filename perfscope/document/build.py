"""analysis.json: everything that the report, the terminal and gates show, in one document.

docs/analysis-json.md lists the fields. The document is a plain dictionary of finite numbers, texts,
lists and dictionaries; the same recording gives the same bytes, beside the same sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import perfscope
from perfscope.document import measures, resources, run_facts
from perfscope.document.activities import activities
from perfscope.document.blocks import leaders
from perfscope.document.breakdown import LostInAccount, breakdown, lost_in_accounts
from perfscope.document.damage import run_damage
from perfscope.document.devices import devices
from perfscope.document.hardware import hardware
from perfscope.document.horovod import horovod
from perfscope.document.how_measured import how_measured
from perfscope.document.losses import losses
from perfscope.document.no_finding import much_is_lost
from perfscope.document.others import host_gain, may_be_host, wholes_beside
from perfscope.document.planned import planned_run
from perfscope.document.quality import quality
from perfscope.document.quoted import only_waits, seen, source_line
from perfscope.document.replayed import replayed
from perfscope.document.small_checks import weighed
from perfscope.document.splits import as_in_rows, bridged, split, under_load_s
from perfscope.document.timeline import timeline
from perfscope.document.verdict import verdict
from perfscope.document.waited import waited
from perfscope.document.whole_run import whole_run
from perfscope.errors import ExitCode, PerfscopeError
from perfscope.files import replace_file
from perfscope.findings.core.catalog import diagnoses
from perfscope.findings.core.certainty import is_firm
from perfscope.findings.core.finding import Finding, Gain, place_of
from perfscope.findings.core.order import likely_s
from perfscope.findings.facts.facts import Facts
from perfscope.metrics.results import Results
from perfscope.schema.analysis import Analysis
from perfscope.schema.enums import Account
from perfscope.schema.findings import FindingRow, FirstAction, Waited
from perfscope.schema.losses import Losses
from perfscope.schema.run import Tool, Verdict
from perfscope.schema.time import TimePart
from perfscope.schema.write import Json, as_json, document_text

SCHEMA_VERSION: Final = "1"


def build(facts: Facts, findings: Sequence[Finding]) -> Json:
    """The result document of a run."""
    results, replay = facts.results, facts.replay
    ordered, told = sort_findings(findings), replayed(replay)
    lost = losses(facts, ordered)
    in_accounts = lost_in_accounts(results, lost)
    waits = {one.id: waited(one, told.waits, lost, results) for one in ordered}
    ordered = _bridged(facts, ordered, lost, waits, in_accounts)
    damage, checks = run_damage(results, replay), quality(results, replay)
    answer = verdict(facts, ordered, damage, facts.losses, checks)
    document = Analysis(
        schema_version=SCHEMA_VERSION,
        tool=Tool("perfscope", perfscope.__version__),
        run=run_facts.run(results, damage),
        verdict=answer,
        ledger=measures.ledger(results),
        ledger_functions=results.ledger.functions,
        unlabeled=measures.unlabeled(results),
        metrics=measures.run_metrics(results, replay),
        losses=lost,
        phases=measures.phases(results),
        steps=measures.steps(results),
        timeline=timeline(results, in_accounts),
        collectives=measures.collectives(results),
        horovod=horovod(results),
        tensors=results.tensors,
        memory=resources.memory(results),
        threads=resources.threads(results),
        io=resources.io(results),
        activities=activities(results),
        stacks=results.stacks,
        devices=devices(results),
        hardware=hardware(results),
        other_tools=tuple(results.trace.tool_reports),
        replay=told,
        findings=_rows(facts, ordered, answer, waits, lost),
        quality=weighed(facts, checks, ordered, answer),
        how_measured=how_measured(results),
        whole_run=whole_run(results, replay),
        breakdown=_breakdown(facts, ordered, answer, lost, in_accounts),
    )
    return as_json(document)


def _bridged(
    facts: Facts,
    findings: Sequence[Finding],
    lost: Losses,
    waits: Mapping[str, Waited | None],
    in_accounts: Mapping[Account, Sequence[LostInAccount]],
) -> tuple[Finding, ...]:
    """The findings, whose savings tell where they come from."""
    results = facts.results
    of = wholes_beside(results, host_gain(facts))
    told = [as_in_rows(one, in_accounts, lost) for one in findings]
    parted = [split(one, lost, results) for one in told]
    return tuple(bridged(one, results, of, waits[one.id]) for one in parted)


def _breakdown(
    facts: Facts,
    findings: Sequence[Finding],
    answer: Verdict,
    lost: Losses,
    in_accounts: Mapping[Account, Sequence[LostInAccount]],
) -> tuple[TimePart, ...]:
    """Where the run went, and what the finding of the verdict is about."""
    of_work = {diagnosis.id for diagnosis in diagnoses() if diagnosis.of_work}
    leading = next((one for one in findings if one.id in answer.top[:1]), None)
    saving = leading.recommended if leading else None
    if saving and leading and leading.id not in of_work:
        is_of_ranks = facts.results.devices is None and lost.lost_share is not None
        saving = saving if is_of_ranks and saving.share > (lost.lost_share or 0.0) else None
    work_s = None
    if saving:  # waits and transfers that end with it are no work
        work_s = saving.seconds if saving.own_s is None else saving.own_s
    return breakdown(
        facts.results,
        lost,
        in_accounts,
        leading.id if leading else None,
        is_lost=much_is_lost(facts.losses),
        work_s=work_s,
    )


def _rows(
    facts: Facts,
    findings: Sequence[Finding],
    answer: Verdict,
    waits: Mapping[str, Waited | None],
    lost: Losses,
) -> tuple[FindingRow, ...]:
    """The findings; of those that the verdict names also what stands in the line to change."""
    led = leaders([one for name in answer.top for one in findings if one.id == name])
    return tuple(
        replace(
            _finding(one, facts.results, led.get(one.id)),
            waited=waits[one.id],
            source_line=source_line(one, facts.results.trace) if one.id in answer.top else "",
            seen=seen(facts, one) if one.id in answer.top else None,
            may_be_host=may_be_host(one, answer.others_s),
            set_at_line=_set_at_line(one, facts.results) if one.id in answer.top else "",
            only_waits=only_waits(facts, one, lost),
        )
        for one in findings
    )


def _set_at_line(finding: Finding, results: Results) -> str:
    """The text of the line that may set how work is split; "" of none."""
    if finding.set_at is None:
        return ""
    return source_line(replace(finding, where=(finding.set_at,)), results.trace)


def _finding(finding: Finding, results: Results, leader: str | None) -> FindingRow:
    steps = results.options.planned_steps
    saving = finding.recommended
    return FindingRow(
        **vars(finding.row),
        gain_run_share=finding.gain.run_share if finding.gain else None,
        first_action=_first_action(saving) if saving else None,
        planned=planned_run(
            results,
            saving.seconds if saving else None,
            steps,
            is_once=bool(saving and saving.is_once),
        ),
        holder=finding.holder,
        is_inferred=finding.is_inferred,
        is_elsewhere=finding.is_elsewhere,
        set_at=place_of(finding.set_at) if finding.set_at else None,
        is_loop=finding.is_loop,
        is_setting=finding.is_setting,
        seen_with=leader,
    )


def _first_action(saving: Gain) -> FirstAction:
    """What the first action saves: the number that headlines show."""
    return FirstAction(
        gain_s=saving.seconds,
        gain_interval_s=saving.interval_s,
        is_by_assumption=saving.is_by_assumption,
        assumed=saving.assumed,
        gain_share=saving.share,
        gain_run_share=saving.run_share,
        gain_basis=saving.basis,
        own_s=saving.own_s,
        follows_s=None if saving.own_s is None else saving.seconds - saving.own_s,
        counts=saving.counts,
        counts_more=saving.counts_more,
        no_interval=saving.no_interval,
        under_load_s=under_load_s(saving),
        bridge=saving.bridge,
    )


def sort_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings as they are shown: by status, firm ones first, by what can be had, as given."""

    def key(finding: Finding) -> tuple[int, bool, float]:
        return finding.status.order, not is_firm(finding), -likely_s(finding)

    return tuple(sorted(findings, key=key))


def write(path: Path, document: Json) -> str:
    """Writes the document, replacing an older one at once; returns its text.

    Raises:
        PerfscopeError: the place cannot be written to.
    """
    text = document_text(document)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode("utf-8"))
    except OSError as error:
        raise unwritable(path, error) from error
    return text


def unwritable(path: Path, error: OSError) -> PerfscopeError:
    """What the user reads when results cannot be written."""
    return PerfscopeError(
        f"Cannot write {path}.",
        why=f"{error.strerror or error}.",
        action="Name a place that you may write to, for results with --output OTHER-DIR.",
        exit_code=ExitCode.USAGE,
    )
