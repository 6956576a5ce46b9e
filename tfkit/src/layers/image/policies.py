"""Layers that apply changes chosen at random to images."""

from __future__ import annotations

from typing import Any, Unpack

import tensorflow as tf

from tfkit.src.base.names import words
from tfkit.src.base.registry.constructors import given
from tfkit.src.layers.checks import check, is_integer
from tfkit.src.layers.image import factors
from tfkit.src.layers.image.affine import RandomRotation, RandomShear, RandomTranslation
from tfkit.src.layers.image.base import BoxedOptions, ImageLayer, ImageOptions, RandomImageLayer
from tfkit.src.layers.image.brightness import RandomBrightness, RandomContrast
from tfkit.src.layers.image.colours import RandomColorDegeneration
from tfkit.src.layers.image.filters import RandomSharpness
from tfkit.src.layers.image.histograms import Equalization
from tfkit.src.layers.image.tones import AutoContrast, RandomPosterization, Solarization
from tfkit.src.weights import random


class _Choosing(RandomImageLayer):
    """Applies layers that are chosen at run time.

    Args:
        factor: range of the strength of all of them, from 0 to 1.
        value_range: the smallest and the largest value of the images.
        interpolation: interpolation of the layers that move pixels.
        **kwargs: arguments of every random layer of images.
    """

    # The names of the layers, in the order of their indices.
    _choices: tuple[str, ...] = (
        *("random_shear", "random_translation", "random_rotation", "random_brightness"),
        *(
            "random_color_degeneration",
            "random_contrast",
            "random_sharpness",
            "random_posterization",
        ),
        *("solarization", "auto_contrast", "equalization"),
    )

    def __init__(
        self,
        factor: Any,
        value_range: Any,
        interpolation: str,
        seed: int | None,
        **kwargs: Unpack[ImageOptions],
    ) -> None:
        super().__init__(seed=seed, **kwargs)
        self.factor = factors.positive(self, factor=factor)
        self.value_range = factors.pair_of_values(self, value_range)
        self.interpolation = interpolation
        strength = self.factor
        every: dict[str, Any] = {"data_format": self.data_format, "dtype": self.dtype_policy}
        every["bounding_box_format"] = self.bounding_box_format
        drawing = {**every, "seed": self.seed}
        moving = {**drawing, "interpolation": interpolation}
        valued = {**drawing, "value_range": self.value_range}
        fixed = {**every, "value_range": self.value_range}
        self.random_shear = RandomShear(strength, strength, **moving)
        self.random_translation = RandomTranslation(strength, strength, **moving)
        self.random_rotation = RandomRotation(strength, **moving)
        self.random_brightness = RandomBrightness(strength, **valued)
        self.random_color_degeneration = RandomColorDegeneration(strength, **valued)
        self.random_contrast = RandomContrast(strength, **valued)
        self.random_sharpness = RandomSharpness(strength, **valued)
        self.solarization = Solarization(strength, strength, **valued)
        self.random_posterization = RandomPosterization(max(int(8 * strength[1]), 1), **valued)
        self.auto_contrast = AutoContrast(**fixed)
        self.equalization = Equalization(**fixed)

    def draw_all(self, images: Any, seed: Any, names: tuple[str, ...]) -> dict[str, Any]:
        """Returns the draws of each of the layers, by its name, whether or not it is chosen."""
        return {name: getattr(self, name).draw(images, seed) for name in names}

    def chosen(
        self, index: Any, names: tuple[str, ...], method: str, value: Any, drawn: Any
    ) -> Any:
        """Returns images, masks or boxes changed by a method of the layer of this number."""

        def branch(layer: ImageLayer, of_layer: Any) -> Any:
            def run() -> Any:
                changed = getattr(layer, method)(value, of_layer)
                # All branches must have the same dtypes.
                return tf.nest.map_structure(
                    lambda new, old: tf.cast(new, old.dtype), changed, value
                )

            return run

        branches = [branch(getattr(self, name), drawn[name]) for name in names]
        # Which layer runs is known only at run time: all are in the graph, and one of them runs.
        return tf.switch_case(index, branches)


