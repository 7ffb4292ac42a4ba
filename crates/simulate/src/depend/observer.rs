//! The observer of a launch that carries sets beside its values.

use std::collections::HashMap;
use std::ops::Range;

use tripipe_ir as ir;
use tripipe_ir::flow::{Cfg, Dominators};
use tripipe_ir::{Inst as IrInst, Kernel, Module, Op};
use tripipe_launch::MemoryId;

use super::sets::{EMPTY, Set, Sets};
use super::{NeededLines, add_lines};
use crate::execute::code::{Edge, Inst, Move, NONE, component_bytes};
use crate::execute::effects::meets;
use crate::execute::memory::{Home, parts, pointer};
use crate::execute::memory_map::MemoryMap;
use crate::execute::observer::{Observed, Observer};
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::{Present, State};
use crate::watch::touch::address_of;

/// The sets of words of 4 bytes, by address.
type Words = HashMap<u64, Set>;

/// A warp.
struct WarpSets {
    /// The sets of each register, by lane; none for those that depend on nothing.
    rows: Vec<Option<Box<[Set]>>>,
    /// What decided that a lane runs its current block.
    control: [Set; WIDTH],
    /// What the last branch at the end of a block depended on.
    decided: HashMap<ir::Block, [Set; WIDTH]>,
    block: ir::Block,
    /// Private memory, by lane.
    private: HashMap<usize, Words>,
}

/// The dependences of a launch.
pub(crate) struct Dependence<'l> {
    module: &'l Module,
    kernel: &'l Kernel,
    sets: Sets,
    /// The address of the number.
    place: Option<u64>,
    /// For each block the blocks whose branches decide whether it runs.
    deciders: HashMap<ir::Block, Vec<ir::Block>>,
    warps: Vec<WarpSets>,
    global: Words,
    local: Words,
    /// What an object depends on where the part of it that was written is unknown.
    objects: HashMap<u32, Set>,
    /// What work-items pass to the others, by instruction.
    shared: HashMap<IrInst, Set>,
    /// Barriers that were reached.
    barriers: Set,
}

impl<'l> Dependence<'l> {
    /// Nothing ran yet; the number is at a byte offset of a memory object.
    pub(crate) fn new(
        module: &'l Module,
        kernel: &'l Kernel,
        memory_map: &MemoryMap,
        (memory, offset): (MemoryId, usize),
    ) -> Self {
        let buffer = memory_map.buffers.iter().position(|buffer| *buffer == memory);
        let home = buffer.map(|buffer| Home::Global((module.objects.len() + buffer) as u32));
        let object = memory_map.objects.iter().position(|info| Some(info.home) == home);
        Self {
            module,
            kernel,
            sets: Sets::new(kernel.insts.len() + kernel.blocks.len()),
            place: object.map(|object| pointer(object as u32, offset as u64)),
            deciders: deciders(kernel),
            warps: Vec::new(),
            global: Words::new(),
            local: Words::new(),
            objects: HashMap::new(),
            shared: HashMap::new(),
            barriers: EMPTY,
        }
    }

    /// The lines that the number depends on.
    pub(crate) fn finish(mut self) -> NeededLines {
        let mut lines = NeededLines::default();
        let insts = self.kernel.insts.len();
        let location = |number: usize| match number.checked_sub(insts) {
            Some(block) => self.kernel.blocks[ir::Block::from_u32(block as u32)].terminator.location,
            None => self.kernel.insts[IrInst::from_u32(number as u32)].location,
        };
        for data in self.kernel.blocks.values() {
            let all = data.insts.iter().map(|inst| self.kernel.insts[*inst].location);
            for at in all.chain([data.terminator.location]) {
                add_lines(&mut lines.known, self.module, self.kernel, at);
            }
        }
        let written = self.place.map_or(EMPTY, |place| {
            let word = self.global.get(&(place >> 2)).copied().unwrap_or(EMPTY);
            let whole = self.objects.get(&parts(place).0).copied().unwrap_or(EMPTY);
            self.sets.union(word, whole)
        });
        if written != EMPTY {
            let all = self.sets.union(written, self.barriers);
            for number in self.sets.numbers(all) {
                add_lines(&mut lines.needed, self.module, self.kernel, location(number));
            }
        }
        lines
    }

