//! Ranges of integers, compared with every number that a small kernel can compute, and with ranges determined by hand.

use cranelift_entity::EntityRef as _;
use proptest::prelude::*;
use tripipe_ir::flow::{Atom, Cfg, Dominators, Loops, Range, Ranges};
use tripipe_ir::op::{Binary, QueryKind};
use tripipe_ir::transform::fold;
use tripipe_ir::{Scalar, Value, text, verify};

/// The ranges of the values with these numbers in a kernel, for a launch with partially known properties.
fn ranges<const N: usize>(
    body: &str,
    known: &dyn Fn(Atom) -> Option<i64>,
    values: [usize; N],
) -> [(i64, i64); N] {
    let text = format!("tripipe-ir 1\nkernel \"k\" {{\n{body}\n}}\n");
    let module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let kernel = &module.kernels[0];
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let ranges = Ranges::new(kernel, &cfg, &dominators, &loops, known);
    values.map(|value| {
        let range = ranges.get(kernel, Value::new(value)).unwrap();
        (range.low, range.high)
    })
}

const BINARY: [Binary; 14] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::UDiv,
    Binary::SDiv,
    Binary::URem,
    Binary::SRem,
    Binary::SMod,
    Binary::Shl,
    Binary::LShr,
    Binary::AShr,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// All results of two numbers from their ranges are in the range of the result, and if none wraps, it contains
    /// both ends of a sum, a difference and a product.
    #[test]
    fn an_operation_stays_in_its_range(
        op in proptest::sample::select(BINARY.to_vec()), a in any::<[i8; 2]>(), b in any::<[i8; 2]>(),
    ) {
        let sorted = |[x, y]: [i8; 2]| (x.min(y), x.max(y));
        let ((a_low, a_high), (b_low, b_high)) = (sorted(a), sorted(b));
        let body = format!(
            "  parameter \"a\" \"char\" value i8\n  parameter \"b\" \"char\" value i8\n\
             \x20 const %2: i8 = {a_low}\n  const %3: i8 = {a_high}\n  const %4: i8 = {b_low}\n  const %5: i8 = {b_high}\n\
             b0(%0: i8, %1: i8):\n  %6: i8 = call.s_clamp %0, %2, %3\n  %7: i8 = call.s_clamp %1, %4, %5\n\
             \x20 %8: i8 = {} %6, %7\n  return",
            tripipe_ir::Op::Binary(op)
        );
        let [(low, high)] = ranges(&body, &|_| None, [8]);
        let bits = |number: i8| u64::from(number.cast_unsigned());
        let (mut least, mut most) = (i64::MAX, i64::MIN);
        let mut wraps = false;
        for a in a_low..=a_high {
            for b in b_low..=b_high {
                let Some(result) = fold::binary(op, Scalar::I8, bits(a), bits(b)) else { continue };
                let result = Scalar::I8.to_i64(result);
                prop_assert!((low..=high).contains(&result), "{op:?} {a} {b} is {result}, not in {low}..={high}");
                least = least.min(result);
                most = most.max(result);
                let exact = match op {
                    Binary::Add => i64::from(a) + i64::from(b),
                    Binary::Sub => i64::from(a) - i64::from(b),
                    Binary::Mul => i64::from(a) * i64::from(b),
                    _ => result,
                };
                wraps |= exact != result;
            }
        }
        if matches!(op, Binary::Add | Binary::Sub | Binary::Mul) && !wraps {
            prop_assert_eq!((low, high), (least, most));
        }
    }

    /// A joined range contains both ranges, and their numbers.
    #[test]
    fn a_joined_range_has_both(a in any::<[i64; 2]>(), b in any::<[i64; 2]>(), number: i64) {
        let range = |[x, y]: [i64; 2]| Range { low: x.min(y), high: x.max(y) };
        let (a, b) = (range(a), range(b));
        let joined = a.join(b);
        prop_assert!(a.is_within(joined) && b.is_within(joined));
        prop_assert!(joined.contains(number) || !(a.contains(number) || b.contains(number)));
    }
}

/// The sum of nine bytes weighted 1 2 1 2 4 2 1 2 1 is at most 16 * 255.
#[test]
fn weighted_bytes_fit_sixteen_bits() {
    let body = "  parameter \"p\" \"uchar*\" pointer global align 1 to i8\n  const %1: i32 = 1\n  const %2: i32 = 2\n\
        \x20 const %3: i32 = 4\n\
        b0(%0: ptr.global):\n  %4: i8 = load.1 %0\n  %5: i32 = convert.u.u.rte %4\n  %6: i32 = shl %5, %1\n\
        \x20 %7: i32 = add %5, %6\n  %8: i32 = mul %7, %3\n  %9: i32 = sub %5, %8\n  %10: i32 = lshr %8, %3\n  return";
    let found = ranges(body, &|_| None, [5, 6, 7, 8, 9, 10]);
    assert_eq!(found, [(0, 255), (0, 510), (0, 765), (0, 3060), (-3060, 255), (0, 191)]);
}

/// A loop's counter stays below its bound; a sum over a known number of iterations is bounded only by its type.
#[test]
fn counters_stop_at_their_bound() {
    let body = "  const %0: i32 = 0\n  const %1: i32 = 3\n  const %2: i32 = 100\n\
        b0:\n  jump b1(%0, %0)\nb1(%3: i32, %4: i32):\n  %5: bool = slt %3, %2\n  branch %5, b2, b3\n\
        b2:\n  %6: i32 = add [nsw] %3, %1\n  %7: i32 = add %4, %3\n  jump b1(%6, %7)\nb3:\n  return";
    // 0, 3 ... 99, and 102 at which it stops.
    assert_eq!(
        ranges(body, &|_| None, [3, 6, 7]),
        [(0, 102), (3, 102), (i64::from(i32::MIN), i64::from(i32::MAX))]
    );
}

/// `if (x >= 0 && x < n)` with an unknown argument, and with a known one.
#[test]
fn branches_narrow_what_they_compare() {
    let body = "  parameter \"x\" \"int\" value i32\n  parameter \"n\" \"int\" value i32\n  const %2: i32 = 0\n  const %3: i32 = 1\n\
        b0(%0: i32, %1: i32):\n  %4: bool = sge %0, %2\n  branch %4, b1, b3\nb1:\n  %5: bool = slt %0, %1\n  branch %5, b2, b3\n\
        b2:\n  %6: i32 = add %0, %3\n  jump b3\nb3:\n  return";
    let most = i64::from(i32::MAX);
    assert_eq!(ranges(body, &|_| None, [6]), [(1, most)]);
    let n = |atom| (atom == Atom::Value(Value::new(1))).then_some(640);
    assert_eq!(ranges(body, &n, [6]), [(1, 640)]);
}

/// Ids are below the size of the launch if it is known, otherwise below 2^31.
#[test]
fn ids_are_below_their_sizes() {
    let body = "b0:\n  %0: i64 = query.global_id.0\n  %1: i64 = query.local_id.1\n  %2: i32 = convert.u.u.rte %0\n  return";
    let most = i64::from(i32::MAX);
    assert_eq!(ranges(body, &|_| None, [0, 1, 2]), [(0, most), (0, most), (0, most)]);
    let launch = |atom| match atom {
        Atom::Query(QueryKind::GlobalSize, 0) => Some(1920),
        Atom::Query(QueryKind::GlobalOffset, _) => Some(0),
        Atom::Query(QueryKind::EnqueuedLocalSize, 1) => Some(8),
        _ => None,
    };
    assert_eq!(ranges(body, &launch, [0, 1, 2]), [(0, 1919), (0, 7), (0, 1919)]);
}
