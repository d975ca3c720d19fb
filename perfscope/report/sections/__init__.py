"""The sections of the report, one file each; a file that is not in `ORDER` comes last."""

ORDER = (
    "overview",
    "ledger",
    "efficiency",
    "phases",
    "steps",
    "timeline",
    "communication",
    "losses",
    "causes",
    "memory",
    "threads",
    "devices",
    "functions",
    "stacks",
    "findings",
    "environment",
    "quality",
    "method",
)
