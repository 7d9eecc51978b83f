"""A plugin that registers one thing of every sort; tests install it by hand to see each hook at work."""

import sys

import torch
from torch import nn

from wilds_targeted import (
    AlgorithmInputs,
    AlgorithmSpec,
    Augmentation,
    DatasetSpec,
    Kind,
    ModelSpec,
    OptionSpec,
    TransformSpec,
    hookimpl,
)
from wilds_targeted.errors import ConfigError


class Invert(Augmentation):
    def draw(self, example, rng):
        return rng.random()

    def apply(self, example, drawn):
        return example.x.point(lambda value: int(255 - drawn * value))


class SmallNet(nn.Module):
    def __init__(self, d_out, width=8):
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        self.steps = nn.Sequential(*layers, *([] if d_out is None else [nn.Linear(width, d_out)]))
        self.d_out = d_out or width

    def forward(self, x):
        return self.steps(x)


class PlainERM:
    """The protocol of WILDS's training loop, and no more."""

    def __init__(self, inputs: AlgorithmInputs):
        self.model = inputs.build_model(False)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=inputs.config.lr)
        self.grouper, self.is_training, self.seen = inputs.grouper, True, 0
        print(f"PlainERM for {inputs.n_train_steps} steps")

    def train(self):
        self.is_training = True
        self.model.train()

    def eval(self):
        self.is_training = False
        self.model.eval()

    def _results(self, batch):
        x, y, metadata = batch
        self.seen += len(y)
        return {"y_true": y, "y_pred": self.model(x), "metadata": metadata}

    def update(self, batch, unlabeled_batch=None, is_epoch_end=False):
        results = self._results(batch)
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(results["y_pred"], results["y_true"]).backward()
        self.optimizer.step()
        return {name: value.detach() for name, value in results.items()}

    def evaluate(self, batch):
        return self._results(batch)

    def step_schedulers(self, is_epoch, metrics=None, log_access=False):
        pass

    @property
    def has_log(self):
        return self.seen > 0

    def get_log(self):
        return {"count": self.seen}

    def get_pretty_log_str(self):
        return f"seen: {self.seen}\n"

    def reset_log(self):
        self.seen = 0

    def state_dict(self):
        return self.model.state_dict()

    def load_state_dict(self, state):
        self.model.load_state_dict(state)


def build_dataset(**kwargs):
    from wilds.datasets.iwildcam_dataset import IWildCamDataset

    class Cameras(IWildCamDataset):
        _dataset_name = "cameras"

    globals()["Cameras"] = Cameras
    Cameras.__qualname__ = "Cameras"  # so that a worker can unpickle it
    print(f"cameras with colour={kwargs.pop('colour', None)}")
    return Cameras(**kwargs)


def two_groups(model, config):
    ours = "wilds_targeted.algorithms.erm" in sys.modules
    print(f"parameter groups of {config.model} for {'our' if ours else 'their'} ERM")
    weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    return [{"params": weights}, {"params": biases, "weight_decay": 0.0}]


@hookimpl
def register_transforms():
    return [TransformSpec("invert", lambda dataset: Invert(), Kind.GENERIC, "brightness", "shapes")]


@hookimpl
def register_datasets():
    defaults = {
        "split_scheme": "official",
        "model": "small-net",
        "transform": "image_base",
        "target_resolution": (32, 32),
        "loss_function": "cross_entropy",
        "val_metric": "acc_avg",
        "val_metric_decreasing": False,
        "algo_log_metric": "accuracy",
        "optimizer": "AdamW",
        "lr": 1e-3,
        "weight_decay": 0.01,
        "batch_size": 16,
        "n_epochs": 1,
        "groupby_fields": ["location"],
        "process_outputs_function": "multiclass_logits_to_pred",
        "loader_kwargs": {"num_workers": 0, "pin_memory": False},
    }
    return [DatasetSpec("cameras", build_dataset, "iWildCam under another name", defaults, flip=True)]


@hookimpl
def register_models():
    return [
        ModelSpec("small-net", SmallNet, defaults={"model_kwargs": {"width": 8}}, parameter_groups=two_groups),
    ]


@hookimpl
def register_algorithms():
    defaults = {"train_loader": "standard", "uniform_over_groups": False, "eval_loader": "standard"}
    return [AlgorithmSpec("PlainERM", PlainERM, defaults=defaults)]


@hookimpl
def register_options():
    return [OptionSpec("--mood", "A word.", default="calm")]


@hookimpl
def check_config(config):
    if config.mood == "angry":
        raise ConfigError(f"--mood angry does not go with --algorithm {config.algorithm}")
