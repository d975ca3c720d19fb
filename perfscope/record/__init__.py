"""Recording: the job's environment, its start and end, and the directory it is recorded to."""

from perfscope.record.places import agent_directory, recorder_library

__all__ = ["agent_directory", "recorder_library"]
