//! Lanes of values, brought together in registers where an operation needs that.

use smallvec::SmallVec;
use tripipe_ir::{Op, Scalar, Type, Value};

use super::lowering::Lowering;
use super::shape::Shape;
use crate::code::Register;
use crate::lanes::{self, Lane, Lanes};
use crate::work::Work;

/// The source of the lanes that an operation reads.
#[derive(Clone)]
pub(super) enum Input {
    Value(Value),
    Lanes(Lanes),
}

impl Lowering<'_> {
    /// Gathers lanes of an input into one register unless they are there already, and returns the registers to read.
    pub(super) fn read(
        &mut self,
        input: &Input,
        from: usize,
        count: usize,
        bits: u32,
    ) -> SmallVec<[Register; 4]> {
        let all = match input {
            Input::Value(value) => match self.gathered.get(&(*value, from, count)) {
                Some(lanes) => return lanes::registers(lanes),
                None => self.lanes_of(*value),
            },
            Input::Lanes(lanes) => lanes.clone(),
        };
        // A scalar is used for every lane.
        let wanted: Lanes =
            if all.len() == 1 { all } else { all.iter().skip(from).take(count).copied().collect() };
        let together = count > 1 && wanted.len() > 1 && self.model.layout.register_bits > 0;
        let scattered = together && lanes::sources(&wanted) > 1;
        let displaced =
            together && self.model.layout.fixed_bytes && bits == 8 && !lanes::in_order(&wanted, bits / 8);
        if !scattered && !displaced || wanted.iter().all(|lane| !matches!(lane, Lane::In(..))) {
            return lanes::registers(&wanted);
        }
        let made = self.gather(&wanted, bits);
        if let Input::Value(value) = input {
            self.gathered.insert((*value, from, count), made.clone());
        }
        lanes::registers(&made)
    }

    pub(super) fn gather(&mut self, wanted: &[Lane], bits: u32) -> Lanes {
        let (steps, basis) = self.recipe(Work::Gather, Scalar::int(bits).unwrap_or(Scalar::I32).name());
        let made = self.allocate_lanes(wanted.len(), bits, None);
        let target = lanes::registers(&made);
        let sources = lanes::sources(wanted);
        let first = u32::from(!self.model.layout.gather_first && sources > 1);
        let reads = lanes::registers(wanted);
        for source in first..sources {
            // Each operation adds the lanes of one more source. The last source may be constants.
            let mut read: SmallVec<[Register; 4]> =
                reads.iter().skip(source as usize).take(1).copied().collect();
            if source == first {
                read.extend(reads.iter().take(first as usize).copied());
            }
            for step in &steps {
                let shape = Shape::of(self.model, step, wanted.len() as u32, bits);
                self.emit(Work::Gather, step, basis, shape, &read, &target);
            }
        }
        made
    }

    /// Some lanes of a value, one register at a time.
    pub(super) fn part(&mut self, value: Value, from: u32, count: u32, bits: u32) -> SmallVec<[Register; 4]> {
        let together = (self.model.layout.register_bits / bits).max(1);
        let mut reads = SmallVec::new();
        let mut at = from;
        while at < from + count {
            let here = together.min(from + count - at);
            reads.extend(self.read(&Input::Value(value), at as usize, here as usize, bits));
            at += here;
        }
        reads
    }

    /// Registers of a whole value for memory and texture operations: the lanes of each register are gathered.
    pub(super) fn whole(&mut self, value: Value) -> SmallVec<[Register; 4]> {
        let ty = self.kernel.ty(value);
        let bits = ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let together = ((self.model.layout.register_bits / bits) as usize).max(1);
        let mut reads = SmallVec::new();
        let mut from = 0;
        let count = usize::from(ty.lanes());
        while from < count {
            let here = together.min(count - from);
            reads.extend(self.read(&Input::Value(value), from, here, bits));
            from += here;
        }
        reads
    }

    /// Scalars that are computed only for one vector are computed directly in its registers.
    pub(super) fn merge(
        &mut self,
        wanted: Lanes,
        operands: &[Value],
        bits: Option<u32>,
        result: Option<Value>,
    ) -> Lanes {
        let Some(bits) = bits else { return wanted };
        let together = (self.model.layout.register_bits / bits.max(8)) as usize;
        let alone = |lane: &Lane, operand: &Value| match lane {
            Lane::In(register, 0) => {
                self.uses.count[*operand] == 1
                    && self.renamed[*register].is_none()
                    && self.registers[*register].value == Some(*operand)
                    && self.kernel.ty(*operand).lanes() == 1
                    && self
                        .kernel
                        .defining(*operand)
                        .is_some_and(|inst| !matches!(self.kernel.insts[inst].op, Op::Query(_)))
            }
            Lane::Undefined => true,
            Lane::In(..) | Lane::Constant => false,
        };
        if together < 2 || !wanted.iter().zip(operands).all(|(lane, operand)| alone(lane, operand)) {
            return wanted;
        }
        let made = self.allocate_lanes(wanted.len(), bits.max(8), result);
        for (old, new) in wanted.iter().zip(&made) {
            if let (Lane::In(old, _), Lane::In(new, _)) = (old, new) {
                self.renamed[*old] = Some(*new);
            }
        }
        made
    }

    pub(super) fn bitcast(&mut self, from: Value, result: Value) -> Lanes {
        let all = self.lanes_of(from);
        let bits = |ty: Type| ty.scalar().map_or(64, |scalar| scalar.bits().max(8));
        let (old, new) = (bits(self.kernel.ty(from)), bits(self.kernel.ty(result)));
        let count = usize::from(self.kernel.ty(result).lanes());
        if new == old {
            return all;
        }
        if new < old {
            let parts = (old / new) as usize;
            return (0..count)
                .map(|lane| match all.get(lane / parts) {
                    Some(Lane::In(register, byte)) => {
                        Lane::In(*register, byte.wrapping_add(((lane % parts) as u32 * new / 8) as u8))
                    }
                    Some(lane) => *lane,
                    None => Lane::Undefined,
                })
                .collect();
        }
        let parts = (new / old) as usize;
        let mut made = Lanes::new();
        for lane in 0..count {
            let part: Lanes = all.iter().skip(lane * parts).take(parts).copied().collect();
            made.push(match lanes::sources(&part) {
                0 | 1 => part.first().copied().unwrap_or(Lane::Undefined),
                _ => self.joined(&part, old, new),
            });
        }
        made
    }

    /// Lanes of `old` bits as one of `new` bits.
    fn joined(&mut self, parts: &[Lane], old: u32, new: u32) -> Lane {
        let before = self.operations.len();
        let gathered = self.gather(parts, old);
        if self.operations.len() > before {
            return gathered.first().copied().unwrap_or(Lane::Undefined);
        }
        // Where that takes no operation, what computes the lanes computes the whole.
        let made = self.allocate_lanes(1, new, None).first().copied().unwrap_or(Lane::Undefined);
        if let Lane::In(whole, _) = made {
            for mut part in lanes::registers(parts) {
                while let Some(other) = self.renamed[part] {
                    part = other;
                }
                if part != whole {
                    self.renamed[part] = Some(whole);
                }
            }
        }
        made
    }
}
