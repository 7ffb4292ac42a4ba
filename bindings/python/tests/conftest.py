"""What the tests share: devices, and arrays of random numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import tripipe

CHOICES = ["cpu"]
if os.environ.get("TRIPIPE_REQUIRE_OPENCL"):
    CHOICES.append("opencl:0")
if os.environ.get("TRIPIPE_REQUIRE_CLANG"):
    CHOICES.append("virtual:mali-g77")
# How many parameters of each test run on a device. The CPU path runs all; what kernels compute for each
# is tested where they are.
FEW = {"opencl:0": 3, "virtual:mali-g77": 1}
_CONTEXTS: dict[str, tripipe.Context] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seen: dict[tuple[str, str], int] = {}
    kept, left = [], []
    for item in items:
        call = getattr(item, "callspec", None)
        name = call.params.get("context") if call else None
        if name in FEW:
            key = (item.nodeid.split("[")[0], name)
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > FEW[name]:
                left.append(item)
                continue
        kept.append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(params=CHOICES)
def context(request: pytest.FixtureRequest) -> tripipe.Context:
    """A context of each kind; kernels run on the device whatever the CPU path would take."""
    name = request.param
    if name not in _CONTEXTS:
        _CONTEXTS[name] = tripipe.Context(name, cpu_when_faster=False)
    return _CONTEXTS[name]


@pytest.fixture
def random_array() -> Callable[..., Any]:
    """A function that makes arrays of random numbers of a shape and a type."""
    generator = numpy.random.default_rng(7)

    def make(shape: tuple[int, ...], dtype: Any) -> Any:
        dtype = numpy.dtype(dtype)
        if dtype.kind == "f":
            return generator.uniform(-1, 1, shape).astype(dtype)
        info = numpy.iinfo(dtype)
        return generator.integers(info.min, info.max, shape, dtype, endpoint=True)

    return make
