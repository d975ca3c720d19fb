"""Readers turn files into the trace model: one format a file."""

from perfscope.readers.recording.reader import open_recording
from perfscope.readers.registry import open_trace

__all__ = ["open_recording", "open_trace"]
