"""What a wheel must do where nothing but the wheel and NumPy are installed. Run by scripts/test-python."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy
import tripipe

for absent in ("scipy", "dask", "pandas"):
    assert importlib.util.find_spec(absent) is None, f"{absent} is installed: this environment is not a fresh one"

edges = tripipe.filter(numpy.eye(8, dtype=numpy.uint8) * 255, "box:3")
# A window of 3x3 over a diagonal has three of nine pixels, 255 * 3 / 9.
assert edges[4, 4] == 85, edges
assert numpy.array_equal(tripipe.matmul(numpy.eye(3), numpy.arange(9.0).reshape(3, 3)), numpy.arange(9.0).reshape(3, 3))
assert tripipe.devices()[0].choice == "cpu"

command = Path(sys.executable).with_name("tripipe")
version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()
assert version[0] == "tripipe", version
# Needs no compiler: the library's own kernel, and bad input.
assert "kernel" in subprocess.run([command, "kernel", "--help"], capture_output=True, text=True, check=True).stdout
try:
    tripipe.analyze("nothing.cl")
except FileNotFoundError as error:
    assert "nothing.cl" in str(error)
else:
    raise AssertionError("a missing file was accepted")
