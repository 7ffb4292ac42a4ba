"""Affine maps and rotations, beside SciPy."""

import cv2
import numpy
import pytest
import scipy.ndimage
import tripipe

MODES = {"constant": "grid-constant", "replicate": "nearest", "reflect": "reflect", "reflect101": "mirror", "wrap": "grid-wrap"}
ORDERS = {"nearest": 0, "linear": 1}
# No place is between two pixels: SciPy rounds such a place in float64.
MATRIX = numpy.array([[0.8123, -0.3071], [0.4519, 1.1037]])
OFFSET = (-3.31, 4.77)


def within(dtype, interpolation):
    """Integers are rounded once, SciPy's too; SciPy's float64 has no error beside that of float32."""
    if interpolation == "nearest" and dtype != "float64":
        return 0
    return 1 if numpy.dtype(dtype).kind in "iu" else 1e-5


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "float32", "float64", "int32"])
@pytest.mark.parametrize("border", MODES)
@pytest.mark.parametrize("interpolation", ORDERS)
def test_affine_maps_are_those_of_scipy(context, random_array, dtype, border, interpolation):
    img = random_array((40, 31), "int16" if dtype == "int32" else dtype).astype(dtype)
    options = {"order": ORDERS[interpolation], "mode": MODES[border]}
    wanted = scipy.ndimage.affine_transform(img.astype("float64"), MATRIX, OFFSET, (35, 50), **options)
    found = tripipe.affine(
        img, MATRIX, OFFSET, size=(35, 50), interpolation=interpolation, border=border, context=context
    )
    assert found.dtype == img.dtype and found.shape == (35, 50)
    assert numpy.abs(found - wanted).max() <= within(dtype, interpolation)
    for matrix in (numpy.column_stack([MATRIX, OFFSET]), [*numpy.column_stack([MATRIX, OFFSET]).tolist(), [0, 0, 1]]):
        again = tripipe.affine(img, matrix, size=(35, 50), interpolation=interpolation, border=border, context=context)
        assert numpy.array_equal(again, found)


@pytest.mark.parametrize("angle", [0, 30, 90, -135, 180, 271.5])
@pytest.mark.parametrize("reshape", [True, False])
def test_rotations_are_those_of_scipy(context, random_array, angle, reshape):
    img = random_array((23, 36, 3), "uint8")
    options = {"reshape": reshape, "order": 1, "mode": "grid-constant"}
    wanted = scipy.ndimage.rotate(img.astype("float64"), angle, **options)
    found = tripipe.rotate(img, angle, reshape=reshape, context=context)
    assert found.shape == wanted.shape
    assert numpy.abs(found - wanted).max() <= 1
    if angle % 90 == 0 and reshape:
        assert numpy.array_equal(found, numpy.rot90(img, angle // 90))
    on_device = tripipe.rotate(tripipe.array(img, context), angle, reshape=reshape)
    assert numpy.array_equal(numpy.asarray(on_device), found)


def test_cubic_maps_are_those_of_opencv(context, random_array):
    """OpenCV rounds places to 1/32 of a pixel: these are at multiples of that."""
    img = random_array((30, 40), "float32")
    matrix = numpy.array([[0.75, 0.25, 2.5], [-0.25, 1.125, 6.0]])
    wanted = cv2.warpAffine(
        img, matrix, (45, 25), flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REFLECT_101
    )
    rows = [[matrix[1, 1], matrix[1, 0], matrix[1, 2]], [matrix[0, 1], matrix[0, 0], matrix[0, 2]]]
    found = tripipe.affine(img, rows, size=(25, 45), interpolation="cubic", border="reflect101", context=context)
    assert numpy.abs(found - wanted).max() < 1e-5


def test_stacks_and_results(random_array):
    stack = random_array((4, 20, 30), "uint16")
    found = tripipe.rotate(stack, 12, channels=False)
    for one, turned in zip(stack, found, strict=True):
        assert numpy.array_equal(turned, tripipe.rotate(one, 12))
    out = numpy.empty((20, 30), "uint16")
    assert tripipe.rotate(stack[0], 12, reshape=False, out=out) is out
    text = tripipe.filter(stack[0], "median:3,rotate:12,resize:20x10:area")
    wanted = tripipe.resize(tripipe.rotate(tripipe.filter(stack[0], "median:3"), 12), (10, 20), "area")
    assert numpy.array_equal(text, wanted)


def test_wrong_arguments_are_named():
    img = numpy.zeros((4, 5), "uint8")
    for function, arguments, options, message in [
        (tripipe.affine, ([[1, 2, 3]],), {}, "matrix: want 2 x 2"),
        (tripipe.affine, ([[1, 2, 3], [4, 5, 6], [0, 1, 1]],), {}, "matrix: want 2 x 2"),
        (tripipe.affine, ([[1, 0, 0], [0, 1, 0]], 3), {}, "offset: the matrix has one"),
        (tripipe.affine, ([[1e12, 0], [0, 1]],), {}, "matrix: an affine map leads further"),
        (tripipe.affine, ([[1, 0], [0, 1]],), {"interpolation": "area"}, "interpolation: .*cubic"),
        (tripipe.affine, ([[1, 0], [0, 1]],), {"border": "none"}, "border: .*none"),
        (tripipe.rotate, (float("nan"),), {}, "angle: "),
    ]:
        with pytest.raises(ValueError, match=message):
            function(img, *arguments, **options)
    with pytest.raises(ValueError, match="rotate:DEGREES"):
        tripipe.filter(img, "rotate:x")
