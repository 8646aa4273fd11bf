"""The fault matrix: a fault is made while records are shipped to a real server, then the books are checked.

`books` holds what independent sources say, `places` asks the servers and the wire, `producer` is the program
that logs, `rows` are the faults of what ships to servers, `deaths` those of the process, `elsewhere` names
the tests of the suite that cover the other rows. ``python -m tests.faults`` runs all of it and prints a
table; a short tier of it is part of the suite.
"""
