//! Jump threading: jumps through blocks that only decide what their predecessor already knows.
//!
//! To leave a scope early (`return` in a kernel, `break` out of a switch), clang stores the target in a variable, jumps
//! to the scope's end, and switches on the variable there. A predecessor that passes a constant jumps directly to the
//! target.

use cranelift_entity::SecondaryMap;

use crate::{Block, BlockCall, Inst, Kernel, Op, TerminatorKind, Value, ValueDef};

/// Maximum number of lifetime ends to copy for a jump; blocks with any other instruction are not bypassed.
const MOST_ENDS: usize = 16;

/// Redirects jumps that pass a constant to a block that switches on it; returns whether there was one.
pub(super) fn run(kernel: &mut Kernel) -> bool {
    let uses = outside_uses(kernel);
    let mut changed = false;
    for block in kernel.blocks.keys() {
        // Nested scopes are left one after the other; each step leads to another block, and the number of steps is
        // limited.
        for _ in 0..64 {
            let TerminatorKind::Jump(call) = &kernel.blocks[block].terminator.kind else { break };
            let Some((next, ends)) = constant_successor(kernel, &uses, block, call) else { break };
            for inst in ends {
                let data = &kernel.insts[inst];
                let (op, location) = (data.op, data.location);
                let copy = kernel.make_inst(op, &[], None, location);
                kernel.blocks[block].insts.push(copy);
            }
            kernel.blocks[block].terminator.kind = TerminatorKind::Jump(next);
            changed = true;
        }
    }
    changed
}

/// The known final target of a jump, and the lifetime ends on the path.
fn constant_successor(
    kernel: &Kernel,
    uses: &SecondaryMap<Value, bool>,
    from: Block,
    call: &BlockCall,
) -> Option<(BlockCall, Vec<Inst>)> {
    let through = &kernel.blocks[call.block];
    let decider = through.terminator.decider()?;
    let position = through.parameters.iter().position(|value| *value == decider)?;
    let bits = kernel.scalar_constant(*call.arguments.get(position)?)?;
    let ends_only = through.insts.iter().all(|inst| matches!(kernel.insts[*inst].op, Op::LifetimeEnd(_)));
    if call.block == from
        || !ends_only
        || through.insts.len() > MOST_ENDS
        || through.parameters.iter().any(|value| uses[*value])
    {
        return None;
    }
    let mut next = match &through.terminator.kind {
        TerminatorKind::Branch { then, otherwise, .. } => if bits == 0 { otherwise } else { then }.clone(),
        TerminatorKind::Switch { cases, default, .. } => {
            cases.iter().find(|case| case.0 == bits).map_or(default, |case| &case.1).clone()
        }
        _ => return None,
    };
    for argument in &mut next.arguments {
        if let Some(position) = through.parameters.iter().position(|value| value == argument) {
            *argument = call.arguments[position];
        }
    }
    (next.block != call.block).then(|| (next, through.insts.clone()))
}

/// Block parameters with uses outside of their own block's terminator.
fn outside_uses(kernel: &Kernel) -> SecondaryMap<Value, bool> {
    let mut uses = SecondaryMap::new();
    for (block, data) in &kernel.blocks {
        for inst in &data.insts {
            for operand in &kernel.insts[*inst].operands {
                uses[*operand] = true;
            }
        }
        for value in data.terminator.uses() {
            if !matches!(kernel.values[value].def, ValueDef::Parameter(home, _) if home == block) {
                uses[value] = true;
            }
        }
    }
    uses
}
