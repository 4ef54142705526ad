"""The digits that come with the package."""

from __future__ import annotations

import numpy as np

from fluidio.demo import load_digits, split_digits


def test_there_are_1797_images_of_64_pixels_from_0_to_1() -> None:
    images, labels = load_digits()
    assert (images.shape, images.dtype.name) == ((1797, 64), "float32")
    assert (labels.shape, labels.dtype.name) == ((1797,), "int64")
    assert (images.min(), images.max()) == (0.0, 1.0)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_the_first_digit_looks_like_a_zero() -> None:
    images, labels = load_digits()
    picture = (images[0].reshape(8, 8) * 16).astype(int)
    assert labels[0] == 0
    assert picture[0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]
    assert picture[3:5, 3:5].max() <= 1  # a hole in the middle


def test_a_third_is_held_out_and_nothing_is_lost() -> None:
    (images, labels), (other_images, other_labels) = split_digits()
    assert (len(labels), len(other_labels)) == (1198, 599)
    everything = np.sort(np.concatenate([images, other_images]).sum(axis=1))
    np.testing.assert_array_equal(everything, np.sort(load_digits()[0].sum(axis=1)))
    assert np.bincount(other_labels).min() > 40
