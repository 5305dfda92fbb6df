"""Tests of a package together with a database, a server or other processes."""
