//! The intervals of a launch: of its registers, of its memory, and of the paths of its warps.

use tripipe_ir::{Scalar, Type};

use super::interval::Interval;
use super::memory::Uncertain;
use super::step::number;
use crate::execute::code::component_bytes;
use crate::execute::state::State;
use crate::shadow::Shadows;

/// `None` for a number that is certain, in float64 arithmetic too.
pub(super) type Intervals = Shadows<Option<Interval>, Uncertain, Forks>;

/// Lanes whose path depends on a number whose bounds include both ways, and the cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forks {
    pub(super) lanes: u64,
    pub(super) cause: u32,
}

/// The number that the simulator computed for a component of a lane; `None` for a pointer.
pub(super) fn computed(s: &State<'_>, slot: u32, ty: Type, component: usize, lane: usize) -> Option<f64> {
    Some(number(ty.scalar()?, bits(s, slot, ty, component, lane)))
}

fn bits(s: &State<'_>, slot: u32, ty: Type, component: usize, lane: usize) -> u64 {
    let position = s.code.slots[slot as usize].position(component, lane);
    s.warp.rows.bits(slot, position, component_bytes(ty))
}

impl Intervals {
    /// The interval of a component of a lane, and whether it is certain, in float64 arithmetic too.
    pub(super) fn read(
        &self,
        s: &State<'_>,
        slot: u32,
        ty: Type,
        component: usize,
        lane: usize,
    ) -> (Interval, bool) {
        if let Some(interval) = self.get(s, slot, component, lane) {
            return (interval, false);
        }
        let number = number(ty.scalar().unwrap_or(Scalar::I64), bits(s, slot, ty, component, lane));
        (Interval::point(number), true)
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
        let plain = interval.is_certain()
            && computed(s, slot, ty, component, lane).is_some_and(|here| {
                here.to_bits() == interval.exact.to_bits() && (here == interval.low || here.is_nan())
            });
        self.set(s, slot, component, lane, Some(interval).filter(|_| !plain));
    }

    /// Some lanes of a register are certain.
    pub(super) fn forget(&mut self, s: &State<'_>, slot: u32, ty: Type, lanes: impl Iterator<Item = usize>) {
        for lane in lanes {
            for component in 0..usize::from(ty.lanes()) {
                self.set(s, slot, component, lane, None);
            }
        }
    }
}
