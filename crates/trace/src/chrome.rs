//! Chrome's JSON form: a list of events.
//!
//! `write-json` writes each event as it comes; `serde_json` would need a tree of all of them, or a struct for each kind.

use write_json::{Array, Object};

use crate::counters::steps;
use crate::lanes::lanes;
use crate::{ArgumentValue, Arguments, CommandKind, CounterUnit, Slice, Timeline};

/// The largest whole number up to which a JSON number is exact.
const EXACT: u64 = 1 << 53;

/// A timeline as Chrome JSON: an object with `traceEvents`. Times are microseconds, with three decimals.
///
/// The commands of a GPU's queue are slices of a thread of the GPU's process. Slices that overlap without one inside
/// the other are on several threads, whose names end in a number.
pub fn chrome_json(timeline: &Timeline) -> String {
    let mut text = String::new();
    let mut all = write_json::object(&mut text);
    all.string("displayTimeUnit", "ns");
    add(&mut all.object("otherData"), &timeline.facts);
    let mut events = all.array("traceEvents");
    let pids = crate::file::pids(timeline);
    for (rank, (process, pid)) in timeline.processes.iter().zip(pids).enumerate() {
        let mut process_events = Events { list: &mut events, pid, thread: 0 };
        process_events.metadata("process_name", |about| {
            about.string("name", &process.name);
        });
        process_events.metadata("process_sort_index", |about| {
            about.number("sort_index", rank as f64);
        });
        if !process.labels.is_empty() {
            process_events.metadata("process_labels", |about| {
                about.string("labels", &process.labels.join(", "));
            });
        }
        for queue in process.gpu.iter().flat_map(|gpu| &gpu.queues) {
            let slices: Vec<Slice> = queue.commands.iter().map(command).collect();
            process_events.track(&queue.name, &slices);
        }
        for track in &process.tracks {
            process_events.track(&track.name, &track.slices);
        }
        process_events.thread = 0;
        for counter in process.gpu.iter().flat_map(|gpu| &gpu.counters) {
            let unit = match counter.unit {
                CounterUnit::Count => "value",
                CounterUnit::Percent => "percent",
                CounterUnit::BytesPerSecond => "bytes per second",
            };
            for (time_ns, value) in steps(counter) {
                let mut event = process_events.event("C", &counter.name);
                event.number("ts", microseconds(time_ns)).object("args").number(unit, value);
            }
        }
    }
    drop(events);
    drop(all);
    text
}

/// The events of a process.
struct Events<'e, 'a> {
    list: &'e mut Array<'a>,
    pid: u32,
    thread: u64,
}

impl Events<'_, '_> {
    /// Adds an event with the fields that all have.
    fn event(&mut self, phase: &str, name: &str) -> Object<'_> {
        let mut event = self.list.object();
        event.string("ph", phase).number("pid", self.pid.into()).number("tid", self.thread as f64);
        event.string("name", name);
        event
    }

    fn metadata(&mut self, name: &str, about: impl FnOnce(&mut Object<'_>)) {
        about(&mut self.event("M", name).object("args"));
    }

    /// Adds slices, on as many threads as they need.
    fn track(&mut self, name: &str, slices: &[Slice]) {
        for (row, slices) in lanes(slices).into_iter().enumerate() {
            self.thread += 1;
            let rank = self.thread as f64;
            self.metadata("thread_name", |about| {
                let name = if row == 0 { name.to_owned() } else { format!("{name} ({})", row + 1) };
                about.string("name", &name);
            });
            self.metadata("thread_sort_index", |about| {
                about.number("sort_index", rank);
            });
            for slice in slices {
                let mut event = self.event("X", &slice.name);
                event.string("cat", &slice.category).number("ts", microseconds(slice.start_ns));
                event.number("dur", microseconds(slice.duration_ns));
                add(&mut event.object("args"), &slice.arguments);
            }
        }
    }
}

fn command(command: &crate::Command) -> Slice {
    let mut arguments = Arguments::default();
    let category = match &command.kind {
        CommandKind::Kernel(kernel) => {
            arguments.push("global", extent(kernel.global));
            if let (Some(local), Some(groups)) = (kernel.local, kernel.groups()) {
                arguments.push("local", extent(local));
                arguments.push("work-groups", extent(groups));
            }
            if let Some(registers) = kernel.registers {
                arguments.push("registers_per_thread", registers);
            }
            if let Some(bytes) = kernel.spill_bytes {
                arguments.push("spill_bytes", bytes);
            }
            "kernel"
        }
        CommandKind::Transfer => "transfer",
    };
    arguments.0.extend(command.arguments.0.iter().cloned());
    Slice {
        name: command.name.clone(),
        category: category.into(),
        start_ns: command.start_ns,
        duration_ns: command.duration_ns,
        arguments,
    }
}

fn extent([x, y, z]: [u64; 3]) -> String {
    format!("{x}x{y}x{z}")
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Adds facts. JSON has no numbers that are not finite, and readers round large ones: these are texts.
fn add(object: &mut Object<'_>, arguments: &Arguments) {
    for (name, value) in &arguments.0 {
        match value {
            ArgumentValue::Integer(value) if *value <= EXACT => object.number(name, *value as f64),
            ArgumentValue::Integer(value) => object.string(name, &value.to_string()),
            ArgumentValue::Number(value) if value.is_finite() => object.number(name, *value),
            ArgumentValue::Number(value) => object.string(name, &value.to_string()),
            ArgumentValue::Text(value) => object.string(name, value),
        };
    }
}
