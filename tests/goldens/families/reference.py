#!/usr/bin/env python3
"""Computes every case again in float64 with numpy alone, as README.md states it, and prints the largest differences.

    python3 tests/goldens/families/reference.py [MODEL...]

Needs numpy (pip install numpy==2.4.6). Exits with 1 if a difference exceeds 1e-9.
"""
import json
import math
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import FOLDER, read_json_lines

here = FOLDER / "families"
LIMIT = 1e-9


def read_tensors(path):
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = (start + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], "<f4").astype(np.float64).reshape(entry["shape"])
    return tensors


erf = np.vectorize(math.erf, otypes=[np.float64])


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


ACTIVATIONS = {"gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "relu": lambda x: np.maximum(x, 0),
               "silu": silu, "swish": silu, "tanh": np.tanh}


def layer_norm(x, weight, bias, epsilon):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias


def rms_norm(x, weight, epsilon):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * weight


def split(x, heads):
    """[T, heads * d] as [heads, T, d]."""
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def attend(q, k, v, allowed=None, scale=None, bias=0.0):
    """[heads, T, d] three times, [T, S] booleans, [heads, T, S] added to the scaled products: [T, heads * d]."""
    logits = q @ k.transpose(0, 2, 1) * (q.shape[-1] ** -0.5 if scale is None else scale) + bias
    if allowed is not None:
        logits = np.where(allowed, logits, -np.inf)
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    context = (shares / shares.sum(-1, keepdims=True)) @ v
    return context.transpose(1, 0, 2).reshape(context.shape[1], -1)


class Weights:
    def __init__(self, tensors):
        self.tensors = tensors

    def __getitem__(self, name):
        return self.tensors[name]

    def linear(self, x, name):
        y = x @ self.tensors[name + ".weight"].T
        return y + self.tensors[name + ".bias"] if name + ".bias" in self.tensors else y

    def norm(self, x, name, epsilon):
        return layer_norm(x, self.tensors[name + ".weight"], self.tensors.get(name + ".bias", 0.0), epsilon)


def input_of(case):
    return case["cls_ids"] + case["query_ids"] + case["doc_ids"]


def groups_of(case):
    """Each row's group: 0 [CLS], 1 query, 2 document, 3 sentence token."""
    groups = [0] * len(case["cls_ids"]) + [1] * len(case["query_ids"])
    sentence = (case["pattern"] or {}).get("sentence_id")
    return np.array(groups + [3 if token == sentence else 2 for token in case["doc_ids"]])


def allowed_by(case):
    """[T, T]: whether row i attends to row j by the pattern of the case."""
    group = groups_of(case)
    if case["pattern"] is None:
        return np.ones((len(group), len(group)), bool)
    part = np.minimum(group, 2)  # a sentence token is a document token without a window
    allowed = np.equal.outer(part, part)
    names = ["cls", "query", "doc"]
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            if i != j:
                allowed |= np.logical_and.outer(part == i, part == j) & case["pattern"][f"{row}_{column}_attention"]
    if case["pattern"]["attention_window_size"] is not None:
        allowed &= ~(np.logical_and.outer(group == 2, group == 2) & (distance(len(group))
                                                                     > case["pattern"]["attention_window_size"]))
    return allowed


def distance(length):
    return np.abs(np.subtract.outer(np.arange(length), np.arange(length)))


def bert_block(w, name, x, heads, epsilon, activation, context):
    x = w.norm(x + w.linear(context, name + "attention.output.dense"), name + "attention.output.LayerNorm", epsilon)
    inner = ACTIVATIONS[activation](w.linear(x, name + "intermediate.dense"))
    return w.norm(x + w.linear(inner, name + "output.dense"), name + "output.LayerNorm", epsilon)


