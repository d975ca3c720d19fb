"""What can be handed to others: nothing of what was planted is left, and every number is."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perfscope.errors import PerfscopeError
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import DefinitionType
from perfscope.redaction.names import Names
from perfscope.redaction.proof import prove
from perfscope.redaction.write import redact
from perfscope.schema.enums import PhaseKind
from tests.readers.recording.test_framework_operations import rank_process
from tests.support.environments import REPOSITORY
from tests.support.recording import analyze, job_variables, perfscope_command
from tests.support.write_recording import ProcessWriter, two_ranks, write_run

SAMPLES = ("rank_zero_evaluation", "ddp_slow_rank")
PLANTED = (
    *("quokkacorp", "bandicoot7", "zebrafish_ward", "nightjar_dose", "petrelUser", "Wombatine"),
    *("numbatnode12", "tamarinvalue", "8675309421", "echidnaLoss", "dugongthread", "kakapo-nest"),
)


def flat(value: Any) -> Iterator[Any]:
    """Every number and truth value of a document in order; texts, which differ, as their place."""
    if isinstance(value, dict):
        for one in value.values():
            yield from flat(one)
    elif isinstance(value, list):
        yield len(value)
        for one in value:
            yield from flat(one)
    else:
        yield "text" if isinstance(value, str) else value


def numbers_of(directory: Path, place: Path) -> list[Any]:
    done = analyze(directory, "--no-report", "--no-strict", "-o", place)
    assert done.returncode == 0, done.stderr
    document = json.loads((place / "analysis.json").read_text(encoding="utf-8"))
    parts = ("metrics", "ledger", "phases", "steps", "communication", "memory", "threads")
    kept = {name: document[name] for name in parts if name in document}
    assert len(kept) >= 5
    ids = [(row["id"], row["status"]) for row in document["findings"]]
    return [*flat(kept), *ids]


def sample(name: str) -> Path:
    return REPOSITORY / "sample_traces" / name


@pytest.mark.parametrize("name", SAMPLES)
def test_the_numbers_of_a_real_recording_stay(name: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    redact(sample(name), copy)
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    assert numbers_of(copy, after) == numbers_of(sample(name), before)


def planted(directory: Path) -> None:
    """A recording that names something private wherever a text can stand."""
    process = ProcessWriter(rank=0, size=1, host="numbatnode12")
    process.communicator(0, 77, [0])
    file = "/home/petrelUser/quokkacorp/zebrafish_ward.py"
    process.stack(2.0, [("<module>", file, 3), ("nightjar_dose.evaluate_Wombatine", file, 7)])
    process.phase(PhaseKind.USER, 2.0, 3.0, "dose of Wombatine for 8675309421")
    process.metric("echidnaLoss", 3.0, 0.5)
    process.step(0, 2.0, 3.0)
    process.name("saved to /scratch/petrelUser/kakapo-nest/out.h5 on numbatnode12.")
    process.define(DefinitionType.LIBRARY, 0, b"/opt/quokkacorp/libmpi.so\nbuilt by bandicoot7")
    process.define(DefinitionType.NOTE, 0, b"the file of bandicoot7 is gone")
    process.define(99, 0, b"quokkacorp's own kind of definition")
    process.metadata = {
        "schema": 1,
        "role": "rank",
        "host": "numbatnode12",
        "argv": [file, "--ward", "bandicoot7"],
        "environment": {"WARD_quokkacorp": "tamarinvalue", "OMP_NUM_THREADS": "2"},
        "exception": {"type": "WombatineError", "message": "bandicoot7 at 8675309421", "line": 3},
    }
    path = process.write(directory)
    content = bytearray(path.read_bytes())
    threads = content.index(b"numbatnode12")  # behind the host the header is free to hold names
    content[threads + 20 : threads + 32] = b"dugongthread"
    path.write_bytes(bytes(content))
    (path.parent / "petrelUser.json").write_text('{"a": "quokkacorp"}')
    (path.parent / "12.ends").write_text("1 2 3 4\nkilled by bandicoot7\n")
    command = ["mpirun", "python", file, "--ward=bandicoot7"]
    write_run(directory, command=command, cwd="/home/petrelUser", host="numbatnode12",
              notes=["kakapo-nest"], environment={"SLURM_JOB_ACCOUNT": "quokkacorp"})  # fmt: skip


def test_no_byte_of_what_was_planted_is_left(tmp_path: Path) -> None:
    planted(tmp_path / "trace")
    redact(tmp_path / "trace", tmp_path / "copy")
    parts = [part for text in PLANTED for part in text.replace("-", "_").split("_")]
    for path in (tmp_path / "copy").rglob("*"):
        content = (path.read_bytes() if path.is_file() else b"") + str(path).encode()
        content = content.replace(str(tmp_path).encode(), b"")
        assert [text for text in parts if text.lower().encode() in content.lower()] == []
    copied = [path.read_bytes() for path in (tmp_path / "copy").rglob("*.def")]
    # what tells a phase is no secret and stays
    assert b"evaluate_" in copied[0]


def test_the_bytes_of_a_frameworks_collectives_stay(tmp_path: Path) -> None:
    process = rank_process(0)
    for package, moved in (("distributed", "2105344:1234567"), ("flight", "7654321:7654321")):
        name = f"torch.{package}\x1eall_reduce (async)\x1equokka\x1e0,1\x1e{moved}"
        process.phase(PhaseKind.COMMUNICATION, 1.0, 1.0, name, seq=0, tag=-1)
    process.write(tmp_path / "trace")
    write_run(tmp_path / "trace")
    redact(tmp_path / "trace", tmp_path / "copy")
    trace = open_recording(tmp_path / "copy")
    assert trace.ranks[0].operations["received"].tolist() == [1234567]
    assert trace.tool_reports[0].tables[0].rows[0][3] == 7654321


def test_the_same_name_is_the_same_hash_in_one_copy_alone() -> None:
    one, other = Names(b"1"), Names(b"2")
    assert one.text("quokka_step") == one.text("quokka_step")
    assert one.text("quokka_step") != other.text("quokka_step")
    assert one.path("/a/quokka.py").startswith(one.path("/a/b.py").rpartition("/")[0])


def test_a_proof_that_finds_something_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(tmp_path / "trace")
    rec = next((tmp_path / "trace").glob("*/*.rec"))
    # as a fault of redaction would: a text in the middle of the records
    rec.write_bytes(rec.read_bytes()[:-64] + b"quokkacorp".ljust(64, b"\0"))
    with pytest.raises(PerfscopeError, match="could not be redacted"):
        prove(tmp_path / "trace", {"quokkacorp"}, is_common=lambda _: False)
    monkeypatch.setattr(Names, "_words", lambda _, text: text)
    with pytest.raises(PerfscopeError, match="could not be redacted"):
        redact(tmp_path / "trace", tmp_path / "copy")


def test_what_is_no_recording_or_exists_is_refused(tmp_path: Path) -> None:
    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            perfscope_command("redact", *words),
            env=job_variables(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    (tmp_path / "empty").mkdir()
    refused = run(tmp_path / "empty", "-o", tmp_path / "copy")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (3, 3)
    assert not (tmp_path / "copy").exists()
    two_ranks(tmp_path / "trace")
    assert run(tmp_path / "trace", "-o", tmp_path / "empty").returncode == 2
    inside = run(tmp_path / "trace", "-o", tmp_path / "trace" / "copy")
    assert (inside.returncode, len(inside.stderr.splitlines())) == (2, 3)
    done = run(tmp_path / "trace", "-o", tmp_path / "copy")
    assert (done.returncode, "none of them is in its" in done.stdout) == (0, True)
