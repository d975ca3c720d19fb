"""A cell of a notebook and a run of tests, each recorded by what the user types there."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from perfscope.errors import UsageError
from perfscope.integrations import pytest_plugin
from perfscope.magic import Recorded
from tests.report.sample_document import two_ranks_evaluation
from tests.support.environments import REPOSITORY, Environment
from tests.support.recording import job_variables, perfscope_command

NOTEBOOK = """
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic('load_ext', 'perfscope.magic')
cell = '''
import perfscope
for number in range(3):
    perfscope.step()
print("in the cell")
'''
found = shell.run_cell_magic('perfscope', '', cell)
print('HTML', found._repr_html_()[:3], len(found.open_trace().ranks))
beside = 'import beside; from mpi4py import MPI; print(beside.TOLD, MPI.COMM_WORLD.size)'
from perfscope.magic import analyzed
assert analyzed(found.directory)._repr_html_() == found._repr_html_()
found = shell.run_cell_magic('perfscope', "-n 2 -o 'a place'", beside)
assert found.report == Path('a place/report.html').absolute()
assert shell.run_cell_magic('perfscope', "-n '2", 'pass') is None
assert shell.run_cell_magic('perfscope', '', 'raise SystemExit(7)') is None
assert shell.run_cell_magic('perfscope', '-n none', 'pass') is None
"""
TESTS = """
import sys, time
def test_one():
    time.sleep(0.05)
    assert sys.flags.dev_mode and sys.flags.bytes_warning
def test_two(): assert False
"""


class Frame(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_cell_is_recorded(tmp_path: Path, environment: Callable[[str], Environment]) -> None:
    (tmp_path / "beside.py").write_text("TOLD = 'told beside'", encoding="utf-8")
    packages = next(environment("integrations").prefix.glob("lib/python3*/site-packages"))
    path = f"{REPOSITORY}{os.pathsep}{packages}"
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK],
        cwd=tmp_path,
        env=job_variables(
            {"PYTHONPATH": path, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": os.defpath}
        ),  # as of a kernel that a server starts
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "HTML <p> 1" in done.stdout
    assert "in the cell" in done.stderr
    assert done.stderr.count("told beside 2") == 2
    assert "Close the quotes" in done.stderr
    assert "perfscope run ended with exit code 7." in done.stderr
    assert "Write it as %%perfscope -n 2" in done.stderr


def test_a_notebook_shows_the_charts_and_tables_of_every_section() -> None:
    shown = Recorded(Path("run"), two_ranks_evaluation())
    for name in shown.sections:
        frame = Frame()
        frame.feed(shown.show(name)._repr_html_())
        assert [tag for tag, _ in frame.tags] == ["iframe"]
        page = Frame()
        page.feed(frame.tags[0][1]["srcdoc"] or "")
        told = [tag for tag, _ in page.tags]
        assert told.count("section") == 1
        assert "script" not in told
    whole = Frame()
    whole.feed(shown._repr_html_())
    (text,) = [held["srcdoc"] or "" for tag, held in whole.tags if tag == "iframe"]
    assert '<svg class="chart"' in text
    with pytest.raises(UsageError, match="no section 'none'"):
        shown.show("none")


def test_texts_of_the_job_are_escaped_in_a_notebook() -> None:
    document = two_ranks_evaluation()
    document["verdict"]["sentence"] = "<i>"
    for finding in document["findings"]:
        finding["title"] = "<script>"
    frame = Frame()
    frame.feed(Recorded(Path("<b>"), document)._repr_html_())
    assert not {"script", "i"} & {tag for tag, _ in frame.tags}
    assert [tag for tag, _ in frame.tags].count("b") == 1


def test_pytest_takes_an_imported_perfscope_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one(): pass", encoding="utf-8")
    told = tmp_path / "perfscope_hpc-0.dist-info"  # as where it is installed and not editable
    told.mkdir()
    (told / "METADATA").write_text("Name: perfscope-hpc\nVersion: 0\n", encoding="utf-8")
    plugin = "[pytest11]\nperfscope = perfscope.integrations.pytest_plugin\n"
    (told / "entry_points.txt").write_text(plugin, encoding="utf-8")
    (told / "RECORD").write_text("perfscope/__init__.py,,\n", encoding="utf-8")
    told_of = "Module already imported so cannot be rewritten; perfscope"
    program = f"import sys, perfscope, pytest; sys.exit(pytest.main(['-W', 'error:{told_of}']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=job_variables({"PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["-m", "pytest", "a.py"], ["-m", "pytest"]),
        (["-Bmpytest", "a.py"], ["-B", "-m", "pytest"]),
        (["-uBm", "pytest"], ["-uB", "-m", "pytest"]),
        (["-bW", "error", "-Xdev", "-m", "pytest"], ["-bW", "error", "-Xdev", "-m", "pytest"]),
        (["-X", "dev", "/b/pytest", "a.py"], ["-X", "dev", "/b/pytest"]),
        (["-O", "-c", "import pytest"], ["-O", "-m", "pytest"]),
        (
            ["--check-hash-based-pycs", "never", "run.py"],
            ["--check-hash-based-pycs", "never", "-m", "pytest"],
        ),
        (["-"], ["-m", "pytest"]),
        ([], ["-m", "pytest"]),
    ],
)
def test_pytest_is_started_again_with_the_options_of_the_interpreter(
    words: list[str], kept: list[str]
) -> None:
    assert pytest_plugin._how_started(words) == kept


def test_tests_are_recorded_as_phases(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "test_other.py").write_text("def test_other(): pass", encoding="utf-8")
    words = [
        "-X",
        "dev",
        "-b",
        "-m",
        "pytest",
        "-p",
        "perfscope.integrations.pytest_plugin",
        "--perfscope-dir=rec",
    ]
    done = subprocess.run(
        [sys.executable, *words, "--perfscope", "test_it.py", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=job_variables({"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr  # as pytest has it when a test fails
    assert "1 failed, 1 passed" in done.stdout
    analyzed = subprocess.run(
        perfscope_command("analyze", "rec", "--no-report", "--no-strict"),
        cwd=tmp_path,
        env=job_variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert analyzed.returncode == 0, analyzed.stderr
    document = json.loads((tmp_path / "rec" / "analysis.json").read_text(encoding="utf-8"))
    assert "user:test_it.py::test_one" in {phase["id"] for phase in document["phases"]}
