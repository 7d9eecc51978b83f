"""LISA: domain invariance by mixing examples of one class across domains."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from wilds_targeted import Kind, Parameter, TransformSpec, hookimpl

if TYPE_CHECKING:
    from wilds_targeted.augmentations.lisa import LisaCutMix, LisaMixUp

_PARAMETERS = (
    Parameter(
        "alpha",
        float,
        2.0,
        "The share of the own picture is Beta(alpha, alpha); the paper does not say, Yao et al. use 2.",
        minimum=0.001,
    ),
    Parameter(
        "domain",
        str,
        None,
        "The metadata field that tells the domain; by default the one that the data set is grouped by.",
    ),
)


@hookimpl
def register_transforms() -> list[TransformSpec]:
    """Both ways of mixing."""
    return [
        TransformSpec(
            name="lisa_mixup",
            build=build_mixup,
            kind=Kind.DOMAIN_INVARIANT,
            randomizes="everything that depends on the domain, robust and spurious alike, by blending across domains",
            preserves="what all examples of the class share (object)",
            summary="Blend the picture with one of the same class from another training domain.",
            parameters=_PARAMETERS,
            paper="section 5, domain invariance baselines: LISA (Yao et al., 2022), interpolation by MixUp",
        ),
        TransformSpec(
            name="lisa_cutmix",
            build=build_cutmix,
            kind=Kind.DOMAIN_INVARIANT,
            randomizes="what depends on the domain, robust and spurious alike, within a rectangle",
            preserves="what all examples of the class share (object), and everything outside of the rectangle",
            summary="Paste a rectangle of a picture of the same class from another training domain.",
            parameters=_PARAMETERS,
            paper="section 5, domain invariance baselines: LISA (Yao et al., 2022), interpolation by CutMix",
        ),
    ]


def build_mixup(dataset: Any, **parameters: Any) -> LisaMixUp:
    """Partners: the training examples of the class in other domains."""
    from wilds_targeted.augmentations.lisa import LisaMixUp

    return LisaMixUp(**_arguments(dataset, **parameters))


def build_cutmix(dataset: Any, **parameters: Any) -> LisaCutMix:
    """Partners: the training examples of the class in other domains."""
    from wilds_targeted.augmentations.lisa import LisaCutMix

    return LisaCutMix(**_arguments(dataset, **parameters))


def _arguments(dataset: Any, *, alpha: float, domain: str | None) -> dict[str, Any]:
    from wilds_targeted.augmentations.partners import Partners
    from wilds_targeted.errors import ConfigError
    from wilds_targeted.example import load_image, training_rows

    if not dataset.is_classification or dataset.y_size != 1:
        raise ConfigError(f"LISA mixes examples of one class, and {dataset.dataset_name} has no single class label.")
    column = _domain_column(dataset, domain)
    rows = training_rows(dataset)
    classes = np.asarray(dataset.y_array)[rows]
    domains = np.asarray(dataset.metadata_array[:, column])[rows]
    seen_in = Counter(label for label, _ in set(zip(classes.tolist(), domains.tolist(), strict=True)))
    partnered = sum(seen_in[label] > 1 for label in classes.tolist())
    field = dataset.metadata_fields[column]
    if not partnered:
        raise ConfigError(
            f"LISA: no class of {dataset.dataset_name} is in two domains of the training split, if the domain is "
            f"{field!r}: there is nobody to mix with. Give another --transform_kwargs domain=FIELD."
        )
    print(
        f"LISA: {partnered} of {len(rows)} training examples have a partner (the same class, another {field}); the "
        f"rest stay as they are.",
        file=sys.stderr,
    )
    return {
        "partners": Partners(rows, classes, domains),
        "domain_column": column,
        "load_image": functools.partial(load_image, dataset),
        "alpha": alpha,
    }


def _domain_column(dataset: Any, domain: str | None) -> int:
    """The domain's column in the metadata: the one asked for, else the one that the data set is grouped by."""
    from wilds_targeted.errors import ParameterError, closest
    from wilds_targeted.registry import get_registry

    fields: list[str] = dataset.metadata_fields
    if domain is None:
        traits = get_registry().datasets.get(dataset.dataset_name)
        grouped_by = [] if traits is None else traits.defaults.get("groupby_fields") or []
        candidates = [field for field in grouped_by if field != "y"]
        if len(candidates) != 1:
            raise ParameterError(
                f"LISA: which field of {dataset.dataset_name} tells the domain is not known. Give --transform_kwargs "
                f"domain=FIELD with one of {', '.join(fields)}."
            )
        domain = candidates[0]
    if domain not in fields:
        raise ParameterError(
            f"domain={domain}: {dataset.dataset_name} has no such field{closest(domain, fields)}. Its fields: "
            f"{', '.join(fields)}."
        )
    return fields.index(domain)
