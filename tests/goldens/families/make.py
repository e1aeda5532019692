#!/usr/bin/env python3
"""Makes the models, inputs and answers of this folder, or with --check computes the answers of the stored ones again.

    python3 tests/goldens/families/make.py [--check [--float32]] [MODEL...]

With --float32 the classes compute as they are, and only the differences are printed.

Needs torch, transformers, safetensors and numpy (pip install -r tests/goldens/families/requirements.txt).
Weights and inputs come from numpy's generator, seeded by the model's name; the answers from Hugging Face's classes.
"""
import json
import math
import os
import shutil
import sys
import zlib
from contextlib import contextmanager, nullcontext
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parent.parent))
import goldens
from goldens import CHECK, FOLDER, finish, read_json_lines, write_json_lines

here = FOLDER / "families"
PLAIN = "--float32" in sys.argv[1:]
TOLERANCE = math.inf if PLAIN else 1e-9
LONGEST_QUERY, LONGEST_DOCUMENT = 12, 250
FIRST_WORD = 10  # smaller ids are special
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "vocab_size": 100, "max_position_embeddings": 265, "type_vocab_size": 2, "pad_token_id": 0}
# <s> q </s></s> d </s>, and position 0 .. pad_token_id without use
ROBERTA = BERT | {"max_position_embeddings": 268, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0,
                  "eos_token_id": 2, "layer_norm_eps": 1e-5}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2, "vocab_size": 100, "pad_token_id": 0,
      "eos_token_id": 1, "decoder_start_token_id": 0, "is_encoder_decoder": True}
MODERNBERT = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48,
              "vocab_size": 100, "max_position_embeddings": 512, "local_attention": 16, "pad_token_id": 0,
              "cls_token_id": 1, "bos_token_id": 1, "sep_token_id": 2, "eos_token_id": 2}
