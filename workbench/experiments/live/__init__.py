"""How a run is watched while it happens.

A web process that has viewers of a run says so on the bell (`hub.py`). The worker that holds the run then writes what
happens into a stream of Redis: events as they are committed, calls under way, what models have said so far
(`telling.py`). Unwatched runs tell nothing. The journal stays the truth: whoever joins is first told what it holds
(`past.py`), and what was not told is read from there. Without Redis pages ask again every second, as they always can.
"""
