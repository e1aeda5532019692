"""The sparse cross-encoder in PyTorch: all tokens of all pairs in all layers, under the checkpoint's mask, by each of
PyTorch's ways to attend. Inputs are equally long and share a query, so one mask serves a batch."""
import json
import pathlib

ATTENTIONS = ("eager", "SDPA", "FlexAttention")


def visible(config: dict, query: int, length: int):
    """(i, j) -> whether token i sees token j, on tensors. [CLS], `query` tokens with their [SEP], then the document."""
    window = config.get("attention_window_size")
    window = length if window is None else window
    pairs = {(0, 1): "cls_query", (0, 2): "cls_doc", (1, 0): "query_cls", (1, 2): "query_doc", (2, 0): "doc_cls",
             (2, 1): "doc_query"}
    shown = [(source, target) for (source, target), name in pairs.items() if config.get(f"{name}_attention", True)]

    def sees(i, j):
        def inside(token, group):
            bounds = ((0, 1), (1, 1 + query), (1 + query, length))[group]
            return (token >= bounds[0]) & (token < bounds[1])

        result = (inside(i, 0) & inside(j, 0)) | (inside(i, 1) & inside(j, 1))
        result = result | (inside(i, 2) & inside(j, 2) & ((i - j).abs() <= window))
        for source, target in shown:
            result = result | (inside(i, source) & inside(j, target))
        return result

    return sees


class SparseBert:
    """A checkpoint's logits by one of ATTENTIONS. Raises ImportError where that is not offered."""

    def __init__(self, checkpoint: pathlib.Path, attention: str, dtype: str, device: str):
        import torch
        from safetensors.torch import load_file

        self.torch, self.device = torch, device
        self.config = json.loads((checkpoint / "config.json").read_text())
        tensors = load_file(checkpoint / "model.safetensors")
        self.weights = {name: tensor.to(device, getattr(torch, dtype)) for name, tensor in tensors.items()
                        if tensor.is_floating_point()}
        self.attention = attention
        self.masks: dict = {}

    def mask(self, query: int, length: int):
        key = (query, length)
        if key not in self.masks:
            torch, sees = self.torch, visible(self.config, query, length)
            if self.attention == "FlexAttention":
                from torch.nn.attention.flex_attention import create_block_mask

                self.masks[key] = create_block_mask(lambda b, h, i, j: sees(i, j), None, None, length, length,
                                                    device=self.device)
            else:
                place = torch.arange(length, device=self.device)
                self.masks[key] = sees(place[:, None], place[None, :])
        return self.masks[key]

    def attend(self, q, k, v, mask):
        torch = self.torch
        if self.attention == "FlexAttention":
            return flex()(q, k, v, block_mask=mask)
        if self.attention == "SDPA":
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        scores = (q @ k.transpose(2, 3) * q.shape[3] ** -0.5).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ v

    def __call__(self, input_ids, token_type_ids, attention_mask=None):
        """[B, length] (twice) -> [B]; no input is padded."""
        torch, weights = self.torch, self.weights
        functional = torch.nn.functional
        heads, layers = self.config["num_attention_heads"], self.config["num_hidden_layers"]
        epsilon = self.config["layer_norm_eps"]

        def linear(name, x):
            return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

        def norm(name, x):
            return functional.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

        mask = self.mask(int((token_type_ids[0] == 0).sum()) - 1, input_ids.shape[1])
        table = "bert.embeddings.{}_embeddings.weight"
        x = weights[table.format("word")][input_ids] + weights[table.format("position")][: input_ids.shape[1]]
        x = norm("bert.embeddings.LayerNorm", x + weights[table.format("token_type")][token_type_ids])
        for i in range(layers):
            layer = f"bert.encoder.layer.{i}."
            q, k, v = (linear(f"{layer}attention.self.{name}", x).unflatten(2, (heads, -1)).transpose(1, 2)
                       for name in ("query", "key", "value"))
            mixed = self.attend(q, k, v, mask).transpose(1, 2).flatten(2)
            x = norm(f"{layer}attention.output.LayerNorm", x + linear(f"{layer}attention.output.dense", mixed))
            inner = functional.gelu(linear(f"{layer}intermediate.dense", x))
            x = norm(f"{layer}output.LayerNorm", x + linear(f"{layer}output.dense", inner))
        return linear("classifier", torch.tanh(linear("bert.pooler.dense", x[:, 0])))[:, 0]


_flex = None


def flex():
    """Compiles FlexAttention, which otherwise computes the whole matrix of scores."""
    global _flex
    if _flex is None:
        import torch
        from torch.nn.attention.flex_attention import flex_attention

        _flex = torch.compile(flex_attention, dynamic=False)
    return _flex
