//! Control-flow facts, compared with counting, searching and known answers.

use std::collections::BTreeSet;

use cranelift_entity::EntityRef as _;
use proptest::prelude::*;
use tripipe_ir::flow::{
    Atom, Cfg, Divergence, Dominators, LinearForms, Liveness, Loops, TripCount, Variation, linear::Base,
};
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, Kernel, Op, Value, ValueDef, text, verify};

use crate::support;

fn kernel(body: &str) -> Kernel {
    let text = format!("tripipe-ir 1\nkernel \"k\" {{\n{body}\n}}\n");
    let module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    module.kernels.into_iter().next().unwrap()
}

struct Facts {
    cfg: Cfg,
    dominators: Dominators,
    loops: Loops,
    forms: LinearForms,
    divergence: Divergence,
}

fn facts(kernel: &Kernel) -> Facts {
    let cfg = Cfg::new(kernel);
    let dominators = Dominators::new(&cfg);
    let loops = Loops::new(&cfg, &dominators);
    let post = Dominators::post(&cfg);
    let forms = LinearForms::new(kernel, &cfg);
    let divergence = Divergence::new(kernel, &cfg, &post, &loops);
    Facts { cfg, dominators, loops, forms, divergence }
}

fn value(index: usize) -> Value {
    Value::new(index)
}

/// `for (i = first; i COMPARE bound; i += step)`, with the test before or after the body.
fn counting(compare: &str, first: i32, step: i32, behind: bool) -> Kernel {
    let parameter = "  parameter \"n\" \"int\" value i32\n";
    let constants = format!("  const %1: i32 = {first}\n  const %2: i32 = {step}\n");
    let loops = if behind {
        format!(
            "b0(%0: i32):\n  jump b1(%1)\nb1(%3: i32):\n  %4: i32 = add %3, %2\n  %5: bool = {compare} %4, %0\n  \
             branch %5, b1(%4), b2\nb2:\n  return"
        )
    } else {
        format!(
            "b0(%0: i32):\n  jump b1(%1)\nb1(%3: i32):\n  %5: bool = {compare} %3, %0\n  branch %5, b2, b3\nb2:\n  \
             %4: i32 = add %3, %2\n  jump b1(%4)\nb3:\n  return"
        )
    };
    kernel(&(parameter.to_owned() + &constants + &loops))
}

