"""PyTorch's ways to run the cross-encoder on a GPU, dense or with the checkpoint's mask. Each is a function of (task,
dtype's name) that yields (name, function) of the settings to try; the function gives a scorer, which returns (logits,
milliseconds between CUDA events around copying the ids, the model, and copying the logits; 0 where unknown)."""
import itertools

from sparse_torch import ATTENTIONS

# Small batches keep a dense model's scores in memory and cache, large ones keep the GPU busy.
BATCHES = (10, 25, 50, 100)


def batch_sizes(task) -> list[int]:
    count = len(task.documents)
    return sorted({count} | {size for size in BATCHES if size < count and count % size == 0}, reverse=True)


def transformers(attention: str, compiled: bool):
    def settings(task, dtype: str):
        import torch
        from transformers import AutoModelForSequenceClassification

        model = AutoModelForSequenceClassification.from_pretrained(
            task.checkpoint, dtype=getattr(torch, dtype), attn_implementation=attention).eval().cuda()
        scorer = scorers(task)

        def logits(run):
            return lambda inputs: run(**inputs).logits[:, 0]

        modes = ("default", "reduce-overhead") if compiled else (None,)
        for size, mode in itertools.product(batch_sizes(task), modes):
            name = f"batches of {size}" + (f", {mode}" if mode else "")
            yield name, lambda size=size, mode=mode: scorer(
                size, logits(torch.compile(model, mode=mode, dynamic=False) if mode else model))

    return settings


def scorers(task):
    """(batch size, function of a batch's inputs that gives its logits) -> scorer."""
    import torch
    from task import Encoded, batches

    encode = Encoded(task)

    def scorer(size: int, run):
        def score():
            inputs = {name: torch.from_numpy(values).pin_memory() for name, values in encode().items()}
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            with torch.inference_mode():
                parts = [run({name: values.cuda(non_blocking=True) for name, values in part.items()}).float().clone()
                         for _, part in batches(inputs, size)]
            logits = torch.cat(parts).cpu()
            end.record()
            end.synchronize()
            return logits.tolist(), start.elapsed_time(end)

        return score

    return scorer


def same_mask(attention: str):
    def settings(task, dtype: str):
        from sparse_torch import SparseBert

        model, scorer = SparseBert(task.sparse, attention, dtype, "cuda"), scorers(task)
        for size in batch_sizes(task):
            yield f"batches of {size}", lambda size=size: scorer(size, lambda inputs: model(**inputs))

    return settings


def sentence_transformers(task, dtype: str):
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(task.checkpoint), device="cuda", model_kwargs={"dtype": getattr(torch, dtype)})
    pairs = [(task.query, document) for document in task.documents]

    def scorer(size: int):
        def score():
            logits = model.predict(pairs, batch_size=size, activation_fn=torch.nn.Identity(), show_progress_bar=False)
            return [float(logit) for logit in logits], 0.0

        return score

    for size in batch_sizes(task):
        yield f"batches of {size}", lambda size=size: scorer(size)


# These compute the sparse checkpoint, with its own mask; the others compute it with full attention.
SPARSE = {f"PyTorch {attention} with the mask {short}": (same_mask(attention), dtype) for attention in ATTENTIONS
          for short, dtype in (("fp16", "float16"), ("bf16", "bfloat16"))}
PEERS = SPARSE | {f"{name} {short}": (settings, dtype) for name, settings, dtypes in (
    ("transformers eager", transformers("eager", False), ("fp16", "bf16")),
    ("transformers SDPA", transformers("sdpa", False), ("fp16", "bf16")),
    ("torch.compile", transformers("sdpa", True), ("fp16", "bf16")),
    ("sentence-transformers", sentence_transformers, ("bf16",)))
    for short in dtypes for dtype in [{"fp16": "float16", "bf16": "bfloat16"}[short]]}
