"""iWildCam: Copy-Paste in three forms, and the Background Challenge's three versions of a picture."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted import DatasetSpec, Kind, Parameter, TransformSpec, hookimpl
from wilds_targeted.annotations.iwildcam import (
    ANNOTATIONS,
    MIN_CONFIDENCE,
    AnnotatedForegrounds,
    annotation_files,
    cameras,
    labels,
    open_table,
    root_of,
)
from wilds_targeted.augmentations.pools import EMPTY, PoolOfField, PoolOfLabel, SamePool
from wilds_targeted.example import load_image, training_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from wilds_targeted.annotations.locate import AnnotationFiles
    from wilds_targeted.annotations.table import AnnotationTable
    from wilds_targeted.augmentations.background_challenge import BackgroundChallenge
    from wilds_targeted.augmentations.copy_paste import CopyPaste

_PARAMETERS = (
    MIN_CONFIDENCE,
    Parameter("soft_edges", float, 0.0, "Blur radius of the mask's edge, in pixels; 0 for none.", 0, 32),
    ANNOTATIONS,
)


@hookimpl
def register_datasets() -> list[DatasetSpec]:
    """What the augmentations must know about WILDS's own iWildCam."""
    return [
        DatasetSpec(
            name="iwildcam",
            build=None,
            summary="Camera traps; the domain is the camera. WILDS's own data set.",
            defaults={
                "split_scheme": "official",
                "model": "resnet50",
                "model_kwargs": {"pretrained": True},
                "transform": "image_base",
                "target_resolution": (448, 448),
                "loss_function": "cross_entropy",
                "groupby_fields": ["location"],
                "val_metric": "F1-macro_all",
                "val_metric_decreasing": False,
                "algo_log_metric": "accuracy",
                "optimizer": "Adam",
                "scheduler": None,
                "lr": 3e-5,
                "weight_decay": 0.0,
                "batch_size": 16,
                "n_epochs": 12,
                "n_groups_per_batch": 2,
                "irm_lambda": 1.0,
                "coral_penalty_weight": 10.0,
                "dann_penalty_weight": 0.1,
                "dann_featurizer_lr": 3e-6,
                "dann_classifier_lr": 3e-5,
                "dann_discriminator_lr": 3e-5,
                "no_group_logging": True,
                "process_outputs_function": "multiclass_logits_to_pred",
            },
            flip=True,
        )
    ]


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """The three forms of Copy-Paste, and the three diagnostics."""
    return [
        TransformSpec(
            name="copypaste_samey",
            build=build_same_y,
            kind=Kind.TARGETED,
            randomizes="the camera's own scenery, light and tint (spurious)",
            preserves="the animal (object) and, roughly, its habitat (robust)",
            summary="Paste the animal onto an empty image of a training camera that observes the same species.",
            datasets=("iwildcam",),
            parameters=_PARAMETERS,
            paper="section 3.1, appendix B.1, Algorithm 1: Copy-Paste (Same Y)",
        ),
        TransformSpec(
            name="copypaste_all",
            build=build_all,
            kind=Kind.DOMAIN_INVARIANT,
            randomizes="the whole background: scenery (spurious) and habitat (robust) alike",
            preserves="the animal (object)",
            summary="Paste the animal onto an empty image of any training camera.",
            datasets=("iwildcam",),
            parameters=_PARAMETERS,
            paper="section 3.1, appendix B.1, Algorithm 1: Copy-Paste (All Backgrounds)",
        ),
        TransformSpec(
            name="copypaste_samecountry",
            build=build_same_country,
            kind=Kind.TARGETED,
            randomizes="the camera's own scenery, light and tint (spurious)",
            preserves="the animal (object) and the habitats of the camera's country (robust)",
            summary="Paste the animal onto an empty image of a training camera in the same country.",
            datasets=("iwildcam",),
            parameters=_PARAMETERS,
            paper="appendix B.1, comparison to swapping within countries: Copy-Paste (Same Country), an oracle",
        ),
        _diagnostic(
            "only_fg",
            build_only_fg,
            "nothing: it takes the background out",
            preserves="the animal (object)",
            summary="Show the animal on black.",
        ),
        _diagnostic(
            "no_fg",
            build_no_fg,
            "nothing: it takes the animal out, but for its outline",
            preserves="the background and the animal's outline",
            summary="Show the picture with the animal's pixels black.",
        ),
        _diagnostic(
            "only_bg_b",
            build_only_bg_b,
            "nothing: it takes the animal out, outline and all",
            preserves="the background outside the smallest rectangle around the animals",
            summary="Show the picture with the rectangle around the animals black.",
        ),
    ]


def _diagnostic(
    name: str, build: Callable[..., BackgroundChallenge], randomizes: str, *, preserves: str, summary: str
) -> TransformSpec:
    """One version of the Background Challenge, which evaluation shows, too."""
    return TransformSpec(
        name=name,
        build=build,
        kind=Kind.DIAGNOSTIC,
        randomizes=randomizes,
        preserves=preserves,
        summary=summary,
        datasets=("iwildcam",),
        parameters=(MIN_CONFIDENCE, ANNOTATIONS),
        paper="the authors' code; Xiao et al., Noise or Signal: The Role of Image Backgrounds (ICLR 2021)",
        in_evaluation=True,
    )


