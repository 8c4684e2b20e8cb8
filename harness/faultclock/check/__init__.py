"""`faultclock check`: one honest answer about one target, without a file or a word to learn.

`target` loads it and sees what it does in a healthy world; `battery` chooses the scenarios that fit
that and leaves the others out by name;
`running` makes their runs and those of the inference; `model.problems` folds the findings into
causes; `traits` says what the target does without judging it; `checkup` puts it all together.
"""
