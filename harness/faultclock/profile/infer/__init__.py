"""What a client really does about failures, inferred from a battery of runs; nothing is judged.

`kinds`, `header_forms` and `probes` say what is asked, `battery` runs it, `seen` and `laws` read
one run and one wait; `layers`, `schedules`, `hints`, `ceilings` and `deadlines` make answers of
them; `demands` sets an error model beside them. Only `battery` and `running` start runs: all else
is pure.
"""
