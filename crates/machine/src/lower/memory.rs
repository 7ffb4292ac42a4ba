//! Loads, stores, copies, and their addresses.

use smallvec::SmallVec;
use tripipe_ir::{Inst, Op, Scalar, Type, Value};

use super::gathers::Input;
use super::lowering::{Lowering, is_segment};
use super::shape::Shape;
use crate::addresses::JoinedPart;
use crate::code::Register;
use crate::lanes::{self, Lane, Lanes};
use crate::work::Work;

impl Lowering<'_> {
    /// Lowers a pointer to a value of its own, unless every use can take its base and index directly.
    pub(super) fn address(&mut self, inst: Inst, indexed: bool) -> Option<Lanes> {
        let result = self.kernel.insts[inst].result?;
        let folded = self.uses.as_address[result] == self.uses.count[result];
        if folded && (!indexed || self.model.layout.folds_index) {
            return None;
        }
        let ty = self.kernel.ty(result);
        if is_segment(ty) {
            return self.offset(inst, result);
        }
        let reads = self.address_parts(result, true);
        let made = self.allocate(ty, None, Some(result));
        if indexed {
            self.steps(Work::Address, "any", 64, &reads, &lanes::registers(&made));
        } else {
            self.steps(Work::Add, "i64", 64, &reads, &lanes::registers(&made));
        }
        Some(made)
    }

    /// The offset of a pointer from its segment: the index times the stride, added to the base.
    fn offset(&mut self, inst: Inst, result: Value) -> Option<Lanes> {
        let data = &self.kernel.insts[inst];
        let Op::Address(address) = data.op else { return None };
        let base = data.operands[0];
        let mut sum = match data.operands.get(1) {
            Some(index) => lanes::registers(&self.lanes_of(*index)),
            None => SmallVec::new(),
        };
        if address.stride > 1 && !sum.is_empty() {
            let work = if address.stride.is_power_of_two() { Work::Shift } else { Work::Mul };
            let scaled = lanes::registers(&self.allocate_lanes(1, 32, None));
            self.steps(work, "i32", 32, &sum, &scaled);
            sum = scaled;
        }
        let object = self
            .kernel
            .defining(base)
            .is_some_and(|inst| matches!(self.kernel.insts[inst].op, Op::ObjectAddress(_)));
        // The position of an object in its segment is a constant of the loads, where they have one.
        let layout = &self.model.layout;
        if !object || layout.adds_segment || layout.offset_bits == 0 || sum.is_empty() {
            let made = lanes::registers(&self.allocate(self.kernel.ty(result), None, Some(result)));
            sum.extend(self.address_parts(base, false));
            self.steps(Work::Add, "i32", 32, &sum, &made);
            sum = made;
        }
        Some(sum.iter().map(|register| Lane::In(*register, 0)).take(1).collect())
    }

    /// Emits the operations of a recipe on one lane.
    fn steps(&mut self, work: Work, ty: &str, bits: u32, reads: &[Register], writes: &[Register]) {
        let (steps, basis) = self.recipe(work, ty);
        for step in steps {
            for _ in 0..step.count {
                let shape = Shape::of(self.model, &step, 1, bits);
                self.emit(work, &step, basis, shape, reads, writes);
            }
        }
    }

    /// The registers that an access reads for its address. A constant that the access cannot add itself is added before
    /// it, each time, rather than kept in a register.
    fn accessed(&mut self, pointer: Value) -> SmallVec<[Register; 4]> {
        let reads = self.address_parts(pointer, false);
        let offset = self.offset_from_register(pointer);
        let bits = self.model.layout.offset_bits;
        if reads.is_empty() || offset == 0 || bits > 0 && offset.unsigned_abs() >> (bits - 1) == 0 {
            return reads;
        }
        let ty = self.kernel.ty(pointer);
        let made = lanes::registers(&self.allocate(ty, None, None));
        let (name, bits) = if is_segment(ty) { ("i32", 32) } else { ("i64", 64) };
        self.steps(Work::Add, name, bits, &reads, &made);
        made
    }

    /// The constant of an address, from the pointer or index that is in a register.
    fn offset_from_register(&self, pointer: Value) -> i64 {
        let mut at = pointer;
        let mut offset = 0_i64;
        while !self.uniform.is(at) && self.lanes[at].is_none() {
            let Some(inst) = self.kernel.defining(at) else { break };
            let data = &self.kernel.insts[inst];
            let Op::Address(address) = data.op else { break };
            // What is added to a uniform base is known before the launch.
            if !self.uniform.is(data.operands[0]) {
                offset = offset.saturating_add(address.offset);
            }
            at = data.operands[0];
        }
        offset
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
        let join = self.joins[inst];
        if let Some(JoinedPart::Part { first, lane }) = join {
            let all = self.joined[first].as_ref()?;
            return Some(all.iter().skip(lane as usize).take(usize::from(ty.lanes())).copied().collect());
        }
        let together = self.stores[inst].clone();
        let lowest = match (&together, join) {
            // A later store does it.
            (Some(all), _) if all.is_empty() => return None,
            (Some(all), _) => all[0],
            (_, Some(JoinedPart::First { lowest, .. })) => lowest,
            _ => inst,
        };
        let pointer = if together.is_some() { self.kernel.insts[lowest].operands[0] } else { operands[0] };
        let mut reads = self.accessed(pointer);
        let made = data.result.map(|result| match (join, ty.scalar()) {
            (Some(JoinedPart::First { lanes, .. }), Some(scalar)) => {
                self.allocate_lanes(lanes as usize, scalar.bits(), Some(result))
            }
            _ => self.allocate(ty, Some(Scalar::I8), Some(result)),
        });
        let mut stored: Vec<SmallVec<[Register; 4]>> = Vec::new();
        let layout = &self.model.layout;
        let bits = ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let room = (layout.access_bits / bits).min(layout.access_elements).max(1);
        let values: SmallVec<[Value; 4]> = match &together {
            Some(all) => all.iter().map(|inst| self.kernel.insts[*inst].operands[1]).collect(),
            None => operands.get(1).copied().into_iter().collect(),
        };
        let lanes = match join {
            Some(JoinedPart::First { lanes, .. }) => lanes,
            _ if together.is_some() => {
                values.iter().map(|value| u32::from(self.kernel.ty(*value).lanes())).sum()
            }
            _ => u32::from(ty.lanes()),
        };
        match data.op {
            Op::Store(_) if together.is_some() => {
                let all: Lanes = values.iter().flat_map(|value| self.lanes_of(*value)).collect();
                let all =
                    if all.len() == values.len() { self.merge(all, &values, Some(bits), None) } else { all };
                stored.push(self.read(&Input::Lanes(all), 0, lanes as usize, bits));
            }
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
                        operation.inst = Some(lowest);
                    }
                }
            }
            from += count;
            piece += 1;
        }
        if let Some(JoinedPart::First { lane, .. }) = join {
            self.joined[inst].clone_from(&made);
            return made
                .map(|all| all.iter().skip(lane as usize).take(usize::from(ty.lanes())).copied().collect());
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
        let target = self.accessed(data.operands[0]);
        let source = self.accessed(data.operands[1]);
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
