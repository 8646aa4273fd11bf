"""Who may do what behind the search proxy: passwords, API keys, bearer tokens, and rights by index."""

from __future__ import annotations

import base64
import fnmatch
import json
from dataclasses import dataclass, field

from multidict import CIMultiDict

from tests.services.proxy import Answer


@dataclass
class User:
    """One user, who may present any of these; ``indices`` are the patterns of what may be used."""

    name: str
    password: str = ""
    api_key: tuple[str, str] | None = None  # id and secret
    token: str = ""
    indices: tuple[str, ...] = ("*",)

    def may(self, index: str) -> bool:
        """Whether this index is the user's to write and read."""
        return any(fnmatch.fnmatchcase(index, pattern) for pattern in self.indices)

    def headers(self) -> list[str]:
        """Return the values of `Authorization` that are this user's."""
        found = []
        if self.password:
            found.append("Basic " + base64.b64encode(f"{self.name}:{self.password}".encode()).decode())
        if self.api_key:
            found.append("ApiKey " + base64.b64encode(":".join(self.api_key).encode()).decode())
        if self.token:
            found.append(f"Bearer {self.token}")
        return found


@dataclass
class Access:
    """The users that a server knows; tests change the list while it runs."""

    users: list[User] = field(default_factory=list)

    def find(self, header: str | None) -> User | None:
        """Return the user who sent this `Authorization`, if there is one."""
        return next((one for one in self.users if header in one.headers()), None)


def refuse(status: int, reason: str) -> Answer:
    """Return what a search server with its security on says: 401 or 403."""
    cause = {"type": "security_exception", "reason": reason}
    body = json.dumps({"error": {"root_cause": [cause], **cause}, "status": status}).encode()
    headers = CIMultiDict({"Content-Type": "application/json"})
    if status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="security", charset="UTF-8"'
    return Answer(status, headers, body)
