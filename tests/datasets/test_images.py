"""Images as files, and as patches and back."""

import contextlib
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.image import extract_patches_2d, reconstruct_from_patches_2d

from latentia.datasets import image_from_patches, image_patches, read_image, read_patches, read_pictures
from latentia.datasets.images import image_files, is_image, noise_level, pixel_names, write_image
from latentia.exceptions import DroppedDataWarning, FileNotice, LatentiaError, MissingExtraError

Image = pytest.importorskip("PIL.Image", reason="images need Pillow")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# --- patches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(17, 23), (17, 23, 3)])
def test_patches_are_those_of_scikit_learn(rng, shape):
    image = rng.random(shape)
    patches = image_patches(image, 5)
    expected = extract_patches_2d(image, (5, 5))
    np.testing.assert_array_equal(patches, expected.reshape(len(expected), -1))
    changed = patches + rng.standard_normal(patches.shape)
    found = image_from_patches(changed, shape)
    np.testing.assert_allclose(found, reconstruct_from_patches_2d(changed.reshape(expected.shape), shape))


@pytest.mark.parametrize("stride", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("shape", [(17, 23), (17, 23, 3), (5, 5), (5, 40)])
def test_an_image_is_that_of_its_patches_with_any_stride(rng, shape, stride):
    image = rng.random(shape)
    stride = min(stride, 5)
    patches = image_patches(image, 5, stride=stride)
    np.testing.assert_allclose(image_from_patches(patches, shape, stride=stride), image)


def test_patches_are_drawn_once_each_and_in_order(rng):
    image = rng.random((30, 40))
    every = image_patches(image, 8)
    some = image_patches(image, 8, n_patches=100, random_state=3)
    places = [int(np.flatnonzero((every == row).all(axis=1))[0]) for row in some]
    assert places == sorted(set(places))
    assert len(places) == 100
    np.testing.assert_array_equal(some, image_patches(image, 8, n_patches=100, random_state=3))
    assert not np.array_equal(some, image_patches(image, 8, n_patches=100, random_state=4))
    np.testing.assert_array_equal(image_patches(image, 8, n_patches=10**6), every)


def test_several_images_are_drawn_from_alike(rng):
    images = [np.full((20, 20), 1.0), np.full((20, 60), 2.0), np.full((9, 8), 3.0)]
    every = image_patches(images, 8)
    assert np.bincount(every[:, 0].astype(int)).tolist() == [0, 13 * 13, 13 * 53, 2]
    some = image_patches(images, 8, n_patches=400)
    assert len(some) == 400
    assert (some == some[:, :1]).all()  # no patch is of two images
    assert 0.7 < (some[:, 0] == 2).mean() < 0.9


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.ones((4, 9)), {"size": 5}, "size=5: expected images of at least 5 x 5 pixels, found 4 x 9"),
        (np.ones((9, 9)), {"size": 0}, "size=0: expected a whole number of at least 1"),
        (np.ones((9, 9)), {"stride": 0}, "stride=0: expected a whole number"),
        (np.ones((9, 9)), {"n_patches": 0}, "n_patches=0: expected a whole number"),
        ([], {}, "Expected at least one image"),
        ([np.ones(9)], {}, r"An image has the shape \(9,\)"),
        ([np.ones((9, 9)), np.ones((9, 9, 3))], {}, "Images have 1 and 3 channels"),
        (np.full((9, 9), np.nan), {}, "NaN or infinite"),
    ],
)
def test_images_without_patches(images, options, message):
    with pytest.raises(LatentiaError, match=message):
        image_patches(images, **options)


@pytest.mark.parametrize(
    ("patches", "shape", "message"),
    [
        (np.ones((4, 24)), (6, 6), "24 columns, which are no square of grey pixels"),
        (np.ones((4, 25)), (6, 6, 3), "no square of 3 channels"),
        (np.ones((4, 25)), (4, 6), "patches are 5 x 5 pixels, and the image 4 x 6"),
        (
            np.ones((3, 25)),
            (6, 6),
            "patches: expected all 4 patches of 5 x 5 with stride 1 of an image of 6 x 6 pixels, found 3",
        ),
    ],
)
def test_patches_of_no_image(patches, shape, message):
    with pytest.raises(LatentiaError, match=message):
        image_from_patches(patches, shape)


def test_the_level_of_noise(rng):
    smooth = np.add.outer(np.sin(np.arange(200) / 30), np.arange(180) / 400)
    noisy = smooth + 0.07 * rng.standard_normal(smooth.shape)
    assert noise_level(noisy) == pytest.approx(0.07, rel=0.05)
    assert noise_level(smooth) < 1e-3


