"""The other libraries: each gives its settings, from which the fastest is chosen, as (name, maker of a scorer).

A scorer takes nothing and returns one logit per document, from text, as the task asks.
"""
import functools

import numpy

import onnx_models
from sparse_torch import ATTENTIONS
from task import Encoded, Task, batches


def sentence_transformers(task: Task, precision: str):
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(task.threads)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    encoder = CrossEncoder(str(task.checkpoint), device="cpu", max_length=512, model_kwargs={"dtype": dtype})
    pairs = [(task.query, document) for document in task.documents]

    def scorer(size: int):
        return lambda: encoder.predict(pairs, batch_size=size, show_progress_bar=False,
                                       activation_fn=torch.nn.Identity()).astype(numpy.float32)

    for size in task.batch_sizes():
        yield f"batches of {size}", lambda size=size: scorer(size)


def onnx_runtime(task: Task, precision: str):
    import onnxruntime

    encode = Encoded(task)

    def scorer(size: int):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = task.threads
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return lambda: numpy.concatenate([session.run(["logits"], inputs)[0][:, 0]
                                          for _, inputs in batches(encode(), size)])

    model = str(onnx_models.fused(task) if precision == "fp32" else onnx_models.dynamic_int8(task))
    for size in task.batch_sizes():
        yield f"batches of {size}", lambda size=size: scorer(size)


def openvino(task: Task, precision: str):
    import openvino

    core = openvino.Core()
    native_bf16 = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if precision == "bf16" and not native_bf16:
        raise ImportError("this processor has no bf16 instructions that OpenVINO uses")
    encode = Encoded(task)
    tokens = encode()["input_ids"].shape[1]
    model = str(onnx_models.nncf_int8(task) if precision == "int8" else onnx_models.exported(task))

    def scorer(rest: str, streams: int, size: int):
        network = core.read_model(model)
        network.reshape({port.any_name: [size, tokens] for port in network.inputs})
        compiled = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": rest, "NUM_STREAMS": streams,
                                                       "INFERENCE_NUM_THREADS": task.threads})
        queue = openvino.AsyncInferQueue(compiled, streams)
        logits = numpy.empty(len(task.documents), numpy.float32)

        def keep(request, first):
            logits[first:first + size] = request.get_output_tensor(0).data[:, 0]

        queue.set_callback(keep)

        def score():
            for first, inputs in batches(encode(), size):
                queue.start_async(inputs, first)
            queue.wait_all()
            return logits.copy()

        return score

    # Where int8 leaves off, in the attention's products among others, the rest may be either.
    rests = {"fp32": ["f32"], "bf16": ["bf16"], "int8": ["f32"] + (["bf16"] if native_bf16 else [])}[precision]
    for rest in rests:
        for streams in sorted({1, task.threads}):
            for size in task.batch_sizes():
                yield (f"{rest}, {streams} streams, batches of {size}",
                       lambda rest=rest, streams=streams, size=size: scorer(rest, streams, size))


def sparse_torch(task: Task, precision: str, attention: str):
    import torch
    from sparse_torch import SparseBert

    torch.set_num_threads(task.threads)
    model = SparseBert(task.sparse, attention, {"fp32": "float32", "bf16": "bfloat16"}[precision], "cpu")
    encode = Encoded(task)

    def scorer(size: int):
        def score():
            with torch.inference_mode():
                return torch.cat([model(*(torch.from_numpy(part[name]) for name in ("input_ids", "token_type_ids")))
                                  for _, part in batches(encode(), size)]).float().numpy()

        return score

    for size in task.batch_sizes():
        yield f"batches of {size}", lambda size=size: scorer(size)


# These compute the sparse checkpoint, with its own mask; the others compute it with full attention.
SPARSE = {f"PyTorch {attention} with the mask {precision}":
          (functools.partial(sparse_torch, attention=attention), precision)
          for attention in ATTENTIONS for precision in ("fp32", "bf16")}
PEERS = SPARSE | {f"{name} {precision}": (settings, precision) for name, settings, precisions in (
    ("sentence-transformers", sentence_transformers, ("fp32", "bf16")),
    ("ONNX Runtime", onnx_runtime, ("fp32", "int8")),
    ("OpenVINO", openvino, ("fp32", "bf16", "int8"))) for precision in precisions}
