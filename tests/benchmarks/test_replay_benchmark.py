"""The benchmark of the replay: it replays what it says, and its table says what was run."""

from pathlib import Path

import pytest

from benchmarks.machine import replace_between
from benchmarks.replay.__main__ import table
from benchmarks.replay.measures import WINDOW_COLLECTIVES, Task, measure
from benchmarks.replay.programs import collective_windows, collectives, exchanging
from benchmarks.replay.windows import windowed_lengths


def test_generated_programs_are_as_long_as_they_must_be() -> None:
    window = collectives(3, 5)
    work = window.gap_ns.reshape(3, 6)[:, 1:]
    transfer = window.transfer_ns.reshape(3, 6)[:, :-1]
    assert window.lengths().tolist() == (work + transfer).max(axis=0).tolist()
    assert len(windowed_lengths(collective_windows(3, 25, at_once=10))) == 25
    assert exchanging(4, 20, cut_every=10).cut_rows.shape == (4, 4)


def test_a_measurement_tells_calls_times_and_memory() -> None:
    plain = measure(Task("exchanging", "plain", 4, 20))
    assert plain.calls == 4 * (20 * 3 + 2 + 1)
    assert plain.wall_s > 0
    long = measure(Task("long", "lengths", 50, 2 * WINDOW_COLLECTIVES))
    assert long.calls == 50 * 2 * WINDOW_COLLECTIVES
    assert 0 < long.made_mb <= long.peak_mb
    rows = table([plain, long]).splitlines()
    assert rows[2].startswith("| exchanging | 4 | 252 | the replay in plain Python | 1 | ")
    assert "| made and replayed in windows | 1 | " in rows[3]
    with pytest.raises(RuntimeError, match="failed"):
        measure(Task("collectives", "lengths", 0, 1))


def test_a_table_stands_between_its_markers(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("a\n<!-- b: begin -->\nold\n<!-- b: end -->\nc\n", encoding="utf-8")
    replace_between(document, "b", r"new \1")
    expected = "a\n<!-- b: begin -->\nnew \\1\n<!-- b: end -->\nc\n"
    assert document.read_text(encoding="utf-8") == expected
    with pytest.raises(ValueError, match="no place for z"):
        replace_between(document, "z", "")
