"""Wrong subjects that are code: what they get wrong takes more than an operator of a row.

One module for each reference, or several; those that only exploration finds are in `race_*`. How
one is registered is in `table`. To import the room registers all of them.
"""

from importlib import import_module
from pkgutil import iter_modules

from faultclock.mutants.by_hand.table import BY_HAND as BY_HAND

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
