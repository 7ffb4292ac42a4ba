//! The state of a thread that runs a work-group.

use tripipe_ir as ir;

use super::code::{Code, Edge, End, Inst, NONE};
use super::layout::Layout;
use super::memory::{Memory, Private};
use super::rows::{Rows, WIDTH, first_lanes, lanes, numbers, numbers_mut, true_lanes};
use crate::arch::Arch;
use crate::watch::Watch;

/// Lanes at the same position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Party {
    pub(crate) block: u32,
    /// The instruction to continue with.
    pub(crate) inst: u32,
    pub(crate) mask: u64,
    pub(crate) waits: Waits,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing: they can continue.
    No,
    /// The rest of their sub-group.
    SubGroup,
    /// The rest of the work-group.
    Group,
}

/// Up to 64 work-items of a group, in the order of their local linear ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warp {
    pub(crate) rows: Rows,
    /// Diverged or waiting lanes, in no fixed order.
    pub(crate) parties: Vec<Party>,
    pub(crate) privates: Vec<Private>,
    /// Local linear id of lane 0.
    pub(crate) first_item: u32,
    /// Position of the last party that got a separate turn.
    pub(crate) turn: (u32, u32),
    /// In a checked launch: whether any shadow register may have a bit set.
    pub(crate) tainted: bool,
    /// In a checked launch: by register, the instruction that produced an unwritten value.
    pub(crate) origins: Vec<u32>,
    /// In a checked launch: by private object and byte, the lanes that have written it.
    pub(crate) private_written: Vec<Vec<u64>>,
    /// In a checked launch: by private object, the lanes in which its lifetime has ended.
    pub(crate) private_dead: Vec<u64>,
}

/// Why execution stopped early.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// Waits for the rest of the group at this instruction.
    Meet,
    /// Waits for the rest of its sub-groups at this instruction.
    MeetSubGroup,
    /// An operation without a defined result.
    Fault(Fault),
    /// The step budget is used up; has an instruction of the block that would have run next.
    Steps(Option<ir::Inst>),
    /// Waits for a change that can no longer happen; has the instruction that reads the memory, and a work-item.
    Waits(Option<ir::Inst>, u32),
}

/// An operation of a kernel without a defined result.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) origin: ir::Inst,
    pub(crate) item: u32,
    pub(crate) message: String,
}

/// The order in which work-items run, and the number that run side by side. OpenCL guarantees no order; a kernel's
/// results must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Work-items per warp, 1 to 64.
    pub(crate) warp: usize,
    /// Whether warps of a group, and groups, run from last to first.
    pub(crate) backward: bool,
    /// Distance between consecutive groups, wrapping around; used if it has no common factor with the number of
    /// groups.
    pub(crate) stride: u64,
}

impl Schedule {
    /// The `index`-th schedule of a list that starts with the usual order; each has a different width or order.
    pub fn numbered(index: u32) -> Self {
        let widths = [WIDTH, WIDTH, 16, 4, 1, 8, 32];
        Self {
            warp: widths[index as usize % widths.len()],
            backward: index % 2 == 1,
            stride: if index < 2 { 1 } else { 2 * u64::from(index) + 5 },
        }
    }

    /// The same order with warps of at most `width` work-items.
    #[must_use]
    pub fn at_most(self, width: usize) -> Self {
        Self { warp: self.warp.min(width.clamp(1, WIDTH)), ..self }
    }

    /// The same order with warps of at least `width` work-items, so that a sub-group fits in a warp.
    #[must_use]
    pub(crate) fn at_least(self, width: usize) -> Self {
        Self { warp: self.warp.max(width), ..self }
    }

    /// The group that runs at a position of `0..groups`.
    pub(crate) fn group(self, position: u64, groups: u64) -> u64 {
        let stride = if gcd(self.stride, groups) == 1 { self.stride } else { 1 };
        let group = ((u128::from(position) * u128::from(stride)) % u128::from(groups)) as u64;
        if self.backward { groups - 1 - group } else { group }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The current work-group.
#[allow(clippy::struct_field_names, reason = "a sub-group is called so")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    pub(crate) id: [u64; 3],
    /// Size of this group: smaller at the far edges if the range is not a multiple of the group size.
    pub(crate) local: [u64; 3],
    /// Size of a full group.
    pub(crate) enqueued_local: [u64; 3],
    pub(crate) groups: [u64; 3],
    pub(crate) global: [u64; 3],
    pub(crate) offset: [u64; 3],
    pub(crate) dimensions: u32,
    /// Work-items per sub-group.
    pub(crate) sub_group: u32,
}

impl Group {
    /// Work-items of this group.
    pub(crate) fn items(&self) -> u64 {
        self.local.iter().product()
    }

