//! The observer of a launch that carries intervals beside its values.

use std::collections::HashMap;
use std::ops::Range;

use tripipe_ir as ir;
use tripipe_ir::op::AtomicOp;
use tripipe_ir::{Inst as IrInst, Op, Scalar};
use tripipe_launch::MemoryId;

use super::arithmetic::Freedom;
use super::interval::{BOUNDED, Interval};
use super::registers::{Intervals, computed};
use super::step::{self, Operands, active, cause_number};
use super::{Allowed, Bounded, Cause, Places, Reason, WrittenNumber, cause};
use crate::execute::code::{Inst, NONE, component_bytes};
use crate::execute::edge::Edge;
use crate::execute::effects::is_collective;
use crate::execute::memory::{parts, pointer};
use crate::execute::memory_map::MemoryMap;
use crate::execute::observer::{Observed, Observer};
use crate::execute::ops::copy::Elements;
use crate::execute::rows::lanes;
use crate::execute::state::{Present, State};
use crate::shadow::pieces;
use crate::source::location_of;

/// The evaluation of a launch in intervals.
pub(crate) struct Evaluation {
    freedom: Freedom,
    /// The wanted places, by address, and their names for the caller.
    places: HashMap<u64, (MemoryId, usize)>,
    pub(super) intervals: Intervals,
    bounded: Bounded,
}

impl Evaluation {
    pub(crate) fn new(memory_map: &MemoryMap, places: &Places, freedom: Freedom) -> Self {
        let places =
            places.iter().filter_map(|place| Some((memory_map.address(place.0, place.1)?, *place))).collect();
        let (intervals, bounded) = (Intervals::default(), Bounded::default());
        Self { freedom, places, intervals, bounded }
    }

    pub(crate) fn finish(self) -> Bounded {
        self.bounded
    }

    /// The addresses of the active lanes, and their intervals if they are not certain.
    fn addresses(&self, s: &State<'_>, i: &Inst) -> Vec<Pointer> {
        let lanes = active(s, i).into_iter();
        lanes
            .map(|lane| Pointer {
                lane,
                address: s.address(i.args[0], lane),
                stray: self.intervals.get(s, i.args[0], 0, lane),
            })
            .collect()
    }

    fn load(&mut self, s: &State<'_>, i: &Inst, pointers: &[Pointer]) {
        let Some(result) = s.kernel.insts[i.origin].result else { return };
        let ty = s.kernel.ty(result);
        let element = u64::from(component_bytes(ty));
        for Pointer { lane, address, stray } in pointers.iter().copied() {
            for component in 0..usize::from(ty.lanes()) {
                let computed = computed(s, i.out, ty, component, lane).unwrap_or(0.0);
                let at = address.wrapping_add(component as u64 * element);
                let found = match stray {
                    Some(stray) if stray.is_open() => Some(Interval::open(computed, stray.open)),
                    Some(_) => Some(Interval::open(computed, cause_number(i.origin, Reason::Address))),
                    None => self.intervals.memory(s, at, lane).read(at, element, computed),
                };
                let found = found.unwrap_or(Interval::point(computed));
                self.intervals.write(s, i.out, ty, component, lane, found);
            }
        }
    }

    fn store(&mut self, s: &State<'_>, i: &Inst) {
        let Some(value) = s.kernel.insts[i.origin].operands.get(1).copied() else { return };
        let ty = s.kernel.ty(value);
        let element = u64::from(component_bytes(ty));
        for lane in lanes(s.mask) {
            let address = s.address(i.args[0], lane);
            let stray = self.intervals.get(s, i.args[0], 0, lane);
            if stray.is_some() && self.bounded.stray.is_none() {
                self.bounded.stray = Some(cause(s, Reason::Address, i.origin));
            }
            for component in 0..usize::from(ty.lanes()) {
                let (mut interval, mut plain) = self.intervals.read(s, i.args[1], ty, component, lane);
                if let Some(cause) = self.opened(s, i, lane, stray.is_some()) {
                    (interval, plain) = (Interval::open(interval.exact, cause), false);
                }
                let at = address.wrapping_add(component as u64 * element);
                let kept = Some(interval).filter(|_| !plain);
                self.intervals.memory(s, at, lane).write(at, element, kept);
                self.note(s, i, lane, at, element, ty.scalar(), interval, plain);
            }
        }
    }

    /// The cause by which any number may be in the place that a lane writes to: an address that is not certain, or the
    /// path of the lane.
    pub(super) fn opened(&self, s: &State<'_>, i: &Inst, lane: usize, stray: bool) -> Option<u32> {
        let forks = self.intervals.path(s);
        let forked = (forks.lanes >> lane & 1 == 1).then_some(forks.cause);
        if stray { Some(cause_number(i.origin, Reason::Address)) } else { forked }
    }

