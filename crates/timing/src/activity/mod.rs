//! What happened in a launch, and when: counts, samples over time, spans of work-groups, heat of source lines.
//!
//! The engine and the memory report to a recorder if one is set, so that a prediction without activity costs
//! nothing. Times here are seconds from the start of the launch. A launch that is played in parts has a
//! [`Window`] for each of them: samples and spans lie in windows, and nothing is known about the time between them.

mod counts;
mod facts;
mod memory_series;
mod recorder;
mod result;
mod survey;
mod timeline;
mod whole;

pub use counts::Counts;
pub(crate) use facts::Facts;
pub(crate) use memory_series::MemorySeries;
pub(crate) use recorder::{CoreSeries, PipeTransit, Recorder, WindowTicks};
pub use result::{Activity, LineActivity, Sample, Span, Window};
pub(crate) use survey::survey;
pub(crate) use timeline::Timeline;
pub(crate) use whole::{Recorded, WholeLaunch};
