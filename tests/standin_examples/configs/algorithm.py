"""Stand-in for WILDS's defaults of each algorithm."""

_plain = {"train_loader": "standard", "uniform_over_groups": False, "eval_loader": "standard"}
_grouped = {
    "train_loader": "group",
    "uniform_over_groups": True,
    "distinct_groups": True,
    "eval_loader": "standard",
}
_augmented = {"randaugment_n": 2, "additional_train_transform": "randaugment"}
_self_training = {"self_training_lambda": 1, "self_training_threshold": 0.7, "scheduler": "FixMatchLR"}

algorithm_defaults = {
    "ERM": {**_plain, "randaugment_n": 2},
    "groupDRO": {**_grouped, "train_loader": "standard", "group_dro_step_size": 0.01},
    "deepCORAL": {**_grouped, **_augmented, "coral_penalty_weight": 1.0},
    "IRM": {**_grouped, "irm_lambda": 100.0, "irm_penalty_anneal_iters": 500},
    "DANN": {**_grouped, **_augmented},
    "AFN": {**_plain, **_augmented, "afn_penalty_weight": 0.01, "safn_delta_r": 1.0, "hafn_r": 1.0},
    "FixMatch": {**_plain, **_augmented, **_self_training},
    "PseudoLabel": {**_plain, **_augmented, **_self_training, "pseudolabel_T2": 0.4},
    "NoisyStudent": {**_plain, **_augmented, "noisystudent_add_dropout": True, "scheduler": "FixMatchLR"},
}
