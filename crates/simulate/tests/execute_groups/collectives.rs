//! Barriers and collective functions of work-groups.

use std::fmt::{Debug, Write as _};

use bytemuck::Pod;
use half::f16;
use tripipe_launch::{MemoryId, NdRange};
use tripipe_simulate::{Options, Schedule};

use crate::bench::{Bench, memory};

/// A type with the operations of reductions.
trait Number: Pod + PartialEq + Debug {
    const NAME: &'static str;
    const LEAST: Self;
    const GREATEST: Self;
    const ZERO: Self;
    fn add(self, other: Self) -> Self;
    fn less(self, other: Self) -> bool;
    fn random(random: &mut fastrand::Rng) -> Self;
}

macro_rules! integer {
    ($($type:ty = $name:literal,)*) => {
        $(impl Number for $type {
            const NAME: &'static str = $name;
            const LEAST: Self = <$type>::MIN;
            const GREATEST: Self = <$type>::MAX;
            const ZERO: Self = 0;
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn less(self, other: Self) -> bool { self < other }
            fn random(random: &mut fastrand::Rng) -> Self { random.u64(..) as $type }
        })*
    };
}
integer! { i32 = "int", u32 = "uint", i64 = "long", u64 = "ulong", }

macro_rules! float {
    ($($type:ty = $name:literal,)*) => {
        $(impl Number for $type {
            const NAME: &'static str = $name;
            const LEAST: Self = <$type>::NEG_INFINITY;
            const GREATEST: Self = <$type>::INFINITY;
            const ZERO: Self = <$type>::from_bits(0);
            fn add(self, other: Self) -> Self { self + other }
            fn less(self, other: Self) -> bool { self < other }
            /// Sums of these numbers are exact in every order.
            fn random(random: &mut fastrand::Rng) -> Self { f16::from_f32(random.i8(-4..=4).into()).into() }
        })*
    };
}
float! { f16 = "half", f32 = "float", f64 = "double", }

/// The functions of OpenCL C 2.0, 6.13.15: name, operation on two numbers, identity.
fn reductions<T: Number>() -> [(&'static str, fn(T, T) -> T, T); 3] {
    [
        ("add", T::add, T::ZERO),
        ("min", |a, b| if b.less(a) { b } else { a }, T::GREATEST),
        ("max", |a, b| if a.less(b) { b } else { a }, T::LEAST),
    ]
}

fn source<T: Number>(scope: &str) -> String {
    let t = T::NAME;
    let mut text = String::from(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        #pragma OPENCL EXTENSION cl_khr_fp64 : enable
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable\n",
    );
    for (name, ..) in reductions::<T>() {
        writeln!(
            text,
            "kernel void {name}(global const {t} *in, global {t} *out) {{
                size_t i = get_global_linear_id();
                {t} x = in[i];
                out[3 * i] = {scope}_reduce_{name}(x);
                out[3 * i + 1] = {scope}_scan_inclusive_{name}(x);
                out[3 * i + 2] = {scope}_scan_exclusive_{name}(x);
            }}"
        )
        .unwrap();
    }
    text
}

/// The results of the three functions for each member of a group.
fn model<T: Number>(all: &[T], with: fn(T, T) -> T, start: T) -> Vec<T> {
    let sum = all[1..].iter().fold(all[0], |sum, x| with(sum, *x));
    let mut before = None;
    let mut out = Vec::new();
    for x in all {
        let inclusive = before.map_or(*x, |before| with(before, *x));
        out.extend([sum, inclusive, before.unwrap_or(start)]);
        before = Some(inclusive);
    }
    out
}

/// One-dimensional ranges: number of work-items, group size.
const SIZES: [(usize, usize); 7] = [(3, 1), (21, 7), (64, 64), (130, 65), (512, 256), (300, 128), (77, 64)];

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
    assert!(error.contains("test.cl:") && error.contains("wait elsewhere (line "), "{error}");
}

/// The work-items of each sub-group: consecutive ones of a group; the last sub-group has the rest.
fn sub_groups(items: usize, local: usize, size: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..items).collect();
    all.chunks(local).flat_map(|group| group.chunks(size)).map(<[usize]>::to_vec).collect()
}

fn with_sub_groups(size: u32, source: impl Into<String>, build: &str) -> Option<Bench> {
    let options = Options { sub_group: size, ..Options::default() };
    Bench::with(options, source, build)
}

fn check_sub_groups<T: Number>(size: u32) {
    let Some(mut bench) = with_sub_groups(size, source::<T>("sub_group"), "-cl-std=CL2.0") else { return };
    let mut random = fastrand::Rng::with_seed(5);
    for (name, with, start) in reductions::<T>() {
        for (items, local) in SIZES {
            let input: Vec<T> = (0..items).map(|_| T::random(&mut random)).collect();
            let memories = [bench.buffer(&input), bench.buffer(&vec![T::ZERO; 3 * items])];
            bench.run(name, NdRange::d1(items).local(local, 1, 1), &memories.map(memory));
            let wanted: Vec<T> = sub_groups(items, local, size as usize)
                .iter()
                .flat_map(|group| model(&group.iter().map(|i| input[*i]).collect::<Vec<T>>(), with, start))
                .collect();
            assert_eq!(
                bench.read::<T>(memories[1], 3 * items),
                wanted,
                "{name} of {}, sub-groups of {size} in groups of {local}",
                T::NAME
            );
        }
    }
}

