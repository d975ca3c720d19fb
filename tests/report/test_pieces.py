"""The pieces that sections are made of: safe text, numbers, rank lists, links, and drawings."""

import re

import pytest

from perfscope.report import formats
from perfscope.report.charts import Line, Plot, Segment, band, lines, stacked_bars
from perfscope.report.labels import weighed
from perfscope.report.rank_table import ByRank, rank_table
from perfscope.report.text import (
    LONGEST_TEXT,
    bound,
    sentence,
    sentences,
    shortened,
    shortened_apart,
    visible,
    visible_document,
    whole_sentences,
)
from perfscope.report.views import place_of, rank_bars, rank_list, safe_link
from perfscope.schema.common import Place
from perfscope.schema.enums import LossPattern
from perfscope.schema.losses import spread

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\nb\tc\u2028d", "a b c d"),
        ("nul\x00", "nul\\x00"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\ue0041"),
        ("Ünïcödé 日本 👩\u200d🔬", "Ünïcödé 日本 👩\u200d🔬"),
    ],
)
def test_visible_spells_out_what_hides(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_visible_cuts_endless_text_and_says_so() -> None:
    cut = visible("x" * 100_000)
    assert cut == "x" * LONGEST_TEXT + "… (100,000 characters)"


def test_visible_document_covers_keys_and_nested_values() -> None:
    document = {"a\x00": ["\u202e", 1, None, {"k": ("v\x1b", 2.5)}]}
    assert visible_document(document) == {"a\\x00": ["\\u202e", 1, None, {"k": ("v\\x1b", 2.5)}]}


@pytest.mark.parametrize(
    ("text", "expected"), [("no clock", "No clock."), ("Ends.", "Ends."), ("", ""), ("...", "...")]
)
def test_sentence_ends_once(text: str, expected: str) -> None:
    assert sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("the rank waits for its peers in every step", 30, "the rank waits for…every step"),
        ("/home/somebody/project/train/loop.py:12", 30, "/home/somebody…/loop.py:12"),
        ("DistributedDataParallel.forward_pre_hook", 30, "DistributedDataPara…_pre_hook"),
        ("weights_of_layers", 8, "weights…"),
        ("--learning-rate 0.001 --batch-size 256", 24, "--learning-rate…-size 256"),
    ],
)
def test_a_text_is_cut_between_words_and_directories(
    text: str, longest: int, expected: str
) -> None:
    assert shortened(text, longest) == expected


@pytest.mark.parametrize("longest", range(8, 44))
def test_a_number_is_never_cut_nor_parted_from_its_unit(longest: int) -> None:
    text = "of 1,412 steps 95 % took 121.5 ms or less"
    kept = shortened(text, longest).split("…")
    for found in re.findall(r"[\d.,]*\d(?: (?:ms|%))?", " ".join(kept)):
        assert found in ("1,412", "95 %", "121.5 ms")


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("lr=0.001 batch=128 seed=1234567890123", 20, "lr=0.001…890123"),
        ("run_20261124_093000_1234567890", 16, "run_…67890"),
        ("1731234567.1234567890 2 ranks", 12, "1731234567…"),
    ],
)
def test_long_numbers_are_cut_rather_than_everything_lost(
    text: str, longest: int, expected: str
) -> None:
    assert shortened(text, longest) == expected


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        (60, "The run is short. Take a longer one. Then act."),
        (40, "The run is short. Take a longer one. …"),
        (20, "The run is short. …"),
        (12, "The run is…"),
    ],
)
def test_of_sentences_as_many_are_kept_as_fit(longest: int, expected: str) -> None:
    assert whole_sentences("The run is short. Take a longer one. Then act.", longest) == expected


@pytest.mark.parametrize(
    "text", ["Use a tool, e.g. Numactl or taskset, to bind it", "Yes. Of all ranks none is late"]
)
def test_what_is_no_sentence_or_hardly_one_is_not_all_that_is_kept(text: str) -> None:
    assert len(whole_sentences(text, 26)) > 18
    assert whole_sentences(text, 26).endswith("…")


def test_a_line_of_a_terminal_ends_with_a_whole_word() -> None:
    assert visible("one two three four", longest=11) == "one two… (18 characters)"


def test_labels_that_are_shortened_are_told_apart() -> None:
    sets = ["allreduce, doubling", "allreduce, Reduce-scatter", "allreduce, ring", "bound"]
    short = shortened_apart([*sets, "bound"], 12)
    assert short[-2:] == ["bound", "bound"]
    assert len(set(short)) == 4
    assert [text[-4:] for text in short[:3]] == ["ling", "tter", "ring"]
    assert max(map(len, short)) <= 12


