"""A cross-encoder with the interface of sentence-transformers'."""
from __future__ import annotations

import json
import os
import pathlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

import numpy as np

from relucent_search._library import native
from relucent_search.errors import UsageError
from relucent_search.settings import OwnProcess, to_toml

if TYPE_CHECKING:
    from numpy.typing import NDArray

Activation: TypeAlias = Literal["identity", "sigmoid", "checkpoint"] | Callable[[Any], Any] | None
Pair: TypeAlias = Sequence[str]


def default_model() -> str:
    """The bundled checkpoint's folder."""
    return native.default_model()


def _sigmoid(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    half = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1 / (1 + half), half / (1 + half)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class PairScores:
    """What CrossEncoder.raw() returns; one entry per pair in each array."""

    scores: NDArray[np.float32]
    """Raw scores; NaN for a document that has nothing the model reads."""
    tokens: NDArray[np.int32]
    """Tokens of the model's input."""
    truncated: NDArray[np.uint8]
    """1 where the model did not see the end of the document."""
    query_truncated: bool
    """Whether it did not see the end of a query."""
    timings: dict[str, float]
    """Milliseconds per step."""


class CrossEncoder(OwnProcess):
    """Scores pairs of a query and a document. Thread-safe.

    model: a Hugging Face folder, or a name ORG/NAME in Hugging Face's cache; None is the bundled checkpoint.
    device: "auto", "cpu", "cuda:N" or "cuda"; precision: "auto", "fp32", "bf16", ...; threads: 0 is one per core;
    max_length: tokens of the whole input, 0 is the checkpoint's own value.
    max_query_length: word pieces of a query, 0 is the checkpoint's own limit, if it has one.
    activation_fn: applied to the raw scores. None and "identity" leave them as they are, "sigmoid" maps them to 0..1,
        "checkpoint" does what sentence-transformers does with this checkpoint; or a function of an array.
    settings: any other key of [rescorer] in a profile, e.g. pattern="full" or long_documents="maxp".
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, *, device: str = "auto", precision: str = "auto",
                 threads: int = 0, max_length: int = 0, max_query_length: int = 0,
                 activation_fn: Activation = None, **settings: Any) -> None:
        super().__init__()
        self._arguments = {"model": None if model is None else os.fspath(model), "device": device,
                           "precision": precision, "threads": threads, "max_length": max_length,
                           "max_query_length": max_query_length, "activation_fn": activation_fn, **settings}
        keys = {key: value for key, value in self._arguments.items() if key != "activation_fn" and value is not None}
        self._activation = self._function(activation_fn)
        self._classifier = None
        self.labels: list[str] = native.labels(str(keys["model"])) if keys.get("model") else []
        """The names of a classifier's labels, in the order of predict()'s columns; empty: the model scores."""
        if self.labels:
            self._classifier = native.PairClassifier(to_toml({"rescorer": keys}), "arguments of CrossEncoder")
            return
        self._scorer = native.PairScorer(to_toml({"rescorer": keys}), "arguments of CrossEncoder")
        if warning := self._scorer.warning():
            warnings.warn(warning, stacklevel=2)
        self._fell_back = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self._arguments,)

    def __repr__(self) -> str:
        return f"<relucent_search.CrossEncoder: {self.describe()}>"

    def describe(self) -> str:
        """The checkpoint, the device and the precision in use."""
        return (self._classifier or self._scorer).describe()

    def notice(self) -> str:
        """What a user may want to know, e.g. why no GPU is used; usually empty."""
        return "" if self._classifier else self._scorer.notice()

    def _function(self, activation: Activation) -> Callable[[Any], Any] | None:
        if activation == "checkpoint":
            folder = self._arguments["model"]
            activation = native.stated_activation(str(folder) if folder else default_model()) or None
        if activation is None or activation == "identity":
            return None
        if activation == "sigmoid":
            return _sigmoid
        if isinstance(activation, str):
            raise UsageError("activation_fn", f"{activation} is not known", "pass the function itself")
        if type(activation).__module__.split(".")[0] == "torch":  # a module or a built-in function of PyTorch
            import torch

            function = cast(Callable[[Any], Any], activation)
            return lambda scores: function(torch.from_numpy(scores)).numpy()
        return activation

    def raw(self, queries: Sequence[str], documents: Sequence[str]) -> PairScores:
        """The raw scores of queries[i] with documents[i], and what the model read."""
        self._check_process()
        if self._classifier:
            raise UsageError("model", f"is a classifier with {len(self.labels)} labels and has no score",
                             "call predict(), or use a checkpoint with one label")
        results = self._scorer.score(queries, documents)
        if results.fallback and not self._fell_back:
            self._fell_back = True
            warnings.warn(f"scored by the fallback device: {results.fallback}", stacklevel=3)
        return PairScores(results.take_scores(), results.take_tokens(), results.take_truncated(),
                          results.query_truncated, results.timings)

    def _activated(self, scores: NDArray[np.float32], activation: Activation) -> NDArray[np.float32]:
        function = self._activation if activation is None else self._function(activation)
        return scores if function is None else np.asarray(function(scores), dtype=np.float32)

    def _prompts(self) -> tuple[dict[str, str], str]:
        """The checkpoint's prompts by name, and the one that the model puts before every query."""
        folder, model_type = native.folder_and_type(str(self._arguments["model"] or default_model()))
        if model_type.startswith("qwen"):
            raise UsageError("prompt", f"{model_type} is told by an instruction", "pass CrossEncoder(instruction=...)")
        file = pathlib.Path(folder) / "config_sentence_transformers.json"
        counts = file.exists() and file.with_name("modules.json").exists()
        config = json.loads(file.read_text(encoding="utf-8")) if counts else {}
        prompts = config.get("prompts") or {}
        own = prompts.get(config.get("default_prompt_name")) or ""
        if config.get("model_type") != "CrossEncoder":  # an embedding model
            own = prompts.get("query") or own
        return prompts, own

    def _prefix(self, prompt: str | None, prompt_name: str | None) -> str:
        """What is to stand before a query, in addition to what the model puts there by itself."""
        if prompt is None and prompt_name is None:
            return ""
        prompts, own = self._prompts()
        if prompt is None:
            if prompt_name not in prompts:
                raise UsageError("prompt_name", f"the checkpoint has no prompt {prompt_name!r}",
                                 f"it has {', '.join(prompts) or 'none'}; or pass prompt")
            prompt = prompts[prompt_name]
        if not prompt.startswith(own):
            raise UsageError("prompt", f"the checkpoint's own prompt {own!r} stands before every query",
                             "begin with it, or change default_prompt_name in config_sentence_transformers.json")
        return prompt[len(own):]

    def _require_same_place(self, device: Any, pool: Any) -> None:
        """Refuses what sentence-transformers would move or divide for one call."""
        if pool is not None:
            raise UsageError("pool", "there are no pools of processes", 'pass CrossEncoder(device="cuda") for all GPUs')
        if device is None or device == self._arguments["device"]:
            return
        if not isinstance(device, list) and str(device) == "cpu" and " on cpu" in self.describe():
            return
        raise UsageError("device", f"{device} is not the device of this object, which keeps its own",
                         f"pass CrossEncoder(device={device!r})")

    @overload
    def predict(self, inputs: tuple[str, str], prompt_name: str | None = None, prompt: str | None = None,
                batch_size: int = 32, show_progress_bar: bool | None = None, activation_fn: Activation = None,
                apply_softmax: bool | None = False, convert_to_numpy: Literal[True] = True,
                convert_to_tensor: Literal[False] = False, device: Any = None, pool: None = None,
                chunk_size: int | None = None) -> np.float32: ...

    @overload
    def predict(self, inputs: Sequence[Pair], prompt_name: str | None = None, prompt: str | None = None,
                batch_size: int = 32, show_progress_bar: bool | None = None, activation_fn: Activation = None,
                apply_softmax: bool | None = False, convert_to_numpy: Literal[True] = True,
                convert_to_tensor: Literal[False] = False, device: Any = None, pool: None = None,
                chunk_size: int | None = None) -> NDArray[np.float32]: ...

    @overload
    def predict(self, inputs: Sequence[Pair] | Pair, prompt_name: str | None = None, prompt: str | None = None,
                batch_size: int = 32, show_progress_bar: bool | None = None, activation_fn: Activation = None,
                apply_softmax: bool | None = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, pool: None = None, chunk_size: int | None = None) -> Any: ...

    def predict(self, inputs: Sequence[Pair] | Pair, prompt_name: str | None = None, prompt: str | None = None,
                batch_size: int = 32, show_progress_bar: bool | None = None, activation_fn: Activation = None,
                apply_softmax: bool | None = False, convert_to_numpy: bool = True, convert_to_tensor: bool = False,
                device: Any = None, pool: None = None, chunk_size: int | None = None, **kwargs: Any) -> Any:
        """One score per pair (query, document), as float32; a single pair gives a single score.

        A classifier (`labels`) gives a row of logits per pair, [n, labels], to which apply_softmax applies softmax; it
        changes nothing else.

        prompt stands before every query; prompt_name is one of the checkpoint's. convert_to_tensor returns a PyTorch
        tensor of the same memory, convert_to_numpy=False a list of tensors. batch_size, chunk_size and
        show_progress_bar are accepted and have no effect: the engine forms its batches itself. A score does not depend
        on the other pairs, but a Set-Encoder's on those of the same query. Another device than the object's, a pool and
        sentence-transformers' further keywords, such as processing_kwargs, are a UsageError.
        """
        self._require_same_place(device, pool)
        for name in kwargs:
            raise UsageError(name, "is not an argument of predict",
                             "pass the settings of the model to CrossEncoder(...), e.g. max_length=256")
        single = len(inputs) > 0 and isinstance(inputs[0], str)
        pairs = cast(Sequence[Pair], [inputs] if single else inputs)
        for i, pair in enumerate(pairs):
            if isinstance(pair, str) or len(pair) != 2:
                raise UsageError(f"pair {i}", f"{pair!r} is not a pair", "pass (query, document)")
        prefix = self._prefix(prompt, prompt_name)
        texts = [prefix + pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if self._classifier:
            self._check_process()
            scores = self._classifier.classify(*texts).reshape(len(pairs), len(self.labels))
        else:
            scores = self.raw(*texts).scores
        scores = self._activated(scores, activation_fn)
        if apply_softmax and self._classifier:
            powers = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores = powers / powers.sum(axis=1, keepdims=True)
        if convert_to_tensor or not convert_to_numpy:
            import torch

            tensor = torch.from_numpy(scores)
            if not convert_to_tensor:
                return tensor[0] if single else list(tensor)
            return tensor[0] if single else tensor
        return scores[0] if single else scores

    def rank(self, query: str, documents: Sequence[str], top_k: int | None = None, return_documents: bool = False,
             prompt_name: str | None = None, prompt: str | None = None, batch_size: int = 32,
             show_progress_bar: bool | None = None, activation_fn: Activation = None, device: Any = None,
             pool: None = None, chunk_size: int | None = None) -> list[dict[str, Any]]:
        """The documents in the order of their scores: dictionaries with `corpus_id` (the place in `documents`),
        `score`, and with return_documents `text`. Documents with equal scores keep their order. The other arguments
        are those of predict()."""
        self._require_same_place(device, pool)
        query = self._prefix(prompt, prompt_name) + query
        scores = self._activated(self.raw([query] * len(documents), documents).scores, activation_fn)
        order = np.argsort(-scores, kind="stable")[:top_k]  # NaN comes last
        ranked: list[dict[str, Any]] = [{"corpus_id": int(i), "score": scores[i]} for i in order]
        if return_documents:
            for entry in ranked:
                entry["text"] = documents[entry["corpus_id"]]
        return ranked


def _make(arguments: dict[str, Any]) -> CrossEncoder:
    return CrossEncoder(**arguments)
