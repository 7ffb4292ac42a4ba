//! Qualcomm's extensions: vectors of 32, and constant memory that sub-groups copy into.

use half::f16;
use tripipe_launch::{Argument, MemoryId, NdRange};
use tripipe_simulate::watch::rules;
use tripipe_simulate::{Options, Schedule};

use crate::execute_groups::bench::{Bench, memory};

const EXTENSION: &str = "#pragma OPENCL EXTENSION cl_qcom_extra_vector_types : enable\n";

#[test]
fn vectors_of_32() {
    let source = format!(
        "{EXTENSION}
        kernel void f(global float *out, global const float32 *in, int index) {{
            float32 v = in[0], w = (float32)(2.0f);
            w *= v;
            w.lo += (float16)(100.0f);
            w.hi.s3 = -1.0f;
            w.sv = w.sg + w.s0 + v.sf;
            float sv = 7.0f;
            w[index] = sv;
            float32 picked = v > 15.5f ? w : -w;
            *(global float32 *)out = w;
            *(global float32 *)(out + 32) = picked;
            out[64] = v[index]; out[65] = w.lo.sa; out[66] = w.sh; out[67] = w.su;
            out[68] = w.even.s9; out[69] = w.odd.s9;
        }}
        kernel void h(global half *out, half32 v) {{
            half32 w = v + v;
            for (int i = 0; i < 32; i++) out[i] = w[i];
            out[0] = w.sv;
        }}
        kernel void narrow(global uchar32 *out, global const uchar32 *in) {{
            out[get_global_id(0)] = in[get_global_id(0)] * (uchar)3;
        }}"
    );
    for build in ["-cl-std=CL1.2", "-cl-std=CL3.0"] {
        let Some(mut bench) = Bench::new(source.as_str(), build) else { return };
        let v: Vec<f32> = (0u8..32).map(f32::from).collect();
        let (input, out) = (bench.buffer(&v), bench.buffer(&[0f32; 70]));
        let index = 21;
        bench.run(
            "f",
            NdRange::d1(1),
            &[memory(out), memory(input), Argument::Value(i32::try_from(index).unwrap().into())],
        );
        let mut w: Vec<f32> = v.iter().map(|v| 2.0 * v).collect();
        for low in &mut w[..16] {
            *low += 100.0;
        }
        w[19] = -1.0;
        // w.sg is 32, w.s0 is 100, v.sf is 15.
        w[31] = 147.0;
        w[index] = 7.0;
        let picked: Vec<f32> = v.iter().zip(&w).map(|(v, w)| if *v > 15.5 { *w } else { -w }).collect();
        let last = [21.0, w[10], w[17], w[30], w[18], w[19]];
        assert_eq!(bench.read::<f32>(out, 70), [&w[..], &picked, &last].concat(), "{build}");

        let bytes: Vec<u8> = (0..96).collect();
        let (input, out) = (bench.buffer(&bytes), bench.buffer(&[0u8; 96]));
        bench.run("narrow", NdRange::d1(3), &[memory(out), memory(input)]);
        let wanted: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_mul(3)).collect();
        assert_eq!(bench.read::<u8>(out, 96), wanted, "{build}");
    }
}

/// `float32`, `sg` and `si` are ordinary names if the extension is not named.
#[test]
fn names_of_vectors_of_32_are_free() {
    let source = "
        typedef float float32; typedef unsigned int uint32;
        kernel void f(global uint32 *out, float32 si) { uint32 sg = 3, so = 4; out[0] = sg * so + (uint32)si; }";
    let Some(mut bench) = Bench::new(source, "") else { return };
    let out = bench.buffer(&[0u32]);
    bench.run("f", NdRange::d1(1), &[memory(out), Argument::Value(5.0f32.into())]);
    assert_eq!(bench.read::<u32>(out, 1), [17]);
}

/// Each sub-group multiplies its own part of the weights, four elements at a time.
const LOADS: &str = "
    #define SLOT 4
    kernel void scaled(constant half8 *weights __attribute__((sub_group_uniform)),
                       constant half8 *near __attribute__((max_constant_size((512)))),
                       global const half *in, global half *out, int steps) {
        int item = get_global_id(0);
        int slot = (0x1F & qcom_get_physical_sub_group_id()) * SLOT;
        int from = (get_group_id(0) * get_num_sub_groups() + get_sub_group_id()) * steps * SLOT;
        if (get_local_id(0) == 5)
            return;
        half sum = 0;
        for (int step = 0; step < steps; step++) {
            qcom_sub_group_constant_load8(near, weights, slot, from, SLOT);
            from += SLOT;
            SYNC
            constant half16 *both = (constant half16 *)&near[slot];
            sum += both[0].s0 * in[item] + both[1].sf;
        }
        out[item] = sum;
    }
    kernel void leftover(constant float4 *near, constant float4 *table, global float *out) {
        qcom_sub_group_constant_load4(near, table, 1, 0, 1);
        SYNC
        out[get_global_id(0)] = near[0].y + near[1].z + get_group_id(0);
    }
    kernel void same_slot(constant uint *near, global const uint *table, global uint *out) {
        qcom_sub_group_constant_load(near, table, 0, get_sub_group_id(), 1);
        SYNC
        out[get_global_id(0)] = near[0];
    }";

const SYNC: &str = "-DSYNC=qcom_sub_group_sync(QCOM_CLK_CONST_LOAD_SYNC);";

const STEPS: usize = 3;
const SUB_GROUP: usize = 8;
const LOCAL: usize = 24;
const ITEMS: usize = 48;

fn options(index: u32, threads: usize) -> Options {
    Options {
        sub_group: SUB_GROUP as u32,
        schedule: Schedule::numbered(index),
        threads,
        ..Options::default()
    }
}

