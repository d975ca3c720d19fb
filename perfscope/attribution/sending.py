"""Stacks in which a process makes objects bytes for other processes, and writes them to a pipe."""

import re

import numpy as np

from perfscope.arrays import Bools
from perfscope.trace.model import Frame, Trace

_LIBRARIES = re.compile(r"/(multiprocess(ing)?|loky|billiard)/")
"""Libraries of worker processes: what they pickle and send is for these."""

_SENDS = re.compile(r"(^|[._])(dumps?|send(_bytes)?)$")


def sends(trace: Trace) -> Bools:
    """By stack, whether it is inside a function that pickles or sends for other processes."""
    frames = {number for number, frame in enumerate(trace.frames) if _is_sending(frame)}
    return np.array([not frames.isdisjoint(stack) for stack in trace.stacks], np.bool_)


def _is_sending(frame: Frame) -> bool:
    return bool(_LIBRARIES.search(frame.file) and _SENDS.search(frame.function))
