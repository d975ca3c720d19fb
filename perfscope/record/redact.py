"""Keeps secrets out of what perfscope writes: the agent's rules, where jobs are launched."""

from perfscope.agent.perfscope_agent.environment import performance_environment
from perfscope.agent.perfscope_agent.secrets.programs import redact_command
from perfscope.agent.perfscope_agent.secrets.redact import (
    REDACTED,
    is_sensitive_name,
    redact_arguments,
    redact_path,
    redact_tokens,
    redact_value,
    redact_variable,
)

__all__ = [
    "REDACTED",
    "is_sensitive_name",
    "performance_environment",
    "redact_arguments",
    "redact_command",
    "redact_path",
    "redact_tokens",
    "redact_value",
    "redact_variable",
]
