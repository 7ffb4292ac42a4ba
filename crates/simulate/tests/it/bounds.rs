//! The bounds of results, against correctly rounded arithmetic of the machine and MPFR.

use std::sync::Arc;

use rug::Float;
use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_simulate::bounds::{Allowed, Freedom, Places, Reason, WrittenNumber};
use tripipe_simulate::{Options, Simulator};

/// Runs a kernel of `in` and `out`, an element of 4 bytes for each work-item, and returns what it wrote to `out`;
/// `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn run(body: &str, numbers: &[f32], freedom: Freedom) -> Option<Vec<Option<WrittenNumber>>> {
    let source = format!(
        "kernel void test(global const float *in, global float *out)\n{{\n    const int i = get_global_id(0);\n    \
         {body}\n}}\n"
    );
    let mut simulator = Simulator::new(Options::default());
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut buffer = || {
        let kind = MemoryKind::Buffer { bytes: bytes.len() };
        simulator.allocate(&kind, Access::ReadWrite, Some(&bytes)).unwrap()
    };
    let (from, to) = (buffer(), buffer());
    let launch = Launch {
        program: Arc::new(Program::from_source("test.cl", source)),
        entry: "test".into(),
        arguments: vec![Argument::Memory(from), Argument::Memory(to)],
        range: NdRange::d1(numbers.len()).local(4, 1, 1),
    };
    if let Err(error) = simulator.prepare(&launch.program, &launch.entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    let places: Places = (0..numbers.len()).map(|index| (to, 4 * index)).collect();
    let bounded = simulator.bound(&launch, &places, freedom).unwrap();
    let mut all = vec![0; bytes.len()];
    simulator.read(to, 0, &mut all).unwrap();
    Some((0..numbers.len()).map(|index| bounded.written.get(&(to, 4 * index)).cloned()).collect())
}

fn numbers() -> Vec<f32> {
    let mut random = 12345u32;
    (0..256)
        .map(|_| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 20) as f32 + 0.001
        })
        .collect()
}

