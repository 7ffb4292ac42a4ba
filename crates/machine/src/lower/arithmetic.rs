//! Arithmetic: chains of operations on lanes, and operations that are fused with their users.

use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::op::{Binary, Number};
use tripipe_ir::{Inst, Op, Scalar, Type, Value};

use super::gathers::Input;
use super::lowering::Lowering;
use super::shape::Shape;
use crate::chain;
use crate::code::Register;
use crate::functions::{self, Function};
use crate::lanes::{self, Lanes};
use crate::model::{Fusion, Pipe, Step};
use crate::work::Work;

impl Lowering<'_> {
    /// Emits a chain of operations on lanes and returns the location of the result.
    pub(super) fn chain(
        &mut self,
        works: &[(Work, Scalar)],
        lanes: u32,
        inputs: &[Input],
        result: Type,
        value: Option<Value>,
    ) -> Lanes {
        let mut stages: Vec<(Work, Scalar, Step, Basis)> = Vec::new();
        for (work, scalar) in works {
            let as_float = *scalar == Scalar::F16 && lanes > self.model.layout.half_rate_lanes;
            let rate = if as_float { Scalar::F32 } else { *scalar };
            let (steps, basis) = self.recipe(*work, rate.name());
            for step in steps {
                stages.extend((0..step.count).map(|_| (*work, *scalar, step.clone(), basis)));
            }
        }
        if stages.is_empty() {
            return match inputs.first() {
                Some(Input::Value(value)) => self.lanes_of(*value),
                Some(Input::Lanes(lanes)) => lanes.clone(),
                None => self.allocate(result, None, value),
            };
        }
        let mut inputs: Vec<Input> = inputs.to_vec();
        let last = stages.len() - 1;
        // Operations of several steps read these operands in their last step only.
        let late = match works[0].0 {
            Work::Mad | Work::Mad24 | Work::CompareSelect
                if inputs.len() > 2 && works.len() == 1 && last > 0 =>
            {
                inputs.split_off(2)
            }
            _ => Vec::new(),
        };
        for (position, (work, scalar, step, basis)) in stages.iter().enumerate() {
            let bits = scalar.bits().max(8);
            let made = if position == last {
                inputs.extend(late.iter().cloned());
                self.allocate(result, Some(*scalar), value)
            } else {
                let next = stages[position + 1].1;
                self.allocate_lanes(lanes as usize, next.bits().max(8), None)
            };
            let shape = Shape::of(self.model, step, lanes, bits);
            let mut from = 0;
            while from < lanes {
                let count = shape.room.min(lanes - from);
                let mut reads: SmallVec<[Register; 4]> = SmallVec::new();
                for input in &inputs {
                    reads.extend(self.read(input, from as usize, count as usize, bits));
                }
                // The result of a reduction has fewer lanes than it computes.
                let wanted: Lanes = if made.len() == 1 {
                    made.clone()
                } else {
                    made.iter().skip(from as usize).take(count as usize).copied().collect()
                };
                let writes = lanes::registers(&wanted);
                self.emit(*work, step, *basis, Shape { lanes: count, ..shape }, &reads, &writes);
                from += count;
            }
            inputs = vec![Input::Lanes(made)];
        }
        match inputs.pop() {
            Some(Input::Lanes(lanes)) => lanes,
            _ => Lanes::new(),
        }
    }

    pub(super) fn arithmetic(&mut self, op: Op, operands: &[Value], result: Value) -> Option<Lanes> {
        let ty = self.kernel.ty(result);
        if let Op::Builtin(builtin) = op
            && let Some(scalar @ (Scalar::F32 | Scalar::F16)) = ty.scalar()
            && !self.is_measured(builtin.name())
            && let Some(function) = functions::function(builtin.name())
        {
            return Some(self.sequence(function, scalar, operands, result));
        }
        let Some(mut chain) = chain::chain(self.kernel, op, operands, ty) else {
            self.unpriced(op, "any");
            return Some(self.allocate(ty, None, Some(result)));
        };
        let mut inputs: Vec<Input> = operands.iter().map(|value| Input::Value(*value)).collect();
        match op {
            Op::Select => {
                if let Some(compare) = self.kernel.defining(operands[0])
                    && !self.uniform.is(operands[0])
                    && self.is_fused_compare(operands[0])
                {
                    let data = &self.kernel.insts[compare];
                    chain.works = vec![(Work::CompareSelect, chain.works[0].1)];
                    inputs = data
                        .operands
                        .iter()
                        .chain(&operands[1..])
                        .map(|value| Input::Value(*value))
                        .collect();
                }
            }
            // A dot product is one operation if the family has one for that many lanes.
            Op::Builtin(builtin) => {
                let source = self.kernel.ty(operands[0]);
                let scalar = source.scalar().unwrap_or(Scalar::F32);
                let named = Work::named(builtin.name())
                    .filter(|work| *work != Work::Dot && self.model.recipe(scalar.name(), *work).is_some());
                if let Some(work) = named {
                    chain.works = vec![(work, scalar)];
                } else if self.model.recipe(scalar.name(), Work::Dot).is_some()
                    && let Some(first) = chain.works.iter().position(|work| work.0 == Work::Mul)
                    && chain.works.get(first + 1).is_some_and(|next| next.0 == Work::Mad)
                    && chain.lanes == 1
                {
                    let end = first + usize::from(source.lanes());
                    let dots = usize::from(source.lanes()).div_ceil(4);
                    chain.works.splice(first..end, vec![(Work::Dot, scalar); dots]);
                }
            }
            // Division by a power of two needs only shifts and logic.
            Op::Binary(Binary::UDiv | Binary::URem | Binary::SDiv | Binary::SRem)
                if self
                    .kernel
                    .constant(operands[1])
                    .is_some_and(|lanes| lanes.iter().all(|lane| lane.is_power_of_two())) =>
            {
                let scalar = chain.works[0].1;
                chain.works = match op {
                    Op::Binary(Binary::UDiv) => vec![(Work::Shift, scalar)],
                    Op::Binary(Binary::URem) => vec![(Work::Logic, scalar)],
                    _ => vec![(Work::Shift, scalar), (Work::Add, scalar), (Work::Shift, scalar)],
                };
            }
            Op::Binary(Binary::UDiv | Binary::URem | Binary::SDiv | Binary::SRem | Binary::SMod)
                if self.kernel.constant(operands[1]).is_some() =>
            {
                // Division by a constant: the upper half of a product, and a shift.
                let scalar = chain.works[0].1;
                let mut works = vec![(Work::MulHi, scalar), (Work::Shift, scalar), (Work::Add, scalar)];
                works.extend(chain.works.iter().skip(1));
                chain.works = works;
            }
            Op::Binary(Binary::Mul)
                if self
                    .kernel
                    .constant(operands[1])
                    .is_some_and(|lanes| lanes.iter().all(|lane| lane.is_power_of_two())) =>
            {
                chain.works = vec![(Work::Shift, chain.works[0].1)];
            }
            _ => {}
        }
        // The 32 bits of a work-item's id are available without a conversion, whatever its type.
        if let Op::Convert(convert) = op
            && convert.from != Number::Float
            && convert.to != Number::Float
            && self
                .kernel
                .defining(operands[0])
                .is_some_and(|inst| matches!(self.kernel.insts[inst].op, Op::Query(_)))
            && matches!(ty.scalar(), Some(Scalar::I32))
        {
            return Some(self.lanes_of(operands[0]));
        }
        let chain_lanes = chain.lanes;
        Some(self.chain(&chain.works, chain_lanes, &inputs, ty, Some(result)))
    }

    /// Whether the family's file has the cost of the whole function, rather than of an instruction that is a part of it.
    fn is_measured(&self, name: &str) -> bool {
        let work = Work::named(name).filter(|work| !matches!(work, Work::Exp2 | Work::Log2));
        work.is_some_and(|work| self.model.recipe("f32", work).is_some())
    }

    /// Emits the operations of a function, in two strands that do not depend on each other: a logarithm and its
    /// correction, the two halves of a polynomial. Halves are computed as floats.
    fn sequence(&mut self, function: &Function, scalar: Scalar, operands: &[Value], result: Value) -> Lanes {
        let lanes = u32::from(self.kernel.ty(result).lanes());
        let mut takes = function.takes.clone();
        if scalar == Scalar::F16 {
            takes.insert(0, (Work::FloatWiden, Scalar::F32));
            takes.push((Work::FloatNarrow, Scalar::F32));
        }
        let mut strands: [Vec<Input>; 2] =
            [0, 1].map(|_| operands.iter().map(|value| Input::Value(*value)).collect());
        let mut made = Lanes::new();
        let last = takes.len() - 1;
        for (position, (work, scalar)) in takes.into_iter().enumerate() {
            if position == last {
                let other = strands[1 - position % 2].clone();
                strands[position % 2].extend(other);
                let slow = self.slow(function, lanes);
                self.extra.extend(slow);
            }
            let strand = strands[position % 2].clone();
            let (ty, value) = if position == last {
                (self.kernel.ty(result), Some(result))
            } else {
                (Type::of(scalar, lanes as u8), None)
            };
            made = self.chain(&[(work, scalar)], lanes, &strand, ty, value);
            strands[position % 2] = vec![Input::Lanes(made.clone())];
        }
        made
    }

    /// Clocks of each pipe that the slow path of a function takes in addition.
    fn slow(&self, function: &Function, lanes: u32) -> SmallVec<[(Pipe, f32); 2]> {
        let mut clocks = [0.0; Pipe::ALL.len()];
        for (work, scalar) in &function.slow {
            let steps = self.model.recipe(scalar.name(), *work).map_or(&[][..], |recipe| &recipe.value);
            for step in steps {
                let Some(unit) = step.units.iter().next() else { continue };
                let room = Shape::of(self.model, step, lanes, scalar.bits()).room;
                let unit = &self.model.units[unit];
                clocks[unit.pipe.index()] += unit.cycles as f32 * (step.count * lanes.div_ceil(room)) as f32;
            }
        }
        Pipe::ALL
            .into_iter()
            .map(|pipe| (pipe, clocks[pipe.index()]))
            .filter(|(_, clocks)| *clocks > 0.0)
            .collect()
    }

    /// Whether a comparison is done by the selects or the branch that use it.
    pub(super) fn is_fused_compare(&self, condition: Value) -> bool {
        let Some(inst) = self.kernel.defining(condition) else { return false };
        if !matches!(self.kernel.insts[inst].op, Op::Compare(_)) {
            return false;
        }
        let uses = self.uses.count[condition];
        uses == self.uses.as_condition[condition] && self.fuses(Fusion::CompareSelect)
            || uses == 1 && self.uses.as_decider[condition] == 1 && self.fuses(Fusion::CompareBranch)
    }

    pub(super) fn is_fused_shift(&self, value: Value) -> bool {
        self.fuses(Fusion::ShiftLogic) && self.uses.count[value] == 1 && self.uses.in_logic[value] == 1
    }

    /// Whether a value is used only as a shift amount and only masks it to the width of the shifted value.
    pub(super) fn is_masked_amount(&self, value: Value) -> bool {
        let Some(inst) = self.kernel.defining(value) else { return false };
        let most = self.kernel.ty(value).scalar().map(|scalar| u64::from(scalar.bits()) - 1);
        let mask = self.kernel.constant(self.kernel.insts[inst].operands[1]);
        self.uses.count[value] == self.uses.as_amount[value]
            && mask.is_some_and(|lanes| lanes.iter().all(|lane| Some(*lane) == most))
    }

    /// Whether a widened index is used only by addresses, which widen it themselves.
    pub(super) fn is_free_index(&self, inst: Inst, from: Number) -> bool {
        let data = &self.kernel.insts[inst];
        let Some(result) = data.result else { return false };
        from != Number::Float
            && self.kernel.ty(result) == Type::I64
            && self.kernel.ty(data.operands[0]).is_int()
            && self.uses.count[result] == self.uses.as_index[result]
    }
}
