"""Looking for secrets that are known in whatever was written: did any of them get out?

`Secrets` holds what to look for, `search` writes each in every spelling it could have, `units` opens what
lies in files (compressed, in a database, in a spool), and `audit` puts them together. A `Leak` tells where
and in which spelling, and never shows the secret. It leans on no masking: what masks is what is examined.
"""

from toolog.audit.audit import Leak, audit_path, audit_value
from toolog.audit.given import LEAST, Secrets

__all__ = ["LEAST", "Leak", "Secrets", "audit_path", "audit_value"]
