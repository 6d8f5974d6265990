"""Where runs and requests are kept: one SQLite file behind `ports.Store`.

`sqlite.py` is the store, `lock.py` keeps a second process out; the other files are
their parts. Nothing here decides: what a row may become is decided in `core/`.
"""
