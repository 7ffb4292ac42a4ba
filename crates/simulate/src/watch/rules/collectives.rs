//! Operations that all work-items of a group execute together.

use tripipe_ir::diagnostic::{Rule, Severity};

/// A barrier is not reached by all work-items of the group.
pub const BARRIER_DIVERGENCE: Rule = Rule {
    code: "barrier-divergence",
    severity: Severity::Error,
    title: "a barrier is not reached by all work-items of the group",
    what: "
A barrier at which some work-items of the group wait while others have ended, wait at another barrier, or are in
another iteration of the loop. Flags that differ between work-items count too.",
    why: "
The waiting work-items never continue, and the device hangs until a watchdog resets it; or the hardware counts
arrivals and lets them pass at the wrong barrier, before the data is ready.",
    example: "
__kernel void pair_sum(__global const float *in, __global float *out, int n) {
    __local float tile[64];
    int i = get_global_id(0), k = get_local_id(0);
    if (i >= n)
        return;  // the rest of the last work-group waits for these
    tile[k] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = tile[k] + tile[k ^ 1];
}",
    advice: "Keep all work-items until the last barrier, and put the test around the accesses.",
    instead: "
__kernel void pair_sum(__global const float *in, __global float *out, int n) {
    __local float tile[64];
    int i = get_global_id(0), k = get_local_id(0);
    tile[k] = i < n ? in[i] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n)
        out[i] = tile[k] + tile[k ^ 1];
}",
    exceptions: "
Never by the specification. A condition that is the same for the whole work-group is fine and is not reported.",
    source: "
- OpenCL C 3.0, 6.15.8 Synchronization Functions: a barrier in a condition or loop must be met by all or none.",
    ..Rule::CHECK
};

/// A group function is not called by all work-items, or not with the same arguments.
pub const COLLECTIVE_DIVERGENCE: Rule = Rule {
    code: "collective-divergence",
    severity: Severity::Error,
    title: "a work-group or sub-group function is not called by all, or not with the same arguments",
    what: "
A work-group or sub-group function (`work_group_reduce_add`, `work_group_broadcast`, `sub_group_scan_inclusive_add`
and similar ones) that some work-items of the group do not reach, or not in the same iteration of a loop; or one whose
argument must be the same for all, such as the index of a broadcast, and is not.",
    why: "
The function combines values of all work-items and waits for them like a barrier. If some are missing, it hangs, or
uses whatever their registers contain.",
    example: "
// options: -cl-std=CL2.0
__kernel void positive_sum(__global const int *in, __global int *out) {
    int x = in[get_global_id(0)];
    if (x > 0) {
        int sum = work_group_reduce_add(x);  // those with x <= 0 are missing
        if (get_local_id(0) == 0)
            out[get_group_id(0)] = sum;
    }
}",
    advice: "Let all work-items call it, with a neutral value for those that should not count.",
    instead: "
// options: -cl-std=CL2.0
__kernel void positive_sum(__global const int *in, __global int *out) {
    int x = in[get_global_id(0)];
    int sum = work_group_reduce_add(max(x, 0));
    if (get_local_id(0) == 0)
        out[get_group_id(0)] = sum;
}",
    exceptions: "
Some sub-group functions are designed for divergence and are not reported: those of `cl_khr_subgroup_ballot`,
`cl_khr_subgroup_non_uniform_vote` and `cl_khr_subgroup_non_uniform_arithmetic`.",
    source: "
- OpenCL C 3.0, 6.15.16 Work-group Collective Functions: all work-items must encounter them; the index of a broadcast must
  be the same for all.
- OpenCL API 3.0, 3.2.4 Synchronization: the same for work-groups and sub-groups, in loops too.",
    ..Rule::CHECK
};

/// An asynchronous copy is not started or awaited by all work-items in the same way.
pub const ASYNC_COPY_DIVERGENCE: Rule = Rule {
    code: "async-copy-divergence",
    severity: Severity::Error,
    title: "an asynchronous copy is not called by all work-items, or not with the same arguments",
    what: "
`async_work_group_copy`, `async_work_group_strided_copy` or `wait_group_events` that some work-items of the work-group
do not reach, or that they call with different arguments: addresses, counts, strides, or events.",
    why: "
The work-group makes one copy together. A device may split it among the work-items, so that parts are missing when
some do not take part; or use one work-item's arguments for all.",
    example: "
__kernel void twice(__global const float *in, __global float *out) {
    __local float tile[64];
    event_t copied = 0;
    if (get_local_id(0) == 0)  // one work-item alone
        copied = async_work_group_copy(tile, in + 64 * get_group_id(0), 64, 0);
    wait_group_events(1, &copied);
    out[get_global_id(0)] = 2.0f * tile[get_local_id(0)];
}",
    instead: "
__kernel void twice(__global const float *in, __global float *out) {
    __local float tile[64];
    event_t copied = async_work_group_copy(tile, in + 64 * get_group_id(0), 64, 0);
    wait_group_events(1, &copied);
    out[get_global_id(0)] = 2.0f * tile[get_local_id(0)];
}",
    remark: "Addresses and counts may depend on the work-group, never on the work-item.",
    exceptions: "Never by the specification.",
    source: "
- OpenCL C 3.0, 6.15.11 Async Copies From Global to Local Memory, Local to Global Memory, and Prefetch: all work-items
  must encounter these functions with the same argument values, otherwise the results are undefined.",
    ..Rule::CHECK
};

/// The memory of an asynchronous copy is used before the copy has been waited for.
pub const ASYNC_COPY_UNWAITED: Rule = Rule {
    code: "async-copy-unwaited",
    severity: Severity::Error,
    title: "the memory of an asynchronous copy is used before the kernel waits for the copy",
    what: "
A read or write of a copy's destination, or a write of its source, between the call that starts the copy and the
`wait_group_events` for its event, by a work-item or by another copy; and a copy that is never waited for.",
    why: "
The copy runs concurrently with the kernel. Until the kernel has waited for it, the destination contains a mix of old
and new bytes. A kernel that ends before its copy leaves its local memory to the next work-group while the copy still
writes it.",
    example: "
__kernel void twice(__global const float *in, __global float *out) {
    __local float tile[64];
    event_t copied = async_work_group_copy(tile, in + 64 * get_group_id(0), 64, 0);
    out[get_global_id(0)] = 2.0f * tile[get_local_id(0)];  // not there yet
    wait_group_events(1, &copied);
}",
    instead: "
__kernel void twice(__global const float *in, __global float *out) {
    __local float tile[64];
    event_t copied = async_work_group_copy(tile, in + 64 * get_group_id(0), 64, 0);
    wait_group_events(1, &copied);
    out[get_global_id(0)] = 2.0f * tile[get_local_id(0)];
}",
    remark: "
A copy out of local memory needs a barrier before it as well: it does not wait for the work-items that write its source.",
    exceptions: "Never by the specification. Devices that copy at once, as many do, hide it.",
    source: "
- OpenCL C 3.0, 6.15.11 Async Copies From Global to Local Memory, Local to Global Memory, and Prefetch: the kernel must
  wait for all copies before it exits; the functions do not synchronize the source.",
    ..Rule::CHECK
};
