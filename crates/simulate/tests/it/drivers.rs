//! What drivers do wrong: kernels that have the pattern of a quirk and kernels that keep off, and results that are wrong on
//! purpose. The constructs are those of the threads that the database links to.

use std::sync::Arc;

use tripipe_device::drivers::{Driver, find_quirk, quirks};
use tripipe_device::find;
use tripipe_ir::front::clang::{Build, BuildError, build_text};
use tripipe_ir::front::spirv;
use tripipe_ir::{Module, verify};
use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_simulate::drivers::{DRIVER_DEFECT, DRIVER_HABIT, Subject, inject};
use tripipe_simulate::{Options, Simulator};

/// `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn module(source: &str) -> Option<Module> {
    let built = match build_text("k.cl", source, None, &Build::default()) {
        Ok(built) => built,
        Err(error @ BuildError::ToolMissing { .. }) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            println!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}\n{source}"),
    };
    Some(spirv::load_each(&built.spirv, &spirv::Options::default()).unwrap().module)
}

/// The quirks of a driver that a kernel has the pattern of, with their lines.
fn suspected(source: &str, driver: &str, gpu: Option<&str>, options: &[&str]) -> Option<Vec<(String, u32)>> {
    let module = module(source)?;
    let driver = Driver::read(driver, gpu.map(|gpu| find(gpu).unwrap())).unwrap();
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    let kernel = module.kernels.first().unwrap();
    let found = Subject { module: &module, kernel, options: &options }.suspicions(&driver);
    let id = |message: &str| message.split('`').rfind(|part| find_quirk(part).is_ok()).unwrap().to_owned();
    let line = |finding: &tripipe_ir::diagnostic::Finding| finding.location.as_ref().map_or(0, |at| at.line);
    Some(found.findings.iter().map(|finding| (id(&finding.message), line(finding))).collect())
}

const REDUCE: &str = "kernel void k(global int *p) {
    int sum = p[get_global_id(0)];
    sum = sub_group_reduce_add(sum);
    p[get_global_id(0)] = sum;
}";
const NIBBLES: &str = "kernel void k(global const uint *from, global uint *to) {
    uint word = from[get_global_id(0)];
    uchar low = (word & 0xF) | ((word >> 8 & 0xF) << 4);
    uchar high = (word >> 16 & 0xF) | ((word >> 24 & 0xF) << 4);
    to[get_global_id(0)] = low | (uint)high << 8;
}";
/// The workaround of the thread.
const WORDS: &str = "kernel void k(global const uint *from, global uint *to) {
    uint word = from[get_global_id(0)];
    uint low = (word & 0xFu) + (word >> 8 & 0xFu) * 16u;
    uint high = (word >> 16 & 0xFu) + (word >> 24 & 0xFu) * 16u;
    to[get_global_id(0)] = low | high << 8;
}";
/// Bytes of memory are widened, too.
const BYTES: &str = "kernel void k(global const uchar *from, global uint *to) {
    int i = get_global_id(0);
    to[i] = from[2 * i] | (uint)from[2 * i + 1] << 8;
}";
const DEQUANTISE: &str = "kernel void k(global const uchar *q, global const float *y, global float *to) {
    int i = get_global_id(0);
    uchar4 bytes = vload4(i, q);
    float4 w = convert_float4(convert_int4(bytes) & 0xF) - 32.f;
    float sum = dot(vload4(i, y), w);
    to[i] = sub_group_reduce_add(sum);
}";

/// A source, the driver, the GPU, options of the build, and the quirks that are found, with their lines.
type Case<'c> = (&'c str, &'c str, Option<&'c str>, &'c [&'c str], &'c [(&'c str, u32)]);

