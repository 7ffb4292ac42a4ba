//! Loops in which work-items wait for each other.

use tripipe_launch::NdRange;
use tripipe_simulate::Options;

use crate::execute_groups::bench::{Bench, memory};

/// Options with a step limit that a hanging test reaches soon.
fn limited() -> Options {
    Options { steps: 200_000_000, ..Options::default() }
}

/// Common forms of locks, with the work of a lane in the critical section.
const LOCKS: &str = "
    #define CRITICAL { int x = counter[0]; trace[x] = get_global_id(0); counter[0] = x + 1; }
    kernel void spin(volatile global int *lock, volatile global int *counter, global int *trace) {
        while (atomic_cmpxchg(lock, 0, 1) != 0)
            ;
        CRITICAL
        atomic_xchg(lock, 0);
    }
    kernel void flagged(volatile global int *lock, volatile global int *counter, global int *trace) {
        int done = 0;
        while (!done) {
            if (atomic_cmpxchg(lock, 0, 1) == 0) {
                CRITICAL
                atomic_xchg(lock, 0);
                done = 1;
            }
        }
    }
    kernel void broken_out(volatile global int *lock, volatile global int *counter, global int *trace) {
        for (;;) {
            if (atomic_xchg(lock, 1) == 0) {
                CRITICAL
                mem_fence(CLK_GLOBAL_MEM_FENCE);
                *lock = 0;
                break;
            }
        }
    }
    kernel void patient(volatile global int *lock, volatile global int *counter, global int *trace) {
        while (1) {
            while (*lock != 0)
                ;
            if (atomic_cmpxchg(lock, 0, 1) == 0)
                break;
        }
        CRITICAL
        atomic_and(lock, 0);
    }
    kernel void repeated(volatile global int *lock, volatile global int *counter, global int *trace) {
        for (int turn = 0; turn < 3; turn++) {
            while (atomic_cmpxchg(lock, 0, 1) != 0)
                ;
            CRITICAL
            for (int k = 0; k < 50; k++)
                counter[1] += k;
            atomic_xchg(lock, 0);
        }
    }
    kernel void ticket(volatile global int *lock, volatile global int *counter, global int *trace) {
        int mine = atomic_inc(lock);
        while (atomic_add(counter + 1, 0) != mine)
            ;
        CRITICAL
        atomic_inc(counter + 1);
    }
    kernel void near(volatile global int *lock, volatile global int *counter, global int *trace) {
        local int own;
        if (get_local_id(0) == 0)
            own = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        while (atomic_cmpxchg(&own, 0, 1) != 0)
            ;
        while (atomic_cmpxchg(lock, 0, 1) != 0)
            ;
        CRITICAL
        atomic_xchg(lock, 0);
        atomic_xchg(&own, 0);
    }";

#[test]
fn locks_between_lanes_warps_and_groups() {
    let Some(mut bench) = Bench::with(limited(), LOCKS, "-cl-std=CL1.2") else { return };
    for (entry, times) in [
        ("spin", 1),
        ("flagged", 1),
        ("broken_out", 1),
        ("patient", 1),
        ("repeated", 3),
        ("ticket", 1),
        ("near", 1),
    ] {
        for (items, local) in [(64, 64), (3, 1), (150, 75), (200, 200)] {
            let buffers = [bench.buffer(&[0]), bench.buffer(&[0; 2]), bench.buffer(&vec![-1; times * items])];
            bench.run(entry, NdRange::d1(items).local(local, 1, 1), &buffers.map(memory));
            let counter = bench.read::<i32>(buffers[1], 2);
            assert_eq!(counter[0], (times * items) as i32, "{entry}, {items} in groups of {local}");
            if entry == "repeated" {
                assert_eq!(counter[1], 3 * items as i32 * (0..50).sum::<i32>());
            }
            // Every work-item was inside alone, the expected number of times.
            let mut trace = bench.read::<i32>(buffers[2], times * items);
            trace.sort_unstable();
            let wanted: Vec<i32> = (0..items as i32).flat_map(|i| vec![i; times]).collect();
            assert_eq!(trace, wanted, "{entry}, {items} in groups of {local}");
        }
    }
}

#[test]
fn a_checked_launch_makes_the_same_of_locks() {
    let Some(mut bench) = Bench::with(limited(), LOCKS, "-cl-std=CL1.2") else { return };
    for entry in ["spin", "patient", "ticket"] {
        let buffers = [bench.buffer(&[0]), bench.buffer(&[0; 2]), bench.buffer(&[-1; 150])];
        bench.check(entry, NdRange::d1(150).local(75, 1, 1), &buffers.map(memory));
        assert_eq!(bench.read::<i32>(buffers[1], 1), [150], "{entry}");
    }
    let source = "
        kernel void f(volatile global int *flags) {
            while (atomic_or(flags, 0) == 0)
                ;
            flags[1] = 1;
        }";
    let Some(mut bench) = Bench::with(limited(), source, "-cl-std=CL1.2") else { return };
    let flags = bench.buffer(&[0, 0]);
    let findings = bench.check("f", NdRange::d1(100).local(100, 1, 1), &[memory(flags)]);
    assert!(
        findings.iter().any(|finding| finding.rule.code == "infinite-loop"
            && finding.location.as_ref().is_some_and(|location| location.line == 3)
            && finding.message.contains("never comes")),
        "{findings:?}"
    );
}

