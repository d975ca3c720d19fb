"""Which function of the user's a stack is told by."""

from perfscope.attribution.stack_rules import label_stacks
from tests.support.trace_builder import TraceBuilder


def test_code_made_from_a_text_is_told_by_who_runs_it() -> None:
    builder = TraceBuilder(1, end_s=1.0)
    rules, made = ("apply_rules", "/home/me/train.py", 26), ("<module>", "<string>", 1)
    told = [builder.stack([rules, made]), builder.stack([made])]
    trace = builder.build()
    users = label_stacks(trace).user_frame
    names = [trace.frames[users[stack]].function for stack in told]
    assert names == ["apply_rules", "<module>"]
