"""Runs of the tests are forks of a process: a job in one finds what it would find otherwise."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support import forked_runs
from tests.support.recording import Recorder, perfscope_command, run_plain

LOOK = """
env | grep -Ev '^(PERFSCOPE_KEY|PERFSCOPE_DIR|_)=' | sort
pwd
ulimit -a
grep -E '^(Sig|Shd)(Blk|Ign|Cgt)' /proc/self/status
ls -l /proc/$$/fd > files  # in a pipeline the shell itself would have one more, for a moment
sed 's/.* \\([0-9]* -> [^:]*\\).*/\\1/; /total/d' files
echo told >&2
exit 5
"""


def test_a_job_finds_what_it_finds_in_a_run_of_its_own(record: Recorder, tmp_path: Path) -> None:
    variables = {"OF_THE_TEST": "a b"}
    forked = record(["sh", "-c", LOOK], variables=variables)
    words = perfscope_command("run", "--output", tmp_path / "other", "--", "sh", "-c", LOOK)
    own = run_plain(words, cwd=tmp_path, variables=variables)
    assert "OF_THE_TEST=a b" in forked.stdout
    assert forked.stdout == own.stdout
    assert forked.stderr == own.stderr.replace("other/", "trace/")
    assert forked.exit_code == own.returncode == 5
    assert forked.directory == tmp_path / "trace"


def test_a_run_that_is_killed_has_no_exit_code(record: Recorder) -> None:
    assert record(["sh", "-c", "kill -9 $PPID"]).exit_code == -9


def test_after_one_that_takes_too_long_others_run(record: Recorder) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        record(["sleep", "3"], timeout_s=0.5)
    done = record(["echo", "\N{GREEK SMALL LETTER MU}"])
    assert (done.exit_code, done.stdout) == (0, "\N{GREEK SMALL LETTER MU}\n")


def test_where_it_was_ended_from_outside_a_run_has_a_new_one(record: Recorder) -> None:
    assert record(["true"]).exit_code == 0
    process = forked_runs._first[0]._process
    process.kill()
    process.wait()
    assert record(["true"]).exit_code == 0


def test_two_at_once(record: Recorder, tmp_path: Path) -> None:
    """The second one has a process of its own."""
    meet = "mkdir {0}; until [ -d {1} ]; do sleep 0.1; done; echo {0}"
    names = [str(tmp_path / name) for name in ("one", "other")]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(record, ["sh", "-c", meet.format(*pair)], output=tmp_path / "trace")
            for pair in (names, names[::-1])
        ]
        assert [job.result().stdout.strip() for job in jobs] == names


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "LANG", "LC_ALL", "LD_PRELOAD"])
def test_what_a_process_has_from_its_start_is_left_to_one_of_its_own(name: str) -> None:
    assert not forked_runs.can_run({name: "1"})
    assert forked_runs.can_run({"PATH": "/bin"})
    assert forked_runs.can_run(None)
