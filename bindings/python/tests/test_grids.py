"""Tables of simulations, and predictions of every combination, beside single calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tripipe
from tripipe import workbench

pytestmark = pytest.mark.skipif(
    not os.environ.get("TRIPIPE_REQUIRE_CLANG"), reason="OpenCL C needs clang (TRIPIPE_REQUIRE_CLANG=1)"
)

FILL = """\
kernel void fill(global float* to) {
    for (int n = 0; n < COUNT; ++n)
        to[get_global_id(0) * COUNT + n] = n;
}
"""


def test_tables_have_sizes_and_changes() -> None:
    report = tripipe.simulate(
        FILL, gpu="mali-g77", defines={"COUNT": 4}, global_size=1 << 12, local_size=64, what_if=["clock=400", "local=16"]
    )
    table = report.to_pandas()
    assert list(table["local_size"])[0] == (64, 1, 1) and set(table["global_size"]) == {(1 << 12, 1, 1)}
    changes = {change.change: change for change in report.only.what_if}
    assert table["change"].isna()[0] and set(table["change"][1:]) == set(changes)
    for _, row in table[1:].iterrows():
        change = changes[row["change"]]
        assert (row["seconds"], row["gain"]) == (change.seconds, change.gain)
        assert row["local_size"] == (change.local_size or (64, 1, 1))


def test_a_grid_is_every_combination() -> None:
    grid = workbench.simulate_grid(
        FILL, gpu="mali-g77", defines={"COUNT": [1, 4]}, global_size=[1 << 12], local_size=[None, 16, 64]
    )
    asked = [(cell.defines["COUNT"], cell.local_size) for cell in grid.cells]
    assert asked == [(count, local) for count in (1, 4) for local in (None, 16, 64)]
    for cell in grid.cells:
        single = tripipe.simulate(
            FILL, gpu="mali-g77", defines=cell.defines, global_size=1 << 12, local_size=cell.local_size
        )
        assert cell.seconds == single.seconds
    assert grid.best.seconds == min(cell.seconds for cell in grid.cells)
    table = grid.to_pandas()
    assert list(table["COUNT"]) == [1, 1, 1, 4, 4, 4] and table["seconds"].notna().all()


def test_a_grid_says_what_does_not_run(tmp_path: Path) -> None:
    source = tmp_path / "fill.cl"
    source.write_text(FILL)
    grid = tripipe.simulate_grid(source, gpu="mali-g77", defines={"COUNT": ["oops", 2]}, global_size=[64])
    assert grid.cells[0].report is None and "oops" in (grid.cells[0].error or "")
    assert grid.best.defines == {"COUNT": 2}
    with pytest.raises(TypeError, match="local_size: 64; want a list"):
        tripipe.simulate_grid(source, local_size=64)  # type: ignore[arg-type]
    failed = tripipe.simulate_grid(source, gpu="mali-g77", defines={"COUNT": ["oops"]}, global_size=[64])
    with pytest.raises(ValueError, match="no combination"):
        failed.best
