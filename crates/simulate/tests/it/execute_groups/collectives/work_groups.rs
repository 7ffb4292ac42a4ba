//! Barriers and collective functions of work-groups.

use half::f16;
use tripipe_launch::NdRange;
use tripipe_simulate::{Options, Schedule};

use super::{Number, SIZES, model, reductions, source};
use crate::execute_groups::bench::{Bench, memory};

fn check_work_groups<T: Number>() {
    let Some(mut bench) = Bench::new(source::<T>("work_group"), "-cl-std=CL2.0") else { return };
    let mut random = fastrand::Rng::with_seed(3);
    for (name, with, start) in reductions::<T>() {
        for (items, local) in SIZES {
            let input: Vec<T> = (0..items).map(|_| T::random(&mut random)).collect();
            let memories = [bench.buffer(&input), bench.buffer(&vec![T::ZERO; 3 * items])];
            bench.run(name, NdRange::d1(items).local(local, 1, 1), &memories.map(memory));
            let wanted: Vec<T> = input.chunks(local).flat_map(|group| model(group, with, start)).collect();
            assert_eq!(
                bench.read::<T>(memories[1], 3 * items),
                wanted,
                "{name} of {} {}, groups of {local}",
                items,
                T::NAME
            );
        }
    }
}

#[test]
fn work_group_reductions_and_scans() {
    check_work_groups::<i32>();
    check_work_groups::<u32>();
    check_work_groups::<i64>();
    check_work_groups::<u64>();
    check_work_groups::<f16>();
    check_work_groups::<f32>();
    check_work_groups::<f64>();
}

#[test]
fn work_group_scans_follow_the_linear_id() {
    let Some(mut bench) = Bench::new(source::<i32>("work_group"), "-cl-std=CL2.0") else { return };
    // Groups of 5 x 13 in a range of 10 x 26: two warps each.
    let (w, h) = (10, 26);
    let input: Vec<i32> = (0..w * h).map(|i| (i * i) as i32).collect();
    let memories = [bench.buffer(&input), bench.buffer(&vec![0; 3 * w * h])];
    bench.run("add", NdRange::d2(w, h).local(5, 13, 1), &memories.map(memory));
    let out = bench.read::<i32>(memories[1], 3 * w * h);
    for (gx, gy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let items: Vec<usize> = (0..65).map(|item| (gy * 13 + item / 5) * w + gx * 5 + item % 5).collect();
        let own: Vec<i32> = items.iter().map(|item| input[*item]).collect();
        let wanted = model(&own, i32::wrapping_add, 0);
        let found: Vec<i32> = items.iter().flat_map(|item| out[3 * item..3 * item + 3].to_vec()).collect();
        assert_eq!(found, wanted, "group {gx}, {gy}");
    }
}