fn between(written: Option<&WrittenNumber>) -> (f64, f64) {
    match &written.unwrap().allowed {
        Allowed::Between(low, high, false) => (*low, *high),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sums_have_one_result_and_products_with_sums_those_of_both_roundings() {
    let numbers = numbers();
    let Some(sums) = run("out[i] = in[i] + in[i ^ 1];", &numbers, Freedom::default()) else { return };
    let fused = run("out[i] = in[i] * in[i ^ 1] - in[i ^ 2];", &numbers, Freedom::default()).unwrap();
    let single = run("out[i] = in[i] * in[i ^ 1];", &numbers, Freedom::default()).unwrap();
    let mut two = 0;
    for i in 0..numbers.len() {
        let (a, b, c) = (numbers[i], numbers[i ^ 1], numbers[i ^ 2]);
        let sum = f64::from(a + b);
        match &sums[i].as_ref().unwrap().allowed {
            Allowed::One => {}
            other => assert_eq!(*other, Allowed::Between(sum, sum, false), "{a} + {b}"),
        }
        assert_eq!(sums[i].as_ref().unwrap().exact, f64::from(a) + f64::from(b));
        let (low, high) = between(fused[i].as_ref());
        let (one, other) = (f64::from(a.mul_add(b, -c)), f64::from(a * b - c));
        assert_eq!((low, high), (one.min(other), one.max(other)), "{a:?} * {b:?} - {c:?}");
        two += usize::from(one != other);
        // An unrounded product is no float, so only the rounded one can be stored.
        let product = f64::from(a * b);
        match single[i].as_ref().unwrap().allowed {
            Allowed::One => {}
            Allowed::Between(low, high, false) => {
                assert!(low <= product && product <= high);
                let near = [(a * b).next_down(), (a * b).next_up()].map(f64::from);
                assert!(near.iter().all(|near| *near < low || *near > high), "{a} * {b}");
            }
            ref other => panic!("{other:?}"),
        }
    }
    assert!(two > 20, "{two}");
    let unfused = Freedom { unfused: true, ..Freedom::default() };
    let body = "{\n#pragma OPENCL FP_CONTRACT OFF\n    out[i] = in[i] * in[i ^ 1] - in[i ^ 2];\n    }";
    let unfused = run(body, &numbers, unfused).unwrap();
    for i in 0..numbers.len() {
        let want = f64::from(numbers[i] * numbers[i ^ 1] - numbers[i ^ 2]);
        assert_eq!(between(unfused[i].as_ref()), (want, want));
    }
}

/// The bounds contain the results with the largest error that OpenCL allows, and not much more.
#[test]
fn functions_have_the_errors_of_the_specification() {
    type Function = fn(Float) -> Float;
    let numbers = numbers();
    let functions: [(&str, f64, Function); 7] = [
        ("sin(in[i])", 4.0, Float::sin),
        ("exp(in[i] * 0.0625f)", 3.0, |x: Float| Float::exp(x / 16u32)),
        ("log2(in[i])", 3.0, Float::log2),
        ("rsqrt(in[i])", 2.0, Float::recip_sqrt),
        ("1.0f / in[i]", 2.5, Float::recip),
        ("sqrt(in[i])", 3.0, Float::sqrt),
        ("atan(in[i])", 5.0, Float::atan),
    ];
    for (call, ulps, oracle) in functions {
        let body = format!("out[i] = {call};");
        let Some(found) = run(&body, &numbers, Freedom::default()) else { return };
        for (number, written) in numbers.iter().zip(&found) {
            let want = oracle(Float::with_val(200, *number)).to_f64();
            let (low, high) = between(written.as_ref());
            let exact = written.as_ref().unwrap().exact;
            assert!(
                (exact - want).abs() <= 1e-12 * want.abs().max(1e-3),
                "{call} of {number}: {exact} {want}"
            );
            let unit = f64::from((want.abs() as f32).next_up()) - f64::from(want.abs() as f32);
            assert!(
                want - low >= (ulps - 1.0) * unit && high - want >= (ulps - 1.0) * unit,
                "{call} of {number}"
            );
            assert!(high - low <= (2.0 * ulps + 3.0) * unit, "{call} of {number}: {low} {high}");
        }
    }
}

/// Errors add up along a computation: results of the machine in other precisions of the steps stay within.
#[test]
fn bounds_follow_a_computation_through_memory_vectors_and_loops() {
    let numbers = numbers();
    let body = "local float4 part[4];
    part[get_local_id(0)] = (float4)(in[i], in[i] / 3.0f, exp(in[i] * 0.01f), 1.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    float all = 0;
    for (int j = 0; j < 4; j++) {
        float4 other = part[j].wzyx;
        all += other.z * other.y + other.s0;
    }
    out[i] = all;";
    let Some(found) = run(body, &numbers, Freedom::default()) else { return };
    for (group, written) in numbers.chunks(4).zip(found.chunks(4)) {
        // In double, and with every function at the end of its bound.
        let mut want = 0.0;
        let mut skewed = 0f32;
        for number in group {
            let exact = f64::from(*number);
            want += (exact / 3.0) * (exact * f64::from(0.01f32)).exp() + 1.0;
            let third = ((exact / 3.0) as f32).next_up().next_up();
            let power = ((exact * f64::from(0.01f32)).exp() as f32).next_up().next_up();
            skewed += third.mul_add(power, 1.0);
        }
        for each in written {
            let (low, high) = between(each.as_ref());
            assert!((each.as_ref().unwrap().exact - want).abs() < 1e-12 * want);
            assert!(low <= want && want <= high, "{low} {want} {high}");
            assert!(low <= f64::from(skewed) && f64::from(skewed) <= high, "{low} {skewed} {high}");
            assert!(high - low < want * 1e-5, "{low} {high}");
        }
    }
}

/// A third is rounded: three thirds may be 1 or less. What depends on that is open for those work-items only.
#[test]
fn decisions_on_rounded_numbers_leave_results_open() {
    let mut numbers = vec![2.5f32; 8];
    numbers[3] = 1.0;
    let cause = |written: &Option<WrittenNumber>| match &written.as_ref().unwrap().allowed {
        Allowed::Any(cause) => Some((cause.reason, cause.location.as_ref().unwrap().line)),
        _ => None,
    };
    let body =
        "float x = in[i] / 3.0f * 3.0f;\n    float y = 5;\n    if (x < 1.0f) y = out[7];\n    out[i] = y;";
    let Some(branches) = run(body, &numbers, Freedom::default()) else { return };
    // The line of the comparison or of the branch.
    assert!(matches!(cause(&branches[3]), Some((Reason::Branch | Reason::Operation, 4..=6))), "{branches:?}");
    assert_eq!((0..8).filter(|index| cause(&branches[*index]).is_some()).count(), 1, "{branches:?}");
    // A selection has the bounds of both.
    let body = "float x = in[i] / 3.0f * 3.0f; out[i] = select(2.0f, 3.0f, x < 1.0f);";
    let found = run(body, &numbers, Freedom::default()).unwrap();
    assert_eq!(between(found[3].as_ref()), (2.0, 3.0));
    assert!(matches!(found[2].as_ref().unwrap().allowed, Allowed::One), "{:?}", found[2]);
    // A conversion to integer has those of the whole numbers between.
    let body = "float x = in[i] / 3.0f * 3.0f; ((global int *)out)[i] = convert_int_rtz(x) * 2 + 1;";
    let found = run(body, &numbers, Freedom::default()).unwrap();
    assert_eq!(between(found[3].as_ref()), (1.0, 3.0));
    assert!(matches!(found[2].as_ref().unwrap().allowed, Allowed::One), "{:?}", found[2]);
    let native = run("out[i] = native_exp(in[i]);", &numbers, Freedom::default()).unwrap();
    assert_eq!(cause(&native[0]).unwrap().0, Reason::Function);
}

/// The result of an atomic increment depends on the order of the work-items, the sum does not.
#[test]
fn the_order_of_work_items_is_open() {
    let numbers = vec![0.0f32; 8];
    let body =
        "int at = atomic_add((volatile global int *)out + 7, 1); if (i < 4) ((global int *)out)[i] = at;";
    let Some(found) = run(body, &numbers, Freedom::default()) else { return };
    let Allowed::Any(cause) = &found[1].as_ref().unwrap().allowed else { panic!("{found:?}") };
    assert_eq!(cause.reason, Reason::Order);
    assert!(matches!(found[7].as_ref().unwrap().allowed, Allowed::One), "{found:?}");
    assert_eq!(found[7].as_ref().unwrap().work_item, [7, 0, 0]);
    assert!(found[5].is_none());
}
