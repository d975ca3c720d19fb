"""Commands that several people start at once in one directory: each ends well, no file is half."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from perfscope.errors import UsageError
from perfscope.export.target import completed
from tests.cli.test_analyze import write_recording

COMMANDS = {
    "analyze": ["analyze", "{run}"],
    "compare": ["compare", "{run}", "{other}", "-o", "{out}", "--markdown", "{out}/compare.md"],
    "history": ["history", "{run}", "--reports", "-o", "{out}"],
    "scaling": ["scaling", "{run}", "{other}", "-o", "{out}"],
}
RESULTS = {"analysis.json", "study.json", "report.html", "study.html", "badge.svg"}
PROCESSES = 3
MOST_LOOKS, MOST_ROUNDS = 2000, 4

START_TOGETHER = """
import sys
from perfscope.cli.main import main
import perfscope.readers.registry, perfscope.document.analysis, perfscope.report.build
print("ready", flush=True)
sys.stdin.readline()
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "command",
    ["analyze", *(pytest.param(name, marks=pytest.mark.long) for name in list(COMMANDS)[1:])],
)
def test_the_same_command_many_times_at_once(tmp_path: Path, command: str) -> None:
    results, words = prepared(tmp_path, command)
    assert run_together(results, words) > 0
    assert [path.name for path in tmp_path.rglob("*.partial")] == []
    if command == "analyze":
        assert {"analysis.json", "report.html"} <= {path.name for path in results.iterdir()}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("command", COMMANDS)
def test_thousands_of_looks_while_commands_run_and_are_killed(tmp_path: Path, command: str) -> None:
    """Every second round all processes but one are killed, somewhere on their way."""
    seed = int(os.environ.get("PERFSCOPE_SEED", "0")) or random.randrange(1 << 32)
    chance = random.Random(seed)
    results, words = prepared(tmp_path, command)
    looks = rounds = killed = 0
    while looks < MOST_LOOKS or rounds < MOST_ROUNDS:
        victims = (PROCESSES - 1) * (rounds % 2)
        looks += run_together(results, words, [chance.uniform(0, 1.5) for _ in range(victims)])
        rounds, killed = rounds + 1, killed + victims
    sys.stdout.write(f"{command}: {looks} looks in {rounds} rounds, {killed} processes killed\n")


def prepared(place: Path, command: str) -> tuple[Path, list[str]]:
    """Where the results of a command will be, and its words."""
    places = {name: place / name for name in ("run", "other", "out")}
    for name in ("run", "other"):
        write_recording(places[name])
    places["out"].mkdir()
    words = [word.format(**{k: str(v) for k, v in places.items()}) for word in COMMANDS[command]]
    return places["run"] if command == "analyze" else places["out"], words


def run_together(results: Path, words: list[str], killed_after_s: Sequence[float] = ()) -> int:
    """Starts a command several times at once and looks at its results; how many were seen.

    Args:
        results: where they are.
        words: the command.
        killed_after_s: so many of the processes are killed, each so long after its start.
    """
    started = [
        subprocess.Popen(
            [sys.executable, "-c", START_TOGETHER, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    began, seen = time.monotonic(), 0
    while any(process.poll() is None for process in started):
        seen += look(results)
        time.sleep(0.001)  # the commands need the core more
        for process, after_s in zip(started, killed_after_s, strict=False):
            if time.monotonic() - began >= after_s:
                process.kill()
    for process in started[len(killed_after_s) :]:
        _, errors = process.communicate()
        assert process.returncode in (0, 1), errors
    for process in started[: len(killed_after_s)]:
        process.communicate()
    found = look(results)
    assert found > 0
    return seen + found


def look(directory: Path) -> int:
    """How many results there are; each is whole."""
    count = 0
    for path in directory.iterdir():
        if path.name not in RESULTS:
            continue
        count += 1
        content = path.read_bytes()
        if path.suffix == ".json":
            assert isinstance(json.loads(content), dict)
        else:
            assert content.rstrip().endswith((b"</html>", b"</svg>"))
    return count


@pytest.mark.parametrize("is_directory", [False, True])
def test_an_export_never_takes_a_name_that_another_one_took_meanwhile(
    tmp_path: Path, is_directory: bool
) -> None:
    output = tmp_path / "out"

    def write(path: Path, text: str) -> None:
        if is_directory:
            path.mkdir()
        (path / "table" if is_directory else path).write_text(text)

    def export_twice() -> None:
        with completed(output) as first:
            write(first, "first")
            with completed(output) as second:
                assert first != second
                write(second, "second")

    with pytest.raises(UsageError, match="exists already"):
        export_twice()
    assert (output / "table" if is_directory else output).read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
