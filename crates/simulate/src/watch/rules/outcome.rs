//! The outcome of a launch as a whole.

use tripipe_ir::diagnostic::{Rule, Severity};

/// A kernel has no visible effect.
pub const KERNEL_WITHOUT_EFFECT: Rule = Rule {
    code: "kernel-without-effect",
    severity: Severity::Warning,
    title: "a kernel has no visible result",
    explanation: r"## What it finds

A kernel without any write to a buffer, image or program-scope variable, and without `printf`: its stores went to
private or local memory only, or the compiler removed them as unused.

## Why it matters

The result is missing. In a benchmark it is worse: the compiler removes all unused work, and the benchmark times an
empty kernel.

## Example

```c
__kernel void square(__global float *a) {
    float x = a[get_global_id(0)];
    x = x * x;  // never stored
}
```

## Instead

```c
__kernel void square(__global float *a) {
    int i = get_global_id(0);
    a[i] = a[i] * a[i];
}
```

## When it is wrong

For a kernel that is empty on purpose, such as to measure the cost of a launch.

## Source

- C99, 5.1.2.3, paragraph 3: what has no needed side effect need not be evaluated.
",
};

/// A work-item does not terminate.
pub const INFINITE_LOOP: Rule = Rule {
    code: "infinite-loop",
    severity: Severity::Warning,
    title: "a work-item does not end within its budget of instructions",
    explanation: r"## What it finds

A work-item that used up the number of instructions that the check allows. The finding names the loop it was in. The
rest of the launch was not checked.

## Why it matters

A GPU does not interrupt a kernel. An endless loop blocks the device, on phones the screen too, until a watchdog
resets it and every application loses its queues.

## Example

```c
__kernel void relay(__global volatile int *flag, __global int *out) {
    int group = get_group_id(0);
    while (flag[group] == 0)
        ;  // waits for another work-group that may not run before this one has ended
    out[group] = 1;
    flag[group + 1] = 1;
}
```

## Instead

Do not wait for other work-groups inside a kernel: end it, and continue in the next launch. Limit the iterations of
loops that converge.

```c
__kernel void root(__global float *a) {
    int i = get_global_id(0);
    float x = a[i], guess = x;
    for (int turn = 0; turn < 64 && fabs(guess * guess - x) > 1e-6f * x; turn++)
        guess = 0.5f * (guess + x / guess);
    a[i] = guess;
}
```

## When it is wrong

When the kernel is long and not endless: check a smaller launch, or raise the budget.

## Source

- OpenCL API 3.0, 3.2.2 Execution of kernel-instances: work-groups may run one after another, so one cannot wait for
  another.
",
};
