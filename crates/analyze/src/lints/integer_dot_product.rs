//! `integer-dot-product`: products of bytes that one instruction multiplies and adds.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::Range;
use tripipe_ir::op::{Binary, Dot};
use tripipe_ir::{Block, Flags, Inst, Instruction, Kernel, Op, Scalar, Type, Value, ValueData, ValueDef};

use super::context::{Advice, Context, Gain};
use super::rewrite::{replace, sort};

/// Products of bytes in one instruction.
const LANES: usize = 4;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "integer-dot-product",
    severity: Severity::Warning,
    title: "products of bytes that one instruction multiplies and adds",
    what: "
A sum of four or more products of 8-bit integers, computed in 32 bits, on a GPU that has an instruction for the sum of
four such products.",
    why: "
C promotes bytes to 32 bits: each product is a conversion of both factors, a multiplication, and an addition. The
instruction takes four bytes of each factor in a register, multiplies and adds them, and keeps all bits.",
    example: "
int dot(char4 a, char4 b, int sum)
{
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}",
    instead: "
int dot(char4 a, char4 b, int sum)
{
    return arm_dot_acc(a, b, sum);  // or sum + dot(a, b) with cl_khr_integer_dot_product, or qcom_dot8_acc
}",
    exceptions: "
Where the bytes do not lie side by side, so that they must be gathered into a register first; where a driver finds the
instruction by itself.",
    source: "
- cl_arm_integer_dot_product_accumulate_int8, cl_khr_integer_dot_product and cl_qcom_dot_product8 in the registry of OpenCL.",
    ..Rule::LINT
};

/// A sum and its terms.
struct Sum {
    block: Block,
    /// The additions, in order; the last one is the sum.
    additions: Vec<Inst>,
    /// The instructions whose results are products of bytes.
    products: Vec<Inst>,
    /// The other terms.
    others: Vec<Value>,
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if context.gpu.operations_per_clock_per_core.int8_dot_mac.value == 0 {
        return;
    }
    let sums = sums(context).into_iter().filter_map(|sum| Some((*sum.additions.last()?, sum)));
    for line in context.by_line(sums, |_| ()) {
        let gain = context.gain_by(|kernel| {
            for (_, sum) in &line {
                shorten(kernel, sum);
            }
        });
        let Some(gain) = gain.filter(Gain::is_worth_it) else { continue };
        let products: usize = line.iter().map(|(_, sum)| sum.products.len()).sum();
        let opencl = context.gpu.opencl();
        let function = if opencl.has("cl_arm_integer_dot_product_accumulate_int8") {
            "arm_dot_acc"
        } else if opencl.has("cl_qcom_dot_product8") {
            "qcom_dot8_acc"
        } else {
            "dot_4x8packed_ss_int"
        };
        found.push(Advice {
            rule: &RULE,
            location: context.kernel.insts[line[0].0].location,
            message: format!(
                "a sum of {products} products of bytes, each converted, multiplied and added in 32 bits"
            ),
            fix: format!(
                "Write {function}: the integer dot product of four bytes and four bytes is one instruction."
            ),
            gain: Some(gain),
        });
    }
}

/// The sums with enough products, each with all of its additions.
fn sums(context: &Context<'_>) -> Vec<Sum> {
    let kernel = context.kernel;
    let mut inside: EntitySet<Inst> = EntitySet::new();
    let mut sums = Vec::new();
    for block in &context.cfg.order {
        for root in kernel.blocks[*block].insts.iter().rev().copied() {
            if inside.contains(root) || !is_addition(kernel, root) {
                continue;
            }
            let mut sum =
                Sum { block: *block, additions: Vec::new(), products: Vec::new(), others: Vec::new() };
            let mut open = vec![root];
            while let Some(addition) = open.pop() {
                inside.insert(addition);
                sum.additions.push(addition);
                for term in kernel.insts[addition].operands.iter().copied() {
                    let by = kernel.defining(term).filter(|inst| kernel.blocks[*block].insts.contains(inst));
                    let uses = context.facts.uses(term);
                    match by.filter(|_| uses.by[..] == [addition] && !uses.at_end) {
                        Some(inst) if is_addition(kernel, inst) => open.push(inst),
                        Some(inst) if is_product(context, inst) => sum.products.push(inst),
                        _ => sum.others.push(term),
                    }
                }
            }
            if sum.products.len() >= LANES {
                let position =
                    |inst: &Inst| kernel.blocks[*block].insts.iter().position(|other| other == inst);
                sum.additions.sort_by_key(position);
                sums.push(sum);
            }
        }
    }
    sums
}

