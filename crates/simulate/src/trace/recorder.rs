//! Records a work-group while it runs.

use std::cell::Cell;

use tripipe_ir::op::AtomicOp;
use tripipe_ir::{self as ir, Kernel, Op};

use super::{Action, GroupTrace, Reach, TracedAccess, Visit, WarpTrace};
use crate::execute::code::{Detail, Inst};
use crate::execute::memory::Home;
use crate::execute::observer::{Observed, Observer};
use crate::execute::ops::image::coordinates;
use crate::execute::rows::{first_lanes, lanes};
use crate::execute::state::State;
use crate::image::{Reader, sampler};

/// Whether the recorder has to see an instruction.
pub(crate) fn observes(kernel: &Kernel, inst: ir::Inst) -> bool {
    matches!(
        kernel.insts[inst].op,
        Op::Load(_)
            | Op::Store(_)
            | Op::Atomic(_)
            | Op::Copy(_)
            | Op::ImageRead { .. }
            | Op::ImageSample(_)
            | Op::ImageWrite { .. }
    )
}

/// Records work-groups. A finished record is put into `done`.
pub(crate) struct Recorder<'l> {
    /// The address of each object's first byte, by number.
    bases: &'l [u64],
    done: &'l Cell<Option<GroupTrace>>,
    group: GroupTrace,
    /// The last visit of each block by each warp, for lanes that continue in a block after a wait.
    current: Vec<usize>,
}

impl<'l> Recorder<'l> {
    pub(crate) fn new(bases: &'l [u64], done: &'l Cell<Option<GroupTrace>>) -> Self {
        Self { bases, done, group: GroupTrace::default(), current: Vec::new() }
    }

    fn warp(&mut self, s: &State<'_>) -> Option<(&mut WarpTrace, u32)> {
        let index = s.warp.first_item as usize / s.schedule.warp;
        let visit = *self.current.get(index)?;
        self.group.warps.get_mut(index).map(|warp| (warp, visit as u32))
    }

    /// Records an access by the active lanes through a pointer.
    fn pointer(&mut self, s: &State<'_>, i: &Inst, slot: u32, bytes: u32, action: Action) {
        let bases = self.bases;
        let Some((warp, visit)) = self.warp(s) else { return };
        let words = s.warp.rows.words(slot);
        let first = s.address(slot, s.mask.trailing_zeros() as usize % 64);
        let reach = match s.home(first) {
            Some(Home::Local(_)) => Reach::Local,
            Some(Home::Private(_)) => Reach::Private,
            Some(Home::Global(_)) => Reach::Global,
            Some(Home::Null) | None => return,
        };
        let flat = |pointer: u64| {
            let (object, offset) = s.memory.parts(pointer);
            bases.get(object as usize).map_or(0, |base| base.wrapping_add_signed(offset))
        };
        let start = warp.addresses.len() as u32;
        if words.len() == 1 {
            warp.addresses.push(flat(first));
        } else if s.mask == first_lanes(s.mask.count_ones() as usize) {
            // Mostly all work-items of a warp, whose addresses need no search.
            warp.addresses.extend(words[..s.mask.count_ones() as usize].iter().map(|word| flat(*word)));
        } else {
            warp.addresses.extend(lanes(s.mask).map(|lane| flat(words[lane])));
        }
        let addresses = (start, warp.addresses.len() as u32);
        let mask = s.mask;
        warp.accesses.push((
            visit,
            TracedAccess { inst: i.origin, action, reach, bytes, filtered: false, mask, addresses },
        ));
    }

