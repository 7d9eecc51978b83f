"""Coins, flip, order and randomness of what a loader calls."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from wilds_targeted import Augmentation, Example, Kind, Level, Parameter, TransformSpec, get_dataset
from wilds_targeted.choice import check_parameters, parse_assignments
from wilds_targeted.errors import ConfigError, ParameterError
from wilds_targeted.pipeline import Pipeline, build_pipeline, image_base
from wilds_targeted.registry import get_registry


class Brighten(Augmentation):
    """Adds a number in every call, and notes what it drew."""

    def __init__(self, amount: int, draws: int = 1) -> None:
        self.amount = amount
        self.draws = draws

    def draw(self, example: Example, rng: np.random.Generator) -> float:
        return [rng.random() for _ in range(self.draws)][-1]

    def apply(self, example: Example, drawn: float) -> Image.Image:
        return example.x.point(lambda value: value + self.amount)


def example() -> Example:
    pixels = np.array([[[10], [20]]], dtype=np.uint8).repeat(3, axis=2)
    return Example(Image.fromarray(pixels), 1, None, 0)


def pixel(image: Image.Image) -> list[int]:
    return np.asarray(image)[0, :, 0].tolist()


def outcomes(pipeline: Pipeline, calls: int) -> list[list[int]]:
    torch.manual_seed(0)
    return [pixel(pipeline(example())) for _ in range(calls)]


def test_augmentation_and_flip_toss_coins_of_their_own() -> None:
    kinds, counts = np.unique(outcomes(Pipeline([Brighten(5)], p=0.75, flip=True), 4000), axis=0, return_counts=True)
    shares = {tuple(kind): count / 4000 for kind, count in zip(kinds.tolist(), counts, strict=True)}
    expected = {(15, 25): 0.75 * 0.25, (25, 15): 0.75 * 0.75, (10, 20): 0.25 * 0.25, (20, 10): 0.25 * 0.75}
    assert shares == pytest.approx(expected, abs=0.03)


def test_the_coins_do_not_depend_on_how_much_is_drawn() -> None:
    few = outcomes(Pipeline([Brighten(5, draws=1)], p=0.5, flip=True), 50)
    many = outcomes(Pipeline([Brighten(5, draws=9)], p=0.5, flip=True), 50)
    assert few == many


def test_two_augmentations_apply_in_order() -> None:
    assert outcomes(Pipeline([Brighten(5), Brighten(1)], p=1.0), 1) == [[16, 26]]


def test_each_call_takes_one_draw_from_torch() -> None:
    torch.manual_seed(0)
    Pipeline([Brighten(5, draws=7)])(example())
    after = torch.rand(1)
    torch.manual_seed(0)
    torch.empty((), dtype=torch.int64).random_()
    assert torch.equal(torch.rand(1), after)


def test_the_base_steps_come_last() -> None:
    torch.manual_seed(0)
    assert Pipeline([Brighten(5)], base=lambda image: ("base", pixel(image)))(example()) == ("base", [15, 25])


def test_image_base_by_hand() -> None:
    class Dataset:
        original_resolution = None

    class Wide:
        original_resolution = (4, 2)

    x = Image.fromarray(np.full((2, 2, 3), 51, dtype=np.uint8))
    expected = [(51 / 255 - mean) / std for mean, std in [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]]
    output = image_base(Dataset(), (6, 4))(x)
    assert output.shape == (3, 6, 4)
    assert output[:, 0, 0].tolist() == pytest.approx(expected, abs=1e-6)
    cropped = image_base(Wide(), None)(Image.new("RGB", (2, 4)))
    assert cropped.shape == (3, 2, 2)


SPEC = TransformSpec(
    "shine",
    lambda dataset, alpha, k: Brighten(k),
    Kind.GENERIC,
    "brightness",
    "all else",
    datasets=("iwildcam",),
    parameters=(Parameter("alpha", float, 0.2, "Strength.", 0, 1), Parameter("k", int, 1, "How many.", 1)),
)


def test_parameters_are_converted_and_defaults_filled_in() -> None:
    assert check_parameters([SPEC], "iwildcam", 1.0, {"alpha": "0.5"}) == [{"alpha": 0.5, "k": 1}]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"alhpa": "1"},
            r"no parameter 'alhpa' \(did you mean 'alpha'\?\). Allowed: alpha \(a number from 0 to 1; def",
        ),
        ({"alpha": "2"}, r"^transform 'shine': alpha=2: allowed is a number from 0 to 1$"),
        ({"alpha": "much"}, "alpha=much: allowed is a number"),
        ({"alpha": "nan"}, "alpha=nan: allowed is a number"),
        ({"alpha": "inf"}, "alpha=inf: allowed is a number"),
        ({"k": "1.5"}, "k=1.5: allowed is an integer of at least 1"),
        ({"k": 1.5}, "k=1.5: allowed is an integer of at least 1"),
        ({"k": True}, "k=True: allowed is an integer"),
    ],
)
def test_wrong_parameters(values: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check_parameters([SPEC], "iwildcam", 1.0, values)


def test_what_can_not_be_combined() -> None:
    with pytest.raises(ConfigError, match="serves iwildcam, not 'camelyon17'"):
        check_parameters([SPEC], "camelyon17", 1.0, {})
    with pytest.raises(ParameterError, match=r"transform_p=1\.5: a probability from 0 to 1"):
        check_parameters([SPEC], "iwildcam", 1.5, {})
    batch = TransformSpec("mix", SPEC.build, Kind.GENERIC, "a", "b", level=Level.BATCH)
    with pytest.raises(ConfigError, match="a batch can be mixed once: give one of mix and mix, not both"):
        check_parameters([batch, batch], "iwildcam", 1.0, {})


def test_with_two_transforms_each_gets_its_own_parameters() -> None:
    other = TransformSpec("o", SPEC.build, Kind.GENERIC, "a", "b", parameters=(Parameter("s", float, 0.0, "Size."),))
    assert check_parameters([SPEC, other], "iwildcam", 1.0, {"s": 2, "k": 3}) == [{"alpha": 0.2, "k": 3}, {"s": 2.0}]
    with pytest.raises(ParameterError, match="neither of the transforms 'shine' and 'o' has a parameter 'z'"):
        check_parameters([SPEC, other], "iwildcam", 1.0, {"z": 1})


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b=x=y"]) == {"a": "1", "b": "x=y"}
    for wrong in (["a"], ["=1"]):
        with pytest.raises(ParameterError, match="takes name=value"):
            parse_assignments(wrong)
    with pytest.raises(ParameterError, match="sets 'a' twice"):
        parse_assignments(["a=1", "a=2"])


def test_the_flip_accompanies_augmentations_on_iwildcam_and_birdcalls_alone() -> None:
    assert {name for name, spec in get_registry().datasets.items() if spec.flip} == {"iwildcam", "birdcalls"}


@pytest.mark.parametrize(("name", "fixture"), [("iwildcam", "miniature"), ("camelyon17", "camelyon_miniature")])
@pytest.mark.parametrize("transform", ["randaugment", "mixup"])
def test_the_pipeline_flips_where_the_data_set_says_so(
    transform: str, name: str, fixture: str, request: pytest.FixtureRequest
) -> None:
    dataset = get_dataset(name, root_dir=request.getfixturevalue(fixture))
    assert build_pipeline([transform], dataset, base=None).flip is (name == "iwildcam")
