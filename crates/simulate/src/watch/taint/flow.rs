//! Tracks unwritten values, bit by bit, to the places where they matter.
//!
//! In a checked launch each register has a shadow register: a bit is set if the corresponding bit of the value comes
//! from memory or a variable that was never written. Shadows are maintained only after a warp has met such a value. A
//! finding is made when the outcome depends on it: a branch, an address, a store to a buffer, an image or an atomic;
//! not when padding is copied, a lane is masked, or a bit is discarded.

use tripipe_ir as ir;
use tripipe_ir::op::{Binary, Builtin, Compare, Number, Unary};
use tripipe_ir::{Initial, Op, Type};

use super::access::{Touch, address_of};
use super::findings::{Occurrence, work_item};
use super::{Watch, rules};
use crate::execute::code::{Inst, NONE};
use crate::execute::decode::component_bytes;
use crate::execute::layout::Layout;
use crate::execute::memory::{Home, parts};
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;

/// A pure operation: computes the value, then its shadow if the warp is tainted.
pub(super) fn pure(s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    pure_after(s, i);
    goes_on
}

/// Computes the shadow of an instruction's result, if needed.
#[inline]
pub(super) fn pure_after(s: &mut State<'_>, i: &Inst) {
    if s.warp.tainted && i.out != NONE {
        follow(s, i);
    }
}

/// Copies a value and its shadow from one lane to all lanes.
pub(crate) fn splat(s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    if s.warp.tainted {
        on_shadows(s, i, &[true]);
    }
    goes_on
}

/// A read of a variable before it is written.
pub(super) fn undefined(s: &mut State<'_>, i: &Inst) -> bool {
    s.warp.tainted = true;
    let shadow = i.out + s.code.shadow;
    let mask = s.mask;
    let ones = vec![u64::MAX; s.warp.rows.words(shadow).len()];
    if i.width == 1 {
        s.warp.rows.words_mut(shadow).copy_from_slice(&ones);
    } else {
        let components = usize::from(i.components);
        crate::execute::state::restore(s.warp.rows.words_mut(shadow), &ones, components, mask);
    }
    s.warp.origins[i.out as usize] = i.origin.as_u32();
    true
}

/// Starts the lifetime of a private object: its bytes are unwritten.
pub(super) fn lifetime_start(s: &mut State<'_>, i: &Inst) -> bool {
    if let Op::LifetimeStart(object) = s.kernel.insts[i.origin].op {
        let number = Layout::kernel_object(object.as_u32());
        if let Some(Home::Private(index)) = s.memory.object(number).map(|info| info.home) {
            let mask = s.mask;
            s.warp.private_dead[index as usize] &= !mask;
            for written in &mut s.warp.private_written[index as usize] {
                *written &= !mask;
            }
        }
    }
    true
}

/// Ends the lifetime of a private object.
pub(super) fn lifetime_end(s: &mut State<'_>, i: &Inst) -> bool {
    if let Op::LifetimeEnd(object) = s.kernel.insts[i.origin].op {
        let number = Layout::kernel_object(object.as_u32());
        if let Some(Home::Private(index)) = s.memory.object(number).map(|info| info.home) {
            s.warp.private_dead[index as usize] |= s.mask;
        }
    }
    true
}

/// An operation whose operands all matter: a printed value, a texel.
pub(super) fn matters(s: &mut State<'_>, i: &Inst) -> bool {
    if s.warp.tainted
        && let Some(mut watch) = s.watch.take()
    {
        let operands = s.kernel.insts[i.origin].operands.len();
        for operand in 0..operands {
            used(&mut watch, s, i, i.arg(operand), operand, "what leaves the kernel here");
        }
        s.watch = Some(watch);
    }
    (i.plain)(s, i)
}

/// Runs an instruction on the shadows of some of its operands.
fn on_shadows(s: &mut State<'_>, i: &Inst, which: &[bool]) {
    let shadow = s.code.shadow;
    let mut inst = i.clone();
    for (index, arg) in inst.args.iter_mut().enumerate() {
        if *arg != NONE && which.get(index).or(which.last()).copied().unwrap_or(true) {
            *arg += shadow;
        }
    }
    for (index, arg) in inst.more.iter_mut().enumerate() {
        if which.get(index).or(which.last()).copied().unwrap_or(true) {
            *arg += shadow;
        }
    }
    inst.out += shadow;
    (i.plain)(s, &inst);
    inherit(s, i);
}