fn is_addition(kernel: &Kernel, inst: Inst) -> bool {
    let data = &kernel.insts[inst];
    data.op == Op::Binary(Binary::Add) && data.result.is_some_and(|result| kernel.ty(result) == Type::I32)
}

/// Whether it is a product of bytes in 32 bits, or a lane of one.
fn is_product(context: &Context<'_>, inst: Inst) -> bool {
    let kernel = context.kernel;
    let fits = |value: &Value| {
        let range = context.range(*value);
        range.is_some_and(|range| range.is_within(Range::signed(8)) || range.is_within(Range::unsigned(8)))
    };
    factors(kernel, inst).is_some_and(|factors| factors.iter().all(fits))
}

/// The factors of a product, or of that which it is a lane of.
fn factors(kernel: &Kernel, inst: Inst) -> Option<&[Value]> {
    let data = &kernel.insts[inst];
    match data.op {
        Op::Binary(Binary::Mul) => Some(&data.operands),
        Op::Extract(_) => {
            let vector = &kernel.insts[kernel.defining(data.operands[0])?];
            (vector.op == Op::Binary(Binary::Mul)).then_some(&vector.operands)
        }
        _ => None,
    }
}

/// Computes a sum with dot products. The kernel is for pricing only, not for execution.
fn shorten(kernel: &mut Kernel, sum: &Sum) {
    let mut terms = sum.others.clone();
    let mut dots = Vec::new();
    for quad in sum.products.chunks(LANES) {
        let Some(factors) = factors(kernel, quad[0]).map(<[Value]>::to_vec) else { return };
        let packed: Vec<Value> =
            factors.into_iter().map(|factor| packed(kernel, sum.block, factor)).collect();
        dots.push((quad[0], packed));
        terms.extend(kernel.insts[quad[0]].result);
    }
    for (inst, packed) in &dots {
        let dot = Dot { a_signed: true, b_signed: true, accumulate: false };
        replace(kernel, *inst, Op::Dot(dot), packed);
    }
    let kept = &sum.additions[sum.additions.len() - (terms.len() - 1).min(sum.additions.len())..];
    let mut left = terms[0];
    for (addition, right) in kept.iter().zip(&terms[1..]) {
        replace(kernel, *addition, Op::Binary(Binary::Add), &[left, *right]);
        left = kernel.insts[*addition].result.unwrap_or(left);
    }
    if let (true, Some(root), Some((_, packed))) = (kept.is_empty(), sum.additions.last(), dots.first()) {
        let dot = Dot { a_signed: true, b_signed: true, accumulate: false };
        replace(kernel, *root, Op::Dot(dot), packed);
    }
    sort(kernel, sum.block);
}

/// The four bytes that a factor is one of: those that it is taken from, if they are in a register.
fn packed(kernel: &mut Kernel, block: Block, factor: Value) -> Value {
    let four = Type::of(Scalar::I8, 4);
    let mut from = factor;
    let mut at = factor;
    while let Some(inst) = kernel.defining(at) {
        let data = &kernel.insts[inst];
        let takes_part = matches!(
            data.op,
            Op::Convert(_)
                | Op::Extract(_)
                | Op::Binary(Binary::Shl | Binary::AShr | Binary::LShr | Binary::And)
        );
        if !takes_part {
            break;
        }
        at = data.operands[0];
        if kernel.ty(at) == four {
            return at;
        }
        if kernel.ty(at) == Type::I32 {
            from = at;
        }
    }
    if kernel.ty(from) != Type::I32 {
        return from;
    }
    let inst = kernel.insts.next_key();
    let result = kernel.values.push(ValueData { ty: four, def: ValueDef::Result(inst) });
    let instruction = Instruction {
        op: Op::Bitcast,
        flags: Flags::default(),
        operands: [from].into_iter().collect(),
        result: Some(result),
        location: None,
    };
    let inst = kernel.insts.push(instruction);
    kernel.blocks[block].insts.insert(0, inst);
    result
}