    /// Records a number that was written, if its place is wanted.
    #[allow(clippy::too_many_arguments, reason = "a number, its place and its writer")]
    pub(super) fn note(
        &mut self,
        s: &State<'_>,
        i: &Inst,
        lane: usize,
        address: u64,
        bytes: u64,
        scalar: Option<Scalar>,
        interval: Interval,
        plain: bool,
    ) {
        for skew in 0..bytes {
            let Some(place) = self.places.get(&(address + skew)).copied() else { continue };
            let allowed = if plain {
                Allowed::One
            } else if interval.open == BOUNDED {
                Allowed::Between(interval.low, interval.high, interval.nan)
            } else {
                Allowed::Any(numbered(s, interval.open))
            };
            let written = WrittenNumber {
                work_item: s.group.global_id(s.item(lane)),
                location: location_of(s.module, s.kernel, i.origin),
                skew: skew as usize,
                bytes: bytes as usize,
                float: scalar.is_some_and(Scalar::is_float),
                exact: interval.exact,
                allowed,
            };
            self.bounded.written.insert(place, written);
        }
    }

    /// An atomic operation: what it returns depends on the order of the work-items; what it leaves does not if the
    /// order of its operands does not matter.
    fn atomic(&mut self, s: &State<'_>, i: &Inst, op: AtomicOp, operands: &[(Pointer, bool)]) {
        let data = &s.kernel.insts[i.origin];
        let commutes = !matches!(
            op,
            AtomicOp::Load
                | AtomicOp::Store
                | AtomicOp::Exchange
                | AtomicOp::CompareExchange
                | AtomicOp::FlagTestAndSet
                | AtomicOp::FlagClear
        );
        let value = data.operands.get(1).map(|value| s.kernel.ty(*value));
        let scalar = value.and_then(ir::Type::scalar).or_else(|| s.kernel.ty(data.result?).scalar());
        let bytes = scalar.map_or(4, |scalar| u64::from(scalar.bytes()));
        for (Pointer { lane, address, .. }, uncertain) in operands.iter().copied() {
            let forked = self.intervals.path(s).lanes >> lane & 1 == 1;
            let float = scalar.is_some_and(Scalar::is_float);
            let stays = op == AtomicOp::Load;
            if !stays && (!commutes || float || uncertain || forked) && op != AtomicOp::Store {
                self.intervals.memory(s, address, lane).open(
                    address,
                    bytes,
                    cause_number(i.origin, Reason::Order),
                );
            }
            let now = self.intervals.memory(s, address, lane).read(address, bytes, 0.0);
            if !stays {
                let interval = now.unwrap_or(Interval::point(0.0));
                self.note(s, i, lane, address, bytes, scalar, interval, now.is_none());
            }
            if i.out != NONE
                && let Some(result) = data.result
            {
                let ty = s.kernel.ty(result);
                let computed = computed(s, i.out, ty, 0, lane).unwrap_or(0.0);
                let found = Interval::open(computed, cause_number(i.origin, Reason::Order));
                self.intervals.write(s, i.out, ty, 0, lane, found);
            }
        }
    }

    fn copy(&mut self, s: &State<'_>, i: &Inst) {
        for lane in lanes(s.mask).collect::<Vec<_>>() {
            let [to, from, count] = std::array::from_fn(|index| s.warp.rows.words(i.args[index])[lane]);
            self.copied(s, i, lane, to, from, count);
        }
    }

    fn copied(&mut self, s: &State<'_>, i: &Inst, lane: usize, to: u64, from: u64, count: u64) {
        // Word by word if both are aligned alike; else parts of numbers are open.
        for (at, bytes) in pieces(from, count, 4) {
            let (to, from) = (to.wrapping_add(at), from.wrapping_add(at));
            let moved = self.intervals.memory(s, from, lane).read(from, bytes, 0.0);
            self.intervals.memory(s, to, lane).write(to, bytes, moved);
            let interval = moved.unwrap_or(Interval::point(0.0));
            self.note(s, i, lane, to, bytes, None, interval, moved.is_none());
        }
    }
}

/// The cause with a number of [`cause_number`].
fn numbered(s: &State<'_>, number: u32) -> Cause {
    let reason = match number & 7 {
        0 => Reason::Branch,
        1 => Reason::Address,
        2 => Reason::Function,
        3 => Reason::Operation,
        4 => Reason::Order,
        _ => Reason::Filter,
    };
    cause(s, reason, IrInst::from_u32(number >> 3))
}

/// The address of a lane, and its interval if it is not certain.
#[derive(Clone, Copy)]
struct Pointer {
    lane: usize,
    address: u64,
    stray: Option<Interval>,
}

impl Observer for Evaluation {
    fn start_group(&mut self, _: &State<'_>) {
        self.intervals.start_group();
    }

    fn start_warp(&mut self, s: &State<'_>) {
        self.intervals.start_warp(s);
    }