/// Two kernels, one of them with more than 500 instructions.
const LARGE: &str = "kernel void k(global int *p) {
    p[0 * p[0]] += 0; p[1 * p[1]] += 1; p[2 * p[2]] += 2; p[3 * p[3]] += 3;
    p[4 * p[4]] += 4; p[5 * p[5]] += 5; p[6 * p[6]] += 6; p[7 * p[7]] += 7;
    p[8 * p[8]] += 8; p[9 * p[9]] += 9; p[10 * p[10]] += 10; p[11 * p[11]] += 11;
    p[12 * p[12]] += 12; p[13 * p[13]] += 13; p[14 * p[14]] += 14; p[15 * p[15]] += 15;
    p[16 * p[16]] += 16; p[17 * p[17]] += 17; p[18 * p[18]] += 18; p[19 * p[19]] += 19;
    p[20 * p[20]] += 20; p[21 * p[21]] += 21; p[22 * p[22]] += 22; p[23 * p[23]] += 23;
    p[24 * p[24]] += 24; p[25 * p[25]] += 25; p[26 * p[26]] += 26; p[27 * p[27]] += 27;
    p[28 * p[28]] += 28; p[29 * p[29]] += 29; p[30 * p[30]] += 30; p[31 * p[31]] += 31;
    p[32 * p[32]] += 32; p[33 * p[33]] += 33; p[34 * p[34]] += 34; p[35 * p[35]] += 35;
    p[36 * p[36]] += 36; p[37 * p[37]] += 37; p[38 * p[38]] += 38; p[39 * p[39]] += 39;
    p[40 * p[40]] += 40; p[41 * p[41]] += 41; p[42 * p[42]] += 42; p[43 * p[43]] += 43;
    p[44 * p[44]] += 44; p[45 * p[45]] += 45; p[46 * p[46]] += 46; p[47 * p[47]] += 47;
    p[48 * p[48]] += 48; p[49 * p[49]] += 49; p[50 * p[50]] += 50; p[51 * p[51]] += 51;
    p[52 * p[52]] += 52; p[53 * p[53]] += 53; p[54 * p[54]] += 54; p[55 * p[55]] += 55;
    p[56 * p[56]] += 56; p[57 * p[57]] += 57; p[58 * p[58]] += 58; p[59 * p[59]] += 59;
    p[60 * p[60]] += 60; p[61 * p[61]] += 61; p[62 * p[62]] += 62; p[63 * p[63]] += 63;
    p[64 * p[64]] += 64; p[65 * p[65]] += 65; p[66 * p[66]] += 66; p[67 * p[67]] += 67;
    p[68 * p[68]] += 68; p[69 * p[69]] += 69; p[70 * p[70]] += 70; p[71 * p[71]] += 71;
    p[72 * p[72]] += 72; p[73 * p[73]] += 73; p[74 * p[74]] += 74; p[75 * p[75]] += 75;
    p[76 * p[76]] += 76; p[77 * p[77]] += 77; p[78 * p[78]] += 78; p[79 * p[79]] += 79;
    p[80 * p[80]] += 80; p[81 * p[81]] += 81; p[82 * p[82]] += 82; p[83 * p[83]] += 83;
    p[84 * p[84]] += 84; p[85 * p[85]] += 85; p[86 * p[86]] += 86; p[87 * p[87]] += 87;
    p[88 * p[88]] += 88; p[89 * p[89]] += 89; p[90 * p[90]] += 90; p[91 * p[91]] += 91;
    p[92 * p[92]] += 92; p[93 * p[93]] += 93; p[94 * p[94]] += 94; p[95 * p[95]] += 95;
    p[96 * p[96]] += 96; p[97 * p[97]] += 97; p[98 * p[98]] += 98; p[99 * p[99]] += 99;
    p[100 * p[100]] += 100; p[101 * p[101]] += 101; p[102 * p[102]] += 102; p[103 * p[103]] += 103;
    p[104 * p[104]] += 104; p[105 * p[105]] += 105; p[106 * p[106]] += 106; p[107 * p[107]] += 107;
    p[108 * p[108]] += 108; p[109 * p[109]] += 109; p[110 * p[110]] += 110; p[111 * p[111]] += 111;
    p[112 * p[112]] += 112; p[113 * p[113]] += 113; p[114 * p[114]] += 114; p[115 * p[115]] += 115;
    p[116 * p[116]] += 116; p[117 * p[117]] += 117; p[118 * p[118]] += 118; p[119 * p[119]] += 119;
    p[120 * p[120]] += 120; p[121 * p[121]] += 121; p[122 * p[122]] += 122; p[123 * p[123]] += 123;
    p[124 * p[124]] += 124; p[125 * p[125]] += 125; p[126 * p[126]] += 126; p[127 * p[127]] += 127;
}
kernel void l(global int *p) { p[0] = 2; }";

