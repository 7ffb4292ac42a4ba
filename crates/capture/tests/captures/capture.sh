#!/bin/sh
# Makes the captures in this folder again: builds captures.c and runs it on the first OpenCL device under the OpenCL
# intercept layer. Argument: the layer's libOpenCL.so, built from https://github.com/intel/opencl-intercept-layer
# (cmake -S . -B build && cmake --build build; then build/intercept/libOpenCL.so).
# The device's binaries and the layer's replay script, which an import does not read, are left out.
set -eu
layer=$(realpath "${1:?the path of the layer\'s libOpenCL.so}")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -O1 -Wall -o "$work/captures" "$here/captures.c" -lOpenCL
# The layer loads the loader of the system in its turn.
loader=$(ldconfig -p | sed -n 's/.*libOpenCL\.so\.1 .*=> //p' | head -n 1)
mkdir "$work/lib" && ln -s "$layer" "$work/lib/libOpenCL.so.1"
CLI_OpenCLFileName=$loader CLI_CaptureReplay=1 CLI_ChromeCallLogging=1 CLI_ChromePerformanceTiming=1 \
    CLI_DumpDir="$work/dump" CLI_SuppressLogging=1 LD_LIBRARY_PATH="$work/lib" "$work/captures"
rm -rf "$here/Replay"
cp -r "$work/dump/Replay" "$here/Replay"
cp "$work/dump/clintercept_trace.json" "$here/clintercept_trace.json"
find "$here/Replay" \( -name 'DeviceBinary*.bin' -o -name run.py \) -delete
