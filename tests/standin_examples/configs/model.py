"""Stand-in for WILDS's defaults of each model."""

_torchvision = {"model_kwargs": {"pretrained": True}, "target_resolution": (224, 224)}

model_defaults = {
    "resnet18": _torchvision,
    "resnet34": _torchvision,
    "resnet50": _torchvision,
    "densenet121": _torchvision,
    "distilbert-base-uncased": {
        "optimizer": "AdamW",
        "max_grad_norm": 1.0,
        "scheduler": "linear_schedule_with_warmup",
    },
    "logistic_regression": {},
}
