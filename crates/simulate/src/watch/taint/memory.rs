//! The unwritten state of memory: where values and memory meet.

use tripipe_ir as ir;
use tripipe_ir::Op;

use super::uses::{report, used};
use crate::execute::code::{Inst, NONE};
use crate::execute::memory::Home;
use crate::execute::memory_map::MemoryMap;
use crate::execute::rows::{WIDTH, lanes, restore};
use crate::execute::state::State;
use crate::watch::objects::Bits;
use crate::watch::shadow::Shadow;
use crate::watch::state::Watch;
use crate::watch::touch::{Touch, extremes};

/// The bytes of an object that have been written, as seen by a lane.
pub(crate) enum WrittenBytes<'a> {
    /// All of them; nothing is recorded.
    All,
    Shared(&'a mut Bits),
    /// By byte, the lanes that have written it; and the lane.
    Private(&'a mut [u64], usize),
}

impl WrittenBytes<'_> {
    pub(crate) fn has(&self, byte: usize) -> bool {
        match self {
            Self::All => true,
            Self::Shared(bits) => bits.has(byte),
            Self::Private(lanes, lane) => lanes.get(byte).is_none_or(|lanes| lanes >> lane & 1 == 1),
        }
    }

    /// The bytes of a range that have not been written, one bit each.
    pub(crate) fn missing(&self, start: usize, bytes: usize) -> u128 {
        match self {
            Self::All => 0,
            Self::Shared(bits) if bits.all(start, bytes) => 0,
            _ => mask_of(bytes, |byte| !self.has(start + byte)),
        }
    }

    /// Whether a byte of a range of any size has not been written.
    pub(crate) fn lacks_any(&self, start: usize, bytes: usize) -> bool {
        match self {
            Self::All => false,
            Self::Shared(bits) => !bits.all(start, bytes),
            Self::Private(..) => (start..start + bytes).any(|byte| !self.has(byte)),
        }
    }

    pub(crate) fn set(&mut self, byte: usize, written: bool) {
        match self {
            Self::All => {}
            Self::Shared(bits) if written => bits.set(byte, 1),
            Self::Shared(bits) => bits.unset(byte),
            Self::Private(lanes, lane) => {
                if let Some(lanes) = lanes.get_mut(byte) {
                    *lanes = if written { *lanes | 1 << *lane } else { *lanes & !(1 << *lane) };
                }
            }
        }
    }

    /// A range is written, but for the bytes of a mask.
    pub(crate) fn store(&mut self, start: usize, bytes: usize, missing: u128) {
        match self {
            Self::All => {}
            Self::Shared(bits) if missing == 0 => bits.set(start, bytes),
            // An element of a copy may have more bytes than a mask, and lacks none.
            _ if missing == 0 => (0..bytes).for_each(|byte| self.set(start + byte, true)),
            _ => (0..bytes).for_each(|byte| self.set(start + byte, missing >> byte & 1 == 0)),
        }
    }
}

/// The bytes for which a test holds, one bit each; a value has at most 128.
fn mask_of(bytes: usize, test: impl Fn(usize) -> bool) -> u128 {
    (0..bytes).filter(|byte| test(*byte)).fold(0, |mask, byte| mask | 1 << byte)
}

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
    if let Op::LifetimeStart(object) = s.kernel.insts[i.origin].op
        && let Some(index) = private(s, object)
    {
        let shadow = watch.shadow_mut(s);
        shadow.private_dead[index] &= !s.mask;
        for written in &mut shadow.private_written[index] {
            *written &= !s.mask;
        }
    }
}

/// Ends the lifetime of a private object.
pub(crate) fn lifetime_end(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if let Op::LifetimeEnd(object) = s.kernel.insts[i.origin].op
        && let Some(index) = private(s, object)
    {
        watch.shadow_mut(s).private_dead[index] |= s.mask;
    }
}

/// The position of an object of the kernel among the private ones.
fn private(s: &State<'_>, object: ir::Object) -> Option<usize> {
    match s.memory.object(MemoryMap::kernel_object(object.as_u32()))?.home {
        Home::Private(index) => Some(index as usize),
        _ => None,
    }
}

impl Watch {
    /// The bytes of an object that have been written, as seen by a lane of the current warp.
    pub(crate) fn written(&mut self, s: &State<'_>, object: u32, lane: usize) -> WrittenBytes<'_> {
        if let Some(Home::Private(index)) = s.memory.object(object).map(|info| info.home) {
            return WrittenBytes::Private(&mut self.shadow_mut(s).private_written[index as usize], lane);
        }
        let watched = self.objects.get_mut(object as usize);
        watched.and_then(|watched| watched.written.as_mut()).map_or(WrittenBytes::All, WrittenBytes::Shared)
    }

    /// Updates the written state for a store that is about to run, from the shadow of the value.
    pub(crate) fn taint_store(&mut self, s: &State<'_>, i: &Inst, touch: &Touch) {
        let Some(value) = i.args.get(1).copied().filter(|slot| *slot != NONE) else { return };
        let size = touch.bytes / usize::from(i.components).max(1);
        let missing = |shadow: &Shadow, lane: usize| {
            mask_of(touch.bytes, |byte| {
                let bits = shadow.rows.bits(value, byte / size * WIDTH + lane, size as u32);
                bits.to_le_bytes()[byte % size] != 0
            })
        };
        let shadow = self.shadow(s);
        let mut unknown = shadow.tainted && !shadow.is_clean(value);
        if unknown {
            // Bytes that are only put back may be unwritten, and stay unwritten.
            let puts_back = self.partial.put_back(i.origin);
            let stays = puts_back != 0 && lanes(s.mask).all(|lane| missing(shadow, lane) & !puts_back == 0);
            let first = s.mask.trailing_zeros() as usize;
            if !stays && matches!(s.home(s.address(touch.pointer, first)), Some(Home::Global(_))) {
                used(self, s, i, value, 1, "the value stored here");
                unknown = false;
            }
        }
        if !unknown && self.all_written(s, touch) {
            return;
        }
        for lane in lanes(s.mask) {
            let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
            let missing = if unknown { missing(self.shadow(s), lane) } else { 0 };
            self.written(s, object, lane).store(offset as usize, touch.bytes, missing);
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
        if self.all_written(s, touch) {
            return;
        }
        let single = s.warp.rows.words(touch.pointer).len() == 1;
        let size = (touch.bytes / usize::from(i.components).max(1)).max(1);
        let mut born: Option<(u32, usize)> = None;
        for lane in lanes(good) {
            let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
            let written = self.written(s, object, lane);
            // All lanes read the same bytes.
            let same = single && !matches!(written, WrittenBytes::Private(..));
            let missing = written.missing(offset as usize, touch.bytes);
            if missing != 0 {
                let shadow = self.shadow_mut(s);
                let to = if same { good } else { 1 << lane };
                for component in 0..usize::from(i.components) {
                    let bits = (0..size)
                        .filter(|byte| missing >> (component * size + byte) & 1 == 1)
                        .fold(0, |bits, byte| bits | 255 << (8 * byte));
                    for lane in lanes(if i.width == 1 { 1 } else { to }) {
                        let index = component * usize::from(i.width) + lane;
                        shadow.rows.set_bits(i.out, index, size as u32, bits);
                    }
                }
                born.get_or_insert((object, lane));
            }
            if same {
                break;
            }
        }
        if touch.atomic && touch.writes {
            for lane in lanes(good) {
                let (object, offset) = s.memory.parts(s.address(touch.pointer, lane));
                self.written(s, object, lane).store(offset as usize, touch.bytes, 0);
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
}
