"""Figures in the real trackers, without a network."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perfscope.integrations.trackers import SCALARS, scalars
from tests.support.environments import REPOSITORY, Environment
from tests.support.recording import perfscope_command, run_with

SAMPLE = REPOSITORY / "sample_traces" / "rank_zero_evaluation"
# What each tracker's own package reads back: the name of a figure and its value.
READ_BACK = {
    "tensorboard": """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator('runs')
events.Reload()
found = {tag: events.Tensors(tag)[0].tensor_proto.float_val[0] for tag in events.Tags()['tensors']}
""",
    "mlflow": """
import mlflow
mlflow.set_tracking_uri('sqlite:///mlflow.db')
[run] = mlflow.search_runs(output_format='list', search_all_experiments=True)
found = run.data.metrics
assert run.data.tags['perfscope/status'] == 'fail'
""",
    # its package reads such a file only to send it; in it figures stand as JSON, in records of
    # LevelDB's log: what comes behind one, as the sum of the next, may look like a digit. A process
    # of its own writes it, which may not have ended yet.
    "wandb": r"""
import re, time
from pathlib import Path
[path] = Path('wandb').glob('offline-run-*/*.wandb')
pair = re.compile(rb'(perfscope/\w+)[^0-9\-]{1,4}(-?[0-9.]+(?:e-?[0-9]+)?)')
found = {}
wanted = scalars(json.loads(Path(sys.argv[5], 'analysis.json').read_text())).keys()
for _ in range(300):
    data, at = path.read_bytes(), 7
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        length = int.from_bytes(data[at + 4 : at + 6], 'little') if left >= 7 else left - 7
        pairs = pair.findall(data[at + 7 : at + 7 + length])
        found.update({key.decode(): float(value) for key, value in pairs})
        at += 7 + length
    if wanted <= found.keys():
        break
    time.sleep(0.1)
else:
    sys.exit(f'never written: {wanted - found.keys()}')
""",
}
ANALYZE = """
import json, sys
from perfscope.cli.main import main
from perfscope.integrations.trackers import scalars
if code := main(sys.argv[1:]):
    sys.exit(code)
"""
PLACES = {
    "tensorboard": "tensorboard:runs",
    "mlflow": "mlflow:sqlite:///mlflow.db",
    "wandb": "wandb:x",
}


def run(
    command: list[str], cwd: Path, packages: Environment | None
) -> subprocess.CompletedProcess[str]:
    return run_with(command, cwd, packages, {"WANDB_MODE": "offline", "HOME": str(cwd)})


@pytest.mark.parametrize("name", list(PLACES))
def test_a_tracker_reads_back_what_was_logged(
    name: str, tmp_path: Path, environment: Callable[[str], Environment]
) -> None:
    packages = environment("integrations")
    words = ["analyze", str(SAMPLE), "--no-report", "-o", str(tmp_path), "--log", PLACES[name]]
    # in one process: to load a tracker takes seconds
    code = f"{ANALYZE}{READ_BACK[name]}print('FOUND', json.dumps(found))"
    done = run([sys.executable, "-c", code, *words], tmp_path, packages)
    assert done.returncode == 0, done.stderr
    told = next(line for line in done.stdout.splitlines() if line.startswith("FOUND"))
    found = json.loads(told.removeprefix("FOUND"))
    document = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    expected = scalars(document)
    assert len(expected) >= 10
    assert {key: found.get(key) for key in expected} == pytest.approx(expected, rel=1e-6)


def test_what_is_missing_is_left_out() -> None:
    assert scalars({"metrics": {"load_balance": {"value": None}}, "run": {"ranks": 2}}) == {
        "perfscope/ranks": 2.0
    }
    assert len({scalar.name for scalar in SCALARS}) == len(SCALARS)


@pytest.mark.parametrize(
    ("where", "last"), [("mlflow:x", "pip install mlflow"), ("neptune:x", "Write it as")]
)
def test_what_cannot_be_is_said_in_three_lines(where: str, last: str, tmp_path: Path) -> None:
    words: list[str | Path] = ["analyze", SAMPLE, "--no-report", "-o", tmp_path, "--log", where]
    done = run(perfscope_command(*words), tmp_path, None)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(last)
    # the analysis itself is there
    assert (tmp_path / "analysis.json").exists()