    fn instruction(&mut self, s: &mut State<'_>, i: &Inst) -> Observed {
        let op = s.kernel.insts[i.origin].op;
        // What work-items do together runs later, when all have arrived.
        if is_collective(op) {
            if let Op::Group(_) = op
                && i.out != NONE
                && let Some(result) = s.kernel.insts[i.origin].result
            {
                self.collective(s, i, s.kernel.ty(result));
            }
            return Observed::Passed;
        }
        // Operands are read first: the result may take the register of one.
        let goes_on = match op {
            Op::Store(_) => {
                self.store(s, i);
                (i.plain)(s, i)
            }
            Op::Copy(_) => {
                self.copy(s, i);
                (i.plain)(s, i)
            }
            Op::ImageWrite { .. } => {
                self.image_write(s, i);
                (i.plain)(s, i)
            }
            Op::Load(_) => {
                let pointers = self.addresses(s, i);
                let goes_on = (i.plain)(s, i);
                self.load(s, i, &pointers);
                goes_on
            }
            Op::Atomic(atomic) => {
                let value = s.kernel.insts[i.origin].operands.get(1).map(|value| s.kernel.ty(*value));
                let operands: Vec<(Pointer, bool)> = self
                    .addresses(s, i)
                    .into_iter()
                    .map(|pointer| {
                        let of = |ty| !self.intervals.read(s, i.args[1], ty, 0, pointer.lane).1;
                        (pointer, value.is_some_and(of))
                    })
                    .collect();
                let goes_on = (i.plain)(s, i);
                self.atomic(s, i, atomic.op, &operands);
                goes_on
            }
            Op::ImageRead { .. } | Op::ImageSample(_) => {
                let reads = self.image_reads(s, i, matches!(op, Op::ImageSample(_)));
                let goes_on = (i.plain)(s, i);
                self.image_read(s, i, &reads);
                goes_on
            }
            _ => {
                let operands = Operands::of(&self.intervals, s, i);
                let goes_on = (i.plain)(s, i);
                let freedom = self.freedom;
                step::results(&mut self.intervals, s, i, &operands, freedom);
                goes_on
            }
        };
        Observed::Ran(goes_on)
    }

    fn splat(&mut self, s: &mut State<'_>, i: &Inst) {
        self.intervals.splat(s, i);
    }

    fn branch(&mut self, s: &State<'_>, register: u32, _: u32, last: Option<IrInst>) {
        let mut forked = 0u64;
        let mut why = None;
        for lane in lanes(s.mask) {
            let Some(interval) = self.intervals.get(s, register, 0, lane) else { continue };
            if !interval.is_certain() {
                forked |= 1 << lane;
                why = why.or(Some(interval.open).filter(|open| *open != BOUNDED));
            }
        }
        if forked == 0 {
            return;
        }
        let at = last.unwrap_or(IrInst::from_u32(0));
        let number = why.unwrap_or(cause_number(at, Reason::Branch));
        if self.bounded.branch.is_none() {
            self.bounded.branch = Some(numbered(s, number));
        }
        let forks = self.intervals.path_mut(s);
        if forks.lanes == 0 {
            forks.cause = number;
        }
        forks.lanes |= forked;
    }

    fn edge(&mut self, s: &State<'_>, edge: &Edge, mask: Option<u64>) {
        self.intervals.follow(s, edge, mask);
    }

    fn start_copy(&mut self, s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>], _: u64) -> Range<u64> {
        if let Some(elements) = Elements::of(s, i, present) {
            let [(to, target), (from, source)] = elements.addresses.map(|address| {
                let object = parts(address).0;
                (pointer(object, 0), s.memory.object(object).map_or(0, |object| object.bytes))
            });
            if self.intervals.memory(s, from, 0).any(from, source) {
                let cause = cause_number(i.origin, Reason::Operation);
                self.intervals.memory(s, to, 0).open(to, target, cause);
            }
        }
        0..u64::MAX
    }
}

impl Evaluation {
    /// A collective function: its result is certain if all operands are.
    fn collective(&mut self, s: &State<'_>, i: &Inst, ty: ir::Type) {
        let data = &s.kernel.insts[i.origin];
        let certain = data.operands.iter().enumerate().all(|(operand, value)| {
            let of = s.kernel.ty(*value);
            lanes(s.mask).all(|lane| {
                (0..usize::from(of.lanes()))
                    .all(|component| self.intervals.read(s, i.arg(operand), of, component, lane).1)
            })
        });
        // The order in which floats are summed is open, and what the others pass is not looked at.
        let open = !certain || ty.is_float() || s.warp.number > 0;
        let width = active(s, i);
        for lane in width {
            for component in 0..usize::from(ty.lanes()) {
                let interval = if open {
                    Interval::open(0.0, cause_number(i.origin, Reason::Order))
                } else {
                    Interval::point(0.0)
                };
                if open {
                    self.intervals.write(s, i.out, ty, component, lane, interval);
                }
            }
            if !open {
                self.intervals.forget(s, i.out, ty, std::iter::once(lane));
            }
        }
    }
}
