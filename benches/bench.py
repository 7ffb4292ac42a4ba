"""What the comparisons of this folder share: their environments, timing, the machine, exit codes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def continue_in_venv(name: str, install) -> None:
    """Continues in the virtual environment target/NAME, making it first where needed.

    `install` gets its folder and the words of `pip install`, and puts the packages there.
    """
    venv = ROOT / "target" / name
    python = venv / "bin" / "python"
    if pathlib.Path(sys.prefix).resolve() == venv.resolve():
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    install(venv, [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
    os.execv(python, [str(python), *sys.argv])


def timed(runs: int, work) -> list[float]:
    """Seconds of each run."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return seconds


def seconds_of(work) -> float:
    return timed(1, work)[0]


def noise(shape, dtype, seed=11):
    """An image: all bytes, or floats from 0 to 1."""
    import numpy as np

    random = np.random.default_rng(seed)
    if np.dtype(dtype) == np.uint8:
        return random.integers(0, 256, shape, dtype=np.uint8)
    return random.random(shape, dtype=np.float32)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cpuinfo() -> dict[str, str]:
    """The fields of the last processor; empty where the system has no such file."""
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in info)}


def machine(packages, sources) -> dict:
    """What was measured with. No host name, no paths. `sources` are the folders whose changes the commit lacks."""
    fields, cpu = cpuinfo(), platform.processor()
    if "model name" in fields:
        cpu = f"{fields['model name']} (family {fields.get('cpu family')}, model {fields.get('model')})"
    git = ["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "--", *sources]
    commit, changed = (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip() for command in git
    )
    return {
        "cpu": cpu,
        "cores": cores(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "commit": commit + (" with changes" if changed else ""),
        "load_average_before": os.getloadavg()[0],
    }


def save(folder: pathlib.Path | None, name: str, result: dict) -> None:
    """Writes a result as JSON, if a folder was given."""
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(result, indent=1) + "\n")


def finish(main, *failures) -> None:
    """Ends with what `main` returns; with 2 and a message where it fails in one of these ways or ends with a text."""
    try:
        sys.exit(main())
    except SystemExit as end:
        if not isinstance(end.code, str):
            raise
        message = end.code
    except (subprocess.CalledProcessError, OSError, *failures) as error:
        message = error
    print(message, file=sys.stderr)
    sys.exit(2)
