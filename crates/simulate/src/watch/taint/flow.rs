//! Computes the shadows of results from the shadows of operands.

use tripipe_ir::op::{Binary, Builtin, Compare, Number, Unary};
use tripipe_ir::{Op, Type};

use crate::execute::code::{Inst, NONE, component_bytes};
use crate::execute::rows::Rows;
use crate::execute::state::State;
use crate::watch::shadow::Shadow;
use crate::watch::state::Watch;

/// A pure operation: computes the value, then its shadow if the warp is tainted.
pub(crate) fn pure(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = (i.plain)(s, i);
    pure_after(watch, s, i);
    goes_on
}

/// Computes the shadow of an instruction's result, if the warp is tainted.
#[inline]
pub(crate) fn pure_after(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    let shadow = watch.shadow_mut(s);
    if shadow.tainted && i.out != NONE {
        follow(shadow, s, i);
    }
}

/// An instruction whose result does not come from the values of operands, such as an id: the result is written.
pub(crate) fn fresh(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    let shadow = watch.shadow_mut(s);
    if shadow.tainted && i.out != NONE {
        shadow.clear(i.out);
    }
}

/// Copies the shadow of one lane to all lanes.
pub(crate) fn splat(shadow: &mut Shadow, s: &mut State<'_>, i: &Inst) {
    if shadow.tainted {
        on_shadows(shadow, s, i, &[true]);
    }
}

/// The type of an operand; `None` if the instruction does not have it.
pub(crate) fn ty(s: &State<'_>, i: &Inst, operand: usize) -> Option<Type> {
    s.kernel.insts.get(i.origin)?.operands.get(operand).map(|value| s.kernel.ty(*value))
}

/// Runs an instruction on the shadows of some of its operands; `which` says so for each, its last element for all
/// later operands. The warp borrows the shadows as additional registers.
fn on_shadows(shadow: &mut Shadow, s: &mut State<'_>, i: &Inst, which: &[bool]) {
    let mut inst = i.clone();
    let mut borrowed: Vec<u32> = Vec::new();
    let mut borrow = |register: u32| {
        if let Some(index) = borrowed.iter().position(|other| *other == register) {
            return s.warp.rows.len() - (borrowed.len() - index) as u32;
        }
        borrowed.push(register);
        s.warp.rows.push(shadow.rows.take(register))
    };
    let wanted = |index: usize| which.get(index).or(which.last()).copied().unwrap_or(true);
    for (index, arg) in inst.args.iter_mut().enumerate() {
        if *arg != NONE && wanted(index) {
            *arg = borrow(*arg);
        }
    }
    for (index, arg) in inst.more.iter_mut().enumerate() {
        if wanted(index) {
            *arg = borrow(*arg);
        }
    }
    inst.out = borrow(inst.out);
    (i.plain)(s, &inst);
    while let Some(register) = borrowed.pop()
        && let Some(row) = s.warp.rows.pop()
    {
        shadow.rows.put(register, row);
    }
    inherit(shadow, s, i);
}

/// The result inherits the origin of its first tainted operand.
fn inherit(shadow: &mut Shadow, s: &State<'_>, i: &Inst) {
    let operands = s.kernel.insts.get(i.origin).map_or(0, |data| data.operands.len());
    let from = (0..operands.max(1))
        .map(|operand| i.arg(operand.min(if i.more.is_empty() { 3 } else { i.more.len() - 1 })))
        .find(|slot| *slot != NONE && !shadow.is_clean(*slot));
    if let Some(slot) = from {
        shadow.origins[i.out as usize] = shadow.origins[slot as usize];
    }
}

