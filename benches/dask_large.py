#!/usr/bin/env python3
"""Filters an image of 40,000 x 40,000 bytes chunk by chunk with tripipe.dask, and measures memory and time.

    python3 benches/dask_large.py [--part memory,scaling,scheduler] [--limit-mib 2048] [--size 40000] [--chain gaussian:5,sobel]
                                  [--rounds N] [--out data/runs/NAME]

Needs the package with dask, distributed and zarr. Part `memory`: a process of its own reads a Zarr store, filters it and
writes another one, with two threads; its address space and that of its children is limited (RLIMIT_AS) with --limit-kind
address, otherwise a watcher takes its resident memory (VmRSS, sampled, and VmHWM, the kernel's own maximum) and kills it above
the limit. Some chunks of the result are compared with the plain call. Part `scaling`: the plain call on the whole array in memory,
with one thread and with two; the floor, which reads each chunk with its rim, filters and writes it by a pool of threads without
Dask; and the same array in chunks of 2048 and 4096 with Dask's threads (one, two), as a graph that ends with writing and by
`apply(store=)`, and with two processes of one thread. Ratios are to the floor of these chunks on as many threads, on a machine
with two cores. Contenders take turns. Processes get
their chunks by number, so that no time is spent on sending the image: every contender reads it from a memory-mapped file and
writes its result to one. Part `scheduler`: tasks a second that do nothing, in the shape of a filter's graph.

Exit code: 0 when the bars are met, 1 when one is not, 2 when something fails.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy

from bench import finish, machine, save, seconds_of

PACKAGES = ["tripipe", "numpy", "dask", "distributed", "zarr"]
# The time of two threads at chunks of 2048 by `apply(store=)`, as a multiple of the floor's.
SCALING_BAR = 1.15
POLL_SECONDS = 0.02


def picture(size: int, top: int, rows: int) -> numpy.ndarray:
    """Rows of a picture that any process computes alike: noise over slow waves."""
    y, x = numpy.arange(top, top + rows, dtype=numpy.uint32)[:, None], numpy.arange(size, dtype=numpy.uint32)[None, :]
    noise = (y * numpy.uint32(2654435761) ^ x * numpy.uint32(2246822519)) >> numpy.uint32(26)
    return ((y >> 4) + (x >> 5) + noise).astype(numpy.uint8)


def memory_child(options) -> int:
    """Filters the store `in` into `out`, below the folder."""
    import dask
    import tripipe.dask

    if options.limit_kind == "address":
        import resource

        limit = options.limit_mib << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    start = time.perf_counter()
    source = tripipe.dask.read_zarr(f"{options.folder}/in.zarr")
    result = tripipe.dask.apply(options.chain, source, context="cpu")
    with dask.config.set(scheduler="threads", num_workers=2):
        tripipe.dask.write_zarr(f"{options.folder}/out.zarr", result)
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    peak = {line.split(":")[0]: int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmPeak"))}
    print(json.dumps({"seconds": time.perf_counter() - start, "peak_kib": peak}))
    return 0


def memory(options, folder: pathlib.Path) -> dict:
    """Time and peak memory of a run in a process of its own."""
    import tripipe
    import zarr

    size, chunk = options.size, 2048
    store = zarr.create_array(
        store=f"{folder}/in.zarr", shape=(size, size), dtype="uint8", chunks=(chunk, chunk), compressors=None
    )
    for top in range(0, size, chunk):
        rows = min(chunk, size - top)
        store[top : top + rows] = picture(size, top, rows)
    command = [sys.executable, __file__, "--child", "--folder", str(folder), "--chain", options.chain]
    command += ["--limit-mib", str(options.limit_mib), "--limit-kind", options.limit_kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    largest, is_over = 0, False
    while process.poll() is None:
        try:
            text = pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()
            largest = max(largest, int(text[1]) * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, IndexError, ValueError):
            break
        if largest > options.limit_mib << 20:
            is_over = True
            process.kill()
        time.sleep(POLL_SECONDS)
    said = process.communicate()[0]
    if process.returncode != 0:
        reason = f"took more than {options.limit_mib} MiB" if is_over else f"ended with {process.returncode}"
        raise SystemExit(f"memory: the process {reason}")
    found = json.loads(said.splitlines()[-1])
    compare(zarr.open_array(f"{folder}/out.zarr", mode="r"), options, tripipe)
    peak = found["peak_kib"]["VmHWM"] / 1024
    print(
        f"memory: {size} x {size} u8, {options.chain}, Zarr to Zarr, 2 threads: {found['seconds']:.1f} s, "
        f"peak resident {peak:.0f} MiB of {options.limit_mib}, images 2 x {size * size / 2**20:.0f} MiB"
    )
    return found | {
        "sampled_rss_mib": largest / 2**20,
        "limit_mib": options.limit_mib,
        "limit_kind": options.limit_kind,
    }


def compare(result, options, tripipe) -> None:
    """Compares bands across borders of chunks with the plain call on a wider band."""
    size, reach = options.size, tripipe.Chain(options.chain).depth[0]
    for top in {0, min(2048, size) - 20, size - 40}:
        first, last = max(0, top - reach), min(size, top + 40 + reach)
        wanted = tripipe.filter(picture(size, first, last - first), options.chain, context="cpu")
        rows = min(top + 40, size) - top
        if not numpy.array_equal(result[top : top + rows], wanted[top - first : top - first + rows]):
            raise SystemExit(f"the rows from {top} differ from the plain call")


class Scaling:
    """The contenders over one memory-mapped image."""

    def __init__(self, options, folder: pathlib.Path):
        import dask.array as da
        import tripipe
        import tripipe.dask

        self.options, self.da, self.tripipe = options, da, tripipe
        self.source, self.result = folder / "in.raw", folder / "out.raw"
        self.shape = (options.size, options.size)
        self.contexts = {1: tripipe.Context("cpu", threads=1), 2: tripipe.Context("cpu")}
        img = numpy.memmap(self.source, numpy.uint8, "w+", shape=self.shape)
        for top in range(0, options.size, 1000):
            rows = min(1000, options.size - top)
            img[top : top + rows] = picture(options.size, top, rows)
        img.flush()
        self.img = numpy.memmap(self.source, numpy.uint8, "r", shape=self.shape)
        self.out = numpy.memmap(self.result, numpy.uint8, "w+", shape=self.shape)

    def plain(self, threads: int) -> None:
        self.tripipe.filter(self.img, self.options.chain, out=self.out, context=self.contexts[threads])

    def floor(self, chunk: int, workers: int) -> None:
        size, reach = self.options.size, self.tripipe.Chain(self.options.chain).depth[0]

        def one(corner: tuple[int, int]) -> None:
            around, inside, place = [], [], []
            for first in corner:
                low, last = max(0, first - reach), min(size, first + chunk)
                around.append(slice(low, min(size, last + reach)))
                inside.append(slice(first - low, last - low))
                place.append(slice(first, last))
            part = numpy.array(self.img[tuple(around)])
            found = self.tripipe.filter(part, self.options.chain, context=self.contexts[1])
            self.out[tuple(place)] = found[tuple(inside)]

        corners = range(0, size, chunk)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, ((top, left) for top in corners for left in corners)))

    def read(self, chunk: int):
        read = functools.partial(read_chunk, path=str(self.source), shape=self.shape)
        return self.da.map_blocks(
            read,
            chunks=self.da.core.normalize_chunks(chunk, self.shape),
            dtype="uint8",
            meta=numpy.empty((0, 0), "uint8"),
        )

    def stored(self, chunk: int, workers: int) -> None:
        import dask

        with dask.config.set(scheduler="threads", num_workers=workers):
            self.tripipe.dask.apply(self.options.chain, self.read(chunk), context="cpu", store=self.out)

    def chunked(self, chunk: int):
        found = self.tripipe.dask.apply(self.options.chain, self.read(chunk), context="cpu")
        write = functools.partial(write_chunk, path=str(self.result), shape=self.shape)
        return found.map_blocks(
            write, dtype="uint8", chunks=[(1,) * n for n in found.numblocks], meta=numpy.empty((0, 0), "uint8")
        )

    def threads(self, chunk: int, workers: int) -> None:
        self.chunked(chunk).compute(scheduler="threads", num_workers=workers)

    def check(self, name: str) -> None:
        compare(self.out, self.options, self.tripipe)
        self.out[:] = 0
        print(f"  {name}: the result is the plain call's", flush=True)


def read_chunk(path, shape, block_info=None):
    """A chunk of the image: a view of the mapped file."""
    (top, bottom), (left, right) = block_info[None]["array-location"]
    return mapped(path, shape, "r")[top:bottom, left:right]


def write_chunk(block, path, shape, block_info=None):
    """Writes a chunk to the result's file; gives a number for it."""
    (top, bottom), (left, right) = block_info[0]["array-location"]
    mapped(path, shape, "r+")[top:bottom, left:right] = block
    return numpy.ones((1, 1), numpy.uint8)


