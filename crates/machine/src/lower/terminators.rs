//! The ends of blocks: jumps and branches, and the registers that are passed to the successors.

use smallvec::SmallVec;
use tripipe_ir::{Block, Scalar, TerminatorKind};

use super::PassedRegisters;
use super::lowering::Lowering;
use super::shape::Shape;
use crate::code::Register;
use crate::lanes;
use crate::model::Step;
use crate::work::Work;

impl Lowering<'_> {
    pub(super) fn terminator(&mut self, block: Block) {
        let terminator = &self.kernel.blocks[block].terminator;
        let next = |to: Block| to.as_u32() == block.as_u32() + 1;
        let (work, ty, inputs, times) = match &terminator.kind {
            TerminatorKind::Jump(call) if next(call.block) => return,
            TerminatorKind::Jump(_) => (Work::Jump, "any", Vec::new(), 1),
            TerminatorKind::Return | TerminatorKind::Unreachable => return,
            TerminatorKind::Branch { condition, .. } => {
                if !self.uniform.is(*condition)
                    && self.is_fused_compare(*condition)
                    && let Some(compare) = self.kernel.defining(*condition)
                {
                    let operands = &self.kernel.insts[compare].operands;
                    let scalar = self.kernel.ty(operands[0]).scalar().unwrap_or(Scalar::I64);
                    (Work::CompareBranch, scalar.name(), operands.to_vec(), 1)
                } else {
                    (Work::Branch, "any", vec![*condition], 1)
                }
            }
            TerminatorKind::Switch { selector, cases, .. } => {
                let scalar = self.kernel.ty(*selector).scalar().unwrap_or(Scalar::I32);
                (Work::CompareBranch, scalar.name(), vec![*selector], cases.len())
            }
        };
        let (recipe, basis) = self.recipe(work, ty);
        let steps: Vec<&Step> =
            recipe.iter().flat_map(|step| std::iter::repeat_n(step, step.count as usize)).collect();
        let bits = inputs
            .first()
            .and_then(|value| self.kernel.ty(*value).scalar())
            .map_or(32, |scalar| scalar.bits().max(8));
        let mut reads: SmallVec<[Register; 4]> = SmallVec::new();
        for value in inputs {
            reads.extend(self.whole(value));
        }
        for _ in 0..times {
            let mut carried = reads.clone();
            for (position, step) in steps.iter().copied().enumerate() {
                let shape = Shape::of(self.model, step, 1, bits);
                let more = position + 1 < steps.len();
                let writes: SmallVec<[Register; 4]> =
                    if more { lanes::registers(&self.allocate_lanes(1, 32, None)) } else { SmallVec::new() };
                self.emit(work, step, basis, shape, &carried, &writes);
                carried = writes;
            }
        }
    }

    pub(super) fn edges(&mut self, block: Block) -> Vec<PassedRegisters> {
        let mut edges = Vec::new();
        for call in self.kernel.blocks[block].terminator.calls() {
            for (argument, parameter) in call.arguments.iter().zip(&self.kernel.blocks[call.block].parameters)
            {
                if let Some(to) = &self.lanes[*parameter] {
                    edges.push((lanes::registers(&self.lanes_of(*argument)), lanes::registers(to)));
                }
            }
        }
        edges
    }
}