struct Scaled {
    near: MemoryId,
    out: MemoryId,
    range: NdRange,
    arguments: Vec<Argument>,
}

/// Small whole numbers, so that every sum is exact.
fn weight(index: usize) -> f32 {
    (index * 7 % 13) as f32
}

fn scaled(bench: &mut Bench) -> Scaled {
    let sub_groups = ITEMS / SUB_GROUP;
    let weights: Vec<f16> = (0..sub_groups * STEPS * 32).map(|index| f16::from_f32(weight(index))).collect();
    let input: Vec<f16> = (0..ITEMS).map(|item| f16::from_f32((item % 5) as f32)).collect();
    let (weights, near) = (bench.buffer(&weights), bench.buffer(&[f16::ONE; 256]));
    let (input, out) = (bench.buffer(&input), bench.buffer(&[f16::ZERO; ITEMS]));
    let steps = Argument::Value(i32::try_from(STEPS).unwrap().into());
    let arguments = vec![memory(weights), memory(near), memory(input), memory(out), steps];
    Scaled { near, out, range: NdRange::d1(ITEMS).local(LOCAL, 1, 1), arguments }
}

#[test]
fn constant_memory_is_loaded_by_sub_groups() {
    for (index, threads) in [(0, 1), (1, 1), (2, 2), (6, 2)] {
        let build = format!("-cl-std=CL3.0 {SYNC}");
        let Some(mut bench) = Bench::with(options(index, threads), LOADS, &build) else { return };
        let scaled = scaled(&mut bench);
        bench.run("scaled", scaled.range, &scaled.arguments);
        let wanted: Vec<f32> = (0..ITEMS)
            .map(|item| {
                let first = item / SUB_GROUP * STEPS * 32;
                let step = |step: usize| {
                    weight(first + step * 32) * (item % 5) as f32 + weight(first + step * 32 + 31)
                };
                if item % LOCAL == 5 { 0.0 } else { (0..STEPS).map(step).sum() }
            })
            .collect();
        let found: Vec<f32> = bench.read::<f16>(scaled.out, ITEMS).into_iter().map(f16::to_f32).collect();
        assert_eq!(found, wanted, "schedule {index}, {threads} threads");
        assert_eq!(bench.read::<f16>(scaled.near, 256), [f16::ONE; 256]);
    }
}

/// Elements that are not loaded keep the contents of the buffer, separately in each work-group.
#[test]
fn constant_memory_begins_as_the_buffer() {
    let Some(mut bench) = Bench::with(options(0, 2), LOADS, &format!("-cl-std=CL3.0 {SYNC}")) else { return };
    let near = bench.buffer(&[0f32, 10.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0]);
    let table = bench.buffer(&[1f32, 2.0, 300.0, 4.0]);
    let out = bench.buffer(&[0f32; 16]);
    bench.run("leftover", NdRange::d1(16).local(8, 1, 1), &[memory(near), memory(table), memory(out)]);
    let wanted: Vec<f32> = (0..16).map(|item| 310.0 + (item / 8) as f32).collect();
    assert_eq!(bench.read::<f32>(out, 16), wanted);
}

fn rules_of(bench: &mut Bench, kernel: &str, range: NdRange, arguments: &[Argument]) -> Vec<&'static str> {
    bench.check(kernel, range, arguments).into_iter().map(|finding| finding.rule.code).collect()
}

#[test]
fn loads_into_constant_memory_are_checked() {
    let with = |sync: &str| Bench::with(options(0, 1), LOADS, &format!("-cl-std=CL3.0 {sync}"));
    let Some(mut bench) = with(SYNC) else { return };
    let good = scaled(&mut bench);
    assert_eq!(rules_of(&mut bench, "scaled", good.range, &good.arguments), [""; 0]);

    // More than the weights contain, and more than there is space for.
    let mut longer = good.arguments.clone();
    longer[4] = Argument::Value(i32::try_from(STEPS + 1).unwrap().into());
    let codes = rules_of(&mut bench, "scaled", good.range, &longer);
    assert_eq!(codes, [rules::OUT_OF_BOUNDS_READ.code]);
    let mut narrow = good.arguments.clone();
    narrow[1] = memory(bench.buffer(&[f16::ONE; 64]));
    let codes = rules_of(&mut bench, "scaled", good.range, &narrow);
    assert!(codes.contains(&rules::OUT_OF_BOUNDS_WRITE.code), "{codes:?}");

    // Two sub-groups that load different values to the same location.
    let buffers = [bench.buffer(&[0u32]), bench.buffer(&[1u32, 2]), bench.buffer(&[0u32; 16])];
    let arguments = buffers.map(memory);
    let codes = rules_of(&mut bench, "same_slot", NdRange::d1(16).local(16, 1, 1), &arguments);
    assert!(codes.contains(&rules::DATA_RACE.code), "{codes:?}");
    assert_eq!(rules_of(&mut bench, "same_slot", NdRange::d1(16).local(8, 1, 1), &arguments), [""; 0]);

    // Data must not be read while it is being copied.
    let Some(mut bench) = with("-DSYNC=") else { return };
    let unsynchronised = scaled(&mut bench);
    let found = bench.check("scaled", unsynchronised.range, &unsynchronised.arguments);
    let early =
        found.iter().find(|finding| finding.message.contains("reads bytes that an asynchronous copy"));
    let early = early.unwrap_or_else(|| panic!("{found:#?}"));
    assert_eq!(early.rule.code, rules::ASYNC_COPY_UNWAITED.code);
    assert!(format!("{early:?}").contains("qcom_sub_group_sync"), "{early:?}");
}
