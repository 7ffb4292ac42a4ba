//! Unordered accesses of several work-items.

use tripipe_ir::diagnostic::{Rule, Severity};

/// Two work-items of a work-group race.
pub const DATA_RACE: Rule = Rule {
    code: "data-race",
    severity: Severity::Error,
    title: "two work-items of a work-group access the same bytes, one writes, nothing orders them",
    what: "
Two work-items of one work-group that access the same bytes of local or global memory, at least one of them writing,
with no barrier between them and not both by atomics. Both locations are named. An asynchronous copy is such an access
too: it does not wait for work-items, so only a barrier before it orders it after their accesses to its source and
destination.",
    why: "
The order of the accesses depends on the device. Work-items that happen to run in lockstep hide the race; a wider
work-group, another GPU or another compiler shows it.",
    example: "
__kernel void neighbour(__global const float *in, __global float *out) {
    __local float tile[64];
    int i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
    out[get_global_id(0)] = tile[(i + 1) % 64];  // may not be written yet
}",
    instead: "
__kernel void neighbour(__global const float *in, __global float *out) {
    __local float tile[64];
    int i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[(i + 1) % 64];
}",
    remark: "In a loop a second barrier is needed before the tile is written again.",
    exceptions: "
When the order comes from something that the check does not follow, such as flags in memory that work-items wait for. Such
code is not portable: work-items need not make progress independently of each other.",
    source: "
- OpenCL API 3.0, 3.3.7 Memory Ordering Rules: a data race makes the behavior undefined. 3.3.4: OpenCL 1.x has memory
  consistent at a work-group barrier, and nowhere else.
- OpenCL C 3.0, 6.15.8 Synchronization Functions.",
    ..Rule::CHECK
};

/// Work-items of different work-groups race.
pub const DATA_RACE_BETWEEN_GROUPS: Rule = Rule {
    code: "data-race-between-groups",
    severity: Severity::Error,
    title: "work-items of different work-groups access the same bytes, one writes, nothing orders them",
    what: "
Work-items of different work-groups that access the same bytes of global memory in one launch, at least one of them
writing, and not both by atomics. Both locations are named.",
    why: "
Work-groups run in any order, one after another or at once, and a barrier synchronises only one work-group. The result
differs from device to device and from run to run.",
    example: "
__kernel void total(__global const float *part, __global float *sum) {
    if (get_local_id(0) == 0)
        sum[0] += part[get_group_id(0)];  // every work-group, unordered
}",
    advice: "Let one work-group do it in a separate launch; a launch begins after the writes of the one before it.",
    instead: "
__kernel void total(__global const float *part, __global float *sum, int parts) {
    if (get_global_id(0) == 0) {
        float all = 0.0f;
        for (int k = 0; k < parts; k++)
            all += part[k];
        sum[0] = all;
    }
}",
    remark: "For integers, `atomic_add` works too.",
    exceptions: "When work-groups pass data with acquire and release atomics that the check does not follow.",
    source: "
- OpenCL API 3.0, 3.3.7 Memory Ordering Rules: a data race makes the behavior undefined. 3.2.2 Execution of
  kernel-instances: work-groups run in any order and cannot be synchronized portably.",
    ..Rule::CHECK
};

/// Several work-items write the same value to the same bytes.
pub const SAME_VALUE_RACE: Rule = Rule {
    code: "same-value-race",
    severity: Severity::Warning,
    title: "several work-items write the same value to the same bytes, unordered",
    what: "
Writes of several work-items to the same bytes, with nothing that orders them, all of the same value. If other
work-items access the bytes at the same time, it is a `data-race` instead.",
    why: "
By the specification it is a data race like any other. In practice the result is correct for aligned words, but it is
fragile: if one of the values differs, the result is random. Many writes to one address are also serialised.",
    example: "
__kernel void any_negative(__global const float *in, __global int *found) {
    if (in[get_global_id(0)] < 0.0f)
        found[0] = 1;
}",
    instead: "
__kernel void any_negative(__global const float *in, __global int *found) {
    if (in[get_global_id(0)] < 0.0f)
        atomic_or(found, 1);
}",
    remark: "
Or let one work-item write: a value that is the same for all, such as a parameter in local memory, needs one writer.",
    exceptions: "
When the target devices are known to support it, and the writes are aligned words. Document it in a comment.",
    source: "
- OpenCL API 3.0, 3.3.7 Memory Ordering Rules: two actions conflict when one of them modifies the location; the values do
  not matter.",
    ..Rule::CHECK
};

/// Atomic and plain accesses to the same bytes conflict.
pub const ATOMIC_MIXED: Rule = Rule {
    code: "atomic-mixed",
    severity: Severity::Error,
    title: "an atomic and a plain access of the same bytes, one writes, nothing orders them",
    what: "
An atomic operation and a plain read or write of different work-items on the same bytes, at least one of them writing,
with nothing that orders them. A plain read counts as atomic where a compare-and-exchange of the same location expects
its value: if the value has changed since, nothing is exchanged. A compare-and-exchange that fails is only a read.",
    why: "
An atomic protects only against other atomics. A plain write can fall between the read and the write of one, and a
plain read may be served from a cache that atomics bypass.",
    example: "
__kernel void histogram(__global const uchar *in, __global int *bins) {
    int i = get_global_id(0);
    if (i < 256)
        bins[i] = 0;  // while others count already
    atomic_inc(&bins[in[i]]);
}",
    advice: "Clear the bins before the launch (`clEnqueueFillBuffer`), or in a separate launch.",
    instead: "
__kernel void clear(__global int *bins) {
    bins[get_global_id(0)] = 0;
}

__kernel void histogram(__global const uchar *in, __global int *bins) {
    atomic_inc(&bins[in[get_global_id(0)]]);
}",
    remark: "Within a work-group, for bins in local memory, a barrier between clearing and counting is enough.",
    exceptions: "When the order comes from acquire and release atomics that the check does not follow.",
    source: "
- OpenCL API 3.0, 3.3.7 Memory Ordering Rules: it is a data race unless both actions are atomic.
- OpenCL C 3.0, 6.15.12 Atomic Functions: those of OpenCL C 1.x are relaxed, and order nothing else.",
    ..Rule::CHECK
};

/// A barrier fences the wrong memory.
pub const WRONG_FENCE: Rule = Rule {
    code: "wrong-fence",
    severity: Severity::Error,
    title: "the barrier between two accesses does not fence their memory",
    what: "
Two accesses that would race if it were not for a barrier between them, and the barrier's flags do not name their memory:
`CLK_GLOBAL_MEM_FENCE` for data in local memory, `CLK_LOCAL_MEM_FENCE` for data in global memory, or 0.",
    why: "
Every work-item has arrived, but what it wrote need not be visible to the others: it may wait in a cache or a write queue
that the barrier does not flush.",
    example: "
__kernel void reverse(__global const float *in, __global float *out) {
    __local float tile[64];
    int i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
    barrier(CLK_GLOBAL_MEM_FENCE);  // tile is in local memory
    out[get_global_id(0)] = tile[63 - i];
}",
    instead: "
__kernel void reverse(__global const float *in, __global float *out) {
    __local float tile[64];
    int i = get_local_id(0);
    tile[i] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[63 - i];
}",
    remark: "Name both, joined by `|`, only where both are needed: each may cost time.",
    exceptions: "Never by the specification, though many devices order both memories at every barrier.",
    source: "
- OpenCL C 3.0, 6.15.8 Synchronization Functions: what the flags make visible.
- OpenCL API 3.0, 3.3.7 Memory Ordering Rules: local and global memory are ordered separately.",
    ..Rule::CHECK
};
