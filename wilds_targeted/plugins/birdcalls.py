"""BirdCalls: the paper's settings for training on it. The data set's class is not part of this release yet."""

from __future__ import annotations

from wilds_targeted import DatasetSpec, hookimpl


@hookimpl
def register_datasets() -> list[DatasetSpec]:
    """What the runner fills in for BirdCalls.

    Model and batch size are the paper's (appendix E, hyperparameters); rates, weight decay, epochs and the metric for
    selection are those of the authors' code for its unaugmented runs, since the paper gives only search ranges.
    """
    return [
        DatasetSpec(
            "birdcalls",
            None,
            "Five-second bird calls; the domain is the microphone. Settings only: its class comes later.",
            {
                "split_scheme": "official",
                "model": "efficientnet-b0",
                "model_kwargs": {"pretrained": True},
                "transform": "image_base",
                "target_resolution": (224, 224),
                "loss_function": "cross_entropy",
                "groupby_fields": ["microphone"],
                "n_groups_per_batch": 2,
                "optimizer": "Adam",
                "scheduler": None,
                "val_metric": "acc_avg",
                "val_metric_decreasing": False,
                "algo_log_metric": "accuracy",
                "process_outputs_function": "multiclass_logits_to_pred",
                "batch_size": 64,
                "lr": 0.0007879391555285274,
                "weight_decay": 0.001,
                "n_epochs": 100,
                "irm_lambda": 1.0,
                "coral_penalty_weight": 1.0,
                "dann_penalty_weight": 2.984284997073748,
                "dann_featurizer_lr": 0.0005208790981260641,
                "dann_classifier_lr": 0.005208790981260641,
                "dann_discriminator_lr": 0.00011898360266164227,
            },
            flip=True,
        )
    ]
