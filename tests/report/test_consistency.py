"""No page, terminal or document of a recording contradicts itself, or another of the three."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from rich.console import Console

from perfscope.document.analysis import analysis
from perfscope.findings.core.catalog import diagnoses
from perfscope.metrics.results import Options
from perfscope.output import visible
from perfscope.readers.detect import ReadOptions
from perfscope.readers.registry import open_traces
from perfscope.report.build import build_html
from perfscope.report.terminal import PLAIN, print_summary
from perfscope.savings import SAME_FROM
from perfscope.schema.efficiency import EFFICIENCIES
from perfscope.schema.read import read_known
from perfscope.trace.model import Trace
from perfscope.units import format_ratio, format_seconds, format_share, inside
from tests.report.page_numbers import numbers, said, unknown
from tests.support.environments import REPOSITORY
from tests.support.random_traces import traces
from tests.support.requirements import require_reference

SAMPLES = sorted(path.parent for path in (REPOSITORY / "sample_traces").glob("*/run.json"))
NAMES = [path.name for path in SAMPLES]
REFERENCES = (
    *("horovod/hvd_torch_np4_rank2_50ms_cache0.json", "kineto/hta/mtia_trace_single_rank"),
    *("kineto/hta/trace_filter", "kineto/hta/critical_path/simple_add", "nsys", "torch_gloo4"),
    *("kineto/tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz", "otf2/mi300_hpl"),
    *("otf2/ping_pong", "paraver_epoch/epoch_2proc.prv.gz", "paraver_epoch/epoch_4proc.prv.gz"),
    *("samples/mprof_leak_5MiB_per_call.dat", "xplane/tf221_keras_5steps_20ms_sleep.xplane.pb"),
)
"""One of each kind of trace that other tools wrote."""
BLOCKS = {"p", "div", "section", "h1", "h2", "h3", "h4", "tr", "li", "dt", "dd", "summary", "text"}
BLOCKS |= {"td", "th", "caption", "figcaption", "title", "small", "details", "table"}
BRITISH = re.compile(
    r"\b\w*(?:aly[s](?:e|ed|es|ing)|(?:final|initial|serial|synchron|util|optim|normal|recogn)is"
    r"(?:e|ed|es|ing|ation)|labelled|labelling|modelled|levelled|colour\w*|neighbour\w*)\b",
    re.IGNORECASE,
)
DUST = re.compile(r"[\d.]e-\d+|(?<![\d.])-?0?\.\d+\sns\b")
NOUNS = (
    "ranks|hosts|findings|checks|steps|threads|processes|records|calls|CPUs|GPUs|nodes|runs|sizes"
    "|configurations|diagnoses|samples|commits|causes|seconds|times"
)
ONE_OF_MANY = re.compile(
    rf"(?<![\w.,/–=×-])(?<!rank )(?<!node )(?<! to )(?<! and )1 (?:\w+ )?(?:{NOUNS})\b(?!/s)"
)
SHARE_OF_A_SAVING = re.compile(r"(?<![\d.])([\d.]+) % of the ([\d.]+) (ms|s) (run|analyzed window)")


NO_FACTS = ("1 0.8 0.6 0.95 95 % 100 % 3 % 10 %",)
"""What pages say of no recording: bands of efficiencies and problems, the level of intervals."""


AMOUNT = re.compile(r"\d.?\d.?\d \S")
DEVICES = re.compile(
    r'<section id="devices".*?</section>|<title>[^<]*about \d+\s% of this time</title>', re.DOTALL
)
"""What devices did is added up in many ways, and a piece of the timeline holds many."""


class _Texts(HTMLParser):
    """The texts of a page, one for each block; code and addresses are the program's own."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = [""]
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in {"script", "style", "code"}
        if tag in BLOCKS:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in {"script", "style", "code"}
        if tag in BLOCKS:
            self.texts.append("")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.texts[-1] += data


@dataclass(frozen=True)
class Shown:
    """One recording as everybody sees it."""

    document: dict[str, Any]
    html: str
    page: tuple[str, ...]
    terminal: str

    @property
    def everything(self) -> str:
        """All that is printed."""
        return "\n".join((*self.page, self.terminal))


