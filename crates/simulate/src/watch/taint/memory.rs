//! The unwritten state of memory: where values and memory meet.

use tripipe_ir as ir;
use tripipe_ir::Op;

use super::uses::{report, used};
use crate::execute::code::{Inst, NONE};
use crate::execute::memory::Home;
use crate::execute::memory_map::MemoryMap;
use crate::execute::rows::{WIDTH, lanes, restore};
use crate::execute::state::State;
use crate::watch::shadow::Shadow;
use crate::watch::state::Watch;
use crate::watch::touch::{Touch, extremes};

/// A read of a variable before it is written.
pub(crate) fn undefined(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    let shadow = watch.shadow_mut(s);
    shadow.tainted = true;
    let row = shadow.rows.words_mut(i.out);
    if i.width == 1 {
        row.fill(u64::MAX);
    } else {
        let ones = vec![u64::MAX; row.len()];
        restore(row, &ones, usize::from(i.components), s.mask);
    }
    shadow.origins[i.out as usize] = i.origin.as_u32();
}

/// Starts the lifetime of a private object: its bytes are unwritten.
pub(crate) fn lifetime_start(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if let Op::LifetimeStart(object) = s.kernel.insts[i.origin].op {
        let number = MemoryMap::kernel_object(object.as_u32());
        if let Some(Home::Private(index)) = s.memory.object(number).map(|info| info.home) {
            let shadow = watch.shadow_mut(s);
            shadow.private_dead[index as usize] &= !s.mask;
            for written in &mut shadow.private_written[index as usize] {
                *written &= !s.mask;
            }
        }
    }
}

/// Ends the lifetime of a private object.
pub(crate) fn lifetime_end(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if let Op::LifetimeEnd(object) = s.kernel.insts[i.origin].op {
        let number = MemoryMap::kernel_object(object.as_u32());
        if let Some(Home::Private(index)) = s.memory.object(number).map(|info| info.home) {
            watch.shadow_mut(s).private_dead[index as usize] |= s.mask;
        }
    }
}

impl Watch {
    /// Updates the written state for a store that is about to run, from the shadow of the value.
    pub(crate) fn taint_store(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) {
        let Some(value) = i.args.get(1).copied().filter(|slot| *slot != NONE) else { return };
        let size = touch.bytes / usize::from(i.components).max(1);
        let shadow = self.shadow(s);
        let mut unknown = shadow.tainted && !shadow.is_clean(value);
        let puts_back = if unknown { self.partial.put_back(i.origin) } else { 0 };
        let alone = lanes(s.mask).all(|lane| {
            (0..touch.bytes).filter(|byte| puts_back >> byte & 1 == 0).all(|byte| {
                let bits = shadow.rows.bits(value, byte / size * WIDTH + lane, size as u32);
                bits.to_le_bytes()[byte % size] == 0
            })
        });
        // Bytes that are only put back may be unwritten, and stay unwritten.
        let stays = unknown && puts_back != 0 && alone;
        if unknown && !stays {
            let first = s.mask.trailing_zeros() as usize;
            let (object, _) = s.memory.parts(s.address(touch.pointer, first));
            if s.memory.object(object).is_some_and(|info| matches!(info.home, Home::Global(_))) {
                used(self, s, i, value, 1, "the value stored here");
                unknown = false;
            }
        }
        if !unknown && self.all_written(s, touch) {
            return;
        }
        for lane in lanes(s.mask) {
            let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
            let offset = offset as usize;
            let Some(home) = s.memory.object(object).map(|info| info.home) else { continue };
            match home {
                Home::Private(index) => {
                    let shadow = self.shadow_mut(s);
                    for byte in 0..touch.bytes {
                        let bits = shadow.rows.bits(value, byte / size * WIDTH + lane, size as u32);
                        let known = !unknown || bits.to_le_bytes()[byte % size] == 0;
                        let written = &mut shadow.private_written[index as usize][offset + byte];
                        *written = if known { *written | 1 << lane } else { *written & !(1 << lane) };
                    }
                }
                Home::Global(_) | Home::Local(_) => {
                    let shadow = &self.shadows[s.warp.number as usize];
                    let Some(Some(written)) =
                        self.objects.get_mut(object as usize).map(|watched| watched.written.as_mut())
                    else {
                        continue;
                    };
                    written.set(offset, touch.bytes);
                    if unknown {
                        for byte in 0..touch.bytes {
                            let bits = shadow.rows.bits(value, byte / size * WIDTH + lane, size as u32)
                                >> (8 * (byte % size));
                            if bits & 255 != 0 {
                                written.unset(offset + byte);
                            }
                        }
                    }
                }
                Home::Null => {}
            }
        }
    }

    /// Whether all lanes' addresses are in one object, and every byte from the lowest to the highest is written.
    fn all_written(&self, s: &State<'_>, touch: &Touch) -> bool {
        let (low, high, _) = extremes(s, touch.pointer);
        let (object, start) = s.memory.parts(low);
        if s.memory.parts(high).0 != object {
            return false;
        }
        let Some(info) = s.memory.object(object) else { return false };
        let span = (high - low) as usize + touch.bytes;
        let inside = start >= 0 && start.cast_unsigned() + span as u64 <= info.bytes;
        match (info.home, self.objects.get(object as usize).map(|watched| &watched.written)) {
            (Home::Global(_), Some(None)) => true,
            (Home::Global(_) | Home::Local(_), Some(Some(written))) => {
                inside && span <= 1 << 16 && written.all(start as usize, span)
            }
            _ => false,
        }
    }

