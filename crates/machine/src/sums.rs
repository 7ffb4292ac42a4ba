//! Reorders integer sums to the order in which their terms become available.
//!
//! The front end's optimiser rewrites integer sums to expose equal terms, whatever that does to register pressure: in
//! `9 * m - l - r` it may add the product last, which keeps `m` in a register until then. A compiler with few
//! registers adds the terms as they become available. Sums of floats are not changed: their order affects the result.

use cranelift_entity::SecondaryMap;
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::Binary;
use tripipe_ir::{Block, Flags, Inst, Kernel, Op, Value};

use crate::uniform::Uniform;

/// A term of a sum, and whether it is subtracted.
#[derive(Clone, Copy)]
struct Part {
    value: Value,
    negative: bool,
}

/// The kernel with the terms of each integer sum in the order of the code. The instructions stay the same in number.
pub(crate) fn in_order(kernel: &Kernel, cfg: &Cfg) -> Kernel {
    let uniform = Uniform::new(kernel, cfg);
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::new();
    let mut places: SecondaryMap<Inst, (u32, Block)> = SecondaryMap::with_default((0, Kernel::ENTRY));
    let mut next = 1;
    for block in &cfg.order {
        let data = &kernel.blocks[*block];
        for inst in &data.insts {
            kernel.insts[*inst].operands.iter().for_each(|operand| uses[*operand] += 1);
            places[*inst] = (next, *block);
            next += 1;
        }
        data.terminator.uses().for_each(|value| uses[value] += 1);
    }
    let sums = Sums { kernel, uniform, uses, places };
    let mut ordered = kernel.clone();
    let mut inner: SecondaryMap<Inst, bool> = SecondaryMap::new();
    for block in &cfg.order {
        let insts = &kernel.blocks[*block].insts;
        // Backwards, so that a sum is visited before the sums nested in it.
        for inst in insts.iter().rev() {
            if inner[*inst] || !sums.is_sum(*inst) {
                continue;
            }
            let (mut parts, mut steps) = (Vec::new(), vec![*inst]);
            sums.take_apart(*inst, false, &mut parts, &mut steps);
            for step in &steps {
                inner[*step] = true;
            }
            if steps.len() > 1 {
                sums.add_up(&mut ordered, parts, steps);
            }
        }
    }
    ordered
}

struct Sums<'k> {
    kernel: &'k Kernel,
    uniform: Uniform,
    uses: SecondaryMap<Value, u32>,
    /// The position of an instruction, from 1, and its block.
    places: SecondaryMap<Inst, (u32, Block)>,
}