    /// Number of this group, dimension 0 fastest.
    pub(crate) fn linear(&self) -> u64 {
        (self.id[2] * self.groups[1] + self.id[1]) * self.groups[0] + self.id[0]
    }

    /// Local id of a local linear id.
    pub(crate) fn local_id(&self, item: u64) -> [u64; 3] {
        let [x, y, _] = self.local;
        [item % x, item / x % y, item / (x * y)]
    }

    /// Global id of a local linear id.
    pub(crate) fn global_id(&self, item: u64) -> [u64; 3] {
        let local = self.local_id(item);
        std::array::from_fn(|d| self.offset[d] + self.id[d] * self.enqueued_local[d] + local[d])
    }
}

/// The state that a running work-group can access.
pub(crate) struct State<'l> {
    pub(crate) arch: Arch,
    pub(crate) kernel: &'l ir::Kernel,
    pub(crate) code: &'l Code,
    pub(crate) layout: &'l Layout,
    pub(crate) memory: Memory<'l>,
    pub(crate) images: &'l [super::launch::BoundImage],
    /// The current warp.
    pub(crate) warp: Warp,
    /// The active lanes.
    pub(crate) mask: u64,
    pub(crate) group: Group,
    /// The order and width in which work-items run.
    pub(crate) schedule: Schedule,
    /// Local ids of the group's work-items: a row for each warp and dimension.
    pub(crate) local_ids: Vec<[[u64; WIDTH]; 3]>,
    /// The group size for which they were computed.
    pub(crate) local_ids_of: [u64; 3],
    pub(crate) stop: Option<Stop>,
    /// Remaining instruction budget.
    pub(crate) steps: u64,
    /// Number of work-items that entered each block of the code.
    pub(crate) entered: Vec<u64>,
    /// The lanes from which the next ones to run are chosen.
    pub(crate) chosen: u64,
    /// Number of possible changes to memory, counted in kernels that wait for them.
    pub(crate) changes: u64,
    /// Number of events created for asynchronous copies.
    pub(crate) events: u64,
    /// The printed output.
    pub(crate) printed: Vec<u8>,
    /// The watchers of a checked launch.
    pub(crate) watch: Option<Box<Watch>>,
}

