//! The memory that a launch touches, counted by hand.

use tripipe_analyze::{Analysis, Setup, Stride, analyze};
use tripipe_device::find;
use tripipe_ir::Module;
use tripipe_ir::front::clang::{Build, Optimization, build_text};
use tripipe_ir::front::spirv;

const KERNELS: &str = r"
kernel void copy(global const float *in, global float *out) { out[get_global_id(0)] = in[get_global_id(0)]; }

kernel void blur(global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[i] + in[i + 1] + in[i + 2];
}

kernel void product(global const float *a, global const float *b, global float *c, int n, int k)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int i = 0; i < k; ++i)
        sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;
}

kernel void planes(global float *o)
{
    const int i = get_global_id(0);
    o[i] = 1; o[i + 50176] = 2; o[i + 100352] = 3;
}

kernel void gray(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = (in[3 * i] + 2 * in[3 * i + 1] + in[3 * i + 2]) / 4;
}

kernel void red(global const uchar *in, global uchar *out)
{
    const int i = get_global_id(0);
    out[i] = in[3 * i] / 2 + in[3 * i + 3] / 2;
}

kernel void column(global const uchar *in, global uchar *out, int width)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int at = y * width + x;
    out[at] = in[at] / 4 + in[at + width] / 2 + in[(y + 2) * width + x] / 4;
}

kernel void same(global const float *in, global float *out)
{
    out[get_global_id(0)] = in[5] + in[9];
}

kernel void table(global const int *where, global const float *in, global float *out)
{
    const int i = get_global_id(0);
    out[i] = in[where[i]];
}
";

/// `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn module() -> Option<Module> {
    let build = Build { optimization: Optimization::Driver, ..Build::default() };
    match build_text("kernels.cl", KERNELS, None, &build) {
        Ok(built) => Some(spirv::load(&built.spirv, &spirv::Options::default()).unwrap()),
        Err(error) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            None
        }
    }
}

fn launched(module: &Module, kernel: &str, global: [u64; 3], arguments: &[(usize, i64)]) -> Analysis {
    let setup = Setup {
        arguments: arguments.iter().copied().collect(),
        global: Some(global),
        local: Some([64, 1, 1]),
    };
    analyze(module.kernel(kernel).unwrap(), find("Mali-G77").unwrap(), &setup)
}

#[test]
fn each_byte_comes_from_dram_once() {
    let Some(module) = module() else { return };
    let bytes = |kernel, global, arguments: &[(usize, i64)]| {
        launched(&module, kernel, global, arguments).launch.unwrap().dram_bytes
    };
    assert_eq!(bytes("copy", [4096, 1, 1], &[]), 4096 * 4 + 4096 * 4);
    // Neighbours share: only the last two work-items read what no other does.
    assert_eq!(bytes("blur", [4096, 1, 1], &[]), 4098 * 4 + 4096 * 4);
    // Distances: between planes, within pixels of three channels, between rows of a known width.
    assert_eq!(bytes("planes", [50176, 1, 1], &[]), 588 << 10);
    assert_eq!(bytes("gray", [4096, 1, 1], &[]), 3 * 4096 + 4096);
    assert_eq!(bytes("red", [4096, 1, 1], &[]), 4097 + 4096);
    assert_eq!(bytes("column", [64, 32, 1], &[(2, 64)]), 64 * 34 + 64 * 32);
    assert_eq!(bytes("column", [64, 32, 1], &[]), 64 * 32 + 64 * 32);
    assert_eq!(bytes("same", [4096, 1, 1], &[]), 4 + 4 + 4096 * 4);
    let (m, n, k) = (32, 64, 128);
    let product = bytes("product", [n, m, 1], &[(3, 64), (4, 128)]);
    assert_eq!(product, 4 * (m * k + k * n + m * n));
    // The locations that the values of a table refer to are unknown: the table and the result.
    assert_eq!(bytes("table", [4096, 1, 1], &[]), 4096 * 4 + 4096 * 4);
}

#[test]
fn rounds_of_a_loop_go_on_by_strides() {
    let Some(module) = module() else { return };
    let analysis = launched(&module, "product", [64, 32, 1], &[(3, 64)]);
    let iteration = |name: &str| {
        analysis
            .accesses
            .iter()
            .find(|access| access.pointer == name)
            .map(|access| (access.stride, access.iteration))
    };
    assert_eq!(iteration("a"), Some((Stride::Bytes(0), Some(Stride::Bytes(4)))));
    assert_eq!(iteration("b"), Some((Stride::Bytes(4), Some(Stride::Bytes(4 * 64)))));
    assert_eq!(iteration("c"), Some((Stride::Bytes(4), None)));
    // One load of 64 bytes by 16 neighbours, and one of the same 4 bytes for all: one line each. One fused
    // multiply-add.
    let cost = &analysis.loops[0].iteration;
    let at = |head: &str| {
        let columns = analysis.columns.iter().map(|column| column.head(analysis.gpu.family()));
        cost[columns.into_iter().position(|other| other == head).unwrap()].as_constant().unwrap()
    };
    assert_eq!(at("LS"), 2.0 / 16.0);
    assert_eq!(at("FMA"), 1.0 / 32.0);
}
