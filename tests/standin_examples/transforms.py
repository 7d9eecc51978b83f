"""Stand-in for WILDS's image transforms."""
# ruff: noqa: I001, F401
# The imports, their order and those left unused are WILDS's: the bridge's hooks depend on it.

import torchvision.transforms as transforms
from transformers import BertTokenizerFast, DistilBertTokenizerFast

from data_augmentation.randaugment import FIX_MATCH_AUGMENTATION_POOL, RandAugment

_DEFAULT_IMAGE_TENSOR_NORMALIZATION_MEAN = [0.485, 0.456, 0.406]
_DEFAULT_IMAGE_TENSOR_NORMALIZATION_STD = [0.229, 0.224, 0.225]


def initialize_transform(transform_name, config, dataset, is_training, additional_transform_name=None):
    if transform_name is None:
        return None

    original, target = dataset.original_resolution, config.target_resolution
    output = target if target is not None else original
    steps = []
    if transform_name == "image_base":
        if original is not None and len(set(original)) > 1:
            steps.append(transforms.CenterCrop(min(original)))
        if target is not None:
            steps.append(transforms.Resize(target))
    elif transform_name in ("image_resize", "image_resize_and_center_crop"):
        steps.append(transforms.Resize([int(side * config.resize_scale) for side in original]))
        if transform_name == "image_resize_and_center_crop":
            steps.append(transforms.CenterCrop(output))
    else:
        raise ValueError(f"The stand-in has no transform {transform_name}.")

    if additional_transform_name in ("randaugment", "weak"):
        steps += [transforms.RandomHorizontalFlip(), transforms.RandomCrop(output)]
    if additional_transform_name == "randaugment":
        steps.append(RandAugment(n=config.randaugment_n, augmentation_pool=FIX_MATCH_AUGMENTATION_POOL))

    normalize = transforms.Normalize(_DEFAULT_IMAGE_TENSOR_NORMALIZATION_MEAN, _DEFAULT_IMAGE_TENSOR_NORMALIZATION_STD)
    return transforms.Compose([*steps, transforms.ToTensor(), normalize])