def texts_of(html: str) -> tuple[str, ...]:
    """What a page says, a text for each block."""
    parser = _Texts()
    parser.feed(html)
    texts = (re.sub(r"\s+", " ", text).strip() for text in parser.texts)
    return tuple(text for text in texts if text)


@cache
def shown(place: Path) -> Shown:
    return shown_of(open_traces([place], ReadOptions()))


def shown_of(trace: Trace) -> Shown:
    document = analysis(trace, Options())
    html = build_html(read_known(document))
    stream = io.StringIO()
    print_summary(read_known(document), Console(file=stream, width=400, color_system=None))
    terminal = stream.getvalue()
    return Shown(document, html, texts_of(html), terminal)


@pytest.fixture(params=SAMPLES, ids=NAMES)
def recording(request: pytest.FixtureRequest) -> Shown:
    return shown(request.param)


@pytest.fixture(params=[*SAMPLES, *REFERENCES], ids=[*NAMES, *REFERENCES])
def trace(request: pytest.FixtureRequest) -> Shown:
    """A recording or a trace of another tool."""
    chosen = request.param
    return shown(require_reference(chosen) if isinstance(chosen, str) else chosen)


def savings(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the first actions of the findings of the verdict save."""
    found = {row["id"]: row for row in document["findings"]}
    yield from (
        found[name]["first_action"]
        for name in document["verdict"]["top"]
        if found[name]["first_action"] is not None
    )


def test_a_saving_is_told_alike_everywhere(trace: Shown) -> None:
    text = " ".join(trace.everything.replace("µ", "u").split())
    for row in savings(trace.document):
        told = format_seconds(row["gain_s"])
        run_share, window_share = row["gain_run_share"], row["gain_share"]
        assert format_share(run_share) in text
        is_same = run_share >= SAME_FROM * window_share
        assert is_same or format_share(window_share) in text
        if row["gain_interval_s"] and row["gain_basis"] != "upper_bound":
            low, high = map(format_seconds, row["gain_interval_s"])
            assert f"{low} to {high}" in text
        share = re.escape(format_share(run_share))
        of_run = rf"(about|up to) {re.escape(told)} of the [\d.]+ \w+ run \({share}\)"
        assert len(re.findall(of_run, text)) >= 2  # card and terminal
        assert f"{told} ({format_share(run_share)} of the " in text


def test_every_share_of_a_saving_is_of_the_whole_that_it_names(recording: Shown) -> None:
    run = recording.document["run"]
    window = run["focus_of_analysis_s"]
    lengths = {"run": run["wall_s"], "analyzed window": window[1] - window[0]}
    found = SHARE_OF_A_SAVING.findall(" ".join(recording.everything.split()))
    assert found
    for _, length, unit, whole in found:
        assert f"{length} {unit}" == format_seconds(lengths[whole])


def test_the_headline_promises_what_the_first_action_saves(trace: Shown) -> None:
    document = trace.document
    raw = document["verdict"]["sentence"]
    sentence = " ".join(visible(raw, longest=len(raw)).split())  # a name may hold a tab or a NUL
    assert f"Verdict: {sentence}".translate(PLAIN) in " ".join(trace.terminal.split())
    # a heading, the saving, and what to do; then the rest. Code is left out of texts
    overview = trace.html[trace.html.index('<section id="overview"') :]
    parts = re.findall(
        r'<h1 id="overview-title">.*?</h1>|<p class="(?:lead|beside)">.*?</p>', overview
    )
    page = " ".join(text for part in parts for text in texts_of(part))
    assert page == " ".join(re.sub(r"`[^`]*`", "", sentence).split())
    first = next(
        (row for row in document["findings"] if row["id"] in document["verdict"]["top"][:1]), None
    )
    if first is None or first["first_action"] is None:
        assert "fix would save" not in sentence
        return
    saved = format_seconds(first["first_action"]["gain_s"])
    told = rf"The fix would save (about|up to) {re.escape(saved)}[ ,]"
    assert re.search(told, sentence)
    for told in re.findall(r"that saves (?:about )?([\d.]+ \w+)", first["actions"][0]):
        assert told == saved


def test_of_the_run_is_said_of_the_run_alone(trace: Shown) -> None:
    text = " ".join(trace.everything.split())
    assert re.findall(r"[\d.] % of the time(?! watched| between)\b.{30}", text) == []
    assert re.findall(r"[\d.] % of the run\b", text) == []  # it says how long the run was


def test_a_share_of_the_ranks_time_names_the_window_or_their_lifetimes(
    trace: Shown,
) -> None:
    text = " ".join(trace.everything.split())
    of_what = re.findall(r"\d % of the ranks[’'] (.{27})", text)
    rest = {one for one in of_what if not one.startswith("lifetimes") and "…" not in one}  # cut
    assert rest <= {"time in the analyzed window"}


def test_a_verdict_that_saves_more_than_was_lost_says_of_what(trace: Shown) -> None:
    """What is lost is an account of its own; what devices and helpers lose is not in it."""
    document = trace.document
    lost, first = document["losses"]["lost_share"], next(savings(document), None)
    if lost is None or first is None or document["devices"].get("value") is not None:
        return
    is_more = first["gain_share"] > lost
    told = [row for row in document["breakdown"] if row["id"] == "of_work"]
    assert bool(told) >= is_more
    if told:
        amount = format_seconds(told[0]["seconds"])
        assert len(re.findall(rf"about {re.escape(amount)} \([^)]*\)", trace.everything)) >= 4


def test_every_number_of_page_and_terminal_is_one_of_the_document(trace: Shown) -> None:
    """So no place states a fact otherwise than another one: all of them state the document's.

    What devices did is added up in many ways; tests of its own section hold those.
    """
    texts = [*said(DEVICES.sub("", trace.html)), *trace.terminal.replace(" us", " µs").splitlines()]
    assert unknown(texts, trace.document, *NO_FACTS) == []


def test_a_number_that_is_not_the_documents_is_found(recording: Shown) -> None:
    """Not each is: a wrong one may be another fact's. Last digits are changed by one."""
    texts = said(recording.html)
    told = {found for text in texts for found in numbers(text) if AMOUNT.search(found)}
    wrong = [re.sub(r"\d(?=\D*$)", lambda last: str((int(last[0]) + 1) % 10), one) for one in told]
    assert len(unknown(wrong, recording.document)) > len(wrong) / 2


def test_a_figure_with_a_name_has_one_value(trace: Shown) -> None:
    """An efficiency is told of the run or of one of its phases, an account of the ledger whole."""
    document = trace.document
    texts = [*said(DEVICES.sub("", trace.html)), *trace.terminal.splitlines()]
    for word in EFFICIENCIES.values():
        rows = [document["metrics"], *(row["metrics"] for row in document["phases"])]
        values = {format_ratio(row[word.id]["value"]) for row in rows if row and word.id in row}
        named = re.compile(
            rf"(?<!Device ){word.label} (?:of |is |= )?([01]\.\d{{3}})\b", re.IGNORECASE
        )
        told = {found for text in texts for found in named.findall(text)}
        assert told <= values or document["devices"].get("value") is not None, word.label
    own = [row for row in document["breakdown"] if row["id"] not in ("of_verdict", "of_work")]
    for row in own:
        both = rf"^ +{re.escape(row['label'])} +#* +([\d.]+ %) +([\d.]+ (?:min|s|ms|us|ns))\b"
        known = (format_share(row["share"]), format_seconds(row["seconds"]).replace("µ", "u"))
        assert {*re.findall(both, trace.terminal, re.MULTILINE)} <= {known}
    spent, whole_s = sum(row["seconds"] for row in own), document["run"]["wall_s"]
    assert spent == pytest.approx(whole_s, rel=0.001) or document["run"]["damage"]


def test_one_cause_has_one_name(trace: Shown) -> None:
    """In the loss account, where the time went, and what a finding of the account is called."""
    document = trace.document
    entries = document["losses"]["entries"]
    names = {inside(one["label"]) for one in entries} | {"useful"}
    for row in document["breakdown"]:
        if row["id"] == "lost":
            own = row["label"].split(": ", 1)[1]
            assert own in names or re.fullmatch(r"\d+ smaller loss(es)?", own)
    titles = {row["id"]: row["title"] for row in document["findings"]}
    for one in entries:
        own = f"lost_to_{one['activity']}"
        assert own not in titles or titles[own].startswith(one["label"])
    activities = document["activities"]["totals"]
    labels = {one["activity"]: one["label"] for one in activities if one["activity"] != "lock"}
    for one in entries:
        if one["activity"] in labels:
            assert one["label"] == labels[one["activity"]]


def test_title_and_next_step_name_the_same_call(trace: Shown) -> None:
    for row in trace.document["findings"]:
        mainly = re.findall(r"mainly (MPI_\w+|torch\.distributed\.\w+)", row["title"])
        for step in row["actions"]:
            goes_to = re.findall(r"(MPI_\w+|torch\.distributed\.\w+) is called", step)
            assert {*goes_to} <= {*mainly} or not mainly


def test_no_finding_is_surer_than_its_interval(trace: Shown) -> None:
    for row in trace.document["findings"]:
        interval = row["gain_interval_s"]
        if interval is not None and interval[0] < 1e-9:
            assert row["confidence"] == "low"
            assert row["status"] != "fail"


def test_no_dust_of_floating_point_numbers(trace: Shown) -> None:
    assert DUST.findall(re.sub(r"`[^`\n]*`", "", trace.everything)) == []


def test_one_is_no_plural(trace: Shown) -> None:
    texts = [*trace.page, *trace.terminal.splitlines()]
    assert [text for text in texts if ONE_OF_MANY.search(text)] == []


def test_one_spelling_and_one_sign_for_each_unit(trace: Shown) -> None:
    texts = [*trace.page, trace.terminal]
    assert [found for text in texts for found in BRITISH.findall(text)] == []
    assert [text for text in trace.page if re.search(r"\d us\b|\d x \w", text)] == []
    assert [text for text in texts if re.search(r"\d%", text)] == []


def test_no_identifier_of_the_document_is_shown(trace: Shown) -> None:
    document = trace.document
    ids = {diagnosis.id for diagnosis in diagnoses()} | {row["id"] for row in document["ledger"]}
    ids |= {document["run"]["focus_kind"], "outside_communication", "communication_lifetime"}
    names = "|".join(sorted(name for name in ids if "_" in name))
    shown = re.compile(rf"(?<![\w/])(?:{names})(?![\w/(.])")
    own = " ".join(document["run"]["command"]) + document["run"]["source"]
    for text in (*trace.page, *trace.terminal.splitlines()):
        assert [name for name in shown.findall(text) if name not in own] == [], text
        assert "user:" not in text


def test_who_does_not_speak_mpi_is_not_said_to(trace: Shown) -> None:
    operations = {row["name"] for row in trace.document["collectives"]["operations"]}
    if not any(name.startswith("MPI_") for name in operations):
        quality = " ".join(row["detail"] for row in trace.document["quality"])
        endings = " ".join(row["text"] for row in trace.document["run"]["endings"])
        assert "MPI" not in quality + endings
    assert "the MPI job" not in trace.everything


def test_a_status_has_one_word_on_page_and_terminal(trace: Shown) -> None:
    words = set(re.findall(r"^\d\. ([\w ]+): ", trace.terminal, re.MULTILINE))
    assert all(
        re.fullmatch(r"Note|((Possible )?(major |minor )?problem)", w, re.IGNORECASE) for w in words
    )
    assert not re.search(r"\b(FAIL|WARN)\b|To do:|[Gg]ives? back|to win back", trace.everything)


def test_phases_have_colors_of_their_own(recording: Shown) -> None:
    css = (REPOSITORY / "perfscope/report/assets/report.css").read_text(encoding="utf-8")
    root = css[: css.index("@media")]
    section = recording.html[recording.html.index('<section id="phases"') :]
    legend = section[: section.index("</figcaption>") + 4000]
    drawn = dict.fromkeys(
        re.findall(r'class="f-([\w-]+)"', legend[: legend.index('<svg class="ch')])
    )
    colors = [
        re.findall(rf"--{role.replace('phase', 'series')}: (#\w+)", root)[0] for role in drawn
    ]
    assert len(set(colors)) == len(colors) > 0


@settings(max_examples=10)
@given(traces())
def test_random_runs_are_told_alike_everywhere(trace: Trace) -> None:
    told = shown_of(trace)
    test_a_saving_is_told_alike_everywhere(told)
    test_the_headline_promises_what_the_first_action_saves(told)
    test_of_the_run_is_said_of_the_run_alone(told)
    test_no_finding_is_surer_than_its_interval(told)
    test_one_is_no_plural(told)
    test_a_status_has_one_word_on_page_and_terminal(told)
