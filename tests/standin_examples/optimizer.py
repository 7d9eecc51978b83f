"""Stand-in for WILDS's optimizers; its import of AdamW fails today unless the bridge mends it."""

from torch.optim import SGD, Adam
from transformers import AdamW


def initialize_optimizer(config, model):
    if config.optimizer == "AdamW":
        spared = ("bias", "LayerNorm.weight") if "bert" in config.model or "gpt" in config.model else ()
        groups = [{"params": [], "weight_decay": decay} for decay in (config.weight_decay, 0.0)]
        for name, parameter in model.named_parameters():
            groups[any(part in name for part in spared)]["params"].append(parameter)
        return AdamW(groups, lr=config.lr, **config.optimizer_kwargs)
    return _make(config, [parameter for parameter in model.parameters() if parameter.requires_grad])


def initialize_optimizer_with_model_params(config, params):
    return _make(config, params)


def _make(config, params):
    # Looked up at each call, as in WILDS, so that a name replaced in this module counts.
    classes = {"SGD": SGD, "Adam": Adam, "AdamW": AdamW}
    if config.optimizer not in classes:
        raise ValueError(f"The stand-in has no optimizer {config.optimizer}.")
    make = classes[config.optimizer]
    return make(params, lr=config.lr, weight_decay=config.weight_decay, **config.optimizer_kwargs)
