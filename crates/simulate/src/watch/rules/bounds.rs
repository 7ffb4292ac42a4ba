//! Accesses outside their object or array.

use tripipe_ir::diagnostic::{Rule, Severity};

/// A read leaves its memory object.
pub const OUT_OF_BOUNDS_READ: Rule = Rule {
    code: "out-of-bounds-read",
    severity: Severity::Error,
    title: "a read is outside of its memory object",
    what: "
A read of which at least one byte is outside the object that the address was made from: a buffer argument, a variable
in local, private or constant memory. Reads of `vloadN`, atomics and asynchronous copies count. The object decides,
not the address: a read that happens to fall into a neighbouring buffer is found too.",
    why: "
The result is whatever is stored there: another buffer, padding, zero. It changes with the device, the driver and the
sizes of other allocations, so the kernel passes its tests on one GPU and fails on the next. Where the page is not
mapped the device faults, and the queue is lost.",
    example: "
__kernel void smooth(__global const float *in, __global float *out) {
    int i = get_global_id(0);
    out[i] = 0.5f * (in[i] + in[i + 1]);  // the last work-item reads past the end
}",
    advice: "Clamp the index, or handle the border separately.",
    instead: "
__kernel void smooth(__global const float *in, __global float *out, int n) {
    int i = get_global_id(0);
    int next = min(i + 1, n - 1);
    out[i] = 0.5f * (in[i] + in[next]);
}",
    remark: "A global size that was rounded up to whole work-groups needs `if (i < n)` as well.",
    exceptions: "
When the application pads its buffers and the checked launch does not: give the launch the padded sizes.",
    source: "
- OpenCL C 3.0, 6.5.13 Indirection Operator: an invalid pointer makes the behavior undefined.
- C99, 6.5.6, paragraph 8: the limits of pointer arithmetic.",
    ..Rule::CHECK
};

/// A write leaves its memory object.
pub const OUT_OF_BOUNDS_WRITE: Rule = Rule {
    code: "out-of-bounds-write",
    severity: Severity::Error,
    title: "a write is outside of its memory object",
    what: "
A write of which at least one byte is outside the object that the address was made from: a buffer argument, a variable
in local or private memory. Writes of `vstoreN`, atomics and asynchronous copies count. The object decides, not the
address: a write that happens to fall into a neighbouring buffer is found too.",
    why: "
It destroys data that something else still needs: another buffer, another work-item's variables, another process's
memory on devices without protection. The damage appears far from its cause, or the device faults and the queue is
lost.",
    example: "
__kernel void fill(__global float *out, float value) {
    out[get_global_id(0)] = value;  // the global size was rounded up to whole work-groups
}",
    advice: "Pass the number of elements, and let the work-items beyond it do nothing.",
    instead: "
__kernel void fill(__global float *out, float value, int n) {
    int i = get_global_id(0);
    if (i < n)
        out[i] = value;
}",
    remark: "If a barrier follows, put the test around the access, not around the barrier.",
    exceptions: "
When the application pads its buffers and the checked launch does not: give the launch the padded sizes.",
    source: "
- OpenCL C 3.0, 6.5.13 Indirection Operator: an invalid pointer makes the behavior undefined.
- C99, 6.5.6, paragraph 8: the limits of pointer arithmetic.",
    ..Rule::CHECK
};

/// An index leaves an inner array.
pub const INNER_ARRAY_BOUNDS: Rule = Rule {
    code: "inner-array-bounds",
    severity: Severity::Error,
    title: "an index is outside of an inner array, but inside the object that contains it",
    what: "
An index that is too large or negative for its dimension of an array of arrays, or for an array inside a structure,
while the bytes are still inside the whole object. `tile[0][16]` of `tile[16][16]` is the element `tile[1][0]`.",
    why: "
The wrong element is read or overwritten without any fault, and a compiler may assume that it does not happen. It is
the usual result of swapped indices, a forgotten halo, or rows that are one element too short.",
    example: "
__constant float weight[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};

__kernel void row_sums(__global float *out) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k <= 3; k++)  // k = 3 is the next row's first element
        sum += weight[row][k];
    out[row] = sum;
}",
    advice: "Stop at the end of the row, or make the row long enough for the index.",
    instead: "
__constant float weight[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};

__kernel void row_sums(__global float *out) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < 3; k++)
        sum += weight[row][k];
    out[row] = sum;
}",
    exceptions: "
When the code walks over all elements through the first row on purpose. Declare one dimension, `tile[16 * 16]`, and
compute the index: that states the intent and is defined.",
    source: "- C99, 6.5.6, paragraph 8; its annex J.2 names `a[1][7]` of `int a[4][5]` as undefined.",
    ..Rule::CHECK
};

/// A vector lane that does not exist is selected.
pub const LANE_OUT_OF_RANGE: Rule = Rule {
    code: "lane-out-of-range",
    severity: Severity::Error,
    title: "a computed index selects a lane that the vector does not have",
    what: "`v[i]` on a vector, read or written, with an `i` that is negative or not below the number of lanes.",
    why: "
Vectors are stored in registers. A lane past the end reads or overwrites a register that belongs to something else,
wraps around, or is ignored, depending on the compiler.",
    example: "
__kernel void lane(__global const float4 *in, __global float *out) {
    int i = get_global_id(0);
    float4 v = in[i / 8];
    out[i] = v[i % 8];  // a float4 has lanes 0 to 3
}",
    instead: "
__kernel void lane(__global const float4 *in, __global float *out) {
    int i = get_global_id(0);
    float4 v = in[i / 4];
    out[i] = v[i % 4];
}",
    remark: "
A computed lane is slow on most GPUs anyway. If the data is in memory, read the scalar:
`((__global const float *)in)[i]`.",
    exceptions: "
When the lane is discarded afterwards, for example by `select`. Keep the index in range all the same, by `i & 3`.",
    source: "
- OpenCL C 3.0, 6.3.7 Vector Components: the components of a vector.
- SPIR-V, `OpVectorExtractDynamic` and `OpVectorInsertDynamic`: the behavior is undefined for an index out of range.",
    ..Rule::CHECK
};
