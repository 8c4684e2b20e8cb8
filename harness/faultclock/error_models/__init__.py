"""The reference error models, as YAML data: one file for each source document.

A file holds what its document asks for (classes, signal rules, retry policies, audience and
ordering rules), each normative sentence as a requirement, and a switch wherever the document
contradicts itself or is silent. There is no code here: `faultclock.load` reads the files, and
`faultclock.oracle` judges by what they say without knowing any of them by name.
"""