impl Sums<'_> {
    fn is_sum(&self, inst: Inst) -> bool {
        let data = &self.kernel.insts[inst];
        matches!(data.op, Op::Binary(Binary::Add | Binary::Sub))
            && data.result.is_some_and(|result| !self.uniform.is(result))
    }

    /// Collects the terms of a sum, through sums of the same block that have no other use.
    fn take_apart(&self, inst: Inst, negative: bool, parts: &mut Vec<Part>, steps: &mut Vec<Inst>) {
        let data = &self.kernel.insts[inst];
        for (side, value) in data.operands.iter().enumerate() {
            let negative = negative != (side == 1 && data.op == Op::Binary(Binary::Sub));
            let inner = self.kernel.defining(*value).filter(|inner| {
                self.uses[*value] == 1 && self.is_sum(*inner) && self.places[*inner].1 == self.places[inst].1
            });
            match inner {
                Some(inner) => {
                    steps.push(inner);
                    self.take_apart(inner, negative, parts, steps);
                }
                None => parts.push(Part { value: *value, negative }),
            }
        }
    }

    /// Rewrites the steps of a sum. The terms of each step come before it, because the steps up to any point together
    /// have at least one term more than there are steps.
    fn add_up(&self, kernel: &mut Kernel, mut parts: Vec<Part>, mut steps: Vec<Inst>) {
        parts.sort_by_key(|part| match self.kernel.defining(part.value) {
            Some(inst) if !self.uniform.is(part.value) => self.places[inst].0,
            _ => 0,
        });
        steps.sort_by_key(|inst| self.places[*inst].0);
        let mut sum = parts[0];
        for (step, part) in steps.iter().zip(&parts[1..]) {
            let data = &mut kernel.insts[*step];
            let Some(result) = data.result else { return };
            // Subtracted terms are first added up, and their sum is then subtracted from the first term that is added.
            let (op, operands) = match (sum.negative, part.negative) {
                (false, true) => (Binary::Sub, [sum.value, part.value]),
                (true, false) => (Binary::Sub, [part.value, sum.value]),
                _ => (Binary::Add, [sum.value, part.value]),
            };
            data.op = Op::Binary(op);
            data.operands = operands.into_iter().collect();
            data.flags = Flags::default();
            sum = Part { value: result, negative: sum.negative && part.negative };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use tripipe_ir::text::parse;
    use tripipe_ir::verify::verify;

    use super::*;

    /// A kernel of loads and sums of them in random order, some sums used twice, from a Lehmer generator.
    fn random(seed: u64) -> String {
        let mut state = seed * 2 + 1;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5);
            (state >> 33) as usize % below
        };
        let mut body = String::new();
        let mut open: Vec<usize> = Vec::new();
        for next in 1..=24 {
            if open.len() < 2 || draw(2) == 0 {
                let _ = writeln!(body, "  %{next}: i32 = load.4 %0");
            } else {
                let a = open.swap_remove(draw(open.len()));
                let b = open.swap_remove(draw(open.len()));
                let op = ["add", "sub"][draw(2)];
                let _ = writeln!(body, "  %{next}: i32 = {op} %{a}, %{b}");
                if draw(6) == 0 {
                    open.push(a);
                }
            }
            open.push(next);
        }
        for value in open {
            let _ = writeln!(body, "  store.4 %0, %{value}");
        }
        format!(
            "tripipe-ir 1\nkernel \"k\" {{\n  parameter \"p\" \"int*\" pointer global align 4 to i32\n\
             b0(%0: ptr.global):\n{body}  return\n}}\n"
        )
    }

    /// The values stored when the loads return 3, 9, 27 and so on.
    fn stored(kernel: &Kernel) -> Vec<i64> {
        let mut values: SecondaryMap<Value, i64> = SecondaryMap::new();
        let (mut stored, mut loaded) = (Vec::new(), 1);
        for inst in &kernel.blocks[Kernel::ENTRY].insts {
            let data = &kernel.insts[*inst];
            let of = |position: usize| values[data.operands[position]];
            let made = match data.op {
                Op::Load(_) => {
                    loaded *= 3;
                    loaded
                }
                Op::Binary(Binary::Add) => of(0) + of(1),
                Op::Binary(Binary::Sub) => of(0) - of(1),
                _ => {
                    stored.push(of(1));
                    continue;
                }
            };
            values[data.result.unwrap()] = made;
        }
        stored
    }

    #[test]
    fn sums_keep_their_value_and_their_number_of_operations() {
        let mut changed = 0;
        for seed in 0..500 {
            let mut module = parse(&random(seed)).unwrap();
            let kernel = module.kernels[0].clone();
            let ordered = in_order(&kernel, &Cfg::new(&kernel));
            module.kernels[0] = ordered.clone();
            verify(&module).unwrap();
            assert_eq!(stored(&kernel), stored(&ordered), "{}", random(seed));
            assert_eq!(kernel.blocks, ordered.blocks);
            changed += u32::from(kernel != ordered);
        }
        assert!(changed > 250, "{changed}");
    }

    #[test]
    fn operands_available_first_are_added_first() {
        // 9 m - (l + r), as the optimiser leaves it. The product comes first, so that `m` is dead when `r` is loaded.
        let text = "tripipe-ir 1\nkernel \"k\" {\n  parameter \"p\" \"int*\" pointer global align 4 to i32\n  \
                    const %7: i32 = 9\nb0(%0: ptr.global):\n  %1: i32 = load.4 %0\n  %2: i32 = mul %1, %7\n  \
                    %3: i32 = load.4 %0\n  %4: i32 = load.4 %0\n  %5: i32 = add %3, %4\n  %6: i32 = sub %2, %5\n  \
                    store.4 %0, %6\n  return\n}\n";
        let module = parse(text).unwrap();
        let ordered = in_order(&module.kernels[0], &Cfg::new(&module.kernels[0]));
        let sums: Vec<String> = ordered
            .insts
            .values()
            .filter(|data| matches!(data.op, Op::Binary(Binary::Add | Binary::Sub)))
            .map(|data| format!("{} {} {}", data.op, data.operands[0], data.operands[1]))
            .collect();
        assert_eq!(sums, ["sub %2 %3", "sub %5 %4"]);
    }
}
