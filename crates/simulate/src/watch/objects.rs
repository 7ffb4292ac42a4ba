//! The watchers' knowledge of each memory object of a launch.

use tripipe_ir::{Kernel, Module, Op, ParameterKind, Space};
use tripipe_launch::Access;

use super::cells::Cells;
use crate::execute::effects::written;
use crate::execute::memory::Home;
use crate::execute::memory_map::MemoryMap;

/// A watched object, indexed by its number.
#[derive(Debug)]
pub(crate) struct Watched {
    /// The permitted access.
    pub(crate) access: Access,
    /// Whether every argument that refers to it is declared `const`.
    pub(crate) read_only: bool,
    /// The bytes that were written; `None` means all of them. Local objects become unwritten at the start of each
    /// group; private objects are tracked in the warp.
    pub(crate) written: Option<Bits>,
    /// The bytes that have been written when a group starts; `None` if there are none.
    pub(crate) at_first: Option<Bits>,
    /// The end of the farthest access behind its end, in bytes from its start: 0 if there is none, the maximum if one is
    /// before its start.
    pub(crate) reach: u64,
    /// The record of reads and writes; `None` if the object is never written, or is separate for each work-item.
    pub(crate) cells: Option<Cells>,
}

/// The state of a buffer before the launch.
#[derive(Debug)]
pub(crate) struct BufferState {
    pub(crate) access: Access,
    pub(crate) written: Option<Bits>,
}

/// All objects of a launch; `buffers` has the state of the buffers before it.
pub(crate) fn watch(
    module: &Module,
    kernel: &Kernel,
    memory_map: &MemoryMap,
    buffers: Vec<BufferState>,
) -> Vec<Watched> {
    let written = written(kernel);
    let grain = grain(kernel);
    let mut buffers = buffers.into_iter();
    let mut all = Vec::with_capacity(memory_map.objects.len());
    for (number, info) in memory_map.objects.iter().enumerate() {
        let bytes = info.bytes as usize;
        let passed =
            || memory_map.arguments.iter().enumerate().filter(|(_, object)| **object as usize == number);
        all.push(match info.home {
            Home::Null | Home::Private(_) => Watched {
                access: Access::ReadWrite,
                read_only: false,
                written: None,
                at_first: None,
                reach: 0,
                cells: None,
            },
            Home::Local(_) => Watched {
                access: Access::ReadWrite,
                read_only: false,
                written: Some(Bits::new(bytes)),
                at_first: memory_map.copies.iter().find(|[copy, _]| *copy as usize == number).map(
                    |[_, of]| {
                        let known = all.get(*of as usize).and_then(|of: &Watched| of.written.clone());
                        known.unwrap_or_else(|| Bits::full(bytes))
                    },
                ),
                reach: 0,
                cells: Some(Cells::new(bytes, grain, true)),
            },
            Home::Global(index) if (index as usize) < module.objects.len() => {
                let shared = info.space == Space::Global;
                Watched {
                    access: Access::ReadWrite,
                    read_only: false,
                    written: None,
                    at_first: None,
                    reach: 0,
                    cells: shared.then(|| Cells::new(bytes, grain, false)),
                }
            }
            Home::Global(_) => {
                let before =
                    buffers.next().unwrap_or(BufferState { access: Access::ReadWrite, written: None });
                let changes =
                    written.as_ref().is_none_or(|written| passed().any(|(index, _)| written[index]));
                let declared = |index: usize| {
                    matches!(
                        kernel.parameters[index].kind,
                        ParameterKind::Pointer { read_only: true, .. }
                            | ParameterKind::Pointer { space: Space::Constant, .. }
                    )
                };
                // Kernels may know it by a pointer in memory as well, or by that alone.
                let reached = written.is_none()
                    && memory_map.shared.iter().any(|range| range.object as usize == number);
                Watched {
                    access: before.access,
                    read_only: !reached && passed().all(|(index, _)| declared(index)),
                    written: before.written,
                    at_first: None,
                    reach: 0,
                    cells: changes.then(|| Cells::new(bytes, grain, false)),
                }
            }
        });
    }
    all
}

/// The largest power of two, up to 8 bytes, at whose multiples every access of a kernel begins and ends.
fn grain(kernel: &Kernel) -> usize {
    let mut grain = 8;
    for inst in kernel.blocks.values().flat_map(|block| &block.insts) {
        let inst = &kernel.insts[*inst];
        let (access, value) = match inst.op {
            Op::Load(access) => (access.align, inst.result),
            Op::Store(access) => (access.align, inst.operands.get(1).copied()),
            Op::Atomic(_) => (4, inst.result.or_else(|| inst.operands.get(1).copied())),
            Op::Copy(_) => return 1,
            Op::AsyncCopy { bytes, .. } => {
                grain = grain.min(1 << bytes.trailing_zeros());
                continue;
            }
            _ => continue,
        };
        let size = value.map_or(4, |value| kernel.ty(value).scalar().map_or(8, tripipe_ir::Scalar::bytes));
        grain = grain.min(access as usize).min(size as usize);
    }
    grain
}

/// One bit per byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// A set with no bits set.
    pub(crate) fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)], len }
    }

    /// All set.
    pub(crate) fn full(len: usize) -> Self {
        let mut all = Self::new(len);
        all.set(0, len);
        all
    }

    /// Clears all bits.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Sets a range of bits, which must be inside.
    pub(crate) fn set(&mut self, start: usize, count: usize) {
        words(start, count).for_each(|(word, mask)| self.words[word] |= mask);
    }

    /// Whether a whole range, which must be inside, is set.
    pub(crate) fn all(&self, start: usize, count: usize) -> bool {
        words(start, count).all(|(word, mask)| self.words[word] & mask == mask)
    }

    /// Whether a bit is set.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Clears a bit.
    pub(crate) fn unset(&mut self, index: usize) {
        self.words[index / 64] &= !(1 << (index % 64));
    }

    /// Whether all bits are set.
    pub(crate) fn is_full(&self) -> bool {
        self.all(0, self.len)
    }
}

/// The words of a range of bits, each with the mask of those within it.
fn words(start: usize, count: usize) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (start, start + count);
    std::iter::from_fn(move || {
        let (word, bit) = (at / 64, at % 64);
        let bits = (64 - bit).min(end - at);
        at += bits;
        (bits > 0).then(|| (word, (u64::MAX >> (64 - bits)) << bit))
    })
}