#[test]
fn patterns_are_found_at_their_lines_and_nothing_else_is() {
    let crash = ("adreno-sub-group-arithmetic-crash", 3);
    let cases: &[Case<'_>] = &[
        (REDUCE, "E031.37.12", None, &[], &[crash]),
        (REDUCE, "E031.38.11.14", None, &[], &[]),
        (REDUCE, "r38p1", None, &[], &[]),
        (NIBBLES, "E031.47", None, &[], &[("adreno-nibble-packing", 5)]),
        (NIBBLES, "E031.45", None, &[], &[]),
        (WORDS, "E031.47", None, &[], &[]),
        (BYTES, "E031.47", None, &[], &[]),
        (DEQUANTISE, "E031.41", Some("740"), &[], &[("adreno-vector-dequantisation", 5)]),
        (DEQUANTISE, "E031.45", Some("740"), &[], &[]),
        (
            "kernel void flash_attn_f32_q4_0(global int *p) { p[0] = 1; }",
            "E031.41",
            Some("740"),
            &[],
            &[("adreno-flash-attention-crash", 0)],
        ),
        (
            "kernel void k(global int *p, int n) {\n    p[0] = min(n, (int)get_local_size(0));\n}",
            "Adreno(TM) 663 Compiler E031.49",
            None,
            &[],
            &[("adreno-min-of-local-size", 2)],
        ),
        ("kernel void k(global int *p, int n) { p[0] = min(n, p[1]); }", "E031.49", None, &[], &[]),
        (
            "kernel void k(global int *p) { p[0] = 1; } kernel void l(global int *p) { p[0] = 2; }",
            "E031.38",
            Some("642L"),
            &[],
            &[],
        ),
        (LARGE, "E031.38", Some("642L"), &[], &[("adreno-several-kernels", 0)]),
        (
            "kernel void k(write_only image2d_array_t to) {\n    write_imagef(to, (int4)(0), (float4)(1));\n}",
            "E031.31",
            Some("530"),
            &[],
            &[("adreno-one-layer-array", 2)],
        ),
        (
            "kernel void k(write_only image2d_t to) { write_imagef(to, (int2)(0), (float4)(1)); }",
            "E031.31",
            Some("530"),
            &[],
            &[],
        ),
        (
            "__attribute__((reqd_work_group_size(8, 1, 1))) kernel void k(global int *p) { p[0] = 1; }",
            "E031.47",
            None,
            &[],
            &[("adreno-required-work-group", 0)],
        ),
        (
            "kernel void k(global float *p) {\n    p[0] = clamp(p[1], 0.f, 6.f);\n}",
            "r32p1",
            Some("g76"),
            &["-cl-fast-relaxed-math"],
            &[("mali-relaxed-bounds", 2)],
        ),
        ("kernel void k(global float *p) { p[0] = clamp(p[1], 0.f, 6.f); }", "r32p1", Some("g76"), &[], &[]),
        (
            "kernel void k(global half *p) {\n    p[0] = fma(p[1], p[2], p[3]);\n}",
            "E031.47",
            None,
            &[],
            &[("adreno-half-fma", 2)],
        ),
        ("kernel void k(global float *p) { p[0] = fma(p[1], p[2], p[3]); }", "E031.47", None, &[], &[]),
        (
            "kernel void k(global ulong *p, global int *q) {\n    p[0] = (ulong)q;\n}",
            "clspv",
            None,
            &[],
            &[("clspv-pointer-as-integer", 2)],
        ),
        (
            "kernel void k(global int *p, global int *q) {\n    p[0] = p + 1 < q;\n}",
            "ANGLE 25.2.13",
            None,
            &[],
            &[("clspv-pointer-comparison", 2)],
        ),
        (
            "kernel void k(global int4 *p, global uint4 *q) {\n    p[0] = shuffle(p[1], q[0]);\n    p[2].x = mul24(p[1].x, 3);\n}",
            "clspv",
            None,
            &[],
            &[("clspv-shuffle", 2), ("clspv-24-bit-products", 3)],
        ),
        (
            "kernel void k(global int *p, local int *q) {
    event_t e = async_work_group_copy(q, p, 4, 0);
    wait_group_events(1, &e);
    p[4] = q[0];
}",
            "clspv",
            None,
            &[],
            &[("clspv-events", 2)],
        ),
        (
            "kernel void k(global int *p, global int4 *q) {\n    printf(\"%d\", p[0]);\n    q[0] = q[1].s3210;\n    atomic_add(p, 1);\n}",
            "clspv",
            None,
            &[],
            &[("clspv-printf", 2)],
        ),
        (
            "constant int table[1000] = {1};\nkernel void k(global int *p) { p[0] = table[p[1]]; }",
            "E031.47",
            None,
            &[],
            &[("adreno-large-constants", 0)],
        ),
        (
            "kernel void k(global half *p) {\n    p[0] += 1;\n}",
            "1.15@6133110",
            None,
            &[],
            &[("powervr-half-accuracy", 2)],
        ),
        (
            "kernel void k(global half *p, global float *q) { q[0] = vload_half(0, p); }",
            "1.15@6133110",
            None,
            &[],
            &[],
        ),
    ];
    for (source, driver, gpu, options, want) in cases {
        let Some(found) = suspected(source, driver, *gpu, options) else { return };
        let found: Vec<(&str, u32)> = found.iter().map(|(id, line)| (id.as_str(), *line)).collect();
        assert_eq!(found, *want, "{driver}: {source}");
    }
}