    /// Sets the shadow of a load's result. For atomics, unwritten bytes are reported, because all work-items see the
    /// result.
    pub(crate) fn taint_load(&mut self, s: &State<'_>, i: &Inst, touch: &Touch, good: u64) {
        let shadow = self.shadow_mut(s);
        if shadow.tainted {
            shadow.clear(i.out);
        }
        let single = s.warp.rows.words(touch.pointer).len() == 1;
        if self.all_written(s, touch) {
            return;
        }
        let size = (touch.bytes / usize::from(i.components).max(1)).max(1);
        let mut born: Option<(u32, usize)> = None;
        for lane in lanes(good) {
            let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
            let offset = offset as usize;
            let Some(home) = s.memory.object(object).map(|info| info.home) else { continue };
            let shadow = &mut self.shadows[s.warp.number as usize];
            let written = self.objects.get(object as usize).and_then(|watched| watched.written.as_ref());
            let unwritten = |shadow: &Shadow, byte: usize| match home {
                Home::Private(index) => {
                    shadow.private_written[index as usize][offset + byte] >> lane & 1 == 0
                }
                _ => written.is_some_and(|written| !written.has(offset + byte)),
            };
            let any = match home {
                Home::Private(_) => (0..touch.bytes).any(|byte| unwritten(shadow, byte)),
                _ => written.is_some_and(|written| !written.all(offset, touch.bytes)),
            };
            if any {
                for component in 0..usize::from(i.components) {
                    let bits = (0..size)
                        .filter(|byte| unwritten(shadow, component * size + byte))
                        .fold(0u64, |bits, byte| bits | 255 << (8 * byte));
                    let width = usize::from(i.width);
                    let lane = if width == 1 { 0 } else { lane };
                    shadow.rows.set_bits(i.out, component * width + lane, size as u32, bits);
                }
                born.get_or_insert((object, lane));
            }
            if single && !matches!(home, Home::Private(_)) {
                if any {
                    // All lanes read the same bytes.
                    for other in lanes(good & !(1 << lane)) {
                        for component in 0..usize::from(i.components) {
                            if i.width != 1 {
                                let bits = shadow.rows.bits(i.out, component * WIDTH + lane, size as u32);
                                shadow.rows.set_bits(i.out, component * WIDTH + other, size as u32, bits);
                            }
                        }
                    }
                }
                break;
            }
        }
        if touch.atomic && touch.writes {
            for lane in lanes(good) {
                let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
                if let Some(Some(written)) =
                    self.objects.get_mut(object as usize).map(|watched| watched.written.as_mut())
                {
                    written.set(offset as usize, touch.bytes);
                }
            }
        }
        let Some((object, lane)) = born else { return };
        let shadow = self.shadow_mut(s);
        shadow.tainted = true;
        shadow.origins[i.out as usize] = i.origin.as_u32();
        if let Some(info) = s.memory.object(object) {
            let text = format!("`{}`, read before it was written", info.name);
            self.births.entry(i.origin.as_u32()).or_insert(text);
        }
        // An exchange does not depend on the previous value.
        let exchange = matches!(
            s.kernel.insts[i.origin].op,
            Op::Atomic(ir::op::Atomic { op: ir::op::AtomicOp::Exchange, .. })
        );
        if touch.atomic && touch.writes && !exchange {
            report(self, s, Some(i.origin), i.out, 1 << lane, "the result of this atomic");
            self.shadow_mut(s).clear(i.out);
        }
    }

    /// Whether a byte has been written, from the view of a lane.
    pub(crate) fn is_written(&self, s: &State<'_>, lane: usize, address: u64) -> bool {
        let (object, offset) = s.memory.parts(address);
        match s.memory.object(object).map(|info| info.home) {
            Some(Home::Private(index)) => self.shadow(s).private_written[index as usize]
                .get(offset as usize)
                .is_none_or(|lanes| lanes >> lane & 1 == 1),
            _ => self
                .objects
                .get(object as usize)
                .and_then(|watched| watched.written.as_ref())
                .is_none_or(|written| written.has(offset as usize)),
        }
    }

    /// Records whether a byte has been written, from the view of a lane.
    pub(crate) fn set_written(&mut self, s: &State<'_>, lane: usize, address: u64, known: bool) {
        let (object, offset) = s.memory.parts(address);
        match s.memory.object(object).map(|info| info.home) {
            Some(Home::Private(index)) => {
                if let Some(lanes) =
                    self.shadow_mut(s).private_written[index as usize].get_mut(offset as usize)
                {
                    *lanes = if known { *lanes | 1 << lane } else { *lanes & !(1 << lane) };
                }
            }
            _ => {
                if let Some(written) =
                    self.objects.get_mut(object as usize).and_then(|watched| watched.written.as_mut())
                {
                    if known {
                        written.set(offset as usize, 1);
                    } else {
                        written.unset(offset as usize);
                    }
                }
            }
        }
    }
}
