"""What `toolog demo` runs: three orders at once through third-party packages that nobody edited.

shop.py      the shop's side: a database file and a small HTTP server on 127.0.0.1
orders.py    the agent's side: what an application's own code looks like with toolog in it
"""
