//! Reports unwritten values where the outcome depends on them.

use tripipe_ir as ir;
use tripipe_ir::Op;

use super::flow::{fresh, ty};
use crate::execute::code::{Inst, component_bytes};
use crate::execute::state::State;
use crate::watch::findings::Occurrence;
use crate::watch::rules;
use crate::watch::state::Watch;

/// An operation whose operands all matter: a printed value, a texel. Its result is written.
pub(crate) fn matters(watch: &mut Watch, s: &mut State<'_>, i: &Inst) {
    if watch.shadow(s).tainted {
        for operand in 0..s.kernel.insts[i.origin].operands.len() {
            used(watch, s, i, i.arg(operand), operand, "the value stored here");
        }
    }
    fresh(watch, s, i);
}

/// A register determines an address.
pub(crate) fn address(watch: &mut Watch, s: &State<'_>, i: &Inst, slot: u32, operand: usize) {
    if watch.shadow(s).tainted {
        used(watch, s, i, slot, operand, "the address accessed here");
    }
}

/// A register determines a branch.
pub(crate) fn branch(watch: &mut Watch, s: &State<'_>, slot: u32, bytes: u32, last: Option<ir::Inst>) {
    let shadow = watch.shadow(s);
    if !shadow.tainted {
        return;
    }
    let which = shadow.lanes(slot, s.code.slots[slot as usize], 0, bytes) & s.mask;
    if which != 0 {
        report(watch, s, last, slot, which, "the path taken here");
        watch.shadow_mut(s).clear(slot);
    }
}

/// A register is used where its value matters: reports it once, then treats it as written.
pub(crate) fn used(watch: &mut Watch, s: &State<'_>, i: &Inst, slot: u32, operand: usize, what: &str) {
    let Some(ty) = ty(s, i, operand) else { return };
    let bytes = component_bytes(ty);
    let (shadow, shape) = (watch.shadow(s), s.code.slots[slot as usize]);
    let mask = (0..usize::from(ty.lanes()))
        .fold(0, |mask, component| mask | shadow.lanes(slot, shape, component, bytes));
    if mask & s.mask == 0 {
        return;
    }
    report(watch, s, Some(i.origin), slot, mask & s.mask, what);
    watch.shadow_mut(s).clear(slot);
}

/// Records that work-items, one bit each in `which`, depend on a register's unwritten bits.
pub(super) fn report(
    watch: &mut Watch,
    s: &State<'_>,
    at: Option<ir::Inst>,
    slot: u32,
    which: u64,
    what: &str,
) {
    let lane = which.trailing_zeros();
    if !watch.checks.has(&rules::UNINITIALISED_VALUE) {
        return;
    }
    let birth = watch.shadow(s).origins.get(slot as usize).copied().filter(|origin| *origin != u32::MAX);
    let birth = birth.map(ir::Inst::from_u32).filter(|inst| s.kernel.insts.is_valid(*inst));
    watch.findings.note(&rules::UNINITIALISED_VALUE, at, u64::from(which.count_ones()), || {
        let name = birth.and_then(|inst| {
            let data = &s.kernel.insts[inst];
            let value = data.result?;
            match data.op {
                Op::Undefined => {
                    s.kernel.names[value].as_ref().map(|name| format!("`{name}`, which was never written"))
                }
                _ => None,
            }
        });
        let loaded = watch.births.get(&birth.map_or(u32::MAX, ir::Inst::as_u32)).cloned();
        let from = name.or(loaded).unwrap_or_else(|| "a value that was never written".into());
        let message = format!("{what} depends on {from}");
        let fix = "Write the variable or the memory before it is read, on every path that leads here.";
        let found = Occurrence::new(&s.group, s.item(lane as usize), message, fix);
        match birth.filter(|birth| Some(*birth) != at) {
            Some(birth) => found.with("it comes from here", birth, None),
            None => found,
        }
    });
}
