//! The data of a timeline.

use std::borrow::Cow;

/// What ran when. All times are nanoseconds from one start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Facts about the whole: where it was recorded, what is left out.
    pub facts: Arguments,
    /// The processes, in the order to show them in.
    pub processes: Vec<Process>,
}

/// A group of tracks: a program on the host, or a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Its name, e.g. `Mali-G77 (predicted)`.
    pub name: String,
    /// The system's number of a process of the host; `None` for others, which get a number when they are written.
    pub pid: Option<u32>,
    /// Facts about it, shown beside its name.
    pub labels: Vec<String>,
    /// Its tracks, in the order to show them in.
    pub tracks: Vec<Track>,
    /// Its queues and counters, if it is a GPU.
    pub gpu: Option<GpuTimeline>,
}

/// A row of slices, e.g. a thread, or a core of a GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Its slices in any order. Those that overlap without one inside the other are shown in several rows.
    pub slices: Vec<Slice>,
}

/// Something that took time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice {
    /// What it is.
    pub name: String,
    /// Its kind, by which viewers filter and colour, e.g. `build`.
    pub category: Cow<'static, str>,
    /// When it started.
    pub start_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// Facts about it.
    pub arguments: Arguments,
}

/// Named facts, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(pub Vec<(Cow<'static, str>, ArgumentValue)>);

impl Arguments {
    /// Adds a fact.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<ArgumentValue>) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a fact.
    pub fn push(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<ArgumentValue>) {
        self.0.push((name.into(), value.into()));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// A whole number.
    Integer(u64),
    /// A number.
    Number(f64),
    /// Words.
    Text(Cow<'static, str>),
}

impl From<u64> for ArgumentValue {
    fn from(value: u64) -> Self {
        Self::Integer(value)
    }
}

impl From<usize> for ArgumentValue {
    fn from(value: usize) -> Self {
        Self::Integer(value as u64)
    }
}

impl From<u32> for ArgumentValue {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for ArgumentValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<String> for ArgumentValue {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<&'static str> for ArgumentValue {
    fn from(value: &'static str) -> Self {
        Self::Text(value.into())
    }
}

/// The part of a timeline that only a GPU has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuTimeline {
    /// Its queues.
    pub queues: Vec<GpuQueue>,
    /// Its counters.
    pub counters: Vec<Counter>,
}

/// A queue of a GPU: its commands as the GPU executed them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GpuQueue {
    /// Its name.
    pub name: String,
    /// Its commands in any order. A queue executes one at a time.
    pub commands: Vec<Command>,
}

/// A command of a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Command {
    /// The kernel's name, or that of the transfer.
    pub name: String,
    /// What it is.
    pub kind: CommandKind,
    /// When it started on the GPU.
    pub start_ns: u64,
    /// How long it took there.
    pub duration_ns: u64,
    /// Facts about it.
    pub arguments: Arguments,
}

/// The kinds of commands.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CommandKind {
    /// A kernel.
    Kernel(KernelLaunch),
    /// A copy or a fill of memory.
    #[default]
    Transfer,
}

/// The range of a kernel, and what its compiler made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelLaunch {
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group; `None` if the driver chose it.
    pub local: Option<[u64; 3]>,
    /// Registers of a work-item, if known.
    pub registers: Option<u64>,
    /// Bytes that a work-item spills, or holds in private memory; `None` if that is not known.
    pub spill_bytes: Option<u64>,
}

impl KernelLaunch {
    /// The number of work-groups in each dimension, if their size is known.
    pub fn groups(&self) -> Option<[u64; 3]> {
        let local = self.local?;
        Some([0, 1, 2].map(|dimension| self.global[dimension].div_ceil(local[dimension].max(1))))
    }
}

/// A number that changes over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What it counts, and how that is known.
    pub description: String,
    /// The unit of its values.
    pub unit: CounterUnit,
    /// What it is about.
    pub group: CounterGroup,
    /// Its values, in order of time, without overlap. Between them it is 0.
    pub samples: Vec<CounterSample>,
}

/// The value of a counter for some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CounterSample {
    /// From when.
    pub start_ns: u64,
    /// Until when.
    pub end_ns: u64,
    /// The mean value in that time.
    pub value: f64,
}

/// The units of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterUnit {
    /// A number without a unit.
    #[default]
    Count,
    /// Percent of the maximum.
    Percent,
    /// Bytes per second.
    BytesPerSecond,
}

/// The groups of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CounterGroup {
    /// Pipes and threads.
    #[default]
    Compute,
    /// Caches and memory.
    Memory,
}
