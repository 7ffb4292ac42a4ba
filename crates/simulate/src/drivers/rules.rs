//! The rules of what drivers do.

use tripipe_ir::diagnostic::{Rule, Severity};

/// The driver does something wrong to the kernel.
pub static DRIVER_DEFECT: Rule = Rule {
    code: "driver-defect",
    severity: Severity::Warning,
    title: "the kernel has what a known defect of the driver needs",
    what: "
With `--driver VERSION`: the kernel has what makes that version of a driver fail, by the database of
`crates/device/data/drivers`. The message has the effect and the versions, the fix has the workaround and a link to those
who met it.",
    why: "
Compilers on phones are seldom updated. A kernel that is right by the language gives wrong results with some of them, or
does not build, and only on the phones of some users.",
    example: "
__kernel void sum(__global const int *in, __global int *out) {
    int total = sub_group_reduce_add(in[get_global_id(0)]);  // E031.37 crashes
    if (get_sub_group_local_id() == 0)
        out[get_group_id(0)] = total;
}",
    advice: "
Write the part in another way for that driver, or choose the kernel by the driver's version at run time.",
    instead: "
__kernel void sum(__global const int *in, __global int *out, __local int *part) {
    int own = get_local_id(0);
    part[own] = in[get_global_id(0)];
    for (int step = get_local_size(0) / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < step)
            part[own] += part[own + step];
    }
    if (own == 0)
        out[get_group_id(0)] = part[0];
}",
    exceptions: "
Many threads name the version and the GPU that failed, and not the construct inside the compiler: the kernel may be spared.
Where no version is known, it is a `driver-habit`. `tripipe devices --drivers` lists all entries, also those that a kernel
does not show.",
    source: "
- The link of the finding; `crates/device/data/drivers/README.md` describes the form.",
    ..Rule::CHECK
};

/// The driver does something to the kernel that is allowed, or may do it wrong.
pub static DRIVER_HABIT: Rule = Rule {
    code: "driver-habit",
    severity: Severity::Note,
    title: "the kernel has what the driver handles in its own way, or may do wrong",
    what: "
With `--driver VERSION`: the kernel has something that this driver does more slowly, or less accurately, than others; or
what a version of it did wrong, and nobody says which versions. The fix has what to write instead, and a link.",
    why: "
What is fast with one driver is emulated with another one.",
    example: "
__kernel void scale(__global const float *in, __global float *out, float factor) {
    int i = get_global_id(0);
    out[i] = fma(in[i], factor, 0.5f);  // clspv emulates fma() with integers
}",
    advice: "
Follow the fix where this driver matters.",
    instead: "
__kernel void scale(__global const float *in, __global float *out, float factor) {
    int i = get_global_id(0);
    out[i] = mad(in[i], factor, 0.5f);
}",
    exceptions: "Where the kernel does little else, it does not matter.",
    source: "
- The link of the finding; `crates/device/data/drivers/README.md` describes the form.",
    ..Rule::CHECK
};

/// Both rules.
pub const ALL: &[&Rule] = &[&DRIVER_DEFECT, &DRIVER_HABIT];
