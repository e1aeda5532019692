"""Makes native/: the checkpoint gte-multilingual of the goldens "rerankers", as transformers' own class (5.23) saves it,
without its tokenizer. Its logits are those of gte-multilingual.expected.tsv. Usage: make.py GOLDENS, with torch 2.13.0
and transformers 5.23.0.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import GteConfig, GteForSequenceClassification

RENAMES = (("new.", "gte."), ("encoder.layer.", "layers."), ("attention.o_proj", "self_attn.o_proj"),
           ("attn_ln", "post_attention_layernorm"), ("mlp_ln", "post_mlp_layernorm"))
SAME = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act",
        "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "pad_token_id")


def renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    result = {}
    for key, value in state.items():
        for old, new in RENAMES:
            key = key.replace(old, new)
        if "qkv_proj" in key:
            for part, rows in zip("qkv", value.chunk(3)):
                result[key.replace("attention.qkv_proj", f"self_attn.{part}_proj")] = rows.contiguous()
        elif "up_gate_proj" in key:
            up, gate = value.chunk(2)
            result[key.replace("up_gate", "up")] = up.contiguous()
            result[key.replace("up_gate", "gate")] = gate.contiguous()
        else:
            result[key] = value
    return result


def main() -> None:
    source, target = Path(sys.argv[1]) / "rerankers" / "gte-multilingual", Path(__file__).parent / "native"
    stored = json.loads((source / "config.json").read_text())
    factor = stored["rope_scaling"]["factor"]
    head = stored["hidden_size"] // stored["num_attention_heads"]
    # NTK-aware scaling at every length, in the terms of transformers.
    rope = {"rope_type": "linear", "rope_theta": stored["rope_theta"] * factor, "factor": factor ** (2 / head)}
    config = GteConfig(rope_parameters=rope, num_labels=1, **{key: stored[key] for key in SAME})
    model = GteForSequenceClassification(config)
    missing, unexpected = model.load_state_dict(renamed(load_file(source / "model.safetensors")), strict=False)
    assert not missing and not unexpected, (missing, unexpected)
    model.save_pretrained(target)


main()
