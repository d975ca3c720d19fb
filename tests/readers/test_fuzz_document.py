"""Changed headers and JSON beside the records: the analysis holds no number that cannot be."""

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfscope.document.analysis import analysis
from perfscope.errors import UnreadableInputError
from perfscope.metrics.results import Options
from perfscope.readers import open_recording
from perfscope.readers.recording.layout import HEADER_BYTES, HEADER_DTYPE, TOTAL_DTYPE
from tests.support.write_recording import two_ranks

RECORDS = "node0/100-5000.rec"
SIDECARS = ("run.json", "node0/101-5000.json")
NUMBERS = (0, 1, -1, 255, 10**6, 10**9, 10**12, 2**31, 2**53, 2**62, 2**63, 2**64 - 1)
FUZZ = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A healthy recording that changed copies are made from."""
    directory = tmp_path_factory.mktemp("fuzz") / "trace"
    two_ranks(directory)
    return directory


def check_changed(original: Path, change: Callable[[Path], None]) -> None:
    """Analyses a changed copy; asserts that each number in the document can be."""
    copy = original.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    change(copy)
    try:
        trace = open_recording(copy)
    except UnreadableInputError as error:
        told = error.lines()
        assert all(line and "\n" not in line for line in told)
        return
    document = analysis(trace, Options())
    for name, value in numbers(document):
        assert math.isfinite(value), name
        is_time = name.endswith(("_s", "_ns")) and "clock" not in name and "offset" not in name
        is_length = is_time and not any(word in name for word in ("start", "change", "delta"))
        assert value >= 0 or not is_length, (name, value)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a document, with the name of its field."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from numbers(item, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


@FUZZ
@given(data=st.data())
def test_changed_totals(original: Path, data: st.DataObject) -> None:
    """No figure comes from totals that the records contradict."""
    header = np.fromfile(original / RECORDS, HEADER_DTYPE, count=1)
    used = np.flatnonzero(header["totals"][0]["count"]).tolist()
    code = data.draw(st.sampled_from([*used, 0, 60, 200, 255]))
    field = data.draw(st.sampled_from(TOTAL_DTYPE.names or ()))
    value = data.draw(st.sampled_from([number for number in NUMBERS if number >= 0]))
    before = int(header["totals"][0][code][field])
    header["totals"][0][code][field] = value

    def change(copy: Path) -> None:
        with (copy / RECORDS).open("r+b") as file:
            file.write(header.tobytes()[:HEADER_BYTES])
        totals = open_recording(copy).ranks[0].totals.get(code)
        notes = [note for note in open_recording(copy).notes if "totals of" in note]
        place = (TOTAL_DTYPE.names or ()).index(field)
        if value < before:
            assert notes
            assert totals is not None
            assert totals[place] == before

    check_changed(original, change)


@FUZZ
@given(data=st.data())
def test_changed_fields_of_json(original: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(SIDECARS))
    document = json.loads((original / name).read_text())
    key = data.draw(st.sampled_from(sorted(document)))
    wrong: st.SearchStrategy[object] = st.sampled_from(
        [*NUMBERS, -1.5, math.nan, math.inf, "nan", None, [], {}, True]
    )
    document[key] = data.draw(wrong)

    def change(copy: Path) -> None:
        (copy / name).write_text(json.dumps(document))
        if isinstance(document[key], float) and not math.isfinite(document[key]):
            path = Path(name).name
            told = f"{path}: what is no finite number is taken as not known ({key})."
            assert told in open_recording(copy).notes

    check_changed(original, change)
