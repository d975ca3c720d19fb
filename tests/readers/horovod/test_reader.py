"""Horovod's timeline: the known values of the reference files, and files made by hand."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfscope.cli.main import main
from perfscope.errors import ExitCode, UnreadableInputError
from perfscope.readers.horovod.reader import open_horovod_timeline, read_timeline
from perfscope.readers.registry import open_trace
from perfscope.schema.check import problems
from perfscope.trace.model import Format, RowFlag

Reference = Callable[[str], Path]
FILES = (
    "1593673051473228_88359_horovod_timeline.json",
    "horovod_timeline_small.json",
    "hvd_torch_np4_rank2_50ms_cache1024.json",
    "hvd_torch_np4_rank2_50ms_cache0.json",
)


def expected(reference: Reference, name: str) -> dict[str, Any]:
    known = json.loads(reference("expected.json").read_text(encoding="utf-8"))["horovod"]
    assert isinstance(known[name], dict)
    return dict(known[name])


def summary(path: Path) -> dict[str, Any]:
    """What expected.json tells of a file, from what was read."""
    timeline, facts, _ = read_timeline(path)
    tables = ((timeline.negotiations, "operation"), (timeline.activities, "name"))
    count: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for table, column in tables:
        for row in table[(table["flags"] & RowFlag.OPEN) == 0]:
            count[timeline.names[row[column]]] += 1
            spent[timeline.names[row[column]]] += int(row["t1"] - row["t0"]) // 1000
    rows = timeline.negotiations
    ended = rows[(rows["flags"] & RowFlag.OPEN) == 0]
    told = ended[ended["ticks"] > 0]
    skew = (told["last_tick"] - told["first_tick"]) // 1000
    return {
        "events": facts["events"],
        "span_us": (facts["last_ns"] - facts["first_ns"]) // 1000,
        "start_epoch_us": facts["epoch_us"],
        "tensors": sum(1 for name in timeline.tensors if name),
        "ranks": list(timeline.ranks),
        "cycles": timeline.cycles,
        "unmatched_E": facts["unmatched_ends"],
        "unclosed_B": facts["unclosed_begins"],
        "count": dict(count),
        "dur_us": dict(spent),
        "negotiations_with_ticks": len(told),
        "negotiations_without_ticks": len(ended) - len(told),
        "last_rank": {str(k): v for k, v in Counter(told["last_rank"].tolist()).items()},
        "first_rank": {str(k): v for k, v in Counter(told["first_rank"].tolist()).items()},
        "skew_us_sum": int(skew.sum()),
        "skew_us_max": int(skew.max()) if len(skew) else None,
    }


@pytest.mark.parametrize("name", FILES)
def test_reference_files_have_their_known_values(reference: Reference, name: str) -> None:
    assert summary(reference(f"horovod/{name}")) == expected(reference, name)


@pytest.mark.parametrize("name", FILES)
def test_compressed_files_give_the_same(reference: Reference, tmp_path: Path, name: str) -> None:
    packed = tmp_path / "timeline"
    packed.write_bytes(gzip.compress(reference(f"horovod/{name}").read_bytes()))
    assert summary(packed) == expected(reference, name)


def test_the_straggler_is_found_in_what_was_recorded_with_one(reference: Reference) -> None:
    """Rank 2 slept 50 ms before each of 20 steps of 4 tensors."""
    known = json.loads(reference("expected.json").read_text(encoding="utf-8"))["generated"]
    known = known["hvd_torch_np4_rank2_50ms_cache*.json"]
    for cache in ("cache0", "cache1024"):
        path = reference(f"horovod/hvd_torch_np4_rank2_50ms_{cache}.json")
        timeline, _, _ = read_timeline(path)
        of = timeline.names.index("NEGOTIATE_ALLREDUCE")
        rows = timeline.negotiations[timeline.negotiations["operation"] == of]
        lengths = sorted((rows["t1"] - rows["t0"]) // 1000)
        assert len(rows) == known[cache]["allreduce_negotiations"]
        assert lengths[len(lengths) // 2] == known[cache]["median_us"]
        told = rows[rows["ticks"] > 0]
        assert len(told) == known[cache]["with_rank_ticks"]
        assert set(told["last_rank"].tolist()) == {2}


def test_times_of_the_sagemaker_asserts(reference: Reference) -> None:
    """Their test adds the durations of ticks, which say nothing: only the start is a fact."""
    known = json.loads(reference("expected.json").read_text(encoding="utf-8"))["horovod"]
    known = known["_sagemaker_asserted"]
    trace = open_horovod_timeline(reference(f"horovod/{FILES[0]}"))
    assert trace.origin_unix_ns // 1000 <= known["first start us"]
    assert trace.origin_unix_ns % 1000 == 0
    assert known["first start us"] * 1000 <= trace.origin_unix_ns + trace.wall_ns


def test_a_killed_job_leaves_a_timeline_that_can_be_read(
    reference: Reference, tmp_path: Path
) -> None:
    path = reference("horovod/hvd_torch_timeline_killed.json")
    trace = open_trace(path)
    assert trace.format is Format.HOROVOD_TIMELINE
    assert trace.tensors is not None
    assert "leaves 1 activities open" in " ".join(trace.notes)
    assert main(["analyze", str(path), "-o", str(tmp_path), "--no-report"]) == ExitCode.OK


@pytest.mark.parametrize("name", [*FILES, "hvd_tf_timeline.json"])
def test_analyze_tells_what_there_is_and_why_the_rest_is_not(
    reference: Reference, tmp_path: Path, name: str
) -> None:
    assert main(["analyze", str(reference(f"horovod/{name}")), "-o", str(tmp_path)]) == ExitCode.OK
    document = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    assert list(problems(document)) == []
    assert document["metrics"]["parallel_efficiency"]["value"] is None
    assert "how long the ranks" in document["metrics"]["parallel_efficiency"]["reason"]
    for part in ("memory", "threads", "io"):
        assert "no more" in document[part]["reason"]
    assert "Tensors, as Horovod" in (tmp_path / "report.html").read_text(encoding="utf-8")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


START = (
    '[\n{"name":"process_name","ph":"M","pid":0,"args":{"start_time_since_epoch_in_micros":7}},\n'
)


def test_nested_activities_keep_a_stack_of_their_own_for_each_tensor(tmp_path: Path) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 5, "args": {"name": "grad/\u00e9\u4e16"}},
        {"ph": "B", "name": "ALLREDUCE", "ts": 10, "pid": 5},
        {"ph": "B", "name": "ALLREDUCE", "ts": 11, "pid": 6},
        {"ph": "B", "name": "QUEUE", "ts": 12.25, "pid": 5},
        {"ph": "E", "ts": 13, "pid": 5},
        {"ph": "E", "ts": 15, "pid": 6, "args": {"dtype": "float16", "shape": "[3, 5]"}},
        {"ph": "E", "ts": 16, "pid": 5, "args": {"dtype": "unheard", "shape": "[3]"}},
        {"ph": "E", "ts": 17, "pid": 5},
    ]
    path = write(tmp_path / "t", START + ",\n".join(json.dumps(event) for event in events))
    timeline, facts, notes = read_timeline(path)
    rows = timeline.activities
    assert timeline.tensors == ["grad/\u00e9\u4e16", ""]
    assert rows["t0"].tolist() == [10_000, 11_000, 12_250]
    assert rows["t1"].tolist() == [16_000, 15_000, 13_000]
    assert rows["bytes"].tolist() == [-1, 30, -1]
    assert rows["parent"].tolist() == [-1, -1, 0]
    assert rows["depth"].tolist() == [0, 0, 1]
    assert facts["unmatched_ends"] == 1
    assert not facts["is_terminated"]
    assert not facts["is_cut"]
    assert any("does not close its list" in note for note in notes)


def test_a_file_cut_at_any_length_is_read_up_to_there_or_named(
    reference: Reference, tmp_path: Path
) -> None:
    whole = reference("horovod/horovod_timeline_small.json").read_bytes()
    path = tmp_path / "cut"
    seen = []
    for length in range(1, len(whole), 7):
        path.write_bytes(whole[:length])
        seen.append(read_timeline(path)[1]["events"])
    assert seen == sorted(seen)
    assert seen[-1] == 57


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it holds no list"),
        ('{"name": 1}', "begins with a list"),
        (START + "7", "an event was expected"),
        (START + '{"ph":"B","name":"A","ts":1e5,"pid":1}]', "exponent"),
        (START + '{"ph":"B","name":"A","ts":99999999999999999,"pid":1}]', "out of range"),
        (START + '{"ph":"B","name":"A","ts":"x","pid":1}]', "a number was expected"),
        (START + '{"ph":"B","name":"A","pid":1}]', "has no time"),
        (START + '{"ph":"B" "name":"A"}]', "a comma was expected"),
        (START + '{"ph":"M","args":{"x":' + "[" * 200 + "]" * 200 + "}}]", "too deeply"),
        (START + '{"ph":"B","name":"\\u12","ts":1}]', "not hexadecimal"),
        (START + "] [", "follows the end"),
    ],
)
def test_damage_is_named_with_its_place(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(UnreadableInputError) as caught:
        read_timeline(write(tmp_path / "t", text))
    assert reason in caught.value.why
    assert "At byte" in caught.value.why


def test_hostile_numbers_and_names(tmp_path: Path) -> None:
    name = "n" * 100_000
    size = {"dtype": "int8", "shape": "[99999999999, 99999999999]"}
    events = [
        {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": -5, "pid": -3},
        {"ph": "X", "name": "99999999999999999999", "ts": -4, "pid": -3},
        {"ph": "X", "name": "99999999", "ts": -4, "pid": -3},
        {"ph": "X", "name": "1", "ts": -4, "pid": -3},
        {"ph": "E", "ts": -9, "pid": -3},
        {"ph": "B", "name": name, "ts": 1, "pid": 2**40},
        {"ph": "E", "ts": 2, "pid": 2**40, "args": size},
    ]
    path = write(tmp_path / "t", START + ",".join(json.dumps(event) for event in events) + "]")
    timeline, facts, _ = read_timeline(path)
    assert timeline.ranks == (1,)
    assert facts["backwards"] == 1
    assert timeline.negotiations["t1"].tolist() == [-5000]
    assert timeline.activities["bytes"].tolist() == [-1]
    assert main(["analyze", str(path), "-o", str(tmp_path / "out")]) == ExitCode.OK


def test_many_names(tmp_path: Path) -> None:
    events = "".join(f'{{"ph":"B","name":"a{i}","ts":{i},"pid":{i}}},' for i in range(200_000))
    timeline, _, _ = read_timeline(write(tmp_path / "t", START + events))
    assert len(timeline.tensors) == len(timeline.names) == 200_000


def test_a_compressed_file_that_is_cut_or_damaged(tmp_path: Path) -> None:
    events = "".join(f'{{"ph":"B","name":"a{i}","ts":{i},"pid":{i}}},' for i in range(5000))
    packed = gzip.compress((START + events).encode())
    path = tmp_path / "t"
    path.write_bytes(packed[: len(packed) // 2])
    timeline, _, notes = read_timeline(path)
    assert 0 < len(timeline.names) < 5000
    assert "is cut off" in notes[0]
    path.write_bytes(packed[:500] + b"\xff" * 50 + packed[550:])
    with pytest.raises(UnreadableInputError) as caught:
        read_timeline(path)
    assert caught.value.what.endswith("is damaged.") or "At byte" in caught.value.why


def test_what_the_ranks_did_is_not_in_a_timeline(tmp_path: Path) -> None:
    """A coordinator's account of tensors is no account of computing ranks."""
    path = tmp_path / "timeline.json"
    path.write_text(
        '[{"name": "NEGOTIATE_ALLREDUCE", "ph": "B", "ts": 0, "pid": 1},'
        '{"name": "0", "ph": "X", "ts": 0, "dur": 0, "pid": 1},'
        '{"name": "1", "ph": "X", "ts": 3000000, "dur": 0, "pid": 1},'
        '{"ph": "E", "ts": 3000000, "pid": 1}]'
    )
    main(["analyze", str(path), "--no-report", "--check", "-o", str(tmp_path)])
    found = json.loads((tmp_path / "analysis.json").read_text(encoding="utf-8"))
    spent = {row["id"]: row["seconds"] for row in found["ledger"] if row["seconds"]}
    assert spent == {"untraced": pytest.approx(6.0)}
    assert found["verdict"]["sentence"].endswith(
        "for rank 1 to have a tensor ready (100.0 % of all such waiting then)."
    )
