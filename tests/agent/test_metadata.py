"""The JSON file beside the records."""

import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfscope.agent.perfscope_agent import metadata, notes, recorder, topology
from tests.agent.jobs import RANK_ZERO, Job

CRASH = """
import os, signal, time
time.sleep({seconds})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_describes_the_process(job: Callable[..., Job], tmp_path: Path) -> None:
    found = job("import time; time.sleep(0.3)", variables=RANK_ZERO).process.metadata
    assert found["schema"] == 1
    assert found["host"] == os.uname().nodename
    assert found["python"] == ".".join(str(part) for part in sys.version_info[:3])
    assert found["argv"][1:] == [str(tmp_path / "program.py")]
    assert found["cwd"] == str(tmp_path)
    assert found["exception"] is None
    assert found["topology"]["cpus"] == os.cpu_count()
    assert found["topology"]["cpus_allowed"] == sorted(os.sched_getaffinity(0))
    assert found["stack_sampler"]["samples"] >= 1
    assert found["stack_sampler"]["cpu_ns"] > 0


def test_is_there_from_the_start(job: Callable[..., Job]) -> None:
    done = job(CRASH.format(seconds=0), variables=RANK_ZERO)
    assert done.exit_code == -9
    assert done.process.metadata["rank_environment"] == RANK_ZERO


def test_names_the_exception_that_ended_the_program(job: Callable[..., Job]) -> None:
    done = job("import json\ndef f():\n    json.loads('{')\nf()\n")
    exception = done.process.metadata["exception"]
    assert exception["type"] == "JSONDecodeError"
    assert exception["message"].startswith("Expecting property name")
    assert (exception["file"], exception["line"]) == (str(done.directory.parent / "program.py"), 3)


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "try:\n    1 / 0\nexcept Exception: pass"])
def test_handled_exceptions_and_exits_are_none(job: Callable[..., Job], text: str) -> None:
    assert job(text).process.metadata["exception"] is None


def test_a_program_that_another_one_becomes_keeps_its_own(
    job: Callable[..., Job], tmp_path: Path
) -> None:
    """Both images of the process have records, and beside each what the agent noted in it."""
    (tmp_path / "next.py").write_text("import time; time.sleep(0.3)", encoding="utf-8")
    script = """
import os, sys, time
time.sleep(0.3)
os.execv(sys.executable, [sys.executable, "next.py"])
"""
    job(script, variables=RANK_ZERO)
    names = {path.stem for path in tmp_path.rglob("*.json") if path.with_suffix(".rec").exists()}
    assert len(names) == 2
    told = [json.loads(path.read_text("ascii"))["argv"][-1] for path in tmp_path.rglob("*.json")]
    assert sorted(Path(one).name for one in told) == ["next.py", "program.py"]


def test_records_that_take_the_name_of_an_older_programs_file_leave_it_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without records became this one, whose records are the first of the process."""
    first, second = tmp_path / "7-9.json", tmp_path / "7-9-1.json"
    first.write_text("the first program's", encoding="ascii")
    monkeypatch.setattr(metadata, "_path", str(second))
    monkeypatch.setattr(metadata, "facts", {"argv": ["second"]})
    monkeypatch.setattr(recorder, "current", None)
    metadata.write()
    monkeypatch.setattr(metadata, "_beside_records", lambda: str(first))
    metadata.write()
    assert json.loads(first.read_text())["argv"] == ["second"]
    assert second.read_text() == "the first program's"


def test_leaves_no_temporary_file(job: Callable[..., Job]) -> None:
    done = job("import time; time.sleep(0.2)")
    endings = {path.suffix for path in done.directory.rglob("*") if path.is_file()}
    assert endings <= {".json", ".rec", ".def", ".ends"}


def test_threads_that_write_at_once_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "process.json"
    monkeypatch.setattr(metadata, "_path", str(path))
    monkeypatch.setattr(metadata, "facts", {"frameworks": {}})
    monkeypatch.setattr(notes, "notes", [])

    def note(thread: int) -> None:
        for number in range(100):
            metadata.framework(f"framework {thread}.{number}")
            metadata.write()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(note, range(4)))
    written = json.loads(path.read_text())
    assert written["agent_notes"] == []
    assert len(written["frameworks"]) == 400
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_signals_handler_writes_in_between_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, encode = tmp_path / "process.json", metadata.encode
    at_once: list[bool] = []

    def interrupted(value: object) -> str:
        text = encode(value)
        if not at_once:
            at_once.append(True)
            metadata.facts["exit"] = "terminated"
            metadata.write()
        return text

    monkeypatch.setattr(metadata, "_path", str(path))
    monkeypatch.setattr(metadata, "facts", {})
    monkeypatch.setattr(metadata, "encode", interrupted)
    metadata.write()
    assert json.loads(path.read_text())["exit"] == "terminated"
    assert list(tmp_path.iterdir()) == [path]


def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_a_child() -> None:
        metadata.forget()
        metadata._path = str(tmp_path / "child.json")
        metadata.write()

    monkeypatch.setattr(metadata, "_path", "")
    child = threading.Thread(target=as_a_child, daemon=True)
    with metadata._one_writer:
        child.start()
        child.join(timeout=60)
    assert (tmp_path / "child.json").is_file()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('abc äß\n"\\'), inner),
    max_leaves=20,
)


@given(JSON)
def test_encoded_values_read_back(value: object) -> None:
    assert json.loads(metadata.encode(value)) == value


def test_what_json_does_not_have_is_encoded_nevertheless() -> None:
    assert metadata.encode([float("nan"), float("inf"), (1, Path("a"))]) == '[null, null, [1, "a"]]'
    assert json.loads(metadata.encode("a\udcffb")) == "a\\udcffb"


def test_cpu_lists_are_read() -> None:
    assert topology.cpu_list("0-3,8") == [0, 1, 2, 3, 8]
    assert topology.cpu_list("") == []
    assert topology.cpu_list("2") == [2]
