//! How many lanes an operation computes, and on which units.

use crate::model::{Model, Step, Units};

/// Lanes of an operation, the lanes it has room for, and the bits of a lane.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) lanes: u32,
    pub(super) room: u32,
    pub(super) bits: u32,
}

impl Shape {
    /// The shape for `lanes` lanes, limited to what the widest unit computes at once.
    pub(super) fn of(model: &Model, step: &Step, lanes: u32, bits: u32) -> Self {
        let room = step.units.iter().map(|unit| room(model, step, unit, bits)).max().unwrap_or(1);
        Self { lanes: lanes.min(room), room, bits }
    }

    /// The units that have room for the lanes.
    pub(super) fn units(self, model: &Model, step: &Step) -> Units {
        let fitting = step
            .units
            .iter()
            .filter(|unit| room(model, step, *unit, self.bits) >= self.lanes.min(self.room))
            .fold(0, |units, unit| units | 1 << unit);
        if fitting == 0 { step.units } else { Units(fitting) }
    }
}

fn room(model: &Model, step: &Step, unit: usize, bits: u32) -> u32 {
    step.lanes.unwrap_or_else(|| (model.units[unit].bits / bits.max(8)).max(1))
}