MODELS = {
    "bert": ("BertForSequenceClassification", BERT),  # hidden_act and layer_norm_eps by default
    "bert-gelu-new": ("BertForSequenceClassification", BERT | {
        "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 40,
        "hidden_act": "gelu_new", "layer_norm_eps": 0.01, "type_vocab_size": 1}),
    "bert-relu": ("BertForSequenceClassification", BERT | {
        "hidden_size": 48, "num_hidden_layers": 1, "num_attention_heads": 3, "hidden_act": "relu",
        "layer_norm_eps": 1e-5, "type_vocab_size": 3}),
    "bert-silu": ("BertForSequenceClassification", BERT | {
        "num_attention_heads": 1, "hidden_act": "silu", "layer_norm_eps": 0.001, "max_position_embeddings": 300}),
    "electra": ("ElectraForSequenceClassification", BERT | {
        "embedding_size": 24, "hidden_act": "gelu", "layer_norm_eps": 1e-12}),
    "electra-equal": ("ElectraForSequenceClassification", BERT | {
        "embedding_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "hidden_act": "relu",
        "layer_norm_eps": 0.01, "type_vocab_size": 1}),
    "electra-wide": ("ElectraForSequenceClassification", BERT | {
        "embedding_size": 40, "hidden_act": "gelu_new", "layer_norm_eps": 0.001}),
    "roberta": ("RobertaForSequenceClassification", ROBERTA | {"hidden_act": "gelu"}),
    "roberta-pad3": ("RobertaForSequenceClassification", ROBERTA | {
        "pad_token_id": 3, "max_position_embeddings": 270, "num_attention_heads": 2, "hidden_act": "gelu_new",
        "layer_norm_eps": 0.01, "type_vocab_size": 2}),
    "xlm-roberta": ("XLMRobertaForSequenceClassification", ROBERTA | {"num_hidden_layers": 3}),
    "xlm-roberta-silu": ("XLMRobertaForSequenceClassification", ROBERTA | {
        "hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 96, "hidden_act": "silu",
        "layer_norm_eps": 1e-12}),
    "longformer": ("LongformerForSequenceClassification", ROBERTA | {
        "num_hidden_layers": 3, "attention_window": [8, 16, 4], "max_position_embeddings": 300, "sep_token_id": 2}),
    "t5": ("T5ForConditionalGeneration", T5),  # relu, tied, 32 buckets up to 128 by default
    "t5-odd": ("T5ForConditionalGeneration", T5 | {
        "d_kv": 16, "num_heads": 3, "num_layers": 3, "num_decoder_layers": 1, "layer_norm_epsilon": 0.01,
        "relative_attention_num_buckets": 12, "relative_attention_max_distance": 20, "decoder_start_token_id": 2,
        "tie_word_embeddings": True}),
    "t5-v1.1": ("T5ForConditionalGeneration", T5 | {
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 3,
        "relative_attention_num_buckets": 16, "relative_attention_max_distance": 64}),
    "t5-gated-silu": ("T5ForConditionalGeneration", T5 | {
        "feed_forward_proj": "gated-silu", "tie_word_embeddings": True, "scale_decoder_outputs": False,  # as 5.x writes
        "num_heads": 2, "d_kv": 16, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 200}),
    "modernbert": ("ModernBertForSequenceClassification", MODERNBERT),  # thetas, activations and layers by default
    "modernbert-mean": ("ModernBertForSequenceClassification", MODERNBERT | {
        "num_hidden_layers": 3, "num_attention_heads": 2, "global_attn_every_n_layers": 2, "local_attention": 9,
        "global_rope_theta": 500.0, "local_rope_theta": 20.0, "norm_eps": 0.01, "classifier_pooling": "mean",
        "classifier_activation": "silu", "hidden_activation": "relu", "attention_bias": True, "mlp_bias": True,
        "norm_bias": True, "classifier_bias": True}),
    "modernbert-layer-types": ("ModernBertForSequenceClassification", MODERNBERT | {
        "hidden_size": 48, "num_attention_heads": 3, "num_hidden_layers": 3, "local_attention": 32,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"], "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 3000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0}},
        "hidden_activation": "gelu_pytorch_tanh", "attention_bias": True, "classifier_activation": "relu"}),
}

PATTERN = {name: True for name in ("cls_query_attention", "cls_doc_attention", "query_cls_attention",
                                   "query_doc_attention", "doc_cls_attention", "doc_query_attention")}
PAPER = PATTERN | {"query_cls_attention": False, "query_doc_attention": False}
PATTERNS = [PAPER | {"attention_window_size": window} for window in (4, 0, 1, 16, 64, None)] + [
    PATTERN | {"attention_window_size": window} for window in (4, 0, 30)] + [
    PATTERN | {"attention_window_size": 2, "doc_cls_attention": False},
    PATTERN | {"attention_window_size": 3, "cls_doc_attention": False, "doc_query_attention": False},
    PATTERN | {"attention_window_size": 7, "cls_query_attention": False, "query_doc_attention": False}]
SENTENCE = 5  # QDS's sentence token


@contextmanager
def float64():
    """The classes cast to float32 here and there (T5's norms, ModernBERT's rotary positions and softmax); here these
    casts keep float64. Only T5's buckets stay as they are: which bucket a distance falls into depends on rounding."""
    kept = torch.float, torch.float32, torch.Tensor.float
    bucket = transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket

    def float32_bucket(*arguments, **options):
        torch.Tensor.float = kept[2]
        try:
            return bucket(*arguments, **options)
        finally:
            torch.Tensor.float = torch.Tensor.double

    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket = staticmethod(float32_bucket)
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = kept
        transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket = staticmethod(bucket)


