//! `wide-integer`: 64-bit arithmetic where 32 bits would suffice.

use cranelift_entity::EntitySet;
use tripipe_ir::diagnostic::{Rule, Severity, counted};
use tripipe_ir::op::{Binary, Unary};
use tripipe_ir::{Kernel, Op, Scalar, Type, Value};

use super::context::{Advice, Context};
use super::retype::chains;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "wide-integer",
    severity: Severity::Warning,
    title: "64-bit arithmetic where 32 bits would suffice",
    what: "
Arithmetic on `size_t`, `long` or `ulong` whose values provably fit in 32 bits, or whose results are only indices into
buffers of fewer than 2^31 elements.",
    why: "
No phone GPU has native units for 64-bit integers: an addition takes two to three operations, a multiplication six to
twenty, a division more than a hundred. Each value takes two registers. An address has 64 bits, but the address unit
widens a 32-bit index at little or no cost.",
    example: "
const size_t x = get_global_id(0), y = get_global_id(1);
out[y * width + x] = in[y * width + x];",
    instead: "
const int x = get_global_id(0), y = get_global_id(1);
out[y * width + x] = in[y * width + x];",
    exceptions: "For buffers of 2^31 elements or more, and for values that are meant to wrap at 64 bits.",
    source: "- Mesa's compilers for the operations; measurements by azhirnov on an Adreno 660. docs/model.md.",
    ..Rule::LINT
};

/// Values that are only used as the index of an address, through sums and products whose low bits depend only on low
/// bits.
fn indices(context: &Context<'_>) -> EntitySet<Value> {
    let kernel = context.kernel;
    let mut all: EntitySet<Value> = EntitySet::new();
    // In backward order, users come before their operands; loop back edges are not followed.
    for block in context.cfg.order.iter().rev() {
        for inst in kernel.blocks[*block].insts.iter().rev() {
            let data = &kernel.insts[*inst];
            let Some(value) = data.result.filter(|value| kernel.ty(*value) == Type::I64) else { continue };
            let keeps_low_bits = matches!(
                data.op,
                Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::Xor)
                    | Op::Unary(Unary::Neg | Unary::Not)
            ) || is_shift(kernel, data.op, &data.operands);
            let uses = context.facts.uses(value);
            let only_index = uses.by.iter().all(|user| {
                let user = &kernel.insts[*user];
                match user.op {
                    Op::Address(address) => address.in_bounds && user.operands[0] != value,
                    _ => user.result.is_some_and(|result| all.contains(result)),
                }
            });
            if keeps_low_bits && !uses.at_end && only_index {
                all.insert(value);
            }
        }
    }
    all
}

/// Whether it is a left shift by fewer than 32 bits.
fn is_shift(kernel: &Kernel, op: Op, operands: &[Value]) -> bool {
    op == Op::Binary(Binary::Shl)
        && kernel.signed_constant(operands[1]).is_some_and(|bits| (0..32).contains(&bits))
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let indices = indices(context);
    for chain in chains(context, Scalar::I64, 32, &indices) {
        let name = chain.type_name(32);
        let mut results = chain.computes.iter().filter_map(|inst| context.kernel.insts[*inst].result);
        let purpose = if results.all(|value| indices.contains(value)) {
            "used only as indices, for which 32 bits suffice".to_owned()
        } else {
            format!("whose values fit in {name}")
        };
        found.push(Advice {
            rule: &RULE,
            location: chain.computes.iter().find_map(|inst| context.kernel.insts[*inst].location),
            message: format!("{} on 64-bit integers, {purpose}", counted(chain.computes.len(), "operation")),
            fix: format!("Compute in {name}: const {name} i = get_global_id(0)."),
            gain: None,
        });
    }
}
