//! What the instructions of a kernel do besides computing results: wait for other work-items, and write memory.

use cranelift_entity::SecondaryMap;
use tripipe_ir::op::{GroupScope, Scope};
use tripipe_ir::{Instruction, Kernel, Op, Space, Type, Value, ValueDef};

/// Whether the work-items of a work-group wait for each other at this operation.
pub(crate) fn meets(op: Op) -> bool {
    match op {
        Op::Barrier { execution: scope, .. }
        | Op::AsyncCopy { scope, .. }
        | Op::WaitEvents { scope }
        | Op::WaitCopies { scope } => scope != Scope::SubGroup,
        Op::Group(group) => group.scope == GroupScope::WorkGroup,
        _ => false,
    }
}

/// Whether work-items perform this operation together, those of a work-group or of a sub-group.
pub(crate) fn is_collective(op: Op) -> bool {
    meets(op) || matches!(op, Op::Group(_) | Op::AsyncCopy { .. } | Op::WaitEvents { .. })
}

/// Whether other work-groups may see its memory effects before the launch ends.
pub(crate) fn is_global_atomic(kernel: &Kernel, inst: &Instruction) -> bool {
    // Other pointers, generic ones included, may be global.
    matches!(inst.op, Op::Atomic(_))
        && inst.operands.first().is_none_or(|pointer| {
            !matches!(kernel.ty(*pointer), Type::Pointer(Space::Local | Space::Private))
        })
}

/// Whether an operation may write data that other work-items can see. Atomics are not included; they count their
/// changes themselves.
pub(crate) fn stores(op: Option<Op>) -> bool {
    matches!(
        op,
        Some(Op::Store(_) | Op::Copy(_) | Op::AsyncCopy { .. } | Op::ImageWrite { .. } | Op::Printf(_))
    )
}

/// The arguments through which a kernel may write; `None` if it writes through pointers of unknown origin.
pub(crate) fn written(kernel: &Kernel) -> Option<Vec<bool>> {
    // For each pointer or image, the arguments that it may come from: one bit each, the last for unknown.
    const UNKNOWN: u64 = 1 << 63;
    let names_memory = |value: Value| matches!(kernel.ty(value), Type::Pointer(_) | Type::Image(_));
    let mut roots: SecondaryMap<Value, u64> = SecondaryMap::new();
    for (index, parameter) in kernel.blocks[Kernel::ENTRY].parameters.iter().enumerate() {
        roots[*parameter] = if index < 63 { 1 << index } else { UNKNOWN };
    }
    // To a fixed point, because pointers are passed around loops.
    let mut changed = true;
    while changed {
        changed = false;
        for data in kernel.blocks.values() {
            for inst in &data.insts {
                let inst = &kernel.insts[*inst];
                let Some(result) = inst.result.filter(|result| names_memory(*result)) else { continue };
                let from = match inst.op {
                    Op::Address(_) | Op::SpaceCast { .. } => roots[inst.operands[0]],
                    Op::Select => roots[inst.operands[1]] | roots[inst.operands[2]],
                    // An object of the kernel or the program is not an argument.
                    Op::ObjectAddress(_) | Op::ProgramAddress(_) => 0,
                    // It was loaded from memory, or made from an integer.
                    _ => UNKNOWN,
                };
                changed |= roots[result] | from != roots[result];
                roots[result] |= from;
            }
            for call in data.terminator.calls() {
                for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments)
                {
                    if names_memory(*parameter) {
                        let from = roots[*argument];
                        changed |= roots[*parameter] | from != roots[*parameter];
                        roots[*parameter] |= from;
                    }
                }
            }
        }
    }
    let mut all = 0;
    for data in kernel.blocks.values() {
        for inst in &data.insts {
            let inst = &kernel.insts[*inst];
            let writes = matches!(
                inst.op,
                Op::Store(_) | Op::Copy(_) | Op::Atomic(_) | Op::AsyncCopy { .. } | Op::ImageWrite { .. }
            );
            if writes && let Some(pointer) = inst.operands.first() {
                let constant = matches!(kernel.values[*pointer].def, ValueDef::Constant(_));
                all |= if constant { UNKNOWN } else { roots[*pointer] };
            }
        }
    }
    (all & UNKNOWN == 0)
        .then(|| (0..kernel.parameters.len()).map(|index| index < 63 && all >> index & 1 == 1).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test ends at the first surprise")]

    use super::written;

    /// Passes `a`, `b`, `out` and `n` to a block that writes to its image `%7`.
    fn of(before: &str, image: &str) -> Option<Vec<bool>> {
        let text = format!(
            "tripipe-ir 1\nkernel \"k\" {{\n\
             parameter \"a\" \"image2d_t\" value image.2d.wo\n\
             parameter \"b\" \"image2d_t\" value image.2d.wo\n\
             parameter \"out\" \"int*\" pointer global align 4 to i32\n\
             parameter \"n\" \"bool\" value bool\n\
             const %4: i32 = 0\n\
             b0(%0 \"a\": image.2d.wo, %1 \"b\": image.2d.wo, %2 \"out\": ptr.global, %3 \"n\": bool):\n\
             %5: i32x2 = construct %4, %4\n\
             %6: i32x4 = construct %4, %4, %4, %4\n\
             {before}\n\
             jump b1({image})\n\
             b1(%7: image.2d.wo):\n\
             imagewrite %7, %5, %6\n\
             return\n}}\n"
        );
        let module = tripipe_ir::text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        tripipe_ir::verify::verify(&module).unwrap();
        written(&module.kernels[0])
    }

    #[test]
    fn images_are_followed() {
        assert_eq!(of("", "%1"), Some(vec![false, true, false, false]));
        assert_eq!(of("%8: image.2d.wo = select %3, %0, %1", "%8"), Some(vec![true, true, false, false]));
        // The origin of this image is unknown.
        assert_eq!(of("%8: image.2d.wo = undefined", "%8"), None);
    }
}
