//! Compares the races that the cells report with a list of all accesses.

use super::*;

/// Only barriers order accesses.
struct Nothing;

impl Ordered for Nothing {
    fn behind_group(&self, _: u32) -> bool {
        false
    }

    fn behind_any_group(&self) -> bool {
        false
    }

    fn behind_item(&self, _: u32, _: u32) -> bool {
        false
    }
}

/// An access of a cell, with the fences before it.
#[derive(Clone, Copy)]
struct Access {
    item: u32,
    group: u32,
    fences: u32,
    kind: Kind,
    /// Whether it is an asynchronous copy by the group, which is waited for at once.
    copy: bool,
}

impl Access {
    /// Whether it races with a later access, by the definition in the module's documentation.
    fn races(self, other: Self, own: bool) -> bool {
        let atomic = |access: Self| matches!(access.kind, Kind::Atomic { .. });
        let writes = |access: Self| matches!(access.kind, Kind::Write | Kind::Atomic { writes: true });
        let same_group = self.group == other.group;
        let ordered = if same_group { self.copy || self.fences != other.fences } else { own };
        (self.item != other.item || other.copy)
            && (writes(self) || writes(other))
            && !(atomic(self) && atomic(other))
            && !ordered
    }
}

const GROUP: u32 = 16;
const CELLS: usize = CHUNK + 24;

/// Groups access random cells until an access races. Compared with a list of all accesses, every earlier access must
/// be reported as free of races, and that one as a race.
fn trial(random: &mut fastrand::Rng, own: bool) {
    let mut cells = Cells::new(CELLS, 1, own);
    let mut history: Vec<Vec<Access>> = vec![Vec::new(); CELLS];
    let mut times = Times::default();
    for group in 0..4 {
        times.start_group();
        let mut fences = 0;
        for _ in 0..random.u32(1..12) {
            if random.u8(..3) == 0 {
                let fence = random.bool();
                times.barrier(false, fence);
                fences += u32::from(fence);
            }
            let Times { now, group: start, global, .. } = times;
            let era = Era { now, fenced: global, group: start, items: GROUP };
            let atomic = Kind::Atomic { writes: random.bool() };
            let kind = [Kind::Read, Kind::Write, atomic][random.usize(..3)];
            let first = random.u32(..GROUP);
            let items = random.u32(1..=GROUP - first);
            let shift = random.u32(..3);
            let same = kind == Kind::Read && random.bool();
            let start = [0, CHUNK - 8][random.usize(..2)] + random.usize(..8);
            let inst = tripipe_ir::Inst::from_u32(3);
            let atomic = matches!(kind, Kind::Atomic { .. });
            if !atomic && random.u8(..4) == 0 {
                let mark = Mark::copy(group * GROUP + 1, era, inst, kind == Kind::Write);
                let access = Access { item: mark.item, group, fences, kind, copy: true };
                let (mut found, mut wanted) = (false, false);
                let count = random.usize(1..20);
                for (cell, history) in history.iter_mut().enumerate().skip(start).take(count) {
                    wanted |= history.iter().any(|before| before.races(access, own));
                    history.push(access);
                    found |= cells.note(cell, kind, mark, era, &Nothing) != [None; 2];
                }
                assert_eq!(found, wanted, "a copy: {kind:?} from {start} of group {group}");
                if found {
                    return;
                }
                continue;
            }
            let mark = Mark::new(group * GROUP + first + 1, era, inst, atomic);
            let each = 1 << shift;
            let items = if same { items } else { Cells::together(start, each, items as usize) as u32 };
            if items == 0 {
                continue;
            }
            let touched = |lane: usize| {
                let start = start + if same { 0 } else { lane * each };
                start..start + each
            };
            let all = start..touched(items as usize - 1).end;
            let noted = match kind {
                Kind::Atomic { .. } => false,
                _ if same => cells.note_same(start..=all.end - 1, mark, mark.lane(items as usize - 1), era),
                _ => cells.note_run(Arch::new(), all, shift, kind == Kind::Write, mark, era),
            };
            let (mut found, mut wanted) = (false, false);
            for lane in 0..items as usize {
                let item = mark.lane(lane).item;
                let access = Access { item, group, fences, kind, copy: false };
                for cell in touched(lane) {
                    wanted |= history[cell].iter().any(|before| before.races(access, own));
                    history[cell].push(access);
                    found |= !noted && cells.note(cell, kind, mark.lane(lane), era, &Nothing) != [None; 2];
                }
            }
            assert_eq!(found, wanted, "{kind:?} of {start} by {items} items from {first} of group {group}");
            if found {
                return;
            }
        }
    }
}

#[test]
fn the_first_race_is_found() {
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..20_000 {
        trial(&mut random, round % 2 == 0);
    }
}
