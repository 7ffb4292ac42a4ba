"""Bad input of each argument: the exception names it."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy
import pytest
import tripipe

IMG = numpy.zeros((8, 9, 3), numpy.uint8)
A = numpy.zeros((3, 4), numpy.float32)
READ_ONLY = numpy.zeros((8, 9), numpy.uint8)
READ_ONLY.flags.writeable = False

CALLS = [
    (lambda: tripipe.filter("photo.png", "sobel"), TypeError, "img: "),
    (lambda: tripipe.filter(object(), "sobel"), TypeError, "img: "),
    (lambda: tripipe.filter(IMG.astype(numpy.complex64), "sobel"), TypeError, "img: elements of complex64"),
    (lambda: tripipe.filter(IMG.astype(numpy.int32) + 2**25, "sobel"), ValueError, r"img: int32 beyond 2\^24"),
    (lambda: tripipe.filter(IMG, "sobel", channels=1), TypeError, "channels"),
    (lambda: tripipe.filter(tripipe.array(IMG), "sobel", channels=True), ValueError, "channels: an Array is one image"),
    (lambda: tripipe.filter(IMG[0, 0], "sobel"), ValueError, r"img: shape \(3,\)"),
    (lambda: tripipe.filter(numpy.zeros((2, 8, 9), numpy.uint8), "gray"), ValueError, "chain: `gray` takes"),
    (lambda: tripipe.filter(numpy.zeros((2, 8, 9), numpy.uint8), "sobel", channels=True), ValueError, "img: shape"),
    (lambda: tripipe.matmul(numpy.zeros((1,) * 6, numpy.float32), A), ValueError, "a: 6 dimensions"),
    (lambda: tripipe.filter(IMG, "blurr"), ValueError, "chain: unknown filter `blurr`"),
    (lambda: tripipe.filter(IMG, ""), ValueError, "chain: "),
    (lambda: tripipe.filter(IMG, 5), TypeError, "chain: int is not a Chain"),
    (lambda: tripipe.filter(IMG[:, :, 0], "gray"), ValueError, "chain: `gray` takes"),
    (lambda: tripipe.filter(IMG, "sobel", border="mirror"), ValueError, "border: unknown border `mirror`"),
    (lambda: tripipe.filter(IMG, tripipe.Chain("sobel"), border="wrap"), ValueError, "border: a Chain has its own"),
    (lambda: tripipe.filter(IMG, "gray", out=READ_ONLY), ValueError, "out: it is not writeable"),
    (lambda: tripipe.filter(IMG, "gray", out=IMG[::2]), ValueError, r"out: \(4, 9, 3\) of uint8"),
    (lambda: tripipe.filter(IMG, "gray", out=numpy.zeros((8, 9), numpy.int8)), ValueError, "out: .*int8"),
    (lambda: tripipe.filter(IMG, "gray", out=numpy.zeros((9, 8), numpy.uint8).T), ValueError, "out: its strides"),
    (lambda: tripipe.filter(IMG, "gray", out=[[0] * 9] * 8), TypeError, "out: "),
    (lambda: tripipe.filter(IMG, "sobel", context="gpu"), ValueError, "context: unknown device `gpu`"),
    (lambda: tripipe.filter(IMG, "sobel", context=3), TypeError, "context: int is not"),
    (lambda: tripipe.filter(IMG, "sobel", context="opencl:77"), tripipe.DeviceError, "context: "),
    (lambda: tripipe.Context("gpu"), ValueError, "device: unknown device `gpu`"),
    (lambda: tripipe.Context("cpu", threads=-1), ValueError, "threads: -1: want a number from 1, or None"),
    (lambda: tripipe.Context("cpu", threads="all"), TypeError, "threads: 'all': want a number from 1, or None"),
    (lambda: tripipe.filter(IMG, "sobel", border=0), TypeError, "'border'"),
    (lambda: tripipe.resize(IMG, (0, 5)), ValueError, "size: "),
    (lambda: tripipe.resize(IMG, (-1, 5)), ValueError, r"size: \(-1, 5\): want \(rows, columns\)"),
    (lambda: tripipe.resize(IMG, (2**64, 5)), ValueError, r"size: \(18446744073709551616, 5\): want"),
    (lambda: tripipe.resize(IMG, 10), TypeError, r"size: 10: want \(rows, columns\)"),
    (lambda: tripipe.resize(IMG, (10,)), (TypeError, ValueError), r"size: \(10,\): want \(rows, columns\)"),
    (lambda: tripipe.resize(IMG, (2.5, 3)), TypeError, r"size: \(2.5, 3\): want"),
    (lambda: tripipe.from_frame(IMG, (-4, 4)), ValueError, r"size: \(-4, 4\): want"),
    (lambda: tripipe.from_frame(IMG, (4, 4), channels=-3), ValueError, "channels: -3: want 3 or 4"),
    (lambda: tripipe.array(A).reshape((-1,)), ValueError, r"shape: \(-1,\): want"),
    (lambda: tripipe.array(A).reshape(12), TypeError, "shape: 12: want"),
    (lambda: tripipe.Chain("sobel").output((-8, 9), "uint8"), ValueError, r"shape: \(-8, 9\): want"),
    (lambda: tripipe.pack(A).explain(-1), ValueError, "vectors: -1: want"),
    (lambda: tripipe.resize(IMG, (4, 5), "best"), ValueError, "interpolation: unknown interpolation `best`"),
    (lambda: tripipe.matmul(A, A), ValueError, r"b: shape \(3, 4\) does not fit a with shape \(3, 4\)"),
    (lambda: tripipe.matmul(A.astype(int), A.T), TypeError, "a: elements of int64"),
    (lambda: tripipe.matmul(A.astype(numpy.uint8), A.T), TypeError, "a: a product of uint8"),
    (lambda: tripipe.matmul(A, A.T.astype(numpy.float64)), TypeError, "b: float64, but a has float32"),
    (lambda: tripipe.matmul(A, A.T, bias=A[0]), ValueError, r"bias: shape \(4,\), the product has 3 columns"),
    (lambda: tripipe.matmul(A, A.T, bias=A[:, 0].astype(numpy.float64)), TypeError, "bias: float64"),
    (lambda: tripipe.matmul(A, A.T, activation="gelu"), ValueError, "activation: unknown activation"),
    (lambda: tripipe.matmul(A, A.T, activation=(2, 1)), ValueError, "activation: the limits 2 and 1"),
    (lambda: tripipe.matmul(A, A.T, activation=7), TypeError, "activation: "),
    (lambda: tripipe.matmul(A, A.T, accumulate="f16"), ValueError, "accumulate: only for float16"),
    (lambda: tripipe.matmul(A[0, 0], A), ValueError, r"a: shape \(\)"),
    (
        lambda: tripipe.matmul(numpy.zeros((2, 3, 4), numpy.float32), numpy.zeros((3, 4, 2), numpy.float32)),
        ValueError,
        "b: 3 matrices do not fit 2",
    ),
    (lambda: tripipe.pack(A, "q5_0"), ValueError, "format: `q5_0`"),
    (lambda: tripipe.pack(A[0]), ValueError, r"weights: shape \(4,\)"),
    (lambda: A.T @ tripipe.pack(A), ValueError, "a: shape"),
    (lambda: A.astype(numpy.float64) @ tripipe.pack(A), TypeError, "a: float64"),
    (lambda: tripipe.matmul(A, tripipe.pack(A), bias=A[0]), ValueError, "bias: products with packed"),
    (lambda: tripipe.from_frame(IMG.reshape(-1), (80, 90)), ValueError, "frame: "),
    (lambda: tripipe.from_frame(IMG.reshape(-1), (4, 4), "i420"), ValueError, "format: "),
    (lambda: tripipe.from_frame(IMG.reshape(-1), (4, 4), channels=2), ValueError, "channels: 2"),
    (lambda: tripipe.to_frame(IMG[:, :, 0]), ValueError, "img: shape"),
    (lambda: tripipe.histogram(IMG.astype(numpy.float32)), TypeError, "img: a histogram counts"),
    (lambda: tripipe.color(IMG, "rgb", "lab"), ValueError, "source, target: no conversion"),
    (lambda: tripipe.array(IMG).reshape((5,)), ValueError, r"shape: \(5,\) has another"),
    (lambda: tripipe.array(IMG).T, ValueError, "T: shape"),
    (lambda: tripipe.array(IMG).astype("complex64"), TypeError, "dtype: elements of complex64"),
    (lambda: tripipe.array(A) + tripipe.array(A.T), ValueError, "other: "),
    (lambda: tripipe.array(A).dot(tripipe.array(A.T)), ValueError, "other: "),
    (lambda: tripipe.array(A) + "x", TypeError, "other: "),
    (lambda: tripipe.array([]).min(), tripipe.Error, "no smallest"),
    (lambda: tripipe.array(A).to("moon"), ValueError, "context: unknown device"),
    (lambda: tripipe.Context("virtual:mali-g7x"), tripipe.DeviceError, "device: "),
    (lambda: tripipe.Chain("sobel").output((4,), "uint8"), ValueError, "shape: "),
    (lambda: tripipe.Chain("sobel").output((4, 4), "nothing"), TypeError, "dtype: "),
]


@pytest.mark.parametrize("call", range(len(CALLS)))
def test_exceptions_name_the_argument(call):
    run, kind, message = CALLS[call]
    with pytest.raises(kind, match=message):
        run()


def test_exceptions_have_the_usual_bases():
    assert issubclass(tripipe.DeviceError, tripipe.Error)
    assert issubclass(tripipe.UnsupportedError, tripipe.Error)
    assert issubclass(tripipe.Error, RuntimeError)


def run_python(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_process_is_told_what_to_do():
    found = run_python(
        """
        import os, numpy, tripipe
        img = numpy.zeros((9, 9), numpy.uint8)
        tripipe.filter(img, "sobel")
        if os.fork() == 0:
            try:
                tripipe.filter(img, "sobel")
            except tripipe.Error as failed:
                os._exit(7 if "spawn" in str(failed) else 8)
            os._exit(9)
        raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
        """
    )
    assert found.returncode == 7, found.stderr


@pytest.mark.parametrize("device", ["cpu"])
def test_ctrl_c_ends_a_long_wait(device):
    """The product takes far longer than the signal; the process must end by KeyboardInterrupt before it."""
    found = run_python(
        f"""
        import os, signal, threading, time, numpy, tripipe
        a = numpy.ones((6000, 6000), numpy.float64)
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                tripipe.matmul(a, a, context={device!r})
        except KeyboardInterrupt:
            os._exit(7)
        """
    )
    assert found.returncode == 7, found.stderr
