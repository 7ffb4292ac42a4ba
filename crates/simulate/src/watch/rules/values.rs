//! Unwritten values.

use tripipe_ir::diagnostic::{Rule, Severity};

/// The outcome depends on a value that was never written.
pub const UNINITIALISED_VALUE: Rule = Rule {
    code: "uninitialised-value",
    severity: Severity::Error,
    title: "a value that was never written is used",
    what: "
Bits that were never written and that affect the result: they decide a branch, are part of an address, or are stored
to global memory or an image. The finding names that location, and the origin of the bits: a variable without
initialiser, local memory that no work-item has written, a buffer that was created without contents. Copying and
computing with such bits is not reported, as long as the result is not used.",
    why: "
A register or local memory contains what the last work-group left there. The kernel works as long as that is zero, and
fails when something else runs next to it.",
    example: "
__kernel void row_sum(__global const float *in, __global float *out, int n) {
    int row = get_global_id(0);
    float sum;
    for (int k = 0; k < n; k++)
        sum += in[row * n + k];
    out[row] = sum;
}",
    instead: "
__kernel void row_sum(__global const float *in, __global float *out, int n) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += in[row * n + k];
    out[row] = sum;
}",
    remark: "Variables in local memory cannot have an initialiser: let work-items write them, followed by a barrier.",
    exceptions: "
When the application fills a buffer that the checked launch leaves empty: give the launch its contents. Padding that is
stored and never read afterwards is harmless.",
    source: "
- OpenCL C 3.0, 6.7.7 Initialization: private objects are not initialized, local ones cannot be.
- C99, 6.2.4, paragraph 5, and 6.7.8, paragraph 10: the value is indeterminate.",
    ..Rule::CHECK
};
