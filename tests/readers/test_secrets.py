"""Secrets that other tools wrote into their traces reach no report, no JSON and no export."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from perfscope.cli.analyze import analyze
from perfscope.cli.export import export
from perfscope.readers.registry import open_trace
from tests.support.leaks import leaked
from tests.support.otf2_archives import ArchiveWriter
from tests.support.write_kineto import KinetoWriter

MS = 1_000_000
# Put together here so that no scanner takes this file for a leak.
MARK = "hunt" + "er2"
TOKENS = {
    "argument": "hf_" + "AbCdEfGhIjKlMnOpQrStUv",
    "phase": "glpat-" + "x1y2z3a4b5c6d7e8f9g0",
    "kernel": "AKIA" + "IOSFODNN7EXAMPLE",
    "thread": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
}
NAMED = f"evaluate token={TOKENS['phase']} https://me:{MARK}@example.org/"
MANGLED = "_ZN19cutlass_cudnn_train6KernelINS_4conv6kernel23ImplicitGemmILi128ELi32EE"
TENSILE = "Cijk_Ailk_Bjlk_SB_MT64x16x16_MI16x16x1_SN_LDSB0_AFC1_AFEM1_ASEM1_CLR1_CADS0"
KEPT = ("Tokenizer::encode", "std::map<Key, Auth>::find", "train_step", MANGLED)


def otf2(directory: Path) -> Path:
    """Two ranks that were started with secrets and name their regions and threads by some."""
    writer = ArchiveWriter(directory)
    writer.node(0, "host0")
    words = ("train.py", "--password", MARK, f"--api-token={MARK}", TOKENS["argument"])
    arguments = [writer.string(word) for word in words[1:]]
    for number in (0, 1):
        writer.process(number, f"MPI Rank {number}")
        writer.location(number, f"Master thread {TOKENS['thread']}", number)
    writer.group(4, range(2))
    writer.comm("MPI_COMM_WORLD", writer.group(5, range(2)))
    regions = [writer.region(name) for name in (NAMED, *KEPT)]
    for number in (0, 1):
        writer.event(number, "ProgramBegin", 0, writer.string(words[0]), arguments)
        for place, region in enumerate(regions):
            writer.event(number, "Enter", (1 + place) * 10 * MS, region)
            writer.event(number, "Leave", (9 + place * 10) * MS + 10 * MS, region)
    return writer.close()


def kineto(directory: Path) -> Path:
    """One rank with secrets in an annotation and in the name of a kernel."""
    writer = KinetoWriter()
    writer.step(1, 0, 900 * MS)
    writer.host_event(NAMED, 100 * MS, 300 * MS)
    writer.host_event("Tokenizer::encode", 300 * MS, 310 * MS)
    for place, name in enumerate(("fill", f"copy {TOKENS['kernel']}", TENSILE)):
        start = (400 + 100 * place) * MS
        writer.kernel(name, start, start + 50 * MS, launch=start - MS)
    return writer.write(directory / "rank0.json")


def leaks(content: bytes) -> list[str]:
    return leaked(content, {**TOKENS, "mark": MARK})


@pytest.mark.parametrize("make", [otf2, kineto])
def test_no_report_and_no_export_holds_one(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    source = make(tmp_path)
    stored = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert "mark" in leaks(stored), "nothing was planted"
    shown = [
        run(analyze, source, "--output", tmp_path / "report"),
        run(analyze, source, "--output", tmp_path / "report", "--json"),
        run(export, source, "--to", "chrome", "--output", tmp_path / "chrome.json"),
        run(export, source, "--to", "csv", "--output", tmp_path / "csv"),
    ]
    assert leaks("".join(shown).encode()) == []
    written = [*(tmp_path / "report").iterdir(), *(tmp_path / "csv").iterdir()]
    written += [file for file in tmp_path.glob("chrome.json*") if file.is_file()]
    assert len(written) > 4
    assert {file.name: found for file in written if (found := leaks(file.read_bytes()))} == {}


def run(command: click.Command, source: Path, *options: str | Path) -> str:
    """What a command of perfscope prints."""
    words = [str(word) for word in (source, *options)]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_keeps_what_is_no_secret(tmp_path: Path) -> None:
    command = open_trace(otf2(tmp_path)).command
    redacted = ("--password", "[redacted]", "--api-token=[redacted]", "[redacted]")
    assert command == ("train.py", *redacted)


def test_names_of_code_stay_what_they_are(tmp_path: Path) -> None:
    assert set(KEPT) <= set(open_trace(otf2(tmp_path)).names)
    names = open_trace(kineto(tmp_path)).names
    assert TENSILE in names
    assert "copy [redacted]" in names


def test_a_name_keeps_what_is_beside_the_secret(tmp_path: Path) -> None:
    for make in (otf2, kineto):
        place = tmp_path / make.__name__
        place.mkdir()
        names = open_trace(make(place)).names
        assert "evaluate token=[redacted] https://[redacted]@example.org/" in names
