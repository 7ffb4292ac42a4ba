//! The intervals of a warp's registers.

use tripipe_ir::{Scalar, Type};

use super::interval::Interval;
use super::step::number;
use crate::execute::code::{Edge, Move, SlotShape, component_bytes};
use crate::execute::rows::WIDTH;
use crate::execute::state::State;

/// The intervals of a register; `None` for a number that is certain, in float64 arithmetic too.
type IntervalRow = Option<Box<[Option<Interval>]>>;

/// The registers of a warp, in the order of its rows: an interval for each lane and component.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    rows: Vec<IntervalRow>,
    /// Lanes whose path depends on a number whose bounds include both ways, and the cause.
    pub(super) forked: u64,
    pub(super) fork: u32,
}

fn length(shape: SlotShape) -> usize {
    usize::from(shape.components).max(1) * if shape.single { 1 } else { WIDTH }
}

fn position(shape: SlotShape, component: usize, lane: usize) -> usize {
    if shape.single { component } else { component * WIDTH + lane }
}

impl Intervals {
    pub(super) fn new(slots: &[SlotShape]) -> Self {
        Self { rows: vec![None; slots.len()], forked: 0, fork: 0 }
    }

    /// Everything is certain again.
    pub(super) fn clear(&mut self) {
        self.rows.iter_mut().for_each(|row| *row = None);
        self.forked = 0;
    }

    /// The bits of a component of a lane.
    #[allow(clippy::unused_self, reason = "the registers that belong to these intervals")]
    pub(super) fn bits(&self, s: &State<'_>, slot: u32, ty: Type, component: usize, lane: usize) -> u64 {
        let shape = s.code.slots[slot as usize];
        s.warp.rows.bits(slot, position(shape, component, lane), component_bytes(ty))
    }

    /// The interval of a component of a lane, and whether it is certain, in float64 arithmetic too.
    pub(super) fn read(
        &self,
        s: &State<'_>,
        slot: u32,
        ty: Type,
        component: usize,
        lane: usize,
    ) -> (Interval, bool) {
        let shape = s.code.slots[slot as usize];
        let kept = self.rows[slot as usize].as_ref();
        if let Some(interval) = kept.and_then(|row| *row.get(position(shape, component, lane))?) {
            return (interval, false);
        }
        let bits = self.bits(s, slot, ty, component, lane);
        (Interval::point(number(ty.scalar().unwrap_or(Scalar::I64), bits)), true)
    }

    /// The interval of a lane of a register of unknown type; `None` if it is certain.
    pub(super) fn kept(&self, shape: SlotShape, slot: u32, lane: usize) -> Option<Interval> {
        *self.rows[slot as usize].as_ref()?.get(position(shape, 0, lane))?
    }

    /// Stores an interval.
    pub(super) fn write(
        &mut self,
        s: &State<'_>,
        slot: u32,
        ty: Type,
        component: usize,
        lane: usize,
        interval: Interval,
    ) {
        let shape = s.code.slots[slot as usize];
        let bits = self.bits(s, slot, ty, component, lane);
        let plain = interval.is_certain()
            && ty.scalar().is_some_and(|scalar| {
                let here = number(scalar, bits);
                here.to_bits() == interval.exact.to_bits() && (here == interval.low || here.is_nan())
            });
        self.set(shape, slot, component, lane, Some(interval).filter(|_| !plain));
    }

    fn set(
        &mut self,
        shape: SlotShape,
        slot: u32,
        component: usize,
        lane: usize,
        interval: Option<Interval>,
    ) {
        let row = &mut self.rows[slot as usize];
        if row.is_none() && interval.is_none() {
            return;
        }
        let row = row.get_or_insert_with(|| vec![None; length(shape)].into());
        if let Some(place) = row.get_mut(position(shape, component, lane)) {
            *place = interval;
        }
    }

    /// Some lanes of a register are certain.
    pub(super) fn forget(&mut self, s: &State<'_>, slot: u32, ty: Type, lanes: impl Iterator<Item = usize>) {
        if self.rows[slot as usize].is_none() {
            return;
        }
        let shape = s.code.slots[slot as usize];
        for lane in lanes {
            for component in 0..usize::from(ty.lanes()) {
                self.set(shape, slot, component, lane, None);
            }
        }
    }

    /// Copies one lane to all lanes of another register.
    pub(super) fn splat(&mut self, s: &State<'_>, from: u32, to: u32) {
        let Some(row) = self.rows[from as usize].clone() else {
            self.rows[to as usize] = None;
            return;
        };
        let shape = s.code.slots[to as usize];
        for (component, interval) in row.iter().enumerate() {
            for lane in 0..WIDTH {
                self.set(shape, to, component, lane, *interval);
            }
        }
    }

    /// Moves intervals along an edge, as the executor moves the registers.
    pub(super) fn follow(&mut self, slots: &[SlotShape], edge: &Edge, mask: Option<u64>) {
        for Move { from, to, last } in &edge.moves {
            if *last && mask.is_none() {
                self.rows.swap(*from as usize, *to as usize);
                continue;
            }
            let shape = slots[*to as usize];
            let source = self.rows[*from as usize].clone();
            let Some(mask) = mask.filter(|_| !shape.single) else {
                self.rows[*to as usize] = source;
                continue;
            };
            for component in 0..usize::from(shape.components).max(1) {
                for lane in crate::execute::rows::lanes(mask) {
                    let interval =
                        source.as_ref().and_then(|row| *row.get(position(shape, component, lane))?);
                    self.set(shape, *to, component, lane, interval);
                }
            }
        }
    }
}
