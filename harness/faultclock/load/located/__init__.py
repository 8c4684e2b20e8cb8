"""Text in YAML, TOML or JSON to one tree in which every value knows its line and column.

`tree` has the nodes and the limits. `builder` folds what a reader finds into a tree. `yaml_text`,
`json_text` and `toml_text` are the readers; `words` says what is wrong with a text, for people.
Files that people write for Faultclock are read strictly. `recordings.inert` reads the files of
other programs with the same readers, and more leniently.
"""
