"""Writes tiny cross-encoders with two labels and random weights, as monoBERT is published, and the log-probabilities of
the second label that transformers gives (pygaggle's score). Run from this folder, with the packages of
requirements.txt: python make.py
"""
import gzip
import json
import pathlib
import random
import shutil

import torch
import transformers

HERE = pathlib.Path(__file__).parent
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "s")]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *(f"##{word}" for word in WORDS), ".", ","]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 64, "vocab_size": len(VOCABULARY)}
CLASSES = {"bert": transformers.BertForSequenceClassification, "electra": transformers.ElectraForSequenceClassification}


def main() -> None:
    for name, cls in CLASSES.items():
        torch.manual_seed(3)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model = cls(cls.config_class(num_labels=2, **SIZES)).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        model.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        # transformers writes no labels where there are two, its default.
        assert "num_labels" not in config and "id2label" not in config
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
        (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True,
                                                                  "tokenizer_class": "BertTokenizer"}))
        tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
        generator = random.Random(1)
        model = model.double()
        with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out:
            for number in range(16):
                query = " ".join(generator.choices(WORDS, k=1 + number % 5))
                text = " ".join(generator.choices(WORDS, k=1 + 2 * number))
                inputs = tokenizer(query, text, return_tensors="pt")
                with torch.no_grad():
                    score = torch.log_softmax(model(**inputs).logits[0], 0)[1].item()
                out.write(json.dumps({"query": query, "text": text, "score": score}) + "\n")
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