/// The result inherits the origin of its first tainted operand.
fn inherit(s: &mut State<'_>, i: &Inst) {
    let operands = s.kernel.insts.get(i.origin).map_or(0, |data| data.operands.len());
    let shadow = s.code.shadow;
    let from = (0..operands.max(1))
        .map(|operand| i.arg(operand.min(if i.more.is_empty() { 3 } else { i.more.len() - 1 })))
        .find(|slot| *slot != NONE && s.warp.rows.words(slot + shadow).iter().any(|word| *word != 0));
    if let Some(slot) = from {
        s.warp.origins[i.out as usize] = s.warp.origins[slot as usize];
    }
}

/// Lanes of a register with any shadow bit set in a component.
fn tainted(s: &State<'_>, slot: u32, component: usize, bytes: u32) -> u64 {
    let row = slot + s.code.shadow;
    let single = s.code.slots[slot as usize].single;
    let count = if single { 1 } else { WIDTH };
    let mask = (0..count)
        .filter(|lane| s.warp.rows.bits(row, component * count + lane, bytes) != 0)
        .fold(0u64, |mask, lane| mask | 1 << lane);
    if single && mask != 0 { u64::MAX } else { mask }
}

fn ty(s: &State<'_>, i: &Inst, operand: usize) -> Option<Type> {
    s.kernel.insts.get(i.origin)?.operands.get(operand).map(|value| s.kernel.ty(*value))
}

/// Computes the shadow of a result.
fn follow(s: &mut State<'_>, i: &Inst) {
    let Some(data) = s.kernel.insts.get(i.origin) else { return };
    let shadow = s.code.shadow;
    let out = i.out + shadow;
    let clean = |s: &State<'_>, slot: u32| s.warp.rows.words(slot + shadow).iter().all(|word| *word == 0);
    let operands = data.operands.len();
    if (0..operands).all(|operand| clean(s, i.arg(operand))) {
        s.warp.rows.words_mut(out).fill(0);
        return;
    }
    match data.op {
        Op::Bitcast
        | Op::PointerToInt
        | Op::IntToPointer
        | Op::SpaceCast { checked: false }
        | Op::Construct
        | Op::Extract(_)
        | Op::Insert(_)
        | Op::Shuffle(_) => on_shadows(s, i, &[true]),
        Op::Convert(convert)
            if convert.from != Number::Float && convert.to != Number::Float && !convert.saturate =>
        {
            on_shadows(s, i, &[true]);
        }
        Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr) if clean(s, i.args[1]) => {
            on_shadows(s, i, &[true, false]);
        }
        Op::Binary(op @ (Binary::And | Binary::Or)) => {
            words(s, i, |[a, b, _], [sa, sb, _]| {
                let (a, b) = if op == Binary::And { (a, b) } else { (!a, !b) };
                // A bit that is known to be 0 makes the result bit known to be 0.
                (sa | sb) & (a | sa) & (b | sb)
            });
        }
        Op::Binary(Binary::Xor) => words(s, i, |_, [a, b, _]| a | b),
        Op::Unary(Unary::Not | Unary::FNeg) => words(s, i, |_, [a, ..]| a),
        Op::Builtin(Builtin::Bitselect) => {
            words(s, i, |[a, b, c], [sa, sb, sc]| sa & !c | sb & c | sc & (a ^ b | sa | sb));
        }
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul) => {
            each(s, i, |sums| {
                let bits = sums.iter().fold(0, |all, bits| all | bits);
                // Carries propagate only upward.
                bits | bits.wrapping_neg()
            });
        }
        Op::Compare(Compare::Eq | Compare::Ne) => {
            let bytes = ty(s, i, 0).map_or(8, component_bytes);
            let width = usize::from(i.width);
            for index in 0..width * usize::from(i.components) {
                let bits = |slot: u32| s.warp.rows.bits(slot, index, bytes);
                let unknown = bits(i.args[0] + shadow) | bits(i.args[1] + shadow);
                let differ = (bits(i.args[0]) ^ bits(i.args[1])) & !unknown != 0;
                let bit = u64::from(unknown != 0 && !differ);
                s.warp.rows.set_bits(out, index, 1, bit);
            }
            inherit(s, i);
        }
        Op::Select => select(s, i),
        _ => generic(s, i),
    }
}

