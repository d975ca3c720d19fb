"""Files of somebody else are opened without waiting; what is written appears whole."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from perfscope import files
from tests.support.waiting import wait_for


def odd_files(directory: Path) -> dict[str, Path]:
    """One path of each kind that is no file of a sensible size."""
    made = {
        name: directory / name
        for name in ("fifo", "device", "loop", "folder", "sparse", "nobody", "dangling")
    }
    os.mkfifo(made["fifo"])
    made["device"].symlink_to("/dev/zero")
    made["loop"].symlink_to(made["loop"])
    made["folder"].mkdir()
    with made["sparse"].open("wb") as file:
        file.truncate(1 << 42)
    made["dangling"].symlink_to(directory / "nothing")
    made["nul"] = Path(f"{directory}/a\0b")
    made["long"] = directory / ("x" * 5000)
    return made


@pytest.mark.parametrize(
    "name", ["fifo", "device", "loop", "folder", "sparse", "nobody", "dangling", "nul", "long"]
)
def test_what_is_no_readable_file_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    path = odd_files(tmp_path)[name]
    with pytest.raises(OSError) as error:  # noqa: PT011 - each kind has words of its own
        files.read_bytes(path, 1 << 20)
    assert error.value.strerror
    with pytest.raises(OSError) as error:  # noqa: PT011
        files.read_json(path)
    assert error.value.strerror


def test_a_writer_that_waits_at_a_fifo_is_not_released(tmp_path: Path) -> None:
    """It would write into a pipe that nobody reads, and be ended by SIGPIPE."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    opened = threading.Event()

    def write() -> None:
        descriptor = os.open(fifo, os.O_WRONLY)
        opened.set()
        os.close(descriptor)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    with pytest.raises(OSError, match="a FIFO, not a file"):
        files.open_input(fifo)
    assert not opened.wait(0.1)
    os.close(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK))
    thread.join(5)


def test_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 11)
    assert files.read_bytes(path, 11) == b"x" * 11
    with pytest.raises(OSError, match="11 bytes, and at most 10 are read") as error:
        files.read_bytes(path, 10)
    assert error.value.errno == errno.EFBIG
    assert files.head_of(path, 4) == b"xxxx"


def test_names_that_are_no_text_are_opened(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.json"))
    files.replace_file(path, b"{}")
    assert files.read_json(path) == {}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"NaN", "no finite number"),
        (b"[-Infinity]", "no finite number"),
        (b"[1e400]", "no finite number"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "twice"),
        (b"[" * 100_000, "nested"),
        ("[]".encode("utf-16"), "utf-8"),
        (b"9" * 5000, "digits"),
        (b"", "Expecting value"),
    ],
)
def test_json_is_read_strictly(content: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        files.parse_json(content)


def test_halves_of_characters_are_replaced_and_a_mark_is_skipped() -> None:
    assert files.parse_json(b'\xef\xbb\xbf{"a\\ud800": ["\\udfff"]}') == {"a\ufffd": ["\ufffd"]}


WRITER = """
import sys
from pathlib import Path
from perfscope.files import replace_file
content = sys.argv[2].encode() * 200_000
print("ready", flush=True)
while True:
    replace_file(Path(sys.argv[1]), content)
"""


def test_many_writers_and_a_reader_that_looks_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_bytes(b"0" * 200_000)
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen([*command, letter], stdout=subprocess.PIPE, text=True) for letter in "abcd"
    ]
    try:
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        seen = set()
        for _ in range(300):
            content = files.read_bytes(path, 1 << 20)
            assert len(content) == 200_000
            assert len(set(content)) == 1
            seen.add(content[:1])
    finally:
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
    assert len(seen) > 1
    # one that is killed between two calls to the system leaves a name, never a half file
    assert {file.stat().st_size for file in tmp_path.iterdir()} == {200_000}


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "result.json"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="a FIFO"):
        files.replace_file(fifo, b"x")
    with pytest.raises(FileNotFoundError):
        files.replace_file(tmp_path / "nowhere" / "x", b"x")
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_file_system_without_unnamed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_unnamed", lambda *_: None)
    files.replace_file(tmp_path / "a", b"1", mode=0o600)
    files.replace_file(tmp_path / "a", b"2", mode=0o600)
    assert (tmp_path / "a").read_bytes() == b"2"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


def test_a_device_that_the_user_names_stays_one(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE)
    files.write_output(fifo, b"text")
    assert reader.communicate()[0] == b"text"
    wait_for("the FIFO", lambda: fifo.is_fifo() or None)
    files.write_output(Path("/dev/null"), b"text")
    assert Path("/dev/null").is_char_device()


def test_a_python_without_sqlite_reads_all_else() -> None:
    program = "import sys; sys.modules['sqlite3'] = None\nfrom perfscope.readers import registry"
    program += "\nimport perfscope.cli.analyze, perfscope.cli.doctor\nprint(registry.__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "perfscope.readers.registry\n"), done.stderr
