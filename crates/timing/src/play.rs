//! What each warp of a work-group does: the blocks that it runs, and the cache lines of each of its messages.

use cranelift_entity::EntityRef as _;
use smallvec::SmallVec;
use tripipe_device::Gpu;
use tripipe_ir::{Block, Inst};
use tripipe_launch::ImageExtent;
use tripipe_simulate::trace::{Action, GroupTrace, Reach, TracedAccess, TracedImage, WarpTrace};

use crate::cache::LINE_BYTES;
use crate::figures::Figures;
use crate::program::{Part, Program, Step};

/// The memory of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Global,
    Local,
    Private,
    Texture,
}

/// A cache line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line(u32);

impl Line {
    const BITS: u32 = 27;
    /// Both halves of a line.
    const WHOLE: u32 = 0b11;

    fn new(kind: Kind, write: bool, line: u64) -> Self {
        // One word, because a launch has millions of lines.
        Self(
            (kind as u32) << (Self::BITS + 3)
                | Self::WHOLE << (Self::BITS + 1)
                | u32::from(write) << Self::BITS
                | (line as u32 & ((1 << Self::BITS) - 1)),
        )
    }

    /// The same line with only one half, 0 or 1, accessed.
    fn half(self, half: u64) -> Self {
        Self(self.0 & !(Self::WHOLE << (Self::BITS + 1)) | 1 << (Self::BITS + 1 + half as u32))
    }

    /// Adds the halves of an access to the same line; returns whether it is the same.
    fn merge(&mut self, other: Self) -> bool {
        let same = (self.0 ^ other.0) & !(Self::WHOLE << (Self::BITS + 1)) == 0;
        if same {
            self.0 |= other.0;
        }
        same
    }

    /// Whether both halves are accessed.
    pub(crate) fn is_whole(self) -> bool {
        self.0 >> (Self::BITS + 1) & Self::WHOLE == Self::WHOLE
    }

    pub(crate) fn kind(self) -> Kind {
        match self.0 >> (Self::BITS + 3) {
            0 => Kind::Global,
            1 => Kind::Local,
            2 => Kind::Private,
            _ => Kind::Texture,
        }
    }

    pub(crate) fn writes(self) -> bool {
        self.0 >> Self::BITS & 1 == 1
    }

    /// The number of the line in its memory.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.0 & ((1 << Self::BITS) - 1))
    }
}

/// The addresses of one message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MessageAddresses {
    /// Lines.
    pub(crate) lines: u16,
    /// Work-items that take part.
    pub(crate) lanes: u16,
    /// Texture pipe: clocks of the work-items, in quarters of one at full rate.
    pub(crate) texels: u16,
    /// Atomic operations on the address that most work-items share.
    pub(crate) clashes: u16,
}

/// What one warp does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Play {
    /// Work-items.
    pub(crate) items: u32,
    pub(crate) blocks: Vec<u32>,
    /// How many of its work-items ran each block, if that is recorded.
    pub(crate) lanes: Vec<u8>,
    /// The messages of its blocks, in order.
    pub(crate) sent: Vec<MessageAddresses>,
    pub(crate) lines: Vec<Line>,
}

/// How accesses become lines on a GPU.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// Work-items of a warp, at most 64.
    pub(crate) width: u32,
    /// Bytes of a texel that the texture pipe reads at full rate.
    pub(crate) full_rate_bytes: f64,
    /// [`Figures::request_bytes`].
    pub(crate) request_bytes: u32,
    /// Whether [`Play::lanes`] are recorded.
    pub(crate) records: bool,
    pub(crate) images: Vec<TracedImage>,
}

impl Mapping {
    pub(crate) fn new(gpu: &Gpu, figures: &Figures, images: Vec<TracedImage>, records: bool) -> Self {
        Self {
            records,
            width: gpu.core.warp_width.value.clamp(1, 64),
            full_rate_bytes: figures.texel_bytes,
            request_bytes: figures.request_bytes as u32,
            images,
        }
    }

