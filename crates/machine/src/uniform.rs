//! Which values are the same for the whole launch.

use cranelift_entity::{EntitySet, SecondaryMap};
use tripipe_ir::flow::Cfg;
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, Inst, Kernel, Op, Space, Type, Value, ValueDef};

/// Values that are the same for all work-items and known before the launch: constants, arguments, sizes, and values
/// computed only from these. Compilers compute them once before the kernel and pass them like arguments.
pub(crate) struct Uniform {
    values: SecondaryMap<Value, bool>,
    /// The instructions that compute them.
    pub(crate) hoisted: Vec<Inst>,
}

impl Uniform {
    pub(crate) fn new(kernel: &Kernel, cfg: &Cfg) -> Self {
        let mut all = Self { values: SecondaryMap::new(), hoisted: Vec::new() };
        for (value, data) in &kernel.values {
            all.values[value] = match data.def {
                ValueDef::Constant(_) => true,
                ValueDef::Parameter(block, _) => block == Kernel::ENTRY,
                ValueDef::Result(_) => false,
            };
        }
        // Blocks are ordered so that definitions come before uses.
        for block in &cfg.order {
            all.visit(kernel, *block);
        }
        all
    }

    fn visit(&mut self, kernel: &Kernel, block: Block) {
        for inst in &kernel.blocks[block].insts {
            let data = &kernel.insts[*inst];
            let Some(result) = data.result else { continue };
            let same = match data.op {
                Op::Query(query) => {
                    use QueryKind as Q;
                    matches!(
                        query.kind,
                        Q::GlobalSize
                            | Q::GlobalOffset
                            | Q::EnqueuedLocalSize
                            | Q::NumGroups
                            | Q::WorkDim
                            | Q::MaxSubGroupSize
                            | Q::SubGroupSize
                            | Q::LocalSize
                    )
                }
                // Constant tables of the program are put into uniform registers if the index is known.
                Op::Load(access) => {
                    !access.volatile
                        && self.values[data.operands[0]]
                        && matches!(kernel.ty(data.operands[0]), Type::Pointer(Space::Constant))
                        && kernel.ty(result).bytes() <= 16
                }
                Op::ObjectAddress(_) | Op::ProgramAddress(_) | Op::Undefined => true,
                op => op.is_pure() && data.operands.iter().all(|operand| self.values[*operand]),
            };
            if same {
                self.values[result] = true;
                if !matches!(
                    data.op,
                    Op::Query(_) | Op::ObjectAddress(_) | Op::ProgramAddress(_) | Op::Undefined
                ) {
                    self.hoisted.push(*inst);
                }
            }
        }
    }

    /// Bits of the uniform values that the non-uniform part of the kernel reads.
    pub(crate) fn bits(&self, kernel: &Kernel, cfg: &Cfg) -> u32 {
        let mut read: EntitySet<Value> = EntitySet::new();
        for block in &cfg.order {
            let data = &kernel.blocks[*block];
            for inst in &data.insts {
                let inst = &kernel.insts[*inst];
                if !inst.result.is_some_and(|result| self.values[result]) {
                    read.extend(inst.operands.iter().copied());
                }
            }
            read.extend(data.terminator.uses());
        }
        let counts = |value: &Value| {
            self.values[*value]
                && kernel.constant(*value).is_none()
                && !matches!(kernel.ty(*value), Type::Image(_) | Type::Sampler)
        };
        read.iter().filter(counts).map(|value| kernel.ty(value).bytes().max(4) * 8).sum()
    }

    /// Whether a value is the same for the whole launch.
    pub(crate) fn is(&self, value: Value) -> bool {
        self.values[value]
    }
}
