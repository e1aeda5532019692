"""Checkpoints of usual sizes with random weights, made and saved by transformers' own classes.

Their tokenizers are cut to a few thousand whole words, the same ones in the same order for every family, as a
vocab.txt: `relucent bench model` generates its texts from that file. So the table of word embeddings is smaller than a
published checkpoint's; everything that takes time is as large.
"""
import dataclasses
import json
import pathlib

WORDS = 8000
NEEDED = [":", "query", "document", "relevant", "true", "false"]  # of monoT5's prompt and answers

BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "initializer_range": 0.04}


@dataclasses.dataclass
class Family:
    title: str
    architecture: str
    special: list[str]  # the first entries of the vocabulary
    config: dict


# The weights of BERT's kind are larger than a new model's usual 0.02, so that the scores of documents differ.
FAMILIES = {
    "bert": Family("BERT base", "BertForSequenceClassification", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], BASE),
    "electra": Family("ELECTRA base", "ElectraForSequenceClassification", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
                      BASE | {"embedding_size": 768}),
    "xlm-roberta": Family("XLM-RoBERTa base", "XLMRobertaForSequenceClassification",
                          ["[CLS]", "[PAD]", "[SEP]", "[UNK]"],
                          BASE | {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
                                  "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "modernbert": Family("ModernBERT base", "ModernBertForSequenceClassification",
                         ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
                         {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3,
                          "sep_token_id": 3, "initializer_range": 0.04}),  # the class's defaults are base
    "t5": Family("T5 base (monoT5)", "T5ForConditionalGeneration", ["[PAD]", "[SEP]", "[UNK]", "[CLS]"],
                 {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "pad_token_id": 0,
                  "eos_token_id": 1, "decoder_start_token_id": 0, "n_positions": 512}),
}


def vocabulary(family: Family, source: pathlib.Path) -> list[str]:
    """The family's special tokens and whole words of the vocab.txt `source`."""
    words = [word for word in source.read_text(encoding="utf-8").splitlines()
             if len(word) >= 3 and word.isascii() and word.isalpha() and word.islower()]
    return family.special + NEEDED + [word for word in words if word not in NEEDED][:WORDS]


def make(name: str, source: pathlib.Path, folder: pathlib.Path):
    """Writes the checkpoint and returns (the model, its vocabulary)."""
    import torch
    import transformers

    family = FAMILIES[name]
    entries = vocabulary(family, source)
    cls = getattr(transformers, family.architecture)
    labels = {} if name == "t5" else {"num_labels": 1}
    torch.manual_seed(1)
    model = cls(cls.config_class(vocab_size=len(entries), **labels, **family.config)).eval()
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(entry + "\n" for entry in entries), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    return model, entries