    /// The warps of a work-group.
    pub(crate) fn plays(&self, program: &Program, group: &GroupTrace) -> Vec<Play> {
        group.warps.iter().flat_map(|chunk| self.of_chunk(program, chunk)).collect()
    }

    fn of_chunk(&self, program: &Program, chunk: &WarpTrace) -> Vec<Play> {
        let width = self.width;
        // The simulator records chunks of up to 64 work-items. The GPU's warps are consecutive parts of them.
        let warps = chunk.lanes.count_ones().div_ceil(width);
        // A shift by all 64 bits would overflow.
        let mask_of = |warp: u32| (if width == 64 { u64::MAX } else { (1 << width) - 1 }) << (warp * width);
        let mut plays: Vec<Play> = (0..warps)
            .map(|warp| Play { items: (chunk.lanes & mask_of(warp)).count_ones(), ..Play::default() })
            .collect();
        let accesses = chunk.accesses();
        let mut first = 0;
        for (index, visit) in chunk.visits().iter().enumerate() {
            let end = first + accesses[first..].iter().take_while(|(of, _)| *of as usize <= index).count();
            let here = &accesses[first..end];
            first = end;
            let steps = &program.blocks[visit.block];
            for (warp, play) in plays.iter_mut().enumerate() {
                let lanes = visit.mask & mask_of(warp as u32);
                if lanes == 0 {
                    continue;
                }
                play.blocks.push(visit.block.index() as u32);
                if self.records {
                    play.lanes.push(lanes.count_ones() as u8);
                }
                let mut near = 0;
                for step in steps {
                    let Step::Message(message) = step else { continue };
                    let mut sent =
                        MessageAddresses { lanes: lanes.count_ones() as u16, ..MessageAddresses::default() };
                    let start = play.lines.len();
                    for part in &message.parts {
                        self.part(*part, chunk, here, &mut near, lanes, play, &mut sent, start);
                    }
                    sent.lines = (play.lines.len() - start) as u16;
                    play.sent.push(sent);
                }
            }
        }
        plays
    }

