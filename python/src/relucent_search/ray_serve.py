"""Ray Serve: as many replicas of Reranker and Searcher as the requests need, behind HTTP and Ray's handles
(docs/scale.md):

    serve run relucent_search.ray_serve:application index=/path/to/my.index max_replicas=8

Needs the extra `ray`.
"""
import asyncio
import json
import math
from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from relucent_search.errors import DeadlineError, Error, UsageError
from relucent_search.reranker import Reranker
from relucent_search.search import Searcher
from relucent_search.settings import load_config

MAX_DOCUMENTS = 1000
"""A request has as many texts at most, and a search as many hits."""

_KINDS = {str: "text", int: "a whole number", bool: "true or false", list: "an array"}


class Arguments(BaseModel):
    """What `serve run` passes as NAME=VALUE, and a Serve config file as `args`."""

    model_config = ConfigDict(extra="forbid")

    index: str | None = None
    """A folder that all nodes have in the same place; without it there is no search."""
    config: str | None = None
    """A profile, in the same place on all nodes."""
    min_replicas: int = 1
    max_replicas: int = 2
    target_ongoing_requests: float = 2
    """Requests per replica, waiting or computed, above which Serve starts another replica."""
    upscale_delay_s: float = 30
    """Seconds with more of them before a replica is added."""
    downscale_delay_s: float = 600
    """Seconds with fewer before one is stopped."""
    max_queued_requests: int = 100
    """Per proxy; further requests get status 503."""
    num_cpus: int = 1
    """Cores and threads of a replica."""
    num_gpus: float = 0


class Replica:
    """One copy of the model and, if there is one, of the index."""

    def __init__(self, arguments: Arguments) -> None:
        profile = load_config(arguments.config) if arguments.config else {}
        rescorer = profile.setdefault("rescorer", {})
        if not rescorer.get("threads"):
            rescorer["threads"] = arguments.num_cpus
        self._searcher = Searcher(arguments.index, profile) if arguments.index else None
        self._reranker = Reranker(profile)

    async def rerank(self, query: str, documents: list[str], top_n: int | None = None,
                     return_documents: bool = False) -> dict[str, Any]:
        """The documents, best first, with the scores of relucent_search.Reranker."""
        found = await asyncio.to_thread(self._reranker.rerank, query, documents)
        results: list[dict[str, Any]] = []
        for place, score in zip(found.order[: top_n or None].tolist(), found.scores.tolist(), strict=False):
            results.append({"index": place, "relevance_score": score if math.isfinite(score) else None})
            if return_documents:
                results[-1]["document"] = {"text": documents[place]}
        return {"results": results, "status": found.status, "degraded": found.degraded, "reason": found.reason}

    async def search(self, query: str, k: int = 10, texts: bool = False) -> dict[str, Any]:
        """The k best hits of the index, with the fields of relucent_search.Searcher's."""
        if self._searcher is None:
            raise UsageError("search", "this application has no index", "start it with index=FOLDER")
        found = await asyncio.to_thread(self._searcher.search, query, k, texts=texts)
        hits = [{"rank": hit.rank, "id": hit.id, "score": hit.score, "logit": hit.logit,
                 "first_stage_rank": hit.first_stage_rank, "first_stage_score": hit.first_stage_score,
                 **({"text": hit.text} if texts else {})} for hit in found]
        return {"hits": hits, "total_hits": found.total_hits, "total_is_exact": found.total_is_exact,
                "status": found.status, "degraded": found.degraded,
                "reason": found.reason}

    async def __call__(self, request: Request) -> Response:
        if request.url.path not in ("/rerank", "/search"):
            return _refusal(404, "nothing is at this path; there are /rerank and /search")
        if request.method != "POST":
            return _refusal(405, "send a POST")
        try:
            body = json.loads(await request.body())
        except ValueError as error:  # also for bytes that are not UTF-8
            return _refusal(400, f"the body is not JSON in UTF-8: {error}")
        try:
            if request.url.path == "/rerank":
                return JSONResponse(await self.rerank(**_rerank_fields(body)))
            return JSONResponse(await self.search(**_search_fields(body)))
        except Error as error:
            status = 422 if isinstance(error, UsageError) else 504 if isinstance(error, DeadlineError) else 424
            return _refusal(status, str(error))


def _refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message, "message": message}, status)


def _field(body: dict[str, Any], name: str, kind: type, default: Any = None) -> Any:
    """A field of a request; null counts as absent, and a field without a default is needed."""
    value = body.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(name, "is missing" if value is None else f"is not {_KINDS[kind]}", f"send {_KINDS[kind]}")
    return value


def _rerank_fields(body: Any) -> dict[str, Any]:
    body = _object(body)
    documents = _field(body, "documents", list)
    if not all(isinstance(document, str) for document in documents):
        raise UsageError("documents", "has something other than strings", "send an array of strings")
    if len(documents) > MAX_DOCUMENTS:
        raise UsageError("documents", f"has {len(documents)} texts", f"send at most {MAX_DOCUMENTS}")
    top = _field(body, "top_n", int, 0)
    if top < 0:
        raise UsageError("top_n", f"is {top}", "send 0 or leave it out for all documents")
    return {"query": _field(body, "query", str), "documents": documents, "top_n": top,
            "return_documents": _field(body, "return_documents", bool, False)}


def _search_fields(body: Any) -> dict[str, Any]:
    body = _object(body)
    k = _field(body, "k", int, 10)
    if not 1 <= k <= MAX_DOCUMENTS:
        raise UsageError("k", f"is {k}", f"ask for 1 to {MAX_DOCUMENTS} hits")
    return {"query": _field(body, "query", str), "k": k, "texts": _field(body, "texts", bool, False)}


def _object(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise UsageError("body", "is not an object", 'send {"query": ..., ...}')
    return body


def application(arguments: Arguments) -> Application:
    """The application, for `serve run`, a config file, or serve.run() in a program of your own. Its handle has rerank()
    and search()."""
    deployment = serve.deployment(
        Replica, name="Relucent", max_queued_requests=arguments.max_queued_requests,
        ray_actor_options={"num_cpus": arguments.num_cpus, "num_gpus": arguments.num_gpus},
        autoscaling_config={"min_replicas": arguments.min_replicas, "max_replicas": arguments.max_replicas,
                            "target_ongoing_requests": arguments.target_ongoing_requests,
                            "upscale_delay_s": arguments.upscale_delay_s,
                            "downscale_delay_s": arguments.downscale_delay_s})
    return deployment.bind(arguments)