#[test]
fn a_finding_says_what_happens_what_to_do_and_where_to_read_on() {
    let Some(module) = module(REDUCE) else { return };
    let kernel = module.kernels.first().unwrap();
    let subject = Subject { module: &module, kernel, options: &[] };
    let found = subject.suspicions(&Driver::read("E031.37.12", None).unwrap());
    let finding = &found.findings[0];
    assert_eq!((finding.rule, finding.count), (&DRIVER_DEFECT, 1));
    assert!(finding.message.starts_with("E031.37.12 and a reduction or a scan"), "{}", finding.message);
    assert!(
        finding.message.contains("crashes") && finding.message.contains("before E031.38.11"),
        "{}",
        finding.message
    );
    assert!(finding.fix.starts_with("Reduce through local memory"), "{}", finding.fix);
    assert!(finding.fix.ends_with("https://github.com/ggml-org/llama.cpp/pull/22006"), "{}", finding.fix);
    // A version that is counted in another way is not compared.
    let found = subject.suspicions(&Driver::read("E17.51", None).unwrap());
    assert!(found.findings.is_empty());
    let left_out: Vec<&String> = found.left_out.iter().collect();
    assert!(
        left_out[0].contains("adreno-sub-group-arithmetic-crash") && left_out[0].contains("E17.51"),
        "{left_out:?}"
    );
    assert_eq!(DRIVER_HABIT.severity.name(), "note");
}

/// What a kernel makes of eight numbers, with a quirk or without.
fn results(source: &str, inject: Option<&str>, from: &[u32; 8]) -> Vec<u32> {
    let inject = inject.map(|id| find_quirk(id).unwrap());
    let mut simulator = Simulator::new(Options { inject, ..Options::default() });
    let bytes: Vec<u8> = from.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut buffer = |bytes: &[u8]| {
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        simulator.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
    };
    let (from, to) = (buffer(&bytes), buffer(&[0; 32]));
    let launch = Launch {
        program: Arc::new(Program::from_source("k.cl", source.to_owned())),
        entry: "k".into(),
        arguments: vec![Argument::Memory(from), Argument::Memory(to)],
        range: NdRange::d1(8).local(8, 1, 1),
    };
    simulator.run(std::slice::from_ref(&launch)).unwrap();
    let mut bytes = [0; 32];
    simulator.read(to, 0, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|number| u32::from_le_bytes(number.try_into().unwrap())).collect()
}

#[test]
fn injected_results_are_wrong_where_the_pattern_is_and_right_elsewhere() {
    if module(REDUCE).is_none() {
        return;
    }
    let from = [0, 1, 2, 0x0102_0304, 0xFFFF_FFFF, 0x0F0F_0F0F, 7, 8];
    let id = "adreno-nibble-packing";
    let (right, wrong) = (results(NIBBLES, None, &from), results(NIBBLES, Some(id), &from));
    assert_eq!(right, results(WORDS, None, &from), "the workaround computes the same");
    assert!(right.iter().zip(&wrong).all(|(right, wrong)| right ^ wrong == 1), "{right:x?} {wrong:x?}");
    assert_eq!(results(WORDS, Some(id), &from), right, "nothing to inject");
    // The product of 1 + 2^-12 with itself has a bit more than a float; without it, the difference is 0.
    let fma = "kernel void k(global const float *from, global float *to) {
        float x = from[get_global_id(0)];
        to[get_global_id(0)] = fma(x, x, -(x * x));
    }";
    let from = [(1.0f32 + 1.0 / 4096.0).to_bits(); 8];
    let right: Vec<f32> = results(fma, None, &from).into_iter().map(f32::from_bits).collect();
    assert_eq!(right, [2f32.powi(-24); 8]);
    assert_eq!(results(fma, Some("clvk-native-fma"), &from), [0; 8]);
    // A pattern of the whole kernel: all that it stores.
    let repack = "kernel void k(global const uint *from, global uint *to) {
        to[get_global_id(0)] = from[get_global_id(0)];
    }";
    let from = [4; 8];
    let named = repack.replace("void k(", "void k_trans4_ns(");
    assert_eq!(results(repack, Some("adreno-expert-repacking"), &from), [4; 8]);
    let Some(mut module) = module(&named) else { return };
    assert_eq!(inject(&mut module, &[], find_quirk("adreno-expert-repacking").unwrap()), 1);
}

/// Every quirk that can be injected leaves every kernel well-formed.
#[test]
fn injections_keep_kernels_well_formed() {
    for source in [REDUCE, NIBBLES, WORDS, BYTES, DEQUANTISE] {
        let Some(original) = module(source) else { return };
        for quirk in quirks().iter().filter(|quirk| quirk.injection.is_some()) {
            let mut module = original.clone();
            inject(&mut module, &["-cl-fast-relaxed-math".to_owned()], quirk);
            for kernel in &module.kernels {
                let wrong = verify::verify_kernel(kernel, &module.objects);
                assert!(wrong.is_ok(), "{}: {wrong:?}", quirk.id);
            }
        }
    }
}
