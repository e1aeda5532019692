"""Writes tiny cross-encoders with random weights whose heads the tensors tell, and the scores that transformers gives:
with two labels, as monoBERT is published, the log-probability of the second one (pygaggle's score); and an ELECTRA
whose head is one linear map of [CLS], as monoELECTRA's, with a bias and without. Run from this folder, with the
packages of requirements.txt: python make.py
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


class LinearHead(torch.nn.Linear):
    """In place of ELECTRA's head: of the states of all tokens, the first one's."""

    def forward(self, states):
        return super().forward(states[:, 0])


def two_labels(cls):
    return cls(cls.config_class(num_labels=2, **SIZES))


def mono_electra(bias):
    model = transformers.ElectraForSequenceClassification(transformers.ElectraConfig(num_labels=1, **SIZES))
    model.classifier = LinearHead(SIZES["hidden_size"], 1, bias=bias)
    return model


MODELS = {"bert": lambda: two_labels(transformers.BertForSequenceClassification),
          "electra": lambda: two_labels(transformers.ElectraForSequenceClassification),
          "monoelectra": lambda: mono_electra(True), "monoelectra-unbiased": lambda: mono_electra(False)}


def main() -> None:
    for name, make in MODELS.items():
        torch.manual_seed(3)
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model = make().eval()
        two = model.config.num_labels == 2
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        model.save_pretrained(folder)
        config = json.loads((folder / "config.json").read_text())
        # transformers writes no labels where there are two, its default.
        assert not two or "num_labels" not in config and "id2label" not in config
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
                    logits = model(**inputs).logits[0]
                    score = torch.log_softmax(logits, 0)[1].item() if two else logits.item()
                out.write(json.dumps({"query": query, "text": text, "score": score}) + "\n")
    print(transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
