"""What stacks show in place of training, and what they cannot tell apart from it."""

from perfscope.attribution.activities import ACTIVITIES
from perfscope.attribution.not_training import not_training
from perfscope.schema.enums import Activity
from tests.support.trace_builder import FrameLike, TraceBuilder

DIFFUSE = ("diffuse", "/home/me/train.py", 24)
NEXT_LINE = ("diffuse", "/home/me/train.py", 25)
TOKENIZE = ("tokenize", "/home/me/train.py", 40)
TENSOR = ("numpy.ndarray.dot", "<built-in>", 0)
COLLECT = ("gc.collect", "<built-in>", 0)


def shown(*stacks: list[FrameLike]) -> list[Activity | None]:
    builder = TraceBuilder(1, end_s=1.0)
    places = [builder.stack(stack) for stack in stacks]
    found = not_training(builder.build(), ()).tolist()
    return [ACTIVITIES[found[place]] if found[place] >= 0 else None for place in places]


def test_python_of_a_function_that_computes_is_no_loss() -> None:
    told = shown([DIFFUSE, TENSOR], [NEXT_LINE], [TOKENIZE], [DIFFUSE, COLLECT])
    assert told == [None, None, Activity.INTERPRETER, Activity.GARBAGE_COLLECTION]


def test_where_no_leaf_is_recorded_python_may_all_be_numeric() -> None:
    assert shown([DIFFUSE], [TOKENIZE]) == [None, None]
