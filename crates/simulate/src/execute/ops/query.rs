//! Queries about the work-item, its group and the range.

use tripipe_ir::op::{Query, QueryKind};

use crate::execute::code::{Detail, Inst, Run};
use crate::execute::range::Group;
use crate::execute::rows::numbers_mut;
use crate::execute::state::State;

pub(super) fn select(query: Query) -> Option<(Run, Detail)> {
    let run: Run = match query.kind {
        QueryKind::GlobalId => {
            |s, i| ids(s, i, |group, d| group.offset[d] + group.id[d] * group.enqueued_local[d])
        }
        QueryKind::LocalId => |s, i| ids(s, i, |_, _| 0),
        QueryKind::GlobalLinearId => |s, i| {
            items(s, i, |s, _, item| {
                let id = s.group.global_id(item);
                // OpenCL's linear ids start at 0, without the offset.
                let [x, y, z] = std::array::from_fn(|d| id[d] - s.group.offset[d]);
                (z * s.group.global[1] + y) * s.group.global[0] + x
            })
        },
        QueryKind::LocalLinearId => |s, i| items(s, i, |_, _, item| item),
        QueryKind::GlobalSize => |s, i| same(s, i, |s, d| s.group.global[d]),
        QueryKind::GlobalOffset => |s, i| same(s, i, |s, d| s.group.offset[d]),
        QueryKind::LocalSize => |s, i| same(s, i, |s, d| s.group.local[d]),
        QueryKind::EnqueuedLocalSize => |s, i| same(s, i, |s, d| s.group.enqueued_local[d]),
        QueryKind::GroupId => |s, i| same(s, i, |s, d| s.group.id[d]),
        QueryKind::NumGroups => |s, i| same(s, i, |s, d| s.group.groups[d]),
        QueryKind::WorkDim => |s, i| same32(s, i, |s| u64::from(s.group.dimensions)),
        QueryKind::MaxSubGroupSize => |s, i| same32(s, i, |s| u64::from(s.group.sub_group)),
        QueryKind::NumSubGroups => {
            |s, i| same32(s, i, |s| s.group.items().div_ceil(u64::from(s.group.sub_group)))
        }
        QueryKind::EnqueuedNumSubGroups => |s, i| {
            same32(s, i, |s| {
                s.group.enqueued_local.iter().product::<u64>().div_ceil(u64::from(s.group.sub_group))
            })
        },
        QueryKind::SubGroupSize => |s, i| {
            items32(s, i, |s, item| {
                let size = u64::from(s.group.sub_group);
                // Lanes beyond the end of the group compute a number too, and must not wrap around.
                size.min(s.group.items().saturating_sub(item / size * size))
            })
        },
        QueryKind::SubGroupId => |s, i| items32(s, i, |s, item| item / u64::from(s.group.sub_group)),
        QueryKind::SubGroupLocalId => |s, i| items32(s, i, |s, item| item % u64::from(s.group.sub_group)),
        QueryKind::SubGroupEqMask => |s, i| masks(s, i, |id, other| other == id),
        QueryKind::SubGroupGeMask => |s, i| masks(s, i, |id, other| other >= id),
        QueryKind::SubGroupGtMask => |s, i| masks(s, i, |id, other| other > id),
        QueryKind::SubGroupLeMask => |s, i| masks(s, i, |id, other| other <= id),
        QueryKind::SubGroupLtMask => |s, i| masks(s, i, |id, other| other < id),
    };
    Some((run, Detail::Number(u64::from(query.dimension))))
}

fn dimension(i: &Inst) -> usize {
    match i.detail {
        Detail::Number(dimension) => dimension as usize,
        _ => 0,
    }
}

/// The local ids plus a start value.
fn ids(s: &mut State<'_>, i: &Inst, start: impl Fn(&Group, usize) -> u64) -> bool {
    let d = dimension(i);
    let start = start(&s.group, d);
    // A warp has as many work-items as the schedule says, which may be fewer than 64.
    let ids = &s.local_ids[s.warp.first_item as usize / s.schedule.warp][d];
    for (out, id) in s.warp.rows.words_mut(i.out).iter_mut().zip(ids) {
        *out = start + id;
    }
    true
}

/// A 64-bit number for each work-item.
fn items(s: &mut State<'_>, i: &Inst, number: impl Fn(&State<'_>, usize, u64) -> u64) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let first = u64::from(s.warp.first_item);
    for (lane, out) in out.iter_mut().enumerate() {
        *out = number(s, dimension(i), first + lane as u64);
    }
    s.warp.rows.put(i.out, out);
    true
}

fn items32(s: &mut State<'_>, i: &Inst, number: impl Fn(&State<'_>, u64) -> u64) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let first = u64::from(s.warp.first_item);
    for (lane, out) in numbers_mut::<u32>(&mut out).iter_mut().enumerate() {
        *out = number(s, first + lane as u64) as u32;
    }
    s.warp.rows.put(i.out, out);
    true
}

/// A 64-bit number that all work-items of the group share.
fn same(s: &mut State<'_>, i: &Inst, number: impl Fn(&State<'_>, usize) -> u64) -> bool {
    let number = number(s, dimension(i));
    s.warp.rows.words_mut(i.out).fill(number);
    true
}

fn same32(s: &mut State<'_>, i: &Inst, number: impl Fn(&State<'_>) -> u64) -> bool {
    let number = number(s) as u32;
    s.warp.rows.numbers_mut::<u32>(i.out).fill(number);
    true
}

/// One bit for each work-item of the sub-group, as four words.
fn masks(s: &mut State<'_>, i: &Inst, set: impl Fn(u64, u64) -> bool) -> bool {
    let size = u64::from(s.group.sub_group);
    let first = u64::from(s.warp.first_item);
    let total = s.group.items();
    let width = usize::from(i.width);
    let out = s.warp.rows.numbers_mut::<u32>(i.out);
    for lane in 0..width {
        let item = first + lane as u64;
        let start = item / size * size;
        let members = size.min(total.saturating_sub(start));
        let mut bits = 0u128;
        for other in 0..members.min(128) {
            bits |= u128::from(set(item % size, other)) << other;
        }
        for word in 0..4 {
            out[word * width + lane] = (bits >> (32 * word)) as u32;
        }
    }
    true
}