/// Computes the shadow of a result.
fn follow(shadow: &mut Shadow, s: &mut State<'_>, i: &Inst) {
    let Some(data) = s.kernel.insts.get(i.origin) else { return };
    let operands = data.operands.len();
    if (0..operands).all(|operand| shadow.is_clean(i.arg(operand))) {
        shadow.clear(i.out);
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
        | Op::Shuffle(_) => on_shadows(shadow, s, i, &[true]),
        Op::Convert(convert)
            if convert.from != Number::Float && convert.to != Number::Float && !convert.saturate =>
        {
            on_shadows(shadow, s, i, &[true]);
        }
        Op::Binary(Binary::Shl | Binary::LShr | Binary::AShr) if shadow.is_clean(i.args[1]) => {
            on_shadows(shadow, s, i, &[true, false]);
        }
        Op::Binary(op @ (Binary::And | Binary::Or)) => {
            words(shadow, s, i, |[a, b, _], [sa, sb, _]| {
                let (a, b) = if op == Binary::And { (a, b) } else { (!a, !b) };
                // A bit that is known to be 0 makes the result bit known to be 0.
                (sa | sb) & (a | sa) & (b | sb)
            });
        }
        Op::Binary(Binary::Xor) => words(shadow, s, i, |_, [a, b, _]| a | b),
        Op::Unary(Unary::Not | Unary::FNeg) => words(shadow, s, i, |_, [a, ..]| a),
        Op::Builtin(Builtin::Bitselect) => {
            words(shadow, s, i, |[a, b, c], [sa, sb, sc]| sa & !c | sb & c | sc & (a ^ b | sa | sb));
        }
        Op::Binary(Binary::Add | Binary::Sub | Binary::Mul) => {
            each(shadow, s, i, |sums| {
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
                let unknown = |slot: u32| shadow.rows.bits(slot, index, bytes);
                let unknown = unknown(i.args[0]) | unknown(i.args[1]);
                let differ = (bits(i.args[0]) ^ bits(i.args[1])) & !unknown != 0;
                let bit = u64::from(unknown != 0 && !differ);
                shadow.rows.set_bits(i.out, index, 1, bit);
            }
            inherit(shadow, s, i);
        }
        Op::Select => select(shadow, s, i),
        _ => generic(shadow, s, i),
    }
}

/// Computes a shadow from values and shadows, 64 bits at a time.
fn words(shadow: &mut Shadow, s: &State<'_>, i: &Inst, f: impl Fn([u64; 3], [u64; 3]) -> u64) {
    let mut out = shadow.rows.take(i.out);
    for (index, out) in out.iter_mut().enumerate() {
        let word = |rows: &Rows, operand: usize| match i.args[operand] {
            NONE => 0,
            slot => rows.words(slot)[index],
        };
        let each = |rows: &Rows| [word(rows, 0), word(rows, 1), word(rows, 2)];
        *out = f(each(&s.warp.rows), each(&shadow.rows));
    }
    shadow.rows.put(i.out, out);
    inherit(shadow, s, i);
}

/// Computes a shadow from the shadows of the operands, number by number.
fn each(shadow: &mut Shadow, s: &State<'_>, i: &Inst, f: impl Fn(&[u64]) -> u64) {
    let bytes = ty(s, i, 0).map_or(8, component_bytes);
    let operands = s.kernel.insts[i.origin].operands.len().min(4);
    for index in 0..usize::from(i.width) * usize::from(i.components) {
        let mut shadows = [0; 4];
        for (operand, bits) in shadows.iter_mut().enumerate().take(operands) {
            *bits = shadow.rows.bits(i.args[operand], index, bytes);
        }
        shadow.rows.set_bits(i.out, index, bytes, f(&shadows[..operands]));
    }
    inherit(shadow, s, i);
}

fn select(shadow: &mut Shadow, s: &mut State<'_>, i: &Inst) {
    on_shadows(shadow, s, i, &[false, true, true]);
    let bytes = ty(s, i, 1).map_or(8, component_bytes);
    let width = usize::from(i.width);
    let each_component = ty(s, i, 0).is_some_and(|ty| ty.lanes() > 1);
    for index in 0..width * usize::from(i.components) {
        let condition = if each_component { index } else { index % width };
        if shadow.rows.bits(i.args[0], condition, 1) != 0 {
            let [value, other] = [1, 2].map(|operand| s.warp.rows.bits(i.args[operand], index, bytes));
            let [unknown, other_unknown] =
                [1, 2].map(|operand| shadow.rows.bits(i.args[operand], index, bytes));
            shadow.rows.set_bits(i.out, index, bytes, (value ^ other) | unknown | other_unknown);
        }
    }
}

/// Any unknown bit makes the whole result unknown: per component for component-wise operations, otherwise for all
/// components.
fn generic(shadow: &mut Shadow, s: &State<'_>, i: &Inst) {
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
            let slot = i.arg(operand);
            let mask = shadow.lanes(slot, s.code.slots[slot as usize], component, component_bytes(ty));
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
            shadow.rows.set_bits(i.out, component * width + lane, bytes, bits);
        }
    }
    inherit(shadow, s, i);
}