#[test]
fn flags_between_work_items() {
    let source = "
        // Each waits for the one before it, the last first: lanes of one warp, and warps.
        kernel void chain(volatile global int *flags, global int *out) {
            int i = get_global_id(0), n = get_global_size(0);
            if (i + 1 < n)
                while (flags[i + 1] == 0)
                    ;
            out[i] = i + 1 < n ? out[i + 1] + 1 : 0;
            mem_fence(CLK_GLOBAL_MEM_FENCE);
            flags[i] = 1;
        }
        // One produces, all others wait, without atomics, in local memory.
        kernel void producer(global int *out, int who) {
            local int ready, value;
            int k = get_local_id(0);
            if (k == 0)
                ready = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (k == who) {
                int sum = 0;
                for (int t = 0; t < 1000; t++)
                    sum += t ^ who;
                value = sum;
                mem_fence(CLK_LOCAL_MEM_FENCE);
                ready = 1;
            } else {
                while (ready == 0)
                    mem_fence(CLK_LOCAL_MEM_FENCE);
            }
            out[k] = value + k;
        }
        // A barrier of one's own making.
        kernel void homemade(volatile global int *arrived, global int *a, global int *b) {
            int i = get_local_id(0), n = get_local_size(0);
            a[i] = i * i;
            mem_fence(CLK_GLOBAL_MEM_FENCE);
            atomic_inc(arrived);
            while (atomic_or(arrived, 0) < n)
                ;
            b[i] = a[(i + 13) % n];
            barrier(CLK_GLOBAL_MEM_FENCE);
            a[i] = b[(i + 1) % n];
        }";
    let Some(mut bench) = Bench::with(limited(), source, "-cl-std=CL1.2") else { return };
    for items in [2, 64, 200] {
        let range = NdRange::d1(items).local(items, 1, 1);
        let buffers = [bench.buffer(&vec![0; items]), bench.buffer(&vec![0; items])];
        bench.run("chain", range, &buffers.map(memory));
        let wanted: Vec<i32> = (0..items as i32).rev().collect();
        assert_eq!(bench.read::<i32>(buffers[1], items), wanted);

        for who in [0, 1, items as i32 - 1] {
            let out = bench.buffer(&vec![0; items]);
            bench.run("producer", range, &[memory(out), who.into()]);
            let sum: i32 = (0..1000).map(|t| t ^ who).sum();
            let wanted: Vec<i32> = (0..items as i32).map(|k| sum + k).collect();
            assert_eq!(bench.read::<i32>(out, items), wanted, "{who} of {items}");
        }

        let buffers = [bench.buffer(&[0]), bench.buffer(&vec![0; items]), bench.buffer(&vec![0; items])];
        bench.run("homemade", range, &buffers.map(memory));
        let square = |i: usize| ((i % items) * (i % items)) as i32;
        let wanted: Vec<i32> = (0..items).map(|i| square(i + 14)).collect();
        assert_eq!(bench.read::<i32>(buffers[1], items), wanted);
    }
}

