//! The part of a kernel that its path and its addresses depend on.

use cranelift_entity::EntitySet;
use tripipe_ir::{Inst, Kernel, Op, Space, Type, Value, ValueDef};

use super::effects::{meets, written};

/// What has to run so that a kernel takes its path and computes its addresses. The rest has no influence on either.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slice {
    insts: EntitySet<Inst>,
    values: EntitySet<Value>,
}

impl Slice {
    /// The slice of a kernel. If what it reads may be what it wrote, all writes are part of it.
    pub(crate) fn new(kernel: &Kernel) -> Self {
        let mut slice = Self::default();
        let mut open = Vec::new();
        for data in kernel.blocks.values() {
            open.extend(data.terminator.decider());
            for inst in &data.insts {
                let op = kernel.insts[*inst].op;
                let operands = &kernel.insts[*inst].operands;
                match op {
                    // The pointer, and not what is written.
                    Op::Load(_) | Op::Store(_) | Op::Atomic(_) => open.extend(operands.first()),
                    Op::ImageWrite { .. } => {
                        open.extend(operands.iter().enumerate().filter(|(at, _)| *at != 2).map(|(_, of)| of));
                    }
                    Op::Copy(_)
                    | Op::AsyncCopy { .. }
                    | Op::WaitEvents { .. }
                    | Op::WaitCopies { .. }
                    | Op::ImageRead { .. }
                    | Op::ImageSample(_) => open.extend(operands),
                    _ => {}
                }
                // Waiting is part of the path.
                if meets(op) || matches!(op, Op::AsyncCopy { .. } | Op::WaitEvents { .. }) {
                    slice.insts.insert(*inst);
                    open.extend(operands);
                }
            }
        }
        slice.close(kernel, open);
        let written = written(kernel);
        // A load that decides must see what the kernel stored before it.
        let reads_what_it_may_write = slice.insts.iter().any(|inst| {
            let data = &kernel.insts[inst];
            matches!(
                data.op,
                Op::Load(_)
                    | Op::Atomic(_)
                    | Op::Copy(_)
                    | Op::AsyncCopy { .. }
                    | Op::WaitEvents { .. }
                    | Op::ImageRead { .. }
                    | Op::ImageSample(_)
            ) && !(matches!(data.op, Op::Load(_) | Op::ImageRead { .. } | Op::ImageSample(_))
                && data
                    .operands
                    .first()
                    .is_some_and(|from| is_never_written(kernel, *from, written.as_deref())))
        });
        if reads_what_it_may_write {
            let mut open = Vec::new();
            for data in kernel.blocks.values() {
                for inst in &data.insts {
                    let writes = matches!(
                        kernel.insts[*inst].op,
                        Op::Store(_)
                            | Op::Copy(_)
                            | Op::Atomic(_)
                            | Op::ImageWrite { .. }
                            | Op::LifetimeStart(_)
                            | Op::LifetimeEnd(_)
                    );
                    if writes {
                        slice.insts.insert(*inst);
                        open.extend(&kernel.insts[*inst].operands);
                    }
                }
            }
            slice.close(kernel, open);
        }
        slice
    }

    /// Adds values, and all that they depend on.
    fn close(&mut self, kernel: &Kernel, mut open: Vec<Value>) {
        while let Some(value) = open.pop() {
            if !self.values.insert(value) {
                continue;
            }
            match &kernel.values[value].def {
                ValueDef::Constant(_) => {}
                ValueDef::Result(inst) => {
                    self.insts.insert(*inst);
                    open.extend(&kernel.insts[*inst].operands);
                }
                ValueDef::Parameter(block, position) => {
                    let calls = kernel.blocks.values().flat_map(|data| data.terminator.calls());
                    let here = calls.filter(|call| call.block == *block);
                    open.extend(here.filter_map(|call| call.arguments.get(*position as usize)));
                }
            }
        }
    }

    /// Whether an instruction has to run.
    pub(crate) fn has(&self, inst: Inst) -> bool {
        self.insts.contains(inst)
    }

    /// Whether a value has to be computed.
    pub(crate) fn has_value(&self, value: Value) -> bool {
        self.values.contains(value)
    }
}

/// Whether a pointer or image is, or is computed from, an argument that the kernel does not write to.
fn is_never_written(kernel: &Kernel, value: Value, written: Option<&[bool]>) -> bool {
    let Some(written) = written else { return false };
    let base = kernel.pointer_base(value);
    match kernel.values[base].def {
        ValueDef::Parameter(Kernel::ENTRY, index) => {
            written.get(index as usize) == Some(&false)
                && !matches!(kernel.ty(base), Type::Pointer(Space::Local))
        }
        ValueDef::Result(inst) if matches!(kernel.insts[inst].op, Op::ProgramAddress(_)) => {
            matches!(kernel.ty(base), Type::Pointer(Space::Constant))
        }
        _ => false,
    }
}
