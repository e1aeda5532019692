"""How far transformers' own decoders and encoders of late interaction are from the golden scores if they compute in 16
or 8 bits: what model_rerankers_golden and model_late_interaction_golden allow ours, since decoders' scores are
differences of logits up to 20, and those of late interaction sums of 32 cosines.

bf16: the model as it is in torch.bfloat16. int16, int8: every linear layer multiplies weights, rounded to whole numbers up
to 2,047 or 127 (a scale per output), by inputs rounded likewise (a scale per token). Usage: naive_precision.py GOLDENS, with torch 2.13.0 and transformers 5.23.0.
"""

import gzip
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, BertModel,
                          ModernBertModel)

WORDS = {"qwen3-reranker": ("yes", "no"), "qwen3-reranker-seq-cls": None, "mxbai-rerank-v2": ("1", "0")}


MOST = {"int16": 2047, "int8": 127}


def rounded(x: torch.Tensor, most: int) -> torch.Tensor:
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-30) / most
    return (x / scale).round() * scale


class RoundedLinear(torch.nn.Module):
    def __init__(self, linear: torch.nn.Linear, most: int) -> None:
        super().__init__()
        self.weight, self.bias, self.most = rounded(linear.weight.data, most), linear.bias, most

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(rounded(x, self.most), self.weight, self.bias)


def round_layers(module: torch.nn.Module, most: int) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, torch.nn.Linear) and name not in ("lm_head", "score"):
            setattr(module, name, RoundedLinear(child, most))
        else:
            round_layers(child, most)


LATE = ("colbert-lightning", "colbert-stanford", "colbert-pylate", "colbert-pylate-hidden")


def encoder_of(folder: Path) -> tuple[torch.nn.Module, torch.Tensor]:
    """The encoder in fp32, and its projection."""
    tensors = load_file(folder / "model.safetensors")
    modern = (folder / "modules.json").exists()
    settings = json.loads((folder / "config.json").read_text())
    if not modern:
        settings["model_type"] = "bert"
        tensors = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    config = AutoConfig.for_model(**settings)
    model = ModernBertModel(config) if modern else BertModel(config, add_pooling_layer=False)
    model.load_state_dict(tensors, strict=False)
    if modern:
        return model.eval(), load_file(folder / "1_Dense" / "model.safetensors")["linear.weight"]
    return model.eval(), tensors.get("projection.weight", tensors.get("linear.weight"))


def vectors_of(model: torch.nn.Module, projection: torch.Tensor, ids: list[int], scored: str, seen: int) -> torch.Tensor:
    mask = torch.tensor([[1] * seen + [0] * (len(ids) - seen)])
    states = model(torch.tensor([ids]), attention_mask=mask).last_hidden_state[0]
    if projection.dtype == torch.float32 and isinstance(model, RoundedModel):
        states, projection = rounded(states, model.most), rounded(projection, model.most)
    vectors = torch.nn.functional.normalize((states @ projection.T).float(), dim=-1)
    return vectors[[flag == "1" for flag in scored]]


class RoundedModel(torch.nn.Module):
    def __init__(self, model: torch.nn.Module, most: int) -> None:
        super().__init__()
        round_layers(model, most)
        self.model, self.most = model, most

    def forward(self, *arguments, **named):
        return self.model(*arguments, **named)


def late_interaction(goldens: Path) -> None:
    for name in LATE:
        rows = (line.split() for line in (goldens / f"{name}.expected.tsv").read_text().splitlines())
        wanted = {(query, document): float(score) for query, document, score in rows}
        with gzip.open(goldens / f"{name}.ids.jsonl.gz", "rt") as lines:
            inputs = [json.loads(line) for line in lines]
        mask_id = AutoTokenizer.from_pretrained(goldens / name).mask_token_id
        for precision in ("fp32", "bf16", *MOST):
            model, projection = encoder_of(goldens / name)
            if precision == "bf16":
                model, projection = model.bfloat16(), projection.bfloat16()
            if precision in MOST:
                model = RoundedModel(model, MOST[precision])
            worst = 0.0
            with torch.no_grad():
                for each in inputs:
                    query, document = each["query_ids"], each["document_ids"]
                    seen = len(query) if name == "colbert-pylate" else sum(one != mask_id for one in query)
                    of_query = vectors_of(model, projection, query, each["query_scored"], seen)
                    of_document = vectors_of(model, projection, document, each["document_scored"], len(document))
                    score = (of_query @ of_document.T).amax(1).sum()
                    worst = max(worst, abs(float(score) - wanted[each["qid"], each["docno"]]))
            print(f"{name}\t{precision}\t{worst:.4f}")


def main() -> None:
    goldens = Path(sys.argv[1])
    late_interaction(goldens)
    for name, words in WORDS.items():
        rows = (line.split() for line in (goldens / f"{name}.expected.tsv").read_text().splitlines())
        wanted = {(query, document): float(logit) for query, document, logit in rows}
        with gzip.open(goldens / f"{name}.ids.jsonl.gz", "rt") as lines:
            inputs = [json.loads(line) for line in lines]
        kind = AutoModelForCausalLM if words else AutoModelForSequenceClassification
        for precision in ("fp32", "bf16", *MOST):
            model = kind.from_pretrained(goldens / name, dtype=torch.float32).eval()
            if precision == "bf16":
                model = model.bfloat16()
            if precision in MOST:
                round_layers(model, MOST[precision])
            row = None
            if words:
                first, second = AutoTokenizer.from_pretrained(goldens / name).convert_tokens_to_ids(list(words))
                output = model.lm_head.weight.float()
                row = output[first] - output[second]
            worst = 0.0
            with torch.no_grad():
                for each in inputs:
                    ids = torch.tensor([each["ids"]])
                    if row is None:
                        logit = model(ids).logits[0, 0]
                    else:
                        logit = model.model(ids).last_hidden_state[0, -1].float() @ row
                    worst = max(worst, abs(float(logit) - wanted[each["qid"], each["docno"]]))
            print(f"{name}\t{precision}\t{worst:.4f}")


main()