@functools.cache
def mapped(path, shape, mode):
    return numpy.memmap(path, numpy.uint8, mode, shape=shape)


def scaling(options, folder: pathlib.Path) -> dict:
    """Times of the contenders in turns, and their ratios to the plain call."""
    from distributed import Client, LocalCluster

    bench = Scaling(options, folder)
    samples: dict[str, list[float]] = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        contenders = {f"plain, threads {threads}": functools.partial(bench.plain, threads) for threads in (1, 2)}
        for chunk in (2048, 4096):
            for workers in (1, 2):
                contenders[f"{chunk}, floor, threads {workers}"] = functools.partial(bench.floor, chunk, workers)
                contenders[f"{chunk}, store, threads {workers}"] = functools.partial(bench.stored, chunk, workers)
                contenders[f"{chunk}, threads {workers}"] = functools.partial(bench.threads, chunk, workers)
            contenders[f"{chunk}, processes 2"] = lambda chunk=chunk: client.compute(bench.chunked(chunk)).result()
        for name, work in contenders.items():
            work()
            bench.check(name)
        for _ in range(options.rounds):
            for name, work in contenders.items():
                samples.setdefault(name, []).append(seconds_of(work))
    medians = {name: statistics.median(times) for name, times in samples.items()}
    rows = []
    for name, times in samples.items():
        workers = 1 if name.endswith("threads 1") else 2
        floor = f"{2048 if name.startswith('plain') else name[:4]}, floor, threads {workers}"
        ratio, of_minima = medians[name] / medians[floor], min(times) / min(samples[floor])
        bar = SCALING_BAR if name == "2048, store, threads 2" else None
        met = bar is None or ratio <= bar
        rows.append(
            {"name": name, "median_s": medians[name], "min_s": min(times), "ratio_of_medians": ratio,
             "ratio_of_minima": of_minima, "bar": bar, "met": met}
        )
        print(
            f"scaling: {name:22} {medians[name]:7.3f} s  {ratio:5.2f} of the floor's, {of_minima:5.2f} of minima"
            f"{'' if met else '  NOT MET'}"
        )
    graph = bench.chunked(2048).__dask_graph__()
    chunks = (-(-options.size // 2048)) ** 2
    return {"rows": rows, "samples_seconds": samples, "tasks_at_2048": len(dict(graph)), "chunks_at_2048": chunks}


def nothing(*_):
    return 0


def scheduler(options, folder: pathlib.Path) -> dict:
    """Tasks a second that do nothing, in the shape of a filter's graph: a chunk, its rims, its result."""
    import dask.threaded
    from distributed import Client, LocalCluster

    side = 40
    graph = {}
    for y in range(side):
        for x in range(side):
            graph["chunk", y, x] = (nothing, y)
            graph["rims", y, x] = (nothing, ("chunk", y, x))
            around = [
                ("rims", v, u)
                for v in range(max(0, y - 1), min(side, y + 2))
                for u in range(max(0, x - 1), min(side, x + 2))
            ]
            graph["result", y, x] = (nothing, ("chunk", y, x), around)
    wanted = [("result", y, x) for y in range(side) for x in range(side)]
    found = {}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        ways = {
            "threads 2": lambda: dask.threaded.get(graph, wanted, num_workers=2),
            "processes 2": lambda: client.get(graph, wanted),
        }
        for name, work in ways.items():
            work()
            found[name] = len(graph) / statistics.median(seconds_of(work) for _ in range(options.rounds))
            print(f"scheduler: {name:12} {found[name]:8.0f} tasks a second of {len(graph)}")
    return {"tasks": len(graph), "tasks_per_second": found}


PARTS = {"memory": memory, "scaling": scaling, "scheduler": scheduler}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--size", type=int, default=40_000, help="rows and columns of the image")
    parser.add_argument("--chain", default="gaussian:5,sobel")
    parser.add_argument("--limit-mib", type=int, default=2048)
    parser.add_argument("--limit-kind", choices=["resident", "address"], default="resident")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=pathlib.Path, help="for the images (default: a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, help="folder for dask.json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return memory_child(options)
    parts = options.part.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"--part {unknown[0]}: parts are {', '.join(PARTS)}")
    result = {
        "command": " ".join(["python3", "benches/dask_large.py", *sys.argv[1:]]),
        "machine": machine(PACKAGES, ["crates", "bindings/python"]),
    }
    for part in parts:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            result[part] = PARTS[part](options, pathlib.Path(folder))
    save(options.out, "dask.json", result)
    return 0 if all(row["met"] for row in result.get("scaling", {}).get("rows", [])) else 1


if __name__ == "__main__":
    finish(main)
