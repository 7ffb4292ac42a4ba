//! What happened in a launch, as a result.

use std::ops::Range;

use super::Counts;
use crate::resource::Resource;

/// What happened in a launch, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// Counts of the whole launch: what was played, and the rest at the rate of the played windows.
    pub counts: Counts,
    /// Counts of what was played.
    pub played: Counts,
    /// The parts of the launch that were played, in order: one, if all of it was.
    pub windows: Vec<Window>,
    /// What happened over time, in order: intervals of equal length, except for the last of a window. At most 200.
    pub samples: Vec<Sample>,
    /// Work-groups that were played, in the order of their starts, at most 4096.
    pub spans: Vec<Span>,
    /// Work-groups that were played and that `spans` leaves out.
    pub spans_left_out: u64,
    /// Lines of the source with what they did, of the whole launch; the busiest first.
    pub lines: Vec<LineActivity>,
}

/// A part of a launch that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// When it starts and ends, in seconds. Where it lies in a launch that was not played whole is an estimate from
    /// the work of the work-groups before it.
    pub start: f64,
    /// When it ends.
    pub end: f64,
    /// Linear number of its first work-group.
    pub first_group: u64,
    /// Positions of its samples.
    pub samples: Range<usize>,
}

/// What happened in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// When it starts, in seconds.
    pub start: f64,
    /// Its length.
    pub seconds: f64,
    /// Share of it that each resource was busy, in the order of [`Resource::ALL`], as in
    /// [`Prediction::shares`](crate::Prediction::shares).
    pub shares: [f64; Resource::ALL.len()],
    /// Mean number of work-items on all cores.
    pub threads: f64,
    /// Bytes between the cores and the L2.
    pub l2_bytes: f64,
    /// Bytes read from DRAM.
    pub dram_read_bytes: f64,
    /// Bytes written to DRAM.
    pub dram_written_bytes: f64,
}

/// The time of a work-group on a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Linear number of the work-group, dimension 0 fastest.
    pub group: u64,
    /// The core.
    pub core: u32,
    /// A number that no other work-group has that is on the core at the same time, from 0.
    pub slot: u32,
    /// When it starts, in seconds.
    pub start: f64,
    /// When it ends, or when its window ends.
    pub end: f64,
    /// Whether it was played to its end.
    pub ended: bool,
}

/// What a line of the source did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineActivity {
    /// Name of the file; `None`, with line 0, for code without a location.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Words and instructions that warps executed for it, by [`Pipe::ALL`](tripipe_machine::Pipe::ALL). A word of
    /// several operations counts in parts for the lines that they come from.
    pub words: [f64; tripipe_machine::Pipe::ALL.len()],
    /// Clocks that it occupied arithmetic (by engine), the CVT and SFU pipes, load/store, texture and local memory (by
    /// core), in the order of [`Resource::ALL`].
    pub clocks: [f64; 6],
    /// Clocks that warps waited for the results of its loads and image reads, by warp.
    pub waited_clocks: f64,
    /// Bytes that work-items loaded and stored.
    pub bytes: f64,
    /// Bytes between the cores and the L2 that its accesses moved, modified lines that they displaced included.
    pub l2_bytes: f64,
    /// The same between the L2 and DRAM.
    pub dram_bytes: f64,
}

impl LineActivity {
    /// The heat of the line: clocks of all pipes.
    pub fn busy_clocks(&self) -> f64 {
        self.clocks.iter().sum()
    }
}