#[test]
fn sub_group_reductions_and_scans() {
    check_sub_groups::<i32>(1);
    check_sub_groups::<i32>(8);
    check_sub_groups::<u32>(16);
    check_sub_groups::<i64>(64);
    check_sub_groups::<u64>(4);
    check_sub_groups::<f16>(16);
    check_sub_groups::<f32>(32);
    check_sub_groups::<f64>(16);
}

/// Runs a kernel `f(global const int *in, global int *out)` that writes `each` numbers per work-item, and returns
/// them.
fn numbers(bench: &mut Bench, input: &[i32], each: usize, local: usize) -> Vec<i32> {
    let memories: [MemoryId; 2] = [bench.buffer(input), bench.buffer(&vec![0; each * input.len()])];
    bench.run("f", NdRange::d1(input.len()).local(local, 1, 1), &memories.map(memory));
    bench.read(memories[1], each * input.len())
}

#[test]
fn sub_group_votes_and_broadcasts() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        kernel void f(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            local int s[100];
            out[4 * i] = sub_group_all(in[i] & 1);
            out[4 * i + 1] = sub_group_any(in[i] & 2);
            out[4 * i + 2] = sub_group_broadcast(in[i], get_sub_group_id() % 3);
            s[get_local_id(0)] = in[i];
            sub_group_barrier(CLK_LOCAL_MEM_FENCE);
            size_t own = get_sub_group_local_id();
            out[4 * i + 3] = s[get_local_id(0) - own + (own + 1) % get_sub_group_size()];
        }";
    for size in [4, 16, 64] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL2.0") else { return };
        let mut random = fastrand::Rng::with_seed(9);
        let input: Vec<i32> = (0..190).map(|_| [1, 1, 1, 3, 7][random.usize(..5)] & random.i32(..)).collect();
        let out = numbers(&mut bench, &input, 4, 95);
        for (number, group) in sub_groups(190, 95, size as usize).iter().enumerate() {
            let per_group = 95usize.div_ceil(size as usize);
            let from = number % per_group % 3;
            for (own, i) in group.iter().enumerate() {
                let wanted = [
                    i32::from(group.iter().all(|i| input[*i] & 1 != 0)),
                    i32::from(group.iter().any(|i| input[*i] & 2 != 0)),
                    input[group[from]],
                    input[group[(own + 1) % group.len()]],
                ];
                let found = &out[4 * i..4 * i + 4];
                let found = [i32::from(found[0] != 0), i32::from(found[1] != 0), found[2], found[3]];
                assert_eq!(found, wanted, "item {i}, sub-groups of {size}");
            }
        }
    }
}

#[test]
fn sub_group_shuffles() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        #pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
        #pragma OPENCL EXTENSION cl_khr_subgroup_shuffle_relative : enable
        kernel void f(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            uint own = get_sub_group_local_id(), n = get_sub_group_size();
            out[4 * i] = sub_group_shuffle(in[i], (own * 5 + 3) % n);
            out[4 * i + 1] = sub_group_shuffle_xor(in[i], 5);
            int up = sub_group_shuffle_up(in[i], 2);
            out[4 * i + 2] = own < 2 ? 0 : up;
            int down = sub_group_shuffle_down(in[i], 3);
            out[4 * i + 3] = own + 3 < n ? down : 0;
        }";
    for size in [8, 16, 64] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL3.0") else { return };
        let size = size as usize;
        let input: Vec<i32> = (0..256).map(|i| i * i - 3000).collect();
        let out = numbers(&mut bench, &input, 4, 128);
        for group in sub_groups(256, 128, size) {
            for (own, i) in group.iter().enumerate() {
                let of = |id: usize| input[group[id]];
                let wanted = [
                    of((own * 5 + 3) % size),
                    of(own ^ 5),
                    if own < 2 { 0 } else { of(own - 2) },
                    if own + 3 < size { of(own + 3) } else { 0 },
                ];
                assert_eq!(out[4 * i..4 * i + 4], wanted, "item {i}, sub-groups of {size}");
            }
        }
    }
}

