"""Stand-in for WILDS's RandAugment, with fewer operations."""

import torch
from PIL import ImageEnhance, ImageOps


def _contrast(image, strength):
    return ImageEnhance.Contrast(image).enhance(strength)


def _brightness(image, strength):
    return ImageEnhance.Brightness(image).enhance(strength)


def _turn(image, degrees):
    return image.rotate(degrees)


def _solarize(image, threshold):
    return ImageOps.solarize(image, int(threshold))


FIX_MATCH_AUGMENTATION_POOL = [
    (_contrast, 0.3, 1.0),
    (_brightness, 0.3, 1.0),
    (_turn, -20, 20),
    (_solarize, 100, 255),
]


class RandAugment:
    def __init__(self, n, augmentation_pool):
        self.n = n
        self.augmentation_pool = augmentation_pool

    def __call__(self, img):
        for _ in range(self.n):
            operation, low, high = self.augmentation_pool[torch.randint(len(self.augmentation_pool), ())]
            img = operation(img, low + (high - low) * torch.rand(()).item())
        return img