#[test]
fn a_scan_that_looks_back_at_earlier_groups() {
    let source = "
        kernel void scan(global const int *in, global int *out, volatile global int *ticket, global atomic_int *status, global int *sums) {
            local int tile, before;
            if (get_local_id(0) == 0)
                tile = atomic_inc(ticket);
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = tile * get_local_size(0) + get_local_id(0);
            int x = in[i], inclusive = work_group_scan_inclusive_add(x);
            int total = work_group_broadcast(inclusive, get_local_size(0) - 1);
            if (get_local_id(0) == 0) {
                sums[2 * tile] = total;
                atomic_store_explicit(status + tile, 1, memory_order_release, memory_scope_device);
                int sum = 0;
                for (int k = tile - 1; k >= 0; k--) {
                    int state;
                    while ((state = atomic_load_explicit(status + k, memory_order_acquire, memory_scope_device)) == 0)
                        ;
                    if (state == 2) {
                        sum += sums[2 * k + 1];
                        break;
                    }
                    sum += sums[2 * k];
                }
                before = sum;
                sums[2 * tile + 1] = sum + total;
                atomic_store_explicit(status + tile, 2, memory_order_release, memory_scope_device);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            out[i] = before + inclusive;
        }";
    let options = Options { threads: 4, ..limited() };
    let Some(mut bench) = Bench::with(options, source, "-cl-std=CL2.0") else { return };
    let (groups, local) = (20, 96);
    let input: Vec<i32> = (0..groups * local).map(|i| (i * 7919 % 101) as i32 - 50).collect();
    let buffers = [
        bench.buffer(&input),
        bench.buffer(&vec![0; groups * local]),
        bench.buffer(&[0]),
        bench.buffer(&vec![0; groups]),
        bench.buffer(&vec![0; 2 * groups]),
    ];
    bench.run("scan", NdRange::d1(groups * local).local(local, 1, 1), &buffers.map(memory));
    let mut sum = 0;
    let wanted: Vec<i32> = input
        .iter()
        .map(|x| {
            sum += x;
            sum
        })
        .collect();
    assert_eq!(bench.read::<i32>(buffers[1], groups * local), wanted);
}

#[test]
fn sub_groups_come_together_again_behind_a_lock() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        kernel void f(volatile global int *lock, volatile global int *counter, global int *out) {
            int i = get_global_id(0);
            while (atomic_cmpxchg(lock, 0, 1) != 0)
                ;
            int mine = counter[0]++;
            atomic_xchg(lock, 0);
            out[3 * i] = sub_group_reduce_add(mine);
            sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
            out[3 * i + 1] = sub_group_scan_inclusive_add(1);
            out[3 * i + 2] = work_group_reduce_add(mine);
        }";
    let Some(mut bench) = Bench::with(limited(), source, "-cl-std=CL2.0") else { return };
    let items = 104;
    let buffers = [bench.buffer(&[0]), bench.buffer(&[0]), bench.buffer(&vec![0; 3 * items])];
    bench.run("f", NdRange::d1(items).local(items, 1, 1), &buffers.map(memory));
    let out = bench.read::<i32>(buffers[2], 3 * items);
    let all: i32 = (0..items as i32).sum();
    let mut sums = 0;
    for (i, found) in out.chunks(3).enumerate() {
        assert_eq!(found[1..], [i as i32 % 16 + 1, all], "{i}");
        // All members of a sub-group have the sum, and the sums add up to the sum of all numbers.
        let first = i / 16 * 16;
        assert_eq!(found[0], out[3 * first], "{i}");
        sums += if i == first { found[0] } else { 0 };
    }
    assert_eq!(sums, all);
}

#[test]
fn waits_that_never_end_are_reported() {
    let source = "
        kernel void later_group(volatile global int *flags) {
            int g = get_group_id(0);
            if (g == 0)
                while (flags[1] == 0)
                    ;
            flags[g] = 1;
        }
        kernel void for_ever(volatile global int *lock) {
            // Nobody sets it free.
            while (atomic_cmpxchg(lock, 0, 1) != 0)
                ;
        }
        kernel void behind_a_barrier(volatile global int *flags) {
            if (get_local_id(0) == 0)
                while (atomic_or(flags, 0) == 0)
                    ;
            barrier(CLK_GLOBAL_MEM_FENCE);
            flags[0] = 1;
        }
        kernel void counting(volatile global int *flags) {
            int turns = 0;
            while (atomic_or(flags, 0) == 0 && turns < 100000)
                turns++;
            flags[0] = turns;
        }
        kernel void counting_for_ever(volatile global int *flags) {
            ulong turns = 0;
            while (atomic_or(flags, 0) == 0)
                turns++;
            flags[0] = turns;
        }";
    let options = Options { steps: 4_000_000, ..Options::default() };
    let Some(mut bench) = Bench::with(options, source, "-cl-std=CL1.2") else { return };
    for (entry, location) in
        [("later_group", "test.cl:5:"), ("for_ever", "test.cl:11:"), ("behind_a_barrier", "test.cl:16:")]
    {
        for local in [1, 100] {
            // A single work-item acquires the lock and passes its own barrier.
            if entry == "for_ever" && local == 1 {
                continue;
            }
            let flags = bench.buffer(&[0, 0]);
            let range = NdRange::d1(2 * local).local(local, 1, 1);
            let error = bench.try_run(entry, range, &[memory(flags)]).unwrap_err();
            assert!(
                error.contains(location)
                    && error.contains("waits in a loop for a change of memory that never comes"),
                "{error}"
            );
            let item = if entry == "for_ever" { "[1, 0, 0]" } else { "[0, 0, 0]" };
            assert!(error.contains(&format!("work-item {item} of kernel `{entry}`")), "{error}");
        }
    }
    // A loop that gives up by itself is not reported; endless changes reach the step limit.
    let flags = bench.buffer(&[0, 0]);
    bench.run("counting", NdRange::d1(2).local(2, 1, 1), &[memory(flags)]);
    assert_eq!(bench.read::<i32>(flags, 1), [100_000]);
    let flags = bench.buffer(&[0, 0]);
    let error =
        bench.try_run("counting_for_ever", NdRange::d1(2).local(2, 1, 1), &[memory(flags)]).unwrap_err();
    assert!(error.contains("more than 4000000 instructions"), "{error}");
}
