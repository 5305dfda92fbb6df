"""Chaos tests: inject faults into real servers under load, then check that no result was lost or duplicated.

``python -m tests.acceptance.chaos`` is the long version, ``test_chaos.py`` the short one. A run on a database
(``storm.py``) has three steps.

1. ``cluster.py`` starts the servers, ``proxy.py`` between clients and servers injects faults into a share of the
requests, and on PostgreSQL ``commits.py`` cuts connections to the database.

2. Many clients (``worker.py``) work on the studies of ``board.py`` and record each call with its outcome
(``ledger.py``), while ``faults.py`` injects faults into the servers, their model processes and the database.

3. Then the faults stop: the studies are completed and read (``record.py``), and their data is compared with the
clients' records (``check.py``, ``log.py``, ``order.py``).

kill -9 ends a process, not the machine. So the tests do not check whether a commit survives a power failure, which
depends on the database (synchronous commits).
"""
