"""How far transformers' own decoders are from the golden logits if they compute in 16 or 8 bits: what
model_rerankers_golden allows ours, since their scores are differences of logits up to 20.

bf16: the model as it is in torch.bfloat16. int8: every linear layer multiplies rounded weights (a scale per output) by
rounded inputs (a scale per token). Usage: naive_precision.py GOLDENS, with torch 2.13.0 and transformers 5.23.0.
"""

import gzip
import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

WORDS = {"qwen3-reranker": ("yes", "no"), "qwen3-reranker-seq-cls": None, "mxbai-rerank-v2": ("1", "0")}


def rounded(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-30) / 127
    return (x / scale).round() * scale


class RoundedLinear(torch.nn.Module):
    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = rounded(linear.weight.data), linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(rounded(x), self.weight, self.bias)


def round_layers(module: torch.nn.Module) -> None:
    for name, child in list(module.named_children()):
        if isinstance(child, torch.nn.Linear) and name not in ("lm_head", "score"):
            setattr(module, name, RoundedLinear(child))
        else:
            round_layers(child)


def main() -> None:
    goldens = Path(sys.argv[1])
    for name, words in WORDS.items():
        rows = (line.split() for line in (goldens / f"{name}.expected.tsv").read_text().splitlines())
        wanted = {(query, document): float(logit) for query, document, logit in rows}
        with gzip.open(goldens / f"{name}.ids.jsonl.gz", "rt") as lines:
            inputs = [json.loads(line) for line in lines]
        kind = AutoModelForCausalLM if words else AutoModelForSequenceClassification
        for precision in ("fp32", "bf16", "int8"):
            model = kind.from_pretrained(goldens / name, dtype=torch.float32).eval()
            if precision == "bf16":
                model = model.bfloat16()
            if precision == "int8":
                round_layers(model)
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