/// Computes a shadow from values and shadows, 64 bits at a time.
fn words(s: &mut State<'_>, i: &Inst, f: impl Fn([u64; 3], [u64; 3]) -> u64) {
    let shadow = s.code.shadow;
    let mut out = s.warp.rows.take(i.out + shadow);
    for (index, out) in out.iter_mut().enumerate() {
        let word = |slot: u32| if slot == NONE { 0 } else { s.warp.rows.words(slot)[index] };
        let of = |operand: usize| if i.args[operand] == NONE { NONE } else { i.args[operand] + shadow };
        *out =
            f([word(i.args[0]), word(i.args[1]), word(i.args[2])], [word(of(0)), word(of(1)), word(of(2))]);
    }
    s.warp.rows.put(i.out + shadow, out);
    inherit(s, i);
}

/// Computes a shadow from the shadows of the operands, number by number.
fn each(s: &mut State<'_>, i: &Inst, f: impl Fn(&[u64]) -> u64) {
    let shadow = s.code.shadow;
    let bytes = ty(s, i, 0).map_or(8, component_bytes);
    let operands = s.kernel.insts[i.origin].operands.len().min(4);
    for index in 0..usize::from(i.width) * usize::from(i.components) {
        let mut shadows = [0; 4];
        for (operand, bits) in shadows.iter_mut().enumerate().take(operands) {
            *bits = s.warp.rows.bits(i.args[operand] + shadow, index, bytes);
        }
        s.warp.rows.set_bits(i.out + shadow, index, bytes, f(&shadows[..operands]));
    }
    inherit(s, i);
}

fn select(s: &mut State<'_>, i: &Inst) {
    let shadow = s.code.shadow;
    on_shadows(s, i, &[false, true, true]);
    let bytes = ty(s, i, 1).map_or(8, component_bytes);
    let width = usize::from(i.width);
    let each_component = ty(s, i, 0).is_some_and(|ty| ty.lanes() > 1);
    for index in 0..width * usize::from(i.components) {
        let condition = if each_component { index } else { index % width };
        if s.warp.rows.bits(i.args[0] + shadow, condition, 1) != 0 {
            let bits = |slot: u32| s.warp.rows.bits(slot, index, bytes);
            let differ =
                (bits(i.args[1]) ^ bits(i.args[2])) | bits(i.args[1] + shadow) | bits(i.args[2] + shadow);
            s.warp.rows.set_bits(i.out + shadow, index, bytes, differ);
        }
    }
}

/// Any unknown bit makes the whole result unknown: per component for component-wise operations, otherwise for all
/// components.
fn generic(s: &mut State<'_>, i: &Inst) {
    let data = &s.kernel.insts[i.origin];
    let Some(result) = data.result.map(|result| s.kernel.ty(result)) else { return };
    let alike = data.operands.iter().all(|operand| s.kernel.ty(*operand).lanes() == result.lanes())
        && !matches!(data.op, Op::Builtin(Builtin::Cross | Builtin::Normalize | Builtin::FastNormalize));
    let width = usize::from(i.width);
    let count = data.operands.len();
    let mut all = 0;
    let mut masks = [0; Type::MAX_LANES];
    for operand in 0..count {
        let Some(ty) = ty(s, i, operand) else { continue };
        for (component, masked) in masks.iter_mut().enumerate().take(usize::from(ty.lanes())) {
            let mask = tainted(s, i.arg(operand), component, component_bytes(ty));
            *masked |= mask;
            all |= mask;
        }
    }
    let bytes = component_bytes(result);
    let ones = if result.is_bool() { 1 } else { u64::MAX };
    for (component, mask) in masks.iter().enumerate().take(usize::from(result.lanes())) {
        let mask = if alike { *mask } else { all };
        for lane in 0..width {
            let bits = if mask >> lane & 1 == 1 { ones } else { 0 };
            s.warp.rows.set_bits(i.out + s.code.shadow, component * width + lane, bytes, bits);
        }
    }
    inherit(s, i);
}

/// A register determines an address.
pub(super) fn address(watch: &mut Watch, s: &mut State<'_>, i: &Inst, slot: u32, operand: usize) {
    if s.warp.tainted {
        used(watch, s, i, slot, operand, "the address accessed here");
    }
}

/// A register determines a branch.
pub(crate) fn branch(s: &mut State<'_>, slot: u32, bytes: u32, place: Option<ir::Inst>) {
    if !s.warp.tainted || tainted(s, slot, 0, bytes) & s.mask == 0 {
        return;
    }
    if let Some(mut watch) = s.watch.take() {
        let which = tainted(s, slot, 0, bytes) & s.mask;
        report(&mut watch, s, place, slot, which, "the way taken here");
        s.warp.rows.words_mut(slot + s.code.shadow).fill(0);
        s.watch = Some(watch);
    }
}