    fn warp(&mut self, s: &State<'_>) -> &mut WarpSets {
        &mut self.warps[s.warp.number as usize]
    }

    /// The set of a lane of a register.
    fn read(&self, s: &State<'_>, slot: u32, lane: usize) -> Set {
        let lane = if s.code.slots[slot as usize].single { 0 } else { lane };
        let row = self.warps[s.warp.number as usize].rows[slot as usize].as_ref();
        row.map_or(EMPTY, |row| row[lane])
    }

    fn write(&mut self, s: &State<'_>, slot: u32, lane: usize, set: Set) {
        if slot == NONE {
            return;
        }
        let lane = if s.code.slots[slot as usize].single { 0 } else { lane };
        self.warp(s).rows[slot as usize].get_or_insert_with(|| vec![EMPTY; WIDTH].into())[lane] = set;
    }

    /// An instruction and its operands in a lane, and what decided that it runs.
    fn used(&mut self, s: &State<'_>, i: &Inst, lane: usize) -> Set {
        let mut set = self.sets.one(i.origin.as_u32() as usize);
        let control = self.warps[s.warp.number as usize].control[lane];
        set = self.sets.union(set, control);
        for operand in 0..s.kernel.insts[i.origin].operands.len() {
            let of = self.read(s, i.arg(operand), lane);
            set = self.sets.union(set, of);
        }
        set
    }

    /// The words of an address, as seen by a lane.
    fn words(&mut self, s: &State<'_>, address: u64, lane: usize) -> &mut Words {
        match s.memory.object(parts(address).0).map(|object| object.home) {
            Some(Home::Local(_)) => &mut self.local,
            Some(Home::Private(_)) => self.warp(s).private.entry(lane).or_default(),
            _ => &mut self.global,
        }
    }

    fn load(&mut self, s: &State<'_>, address: u64, bytes: u64, lane: usize) -> Set {
        let mut set = self.objects.get(&parts(address).0).copied().unwrap_or(EMPTY);
        for word in address >> 2..=(address + bytes.max(1) - 1) >> 2 {
            let of = self.words(s, address, lane).get(&word).copied().unwrap_or(EMPTY);
            set = self.sets.union(set, of);
        }
        set
    }

    fn store(&mut self, s: &State<'_>, address: u64, bytes: u64, lane: usize, set: Set) {
        for word in address >> 2..=(address + bytes.max(1) - 1) >> 2 {
            let is_whole = word << 2 >= address && (word << 2) + 4 <= address + bytes;
            let before = self.words(s, address, lane).get(&word).copied().unwrap_or(EMPTY);
            let after = if is_whole { set } else { self.sets.union(before, set) };
            self.words(s, address, lane).insert(word, after);
        }
    }

    /// The bytes that an access reaches, by the type of its value.
    fn bytes(s: &State<'_>, value: Option<ir::Value>) -> u64 {
        value.map_or(0, |value| {
            let ty = s.kernel.ty(value);
            u64::from(component_bytes(ty)) * u64::from(ty.lanes())
        })
    }

    /// Adds to what some part of an object depends on.
    fn add_to_object(&mut self, object: u32, set: Set) {
        let before = self.objects.get(&object).copied().unwrap_or(EMPTY);
        let after = self.sets.union(before, set);
        self.objects.insert(object, after);
    }

