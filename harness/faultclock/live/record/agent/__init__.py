"""What runs inside of a recorded program: each module is loaded by its path, see `starting`.

Only the standard library and vcrpy may be imported here: Faultclock itself need not be installed
where the program runs.
"""