def random_weights(name, config, shapes):
    random = np.random.default_rng(zlib.crc32(name.encode()))
    weights = {}
    for key, shape in sorted(shapes.items()):
        values = random.standard_normal(shape)
        if "embedding" in key.split(".")[-2] or "shared" in key or "relative_attention_bias" in key:
            pass
        elif len(shape) == 1:
            values = values * 0.2 + (0 if key.endswith("bias") else 1)
        else:
            values *= 1.2 * shape[1] ** -0.5
            if key.endswith("SelfAttention.q.weight") or key.endswith("EncDecAttention.q.weight"):
                values *= config["d_kv"] ** -0.5
        weights[key] = values.astype(np.float32)
    return weights


def make_model(name, architecture, config):
    folder = here / name
    folder.mkdir()
    model_type = getattr(transformers, architecture).config_class.model_type
    config = {"architectures": [architecture], "model_type": model_type} | config
    if model_type != "t5":
        config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}  # num_labels 1
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    cls = getattr(transformers, architecture)
    state = cls(cls.config_class.from_pretrained(folder)).state_dict()
    aliases = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    if config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True)):
        aliases.add("lm_head.weight")
    weights = random_weights(name, config, {key: tuple(value.shape) for key, value in state.items()
                                            if key not in aliases})
    if name == "t5-odd":  # older files repeat the shared table
        weights |= {alias: weights["shared.weight"].copy() for alias in aliases}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)