def bert_states(case, config, w, base, positions, types):
    """The embeddings, and the states after every block, of BERT, ELECTRA, RoBERTa and XLM-RoBERTa."""
    epsilon, heads = config.get("layer_norm_eps", 1e-12), config["num_attention_heads"]
    name = base + ".embeddings."
    x = w[name + "word_embeddings.weight"][input_of(case)] + w[name + "token_type_embeddings.weight"][types]
    x = w.norm(x + w[name + "position_embeddings.weight"][positions], name + "LayerNorm", epsilon)
    if base + ".embeddings_project.weight" in w.tensors:
        x = w.linear(x, base + ".embeddings_project")
    allowed, states = allowed_by(case), [x]
    for layer in range(config["num_hidden_layers"]):
        name = f"{base}.encoder.layer.{layer}."
        q, k, v = (split(w.linear(x, f"{name}attention.self.{part}"), heads) for part in ("query", "key", "value"))
        x = bert_block(w, name, x, heads, epsilon, config.get("hidden_act", "gelu"), attend(q, k, v, allowed))
        states.append(x)
    return states


def encoder_answer(states, logit):
    return {"logit": logit, "hidden": np.array([state[0] for state in states]), "last": states[-1]}


def segment_types(case, config):
    document = 1 if config.get("type_vocab_size", 2) > 1 else 0
    return [0] * (len(case["cls_ids"]) + len(case["query_ids"])) + [document] * len(case["doc_ids"])


def bert(case, config, w):
    length = len(input_of(case))
    states = bert_states(case, config, w, "bert", range(length), segment_types(case, config))
    pooled = np.tanh(w.linear(states[-1][:1], "bert.pooler.dense"))
    return encoder_answer(states, w.linear(pooled, "classifier")[0, 0])


def electra(case, config, w):
    length = len(input_of(case))
    states = bert_states(case, config, w, "electra", range(length), segment_types(case, config))
    inner = gelu(w.linear(states[-1][:1], "classifier.dense"))  # whatever hidden_act is
    return encoder_answer(states, w.linear(inner, "classifier.out_proj")[0, 0])


def roberta(case, config, w):
    first = config.get("pad_token_id", 1) + 1
    length = len(input_of(case))
    states = bert_states(case, config, w, "roberta", range(first, first + length), [0] * length)
    inner = np.tanh(w.linear(states[-1][:1], "classifier.dense"))
    return encoder_answer(states, w.linear(inner, "classifier.out_proj")[0, 0])


