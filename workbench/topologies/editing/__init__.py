"""The editor's one set of commands, behind canvas, list and text: pure functions over the raw JSON of a topology.

A document is edited as it stands, valid or not; what no command knows is kept. `state.py` holds what is edited,
`commands.py` changes it, `merging.py` brings two changes together, `answers.py` says what came of it.
"""