def test_shortened_keeps_both_ends() -> None:
    assert shortened("a" * 30 + "b" * 30, 20) == "a" * 13 + "…" + "b" * 6
    assert shortened("short", 20) == "short"


@pytest.mark.parametrize("value", [None, True, "3", NAN, INFINITY, [], {}])
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert formats.number(value) is None


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([], "no rank"),
        ([3], "rank 3"),
        ([0, 1, 2, 5], "ranks 0–2, 5"),
        ([5, 1, 1], "ranks 1, 5"),
        (
            list(range(0, 100, 2)),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22 and others (50 ranks)",
        ),
    ],
)
def test_rank_list(ranks: list[float], expected: str) -> None:
    assert rank_list(ranks) == expected


@pytest.mark.parametrize(
    ("reference", "is_safe"),
    [
        ("https://docs.example.org/a?b=c#d", True),
        ("http://example.org", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        ("data:text/html,x", False),
        ("//example.org", False),
        ("https://", False),
        ("https://user@example.org", False),
        ("https://example.org/\u202e", False),
        ("https://exa mple.org", False),
        ("https://[", False),
        (" https://example.org", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_plain_web_addresses_become_links(reference: str, is_safe: bool) -> None:
    assert safe_link(reference) == (reference if is_safe else None)


@pytest.mark.parametrize(
    ("file", "expected"),
    [("/a/b/c.py", "…/b/c.py:3"), ("c.py", "c.py:3"), ("b/c.py", "b/c.py:3"), ("", "")],
)
def test_a_place_can_be_short(file: str, expected: str) -> None:
    assert place_of(Place(file, 3, "f")).short_location == expected


def test_rank_table_names_the_extreme_ranks() -> None:
    values = [float(rank) for rank in range(100)]
    table = rank_table("t", "Seconds", range(100), [ByRank("Time", values, formats.count)])
    assert table.caption == "Seconds, lowest to highest over all 100 ranks"
    told = [(row[1].text, row[1].note) for row in table.cells]
    assert told == [("99", "rank 99"), ("74", ""), ("50", ""), ("25", ""), ("0", "rank 0")]


def test_rank_table_of_many_ranks_has_rows_of_those_far_from_the_others() -> None:
    values: list[float | None] = [10.0 + rank % 3 for rank in range(1024)]
    values[700], values[3] = 100.0, None
    columns = [ByRank("Time", values, formats.count), ByRank("Same", [7.0] * 1024, formats.count)]
    table = rank_table("t", "Seconds", range(1024), columns)
    assert [row[0].text for row in table.cells[5:]] == ["rank 700"]
    assert [cell.text for cell in table.cells[5]] == ["rank 700", "100", "7"]
    assert table.caption.endswith("over all 1,024 ranks, and ranks far from the others")


def test_rank_table_of_few_ranks_has_a_row_of_each() -> None:
    table = rank_table("t", "", range(16), [ByRank("Time", [2.0] * 16, formats.seconds)])
    assert [row[0].text for row in table.cells] == [f"rank {rank}" for rank in range(16)]
    assert {(row[1].exact, row[1].column.unit) for row in table.cells} == {("2", "s")}


def test_rank_table_of_equal_values_names_no_rank() -> None:
    table = rank_table("t", "", range(100), [ByRank("Time", [1.0] * 100, formats.count)])
    assert {(row[1].text, row[1].note) for row in table.cells} == {("1", "")}


def test_rank_table_says_which_values_are_missing() -> None:
    table = rank_table("t", "", [0, 1], [ByRank("Time", [None], formats.count)])
    assert [row[1].text for row in table.cells] == ["–", "–"]


def test_rank_bars_average_neighbors_only_when_there_are_many() -> None:
    few = rank_bars([0, 2], [Segment("training", [1.0, 3.0])])
    assert (few.labels, few.ranks_per_bar) == (("rank 0", "rank 2"), 1)
    many = rank_bars(range(100), [Segment("training", [float(r) for r in range(100)])])
    assert many.ranks_per_bar == 4
    assert many.labels[0] == "ranks 0–3"
    assert many.segments[0].values[0] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1.5, "s", "1.50 s"),
        (1024, "bytes", "1.00 KiB"),
        (0.5, "ratio", "0.500"),
        (0.5, "share", "50.0 %"),
        (3, "threads", "3 threads"),
        (12345.6, "", "12,346"),
        ("1 of 2", "", "1 of 2"),
        (None, "s", "–"),
        (NAN, "s", "–"),
    ],
)
def test_evidence_is_written_in_its_unit(value: object, unit: str, expected: str) -> None:
    assert formats.evidence(value, unit).replace("\xa0", " ") == expected


@pytest.mark.parametrize(
    ("largest_s", "tick", "expected"),
    [(20_000.0, 1.5, "1.5 h"), (600.0, 5, "5 min"), (9.0, 2.5, "2.5 s"), (0.02, 15, "15 ms")],
)
def test_time_axis_uses_one_unit(largest_s: float, tick: float, expected: str) -> None:
    assert formats.time_scale(largest_s).tick(tick).replace("\xa0", " ") == expected


def test_byte_axis_uses_one_unit() -> None:
    scale = formats.byte_scale(400 * 2**20)
    assert (scale.factor, scale.unit) == (2**20, "MiB")


def chart() -> str:
    segments = [Segment("training", [1.0, 2.0]), Segment("evaluation", [0.5, 0.0])]
    return stacked_bars("the label", ["rank 0", "rank 1"], segments, scale=formats.PLAIN)


def test_drawing_has_classes_instead_of_styles_and_colors() -> None:
    drawn = chart()
    assert 'class="f-training"' in drawn
    assert 'class="f-evaluation"' in drawn
    assert 'aria-label="the label"' in drawn
    assert not re.search(r"style=|#[0-9a-f]{6}|<metadata|font-family|DejaVu|xmlns", drawn)


def test_drawing_escapes_its_texts() -> None:
    hostile = '<script>&"$x^2$'
    plot = Plot(hostile, hostile)
    drawn = lines(plot, [Line(hostile, [0, 1], [0, 1]), Line("b", [0, 1], [1, 0])])
    assert "<script" not in drawn
    assert "&lt;script&gt;&amp;" in drawn


def test_many_lines_become_bands() -> None:
    series = [Line(f"rank {n}", [0, 1, 2], [n, n, n]) for n in range(20)]
    drawn = lines(Plot("label", "threads"), series)
    assert 'class="f-band' in drawn
    assert "median rank" in drawn
    assert "rank 19" not in drawn


def test_long_bands_keep_their_peaks_and_stay_small() -> None:
    high = [1.0] * 5000
    high[2345] = 9.0
    x = [float(n) for n in range(5000)]
    drawn = band(Plot("label", "step time"), x, [0.5] * 5000, high)
    assert len(drawn) < 40_000
    flat = band(Plot("label", "step time"), x, [0.5] * 5000, [1.0] * 5000)
    assert drawn != flat


@pytest.mark.parametrize("values", [[0.0, 0.0], [5.0, 5.0], [-1.0, -1.0], [1e-12, 1e15]])
def test_odd_ranges_can_be_drawn(values: list[float]) -> None:
    assert "<svg" in lines(Plot("label", ""), [Line("a", [0, 1], values)])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Rank 1 waits in train() (a.py:3). The fix would save 1.5 s.", 2),
        ("b is faster (3.27 times). predict_on_batch is faster.", 2),
        ("It takes 1.5 s of 2.5 s, e.g. in train.", 1),
        ("", 1),
    ],
)
def test_sentences_end_where_another_begins(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_a_number_keeps_its_unit() -> None:
    assert bound("11.1 % of 10.3 s in 4 ranks") == "11.1\u00a0% of 10.3\u00a0s in 4 ranks"


@pytest.mark.parametrize(
    ("status", "share", "word"),
    [
        ("fail", 0.76, "Major problem"),
        ("fail", 0.05, "Problem"),
        ("fail", 0.018, "Minor problem"),
        ("fail", None, "Problem"),
        ("warn", 0.76, "Possible major problem"),
    ],
)
def test_a_problem_weighs_what_it_costs(status: str, share: float | None, word: str) -> None:
    assert weighed(status, share).word == word


def test_a_small_warning_that_nobody_doubts_is_a_minor_problem() -> None:
    assert weighed("warn", 0.009, is_doubted=False).word == "Minor problem"
    assert weighed("warn", 0.009).word == "Possible minor problem"


@pytest.mark.parametrize("value", [1.797e308, -1.797e308, 5e-324])
@pytest.mark.parametrize("other", [0.0, 1.797e308, 1.0])
def test_a_chart_of_the_largest_numbers_has_places(value: float, other: float) -> None:
    """In the place of its margins would be infinity."""
    svg = lines(
        Plot("loss over time", "", from_zero=False), [Line("l", [0, 1, 2], [value, other, 1])]
    )
    assert "nan" not in svg
    assert "inf" not in svg
    assert re.search(r'd="M[\d.]+ [\d.-]+L', svg)


def test_a_single_process_is_spoken_of_without_ranks() -> None:
    for pattern in (LossPattern.STATIC, LossPattern.EVEN, LossPattern.VARYING):
        assert spread(pattern, 1) == "every step"
        assert spread(pattern, 2) == pattern.label != "every step"
