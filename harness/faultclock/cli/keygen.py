"""`faultclock keygen`: a pair of keys, to sign certificates with and to verify them by."""

from __future__ import annotations

from datetime import date

import click

from faultclock.cli.key_options import day, passphrase_of, passphrase_option, require_certify
from faultclock.cli.say import say

_EPILOG = """\
PATH is the private key, which only you can read, and PATH.pub the public one, which you give to
those who verify. Both are PEM files that other programs can read. A file that is there is
never overwritten.

\b
Examples:
  faultclock keygen -o team.key
  faultclock keygen -o team.key --expires 2027-12-31
  faultclock keygen -o team.key --passphrase-env TEAM_KEY_PASSPHRASE

Exit codes: 0 the pair was made, 2 it was not.
"""


@click.command(name="keygen", epilog=_EPILOG)
@click.option("-o", "path", required=True, metavar="PATH", help="Where the private key goes.")
@click.option(
    "--expires", callback=day, metavar="DATE", help="Last day of the pair, such as 2027-12-31."
)
@passphrase_option
def command(path: str, expires: date | None, passphrase_env: str | None) -> None:
    """Make a pair of ed25519 keys."""
    require_certify()
    from faultclock.certify.keys import make_keys, require_in_time
    from faultclock.cli.key_options import today

    require_in_time(path, expires, today())
    passphrase = passphrase_of(passphrase_env)
    made = make_keys(path, created=today(), expires=expires, passphrase=passphrase)
    until = "" if expires is None else f", until {expires}"
    say(f"private key: {made.private}   (keep it to yourself)")
    say(f"public key:  {made.public}   (for those who verify)")
    say(f"key id:      {made.key_id}{until}")