/// The number of executions of the loop's body; `None` if it does not end within a reasonable number.
fn counted(compare: &str, first: i32, bound: i32, step: i32, behind: bool) -> Option<i64> {
    let goes_on = |i: i32| match compare {
        "slt" => i < bound,
        "sle" => i <= bound,
        "sgt" => i > bound,
        "sge" => i >= bound,
        "ne" => i != bound,
        "ult" => (i as u32) < bound as u32,
        "uge" => (i as u32) >= bound as u32,
        _ => unreachable!(),
    };
    let (mut i, mut rounds) = (first, 0);
    loop {
        if !behind && !goes_on(i) {
            return Some(rounds);
        }
        rounds += 1;
        i = i.wrapping_add(step);
        if behind && !goes_on(i) {
            return Some(rounds);
        }
        if rounds > 10_000 {
            return None;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// If a count is given, the loop runs that often.
    #[test]
    fn trip_counts_are_counted(
        compare in proptest::sample::select(vec!["slt", "sle", "sgt", "sge", "ne", "ult", "uge"]),
        first in -20..20_i32, bound in -20..20_i32, step in -5..6_i32, behind: bool,
    ) {
        let kernel = counting(compare, first, step, behind);
        let facts = facts(&kernel);
        prop_assert_eq!(facts.loops.all.len(), 1);
        let count = TripCount::of(&kernel, &facts.cfg, &facts.dominators, &facts.forms, &facts.loops.all[0])
            .and_then(|count| count.evaluate(|atom| (atom == Atom::Value(value(0))).then_some(i64::from(bound))));
        if let Some(count) = count {
            // A loop with its test after the body jumps back once less than the body runs.
            prop_assert_eq!(Some(count + i64::from(behind)), counted(compare, first, bound, step, behind));
        } else {
            let plain = (step > 0 && matches!(compare, "slt" | "sle"))
                || (step < 0 && matches!(compare, "sgt" | "sge"));
            prop_assert!(!plain, "an ordinary loop has a count");
        }
    }
}

/// Compilers write `4 * i + 1` as an `or`, and an `int` index as a shift to the left and back.
#[test]
fn sums_in_disguise() {
    let kernel = kernel(
        "  const %0: i32 = 2
  const %1: i32 = 3
  const %2: i64 = 32
  const %3: i32 = 4
  const %4: i64 = 4294967295
  const %5: i64 = 56
b0:
  %6: i64 = query.global_id.0
  %7: i32 = convert.u.u.rte %6
  %8: i32 = shl %7, %0
  %9: i32 = or %8, %1
  %10: i32 = or %8, %3
  %11: i64 = shl %6, %2
  %12: i64 = ashr %11, %2
  %13: i64 = and %6, %4
  %14: i64 = shl %6, %5
  %15: i64 = ashr %14, %5
  %16: i64 = ashr %6, %2
  return",
    );
    let forms = facts(&kernel).forms;
    let id = Atom::Query(QueryKind::GlobalId, 0);
    let factors = |index: usize| {
        let form = forms.get(&kernel, value(index));
        (form.factor(id), form.constant, form.terms.len())
    };
    assert_eq!(factors(9), (4, 3, 1), "4 * id + 3");
    assert_eq!(factors(10), (0, 0, 1), "bit 2 may be set already");
    assert_eq!(factors(12), (1, 0, 1), "sign extension of 32 bits");
    assert_eq!(factors(13), (1, 0, 1), "zero extension of 32 bits");
    assert_eq!(factors(15), (0, 0, 1), "a cut to 8 bits");
    assert_eq!(factors(16), (0, 0, 1), "the upper half");
}

#[test]
fn divergence_of_known_cases() {
    // 0 a, 1 n; 10 = gid, 11 = gid * 4 + n, 12 = gid * n, 13 = load a, 14 = n + 1
    let kernel = kernel(
        "  parameter \"a\" \"\" pointer global align 4 to i32
  parameter \"n\" \"\" value i64
  const %2: i64 = 4
  const %3: i64 = 1
  const %4: i64 = 0
b0(%0: ptr.global, %1: i64):
  %5: i64 = query.global_id.0
  %6: i64 = mul %5, %2
  %7: i64 = add %6, %1
  %8: i64 = mul %5, %1
  %9: ptr.global = address.4.0 %0, %7
  %10: i64 = load.8 %9
  %11: i64 = add %1, %3
  %12: i64 = query.group_id.1
  %13: bool = slt %11, %12
  branch %13, b1, b2
b1:
  jump b3(%3, %5)
b2:
  jump b3(%1, %7)
b3(%14: i64, %15: i64):
  %16: bool = slt %5, %1
  branch %16, b4, b5
b4:
  jump b6(%3)
b5:
  jump b6(%4)
b6(%17: i64):
  jump b7(%4)
b7(%18: i64):
  %19: bool = slt %18, %5
  branch %19, b8, b9
b8:
  %20: i64 = add %18, %3
  jump b7(%20)
b9:
  %21: i64 = add %18, %3
  return",
    );
    let facts = facts(&kernel);
    let variation = |index| facts.divergence.variation(value(index));
    assert_eq!(variation(5), Variation::Affine([1, 0, 0]));
    assert_eq!(variation(7), Variation::Affine([4, 0, 0]));
    assert_eq!(variation(8), Variation::Linear([true, false, false]));
    assert_eq!(variation(9), Variation::Affine([16, 0, 0]));
    assert_eq!(variation(10), Variation::Divergent, "another work-item may have stored");
    assert!(variation(11).is_uniform() && variation(12).is_uniform() && variation(13).is_uniform());
    assert!(variation(14).is_uniform(), "a uniform branch joins uniform values");
    assert_eq!(variation(15), Variation::Linear([true, false, false]), "of two slopes, one");
    assert_eq!(variation(17), Variation::Divergent, "a divergent branch joins two constants");
    assert!(variation(18).is_uniform(), "those that are still in the loop agree");
    assert_eq!(variation(21), Variation::Divergent, "they left it at different times");
    assert!(facts.divergence.is_divergent_branch(Block::new(7)));
    assert!(!facts.divergence.is_divergent_branch(Block::new(0)));
    assert!(
        facts.divergence.is_divergent_block(Block::new(4))
            && !facts.divergence.is_divergent_block(Block::new(6))
    );
}

#[test]
fn addresses_are_sums() {
    let kernel = kernel(
        "  parameter \"a\" \"\" pointer global align 4 to i32
  parameter \"w\" \"\" value i32
  const %2: i32 = 3
b0(%0: ptr.global, %1: i32):
  %3: i64 = query.global_id.0
  %4: i32 = convert.u.u.rte %3
  %5: i32 = query.work_dim
  %6: i32 = mul %5, %1
  %7: i32 = sub %6, %2
  %8: i32 = add %7, %4
  %9: i64 = convert.s.s.rte %8
  %10: ptr.global = address.4.20 %0, %9
  %11: i32 = load.4 %10
  store.4 %10, %11
  return",
    );
    let facts = facts(&kernel);
    let accesses = facts.forms.accesses(&kernel, &facts.cfg);
    assert_eq!(accesses.len(), 2);
    assert_eq!(accesses[0].base, Base::Value(value(0)));
    let offset = &accesses[0].offset;
    assert_eq!(offset.factor(Atom::Query(QueryKind::GlobalId, 0)), 4);
    assert_eq!(offset.factor(Atom::Value(value(6))), 4);
    assert_eq!(offset.constant, 20 - 12);
    assert_eq!(offset.to_string(), "4 * %6 + 4 * global_id(0) + 8");
    assert!(accesses[1].writes && accesses[1].bytes == 4);
}

/// A value is live where a path leads to a use without passing its definition: searched for each value on real
/// kernels.
#[test]
fn liveness_is_a_search() {
    let options = tripipe_ir::front::spirv::Options::default();
    for path in support::sources("tests/files").into_iter().chain(support::project_sources()) {
        let Some(built) = support::build(&path) else { return };
        let module = tripipe_ir::front::spirv::load(&built.spirv, &options).unwrap();
        for kernel in module.kernels.iter().filter(|kernel| kernel.values.len() < 400) {
            let cfg = Cfg::new(kernel);
            let liveness = Liveness::new(kernel, &cfg);
            for value in kernel.values.keys().filter(|value| kernel.constant(*value).is_none()) {
                let expected = live_blocks(kernel, &cfg, value);
                for block in &cfg.order {
                    assert_eq!(
                        liveness.is_live_in(*block, value),
                        expected.contains(block),
                        "{value} in {block}"
                    );
                }
            }
        }
    }
}

fn live_blocks(kernel: &Kernel, cfg: &Cfg, value: Value) -> BTreeSet<Block> {
    let used = |block: Block| {
        let data = &kernel.blocks[block];
        let mut insts = data.insts.iter().map(|inst| &kernel.insts[*inst]);
        // A value is not live at the start of the block that defines it.
        let local = matches!(kernel.values[value].def, ValueDef::Result(inst) if data.insts.contains(&inst));
        !local
            && (insts.any(|inst| inst.operands.contains(&value))
                || data.terminator.uses().any(|used| used == value))
    };
    let defines = |block: Block| match kernel.values[value].def {
        ValueDef::Result(inst) => kernel.blocks[block].insts.contains(&inst),
        ValueDef::Parameter(home, _) => home == block,
        ValueDef::Constant(_) => true,
    };
    let mut live = BTreeSet::new();
    let mut work: Vec<Block> = cfg.order.iter().copied().filter(|block| used(*block)).collect();
    while let Some(block) = work.pop() {
        if live.insert(block) && !defines(block) {
            work.extend(
                cfg.predecessors[block].iter().copied().filter(|from| {
                    !matches!(kernel.values[value].def, ValueDef::Result(_)) || !defines(*from)
                }),
            );
        }
    }
    live
}

/// The known structure of two kernels of the project: a Laplace filter has no loop; a product has one over `k`.
#[test]
fn loops_of_the_project() {
    let options = tripipe_ir::front::spirv::Options::default();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../ladders/src/gemm/naive.cl");
    let Some(built) = support::build(&path) else { return };
    let module = tripipe_ir::front::spirv::load(&built.spirv, &options).unwrap();
    let kernel = &module.kernels[0];
    let facts = facts(kernel);
    assert_eq!(facts.loops.all.len(), 1, "{module}");
    let count = TripCount::of(kernel, &facts.cfg, &facts.dominators, &facts.forms, &facts.loops.all[0])
        .expect("a trip count");
    assert_eq!((count.step, count.decides, count.exact), (1, facts.loops.all[0].header, false));
    assert!(count.distance.constant == 0 && count.distance.terms.len() == 1, "{}", count.distance);
    let reads = facts.forms.accesses(kernel, &facts.cfg);
    assert!(reads.iter().filter(|fact| !fact.writes).count() >= 2);
    assert!(kernel.insts.values().all(|inst| !matches!(inst.op, Op::Undefined)));
}
