#!/usr/bin/env python3
"""Compares the tiles that the timing model prefers with those that CLBlast's tuner chose on the device.

    cargo build --release
    python3 benches/tiles/tiles.py target/release/tripipe [--gpus adreno-650,...] [--jobs 2] [--out FILE]

A row is a GPU and an element type: the choice in CLBlast's database of tuned parameters (src/database/kernels/xgemm of
github.com/CNugteren/CLBlast, read as facts), and the times of all choices of that type by the model, for the product of
1024 that the tuner times. The kernel (tile.cl) is this project's own, with the same parameters. A row counts if the tuned
choice is the fastest, or within 10 % of it.

Not compared: what CLBlast takes from its defaults because nobody tuned it, kernels of another shape (GEMMK = 1), and GPUs
without a model. Several GPUs of Qualcomm share one choice, so that some are the best of a short list and not of all.

Exit code: 0, or 2 when a prediction fails.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

# Tile, work-group, KWG, vectors, local memory for A and B, strides: as in the database.
FLOAT = {
    "4x4 8x16": (4, 4, 8, 16, 32, 4, 4, 0, 0, 0, 0),
    "4x8 16x8": (4, 8, 16, 8, 32, 4, 4, 0, 0, 0, 0),
    "4x8 8x8": (4, 8, 8, 8, 32, 4, 4, 0, 0, 0, 0),
    "8x4 8x8": (8, 4, 8, 8, 32, 4, 4, 0, 0, 0, 0),
    "8x8 8x8": (8, 8, 8, 8, 32, 4, 4, 0, 0, 0, 0),
    "4x16 16x8 strided": (4, 16, 16, 8, 32, 2, 4, 0, 0, 1, 0),
    "4x16 32x8 local A": (4, 16, 32, 8, 32, 4, 8, 1, 0, 0, 0),
    "4x8 8x8 local": (4, 8, 8, 8, 32, 4, 4, 1, 1, 0, 0),
    "4x4 16x8 local": (4, 4, 16, 8, 32, 4, 2, 1, 1, 0, 0),
    "4x4 8x16 local": (4, 4, 8, 16, 32, 1, 4, 1, 1, 0, 0),
    "2x2 8x8": (2, 2, 8, 8, 32, 2, 2, 0, 0, 0, 0),
}
HALF = {
    "8x4 16x8 local B": (8, 4, 16, 8, 32, 8, 4, 0, 1, 0, 0),
    "4x8 16x8 local": (4, 8, 16, 8, 32, 4, 4, 1, 1, 0, 0),
    "2x8 32x8": (2, 8, 32, 8, 32, 2, 4, 0, 0, 0, 0),
    "8x8 8x16 strided": (8, 8, 8, 16, 32, 4, 8, 0, 0, 1, 1),
    "4x8 8x8": (4, 8, 8, 8, 32, 4, 4, 0, 0, 0, 0),
    "4x16 16x8 local A": (4, 16, 16, 8, 16, 2, 8, 1, 0, 0, 0),
    "8x8 16x8 local": (8, 8, 16, 8, 32, 8, 4, 1, 1, 0, 0),
    "4x16 32x8": (4, 16, 32, 8, 32, 2, 8, 0, 0, 0, 0),
    "8x8 16x16": (8, 8, 16, 16, 32, 8, 4, 0, 0, 0, 0),
    "8x16 8x8 local A": (8, 16, 8, 8, 32, 4, 4, 1, 0, 0, 0),
    "4x4 8x8": (4, 4, 8, 8, 32, 4, 4, 0, 0, 0, 0),
}
TUNED = {
    ("mali-t628", "float"): "4x8 8x8 local",
    ("mali-t760", "float"): "4x4 16x8 local",
    ("mali-g68", "float"): "4x8 8x8",
    ("mali-g615", "float"): "4x8 16x8",
    ("adreno-640", "float"): "4x8 16x8",
    ("adreno-642l", "float"): "4x8 16x8",
    ("adreno-650", "float"): "4x8 16x8",
    ("adreno-660", "float"): "4x8 16x8",
    ("adreno-710", "float"): "4x16 16x8 strided",
    ("adreno-720", "float"): "4x16 16x8 strided",
    ("adreno-730", "float"): "4x16 16x8 strided",
    ("adreno-740", "float"): "4x16 16x8 strided",
    ("adreno-750", "float"): "4x8 16x8",
    ("adreno-830", "float"): "4x8 16x8",
    ("mali-t628", "half"): "8x4 16x8 local B",
    ("mali-t760", "half"): "4x8 16x8 local",
    ("mali-g610", "half"): "2x8 32x8",
    ("mali-g615", "half"): "8x8 8x16 strided",
    ("adreno-640", "half"): "4x8 8x8",
    ("adreno-650", "half"): "4x16 16x8 local A",
    ("adreno-660", "half"): "8x8 16x8 local",
    ("adreno-730", "half"): "4x16 32x8",
    ("adreno-740", "half"): "4x16 16x8 local A",
    ("adreno-750", "half"): "8x16 8x8 local A",
    ("adreno-830", "half"): "8x16 8x8 local A",
    ("adreno-840", "half"): "8x16 8x8 local A",
}
N = 1024
NAMES = "TM TN LM LN KWG VM VN SA SB STRM STRN".split()


def predicted(command, gpu, kind, choice):
    """Seconds, or why there are none."""
    values = dict(zip(NAMES, choice), KWI=2, TYPE=kind)
    groups = [N // values["TM"], N // values["TN"]]
    call = [command, "simulate", str(KERNEL), "-g", gpu, "--format", "json"]
    call += ["--global", f"{groups[0]},{groups[1]}", "--local", f"{values['LM']},{values['LN']}"]
    call += [f"-D{name}={value}" for name, value in values.items()] + (["-DHALF"] if kind == "half" else [])
    call += [f"--arg={name}={N}" for name in "mnk"]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "no prediction in two minutes"
    if not done.stdout:
        return done.stderr.strip()
    found = json.loads(done.stdout)
    return found["seconds"] if found["seconds"] is not None else found["error"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--gpus", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out")
    options = parser.parse_args()
    wanted = options.gpus.split(",") if options.gpus else None
    lines = ["| GPU | type | tuned on the device | predicted | fastest by the model | predicted | ratio |", "|---|---|---|--:|---|--:|--:|"]
    hits, rows, failed = 0, 0, 0
    for (gpu, kind), tuned in TUNED.items():
        if wanted and gpu not in wanted:
            continue
        choices = FLOAT if kind == "float" else HALF
        with ThreadPoolExecutor(options.jobs) as pool:
            times = dict(zip(choices, pool.map(lambda name: predicted(options.command, gpu, kind, choices[name]), choices)))
        for name, why in times.items():
            if isinstance(why, str):
                print(f"{gpu} {kind} {name}: {why}", file=sys.stderr)
        times = {name: seconds for name, seconds in times.items() if not isinstance(seconds, str)}
        if tuned not in times:
            failed += 1
            continue
        best = min(times, key=times.get)
        ratio = times[tuned] / times[best]
        rows += 1
        hits += ratio <= 1.1
        lines.append(f"| {gpu} | {kind} | {tuned} | {1e3 * times[tuned]:.2f} ms | {best} | {1e3 * times[best]:.2f} ms | {ratio:.2f} |")
        print(lines[-1], flush=True)
    lines.append(f"\n{hits} of {rows} tuned choices are the fastest by the model or within 10 % of it.")
    print(lines[-1])
    if options.out:
        with open(options.out, "w") as out:
            out.write("\n".join(lines) + "\n")
    return 2 if failed or not rows else 0


KERNEL = __import__("pathlib").Path(__file__).with_name("tile.cl")

if __name__ == "__main__":
    sys.exit(main())