impl State<'_> {
    /// Stops at an instruction that has no defined result for a lane.
    pub(crate) fn fault(&mut self, inst: &Inst, lane: usize, message: String) -> bool {
        let item = self.warp.first_item + lane as u32;
        self.stop = Some(Stop::Fault(Fault { origin: inst.origin, item, message }));
        false
    }

    /// Runs the current warp until all its lanes are done, wait, or cannot continue.
    pub(crate) fn run_warp(&mut self) {
        let code = self.code;
        while let Some(party) = self.next_party() {
            let mut block = party.block;
            let mut first = party.inst as usize;
            self.mask = party.mask;
            loop {
                let at = &code.blocks[block as usize];
                let insts = &at.insts[first..];
                let cost = insts.len() as u64 + 1;
                if self.steps < cost {
                    let origin = insts.last().map(|inst| inst.origin);
                    self.park(Party { block, inst: first as u32, mask: self.mask, waits: Waits::No });
                    self.stop = Some(Stop::Steps(origin));
                    return;
                }
                self.steps -= cost;
                if first == 0 {
                    self.entered[block as usize] += u64::from(self.mask.count_ones());
                }
                let alone = self.warp.parties.is_empty() && code.spins.is_empty();
                let careful = !alone && self.others_keep_all();
                for (index, inst) in insts.iter().enumerate() {
                    let goes_on = if alone || !(inst.blend || careful) {
                        (inst.run)(self, inst)
                    } else {
                        self.blended(inst)
                    };
                    if !goes_on {
                        let inst = (first + index) as u32;
                        match self.stop {
                            Some(Stop::Meet) => {
                                self.park(Party { block, inst, mask: self.mask, waits: Waits::Group });
                            }
                            Some(Stop::MeetSubGroup) => self.park_sub_groups(block, inst),
                            _ => return,
                        }
                        self.stop = None;
                        break;
                    }
                }
                if self.mask == 0 {
                    break;
                }
                if self.warp.tainted {
                    self.check_branch(&at.end, at.insts.last().map(|inst| inst.origin));
                }
                match self.leave(&at.end) {
                    Some(next) => block = next,
                    None => break,
                }
                first = 0;
            }
        }
    }

    /// The non-waiting lanes at the lowest position, merged into one party.
    fn next_party(&mut self) -> Option<Party> {
        if !self.code.spins.is_empty() {
            self.release_sub_groups();
        }
        let parties = &mut self.warp.parties;
        let index = (0..parties.len())
            .filter(|index| parties[*index].waits == Waits::No && parties[*index].mask & self.chosen != 0)
            .min_by_key(|index| (parties[*index].block, parties[*index].inst))?;
        let mut party = parties.swap_remove(index);
        parties.retain(|other| {
            let same = other.waits == Waits::No && (other.block, other.inst) == (party.block, party.inst);
            party.mask |= if same { other.mask } else { 0 };
            !same
        });
        Some(party)
    }

    /// Parks lanes; the active mask is empty afterwards.
    pub(super) fn park(&mut self, party: Party) {
        self.warp.parties.push(party);
        self.mask = 0;
    }

    /// Whether inactive lanes may need any register, not only those that outlive a loop: waiting lanes run later code
    /// afterwards.
    fn others_keep_all(&self) -> bool {
        !self.code.spins.is_empty() || self.warp.parties.iter().any(|party| party.waits != Waits::No)
    }

    /// Runs an instruction and restores the previous values of inactive lanes.
    fn blended(&mut self, inst: &Inst) -> bool {
        self.changes += u64::from(stores(self.kernel.insts.get(inst.origin).map(|inst| inst.op)));
        if inst.out == NONE || inst.width == 1 {
            return (inst.run)(self, inst);
        }
        let before = self.warp.rows.words(inst.out).to_vec();
        let shadow = inst.out + self.code.shadow;
        let shadow_before = self.watch.is_some().then(|| self.warp.rows.words(shadow).to_vec());
        let goes_on = (inst.run)(self, inst);
        let components = usize::from(inst.components);
        restore(self.warp.rows.words_mut(inst.out), &before, components, !self.mask);
        if let Some(before) = shadow_before {
            restore(self.warp.rows.words_mut(shadow), &before, components, !self.mask);
        }
        goes_on
    }

    /// In a checked launch: checks whether the exit of a block depends on unwritten values.
    #[cold]
    fn check_branch(&mut self, end: &End, last: Option<ir::Inst>) {
        match end {
            End::Branch { condition, .. } => crate::watch::taint::branch(self, *condition, 1, last),
            End::Switch { selector, bytes, .. } => crate::watch::taint::branch(self, *selector, *bytes, last),
            End::Jump(_) | End::Return | End::Unreachable => {}
        }
    }

    /// Leaves a block. Returns the next block if all active lanes go there and no other lanes must run first.
    fn leave(&mut self, end: &End) -> Option<u32> {
        match end {
            End::Jump(edge) => self.follow(edge),
            End::Branch { condition, then, otherwise } => {
                let values = self.warp.rows.words(*condition);
                let taken = if values.len() == 1 {
                    if values[0] & 1 == 1 { u64::MAX } else { 0 }
                } else {
                    true_lanes(numbers(values))
                };
                let taken = taken & self.mask;
                if taken == self.mask {
                    self.follow(then)
                } else if taken == 0 {
                    self.follow(otherwise)
                } else {
                    let rest = self.mask & !taken;
                    self.split(&[(taken, then), (rest, otherwise)]);
                    None
                }
            }
            End::Switch { selector, bytes, cases, default } => {
                let single = self.warp.rows.words(*selector).len() == 1;
                let edge =
                    |bits: u64| cases.iter().find(|case| case.0 == bits).map_or(default, |case| &case.1);
                if single {
                    return self.follow(edge(self.warp.rows.bits(*selector, 0, *bytes)));
                }
                let mut ways: Vec<(u64, &Edge)> = Vec::new();
                for lane in lanes(self.mask) {
                    let to = edge(self.warp.rows.bits(*selector, lane, *bytes));
                    match ways.iter_mut().find(|way| std::ptr::eq(way.1, to)) {
                        Some(way) => way.0 |= 1 << lane,
                        None => ways.push((1 << lane, to)),
                    }
                }
                if let [(_, only)] = ways[..] {
                    return self.follow(only);
                }
                self.split(&ways);
                None
            }
            // The source promises that unreachable code is not reached; lanes that reach it end.
            End::Return | End::Unreachable => {
                self.mask = 0;
                None
            }
        }
    }

    /// Follows an edge with all active lanes.
    fn follow(&mut self, edge: &Edge) -> Option<u32> {
        if self.warp.parties.is_empty() {
            self.move_origins(edge);
            for each in &edge.moves {
                if each.last {
                    self.warp.rows.swap(each.from, each.to);
                } else {
                    let row = self.warp.rows.take(each.to);
                    let mut row = row;
                    row.copy_from_slice(self.warp.rows.words(each.from));
                    self.warp.rows.put(each.to, row);
                }
            }
            return Some(edge.target);
        }
        self.moves(edge, self.mask);
        let alone =
            self.warp.parties.iter().all(|party| party.waits != Waits::No || party.block > edge.target);
        if alone {
            return Some(edge.target);
        }
        self.park(Party { block: edge.target, inst: 0, mask: self.mask, waits: Waits::No });
        None
    }

    fn move_origins(&mut self, edge: &Edge) {
        if self.warp.tainted {
            for each in edge.moves.iter().filter(|each| each.to < self.code.shadow) {
                self.warp.origins[each.to as usize] = self.warp.origins[each.from as usize];
            }
        }
    }

    fn split(&mut self, ways: &[(u64, &Edge)]) {
        for (mask, edge) in ways {
            self.moves(edge, *mask);
        }
        for (mask, edge) in ways {
            self.park(Party { block: edge.target, inst: 0, mask: *mask, waits: Waits::No });
        }
    }

    /// Moves registers for some of the lanes.
    fn moves(&mut self, edge: &Edge, mask: u64) {
        self.move_origins(edge);
        for each in &edge.moves {
            let mut row = self.warp.rows.take(each.to);
            let from = self.warp.rows.words(each.from);
            let shape = self.code.slots[each.to as usize];
            if shape.single {
                row.copy_from_slice(from);
            } else {
                restore(&mut row, from, usize::from(shape.components), mask);
            }
            self.warp.rows.put(each.to, row);
        }
    }
}