/// A register is used where its value matters: reports it once, then treats it as written.
pub(super) fn used(watch: &mut Watch, s: &mut State<'_>, i: &Inst, slot: u32, operand: usize, what: &str) {
    let Some(ty) = ty(s, i, operand) else { return };
    let bytes = component_bytes(ty);
    let mask =
        (0..usize::from(ty.lanes())).fold(0, |mask, component| mask | tainted(s, slot, component, bytes));
    if mask & s.mask == 0 {
        return;
    }
    report(watch, s, Some(i.origin), slot, mask & s.mask, what);
    s.warp.rows.words_mut(slot + s.code.shadow).fill(0);
}

/// Records that work-items, one bit each in `which`, depend on a register's unwritten bits.
fn report(watch: &mut Watch, s: &State<'_>, at: Option<ir::Inst>, slot: u32, which: u64, what: &str) {
    let lane = which.trailing_zeros();
    if !watch.checks.has(&rules::UNINITIALISED_VALUE) {
        return;
    }
    let birth = s.warp.origins.get(slot as usize).copied().filter(|origin| *origin != u32::MAX);
    let birth = birth.map(ir::Inst::from_u32).filter(|inst| s.kernel.insts.is_valid(*inst));
    watch.findings.note(&rules::UNINITIALISED_VALUE, at, u64::from(which.count_ones()), || {
        let name = birth.and_then(|inst| {
            let data = &s.kernel.insts[inst];
            let value = data.result?;
            match data.op {
                Op::Undefined => {
                    s.kernel.names[value].as_ref().map(|name| format!("`{name}`, which nobody has written"))
                }
                _ => None,
            }
        });
        let loaded = watch.births.get(&birth.map_or(u32::MAX, ir::Inst::as_u32)).cloned();
        let from = name.or(loaded).unwrap_or_else(|| "a value that nobody has written".into());
        Occurrence {
            message: format!("{what} depends on {from}"),
            cure: "Write the variable or the memory before it is read, on every way that leads here.".into(),
            work_item: Some(work_item(&s.group, u64::from(s.warp.first_item) + u64::from(lane))),
            memory: None,
            related: birth
                .filter(|birth| Some(*birth) != at)
                .map(|birth| ("it comes from here".to_owned(), Some(birth), None))
                .into_iter()
                .collect(),
        }
    });
}