#[test]
fn only_those_on_the_same_way_take_part() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        kernel void f(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            int x = in[i];
            global int *o = out + 16 * i;
            if (x % 3 != 0) {
                o[0] = sub_group_elect();
                o[1] = sub_group_non_uniform_all(x > 0);
                o[2] = sub_group_non_uniform_any(x > 90);
                o[3] = sub_group_non_uniform_all_equal(x % 3);
                o[4] = sub_group_broadcast_first(x);
                o[5] = sub_group_non_uniform_reduce_add(x);
                o[6] = sub_group_non_uniform_scan_exclusive_max(x);
                o[7] = sub_group_non_uniform_reduce_mul(x);
                o[8] = sub_group_non_uniform_reduce_xor(x);
                uint4 votes = sub_group_ballot(x & 1);
                o[9] = votes.x;
                o[10] = votes.y;
                o[11] = sub_group_inverse_ballot(votes);
                o[12] = sub_group_ballot_bit_extract(votes, 2);
                o[13] = sub_group_ballot_bit_count(votes);
                if (o[13]) {
                    o[14] = sub_group_ballot_find_lsb(votes);
                    o[15] = sub_group_ballot_find_msb(votes);
                }
            }
        }";
    for size in [8, 64] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL3.0") else { return };
        let mut random = fastrand::Rng::with_seed(11);
        let input: Vec<i32> = (0..200).map(|_| random.i32(-3..100)).collect();
        let out = numbers(&mut bench, &input, 16, 100);
        for group in sub_groups(200, 100, size as usize) {
            let there: Vec<(u32, usize)> = (0..).zip(group).filter(|(_, i)| input[*i] % 3 != 0).collect();
            let all: Vec<i32> = there.iter().map(|(_, i)| input[*i]).collect();
            let votes = there.iter().fold(0u64, |votes, (own, i)| votes | ((input[*i] & 1) as u64) << own);
            let mut before = i32::MIN;
            for (own, i) in &there {
                let x = input[*i];
                let wanted = [
                    i32::from(x == all[0] && there[0].1 == *i),
                    i32::from(all.iter().all(|x| *x > 0)),
                    i32::from(all.iter().any(|x| *x > 90)),
                    i32::from(all.iter().all(|x| x % 3 == all[0] % 3)),
                    all[0],
                    all.iter().sum(),
                    before,
                    all.iter().fold(1, |product: i32, x| product.wrapping_mul(*x)),
                    all.iter().fold(0, |sum, x| sum ^ x),
                    votes as i32,
                    (votes >> 32) as i32,
                    (votes >> own & 1) as i32,
                    (votes >> 2 & 1) as i32,
                    votes.count_ones() as i32,
                    if votes == 0 { 0 } else { votes.trailing_zeros() as i32 },
                    if votes == 0 { 0 } else { votes.ilog2() as i32 },
                ];
                before = before.max(x);
                let mut found = out[16 * i..16 * i + 16].to_vec();
                for truth in [0, 1, 2, 3, 11, 12] {
                    found[truth] = i32::from(found[truth] != 0);
                }
                assert_eq!(found, wanted, "item {i}, sub-groups of {size}");
            }
        }
    }
}

#[test]
fn the_kernel_or_the_options_choose_the_size_of_sub_groups() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroups : enable
        kernel void f(global const int *in, global int *out) {
            out[get_global_id(0)] = get_sub_group_size();
        }
        __attribute__((intel_reqd_sub_group_size(8)))
        kernel void eight(global const int *in, global int *out) {
            out[get_global_id(0)] = sub_group_reduce_add(1);
        }";
    let Some(mut bench) = with_sub_groups(32, source, "-cl-std=CL2.0") else { return };
    assert_eq!(numbers(&mut bench, &[0; 64], 1, 64), [32; 64]);
    let memories = [bench.buffer(&[0]), bench.buffer(&[0; 20])];
    bench.run("eight", NdRange::d1(20).local(20, 1, 1), &memories.map(memory));
    assert_eq!(bench.read::<i32>(memories[1], 20), [[8; 16].as_slice(), &[4; 4]].concat());
    for size in [0, 3] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL2.0") else { return };
        let memories = [bench.buffer(&[0]), bench.buffer(&[0; 20])];
        let error = bench.try_run("f", NdRange::d1(20), &memories.map(memory)).unwrap_err();
        assert!(error.contains(&format!("sub-groups of {size}: a power of two up to 64")), "{error}");
    }
}

#[test]
fn clusters_of_a_sub_group() {
    let source = "
        #pragma OPENCL EXTENSION cl_khr_subgroup_clustered_reduce : enable
        kernel void f(global const int *in, global int *out) {
            size_t i = get_global_id(0);
            out[3 * i] = sub_group_clustered_reduce_add(in[i], 4);
            out[3 * i + 1] = sub_group_clustered_reduce_max(in[i], 8);
            out[3 * i + 2] = sub_group_clustered_reduce_xor(in[i], 1);
        }";
    let Some(mut bench) = with_sub_groups(16, source, "-cl-std=CL3.0") else { return };
    let input: Vec<i32> = (0..128).map(|i| i * 37 % 50 - 20).collect();
    let out = numbers(&mut bench, &input, 3, 64);
    for (i, found) in out.chunks(3).enumerate() {
        let of = |size: usize| &input[i / size * size..(i / size + 1) * size];
        assert_eq!(found, [of(4).iter().sum(), *of(8).iter().max().unwrap(), input[i]], "{i}");
    }
}
