"""Stand-in for WILDS's learning rate schedules."""

from torch.optim.lr_scheduler import LambdaLR, MultiStepLR, ReduceLROnPlateau, StepLR


def initialize_scheduler(config, optimizer, n_train_steps):
    name, kwargs = config.scheduler, config.scheduler_kwargs
    if name is None:
        return None
    if name in ("linear_schedule_with_warmup", "cosine_schedule_with_warmup"):
        import transformers

        make = getattr(transformers, f"get_{name}")
        scheduler = make(optimizer, num_training_steps=n_train_steps, **kwargs)
    elif name == "FixMatchLR":
        scheduler = LambdaLR(optimizer, lambda step: (1 + 10 * step / n_train_steps) ** -0.75)
    elif name in ("ReduceLROnPlateau", "StepLR", "MultiStepLR"):
        classes = {"ReduceLROnPlateau": ReduceLROnPlateau, "StepLR": StepLR, "MultiStepLR": MultiStepLR}
        scheduler = classes[name](optimizer, **kwargs)
    else:
        raise ValueError(f"The stand-in has no scheduler {name}.")
    scheduler.use_metric = name == "ReduceLROnPlateau"
    scheduler.step_every_batch = name.endswith("with_warmup") or name == "FixMatchLR"
    return scheduler


def step_scheduler(scheduler, metric=None):
    if isinstance(scheduler, ReduceLROnPlateau):
        scheduler.step(metric)
    else:
        scheduler.step()
