"""Stand-in for WILDS's lists of the names its flags accept."""

from wilds.common.metrics.all_metrics import (
    MSE,
    Accuracy,
    binary_logits_to_pred,
    multiclass_logits_to_pred,
    pseudolabel_binary_logits,
    pseudolabel_identity,
    pseudolabel_multiclass_logits,
)

algo_log_metrics = {
    "accuracy": Accuracy(prediction_fn=multiclass_logits_to_pred),
    "mse": MSE(),
    None: None,
}
_outputs = (binary_logits_to_pred, multiclass_logits_to_pred)
process_outputs_functions = {function.__name__: function for function in _outputs} | {None: None}
_pseudolabels = (pseudolabel_binary_logits, pseudolabel_multiclass_logits, pseudolabel_identity)
process_pseudolabels_functions = {function.__name__: function for function in _pseudolabels}

# Names, not promises: most of them are refused where they would be needed.
algorithms = ["ERM", "groupDRO", "deepCORAL", "IRM", "DANN", "AFN", "FixMatch", "PseudoLabel", "NoisyStudent"]
transforms = ["bert", "image_base", "image_resize", "image_resize_and_center_crop", "poverty", "rxrx1"]
additional_transforms = ["randaugment", "weak"]
models = ["resnet18", "resnet34", "resnet50", "densenet121", "distilbert-base-uncased", "logistic_regression"]
optimizers = ["SGD", "Adam", "AdamW"]
schedulers = [
    "linear_schedule_with_warmup",
    "cosine_schedule_with_warmup",
    "ReduceLROnPlateau",
    "StepLR",
    "FixMatchLR",
    "MultiStepLR",
]
losses = ["cross_entropy", "MSE"]
