"""iWildCam: Copy-Paste onto all backgrounds, those of cameras that observe the same species, those of the country."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted import DatasetSpec, Example, Kind, Parameter, TransformSpec, hookimpl
from wilds_targeted.example import load_example

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray
    from PIL import Image

    from wilds_targeted.annotations.locate import AnnotationFiles
    from wilds_targeted.annotations.table import AnnotationTable
    from wilds_targeted.augmentations.copy_paste import CopyPaste
    from wilds_targeted.foreground import Foreground

EMPTY = 0
"""The class of images without an animal."""

_PARAMETERS = (
    Parameter(
        "min_confidence",
        float,
        0.5,
        "Detections below this confidence of MegaDetector's do not count, as masks and as boxes.",
        minimum=0.1,
        maximum=1,
    ),
    Parameter("soft_edges", float, 0.0, "Blur radius of the mask's edge, in pixels; 0 for none.", 0, 32),
    Parameter(
        "annotations",
        str,
        None,
        "Folder with instance_masks/ and the detections' JSON file; looked for under the root directory by default.",
    ),
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
    """The three forms of Copy-Paste."""
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
    ]


def build_all(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: every empty image of the training split."""
    pools = {0: np.unique(_camera_of_row(dataset)[_training_rows(dataset)])}
    return _build(dataset, _table(dataset, _files(dataset, annotations)), pools, SamePool(), **parameters)


