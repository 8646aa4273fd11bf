"""The proxy in front of OpenSearch: what elasticsearch-py asks of a server, and who may do what."""

from __future__ import annotations

import re
from typing import Any

from multidict import CIMultiDict

from tests.services.access import Access, refuse
from tests.services.bulk import Item, answer_without, is_bulk, read_items
from tests.services.proxy import Answer, Delivery, Proxy

MEDIA_TYPE = re.compile(r"application/vnd\.elasticsearch\+(json|x-ndjson)(\s*;\s*compatible-with=\d+)?")


class SearchProxy(Proxy):
    """Makes OpenSearch usable by elasticsearch-py and by opensearch-py, with ``access`` as its security.

    elasticsearch-py refuses a server that does not call itself Elasticsearch in a header, and OpenSearch
    refuses that client's media types; both are changed on the way, and nothing else is.
    """

    def __init__(self, upstream: str, *, access: Access | None = None, **rest: Any) -> None:
        super().__init__(upstream, **rest)
        self.access = access

    def change_request(self, headers: CIMultiDict[str]) -> None:
        for name in ("Accept", "Content-Type"):
            if name in headers:
                headers[name] = MEDIA_TYPE.sub(r"application/\1", headers[name])
        headers.popall("Authorization", None)  # it was for us

    def change_answer(self, headers: CIMultiDict[str]) -> None:
        headers["X-Elastic-Product"] = "Elasticsearch"

    async def pass_on(self, delivery: Delivery, body: bytes | None = None, plain: bool = False) -> Answer:
        if self.access is None:
            return await super().pass_on(delivery, body, plain)
        user = self.access.find(delivery.headers.get("Authorization"))
        if user is None:
            return self._marked(refuse(401, "unable to authenticate user"))
        index = re.match(r"/([^_/][^/]*)", delivery.path)
        if index and not all(user.may(one) for one in index[1].split(",")):
            return self._marked(refuse(403, f"user [{user.name}] is unauthorized for [{index[1]}]"))
        if body is None and is_bulk(delivery):
            items = read_items(delivery)
            refused = {one.position: one.answer(403) for one in items if not user.may(one.index)}
            if refused:
                return self._marked(await answer_without(refused, items, delivery, super().pass_on))
        return await super().pass_on(delivery, body, plain)

    def _marked(self, answer: Answer) -> Answer:
        self.change_answer(answer.headers)
        return answer

    def bulk_deliveries(self) -> list[Delivery]:
        """Return the bulk requests that came, oldest first."""
        return [one for one in self.deliveries if is_bulk(one)]

    def bulk_items(self) -> list[Item]:
        """Return every item of every bulk request that came, as often as it came."""
        return [item for delivery in self.bulk_deliveries() for item in read_items(delivery)]
