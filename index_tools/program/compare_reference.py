"""The reference's side of `relucent model compare`: scores pairs of texts with a library.

    python3 compare_reference.py LIBRARY [FOLDER THREADS KIND] <PAIRS >ANSWER

LIBRARY is sentence-transformers, transformers or pylate, which compares late interaction. KIND is embeddings, for an
embedding model, late-interaction or pairs. PAIRS are JSON lines with "query" and "text". ANSWER is one object:
{"missing": NAME} if the package is not installed, {} if it is and there is no FOLDER, otherwise "versions" of the
packages, "scores" (raw logits or similarities; null for one that is not finite) and the "seconds" that scoring took.
Everything else goes to standard error. Runs in fp32 on the CPU, from the folder alone and without code from it.
"""
import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]  # modules come from the interpreter, not from the current folder

import importlib.metadata
import importlib.util
import inspect
import json
import math
import os
import time

BATCH = 32  # pairs, sorted by length as sentence-transformers does


def load_strictly():
    """Makes every model load in fp32, and fail where the library would fill missing weights with random values."""
    import torch
    import transformers
    load = transformers.PreTrainedModel.from_pretrained.__func__
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    precision = "dtype" if version >= (4, 56) else "torch_dtype"

    def from_pretrained(cls, *args, **kwargs):
        wants_report = kwargs.pop("output_loading_info", False)
        kwargs.pop("dtype", None), kwargs.pop("torch_dtype", None)
        model, report = load(cls, *args, output_loading_info=True, **{precision: torch.float32}, **kwargs)
        # An encoder whose states a head of its own pools does not need the pooler of its class.
        unused = "pooler." if cls.__name__.endswith("Model") else None
        missing = sorted(key for key in report["missing_keys"] if unused is None or not key.startswith(unused))
        if missing:
            sys.exit(f"{cls.__name__} needs weights that the folder lacks, and would make them up: {missing[0]}"
                     + (f" and {len(missing) - 1} more" if len(missing) > 1 else ""))
        return (model, report) if wants_report else model

    transformers.PreTrainedModel.from_pretrained = classmethod(from_pretrained)


def sentence_transformers_scorer(folder):
    import torch
    from sentence_transformers import CrossEncoder
    allowed = inspect.signature(CrossEncoder.__init__).parameters
    settings = {"device": "cpu", "local_files_only": True, "trust_remote_code": False}
    model = CrossEncoder(folder, **{name: value for name, value in settings.items() if name in allowed})
    if model.config.model_type in ("qwen2", "qwen3") and "message" not in getattr(model[0], "modality_config", ()):
        sys.exit("sentence-transformers would read a decoder's pairs without the template that it was trained with: "
                 "modality_config in sentence_bert_config.json has no \"message\"")
    activation = next(name for name in ("activation_fn", "activation_fct")
                      if name in inspect.signature(CrossEncoder.predict).parameters)

    def score(pairs):
        scores = model.predict(pairs, batch_size=BATCH, show_progress_bar=False, **{activation: torch.nn.Identity()})
        if scores.ndim != 1:
            sys.exit(f"the model returns {scores.shape[1]} scores per pair, not one")
        return scores.tolist()
    return score


def embedding_scorer(folder):
    from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(folder, device="cpu", local_files_only=True, trust_remote_code=False)

    def score(pairs):
        queries = model.encode_query([query for query, _ in pairs], batch_size=BATCH, convert_to_tensor=True)
        texts = model.encode_document([text for _, text in pairs], batch_size=BATCH, convert_to_tensor=True)
        return model.similarity_pairwise(queries, texts).tolist()
    return score


def late_interaction_scorer(folder):
    from pylate import models, scores
    model = models.ColBERT(folder, device="cpu", local_files_only=True, trust_remote_code=False)

    def score(pairs):
        settings = {"batch_size": BATCH, "convert_to_tensor": True, "show_progress_bar": False}
        queries = model.encode([query for query, _ in pairs], is_query=True, **settings)
        texts = model.encode([text for _, text in pairs], is_query=False, **settings)
        return scores.colbert_scores_pairwise(queries, texts).tolist()
    return score


def in_batches(pairs, score_batch):
    import torch
    order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i][0]) - len(pairs[i][1]))
    scores = [None] * len(pairs)
    with torch.inference_mode():
        for start in range(0, len(order), BATCH):
            batch = order[start:start + BATCH]
            for i, score in zip(batch, score_batch([pairs[i] for i in batch])):
                scores[i] = score
    return scores


def classifier_scorer(folder, config, tokenizer):
    from transformers import AutoModelForSequenceClassification
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model.eval()
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        positions -= config.pad_token_id + 1
    longest = min(tokenizer.model_max_length, positions)

    def score_batch(pairs):
        inputs = tokenizer(*map(list, zip(*pairs)), padding=True, truncation=True, max_length=longest,
                           return_tensors="pt")
        logits = model(**inputs).logits
        if logits.shape[1] != 1:
            sys.exit(f"the model returns {logits.shape[1]} scores per pair, not one")
        return logits[:, 0].tolist()
    return lambda pairs: in_batches(pairs, score_batch)


def mono_t5_scorer(folder, tokenizer):
    """The log-probability of "true" against "false" as the first word of the answer."""
    import torch
    from transformers import AutoModelForSeq2SeqLM
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True, trust_remote_code=False).eval()

    def ids_of(text):
        return tokenizer(text, add_special_tokens=False).input_ids
    words = [ids_of(word)[0] for word in ("true", "false")]
    end = ids_of("Relevant:") + [tokenizer.eos_token_id]
    longest = min(tokenizer.model_max_length, 512) - len(end)

    def score_batch(pairs):
        texts = [ids_of(f"Query: {query} Document: {text}")[:longest] + end for query, text in pairs]
        inputs = tokenizer.pad({"input_ids": texts}, return_tensors="pt")
        start = torch.full((len(pairs), 1), model.config.decoder_start_token_id)
        logits = model(**inputs, decoder_input_ids=start).logits[:, 0, words]
        return logits.log_softmax(1)[:, 0].tolist()
    return lambda pairs: in_batches(pairs, score_batch)


def transformers_scorer(folder):
    from transformers import AutoConfig, AutoTokenizer
    local = {"local_files_only": True, "trust_remote_code": False}
    config, tokenizer = AutoConfig.from_pretrained(folder, **local), AutoTokenizer.from_pretrained(folder, **local)
    if config.model_type == "t5":
        return mono_t5_scorer(folder, tokenizer)
    return classifier_scorer(folder, config, tokenizer)


def answer(library, folder=None, threads=None, kind="pairs"):
    scorers = {"sentence-transformers": sentence_transformers_scorer, "transformers": transformers_scorer,
               "pylate": late_interaction_scorer}
    if importlib.util.find_spec(library.replace("-", "_")) is None:
        return {"missing": library}
    if folder is None:
        return {}
    pairs = [(pair["query"], pair["text"]) for pair in map(json.loads, sys.stdin.buffer)]
    import torch
    torch.set_num_threads(int(threads))
    load_strictly()
    score = embedding_scorer(folder) if kind == "embeddings" else scorers[library](folder)
    score(pairs[:BATCH])  # the first call also prepares
    start = time.perf_counter()
    scores = score(pairs)
    seconds = time.perf_counter() - start
    versions = {name: importlib.metadata.version(name) for name in dict.fromkeys((library, "transformers", "torch"))}
    return {"versions": versions, "seconds": seconds, "scores": [s if math.isfinite(s) else None for s in scores]}


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)  # the libraries' own prints
        json.dump(answer(*sys.argv[1:]), output)
