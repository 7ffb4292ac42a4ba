//! Splits copies of whole values into or out of private variables, value by value.
//!
//! In LLVM a struct assignment is a copy of bytes. Split into values, the variable can be promoted, and the copy's
//! reads and writes have their own types. Padding is not copied then: nothing reads it.

use crate::op::{AccessAttributes, Address};
use crate::{Initial, Inst, Kernel, Object, Op, Space, Type, Value};

/// Maximum number of values that a copy is split into; larger ones stay copies.
const MOST_VALUES: usize = 64;

/// The private object that a pointer points into at a constant offset, and the offset.
pub(super) fn resolve(kernel: &Kernel, mut pointer: Value) -> Option<(Object, i64)> {
    let mut offset = 0_i64;
    loop {
        let inst = &kernel.insts[kernel.defining(pointer)?];
        match inst.op {
            Op::ObjectAddress(object) => return Some((object, offset)),
            Op::Address(Address { stride: 0, offset: more, .. }) => offset = offset.wrapping_add(more),
            Op::SpaceCast { checked: false } => {}
            _ => return None,
        }
        pointer = *inst.operands.first()?;
    }
}

/// Splits copies that cover whole values of a private object.
pub fn run(kernel: &mut Kernel) {
    for block in kernel.blocks.keys() {
        let mut insts = Vec::with_capacity(kernel.blocks[block].insts.len());
        for inst in std::mem::take(&mut kernel.blocks[block].insts) {
            match parts(kernel, inst) {
                Some((access, parts)) => take_apart(kernel, inst, access, &parts, &mut insts),
                None => insts.push(inst),
            }
        }
        kernel.blocks[block].insts = insts;
    }
}

/// Offsets and types of the values that a copy moves, if it can be split.
fn parts(kernel: &Kernel, inst: Inst) -> Option<(AccessAttributes, Vec<(u64, Type)>)> {
    let data = &kernel.insts[inst];
    let (Op::Copy(access), [to, from, count]) = (data.op, &data.operands[..]) else { return None };
    let bytes = kernel.scalar_constant(*count)?;
    if access.volatile {
        return None;
    }
    [*to, *from].into_iter().find_map(|pointer| {
        let (object, start) = resolve(kernel, pointer)?;
        let object = &kernel.objects[object];
        let start = u64::try_from(start).ok()?;
        let end = start.checked_add(bytes)?;
        if object.space != Space::Private || object.initial != Initial::Unwritten || end > object.bytes() {
            return None;
        }
        let mut parts = Vec::new();
        let mut whole = true;
        object.layout.leaves(0, &mut |offset, ty| {
            let last = offset + u64::from(ty.bytes());
            if offset >= start && last <= end {
                parts.push((offset - start, ty));
            } else if last > start && offset < end {
                whole = false;
            }
            whole && parts.len() <= MOST_VALUES && offset < end
        });
        (whole && parts.len() <= MOST_VALUES && !parts.is_empty()).then_some((access, parts))
    })
}

fn take_apart(
    kernel: &mut Kernel,
    inst: Inst,
    access: AccessAttributes,
    parts: &[(u64, Type)],
    insts: &mut Vec<Inst>,
) {
    let data = &kernel.insts[inst];
    let (to, from, location) = (data.operands[0], data.operands[1], data.location);
    for (offset, ty) in parts {
        let step = if *offset == 0 { access.align } else { 1 << offset.trailing_zeros().min(31) };
        let access = AccessAttributes { align: access.align.min(step), ..access };
        let mut at = |kernel: &mut Kernel, base: Value| {
            if *offset == 0 {
                return base;
            }
            let address = Address { stride: 0, offset: offset.cast_signed(), count: None, in_bounds: true };
            let made = kernel.make_inst(Op::Address(address), &[base], Some(kernel.ty(base)), location);
            insts.push(made);
            kernel.insts[made].result.unwrap_or(base)
        };
        let (source, target) = (at(kernel, from), at(kernel, to));
        let load = kernel.make_inst(Op::Load(access), &[source], Some(*ty), location);
        insts.push(load);
        if let Some(value) = kernel.insts[load].result {
            insts.push(kernel.make_inst(Op::Store(access), &[target, value], None, location));
        }
    }
}
