"""The proxy in front of an S3 server, and the errors that S3 tells in its own way."""

from __future__ import annotations

from dataclasses import dataclass

from multidict import CIMultiDict

from tests.services.proxy import Answer, Delivery, PassOn, Proxy


class S3Proxy(Proxy):
    """Passes requests on with the `Host` that the client signed, so its signature holds at the server too."""

    def puts(self) -> list[Delivery]:
        """Return the uploads that came, oldest first."""
        return [one for one in self.deliveries if one.method == "PUT"]


@dataclass
class S3Error:
    """Answers with an error of S3: its status, its code, and a message; the server never sees the request."""

    status: int
    code: str
    message: str = "injected"
    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        body = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{self.code}</Code>'
            f"<Message>{self.message}</Message><Resource>{delivery.path}</Resource><RequestId>tests</RequestId></Error>"
        ).encode()
        headers = CIMultiDict({"Content-Type": "application/xml", "x-amz-request-id": "tests"})
        return Answer(self.status, headers, b"" if delivery.method == "HEAD" else body)


INTERNAL_ERROR = S3Error(500, "InternalError", "We encountered an internal error. Please try again.")
SLOW_DOWN = S3Error(503, "SlowDown", "Please reduce your request rate.")
ACCESS_DENIED = S3Error(403, "AccessDenied", "Access Denied")
EXPIRED_TOKEN = S3Error(400, "ExpiredToken", "The provided token has expired.")
SKEWED = S3Error(
    403, "RequestTimeTooSkewed", "The difference between the request time and the server's is too large."
)
CONFLICT = S3Error(409, "ConditionalRequestConflict", "A conflicting operation is under way for this key.")
PRECONDITION = S3Error(
    412, "PreconditionFailed", "At least one of the preconditions you specified did not hold."
)


@dataclass
class Corrupt:
    """Changes one bit of the body on its way: the server finds that the checksum is another."""

    rate: float | None = None

    async def answer(self, delivery: Delivery, pass_on: PassOn) -> Answer | None:
        body = bytearray(delivery.body)
        # The middle of an upload is payload, in plain bodies and between the frames of `aws-chunked` alike.
        body[len(body) // 2] ^= 1
        return await pass_on(delivery, bytes(body))