# --- files ----------------------------------------------------------------------------------------------------------


def test_grey_and_colour(rng, tmp_path):
    grey, colour = rng.integers(0, 256, (6, 7)), rng.integers(0, 256, (6, 7, 3))
    for name, values in (("grey.png", grey), ("colour.TIFF", colour)):
        Image.fromarray(values.astype(np.uint8)).save(tmp_path / name)
        np.testing.assert_allclose(read_image(tmp_path / name), values / 255)
    assert read_image(tmp_path / "colour.TIFF", grey=True).shape == (6, 7)
    Image.fromarray(np.repeat(grey[:, :, None], 3, axis=2).astype(np.uint8)).save(tmp_path / "same.png")
    np.testing.assert_allclose(
        read_image(tmp_path / "same.png"), grey / 255
    )  # a grey picture that was saved as colours
    Image.fromarray(grey > 100).save(tmp_path / "bits.png")
    np.testing.assert_array_equal(read_image(tmp_path / "bits.png"), grey > 100)


def test_pixels_of_16_bits_and_of_numbers(rng, tmp_path):
    values = rng.integers(0, 65536, (6, 7))
    for name in ("x.png", "x.tif"):
        Image.fromarray(values.astype(np.uint16)).save(tmp_path / name)
        np.testing.assert_allclose(read_image(tmp_path / name), values / 65535)
    Image.fromarray((values / 65535).astype(np.float32)).save(tmp_path / "f.tif")
    np.testing.assert_allclose(read_image(tmp_path / "f.tif"), values / 65535, atol=1e-6)
    Image.fromarray((values - 100.0).astype(np.float32)).save(tmp_path / "g.tif")
    with pytest.warns(FileNotice, match=r"g\.tif: values from .* were scaled to 0, black, to 1, white"):
        found = read_image(tmp_path / "g.tif")
    assert (found.min(), found.max()) == (0, 1)


def test_transparent_parts_are_white(tmp_path):
    values = np.zeros((2, 2, 4), np.uint8)
    values[0, :, 3] = 255
    Image.fromarray(values).save(tmp_path / "x.png")
    np.testing.assert_array_equal(read_image(tmp_path / "x.png"), [[0, 0], [1, 1]])


def test_pictures_are_turned_and_the_first_is_read(rng, tmp_path):
    first, second = (Image.fromarray(rng.integers(0, 255, (6, 9)).astype(np.uint8)) for _ in range(2))
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by a quarter
    first.save(tmp_path / "x.jpg", exif=turned)
    assert read_image(tmp_path / "x.jpg").shape == (9, 6)
    first.save(tmp_path / "x.tif", save_all=True, append_images=[second])
    with pytest.warns(FileNotice, match="of 2 pictures the first was read"):
        np.testing.assert_allclose(read_image(tmp_path / "x.tif"), np.asarray(first) / 255)


def test_writing(rng, tmp_path):
    image = rng.random((5, 6, 3)) * 1.4 - 0.2
    found = read_image(write_image(tmp_path / "x.png", image))
    np.testing.assert_allclose(found, np.clip(image, 0, 1), atol=0.5 / 255 + 1e-9)
    with pytest.raises(LatentiaError, match="cannot be written"):
        write_image(tmp_path / "absent" / "x.png", image)


