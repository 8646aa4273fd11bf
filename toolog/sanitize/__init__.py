"""Masking: nothing unmasked leaves the process.

`Sanitizer` is the only thing that users meet. Behind it: `words` judges names, `rules` and `text` find
secrets, `engine` walks values, `prefilter` says from the bytes alone that there is nothing to walk for,
`masks` writes what stands in the place of a secret, `logfilter` does all that to log records.
"""

from toolog.sanitize.engine import Finding
from toolog.sanitize.masks import CYCLE, FAILED, TRUNCATED
from toolog.sanitize.sanitizer import Sanitizer, default, warm

__all__ = ["CYCLE", "FAILED", "TRUNCATED", "Finding", "Sanitizer", "default", "warm"]
