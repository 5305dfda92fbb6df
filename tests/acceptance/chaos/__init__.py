"""Everything dies, nothing is lost: a storm of faults over real servers, and a ledger that is checked afterwards.

``python -m tests.acceptance.chaos`` runs it at length, ``test_chaos.py`` in short. A run on a database (``storm.py``):

1. ``cluster.py`` starts the servers, ``proxy.py`` stands before them and spoils a share of the requests; on PostgreSQL
   ``commits.py`` stands behind them.
2. Many clients (``worker.py``) work on the studies of ``board.py`` and note each call and its fate (``ledger.py``),
   while one fault of ``faults.py`` after the other strikes the servers, their model processes and the database.
3. Then everything is calm: the studies are brought to their end, read back (``record.py``), and what is there is
   compared with what the clients know (``check.py``, ``log.py``, ``order.py``).

kill -9 ends a process, not the machine: that a commit outlives a power failure is the database's part (synchronous
commits) and not shown here.
"""
