//! Shadow values: what an analysis carries beside the values of a launch.
//!
//! The walk stands here once: each warp in progress has shadow registers, which follow the moves of the executor, and
//! memory is told apart by its home. An analysis says what the shadow of a number and of memory is, and what an
//! operation makes of them: [`crate::bounds`] carries intervals, [`crate::depend`] sets of instructions. What
//! [`crate::watch`] carries are bits, in rows like those of the executor, because operations run on them.

mod registers;

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use crate::execute::code::{Inst, NONE};
use crate::execute::edge::Edge;
use crate::execute::memory::Home;
use crate::execute::state::State;
use registers::ShadowRegisters;

/// Something of each warp in progress; a state selects that of its current warp.
#[derive(Debug)]
pub(crate) struct PerWarp<T>(Vec<T>);

impl<T> Default for PerWarp<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> PerWarp<T> {
    /// That of the current warp; `new` makes it, and those of all warps before it, the first time.
    pub(crate) fn start(&mut self, s: &State<'_>, new: impl FnMut() -> T) -> &mut T {
        let number = s.warp.number as usize;
        if self.0.len() <= number {
            self.0.resize_with(number + 1, new);
        }
        &mut self.0[number]
    }
}

impl<T> Index<&State<'_>> for PerWarp<T> {
    type Output = T;

    fn index(&self, s: &State<'_>) -> &T {
        &self.0[s.warp.number as usize]
    }
}

impl<T> IndexMut<&State<'_>> for PerWarp<T> {
    fn index_mut(&mut self, s: &State<'_>) -> &mut T {
        &mut self.0[s.warp.number as usize]
    }
}

/// The shadows of a warp.
#[derive(Debug)]
struct WarpShadow<V, M, P> {
    registers: ShadowRegisters<V>,
    /// Private memory, by lane.
    private: HashMap<usize, M>,
    path: P,
}

impl<V: Copy + Default + PartialEq, M, P: Default> WarpShadow<V, M, P> {
    fn new(registers: usize) -> Self {
        Self { registers: ShadowRegisters::new(registers), private: HashMap::new(), path: P::default() }
    }
}

/// The shadows of a launch: `V` of a component of a register in a lane, `M` of a memory, `P` of the path of a warp.
/// Their defaults are those of constants, and of all memory before the launch.
#[derive(Debug, Default)]
pub(crate) struct Shadows<V, M, P> {
    warps: PerWarp<WarpShadow<V, M, P>>,
    /// Buffers and the program's variables.
    pub(crate) global: M,
    /// The local memory of the current work-group.
    pub(crate) local: M,
}

impl<V: Copy + Default + PartialEq, M: Default, P: Default> Shadows<V, M, P> {
    pub(crate) fn start_group(&mut self) {
        self.local = M::default();
    }

    pub(crate) fn start_warp(&mut self, s: &State<'_>) {
        let count = s.code.slots.len();
        *self.warps.start(s, || WarpShadow::new(count)) = WarpShadow::new(count);
    }

    /// That of the path which the current warp takes.
    pub(crate) fn path(&self, s: &State<'_>) -> &P {
        &self.warps[s].path
    }

    pub(crate) fn path_mut(&mut self, s: &State<'_>) -> &mut P {
        &mut self.warps[s].path
    }

    /// The shadow of a component of a register in a lane.
    pub(crate) fn get(&self, s: &State<'_>, register: u32, component: usize, lane: usize) -> V {
        self.warps[s].registers.get(&s.code.slots, register, component, lane)
    }

    pub(crate) fn set(&mut self, s: &State<'_>, register: u32, component: usize, lane: usize, value: V) {
        if register != NONE {
            self.warps[s].registers.set(&s.code.slots, register, component, lane, value);
        }
    }

    /// The memory that an address points into, as seen by a lane.
    pub(crate) fn memory(&mut self, s: &State<'_>, address: u64, lane: usize) -> &mut M {
        match s.home(address) {
            Some(Home::Local(_)) => &mut self.local,
            Some(Home::Private(_)) => self.warps[s].private.entry(lane).or_default(),
            _ => &mut self.global,
        }
    }

    /// Copies one lane to all lanes of another register.
    pub(crate) fn splat(&mut self, s: &State<'_>, i: &Inst) {
        self.warps[s].registers.splat(&s.code.slots, i.args[0], i.out);
    }

    /// Moves along an edge, as the executor moves the registers.
    pub(crate) fn follow(&mut self, s: &State<'_>, edge: &Edge, mask: Option<u64>) {
        self.warps[s].registers.follow(&s.code.slots, edge, mask);
    }
}

/// The pieces of some bytes, each within a word of `word` bytes: distance from the first byte, and size.
pub(crate) fn pieces(address: u64, bytes: u64, word: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let size = (word - address.wrapping_add(at) % word).min(bytes - at);
        at += size;
        (size > 0).then_some((at - size, size))
    })
}
