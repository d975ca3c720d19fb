"""The roles that color charts; the style sheet has a fill f-ROLE and a stroke s-ROLE for each."""

from perfscope.schema.enums import Account

ACCOUNT_ROLES = tuple(account.value for account in Account)
LOST_ROLES = tuple(f"lost-{n}" for n in range(1, 5))  # ever paler, with patterns: most is first
SERIES_ROLES = tuple(f"series-{n}" for n in range(1, 9))
PHASE_ROLES = tuple(f"phase-{n}" for n in range(1, 9))  # the series' colors, with patterns