    /// Records an access to an image; texels outside it are not accessed.
    fn image(&mut self, s: &State<'_>, i: &Inst, action: Action) {
        let Detail::Image(detail) = i.detail else { return };
        let sampled = matches!(s.kernel.insts[i.origin].op, Op::ImageSample(_));
        let Some((warp, visit)) = self.warp(s) else { return };
        let start = warp.addresses.len() as u32;
        let (mut mask, mut of, mut bytes, mut filtered) = (0, 0, 0, false);
        // Nearly always the same for all lanes.
        let mut last: Option<((usize, u64), Reader)> = None;
        for lane in lanes(s.mask) {
            let number = s.warp.rows.words(i.args[0])[lane] as usize;
            let Some(bound) = s.images.get(number) else { continue };
            let at = coordinates(s, i.args[if sampled { 2 } else { 1 }], detail, lane);
            let offset = if sampled {
                let bits = s.warp.rows.words(i.args[1])[lane];
                let reader = match last {
                    Some((key, reader)) if key == (number, bits) => reader,
                    _ => {
                        let Some(parts) = ir::op::SamplerBits::from_bits(bits) else { continue };
                        let Ok(reader) = Reader::new(&bound.image, sampler(parts)) else { continue };
                        last = Some(((number, bits), reader));
                        filtered |= parts.linear;
                        reader
                    }
                };
                let taps = if detail.float {
                    reader.taps(at.map(f32::from_bits))
                } else {
                    reader.taps_at(at.map(u32::cast_signed))
                };
                taps.offsets().next()
            } else {
                bound.image.offset(at.map(u32::cast_signed))
            };
            let Some(offset) = offset else { continue };
            (of, bytes) = (number as u32, bound.image.texel_bytes() as u32);
            mask |= 1 << lane;
            warp.addresses.push(offset as u64);
        }
        let addresses = (start, warp.addresses.len() as u32);
        if mask != 0 {
            let reach = Reach::Image(of);
            warp.accesses.push((
                visit,
                TracedAccess { inst: i.origin, action, reach, bytes, filtered, mask, addresses },
            ));
        }
    }
}

impl Observer for Recorder<'_> {
    fn start_group(&mut self, s: &State<'_>) {
        let items = s.group.items() as u32;
        let width = s.schedule.warp as u32;
        self.group = GroupTrace { items, warps: Vec::new() };
        for first_item in (0..items).step_by(width as usize) {
            let lanes = first_lanes((items - first_item).min(width) as usize);
            self.group.warps.push(WarpTrace { first_item, lanes, ..WarpTrace::default() });
        }
        self.current = vec![0; self.group.warps.len()];
    }

    fn enter(&mut self, s: &State<'_>, block: ir::Block, first: bool) {
        let index = s.warp.first_item as usize / s.schedule.warp;
        let (Some(warp), Some(current)) = (self.group.warps.get_mut(index), self.current.get_mut(index))
        else {
            return;
        };
        *current = if first {
            warp.visits.push(Visit { block, mask: s.mask });
            warp.visits.len() - 1
        } else {
            warp.visits.iter().rposition(|visit| visit.block == block).unwrap_or(0)
        };
    }

    fn instruction(&mut self, s: &mut State<'_>, i: &Inst) -> Observed {
        let data = &s.kernel.insts[i.origin];
        let value = |index: usize| data.operands.get(index).map_or(0, |value| s.kernel.ty(*value).bytes());
        let result = data.result.map_or(0, |result| s.kernel.ty(result).bytes());
        match data.op {
            Op::Load(_) => self.pointer(s, i, i.args[0], result, Action::Read),
            Op::Store(_) => self.pointer(s, i, i.args[0], value(1), Action::Write),
            Op::Atomic(atomic) => {
                let bytes = match atomic.op {
                    AtomicOp::FlagTestAndSet | AtomicOp::FlagClear => 4,
                    _ => result.max(value(1)),
                };
                self.pointer(s, i, i.args[0], bytes, Action::Atomic);
            }
            Op::Copy(_) => {
                let bytes = s.warp.rows.bits(i.args[2], s.mask.trailing_zeros() as usize % 64, 8) as u32;
                self.pointer(s, i, i.args[1], bytes, Action::Read);
                self.pointer(s, i, i.args[0], bytes, Action::Write);
            }
            Op::ImageRead { .. } | Op::ImageSample(_) => self.image(s, i, Action::Read),
            Op::ImageWrite { .. } => self.image(s, i, Action::Write),
            _ => {}
        }
        Observed::Passed
    }

    fn end_group(&mut self, _s: &State<'_>) {
        self.done.set(Some(std::mem::take(&mut self.group)));
    }
}
