//! The outcome of a launch as a whole.

use tripipe_ir::diagnostic::{Rule, Severity};

/// A kernel has no visible effect.
pub const KERNEL_WITHOUT_EFFECT: Rule = Rule {
    code: "kernel-without-effect",
    severity: Severity::Warning,
    title: "a kernel has no visible result",
    what: "
A kernel without any write to a buffer, image or program-scope variable, and without `printf`: its stores went to
private or local memory only, or the compiler removed them as unused.",
    why: "
The result is missing. In a benchmark it is worse: the compiler removes all unused work, and the benchmark times an
empty kernel.",
    example: "
__kernel void square(__global float *a) {
    float x = a[get_global_id(0)];
    x = x * x;  // never stored
}",
    instead: "
__kernel void square(__global float *a) {
    int i = get_global_id(0);
    a[i] = a[i] * a[i];
}",
    exceptions: "For a kernel that is empty on purpose, such as to measure the cost of a launch.",
    source: "- C99, 5.1.2.3, paragraph 3: what has no needed side effect need not be evaluated.",
    ..Rule::CHECK
};

/// A work-item does not terminate.
pub const INFINITE_LOOP: Rule = Rule {
    code: "infinite-loop",
    severity: Severity::Warning,
    title: "a work-item does not end within its budget of instructions",
    what: "
A work-item that used up the number of instructions that the check allows. The finding names the loop it was in. The
rest of the launch was not checked.",
    why: "
A GPU does not interrupt a kernel. An endless loop blocks the device, on phones the screen too, until a watchdog
resets it and every application loses its queues.",
    example: "
__kernel void relay(__global volatile int *flag, __global int *out) {
    int group = get_group_id(0);
    while (flag[group] == 0)
        ;  // waits for another work-group that may not run before this one has ended
    out[group] = 1;
    flag[group + 1] = 1;
}",
    advice: "
Do not wait for other work-groups inside a kernel: end it, and continue in the next launch. Limit the iterations of
loops that converge.",
    instead: "
__kernel void root(__global float *a) {
    int i = get_global_id(0);
    float x = a[i], guess = x;
    for (int turn = 0; turn < 64 && fabs(guess * guess - x) > 1e-6f * x; turn++)
        guess = 0.5f * (guess + x / guess);
    a[i] = guess;
}",
    exceptions: "When the kernel is long and not endless: check a smaller launch, or raise the budget.",
    source: "
- OpenCL API 3.0, 3.2.2 Execution of kernel-instances: work-groups may run one after another, so one cannot wait for
  another.",
    ..Rule::CHECK
};