def longformer(case, config, w):
    epsilon, heads = config.get("layer_norm_eps", 1e-12), config["num_attention_heads"]
    ids = input_of(case)
    first = config.get("pad_token_id", 1) + 1
    name = "longformer.embeddings."
    x = w[name + "word_embeddings.weight"][ids] + w[name + "token_type_embeddings.weight"][0]
    x = w.norm(x + w[name + "position_embeddings.weight"][first:first + len(ids)], name + "LayerNorm", epsilon)
    is_global = groups_of(case) <= (1 if case["global"] == "cls+query" else 0)
    windows, states = config["attention_window"], [x]
    for layer in range(config["num_hidden_layers"]):
        name = f"longformer.encoder.layer.{layer}."
        window = windows if isinstance(windows, int) else windows[layer]
        near = (distance(len(ids)) <= window // 2) | is_global[None, :]
        q, k, v, global_q, global_k, global_v = (
            split(w.linear(x, f"{name}attention.self.{part}"), heads)
            for part in ("query", "key", "value", "query_global", "key_global", "value_global"))
        context = np.where(is_global[:, None], attend(global_q, global_k, global_v), attend(q, k, v, near))
        x = bert_block(w, name, x, heads, epsilon, config.get("hidden_act", "gelu"), context)
        states.append(x)
    inner = np.tanh(w.linear(states[-1][:1], "classifier.dense"))
    return encoder_answer(states, w.linear(inner, "classifier.out_proj")[0, 0])


def rotate(x, theta):
    """Rotary positions of [heads, T, d]: element i is paired with i + d / 2."""
    half = x.shape[-1] // 2
    angles = np.outer(np.arange(x.shape[1]), theta ** -(np.arange(half) / half))
    left, right = x[..., :half], x[..., half:]
    return np.concatenate([left * np.cos(angles) - right * np.sin(angles),
                           right * np.cos(angles) + left * np.sin(angles)], -1)


def modernbert(case, config, w):
    ids, heads = input_of(case), config["num_attention_heads"]
    epsilon = config.get("norm_eps", 1e-5)
    every = config.get("global_attn_every_n_layers", 3)
    types = config.get("layer_types") or [
        "sliding_attention" if layer % every else "full_attention" for layer in range(config["num_hidden_layers"])]
    theta = {"full_attention": config.get("global_rope_theta", 160000.0),
             "sliding_attention": config.get("local_rope_theta", 10000.0)}
    for kind, parameters in config.get("rope_parameters", {}).items():
        theta[kind] = parameters["rope_theta"]
    pattern = allowed_by(case)
    near = distance(len(ids)) <= config.get("local_attention", 128) // 2
    keeps_windows = case["pattern"] is None or case["pattern"]["family_window"]
    activation = ACTIVATIONS[config.get("hidden_activation", "gelu")]

    x = w.norm(w["model.embeddings.tok_embeddings.weight"][ids], "model.embeddings.norm", epsilon)
    states = [x]
    for layer, kind in enumerate(types):
        name = f"model.layers.{layer}."
        normed = x if layer == 0 else w.norm(x, name + "attn_norm", epsilon)
        q, k, v = (split(part, heads) for part in np.split(w.linear(normed, name + "attn.Wqkv"), 3, axis=-1))
        allowed = pattern & near if kind == "sliding_attention" and keeps_windows else pattern
        x = x + w.linear(attend(rotate(q, theta[kind]), rotate(k, theta[kind]), v, allowed), name + "attn.Wo")
        inner, gate = np.split(w.linear(w.norm(x, name + "mlp_norm", epsilon), name + "mlp.Wi"), 2, axis=-1)
        x = x + w.linear(activation(inner) * gate, name + "mlp.Wo")
        states.append(x)
    states.append(w.norm(x, "model.final_norm", epsilon))
    pooled = states[-1][0] if config.get("classifier_pooling", "cls") == "cls" else states[-1].mean(0)
    head = ACTIVATIONS[config.get("classifier_activation", "gelu")](w.linear(pooled, "head.dense"))
    logit = w.linear(w.norm(head, "head.norm", epsilon), "classifier")[0]
    return encoder_answer(states, logit) | {"pooled": pooled}


def bucket_of(relative, buckets, max_distance):
    """T5's bucket in the encoder: column minus row. The logarithm is a float32 one, as the class computes it."""
    half = buckets // 2
    exact = half // 2
    far = np.maximum(np.abs(relative), 1).astype(np.float32)
    step = np.log(far / np.float32(exact)) / np.float32(math.log(max_distance / exact)) * np.float32(half - exact)
    large = np.minimum(exact + step.astype(np.int64), half - 1)
    return np.where(relative > 0, half, 0) + np.where(np.abs(relative) < exact, np.abs(relative), large)


def t5(case, config, w):
    heads, epsilon = config["num_heads"], config.get("layer_norm_epsilon", 1e-6)
    kind = config.get("feed_forward_proj", "relu")
    gated = kind.startswith("gated-")
    activation = ACTIVATIONS["gelu_new" if kind == "gated-gelu" else kind.removeprefix("gated-")]
    embedding = w["shared.weight"]

    def attention(x, source, name, bias=0.0):
        q = split(w.linear(x, name + "q"), heads)
        k, v = (split(w.linear(source, name + part), heads) for part in "kv")
        return w.linear(attend(q, k, v, scale=1.0, bias=bias), name + "o")

    def norm(x, name):
        return rms_norm(x, w[name + ".weight"], epsilon)

    def feed_forward(x, name):
        normed = norm(x, name + "layer_norm")
        if gated:
            inner = activation(w.linear(normed, name + "DenseReluDense.wi_0")) * w.linear(normed,
                                                                                          name + "DenseReluDense.wi_1")
        else:
            inner = activation(w.linear(normed, name + "DenseReluDense.wi"))
        return x + w.linear(inner, name + "DenseReluDense.wo")

    x = embedding[input_of(case)]
    places = np.arange(len(x))
    buckets = bucket_of(places[None, :] - places[:, None], config.get("relative_attention_num_buckets", 32),
                        config.get("relative_attention_max_distance", 128))
    name = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    bias = w["encoder." + name][buckets].transpose(2, 0, 1)
    states = [x]
    for layer in range(config["num_layers"]):
        name = f"encoder.block.{layer}.layer."
        normed = norm(x, name + "0.layer_norm")
        x = x + attention(normed, normed, name + "0.SelfAttention.", bias)
        x = feed_forward(x, name + "1.")
        states.append(x)
    encoded = norm(x, "encoder.final_layer_norm")
    states.append(encoded)

    y = embedding[[config.get("decoder_start_token_id", 0)]]
    steps = [y]
    for layer in range(config.get("num_decoder_layers") or config["num_layers"]):
        name = f"decoder.block.{layer}.layer."
        normed = norm(y, name + "0.layer_norm")
        y = y + attention(normed, normed, name + "0.SelfAttention.")  # of one row: its bias cancels
        y = y + attention(norm(y, name + "1.layer_norm"), encoded, name + "1.EncDecAttention.")
        y = feed_forward(y, name + "2.")
        steps.append(y)
    steps.append(norm(y, "decoder.final_layer_norm"))
    output = steps[-1][0]
    if config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True)):
        output = output * config["d_model"] ** -0.5
    head = w.tensors.get("lm_head.weight", embedding)
    false_logit, true_logit = head[[case["false_id"], case["true_id"]]] @ output
    return encoder_answer(states, -np.logaddexp(0.0, false_logit - true_logit)) | {
        "decoder_hidden": np.array([step[0] for step in steps]), "logits": np.array([false_logit, true_logit])}