/// Whether an operation may write data that other work-items can see. Atomics are not included; they count their
/// changes themselves.
fn stores(op: Option<ir::Op>) -> bool {
    use ir::Op;
    matches!(
        op,
        Some(Op::Store(_) | Op::Copy(_) | Op::AsyncCopy { .. } | Op::ImageWrite { .. } | Op::Printf(_))
    )
}

/// Copies the lanes of a mask from one row of 64 lanes to another, with `components` numbers per lane.
pub(crate) fn restore(to: &mut [u64], from: &[u64], components: usize, mask: u64) {
    fn copy<T: bytemuck::Pod>(to: &mut [u64], from: &[u64], mask: u64) {
        let to = numbers_mut::<T>(to);
        let from = numbers::<T>(from);
        for (to, from) in to.chunks_exact_mut(64).zip(from.chunks_exact(64)) {
            for (lane, (to, from)) in to.iter_mut().zip(from).enumerate() {
                if mask >> lane & 1 == 1 {
                    *to = *from;
                }
            }
        }
    }
    match to.len() / components.max(1) {
        8 => copy::<u8>(to, from, mask),
        16 => copy::<u16>(to, from, mask),
        32 => copy::<u32>(to, from, mask),
        _ => copy::<u64>(to, from, mask),
    }
}

/// A party of the first `items` lanes at the start of the code.
pub(crate) fn everyone(items: usize) -> Party {
    Party { block: 0, inst: 0, mask: first_lanes(items), waits: Waits::No }
}