def make_cases(name, config):
    random = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    family = config["model_type"]

    def words(count):
        return random.integers(FIRST_WORD, config["vocab_size"], count).tolist()

    def pair(number, document=None):
        # The first ones are the longest and the shortest; the others' lengths spread over the orders of magnitude.
        lengths = [(LONGEST_QUERY, LONGEST_DOCUMENT), (2, 2), (2, LONGEST_DOCUMENT), (LONGEST_QUERY, 2)]
        query = int(random.integers(2, LONGEST_QUERY + 1))
        document = document or round(2 * (LONGEST_DOCUMENT / 2) ** random.random())
        query, document = lengths[number] if number < len(lengths) else (query, document)
        query, document = words(query), words(document)
        if family == "t5":  # "Query: q Document: d Relevant:</s>"
            return {"cls_ids": [], "query_ids": [3, 4] + query, "doc_ids": [5, 4] + document + [6, 4, 1]}
        if family in ("roberta", "xlm-roberta", "longformer"):
            return {"cls_ids": [0], "query_ids": query + [2, 2], "doc_ids": document + [2]}
        return {"cls_ids": [1], "query_ids": query + [2], "doc_ids": document + [2]}

    cases = []

    def add(group, ids, pattern=None, **more):
        cases.append({"id": f"{len(cases)}-{group}"} | ids | {"pattern": pattern} | more)

    for number in range(64):
        more = {"false_id": 7, "true_id": 8 + number % 3 * 20} if family == "t5" else {}
        if family == "longformer":
            more = {"global": "cls+query" if number % 2 else "cls"}
        add("dense", pair(number), None, **more)
    if name in ("bert", "electra", "electra-wide", "roberta", "xlm-roberta", "modernbert", "modernbert-mean"):
        for number in range(60):
            pattern = PATTERNS[number % len(PATTERNS)]
            if family == "modernbert":
                pattern = pattern | {"family_window": number // len(PATTERNS) % 2 == 0}
            add("pattern", pair(number + 4, document=int(random.integers(20, 120))), pattern)
    if name == "bert":
        for number in range(40):
            ids = pair(number + 4, document=int(random.integers(30, 200)))
            for start in range(0, len(ids["doc_ids"]) - 1, int(random.integers(5, 31))):
                ids["doc_ids"][start] = SENTENCE
            pattern = (PATTERN, PAPER)[number % 2] | {"attention_window_size": (0, 1, 4, 16, 64)[number % 5]}
            add("qds", ids, pattern | {"sentence_id": SENTENCE})
    for case in cases[:1] + cases[4:64:30] + cases[64::25]:
        length = sum(len(case[part]) for part in ("cls_ids", "query_ids", "doc_ids"))
        case["last"] = {"rows": [1, length // 2, length - 1]}
    return cases


def allowed_by(case):
    """[T, T]: whether row i attends to column j, one pair of groups after the other."""
    document = case["doc_ids"]
    sentence = case["pattern"].get("sentence_id")
    kinds = ["cls"] * len(case["cls_ids"]) + ["query"] * len(case["query_ids"]) + [
        "sentence" if token == sentence else "doc" for token in document]
    window = case["pattern"]["attention_window_size"]

    def attends(i, j):
        row, column = kinds[i].replace("sentence", "doc"), kinds[j].replace("sentence", "doc")
        if row != column:
            return case["pattern"][f"{row}_{column}_attention"]
        return kinds[i] != "doc" or kinds[j] != "doc" or window is None or abs(i - j) <= window

    return torch.tensor([[attends(i, j) for j in range(len(kinds))] for i in range(len(kinds))])


class Answers:
    """One model in float64, with its states read by hooks."""

    def __init__(self, name, config):
        cls = getattr(transformers, config["architectures"][0])
        self.model, info = cls.from_pretrained(here / name, attn_implementation="eager", dtype=torch.float32,
                                               output_loading_info=True)
        if any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")):
            raise ValueError(f"{name}: {info}")
        self.config, self.family, self.states = config, config["model_type"], {}
        self.model.eval()
        if not PLAIN:
            self.model.double()
        if self.family == "modernbert" and not PLAIN:  # the frequencies too, made in float32 when it was loaded
            rotary = self.model.model.rotary_emb
            with float64():
                for kind in rotary.layer_types:
                    frequencies, _ = rotary.compute_default_rope_parameters(rotary.config, layer_type=kind)
                    setattr(rotary, f"{kind}_inv_freq", frequencies)
        if self.family == "t5":
            for part in ("encoder", "decoder"):
                stack = getattr(self.model, part)
                self.watch(part, [*stack.block, stack.final_layer_norm], stack.block[0])
        elif self.family == "modernbert":
            base = self.model.model
            self.watch("encoder", [*base.layers, base.final_norm], base.layers[0])
            self.model.head.register_forward_pre_hook(
                lambda module, inputs: self.states.__setitem__("pooled", inputs[0][0].numpy()))
        else:
            base = self.model.base_model
            self.watch("encoder", base.encoder.layer, base.encoder.layer[0])

    def watch(self, part, modules, first):
        """Keeps the input of the first block and the outputs of all modules."""
        def keep(state):
            self.states.setdefault(part, []).append((state[0] if isinstance(state, tuple) else state)[0].numpy())

        first.register_forward_pre_hook(lambda module, inputs: keep(inputs[0]))
        for module in modules:
            module.register_forward_hook(lambda module, inputs, output: keep(output))

    def options(self, case):
        """The masks and token types of the case."""
        length = sum(len(case[part]) for part in ("cls_ids", "query_ids", "doc_ids"))
        document = len(case["doc_ids"])
        options = {}
        if self.family in ("bert", "electra") and self.config["type_vocab_size"] > 1:
            options["token_type_ids"] = torch.tensor([[0] * (length - document) + [1] * document])
        if self.family == "longformer":
            ones = 1 + (len(case["query_ids"]) if case["global"] == "cls+query" else 0)
            options["global_attention_mask"] = torch.tensor([[1] * ones + [0] * (length - ones)])
        if self.family == "t5":
            options["decoder_input_ids"] = torch.tensor([[self.model.config.decoder_start_token_id]])
        if case["pattern"] is not None:
            allowed = allowed_by(case)
            mask = additive(allowed)
            options["attention_mask"] = mask
            if self.family == "modernbert":
                place = torch.arange(length)
                near = (place[:, None] - place[None, :]).abs() <= self.model.config.sliding_window
                local = additive(allowed & near) if case["pattern"]["family_window"] else mask
                options["attention_mask"] = {"full_attention": mask, "sliding_attention": local}
        return options

    def __call__(self, case):
        self.states.clear()
        ids = torch.tensor([case["cls_ids"] + case["query_ids"] + case["doc_ids"]])
        options = self.options(case)
        masks = options.pop("attention_mask", None)
        if self.family == "modernbert" and masks is not None:
            # Only the encoder understands two masks; with "mean" the class would also pool by them.
            hook = self.model.model.register_forward_pre_hook(
                lambda module, inputs, given: (inputs, given | {"attention_mask": masks}), with_kwargs=True)
            logits = self.model(ids, **options).logits
            hook.remove()
        else:
            logits = self.model(ids, attention_mask=masks, **options).logits
        answer = {}
        if self.family == "t5":
            pair = logits[0, -1, [case["false_id"], case["true_id"]]]
            answer["logit"] = float(torch.log_softmax(pair, 0)[1])
            answer["logits"] = pair.tolist()
            answer["decoder_hidden"] = [state[0] for state in self.states["decoder"]]
        else:
            answer["logit"] = float(logits[0, 0])
        if "pooled" in self.states:
            answer["pooled"] = self.states["pooled"]
        states = self.states["encoder"]
        answer["hidden"] = [state[0] for state in states]
        if "last" in case:
            answer["last"] = states[-1][case["last"]["rows"]]
        return answer


def additive(allowed):
    return torch.where(allowed, 0.0, -math.inf).to(torch.float32 if PLAIN else torch.float64)[None, None]


def digits(values):
    """Twelve digits of arrays."""
    if isinstance(values, (list, np.ndarray)):
        return [digits(value) for value in values]
    return float(f"{float(values):.12g}")


def answer_all(name):
    config = json.loads((here / name / "config.json").read_text())
    path = here / name / "cases.jsonl.gz"
    cases = read_json_lines(path) if CHECK else make_cases(name, config)
    with torch.no_grad():
        answers = Answers(name, config)
        worst = 0.0
        for row, case in enumerate(cases, 1):
            with nullcontext() if PLAIN else float64():
                answer = answers(case)
            if not CHECK:
                case["logit"] = answer["logit"]
                if "logits" in answer:
                    case["logits"] = answer["logits"]
                if "last" in case:
                    case["last"]["values"] = digits(answer.pop("last"))
                    case |= {key: digits(value) for key, value in answer.items() if key not in ("logit", "logits")}
                continue
            for key, value in answer.items():
                if key in case:
                    stored = case[key]["values"] if key == "last" else case[key]
                    off = float(np.abs(np.subtract(stored, value)).max())
                    worst = max(worst, off)
                    if not off <= TOLERANCE:
                        goldens.differ(path, row, f"{case['id']} {key}", f"off by {off}")
    if CHECK:
        print(f"{name}: {len(cases)} cases, largest difference {worst:.1e}", flush=True)
    else:
        write_json_lines(path, cases, separators=(",", ":"))


def make_buckets():
    """The buckets of column minus row = -reach .. reach, by the class."""
    bucket = transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket
    rows = []
    for buckets, distance in ((32, 128), (12, 20), (16, 64), (8, 200), (32, 100), (64, 256), (20, 81), (4, 8)):
        relative = torch.arange(-300, 301)
        rows.append({"num_buckets": buckets, "max_distance": distance, "reach": 300,
                     "encoder": bucket(relative, True, buckets, distance).tolist()})
    text = "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
    path = here / "t5_buckets.json"
    if not CHECK:
        path.write_text(text)
    elif path.read_text() != text:
        goldens.differ(path, 0, "the stored buckets", "others")


names = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
for name in names or (sorted(path.parent.name for path in here.glob("*/cases.jsonl.gz")) if CHECK else MODELS):
    if not CHECK:
        shutil.rmtree(here / name, ignore_errors=True)
        make_model(name, *MODELS[name])
    answer_all(name)
make_buckets()
finish()
