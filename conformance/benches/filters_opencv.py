"""Filters of 7680 x 4320 bytes with OpenCV, to compare with `filters.rs`: milliseconds, the shortest of seven runs."""

import time

import cv2
import numpy as np

gray = np.random.randint(0, 256, (4320, 7680), np.uint8)
rgb = np.random.randint(0, 256, (4320, 7680, 3), np.uint8)
sharpen = np.array([[-1, -1, -1], [-1, 9, -1], [-1, -1, -1]], np.float32)
CASES = {
    "laplace rgb": lambda out: cv2.filter2D(rgb, -1, sharpen, dst=out),
    "laplace gray": lambda out: cv2.filter2D(gray, -1, sharpen, dst=out),
    "gaussian 5x5 gray": lambda out: cv2.GaussianBlur(gray, (5, 5), 0, dst=out),
    "sobel gray to i16": lambda out: cv2.Sobel(gray, cv2.CV_16S, 1, 0, dst=out),
    "median 3x3 gray": lambda out: cv2.medianBlur(gray, 3, dst=out),
    "box 5x5 gray": lambda out: cv2.blur(gray, (5, 5), dst=out),
    "rgb, gray, gaussian 3x3": lambda out: cv2.GaussianBlur(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), (3, 3), 0, dst=out),
}
print("OpenCV", cv2.__version__, cv2.getNumThreads(), "threads")
for name, run in CASES.items():
    out, best = run(None), float("inf")
    for _ in range(7):
        start = time.perf_counter()
        run(out)
        best = min(best, time.perf_counter() - start)
    print(f"{best * 1e3:8.3f} ms  {name}")
