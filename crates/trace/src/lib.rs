//! Timelines: what ran when, on a host and on GPUs.
//!
//! A [`Timeline`] is plain data: processes with tracks of slices, GPUs with queues of commands, and counters. It is made
//! from a prediction, or recorded while a program runs ([`Recorder`]). With the feature `files`, `save` writes it to a
//! file: as a Perfetto trace or as Chrome JSON, both of which ui.perfetto.dev opens.
//!
//! All times are nanoseconds from the start of the timeline.

#[cfg(feature = "files")]
mod chrome;
#[cfg(feature = "files")]
mod counters;
#[cfg(feature = "files")]
mod file;
#[cfg(feature = "files")]
mod lanes;
#[cfg(feature = "files")]
mod perfetto;
mod recorder;
mod timeline;

#[cfg(feature = "files")]
pub use chrome::chrome_json;
#[cfg(feature = "files")]
pub use file::{TraceError, TraceFile, TraceFormat};
#[cfg(feature = "files")]
pub use perfetto::perfetto;
pub use recorder::{
    CommandTimes, DeviceCommand, GpuId, QueueId, Recorder, Span, VARIABLE, install, recorder, span,
};
pub use timeline::{
    ArgumentValue, Arguments, Command, CommandKind, Counter, CounterGroup, CounterSample, CounterUnit,
    GpuQueue, GpuTimeline, KernelLaunch, Process, Slice, Timeline, Track,
};