#[test]
fn votes_and_broadcasts() {
    let source = "
        kernel void votes(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            out[3 * i] = work_group_all(in[i]);
            out[3 * i + 1] = work_group_any(in[i]);
            out[3 * i + 2] = work_group_broadcast(in[i], 3);
        }
        kernel void from2(global const int *in, global int *out, int x, int y) {
            size_t i = get_global_linear_id();
            out[i] = work_group_broadcast(in[i], x, y);
        }
        kernel void from3(global const double *in, global double *out, int x, int y, int z) {
            size_t i = get_global_linear_id();
            out[i] = work_group_broadcast(in[i], x, y, z);
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL2.0") else { return };
    // Groups of 100: all true, none true, one true in the second warp.
    let input: Vec<i32> = (0..300).map(|i| if i < 100 { i + 1 } else { i32::from(i == 299) * 7 }).collect();
    let memories = [bench.buffer(&input), bench.buffer(&[0; 900])];
    bench.run("votes", NdRange::d1(300).local(100, 1, 1), &memories.map(memory));
    let out = bench.read::<i32>(memories[1], 900);
    for (i, found) in out.chunks(3).enumerate() {
        let wanted = [[1, 1, 4], [0, 0, 0], [0, 1, 0]][i / 100];
        assert_eq!([i32::from(found[0] != 0), i32::from(found[1] != 0), found[2]], wanted, "{i}");
    }

    let (w, h) = (18, 16);
    let input: Vec<i32> = (0..w * h).collect();
    for (x, y) in [(0, 0), (8, 0), (3, 7), (8, 7)] {
        let memories = [bench.buffer(&input), bench.buffer(&vec![0; (w * h) as usize])];
        let arguments = [memory(memories[0]), memory(memories[1]), x.into(), y.into()];
        bench.run("from2", NdRange::d2(w as usize, h as usize).local(9, 8, 1), &arguments);
        let wanted: Vec<i32> = (0..w * h).map(|i| (i / w / 8 * 8 + y) * w + i % w / 9 * 9 + x).collect();
        assert_eq!(bench.read::<i32>(memories[1], (w * h) as usize), wanted, "from {x}, {y}");
    }

    let input: Vec<f64> = (0..6 * 4 * 10).map(|i| f64::from(i) / 3.0).collect();
    let memories = [bench.buffer(&input), bench.buffer(&[0.0; 240])];
    let arguments = [memory(memories[0]), memory(memories[1]), 1.into(), 3.into(), 4.into()];
    bench.run("from3", NdRange::d3(6, 4, 10).local(3, 4, 10), &arguments);
    let wanted: Vec<f64> = (0..240).map(|i| input[(4 * 4 + 3) * 6 + i % 6 / 3 * 3 + 1]).collect();
    assert_eq!(bench.read::<f64>(memories[1], 240), wanted);
}

/// Sums, votes and values of 100 work-items, for every warp width and order.
#[test]
fn any_order_of_warps_gives_the_same() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        kernel void f(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            global int *o = out + 6 * i;
            o[0] = work_group_scan_exclusive_add(in[i]);
            o[1] = work_group_reduce_max(in[i]);
            o[2] = work_group_broadcast(in[i], 61);
            o[3] = sub_group_scan_inclusive_min(in[i]);
            local int s[20], copied[100];
            event_t e = async_work_group_copy(copied, in + get_group_id(0) * 100, 100, 0);
            if (get_local_id(0) < 20)
                s[get_local_id(0)] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            atomic_xor(&s[i % 20], in[i]);
            wait_group_events(1, &e);
            barrier(CLK_LOCAL_MEM_FENCE);
            o[4] = s[(i + 7) % 20] + copied[99 - get_local_id(0)];
            o[5] = get_max_sub_group_size();
        }";
    let input: Vec<i32> = (0..300).map(|i| i * 7919 % 1009 - 500).collect();
    for index in 0..7 {
        let options = Options { sub_group: 4, schedule: Schedule::numbered(index), ..Options::default() };
        let Some(mut bench) = Bench::with(options, source, "-cl-std=CL2.0") else { return };
        let memories = [bench.buffer(&input), bench.buffer(&[0; 1800])];
        bench.run("f", NdRange::d1(300).local(100, 1, 1), &memories.map(memory));
        let found = bench.read::<i32>(memories[1], 1800);
        // Narrow warps have narrow sub-groups.
        let size = found[5] as usize;
        assert!([1, 2, 4].contains(&size), "{size}");
        for (group, found) in input.chunks(100).zip(found.chunks(600)) {
            for (i, found) in found.chunks(6).enumerate() {
                let bits = group.iter().skip((i + 7) % 20).step_by(20).fold(0, |bits, x| bits ^ x);
                let wanted = [
                    group[..i].iter().sum(),
                    *group.iter().max().unwrap(),
                    group[61],
                    *group[i / size * size..=i].iter().min().unwrap(),
                    bits + group[99 - i],
                    size as i32,
                ];
                assert_eq!(found, wanted, "{i}, schedule {index}");
            }
        }
    }
}

