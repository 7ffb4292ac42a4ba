//! The state of the lowering of a kernel: the lanes of values, registers, and the operations of the current block.

use std::collections::HashMap;
use std::fmt;

use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use tripipe_device::Basis;
use tripipe_ir::{Inst, Kernel, Location, Op, Scalar, Space, Type, Value};

use super::shape::Shape;
use super::uses::Uses;
use crate::addresses::{JoinedLoads, JoinedStores};
use crate::code::{Operation, Register, RegisterData};
use crate::lanes::{Lane, Lanes};
use crate::model::{Fusion, Model, Pipe, Step};
use crate::uniform::Uniform;
use crate::work::Work;

pub(super) struct Lowering<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) model: &'k Model,
    pub(super) uses: Uses,
    pub(super) joins: JoinedLoads,
    pub(super) stores: JoinedStores,
    /// The lanes that a load made for all of those that are joined in it.
    pub(super) joined: SecondaryMap<Inst, Option<Lanes>>,
    pub(super) uniform: Uniform,
    pub(super) lanes: SecondaryMap<Value, Option<Lanes>>,
    pub(super) registers: PrimaryMap<Register, RegisterData>,
    /// Registers that were merged into a wider one.
    pub(super) renamed: SecondaryMap<Register, Option<Register>>,
    /// Lanes of a value that this block has already gathered, by value, first lane and number of lanes.
    pub(super) gathered: HashMap<(Value, usize, usize), Lanes>,
    pub(super) operations: Vec<Operation>,
    /// Clocks that the next operation may take in addition, by pipe.
    pub(super) extra: SmallVec<[(Pipe, f32); 2]>,
    pub(super) unknown: Vec<String>,
    pub(super) inst: Option<Inst>,
    pub(super) location: Option<Location>,
}

impl Lowering<'_> {
    /// Whether the family fuses such a pair of operations.
    pub(super) fn fuses(&self, pair: Fusion) -> bool {
        self.model.layout.fuses.contains(&pair)
    }

    /// The lanes of a value.
    pub(super) fn lanes_of(&self, value: Value) -> Lanes {
        if self.uniform.is(value) {
            let undefined =
                self.kernel.defining(value).is_some_and(|inst| self.kernel.insts[inst].op == Op::Undefined);
            let lane = if undefined { Lane::Undefined } else { Lane::Constant };
            return SmallVec::from_elem(lane, usize::from(self.kernel.ty(value).lanes()));
        }
        self.lanes[value].clone().unwrap_or_else(|| {
            SmallVec::from_elem(Lane::Constant, usize::from(self.kernel.ty(value).lanes()))
        })
    }

    /// Registers for a value of a type, with lanes side by side where the family packs them. `width` is the type of a
    /// lane where `ty` has no width of its own (`bool`).
    pub(super) fn allocate(&mut self, ty: Type, width: Option<Scalar>, value: Option<Value>) -> Lanes {
        let bits = match ty.scalar() {
            None => address_bits(ty),
            Some(Scalar::Bool) => width.map_or(self.model.layout.scalar_bits, Scalar::bits).max(8),
            Some(scalar) => scalar.bits(),
        };
        self.allocate_lanes(usize::from(ty.lanes()), bits, value)
    }

    pub(super) fn allocate_lanes(&mut self, count: usize, bits: u32, value: Option<Value>) -> Lanes {
        let layout = &self.model.layout;
        let together = ((layout.register_bits / bits) as usize).clamp(1, count);
        let mut made = Lanes::new();
        while made.len() < count {
            let here = together.min(count - made.len());
            let bits_here = (here.next_power_of_two() as u32 * bits).max(layout.scalar_bits);
            let register = self.registers.push(RegisterData { bits: bits_here, value });
            for lane in 0..here {
                made.push(Lane::In(register, (lane as u32 * bits / 8) as u8));
            }
        }
        made
    }

    /// Emits an operation.
    pub(super) fn emit(
        &mut self,
        work: Work,
        step: &Step,
        basis: Basis,
        shape: Shape,
        reads: &[Register],
        writes: &[Register],
    ) {
        self.operations.push(Operation {
            work,
            units: shape.units(self.model, step),
            inst: self.inst,
            location: self.location,
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            lanes: shape.lanes,
            room: shape.room,
            bits: shape.bits,
            memory_bits: 0,
            basis,
            extra: std::mem::take(&mut self.extra),
        });
    }

    /// The recipe of an operation. If there is none, records it as unknown and returns no steps.
    pub(super) fn recipe(&mut self, work: Work, ty: &str) -> (Vec<Step>, Basis) {
        if ty == "any" {
            let surplus = self.model.surplus(work);
            self.extra.extend(surplus);
        }
        if let Some(recipe) = self.model.recipe(ty, work) {
            return (recipe.value.clone(), recipe.basis);
        }
        self.unpriced(work, ty);
        (Vec::new(), Basis::Guessed)
    }

    /// Records an operation that the data files do not price.
    pub(super) fn unpriced(&mut self, operation: impl fmt::Display, ty: &str) {
        let name = format!("{operation} on {ty}");
        if !self.unknown.contains(&name) {
            self.unknown.push(name);
        }
    }
}

/// Bits of the register that holds an address: memory of a work-item or a work-group is addressed by 32-bit offsets from
/// its segment.
pub(super) fn address_bits(ty: Type) -> u32 {
    if is_segment(ty) { 32 } else { 64 }
}

/// Whether a pointer is an offset from a segment.
pub(super) fn is_segment(ty: Type) -> bool {
    matches!(ty, Type::Pointer(Space::Local | Space::Private))
}
