"""A whole run, from flags to files."""

from __future__ import annotations

import math
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from wilds_targeted.errors import ConfigError, RunError, one_line
from wilds_targeted.files import locked, remove_leftovers
from wilds_targeted.mixing import mix_as_configured
from wilds_targeted.models.assemble import assemble_model, make_it_fit
from wilds_targeted.models.torchvision_models import refuse_unasked_download
from wilds_targeted.models.weights import load_weights, read_state
from wilds_targeted.registry import get_registry
from wilds_targeted.runner.data import Data, count_outputs, load_data, log_groups
from wilds_targeted.runner.defaults import complete
from wilds_targeted.runner.flags import parse
from wilds_targeted.runner.logs import Logs
from wilds_targeted.runner.loop import Loop
from wilds_targeted.runner.outputs import model_path
from wilds_targeted.runner.state import RunState, check_settings, forget_state, load_state, seed_everything
from wilds_targeted.runner.supported import LOGGED_METRICS, LOSSES
from wilds_targeted.runner.versions import note_versions
from wilds_targeted.specs import AlgorithmInputs


def run(arguments: Sequence[str]) -> None:
    """Train and evaluate as these flags say; files appear in the log folder.

    Raises:
        WildsTargetedError: Something is wrong with flags, data or training; the message says what to do.
    """
    given = parse(arguments)
    config = complete(given)
    refuse_unasked_download(config, given.model_kwargs)
    choose_device(config)
    folder = Path(config.log_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        remove_leftovers(folder)
        try:
            _run(config, folder)
        except (OSError, RuntimeError, MemoryError) as error:
            go_on = f"The last good state stands in {folder}: go on with --resume"
            raise explained(error, folder, go_on) from error


def _run(config: Namespace, folder: Path) -> None:
    saved = load_state(folder) if config.resume else None
    if saved is not None:
        check_settings(saved.settings, config)
        if saved.position.epoch >= config.n_epochs:
            print(f"wilds-targeted: the run in {folder} is finished: nothing to resume.", file=sys.stderr)
            return
    seed_everything(config.seed)
    data = load_data(config)
    logs = _open_logs(config, folder, data, saved)
    try:
        algorithm = build_algorithm(config, data)
        if config.eval_only:
            _evaluate_saved_model(config, data, algorithm, logs)
            return
        if config.resume and not hasattr(algorithm, "training_state"):
            raise ConfigError(f"--resume: the algorithm {config.algorithm!r} has no training_state to go on from.")
        if saved is not None:
            algorithm.load_state_dict(saved.weights)
            data.reader.mark_truncated(saved.truncated)
            print(f"wilds-targeted: going on {saved.where()}", file=sys.stderr)
        Loop(config, data, algorithm, logs, saved).train()
    finally:
        logs.close()


def _open_logs(config: Namespace, folder: Path, data: Data, saved: RunState | None) -> Logs:
    """Logs that go on, or begin with the configuration and the sizes of the splits."""
    lengths = {} if saved is None else saved.log_lengths
    if config.eval_only:
        lengths = {path.name: path.stat().st_size for path in folder.iterdir() if path.suffix in (".txt", ".csv")}
    elif saved is None:
        forget_state(folder)
    if not config.eval_only:
        note_versions(folder, is_new=saved is None)
    logs = Logs(folder, list(data.splits), lengths)
    if saved is None:
        # Whether it was asked to resume is nothing about the run: its log is the same either way.
        told = {name: value for name, value in vars(config).items() if name != "resume"}
        lines = [f"{name.replace('_', ' ').capitalize()}: {value}\n" for name, value in told.items()]
        logs.text.write("".join([*lines, "\n"]))
        log_groups(config, data, logs.text)
        if config.gradient_accumulation_steps > 1 and not config.eval_only:
            logs.text.write(
                f"\nUsing gradient_accumulation_steps {config.gradient_accumulation_steps}: the effective batch size "
                f"is {config.batch_size * config.gradient_accumulation_steps}\n"
            )
    return logs


def build_algorithm(config: Namespace, data: Data) -> Any:
    """The configured algorithm with its model."""
    registry = get_registry()
    d_out = count_outputs(data.dataset)
    steps_an_epoch = math.ceil(len(data.splits["train"].loader) / config.gradient_accumulation_steps)

    def build_model(is_featurizer: bool) -> Any:
        def load(module: Any, path: str) -> None:
            load_weights(module, path, config.device)

        model = assemble_model(registry.models[config.model], config, d_out, is_featurizer, load)
        return make_it_fit(model, config)

    algorithm = registry.algorithms[config.algorithm].build(
        AlgorithmInputs(
            config=config,
            d_out=d_out,
            grouper=data.grouper,
            loss=LOSSES[config.loss_function](),
            metric=LOGGED_METRICS[config.algo_log_metric](),
            n_train_steps=steps_an_epoch * config.n_epochs,
            datasets={key: split.as_wilds() for key, split in data.splits.items()},
            build_model=build_model,
        )
    )
    return mix_as_configured(algorithm, config, data.dataset)


def _evaluate_saved_model(config: Namespace, data: Data, algorithm: Any, logs: Logs) -> None:
    epoch = load_saved_model(config, saved_model(config, data.dataset.dataset_name), algorithm)
    Loop(config, data, algorithm, logs).evaluate(epoch, is_best=config.eval_epoch is None)


def saved_model(config: Namespace, dataset_name: str) -> Path:
    """The model file that is to be evaluated: that of the best epoch, or of ``--eval_epoch``."""
    return model_path(config, dataset_name, "best" if config.eval_epoch is None else config.eval_epoch)


def load_saved_model(config: Namespace, path: Path, algorithm: Any) -> int:
    """Load a model file into the algorithm; gives the epoch that it is of."""
    state = read_state(str(path), config.device)
    try:
        algorithm.load_state_dict(state["algorithm"])
        return int(state["epoch"])
    except (KeyError, RuntimeError) as error:
        raise ConfigError(f"{path} does not fit --algorithm {config.algorithm} --model {config.model}.") from error


def choose_device(config: Namespace) -> None:
    """Put the device in place of the numbers that were asked for."""
    wanted = config.device
    config.use_data_parallel = False
    config.device = torch.device("cpu")
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        if min(wanted) < 0 or max(wanted) >= count or len(set(wanted)) < len(wanted):
            raise ConfigError(f"--device {' '.join(map(str, wanted))}: there are {count} devices, numbered from 0.")
        config.use_data_parallel = len(wanted) > 1
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, wanted))
        config.device = torch.device("cuda")


def explained(error: OSError | RuntimeError | MemoryError, folder: Path, go_on: str) -> Exception:
    """An error of the machine as one line with a next step; an error that is nobody's but ours stays as it is."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error):
        return RunError(
            f"out of memory ({one_line(error).partition('. ')[0]}). Try a smaller --batch_size with "
            f"--gradient_accumulation_steps, --amp bf16 or --gradient_checkpointing."
        )
    if isinstance(error, OSError):
        return RunError(f"{folder}: {one_line(error)}. {go_on} when that is mended.")
    if "DataLoader worker" in str(error):
        return RunError(
            f"{one_line(error)} (often for lack of memory). {go_on}, perhaps with a smaller --batch_size or fewer "
            f"workers in a new run."
        )
    return error
