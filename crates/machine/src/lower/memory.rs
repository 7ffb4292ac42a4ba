//! Loads, stores, copies, and their addresses.

use smallvec::SmallVec;
use tripipe_ir::{Inst, Op, Scalar, Type, Value};

use super::lowering::Lowering;
use super::shape::Shape;
use crate::code::Register;
use crate::lanes::{self, Lanes};
use crate::work::Work;

impl Lowering<'_> {
    /// Lowers a pointer to a value of its own, unless every use can take its base and index directly.
    pub(super) fn address(&mut self, inst: Inst, indexed: bool) -> Option<Lanes> {
        let result = self.kernel.insts[inst].result?;
        let folded = self.uses.as_address[result] == self.uses.count[result];
        if folded && (!indexed || self.model.layout.folds_index) {
            return None;
        }
        let reads = self.address_parts(result, true);
        let made = self.allocate(self.kernel.ty(result), None, Some(result));
        let (steps, basis) = self.recipe(Work::Address, "any");
        for step in steps {
            for _ in 0..step.count {
                let shape = Shape::of(self.model, &step, 1, 64);
                self.emit(Work::Address, &step, basis, shape, &reads, &lanes::registers(&made));
            }
        }
        Some(made)
    }

    /// The registers that an address reads: those of the pointer if it has any, else those of its base and index.
    fn address_parts(&mut self, pointer: Value, from_parts: bool) -> SmallVec<[Register; 4]> {
        let mut at = pointer;
        let mut take_apart = from_parts;
        let mut reads = SmallVec::new();
        while !self.uniform.is(at) {
            if let (false, Some(lanes)) = (take_apart, &self.lanes[at]) {
                reads.extend(lanes::registers(lanes));
                break;
            }
            let Some(inst) = self.kernel.defining(at) else { break };
            let data = &self.kernel.insts[inst];
            let Op::Address(_) = data.op else { break };
            if let Some(index) = data.operands.get(1) {
                reads.extend(lanes::registers(&self.lanes_of(*index)));
            }
            at = data.operands[0];
            take_apart = false;
        }
        reads
    }

    pub(super) fn memory(&mut self, inst: Inst) -> Option<Lanes> {
        let data = &self.kernel.insts[inst];
        let operands = &data.operands;
        let (work, data_value) = match data.op {
            Op::Load(_) => (Work::Load, data.result),
            Op::Store(_) => (Work::Store, operands.get(1).copied()),
            Op::Atomic(_) => (Work::Atomic, data.result.or_else(|| operands.get(1).copied())),
            _ => return self.copy(inst),
        };
        let ty = data_value.map_or(Type::I32, |value| self.kernel.ty(value));
        let mut reads = self.address_parts(operands[0], false);
        let made = data.result.map(|result| self.allocate(ty, Some(Scalar::I8), Some(result)));
        let mut stored: Vec<SmallVec<[Register; 4]>> = Vec::new();
        let layout = &self.model.layout;
        let bits = ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let room = (layout.access_bits / bits).min(layout.access_elements).max(1);
        let lanes = u32::from(ty.lanes());
        match data.op {
            Op::Store(_) => {
                let value = operands[1];
                let mut from = 0;
                while from < lanes {
                    let count = room.min(lanes - from);
                    stored.push(self.part(value, from, count, bits));
                    from += count;
                }
            }
            Op::Atomic(_) => {
                for value in &operands[1..] {
                    reads.extend(self.whole(*value));
                }
            }
            _ => {}
        }
        let (steps, basis) = self.recipe(work, "any");
        let mut from = 0;
        let mut piece = 0;
        while from < lanes {
            let count = room.min(lanes - from);
            let mut all = reads.clone();
            if let Some(stored) = stored.get(piece) {
                all.extend(stored.iter().copied());
            }
            let writes = made.as_ref().map_or_else(SmallVec::new, |made: &Lanes| {
                lanes::registers(
                    &made.iter().skip(from as usize).take(count as usize).copied().collect::<Lanes>(),
                )
            });
            for step in &steps {
                for _ in 0..step.count {
                    let shape = Shape { lanes: count, room, bits };
                    self.emit(work, step, basis, shape, &all, &writes);
                    if let Some(operation) = self.operations.last_mut()
                        && operation
                            .units
                            .iter()
                            .any(|unit| self.model.units[unit].pipe == crate::Pipe::LoadStore)
                    {
                        operation.memory_bits = count * bits;
                    }
                }
            }
            from += count;
            piece += 1;
        }
        made
    }

    /// Copies of a known number of bytes: a sequence of the widest loads and stores.
    fn copy(&mut self, inst: Inst) -> Option<Lanes> {
        let data = &self.kernel.insts[inst];
        let bytes = match data.op {
            Op::Copy(_) => data.operands.get(2).and_then(|count| self.kernel.scalar_constant(*count)),
            _ => None,
        };
        let Some(bytes) = bytes.filter(|bytes| *bytes <= 4096) else {
            self.unpriced(data.op, "any");
            return data.result.map(|result| self.allocate(self.kernel.ty(result), None, Some(result)));
        };
        let target = self.address_parts(data.operands[0], false);
        let source = self.address_parts(data.operands[1], false);
        for _ in 0..bytes.div_ceil(u64::from(self.model.layout.access_bits / 8)) {
            let made = lanes::registers(&self.allocate_lanes(4, 32, None));
            for (work, address, stored, writes) in
                [(Work::Load, &source, &[][..], &made[..]), (Work::Store, &target, &made[..], &[][..])]
            {
                let (steps, basis) = self.recipe(work, "any");
                let reads: Vec<Register> = address.iter().chain(stored).copied().collect();
                for step in &steps {
                    self.emit(work, step, basis, Shape { lanes: 4, room: 4, bits: 32 }, &reads, writes);
                }
            }
        }
        None
    }
}