    #[allow(clippy::too_many_arguments, reason = "one loop of `of_chunk`")]
    fn part(
        &self,
        part: Part,
        chunk: &WarpTrace,
        here: &[(u32, TracedAccess)],
        near: &mut usize,
        lanes: u64,
        play: &mut Play,
        sent: &mut MessageAddresses,
        start: usize,
    ) {
        match part {
            Part::None => {}
            Part::Spill { slot, bytes, write } => {
                let width = u64::from(self.width);
                // Registers of neighbouring work-items lie side by side, so a warp's spill is contiguous.
                let at = u64::from(slot) * u64::from(bytes) * width;
                let span = u64::from(bytes) * u64::from(lanes.count_ones());
                for line in at / LINE_BYTES..=(at + span.max(1) - 1) / LINE_BYTES {
                    play.lines.push(Line::new(Kind::Private, write, line));
                }
            }
            Part::Access { inst, from, bytes } => {
                // Messages come in about the order of the instructions.
                let at = find(here, *near, inst);
                let Some(at) = at else { return };
                *near = at;
                self.access(&here[at].1, from, bytes, chunk, lanes, play, sent, start);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one loop of `of_chunk`")]
    fn access(
        &self,
        access: &TracedAccess,
        from: u32,
        bytes: u32,
        chunk: &WarpTrace,
        lanes: u64,
        play: &mut Play,
        sent: &mut MessageAddresses,
        start: usize,
    ) {
        let write = access.action != Action::Read;
        let addresses = chunk.addresses(access);
        let mine = access.mask & lanes;
        sent.lanes = mine.count_ones() as u16;
        // A single address stands for all work-items that take part.
        let alone = addresses.len() == 1 && mine != 0;
        let mut gathered = SmallVec::new();
        let own = if alone { addresses } else { select(addresses, access.mask, mine, &mut gathered) };
        match access.reach {
            Reach::Image(index) => {
                let Some(image) = self.images.get(index as usize) else { return };
                // Writes to images do not go through the texture cache.
                let kind = if write { Kind::Global } else { Kind::Texture };
                let rate = (f64::from(image.texel_bytes) / self.full_rate_bytes).max(1.0);
                // Work-items that read the same texel share the read, unless they share no requests.
                let mut texels: SmallVec<[u64; 64]> = SmallVec::new();
                texels.extend_from_slice(own);
                texels.sort_unstable();
                texels.dedup();
                let reads = if self.request_bytes > 0 { mine.count_ones() as usize } else { texels.len() };
                sent.texels = (reads as f64 * rate * 4.0) as u16;
                for offset in texels {
                    enter(&mut play.lines, start, Line::new(kind, write, tiled(image, offset) / LINE_BYTES));
                }
            }
            Reach::Private => {
                // Private variables of neighbouring work-items lie side by side, so equal addresses are adjacent.
                let width = u64::from(self.width);
                for address in own {
                    let line = (address + u64::from(from)) * width / LINE_BYTES;
                    enter(&mut play.lines, start, Line::new(Kind::Private, write, line));
                }
            }
            Reach::Local | Reach::Global => {
                let kind = if access.reach == Reach::Local { Kind::Local } else { Kind::Global };
                // More than the instruction accesses itself, if it stands for its neighbours.
                let bytes = if access.bytes == 0 { 1 } else { bytes.max(1) };
                // Where work-items do not share requests, the pieces of a wide vector do: the first has all lines.
                let wide = self.request_bytes > 0 && kind == Kind::Global && from + bytes <= access.bytes;
                if wide && from > 0 {
                    return;
                }
                let bytes = if wide { access.bytes } else { bytes };
                // Work-items whose data one request returns; they share the lines from `first` on.
                let together = match (kind, self.request_bytes) {
                    (Kind::Global | Kind::Local, 1..) => (self.request_bytes / bytes).max(1),
                    _ => u32::MAX,
                };
                // A single address still takes a request for each set of work-items that one request can serve.
                let times = if alone { mine.count_ones().div_ceil(together) } else { 1 };
                let (mut first, mut left) = (start, together);
                // Dedicated local memory has banks, of which a request reads a word each.
                let banked = kind == Kind::Local && self.request_bytes > 0;
                let mut words: SmallVec<[u64; BANKS]> = SmallVec::new();
                // The halves of lines that the work-item before accesses, if it shares the request.
                let mut before = None;
                for _ in 0..times {
                    for address in own {
                        if left == 0 {
                            if banked {
                                conflict(&mut play.lines, first, &mut words);
                            }
                            (first, left, before) = (play.lines.len(), together, None);
                        }
                        left -= 1;
                        let at = address + u64::from(from);
                        let last = at + u64::from(bytes) - 1;
                        if banked {
                            words.extend(at / WORD_BYTES..=last / WORD_BYTES);
                        }
                        // Neighbours mostly access the same halves, which are entered already.
                        let halves = Some((at / HALF_BYTES, last / HALF_BYTES));
                        if std::mem::replace(&mut before, halves) == halves {
                            continue;
                        }
                        for line in at / LINE_BYTES..=last / LINE_BYTES {
                            let low = at.max(line * LINE_BYTES) % LINE_BYTES / HALF_BYTES;
                            let high = last.min(line * LINE_BYTES + LINE_BYTES - 1) % LINE_BYTES / HALF_BYTES;
                            let whole = Line::new(kind, write, line);
                            let line = if low == high { whole.half(low) } else { whole };
                            enter(&mut play.lines, first, line);
                        }
                    }
                    // What follows is another request.
                    left = 0;
                }
                if banked {
                    conflict(&mut play.lines, first, &mut words);
                }
                if access.action == Action::Atomic {
                    sent.clashes = if alone {
                        mine.count_ones() as u16
                    } else {
                        // Operations on one address take turns, so the longest queue bounds the message.
                        let mut own: SmallVec<[u64; 64]> = own.into();
                        own.sort_unstable();
                        own.chunk_by(|a, b| a == b).map(|same| same.len() as u16).max().unwrap_or(0)
                    };
                }
            }
        }
    }
}

/// Half of a line, the smallest transfer from some L2s.
const HALF_BYTES: u64 = LINE_BYTES / 2;

/// Bytes of a word of local memory: consecutive words are in consecutive banks.
const WORD_BYTES: u64 = 4;
/// Banks of local memory: a line has a word in each.
const BANKS: usize = (LINE_BYTES / WORD_BYTES) as usize;

/// Leaves as many of a request's lines as it takes rounds: in each, every bank returns a word. Words that work-items share are
/// read once.
fn conflict(lines: &mut Vec<Line>, first: usize, words: &mut SmallVec<[u64; BANKS]>) {
    words.sort_unstable();
    words.dedup();
    let mut rounds = [0; BANKS];
    words.drain(..).for_each(|word| rounds[word as usize % BANKS] += 1);
    lines.truncate(first + rounds.into_iter().max().unwrap_or(0));
}

/// Adds a line to those from `first` on, unless it is one of them.
fn enter(lines: &mut Vec<Line>, first: usize, line: Line) {
    // A message has few lines, so a search is faster than a set; neighbours share the newest ones.
    if !lines[first..].iter_mut().rev().any(|other| other.merge(line)) {
        lines.push(line);
    }
}

/// The addresses of the work-items `mine`, of those that were recorded for the work-items `active`, in their order.
fn select<'a>(
    addresses: &'a [u64],
    active: u64,
    mine: u64,
    gathered: &'a mut SmallVec<[u64; 64]>,
) -> &'a [u64] {
    if mine == 0 {
        return &[];
    }
    let below = |lane: u32| (1u64 << lane) - 1;
    let (lowest, highest) = (mine.trailing_zeros(), mine.ilog2());
    let first = (active & below(lowest)).count_ones() as usize;
    // Mostly, all active work-items of the warp take part, so that their addresses follow each other.
    if active & !below(lowest) & (below(highest) << 1 | 1) == mine {
        let all = addresses.get(first..).unwrap_or_default();
        return &all[..all.len().min(mine.count_ones() as usize)];
    }
    let mut left = mine;
    while left != 0 {
        let before = active & below(left.trailing_zeros());
        left &= left - 1;
        gathered.extend(addresses.get(before.count_ones() as usize).copied());
    }
    gathered
}

fn find(here: &[(u32, TracedAccess)], near: usize, inst: Inst) -> Option<usize> {
    let is = |at: &usize| here[*at].1.inst == inst;
    (near..here.len()).find(is).or_else(|| (0..near.min(here.len())).find(is))
}

/// The address of a texel, given its linear offset. Images are stored in squares of texels that fill a line. No vendor
/// publishes the layout: the square is guessed.
fn tiled(image: &TracedImage, offset: u64) -> u64 {
    let texel = u64::from(image.texel_bytes.max(1));
    // Only two and three dimensions are tiled. An image over a buffer has the buffer's rows.
    if !matches!(image.extent, ImageExtent::D2 { .. } | ImageExtent::D2Array { .. } | ImageExtent::D3 { .. })
        || image.pitch[0] == 0
        || image.over_buffer
    {
        return image.base + offset;
    }
    let (y, rest) = (offset / image.pitch[0], offset % image.pitch[0]);
    let x = rest / texel;
    // A square of texels in each line; its side is a power of two.
    let side = match LINE_BYTES / texel {
        0..4 => 0,
        4..16 => 1,
        16..64 => 2,
        _ => 3,
    };
    let inside = (1 << side) - 1;
    let tiles = (image.extent.width() as u64 + inside) >> side;
    let tile = (y >> side) * tiles + (x >> side);
    image.base + ((tile << (2 * side)) + ((y & inside) << side) + (x & inside)) * texel
}

/// The block of that number.
pub(crate) fn block(number: u32) -> Block {
    Block::new(number as usize)
}
