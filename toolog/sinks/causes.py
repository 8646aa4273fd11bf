"""What is behind a client's exception when no answer came: no such host, no TLS, a certificate that is not
trusted. Each client wraps these in classes of its own; what they are is told by what is inside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolog.errors import SinkDenied


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all those behind it, wherever its makers keep them; each once."""
    seen: set[int] = set()
    queue: list[Any] = [error]
    while queue:
        found = queue.pop(0)
        if not isinstance(found, BaseException) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        queue += [found.__cause__, found.__context__, getattr(found, "reason", None)]
        queue += [*found.args, *(getattr(found, "errors", None) or ())]
        inner = getattr(found, "kwargs", None)  # botocore's
        queue += [inner.get("error")] if isinstance(inner, dict) else []


def names_and_text(error: BaseException) -> tuple[set[str], str]:
    """Return the names of all classes of what is behind an exception, and all that it says."""
    found = list(causes(error))
    names = {base.__name__ for one in found for base in type(one).__mro__}
    return names, " ".join(str(one) for one in found)


def is_unknown_host(names: set[str], text: str) -> bool:
    """Whether the name server does not know the host; ``names`` and ``text`` as of `names_and_text`."""
    return bool(names & {"gaierror", "NameResolutionError"}) or "Failed to resolve" in text


def is_no_tls(text: str) -> bool:
    """Whether an error of TLS says that the other side does not speak it at all."""
    lower = text.lower()
    return any(sign in lower for sign in ("wrong_version_number", "wrong version number", "record layer"))


def why_untrusted(text: str) -> str:
    """Return why an error of TLS does not trust a certificate; "" when it speaks of something else."""
    lower = text.lower()
    if "certificate" not in lower and "hostname" not in lower:
        return ""
    if "expired" in lower:
        return "expired"
    return "for another host name" if "hostname mismatch" in lower else "from an unknown authority"


def check_ca_certs(path: str, where: str) -> None:
    """Raise SinkDenied when the option ``ca_certs`` of ``where`` names no file of certificates."""
    import ssl  # 15 ms, and only with the clients, which need it anyway

    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:  # ssl.SSLError is one
        reason = "it holds no certificates" if isinstance(error, ssl.SSLError) else error.strerror
        raise SinkDenied(f"{where}: ca_certs {path} cannot be used: {reason}") from None