    /// An instruction in a lane, before it runs.
    fn lane(&mut self, s: &State<'_>, i: &Inst, lane: usize) {
        let data = &s.kernel.insts[i.origin];
        let mut set = self.used(s, i, lane);
        let word = |index: usize| {
            let row = s.warp.rows.words(i.arg(index));
            row.get(lane).or(row.first()).copied().unwrap_or(0)
        };
        match data.op {
            Op::Load(_) => {
                let bytes = Self::bytes(s, data.result);
                let loaded = self.load(s, address_of(s, i.args[0], lane), bytes, lane);
                set = self.sets.union(set, loaded);
            }
            Op::Store(_) => {
                let bytes = Self::bytes(s, data.operands.get(1).copied());
                self.store(s, address_of(s, i.args[0], lane), bytes, lane, set);
            }
            Op::Copy(_) => {
                let [to, from, count] = std::array::from_fn(word);
                let mut at = 0;
                while at < count {
                    let step = (4 - to.wrapping_add(at) % 4).min(count - at);
                    let moved = self.load(s, from.wrapping_add(at), step, lane);
                    let moved = self.sets.union(set, moved);
                    self.store(s, to.wrapping_add(at), step, lane, moved);
                    at += step;
                }
            }
            Op::Atomic(_) => {
                let address = address_of(s, i.args[0], lane);
                let bytes = Self::bytes(s, data.operands.get(1).copied().or(data.result));
                let before = self.load(s, address, bytes, lane);
                set = self.sets.union(set, before);
                self.store(s, address, bytes, lane, set);
            }
            Op::ImageWrite { .. } => {
                if let Some(bound) = s.images.get(word(0) as usize) {
                    self.add_to_object(bound.object, set);
                }
            }
            Op::ImageRead { .. } | Op::ImageSample(_) => {
                if let Some(bound) = s.images.get(word(0) as usize) {
                    let whole = self.objects.get(&bound.object).copied().unwrap_or(EMPTY);
                    set = self.sets.union(set, whole);
                }
            }
            op if meets(op) || matches!(op, Op::Group(_) | Op::AsyncCopy { .. } | Op::WaitEvents { .. }) => {
                let others = self.shared.get(&i.origin).copied().unwrap_or(EMPTY);
                set = self.sets.union(set, others);
                self.shared.insert(i.origin, set);
                self.barriers = self.sets.union(self.barriers, set);
            }
            _ => {}
        }
        self.write(s, i.out, lane, set);
    }
}

/// For each block the blocks whose branches decide whether it runs: those from which a path leads to it, and another one
/// does not.
fn deciders(kernel: &Kernel) -> HashMap<ir::Block, Vec<ir::Block>> {
    let cfg = Cfg::new(kernel);
    let post = Dominators::post(&cfg);
    let mut all: HashMap<ir::Block, Vec<ir::Block>> = HashMap::new();
    for branch in kernel.blocks.keys().filter(|block| cfg.is_reachable(*block)) {
        let calls = kernel.blocks[branch].terminator.calls();
        if calls.len() < 2 {
            continue;
        }
        for call in calls {
            let mut at = Some(call.block);
            while let Some(block) = at.filter(|block| Some(*block) != post.immediate(branch)) {
                let of = all.entry(block).or_default();
                if of.contains(&branch) {
                    break;
                }
                of.push(branch);
                at = post.immediate(block);
            }
        }
    }
    all
}