class RandAugment(_Choosing):
    """While training, applies several changes to images, each chosen at random among eleven.

    The changes are the layers `RandomShear`, `RandomTranslation`, `RandomRotation`, `RandomBrightness`,
    `RandomColorDegeneration`, `RandomContrast`, `RandomSharpness`, `RandomPosterization`, `Solarization`,
    `AutoContrast` and `Equalization`. The images of a batch are changed in the same ways, each with draws of
    its own.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        num_ops: number of changes. Default: `2`.
        factor: range of the strength of a change: a pair of numbers from 0 to 1, or one number `f` for `(0,
            f)`. Default: `0.5`.
        interpolation: `"bilinear"` or `"nearest"`, for changes that move pixels. Default: `"bilinear"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range, a `value_range` that is not a pair, and a `num_ops` that is
            not an integer, or negative.

    Reference:
        Cubuk et al., "RandAugment: practical automated data augmentation with a reduced search space", 2019.

    Example:
        >>> RandAugment(seed=1)(tf.ones((2, 8, 8, 3))).shape
        TensorShape([2, 8, 8, 3])
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_ops: int = 2,
        factor: Any = 0.5,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "num_ops"))
        check(
            self,
            is_integer(num_ops) and num_ops >= 0,
            "num_ops",
            "an integer of 0 or more",
            num_ops,
        )
        self.num_ops = num_ops

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the indices of the layers, and the draws of each of the layers."""
        chosen = random.randint((self.num_ops,), 0, len(self._choices), seed=seed)
        return {
            "layer_idxes": chosen,
            # All layers draw, chosen or not, as in Keras: the next draws of a seed are then the
            # same.
            "transforms": self.draw_all(images, seed, self._choices),
            "input_shape": tuple(images.shape),
        }

    def _through_all(self, method: str, value: Any, drawn: Any) -> Any:
        for i in range(self.num_ops):
            index = drawn["layer_idxes"][i]
            value = self.chosen(index, self._choices, method, value, drawn["transforms"])
        return value

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the changed images."""
        return self._through_all("change", images, drawn)

    def change_masks(self, masks: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the masks, moved like the images."""
        return self._through_all("change_masks", masks, drawn)

    def change_boxes(self, boxes: dict[str, Any], drawn: Any) -> dict[str, Any]:
        """Returns the boxes, moved like the images."""
        return self._through_all("change_boxes", boxes, drawn)

    def sizes(self, drawn: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Returns height and width of the images before and after the change."""
        return self.random_shear.sizes(drawn["transforms"]["random_shear"])


class AugMix(_Choosing):
    """While training, mixes each image with the mean of several changed copies.

    The changes are chosen from the changes of `RandAugment`, the same ones for all images of a batch. Each
    change has its own draws.

    Args:
        value_range: the smallest and the largest value of the images. Default: `(0, 255)`.
        num_chains: number of changed images. Default: `3`.
        chain_depth: number of changes in a row. Default: `3`.
        factor: range of the strength of a change: a pair of numbers from 0 to 1, or one number `f` for `(0,
            f)`. Default: `0.3`.
        alpha: parameter of the distributions of the weights: Dirichlet for the changed images, beta for the
            image itself. Default: `1.0`.
        all_ops: whether brightness, colour, contrast and sharpness, which test sets for robustness change,
            are among the changes. Default: `True`.
        interpolation: `"bilinear"` or `"nearest"`, for changes that move pixels. Default: `"bilinear"`.
        seed: integer that the draws start from; `None` for one that is drawn when the layer is made.
        data_format: `"channels_last"` or `"channels_first"`; `None` for
            `tfkit.config.image_data_format()`.
        **kwargs: `bounding_box_format`, the format of boxes (`None`); and the arguments of every layer:
            `name`, `trainable`, `dtype`.

    Call arguments:
        data: images; or a dictionary of `"images"` and any of `"labels"`, `"bounding_boxes"` (a
            dictionary of `"boxes"` and `"labels"`) and `"segmentation_masks"`.
        training: whether to change anything. Default: `True`.

    Input shape: `(height, width, channels)` or `(batch, height, width, channels)`; channels before
        height with `data_format="channels_first"`.

    Output shape: The same as the input shape.

    Raises:
        ValueError: for a factor out of its range, a `value_range` that is not a pair, and numbers of changes
            that are not positive integers.

    Reference:
        Hendrycks et al., "AugMix: a simple data processing method to improve robustness and uncertainty",
        2019.

    Example:
        >>> AugMix(seed=1)(tf.ones((2, 8, 8, 3))).shape
        TensorShape([2, 8, 8, 3])
    """

    def __init__(
        self,
        value_range: Any = (0, 255),
        num_chains: int = 3,
        chain_depth: int = 3,
        factor: Any = 0.3,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: str = "bilinear",
        seed: int | None = None,
        data_format: str | None = None,
        **kwargs: Unpack[BoxedOptions],
    ) -> None:
        super().__init__(**given(locals(), "num_chains", "chain_depth", "alpha", "all_ops"))
        for name, value in (("num_chains", num_chains), ("chain_depth", chain_depth)):
            check(self, is_integer(value) and value > 0, name, "a positive integer", value)
        self.num_chains = num_chains
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops
        robust = words("""
            random_brightness random_color_degeneration random_contrast random_sharpness
        """)
        self._names = tuple(name for name in self._choices if all_ops or name not in robust)

    def draw(self, images: Any, seed: Any) -> Any:
        """Returns the weights, the indices of the layers, and the draws of each layer at each position."""
        weights = random.gamma((self.num_chains,), self.alpha, "float32", seed)
        own = random.beta((), self.alpha, self.alpha, "float32", seed)
        chosen = random.randint((self.num_chains, self.chain_depth), 0, len(self._names), seed=seed)
        return {
            # Gamma draws divided by their sum are a draw of a Dirichlet distribution (Hendrycks et
            # al., 2020).
            "chain_mixing_weights": weights / tf.reduce_sum(weights),
            "weight_sample": own,
            "layer_idxes": chosen,
            "chain_transforms": [
                [self.draw_all(images, seed, self._names) for _ in range(self.chain_depth)]
                for _ in range(self.num_chains)
            ],
        }

    def change(self, images: tf.Tensor, drawn: Any) -> tf.Tensor:
        """Returns the images, mixed with changed ones."""
        mixed = tf.zeros_like(images)
        for i, chain in enumerate(drawn["chain_transforms"]):
            changed = images
            for j, of_layers in enumerate(chain):
                index = drawn["layer_idxes"][i, j]
                changed = self.chosen(index, self._names, "change", changed, of_layers)
            mixed += tf.cast(drawn["chain_mixing_weights"][i], images.dtype) * changed
        own = tf.cast(drawn["weight_sample"], images.dtype)
        return own * images + (1 - own) * mixed
