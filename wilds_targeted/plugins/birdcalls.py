"""BirdCalls: the data set, Copy-Paste + Jitter in two forms, and the augmentations of sound."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted import DatasetSpec, Kind, Parameter, TransformSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wilds_targeted.augmentations.chain import Chain
    from wilds_targeted.augmentations.noise_reduction import NoiseReduction
    from wilds_targeted.augmentations.pools import PoolOfField, SamePool
    from wilds_targeted.augmentations.random_pass import RandomPass
    from wilds_targeted.augmentations.sounds import LoadSound
    from wilds_targeted.augmentations.spec_augment import SpecAugment
    from wilds_targeted.foreground import Foreground

_HUE = Parameter("hue", float, 0.5, "Largest turn of the hue after the paste, as a share of a full turn.", 0, 0.5)
_SATURATION = Parameter(
    "saturation",
    float,
    0.0,
    "How far the saturation's factor may be from 1; the authors' code has 2, the paper speaks of hue.",
    minimum=0,
)
_BASELINES = "section 5 and appendix on hyperparameters, BirdCalls"


@hookimpl
def register_datasets() -> list[DatasetSpec]:
    """The data set with the paper's settings.

    Model and batch size are the paper's (appendix E, hyperparameters); rates, weight decay, epochs and the metric for
    selection are those of the authors' code for its unaugmented runs, since the paper gives only search ranges.
    """
    return [
        DatasetSpec(
            "birdcalls",
            build_dataset,
            "Five-second bird calls as mel spectrograms; the domain is the microphone.",
            {
                "split_scheme": "official",
                "model": "efficientnet_b0",
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
                "coral_penalty_weight": 0.1,
                "dann_penalty_weight": 2.984284997073748,
                "dann_featurizer_lr": 0.0005208790981260641,
                "dann_classifier_lr": 0.005208790981260641,
                "dann_discriminator_lr": 0.00011898360266164227,
            },
            flip=True,
        )
    ]


def build_dataset(**keywords: Any) -> Any:
    """The data set; its class is imported only when one is built."""
    from birdcalls_dataset.dataset import BirdCallsDataset

    return BirdCallsDataset(**keywords)


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """Both forms of Copy-Paste + Jitter, and three augmentations of sound."""
    return [
        TransformSpec(
            name="copypaste_sameregion",
            build=build_same_region,
            kind=Kind.TARGETED,
            randomizes="the microphone's noise, and by the hue its gain (spurious)",
            preserves="the call (object) and the sounds of the region's habitat (robust)",
            summary="Paste the call onto an empty training clip of the same region, then turn the hue.",
            datasets=("birdcalls",),
            parameters=(_HUE, _SATURATION),
            paper="section 3.1, appendix B.3, Algorithm 1: Copy-Paste + Jitter (Region)",
        ),
        TransformSpec(
            name="copypaste_allregions",
            build=build_all_regions,
            kind=Kind.DOMAIN_INVARIANT,
            randomizes="the whole background: microphone (spurious) and habitat (robust) alike; by the hue the gain",
            preserves="the call (object)",
            summary="Paste the call onto an empty training clip of any region, then turn the hue.",
            datasets=("birdcalls",),
            parameters=(_HUE, _SATURATION),
            paper="appendix B.3, Algorithm 1, and the habitat ablation of section 5: Copy-Paste + Jitter (All Regions)",
        ),
        TransformSpec(
            name="specaugment",
            build=build_spec_augment,
            kind=Kind.GENERIC,
            randomizes="which mel bands and which moments are heard (noise)",
            preserves="everything outside of the silenced bands and moments",
            summary="Silence k intervals of at most F mel bands and k of at most T frames.",
            datasets=("birdcalls",),
            parameters=(
                Parameter("k", int, 1, "How many intervals on each axis.", 1, 20, search="k in {1, 2}"),
                Parameter("F", int, 80, "Largest width in mel bands, of 128.", 1, 128, search="F in {10, …, 100}"),
                Parameter("T", int, 80, "Largest width in frames of 16 ms.", 1, 313, search="T in {10, …, 100}"),
            ),
            paper=f"{_BASELINES}: SpecAugment (Park et al., 2019)",
        ),
        TransformSpec(
            name="randompass",
            build=build_random_pass,
            kind=Kind.GENERIC,
            randomizes="how loud low frequencies are against high ones (noise)",
            preserves="when and at which frequencies something sounds",
            summary="Filter the clip by a low-pass or high-pass filter at a random frequency.",
            datasets=("birdcalls",),
            parameters=(
                Parameter("lowpass_p", float, 0.5, "Probability of the low-pass filter; else high-pass.", 0, 1),
                Parameter("min_hz", float, 10.0, "Lowest cutoff in hertz; the authors' code has 10.", 1, 16_000),
                Parameter("max_hz", float, 990.0, "Highest cutoff in hertz; the authors' code has 990.", 1, 16_000),
                Parameter("order", int, 1, "The Butterworth filter's order: 6 dB an octave for each.", 1, 8),
            ),
            paper=f"{_BASELINES}: Random Pass",
        ),
        TransformSpec(
            name="noisereduce",
            build=build_noise_reduction,
            kind=Kind.GENERIC,
            randomizes="which empty clip's noise is taken out of the clip",
            preserves="what is louder than the microphone's usual noise: the call",
            summary="Gate the clip's spectrum against an empty training clip of the same microphone.",
            datasets=("birdcalls",),
            parameters=(Parameter("smooth_hz", float, 500.0, "Over how many hertz the gate is smoothed.", 63, 16_000),),
            paper=f"{_BASELINES}: Noise Reduction (Sainburg et al., 2020)",
        ),
    ]


def build_same_region(dataset: Any, *, hue: float, saturation: float) -> Chain:
    """Backgrounds: the empty training clips of the region's microphones."""
    from wilds_targeted.augmentations.pools import PoolOfField

    regions = np.unique(_field(dataset, "region")).tolist()
    return _copy_paste(
        dataset, {region: [region] for region in regions}, PoolOfField(_column(dataset, "region")), hue, saturation
    )


