"""The checkpoint as ONNX and OpenVINO models, as their users make them; each is made once, in the task's folder."""
import pathlib

from task import Encoded, Task


def exported(task: Task) -> pathlib.Path:
    """torch.onnx.export's TorchScript form with plain attention: what ONNX Runtime's and OpenVINO's fusions know."""
    path = task.scratch / "exported.onnx"
    if not path.exists():
        import onnx  # noqa: F401  torch needs it, and should be named where it is missing
        import torch
        from transformers import AutoModelForSequenceClassification

        model = AutoModelForSequenceClassification.from_pretrained(
            task.checkpoint, dtype=torch.float32, attn_implementation="eager").eval()
        names = ["input_ids", "attention_mask", "token_type_ids"]
        inputs = {name: torch.from_numpy(values[:2]) for name, values in Encoded(task)().items()}
        torch.onnx.export(model, tuple(inputs[name] for name in names), str(path), dynamo=False, opset_version=17,
                          input_names=names, output_names=["logits"],
                          dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names})
    return path


def fused(task: Task) -> pathlib.Path:
    """The model with ONNX Runtime's own fusions for BERT: attention, GELU, LayerNorm with the residual."""
    path = task.scratch / "fused.onnx"
    if not path.exists():
        import json

        from onnxruntime.transformers import optimizer

        config = json.loads((task.checkpoint / "config.json").read_text())
        optimizer.optimize_model(str(exported(task)), "bert", num_heads=config["num_attention_heads"],
                                 hidden_size=config["hidden_size"], opt_level=1).save_model_to_file(str(path))
    return path


def dynamic_int8(task: Task) -> pathlib.Path:
    """quantize_dynamic: int8 weights by channel, activations quantized as they come."""
    path = task.scratch / "dynamic_int8.onnx"
    if not path.exists():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(str(exported(task)), str(path), per_channel=True, weight_type=QuantType.QInt8)
    return path


def nncf_int8(task: Task) -> pathlib.Path:
    """nncf.quantize for transformers: int8 weights by channel, activations' ranges measured on these very texts."""
    path = task.scratch / "nncf_int8.xml"
    if not path.exists():
        import nncf
        import openvino

        inputs = Encoded(task)()
        count = len(inputs["input_ids"])
        samples = [{name: values[i:i + 1] for name, values in inputs.items()} for i in range(count)]
        model = openvino.Core().read_model(str(exported(task)))
        openvino.save_model(nncf.quantize(model, nncf.Dataset(samples), subset_size=count,
                                          model_type=nncf.ModelType.TRANSFORMER,
                                          preset=nncf.QuantizationPreset.MIXED), str(path))
    return path
