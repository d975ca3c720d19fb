"""Nothing that a recorded job chose steers a terminal, a spreadsheet or a reader of JSON."""

import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from perfscope import output
from perfscope.cli.main import main
from perfscope.dataframes.source import Source
from perfscope.export.csv import write as write_csv
from perfscope.readers.registry import open_trace
from perfscope.schema.enums import PhaseKind
from tests.support.write_recording import ProcessWriter, write_run

# C0, C1, line breaks, bidirectional, zero-width, tags, fillers, a lone surrogate.
HOSTILE = (
    "\x00\x07\x08\x1b[31m\x7f\x85\x9b2J\r\u2028\u2029\u061c\u200b\u200d\u200e\u202e\u2066"
    "\u2069\u00ad\u034f\u115f\u3164\u2800\ufeff\ufff9\ue000\udcff\U000e0041\U000e0101\U0001d173"
)
NOT_IN_A_FILE = {0: None, 0xDCFF: None}
LAYOUT = {"\n"}


def hidden(text: str) -> set[str]:
    """The characters that a terminal would act on or not show."""
    shapeless = set("\u034f\u115f\u3164\u2800\U000e0101")
    return {
        c
        for c in text
        if c not in LAYOUT
        and (unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} or c in shapeless)
    }


def recording(directory: Path, name: str) -> Path:
    """Two ranks of which the first evaluates alone, in a function and a file of that name."""
    processes = [ProcessWriter(rank=rank, size=2, pid=100 + rank) for rank in (0, 1)]
    for process in processes:
        process.communicator(0, 77, [0, 1])
        at = 1.0
        for number in range(8):
            late = 1.0 if process.rank == 0 else 0.0
            process.phase(PhaseKind.USER, at, at + 0.1, f"phase{name}")
            if late:
                process.phase(PhaseKind.EVALUATE, at + 0.1, at + 1.0, f"evaluate {name}")
                process.stack(at + 0.5, [(f"=evaluate{name}", f"/job/{name}.py", 212)])
            process.step(number, at + late, at + 1.3, sent=32, received=64)
            process.op("MPI_Allreduce", at + 0.2 + late, at + 1.4, sent=80, received=80)
            at += 1.5
        process.metadata = {"schema": 1, "role": "rank", "rank_environment": {}}
        process.write(directory)
    write_run(directory, command=["train", name, "-x"], notes=[f"note {name}"])
    return directory


def test_every_character_that_hides_is_spelled_out() -> None:
    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}:
            assert hidden(output.visible(f"a{character}b")) == set(), hex(code)
    assert output.visible("می\u200cخواهم 👩\u200d🔬 ⚠\ufe0f") == "می\u200cخواهم 👩\u200d🔬 ⚠\ufe0f"


def test_json_means_the_same_and_hides_nothing() -> None:
    document = {f"key{HOSTILE}": [HOSTILE, "Ünïcödé 日本", 'quote " and \\ bar']}
    text = output.json_text(json.dumps(document, ensure_ascii=False, indent=1))
    assert json.loads(text) == document
    assert hidden(text) == set()
    assert "Ünïcödé 日本" in text


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "PLACE", "--fail-on", "warn", "--fail-on", "fail"],
        ["analyze", "PLACE", "--fail-under", "0.99", "--json"],
        ["analyze", "PLACE", "--foa", f"phase:{HOSTILE}"],
        ["analyze", f"missing{HOSTILE[1:]}"],
        ["analyze", "PLACE", f"--{HOSTILE}"],
        ["-v", "analyze", f"missing{HOSTILE[1:]}"],
        ["whatif", "PLACE", "--edit", "balance"],
        ["whatif", "PLACE", "--edit", f"remove:{HOSTILE}"],
        ["compare", "PLACE", "--to", "PLACE", "--markdown", "-", "--fail-on", "unclear"],
        ["history", "PLACE", "--output", "OUT"],
        ["scaling", "PLACE", "--output", "OUT"],
        ["export", "PLACE", "--to", "csv", "-o", "OUT"],
        ["export", "PLACE", "--to", HOSTILE],
        ["sweep", "--dry-run", "--var", f"x=1,{HOSTILE[1:]}", "--", "train", "{x}"],
        [HOSTILE],
    ],
    ids=lambda words: " ".join(word for word in words if HOSTILE[1:] not in word),
)
def test_no_command_prints_a_character_that_hides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    place = recording(tmp_path / "trace", HOSTILE.translate(NOT_IN_A_FILE))
    named = {"PLACE": str(place), "OUT": str(tmp_path / "out")}
    main([named.get(word, word) for word in words])
    shown = capsys.readouterr()
    assert shown.out + shown.err
    assert hidden(shown.out) == set()
    assert hidden(shown.err) == set()