def build_all_regions(dataset: Any, *, hue: float, saturation: float) -> Chain:
    """Backgrounds: every empty training clip."""
    from wilds_targeted.augmentations.pools import SamePool

    pools = {0: np.unique(_field(dataset, "region")).tolist()}
    return _copy_paste(dataset, pools, SamePool(), hue, saturation)


def _copy_paste(
    dataset: Any,
    pools: Mapping[int, Iterable[int]],
    pool_of: SamePool | PoolOfField,
    hue: float,
    saturation: float,
) -> Chain:
    from wilds_targeted.augmentations.backgrounds import BackgroundPools
    from wilds_targeted.augmentations.chain import Chain
    from wilds_targeted.augmentations.color_jitter import ColorJitter
    from wilds_targeted.augmentations.copy_paste import CopyPaste
    from wilds_targeted.example import load_image

    empty = _empty_training_rows(dataset)
    calls = CallBoxes(dataset)
    print(
        f"Copy-Paste: {calls.count()} of {len(dataset)} clips have a call's box; {_backgrounds(empty)}.",
        file=sys.stderr,
    )
    backgrounds = BackgroundPools(empty, _field(dataset, "region")[empty], pools)
    paste = CopyPaste(backgrounds, pool_of, calls, functools.partial(load_image, dataset))
    return Chain([paste, ColorJitter(hue, saturation)])


def _backgrounds(empty: Any) -> str:
    return (
        f"{len(empty)} empty training clips to paste onto" if len(empty) else "no empty training clip: none is pasted"
    )


class CallBoxes:
    """Where in a clip's picture its call is: the time-frequency box, whole.

    Args:
        dataset: A `BirdCallsDataset`.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        """The box's pixels in the picture of that row, which has that (width, height); None where there is no box."""
        from PIL import Image

        from wilds_targeted.audio.axes import pixel_box
        from wilds_targeted.foreground import Foreground

        relative = self.dataset.get_box(row)
        if relative is None:
            return None
        left, top, right, bottom = box = pixel_box(relative, size)
        if right <= left or bottom <= top:
            return None
        return Foreground(Image.new("1", (right - left, bottom - top), 1), box, size)

    def count(self) -> int:
        """How many clips have one."""
        return sum(self.dataset.get_box(row) is not None for row in range(len(self.dataset)))


def build_spec_augment(dataset: Any, *, k: int, F: int, T: int) -> SpecAugment:
    """It reads the clips' sound."""
    from wilds_targeted.augmentations.spec_augment import SpecAugment

    return SpecAugment(_sounds(dataset), k, F, T)


def build_random_pass(dataset: Any, *, lowpass_p: float, min_hz: float, max_hz: float, order: int) -> RandomPass:
    """It reads the clips' sound."""
    from wilds_targeted.augmentations.random_pass import RandomPass
    from wilds_targeted.errors import ParameterError

    if min_hz > max_hz:
        raise ParameterError(f"randompass: min_hz={min_hz:g} is above max_hz={max_hz:g}; give an interval.")
    return RandomPass(_sounds(dataset), lowpass_p, min_hz, max_hz, order)


def build_noise_reduction(dataset: Any, *, smooth_hz: float) -> NoiseReduction:
    """Noise: the empty training clips of the clip's own microphone."""
    from wilds_targeted.augmentations.backgrounds import BackgroundPools
    from wilds_targeted.augmentations.noise_reduction import NoiseReduction
    from wilds_targeted.augmentations.pools import PoolOfField
    from wilds_targeted.example import training_rows

    empty = _empty_training_rows(dataset)
    microphones = _field(dataset, "microphone")
    pools = {int(microphone): [int(microphone)] for microphone in np.unique(microphones[empty])}
    without = len(set(microphones[training_rows(dataset)].tolist()) - set(pools))
    if without:
        print(
            f"Noise reduction: {without} training microphones have no empty clip; theirs stay as they are.",
            file=sys.stderr,
        )
    return NoiseReduction(
        BackgroundPools(empty, microphones[empty], pools),
        PoolOfField(_column(dataset, "microphone")),
        _sounds(dataset),
        smooth_hz,
    )


def _sounds(dataset: Any) -> LoadSound:
    """How clips are read; the filters of their spectrograms are made here, and not in every worker."""
    from wilds_targeted.audio.axes import SAMPLE_RATE
    from wilds_targeted.audio.mel import filter_blocks

    filter_blocks(SAMPLE_RATE)
    load: LoadSound = dataset.get_audio
    return load


def _empty_training_rows(dataset: Any) -> Any:
    from wilds_targeted.augmentations.pools import EMPTY
    from wilds_targeted.example import training_rows

    rows = training_rows(dataset)
    return rows[np.asarray(dataset.y_array)[rows] == EMPTY]


def _column(dataset: Any, field: str) -> int:
    column: int = dataset.metadata_fields.index(field)
    return column


def _field(dataset: Any, field: str) -> Any:
    return np.asarray(dataset.metadata_array[:, _column(dataset, field)])
