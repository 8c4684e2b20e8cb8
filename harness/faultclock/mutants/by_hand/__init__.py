"""Wrong subjects that are code: what they get wrong takes more than an operator of a row.

One module for each reference, or several; those that only exploration finds are in `race_*`. How
one is registered is in `table`.
"""

from faultclock.mutants.by_hand import (
    adapters,
    adapters_bounds,
    adapters_hints,
    afk,
    common,
    error_matrix,
    extensions,
    kode_sdk,
    kode_sdk_permissions,
    kode_sdk_tools,
    race_adapters,
    race_afk,
    race_runtimes,
    relavium,
    stores,
    stud_cli_approvals,
    stud_cli_parts,
    stud_cli_resume,
    stud_cli_tools,
    stud_cli_turns,
    tools,
)
from faultclock.mutants.by_hand.table import BY_HAND

__all__ = [
    "BY_HAND",
    "adapters",
    "adapters_bounds",
    "adapters_hints",
    "afk",
    "common",
    "error_matrix",
    "extensions",
    "kode_sdk",
    "kode_sdk_permissions",
    "kode_sdk_tools",
    "race_adapters",
    "race_afk",
    "race_runtimes",
    "relavium",
    "stores",
    "stud_cli_approvals",
    "stud_cli_parts",
    "stud_cli_resume",
    "stud_cli_tools",
    "stud_cli_turns",
    "tools",
]
