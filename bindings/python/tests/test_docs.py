"""The snippets of docs/python.md run as printed, and the examples of the package's documentation."""

import doctest
import importlib
import os
import re
from pathlib import Path

import numpy
import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs" / "python.md"
KERNEL = """kernel void scale(global const float *from, global float *to, const float factor)
{
    const int i = get_global_id(0);
    to[i] = factor * from[i];
}
"""


def snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.S | re.M)


@pytest.mark.parametrize("index", range(len(snippets())))
def test_the_snippets_run_as_printed(index, tmp_path, monkeypatch):
    pages = snippets()
    for says, variable in [("analyze", "TRIPIPE_REQUIRE_CLANG"), ("opencl:0", "TRIPIPE_REQUIRE_OPENCL")]:
        if says in pages[index] and not os.environ.get(variable):
            pytest.skip(f"{variable} is not set")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.cl").write_text(KERNEL)
    if "scan.tif" in pages[index]:
        tifffile = pytest.importorskip("tifffile")
        tifffile.imwrite(tmp_path / "scan.tif", numpy.zeros((64, 64), numpy.uint8))
    # Names of the first snippet are known in later ones.
    names: dict[str, object] = {}
    for page in sorted({0, index}):
        exec(compile(pages[page], DOCS.name, "exec"), names)


@pytest.mark.parametrize("module", ["tripipe", "tripipe._windows", "tripipe.dask"])
def test_the_examples_of_the_documentation_run(module):
    pytest.importorskip("dask") if module.endswith("dask") else None
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0 and found.failed == 0