def build_same_y(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: empty training images of the cameras that observe the example's class in the training split."""
    rows = _training_rows(dataset)
    seen = np.unique(np.stack([_labels(dataset)[rows], _camera_of_row(dataset)[rows]]), axis=1)
    pools = {int(y): seen[1][seen[0] == y] for y in np.unique(seen[0])}
    return _build(dataset, _table(dataset, _files(dataset, annotations)), pools, PoolOfLabel(), **parameters)


def build_same_country(dataset: Any, *, annotations: str | None, **parameters: Any) -> CopyPaste:
    """Backgrounds: empty training images of the cameras in the country of the example's camera."""
    files = _files(dataset, annotations)
    table = _table(dataset, files)
    country_of = _country_of_camera(dataset, table, files)
    names = sorted(set(country_of.values()))
    pool_of = {camera: names.index(country) for camera, country in country_of.items()}
    training = np.unique(_camera_of_row(dataset)[_training_rows(dataset)]).tolist()
    pools = {key: [camera for camera in training if pool_of[camera] == key] for key in range(len(names))}
    column = dataset.metadata_fields.index("location")
    return _build(dataset, table, pools, PoolOfCamera(column, pool_of), **parameters)


def _country_of_camera(dataset: Any, table: AnnotationTable, files: AnnotationFiles) -> dict[int, str]:
    """The country of every camera; those without coordinates are in one, unknown."""
    from wilds_targeted.annotations.countries import UNKNOWN, countries_by_location, read_coordinates
    from wilds_targeted.annotations.locate import how_to_get
    from wilds_targeted.errors import AnnotationError

    if files.coordinates is None:
        raise AnnotationError(
            f"copypaste_samecountry needs the cameras' coordinates, and there is no gps_locations.json: "
            f"{how_to_get(_root(dataset))}."
        )
    cameras, first = np.unique(_camera_of_row(dataset), return_index=True)
    locations = [table.location[row].decode() for row in first]
    country_of = countries_by_location(locations, read_coordinates(files.coordinates))
    known = [country for country in country_of.values() if country != UNKNOWN]
    if not known:
        raise AnnotationError(
            f"{files.coordinates}: has coordinates of none of the {len(cameras)} cameras (the first is "
            f"{locations[0]!r}); its keys must be the values of the column 'location' in metadata.csv"
        )
    print(f"Copy-Paste: {len(known)} of {len(cameras)} cameras are in {len(set(known))} countries.", file=sys.stderr)
    return {int(camera): country_of[location] for camera, location in zip(cameras, locations, strict=True)}


class SamePool:
    """Every animal draws from one pool."""

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty image."""
        return None if int(example.y) == EMPTY else 0


class PoolOfLabel:
    """An animal draws from the pool of its class."""

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty image."""
        label = int(example.y)
        return None if label == EMPTY else label


class PoolOfCamera:
    """An animal draws from the pool to which its camera belongs.

    Args:
        column: The camera's column in the metadata.
        pools: For each camera its pool.
    """

    def __init__(self, column: int, pools: dict[int, int]) -> None:
        self.column = column
        self.pools = pools

    def __call__(self, example: Example) -> int | None:
        """The pool's key; None for an empty image."""
        return None if int(example.y) == EMPTY else self.pools[int(example.metadata[self.column])]


class AnnotatedForegrounds:
    """The animals' masks; where an image has none, its boxes; where it has neither, nothing.

    Args:
        table: The annotations, row by row.
        min_confidence: Detections below it do not count.
    """

    def __init__(self, table: AnnotationTable, min_confidence: float) -> None:
        self.table = table
        self.min_confidence = min_confidence

    def foreground(self, row: int, size: tuple[int, int]) -> Foreground | None:
        """The animals in the image of that row; None where nobody knows them."""
        from wilds_targeted.annotations.masks import boxes_mask, load_mask

        path = self.table.mask_path(row)
        if path is not None:
            wanted = self.table.instances(row, self.min_confidence) if self.table.has_detections else None
            mask = load_mask(path, size, wanted, int(self.table.listed[row]))
            if mask is not None:
                return mask
        return boxes_mask(self.table.boxes(row, self.min_confidence), size)


def _build(
    dataset: Any,
    table: AnnotationTable,
    pools: Mapping[int, Iterable[int]],
    pool_of: SamePool | PoolOfLabel | PoolOfCamera,
    *,
    min_confidence: float,
    soft_edges: float,
) -> CopyPaste:
    from wilds_targeted.augmentations.backgrounds import BackgroundPools
    from wilds_targeted.augmentations.copy_paste import CopyPaste

    rows = _training_rows(dataset)
    labels = _labels(dataset)
    empty = rows[labels[rows] == EMPTY]
    animals = rows[labels[rows] != EMPTY]
    masks, boxes, neither = table.counts(animals, min_confidence)
    print(
        f"Copy-Paste: of {len(animals)} training images with an animal {masks} have a mask, {boxes} only boxes, "
        f"{neither} neither (left as they are); {len(empty)} empty backgrounds.",
        file=sys.stderr,
    )
    return CopyPaste(
        BackgroundPools(empty, _camera_of_row(dataset)[empty], pools),
        pool_of,
        AnnotatedForegrounds(table, min_confidence),
        functools.partial(_load_image, dataset),
        soft_edges,
    )


def _load_image(dataset: Any, row: int) -> Image.Image:
    image: Image.Image = load_example(dataset, row).x
    return image


def _labels(dataset: Any) -> NDArray[np.int64]:
    return np.asarray(dataset.y_array, dtype=np.int64)


def _camera_of_row(dataset: Any) -> NDArray[np.int64]:
    return np.asarray(dataset.metadata_array[:, dataset.metadata_fields.index("location")], dtype=np.int64)


def _training_rows(dataset: Any) -> NDArray[np.int64]:
    return np.flatnonzero(np.asarray(dataset.split_array) == dataset.split_dict["train"])


def _root(dataset: Any) -> Path:
    return Path(dataset.data_dir).parent


def _files(dataset: Any, annotations: str | None) -> AnnotationFiles:
    from wilds_targeted.annotations.locate import locate

    return locate(Path(annotations) if annotations else _root(dataset))


def _table(dataset: Any, files: AnnotationFiles) -> AnnotationTable:
    from wilds_targeted.annotations.locate import how_to_get
    from wilds_targeted.annotations.table import AnnotationTable
    from wilds_targeted.errors import AnnotationError

    if files.masks is None and files.detections is None:
        raise AnnotationError(
            f"Copy-Paste needs the animals' masks or boxes, and there is neither instance_masks/ nor a file of "
            f"detections: {how_to_get(_root(dataset))}."
        )
    table = AnnotationTable.open(Path(dataset.data_dir) / "metadata.csv", files)
    if len(table) != len(dataset):
        raise AnnotationError(
            f"{Path(dataset.data_dir) / 'metadata.csv'} has {len(table)} rows, but the data set {len(dataset)}"
        )
    return table
