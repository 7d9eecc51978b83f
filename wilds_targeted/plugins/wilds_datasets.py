"""WILDS's own image data sets, with the settings that `run_expt.py` fills in for them.

A checkout uses its own; these serve the built-in runner. iWildCam has a plugin of its own.
"""

from __future__ import annotations

from typing import Any

from wilds_targeted import DatasetSpec, hookimpl

_CLASSIFICATION = {
    "split_scheme": "official",
    "loss_function": "cross_entropy",
    "algo_log_metric": "accuracy",
    "process_outputs_function": "multiclass_logits_to_pred",
    "val_metric_decreasing": False,
}
_SGD = {"optimizer": "SGD", "optimizer_kwargs": {"momentum": 0.9}}


def _dann(rate: float, weight: float) -> dict[str, Any]:
    """DANN's defaults: the featurizer learns at a tenth of the rate of the other two."""
    return {
        "dann_penalty_weight": weight,
        "dann_featurizer_lr": rate / 10,
        "dann_classifier_lr": rate,
        "dann_discriminator_lr": rate,
    }


@hookimpl
def register_datasets() -> list[DatasetSpec]:
    """Those that the built-in runner has models and transforms for."""
    return [
        DatasetSpec(
            "bdd100k",
            None,
            "Driving scenes, several labels each; the domain is the scene. WILDS's own data set.",
            {
                **_SGD,
                "split_scheme": "official",
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "loss_function": "multitask_bce",
                "val_metric": "acc_all",
                "val_metric_decreasing": False,
                "batch_size": 32,
                "lr": 0.001,
                "weight_decay": 0.0001,
                "n_epochs": 10,
                "algo_log_metric": "multitask_binary_accuracy",
                "transform": "image_base",
                "process_outputs_function": "binary_logits_to_pred",
            },
        ),
        DatasetSpec(
            "camelyon17",
            None,
            "Lymph-node tissue, with or without tumour; the domain is the hospital. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                **_SGD,
                "model": "densenet121",
                "model_kwargs": {"pretrained": False},
                "transform": "image_base",
                "target_resolution": (96, 96),
                "groupby_fields": ["hospital"],
                "val_metric": "acc_avg",
                "scheduler": None,
                "batch_size": 32,
                "lr": 0.001,
                "weight_decay": 0.01,
                "n_epochs": 10,
                "n_groups_per_batch": 2,
                "irm_lambda": 1.0,
                "coral_penalty_weight": 0.1,
                **_dann(0.001, 0.1),
            },
        ),
        DatasetSpec(
            "celebA",
            None,
            "Faces; groups are gender and hair colour. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                **_SGD,
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "transform": "image_base",
                "groupby_fields": ["male", "y"],
                "val_metric": "acc_wg",
                "scheduler": None,
                "batch_size": 64,
                "lr": 0.001,
                "weight_decay": 0.0,
                "n_epochs": 200,
            },
        ),
        DatasetSpec(
            "domainnet",
            None,
            "Objects in photographs, sketches, paintings; the domain is the medium. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                **_SGD,
                "dataset_kwargs": {"source_domain": "real", "target_domain": "sketch", "use_sentry": False},
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "transform": "image_resize",
                "resize_scale": 256.0 / 224.0,
                "target_resolution": (224, 224),
                "groupby_fields": ["category"],
                "val_metric": "acc_avg",
                "batch_size": 96,
                "lr": 0.0007035737028722148,
                "weight_decay": 1e-4,
                "n_epochs": 25,
                "n_groups_per_batch": 4,
                "irm_lambda": 1.0,
                "coral_penalty_weight": 1.0,
                **_dann(0.01, 1.0),
                "loader_kwargs": {"num_workers": 2, "pin_memory": True},
            },
        ),
        DatasetSpec(
            "fmow",
            None,
            "Land use from satellites; the domain is year and region. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                "dataset_kwargs": {"seed": 111, "use_ood_val": True},
                "model": "densenet121",
                "model_kwargs": {"pretrained": True},
                "transform": "image_base",
                "groupby_fields": ["year"],
                "val_metric": "acc_worst_region",
                "optimizer": "Adam",
                "scheduler": "StepLR",
                "scheduler_kwargs": {"gamma": 0.96},
                "batch_size": 32,
                "lr": 0.0001,
                "weight_decay": 0.0,
                "n_epochs": 60,
                "n_groups_per_batch": 8,
                "irm_lambda": 1.0,
                "coral_penalty_weight": 0.1,
                **_dann(0.0001, 1.0),
            },
        ),
        DatasetSpec(
            "rxrx1",
            None,
            "Cells under a microscope; the domain is the experiment. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "transform": "rxrx1",
                "target_resolution": (256, 256),
                "groupby_fields": ["experiment"],
                "val_metric": "acc_avg",
                "optimizer": "Adam",
                "optimizer_kwargs": {},
                "scheduler": "cosine_schedule_with_warmup",
                "scheduler_kwargs": {"num_warmup_steps": 5415},
                "batch_size": 72,
                "lr": 1e-3,
                "weight_decay": 1e-5,
                "n_groups_per_batch": 9,
                "coral_penalty_weight": 0.1,
                "irm_lambda": 1.0,
                "n_epochs": 90,
            },
        ),
        DatasetSpec(
            "waterbirds",
            None,
            "Birds pasted onto land and water; groups are bird and background. WILDS's own data set.",
            {
                **_CLASSIFICATION,
                **_SGD,
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "transform": "image_resize_and_center_crop",
                "resize_scale": 256.0 / 224.0,
                "groupby_fields": ["background", "y"],
                "val_metric": "acc_wg",
                "scheduler": None,
                "batch_size": 128,
                "lr": 1e-5,
                "weight_decay": 1.0,
                "n_epochs": 300,
            },
        ),
    ]
