"""Real servers for the tests, and proxies that stand in front of them and make faults.

`opensearch` and `seaweedfs` start a server on 127.0.0.1 with its data in a folder of its own; `search_proxy`
and `s3_proxy` are what tests talk to when something has to go wrong, or when every byte on the wire must be
known. `fixtures` offers all of it to pytest, and ``python -m tests.services`` to people.
"""
