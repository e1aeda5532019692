"""A Poly-Encoder (docs/late-interaction.md) that computes what the engine computes."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from relucent_search.train.errors import TrainingError
from relucent_search.train.families import read_config
from relucent_search.train.texts import Texts
from relucent_search.train.two_towers import FEWEST_TOKENS, TwoTowers


class PolyEncoder(TwoTowers):
    """A candidate is its [CLS], a query the means of its tokens that learnt codes weigh. The score is the product of
    the candidate with the mean of these that it weighs itself."""

    kind = "Poly-Encoder"
    score = "the raw dot product"
    of_head = ("poly_code_embeddings.",)

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        self.poly_code_embeddings = nn.Embedding(config["poly_codes"], config["hidden_size"])
        self._initialise()

    @classmethod
    def load(cls, folder: Path) -> PolyEncoder:
        """Raises TrainingError."""
        config, path = read_config(folder), folder / "config.json"
        for key, least in (("poly_codes", 1), ("query_max_length", FEWEST_TOKENS),
                           ("candidate_max_length", FEWEST_TOKENS)):
            if not isinstance(config.get(key), int) or config[key] < least:
                raise TrainingError(f"{path}, key {key}", f"is not an integer from {least}",
                                    "`relucent model init --as polyencoder` makes such folders")
        return cls(config)._read(folder)

    def contexts(self, texts: Texts) -> Tensor:
        """[B, hidden]: what an index of candidates would keep."""
        return texts.padded(self._states(texts))[:, 0]

    def scores(self, contexts: Tensor, queries: Texts, query_of: Tensor) -> Tensor:
        """[candidates] scores, fp32; query_of: [candidates], the number of each one's query."""
        padded = queries.padded(self._states(queries))
        likeness = self.poly_code_embeddings.weight.to(padded) @ padded.transpose(1, 2)  # [queries, codes, L]
        lowest = torch.finfo(likeness.dtype).min
        coded = likeness.masked_fill(~queries.valid[:, None, :], lowest).softmax(2) @ padded
        products = (coded[query_of] @ contexts[:, :, None].to(coded)).squeeze(2).float()  # [candidates, codes]
        return (products.softmax(1) * products).sum(1)

    def _states(self, texts: Texts) -> Tensor:
        words = self.body["embeddings"]["word_embeddings"](texts.ids)
        states = self._embedded(words, texts.positions, torch.zeros_like(texts.positions))
        for layer in self.body["encoder"]["layer"]:
            states = self._layer(layer, states, len(states), texts.attention)
        return states

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": ["PolyEncoder"]}

    def __str__(self) -> str:
        return f"{self.config['poly_codes']} vectors per query, one per candidate"
