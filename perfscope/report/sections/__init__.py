"""The sections of the report, one file each; a file that is not in `ORDER` comes last."""

ORDER = (
    "overview",
    "findings",
    "losses",
    "timeline",
    "causes",
    "communication",
    "ledger",
    "efficiency",
    "phases",
    "steps",
    "memory",
    "threads",
    "devices",
    "other_tools",
    "functions",
    "stacks",
    "environment",
    "quality",
    "method",
)