def build_only_fg(dataset: Any, **parameters: Any) -> BackgroundChallenge:
    """The animals of the annotations, on black."""
    return _challenge(dataset, "only_fg", **parameters)


def build_no_fg(dataset: Any, **parameters: Any) -> BackgroundChallenge:
    """The pictures without these animals' pixels."""
    return _challenge(dataset, "no_fg", **parameters)


def build_only_bg_b(dataset: Any, **parameters: Any) -> BackgroundChallenge:
    """The pictures without the rectangle around these animals."""
    return _challenge(dataset, "only_bg_b", **parameters)


def _challenge(dataset: Any, version: str, *, annotations: str | None, min_confidence: float) -> BackgroundChallenge:
    from wilds_targeted.augmentations.background_challenge import BackgroundChallenge, Version

    table = open_table(dataset, annotations, version)
    return BackgroundChallenge(AnnotatedForegrounds(table, min_confidence), Version(version))


def build_all(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: every empty image of the training split."""
    pools = {0: np.unique(cameras(dataset)[training_rows(dataset)])}
    return _build(dataset, open_table(dataset, annotations), pools, SamePool(), **parameters)


def build_same_y(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: empty training images of the cameras that observe the example's class in the training split."""
    rows = training_rows(dataset)
    seen = np.unique(np.stack([labels(dataset)[rows], cameras(dataset)[rows]]), axis=1)
    pools = {int(y): seen[1][seen[0] == y] for y in np.unique(seen[0])}
    return _build(dataset, open_table(dataset, annotations), pools, PoolOfLabel(), **parameters)


def build_same_country(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: empty training images of the cameras in the country of the example's camera."""
    table = open_table(dataset, annotations)
    country_of = _country_of_camera(dataset, table, annotation_files(dataset, annotations))
    names = sorted(set(country_of.values()))
    pool_of = {camera: names.index(country) for camera, country in country_of.items()}
    training = np.unique(cameras(dataset)[training_rows(dataset)]).tolist()
    pools = {key: [camera for camera in training if pool_of[camera] == key] for key in range(len(names))}
    column = dataset.metadata_fields.index("location")
    return _build(dataset, table, pools, PoolOfField(column, pool_of), **parameters)


def _country_of_camera(dataset: Any, table: AnnotationTable, files: AnnotationFiles) -> dict[int, str]:
    """The country of every camera; those without coordinates are in one, unknown."""
    from wilds_targeted.annotations.countries import UNKNOWN, countries_by_location, read_coordinates
    from wilds_targeted.annotations.locate import how_to_get
    from wilds_targeted.errors import AnnotationError

    if files.coordinates is None:
        raise AnnotationError(
            f"copypaste_samecountry needs the cameras' coordinates, and there is no gps_locations.json: "
            f"{how_to_get(root_of(dataset))}."
        )
    numbers, first = np.unique(cameras(dataset), return_index=True)
    locations = [table.location[row].decode() for row in first]
    country_of = countries_by_location(locations, read_coordinates(files.coordinates))
    known = [country for country in country_of.values() if country != UNKNOWN]
    if not known:
        raise AnnotationError(
            f"{files.coordinates}: has coordinates of none of the {len(numbers)} cameras (the first is "
            f"{locations[0]!r}); its keys must be the values of the column 'location' in metadata.csv"
        )
    print(f"Copy-Paste: {len(known)} of {len(numbers)} cameras are in {len(set(known))} countries.", file=sys.stderr)
    return {int(camera): country_of[location] for camera, location in zip(numbers, locations, strict=True)}


def _build(
    dataset: Any,
    table: AnnotationTable,
    pools: Mapping[int, Iterable[int]],
    pool_of: SamePool | PoolOfLabel | PoolOfField,
    *,
    min_confidence: float,
    soft_edges: float,
) -> CopyPaste:
    from wilds_targeted.augmentations.backgrounds import BackgroundPools
    from wilds_targeted.augmentations.copy_paste import CopyPaste

    rows = training_rows(dataset)
    is_empty = labels(dataset)[rows] == EMPTY
    empty, animals = rows[is_empty], rows[~is_empty]
    masks, boxes, neither = table.counts(animals, min_confidence)
    print(
        f"Copy-Paste: of {len(animals)} training images with an animal {masks} have a mask, {boxes} only boxes, "
        f"{neither} neither (left as they are); {len(empty)} empty backgrounds.",
        file=sys.stderr,
    )
    return CopyPaste(
        BackgroundPools(empty, cameras(dataset)[empty], pools),
        pool_of,
        AnnotatedForegrounds(table, min_confidence),
        functools.partial(load_image, dataset),
        soft_edges,
    )
