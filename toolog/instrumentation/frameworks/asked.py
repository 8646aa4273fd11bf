"""What a framework says of a call one step before it makes it: which request of the model's it answers.

Some frameworks know the model's id only in the function that then calls the tool, in the same thread and with
nothing in between. What is noted there is taken by the call that follows, if it is of the same tool.
"""

from __future__ import annotations

import threading
from typing import Any


class Asked(threading.local):
    """The request that this thread is about to answer, and the tool it is for."""

    _tool: Any = None
    _request: Any = None

    def note(self, tool: Any, request: Any) -> None:
        """Note what comes next in this thread."""
        self._tool, self._request = tool, request

    def take(self, tool: Any) -> Any:
        """Return the request that was noted for this tool, once; None when there is none."""
        held, request = self._tool, self._request
        self._tool = self._request = None
        return request if held is tool else None