impl Watch {
    /// Updates the written state for a store that is about to run, from the shadow of the value.
    pub(super) fn taint_store(&mut self, s: &mut State<'_>, i: &Inst, touch: &Touch) {
        let Some(value) = i.args.get(1).copied().filter(|slot| *slot != NONE) else { return };
        let size = touch.bytes / usize::from(i.components).max(1);
        let shadow = value + s.code.shadow;
        let mut unknown = s.warp.tainted && s.warp.rows.words(shadow).iter().any(|word| *word != 0);
        let puts_back = if unknown { self.partial.put_back(i.origin) } else { 0 };
        let alone = lanes(s.mask).all(|lane| {
            (0..touch.bytes).filter(|byte| puts_back >> byte & 1 == 0).all(|byte| {
                let bits = s.warp.rows.bits(shadow, byte / size * WIDTH + lane, size as u32);
                bits.to_le_bytes()[byte % size] == 0
            })
        });
        // Bytes that are only put back may be unwritten, and stay unwritten.
        let stays = unknown && puts_back != 0 && alone;
        if unknown && !stays {
            let first = s.mask.trailing_zeros() as usize;
            let (object, _) = parts(address_of(s, touch.pointer, first));
            if s.memory.object(object).is_some_and(|info| matches!(info.home, Home::Global(_))) {
                used(self, s, i, value, 1, "what is stored here");
                unknown = false;
            }
        }
        if !unknown && self.all_written(s, touch) {
            return;
        }
        for lane in lanes(s.mask) {
            let (object, offset) = parts(address_of(s, touch.pointer, lane));
            let offset = offset as usize;
            let Some(home) = s.memory.object(object).map(|info| info.home) else { continue };
            match home {
                Home::Private(index) => {
                    for byte in 0..touch.bytes {
                        let bits = s.warp.rows.bits(shadow, byte / size * WIDTH + lane, size as u32);
                        let known = !unknown || bits.to_le_bytes()[byte % size] == 0;
                        let written = &mut s.warp.private_written[index as usize][offset + byte];
                        *written = if known { *written | 1 << lane } else { *written & !(1 << lane) };
                    }
                }
                Home::Global(_) | Home::Local(_) => {
                    let Some(Some(written)) =
                        self.objects.get_mut(object as usize).map(|watched| watched.written.as_mut())
                    else {
                        continue;
                    };
                    written.set(offset, touch.bytes);
                    if unknown {
                        for byte in 0..touch.bytes {
                            let bits = s.warp.rows.bits(shadow, byte / size * WIDTH + lane, size as u32)
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
        let (low, high, _) = super::access::extremes(s, touch.pointer);
        let (object, start) = parts(low);
        if parts(high).0 != object {
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
    pub(super) fn taint_load(&mut self, s: &mut State<'_>, i: &Inst, touch: &Touch, good: u64) {
        let shadow = i.out + s.code.shadow;
        if s.warp.tainted {
            s.warp.rows.words_mut(shadow).fill(0);
        }
        let single = s.warp.rows.words(touch.pointer).len() == 1;
        if self.all_written(s, touch) {
            return;
        }
        let size = (touch.bytes / usize::from(i.components).max(1)).max(1);
        let mut born: Option<(u32, usize)> = None;
        for lane in lanes(good) {
            let (object, offset) = parts(address_of(s, touch.pointer, lane));
            let offset = offset as usize;
            let Some(home) = s.memory.object(object).map(|info| info.home) else { continue };
            let unwritten = |s: &State<'_>, byte: usize| match home {
                Home::Private(index) => {
                    s.warp.private_written[index as usize][offset + byte] >> lane & 1 == 0
                }
                _ => self
                    .objects
                    .get(object as usize)
                    .and_then(|watched| watched.written.as_ref())
                    .is_some_and(|written| !written.has(offset + byte)),
            };
            let any = match home {
                Home::Private(_) => (0..touch.bytes).any(|byte| unwritten(s, byte)),
                _ => match self.objects.get(object as usize).and_then(|watched| watched.written.as_ref()) {
                    Some(written) => !written.all(offset, touch.bytes),
                    None => false,
                },
            };
            if any {
                for component in 0..usize::from(i.components) {
                    let bits = (0..size)
                        .filter(|byte| unwritten(s, component * size + byte))
                        .fold(0u64, |bits, byte| bits | 255 << (8 * byte));
                    let width = usize::from(i.width);
                    let lane = if width == 1 { 0 } else { lane };
                    s.warp.rows.set_bits(shadow, component * width + lane, size as u32, bits);
                }
                born.get_or_insert((object, lane));
            }
            if single && !matches!(home, Home::Private(_)) {
                if any {
                    // All lanes read the same bytes.
                    for other in lanes(good & !(1 << lane)) {
                        for component in 0..usize::from(i.components) {
                            if i.width != 1 {
                                let bits = s.warp.rows.bits(shadow, component * WIDTH + lane, size as u32);
                                s.warp.rows.set_bits(shadow, component * WIDTH + other, size as u32, bits);
                            }
                        }
                    }
                }
                break;
            }
        }
        if touch.atomic && touch.writes {
            for lane in lanes(good) {
                let (object, offset) = parts(address_of(s, touch.pointer, lane));
                if let Some(Some(written)) =
                    self.objects.get_mut(object as usize).map(|watched| watched.written.as_mut())
                {
                    written.set(offset as usize, touch.bytes);
                }
            }
        }
        let Some((object, lane)) = born else { return };
        s.warp.tainted = true;
        s.warp.origins[i.out as usize] = i.origin.as_u32();
        if let Some(info) = s.memory.object(object) {
            let text = format!("`{}`, read before anybody has written it", info.name);
            self.births.entry(i.origin.as_u32()).or_insert(text);
        }
        // An exchange does not depend on the previous value.
        let exchange = matches!(
            s.kernel.insts[i.origin].op,
            Op::Atomic(ir::op::Atomic { op: ir::op::AtomicOp::Exchange, .. })
        );
        if touch.atomic && touch.writes && !exchange {
            report(self, s, Some(i.origin), i.out, 1 << lane, "what this atomic makes");
            s.warp.rows.words_mut(shadow).fill(0);
        }
    }
}

/// The bytes of private objects that are written when a warp starts: for each byte, all lanes or none.
pub(crate) fn private_written(kernel: &ir::Kernel) -> Vec<Vec<u64>> {
    kernel
        .objects
        .values()
        .filter(|object| object.space != ir::Space::Local)
        .map(|object| {
            let known = object.initial != Initial::Unwritten;
            vec![if known { u64::MAX } else { 0 }; object.bytes() as usize]
        })
        .collect()
}
