"""`workbench up`: broker, workers, beat and web server under one supervisor, on one home.

`command.py` tells the story; `checks.py` says what stands in the way, `lock.py` keeps it to one per home, `broker.py`
and `children.py` hold what runs, `child.py` is what a child process executes.
"""
