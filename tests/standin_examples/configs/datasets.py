"""Stand-in for WILDS's defaults of each data set."""

_both = {
    "split_scheme": "official",
    "transform": "image_base",
    "loss_function": "cross_entropy",
    "algo_log_metric": "accuracy",
    "val_metric_decreasing": False,
    "scheduler": None,
    "n_groups_per_batch": 2,
    "unlabeled_n_groups_per_batch": 2,
    "irm_lambda": 1.0,
    "dann_penalty_weight": 0.1,
    "process_outputs_function": "multiclass_logits_to_pred",
    "process_pseudolabels_function": "pseudolabel_multiclass_logits",
}

dataset_defaults = {
    "camelyon17": {
        **_both,
        "model": "densenet121",
        "model_kwargs": {"pretrained": False},
        "target_resolution": (96, 96),
        "groupby_fields": ["hospital"],
        "val_metric": "acc_avg",
        "optimizer": "SGD",
        "optimizer_kwargs": {"momentum": 0.9},
        "batch_size": 32,
        "unlabeled_batch_size": 32,
        "lr": 0.001,
        "weight_decay": 0.01,
        "n_epochs": 10,
        "coral_penalty_weight": 0.1,
        "dann_featurizer_lr": 0.0001,
        "dann_classifier_lr": 0.001,
        "dann_discriminator_lr": 0.001,
    },
    "iwildcam": {
        **_both,
        "model": "resnet50",
        "model_kwargs": {"pretrained": True},
        "target_resolution": (448, 448),
        "groupby_fields": ["location"],
        "val_metric": "F1-macro_all",
        "optimizer": "Adam",
        "batch_size": 16,
        "unlabeled_batch_size": 16,
        "lr": 3e-5,
        "weight_decay": 0.0,
        "n_epochs": 12,
        "coral_penalty_weight": 10.0,
        "dann_featurizer_lr": 3e-6,
        "dann_classifier_lr": 3e-5,
        "dann_discriminator_lr": 3e-5,
        "no_group_logging": True,
    },
}

# In WILDS only the two review data sets have any.
split_defaults = {"amazon": {}, "yelp": {}}