def test_the_gate_that_failed_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = recording(tmp_path / "trace", "\nGate failed: forged\x1b]0;title\x07")
    assert main(["analyze", str(place), "--fail-on", "fail", "--fail-on", "warn"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("Gate failed: ") for line in lines)
    assert not any(line.startswith("Gate failed: forged") for line in lines)


def test_arguments_are_echoed_visibly_by_the_program_itself() -> None:
    command = [sys.executable, "-m", "perfscope", "analyze", "--no-such\x1b[31m\u202e\x07"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "\\x1b[31m\\u202e\\x07" in done.stderr.decode()
    assert hidden((done.stdout + done.stderr).decode()) == set()


def test_warnings_go_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    import warnings

    with warnings.catch_warnings(), output.warnings_told():
        warnings.simplefilter("always")
        warnings.warn_explicit("told \x1b[2J", RuntimeWarning, "file\u202e.py", 3)
    shown = capsys.readouterr().err
    assert "told \\x1b[2J" in shown
    assert hidden(shown) == set()


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_locale_without_unicode_ends_nothing(locale: str) -> None:
    code = "from perfscope import output; output.say('\\xb5 \\x1b \\u65e5')"
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code],
        env={"LC_ALL": locale, "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == b"\\xb5 \\x1b \\u65e5\n"


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "'=1", "＝1"],
)
def test_no_cell_is_a_formula_and_each_comes_back(text: str) -> None:
    cell = output.csv_cell(text)
    assert cell.startswith("\"'")
    assert output.csv_text(cell[1:-1].replace('""', '"')) == text


@pytest.mark.parametrize("text", ["train", "-1.5e3", "+2", "3-4", "a;=1", 'say "no"', "it's", "'s"])
def test_other_cells_stay(text: str) -> None:
    assert output.csv_cell(text) == '"' + text.replace('"', '""') + '"'


def test_an_exported_phase_is_no_formula(tmp_path: Path) -> None:
    trace = open_trace(recording(tmp_path / "trace", ";=cmd|' /C calc'!A0"))
    write_csv(Source(trace), tmp_path / "csv")
    tables = [file.read_text(encoding="utf-8") for file in (tmp_path / "csv").glob("*.csv")]
    assert any("\"'=evaluate" in text for text in tables)
    assert not any(",=evaluate" in text or ',"=evaluate' in text for text in tables)


def test_every_export_and_page_of_hostile_names_can_be_read(tmp_path: Path) -> None:
    hostile = HOSTILE.translate(NOT_IN_A_FILE) + "</script><img src=x onerror=alert(1)> | `a` $x^{"
    place = str(recording(tmp_path / "trace", hostile))
    assert main(["analyze", place, "--no-strict"]) == 0
    page = (tmp_path / "trace" / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert hidden(page.replace("\t", "")) == set()
    for target, name in (("chrome", "c.json"), ("parquet", "p"), ("otf2", "o")):
        output_place = tmp_path / name
        assert main(["export", place, "--to", target, "-o", str(output_place)]) == 0
    events = json.loads((tmp_path / "c.json").read_text(encoding="ascii"))["traceEvents"]
    assert any("onerror" in json.dumps(event) for event in events)
    for exported in ("c.json", "o"):
        open_trace(tmp_path / exported)