impl Observer for Dependence<'_> {
    fn start_group(&mut self, _: &State<'_>) {
        self.local.clear();
        self.shared.clear();
    }

    fn start_warp(&mut self, s: &State<'_>) {
        let number = s.warp.number as usize;
        while self.warps.len() <= number {
            self.warps.push(WarpSets {
                rows: Vec::new(),
                control: [EMPTY; WIDTH],
                decided: HashMap::new(),
                block: Kernel::ENTRY,
                private: HashMap::new(),
            });
        }
        let warp = &mut self.warps[number];
        warp.rows = vec![None; s.code.slots.len()];
        warp.control = [EMPTY; WIDTH];
        warp.decided.clear();
        warp.private.clear();
    }

    fn enter(&mut self, s: &State<'_>, block: ir::Block, _: bool) {
        self.warp(s).block = block;
        let branches = self.deciders.get(&block).cloned().unwrap_or_default();
        for lane in lanes(s.mask) {
            let mut set = EMPTY;
            for branch in &branches {
                let of = self.warp(s).decided.get(branch).map_or(EMPTY, |decided| decided[lane]);
                set = self.sets.union(set, of);
            }
            self.warp(s).control[lane] = set;
        }
    }

    fn instruction(&mut self, s: &mut State<'_>, i: &Inst) -> Observed {
        if i.width == 1 {
            let first = s.mask.trailing_zeros() as usize % WIDTH;
            self.lane(s, i, first);
        } else {
            for lane in lanes(s.mask) {
                self.lane(s, i, lane);
            }
        }
        Observed::Passed
    }

    fn splat(&mut self, s: &mut State<'_>, i: &Inst) {
        let set = self.read(s, i.args[0], 0);
        for lane in 0..WIDTH {
            self.write(s, i.out, lane, set);
        }
    }

    fn branch(&mut self, s: &State<'_>, register: u32, _: u32, _: Option<IrInst>) {
        let block = self.warp(s).block;
        let own = self.sets.one(self.kernel.insts.len() + block.as_u32() as usize);
        for lane in lanes(s.mask) {
            let condition = self.read(s, register, lane);
            let control = self.warp(s).control[lane];
            let set = self.sets.union(own, condition);
            let set = self.sets.union(set, control);
            self.warp(s).decided.entry(block).or_insert([EMPTY; WIDTH])[lane] = set;
        }
    }

    fn edge(&mut self, s: &State<'_>, edge: &Edge, mask: Option<u64>) {
        // The value that a register gets tells which way the lane came, also if it is a constant.
        let taken: Vec<(usize, Set)> = lanes(mask.unwrap_or(s.mask))
            .map(|lane| {
                let warp = &self.warps[s.warp.number as usize];
                let decided = warp.decided.get(&warp.block).map_or(EMPTY, |decided| decided[lane]);
                (lane, self.sets.union(warp.control[lane], decided))
            })
            .collect();
        let Some((first, first_taken)) = taken.first().copied() else { return };
        for Move { from, to, .. } in &edge.moves {
            if s.code.slots[*to as usize].single {
                let set = self.read(s, *from, first);
                let set = self.sets.union(set, first_taken);
                self.write(s, *to, first, set);
                continue;
            }
            let source = self.warp(s).rows[*from as usize].clone();
            let from_single = s.code.slots[*from as usize].single;
            for (lane, taken) in &taken {
                let at = if from_single { 0 } else { *lane };
                let set = source.as_ref().map_or(EMPTY, |row| row[at]);
                let set = self.sets.union(set, *taken);
                self.write(s, *to, *lane, set);
            }
        }
    }

    fn meet(&mut self, _: &State<'_>, _: &Inst, _: &[Present<'_>]) {}

    fn meet_elsewhere(&mut self, _: &State<'_>, _: &Inst, _: u32, _: IrInst) {}

    fn start_copy(&mut self, s: &mut State<'_>, i: &Inst, present: &mut [Present<'_>], _: u64) -> Range<u64> {
        // Operands: destination, source, number of elements, stride.
        if let Some(first) = present.first() {
            let lane = first.mask.trailing_zeros() as usize;
            let object = |index: usize| {
                let row = first.warp.rows.words(i.arg(index));
                parts(row.get(lane).or(row.first()).copied().unwrap_or(0)).0
            };
            let (to, from) = (object(0), object(1));
            let mut set = self.sets.one(i.origin.as_u32() as usize);
            let found: Vec<Set> = self
                .global
                .iter()
                .chain(&self.local)
                .filter(|(word, _)| parts(**word << 2).0 == from)
                .map(|(_, set)| *set)
                .chain(self.objects.get(&from).copied())
                .chain(self.shared.get(&i.origin).copied())
                .collect();
            for of in found {
                set = self.sets.union(set, of);
            }
            self.add_to_object(to, set);
        }
        let _ = s;
        0..u64::MAX
    }

    fn wait_for_copies(&mut self, _: &mut State<'_>, _: &Inst, _: &mut [Present<'_>]) {}

    fn outside_image(&mut self, _: &State<'_>, _: &Inst, _: u64, _: bool) {}

    fn end_group(&mut self, _: &State<'_>) {}
}