#[test]
fn barriers_in_loops() {
    // A tree sum over local memory, twice in each loop iteration; each iteration reads what the previous one wrote.
    let source = "
        kernel void f(global int *a, local int *s, int turns) {
            int k = get_local_id(0), n = get_local_size(0), base = get_global_offset(0) + get_group_id(0) * get_enqueued_local_size(0);
            for (int turn = 0; turn < turns; turn++) {
                s[k] = a[base + (k + 1) % n] + turn;
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
                for (int left = n; left > 1; left = (left + 1) / 2) {
                    int half_up = (left + 1) / 2;
                    if (k + half_up < left)
                        s[k] += s[k + half_up];
                    barrier(CLK_LOCAL_MEM_FENCE);
                }
                if (k % 3 == 0)
                    a[base + k] += s[0];
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            }
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL2.0") else { return };
    for (items, local, offset) in [(200, 200, 0), (512, 256, 3), (300, 130, 11), (129, 64, 0), (10, 3, 5)] {
        let mut a: Vec<i32> = (0..items as i32 + offset).collect();
        let buffer = bench.buffer(&a);
        let range = NdRange::d1(items).local(local, 1, 1).offset(offset as usize, 0, 0);
        let scratch = tripipe_launch::Argument::Local { bytes: 4 * local };
        bench.run("f", range, &[memory(buffer), scratch, 5.into()]);
        for group in a[offset as usize..].chunks_mut(local) {
            for turn in 0..5 {
                let sum = group.iter().fold(0i32, |sum, x| sum.wrapping_add(x + turn));
                for x in group.iter_mut().step_by(3) {
                    *x = x.wrapping_add(sum);
                }
            }
        }
        assert_eq!(bench.read::<i32>(buffer, a.len()), a, "{items} in groups of {local} from {offset}");
    }
}

#[test]
fn who_has_ended_does_not_count() {
    let source = "
        kernel void f(global int *out, int n) {
            int i = get_global_id(0);
            if (i >= n)
                return;
            local int s[200];
            s[get_local_id(0)] = i;
            barrier(CLK_LOCAL_MEM_FENCE);
            int other = s[n - 1 - i];
            out[2 * i] = work_group_reduce_add(other);
            out[2 * i + 1] = work_group_scan_inclusive_add(1);
        }
        kernel void g(global int *out, int n) {
            int i = get_global_id(0);
            int x = out[i] * 3;
            if (i < n) {
                barrier(CLK_GLOBAL_MEM_FENCE);
                out[i] = x;
            } else {
                int y = out[i] * 5, z = y ^ i;
                out[i] = y + z;
            }
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL2.0") else { return };
    for (items, n) in [(60, 20), (200, 100), (200, 64), (200, 1)] {
        let out = bench.buffer(&vec![-1; 2 * items]);
        bench.run("f", NdRange::d1(items).local(items, 1, 1), &[memory(out), (n as i32).into()]);
        let wanted: Vec<i32> = (0..items)
            .flat_map(|i| if i < n { [(n * (n - 1) / 2) as i32, i as i32 + 1] } else { [-1, -1] })
            .collect();
        assert_eq!(bench.read::<i32>(out, 2 * items), wanted, "{n} of {items}");

        let input: Vec<i32> = (0..items as i32).collect();
        let out = bench.buffer(&input);
        bench.run("g", NdRange::d1(items).local(items, 1, 1), &[memory(out), (n as i32).into()]);
        let wanted: Vec<i32> =
            input.iter().map(|i| if *i < n as i32 { i * 3 } else { i * 5 + (i * 5 ^ i) }).collect();
        assert_eq!(bench.read::<i32>(out, items), wanted, "{n} of {items}");
    }
}

#[test]
fn waiting_at_two_places_is_a_fault() {
    let source = "
        kernel void f(global int *out) {
            if (get_local_id(0) < 70)
                barrier(CLK_LOCAL_MEM_FENCE);
            else
                barrier(CLK_GLOBAL_MEM_FENCE);
            out[get_global_id(0)] = 1;
        }";
    let Some(mut bench) = Bench::new(source, "") else { return };
    let out = bench.buffer(&[0; 100]);
    let error = bench.try_run("f", NdRange::d1(100).local(100, 1, 1), &[memory(out)]).unwrap_err();
    assert!(error.contains("test.cl:") && error.contains("wait at another location (line "), "{error}");
}