def test_files_that_are_no_images(rng, tmp_path):
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("no picture")
    Image.fromarray(rng.integers(0, 255, (90, 90)).astype(np.uint8)).save(tmp_path / "whole.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:3000])
    values = np.zeros((4, 5), np.float32)
    values[2, 3] = np.nan
    Image.fromarray(values).save(tmp_path / "nan.tif")
    messages = {
        "empty.png": "expected a PNG", "text.jpg": "expected a PNG", "cut.png": "not a readable image",
        "nan.tif": "the pixel in row 3, column 4 is nan", "absent.png": "no such file",
    }  # fmt: skip
    for name, message in messages.items():
        with pytest.raises(LatentiaError, match=f"{name}: {message}"):
            read_image(tmp_path / name)
    with pytest.raises(LatentiaError, match="expected an image, found a folder"):
        read_image(tmp_path)


def test_a_damaged_file_is_an_image_or_a_message(rng, tmp_path):
    path = tmp_path / "x.png"
    Image.fromarray(rng.integers(0, 255, (20, 20)).astype(np.uint8)).save(path)
    whole = bytearray(path.read_bytes())
    for _ in range(200):
        damaged = whole.copy()
        for place in rng.integers(0, len(whole), 3):
            damaged[place] = rng.integers(0, 256)
        path.write_bytes(damaged)
        with contextlib.suppress(LatentiaError):  # and no other error
            assert np.isfinite(read_image(path)).all()


def test_images_of_a_folder(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("z.png", "b/a.JPG", "notes.txt", "c.tiff"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in image_files(tmp_path)] == ["a.JPG", "c.tiff", "z.png"]
    assert not is_image("x.csv")


def test_pictures_of_one_size_are_rows(rng, tmp_path):
    images = {"a.png": rng.random((3, 4)), "b/c.png": rng.random((3, 4, 3))}
    (tmp_path / "b").mkdir()
    for name, image in images.items():
        write_image(tmp_path / name, image)
    found = read_pictures(tmp_path)
    assert (found.names, found.shape, found.values.shape) == (list(images), (3, 4), (2, 12))
    np.testing.assert_allclose(found.values[0], images["a.png"].ravel(), atol=0.5 / 255 + 1e-9)
    np.testing.assert_array_equal(found.values[1], read_image(tmp_path / "b" / "c.png", grey=True).ravel())
    one = read_pictures(str(tmp_path / "b" / "c.png"))
    assert one.names == ["c.png"]
    np.testing.assert_array_equal(one.values, found.values[1:])


def test_pictures_that_are_no_rows(tmp_path):
    with pytest.raises(LatentiaError, match="found no images in this folder"):
        read_pictures(tmp_path)
    with pytest.raises(LatentiaError, match=r"absent\.png: no such file"):
        read_pictures(tmp_path / "absent.png")
    write_image(tmp_path / "a.png", np.zeros((4, 5)))
    write_image(tmp_path / "b.png", np.zeros((5, 4)))
    with pytest.raises(LatentiaError, match=r"b\.png: expected 5 x 4 pixels, as in a\.png; found 4 x 5 pixels"):
        read_pictures(tmp_path)


def test_patches_of_a_folder(rng, tmp_path):
    colour = rng.random((9, 8, 3))
    for name, image in (("a", rng.random((7, 6))), ("b", colour), ("c", np.ones((2, 9)))):
        write_image(tmp_path / f"{name}.png", image)
    with pytest.warns(DroppedDataWarning, match="1 image is smaller than 5 x 5 pixels and left out"):
        found = read_patches(tmp_path, 5)
    assert (found.names, found.left_out, found.shape) == (["a.png", "b.png"], ["c.png"], (5, 5, 3))
    assert [image.shape for image in found.images] == [(7, 6, 3), (9, 8, 3)]
    assert found.n_places == len(found.values) == 3 * 2 + 5 * 4
    np.testing.assert_allclose(found.values.reshape(-1, 25, 3).mean(axis=1), 0, atol=1e-12)
    whole = image_patches(found.images, 5).reshape(-1, 25, 3)
    np.testing.assert_allclose(found.values.reshape(-1, 25, 3), whole - whole.mean(axis=1, keepdims=True), atol=1e-12)
    grey = read_patches(tmp_path / "b.png", 5, n_patches=7, grey=True, random_state=3)
    assert (grey.shape, grey.values.shape, grey.n_places) == ((5, 5), (7, 25), 20)
    again = read_patches(tmp_path / "b.png", 5, n_patches=7, grey=True, random_state=3)
    np.testing.assert_array_equal(again.values, grey.values)


def test_images_that_have_no_patches(tmp_path):
    with pytest.raises(LatentiaError, match="no images in this folder"):
        read_patches(tmp_path)
    write_image(tmp_path / "flat.png", np.full((9, 7), 0.3))
    with pytest.raises(LatentiaError, match=r"flat\.png: all patches are of one colour"):
        read_patches(tmp_path / "flat.png", 4)
    with pytest.raises(
        LatentiaError, match=r"flat\.png: expected at least 8 x 8 pixels, found 7 x 9 pixels.* with size="
    ):
        read_patches(tmp_path)
    with pytest.raises(LatentiaError, match="size=0: expected a whole number"):
        read_patches(tmp_path, 0)
    with pytest.raises(LatentiaError, match="n_patches=0: expected a whole number"):
        read_patches(tmp_path, 4, n_patches=0)


def test_names_of_pixels():
    assert pixel_names((2, 2)) == ["row 1 column 1", "row 1 column 2", "row 2 column 1", "row 2 column 2"]
    assert pixel_names((1, 1, 3)) == ["row 1 column 1 red", "row 1 column 1 green", "row 1 column 1 blue"]


def test_without_pillow_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.png").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"Reading images needs the package 'Pillow'.*pip install Pillow"):
        read_image(tmp_path / "x.png")