FAMILIES = {"bert": bert, "electra": electra, "roberta": roberta, "xlm-roberta": roberta, "longformer": longformer,
            "modernbert": modernbert, "t5": t5}


def differences(case, answer):
    """The largest difference of every stored answer of the case."""
    for name in ("logit", "hidden", "pooled", "decoder_hidden", "logits"):
        if name in case:
            yield name, float(np.abs(np.subtract(case[name], answer[name])).max())
    if "last" in case:
        rows = answer["last"][case["last"]["rows"]]
        yield "last", float(np.abs(np.subtract(case["last"]["values"], rows)).max())


def main():
    names = sys.argv[1:] or sorted(path.parent.name for path in here.glob("*/cases.jsonl.gz"))
    wrong = 0
    print("| model | cases | logits | hidden states |\n|---|---|---|---|")
    for name in names:
        config = json.loads((here / name / "config.json").read_text())
        weights = Weights(read_tensors(here / name / "model.safetensors"))
        cases = read_json_lines(here / name / "cases.jsonl.gz")
        logit = hidden = 0.0
        for case in cases:
            for kind, off in differences(case, FAMILIES[config["model_type"]](case, config, weights)):
                if not off <= LIMIT:
                    wrong += 1
                    print(f"{name} {case['id']} {kind}: off by {off}", file=sys.stderr)
                if kind == "logit":
                    logit = max(logit, off)
                else:
                    hidden = max(hidden, off)
        print(f"| {name} | {len(cases)} | {logit:.1e} | {hidden:.1e} |", flush=True)
    for row in json.loads((here / "t5_buckets.json").read_text()):
        relative = np.arange(-row["reach"], row["reach"] + 1)
        if bucket_of(relative, row["num_buckets"], row["max_distance"]).tolist() != row["encoder"]:
            print(f"T5 buckets differ: {row['num_buckets']}, {row['max_distance']}", file=sys.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
