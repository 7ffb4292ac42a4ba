//! Collective functions of sub-groups.

use half::f16;
use tripipe_launch::{MemoryId, NdRange};
use tripipe_simulate::Options;

use super::{Number, SIZES, model, reductions, source};
use crate::execute_groups::bench::{Bench, memory};

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
    check_sub_groups::<f32>(128);
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
    for size in [4, 16, 64, 128] {
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
    for size in [8, 16, 64, 128] {
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
fn only_work_items_on_the_same_path_take_part() {
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
    for size in [8, 64, 128] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL3.0") else { return };
        let mut random = fastrand::Rng::with_seed(11);
        let input: Vec<i32> = (0..200).map(|_| random.i32(-3..100)).collect();
        let out = numbers(&mut bench, &input, 16, 100);
        for group in sub_groups(200, 100, size as usize) {
            let there: Vec<(u32, usize)> = (0..).zip(group).filter(|(_, i)| input[*i] % 3 != 0).collect();
            let all: Vec<i32> = there.iter().map(|(_, i)| input[*i]).collect();
            let votes = there.iter().fold(0u128, |votes, (own, i)| votes | ((input[*i] & 1) as u128) << own);
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
        assert!(error.contains(&format!("sub-groups of {size}: powers of two up to 128")), "{error}");
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
    for size in [16, 128] {
        clusters(size, source);
    }
}

fn clusters(size: u32, source: &str) {
    let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL3.0") else { return };
    let input: Vec<i32> = (0..128).map(|i| i * 37 % 50 - 20).collect();
    let out = numbers(&mut bench, &input, 3, 128);
    for (i, found) in out.chunks(3).enumerate() {
        let of = |size: usize| &input[i / size * size..(i / size + 1) * size];
        assert_eq!(found, [of(4).iter().sum(), *of(8).iter().max().unwrap(), input[i]], "{i}");
    }
}

/// Work-items of a sub-group on both sides of a branch, with more work-items than a warp runs: those that are absent do
/// not count, and each side waits for its own.
#[test]
fn sub_groups_of_several_warps_diverge() {
    let source = "
        kernel void f(global const int *in, global int *out) {
            uint own = get_sub_group_local_id();
            int sum = 0;
            if (own % 3 == 0)
                sum = sub_group_non_uniform_reduce_add(in[get_global_id(0)]);
            else
                sum = -sub_group_non_uniform_reduce_add(in[get_global_id(0)]);
            for (uint step = 0; step <= get_sub_group_id(); step++)
                sum = sub_group_broadcast(sum, step) + sum;
            barrier(CLK_LOCAL_MEM_FENCE);
            out[get_global_id(0)] = sum;
        }";
    for size in [64, 128] {
        let Some(mut bench) = with_sub_groups(size, source, "-cl-std=CL3.0") else { return };
        let input: Vec<i32> = (0..512).map(|i| i * i % 91 - 40).collect();
        let out = numbers(&mut bench, &input, 1, 256);
        for (group, items) in sub_groups(512, 256, size as usize).into_iter().enumerate() {
            let sum = |third: bool| -> i32 {
                items
                    .iter()
                    .filter(|i| (**i % size as usize).is_multiple_of(3) == third)
                    .map(|i| input[*i])
                    .sum()
            };
            let mut values: Vec<i32> = items
                .iter()
                .map(|i| if (i % size as usize).is_multiple_of(3) { sum(true) } else { -sum(false) })
                .collect();
            for step in 0..=group % (256 / size as usize) {
                let sent = values[step];
                for value in &mut values {
                    *value += sent;
                }
            }
            let found: Vec<i32> = items.iter().map(|i| out[*i]).collect();
            assert_eq!(found, values, "sub-group {group} of {size}");
        }
    }
}
