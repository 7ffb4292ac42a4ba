//! Chrome's JSON form: a list of events.

use serde_json::{Map, Value, json};

use crate::counters::steps;
use crate::lanes::lanes;
use crate::{ArgumentValue, Arguments, CommandKind, CounterUnit, Slice, Timeline};

/// A timeline as Chrome JSON: an object with `traceEvents`. Times are microseconds, with three decimals.
///
/// The commands of a GPU's queue are slices of a thread of the GPU's process. Slices that overlap without one inside
/// the other are on several threads, whose names end in a number.
pub fn chrome_json(timeline: &Timeline) -> String {
    let mut events = Vec::new();
    let pids = crate::file::pids(timeline);
    for (rank, (process, pid)) in timeline.processes.iter().zip(pids).enumerate() {
        events.push(
            json!({"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": process.name}}),
        );
        events.push(json!({
            "ph": "M", "pid": pid, "tid": 0, "name": "process_sort_index", "args": {"sort_index": rank}
        }));
        if !process.labels.is_empty() {
            let labels = process.labels.join(", ");
            events.push(
                json!({"ph": "M", "pid": pid, "tid": 0, "name": "process_labels", "args": {"labels": labels}}),
            );
        }
        let mut thread = 0u64;
        let mut rows = |name: &str, slices: &[Slice], events: &mut Vec<Value>| {
            for (row, slices) in lanes(slices).into_iter().enumerate() {
                thread += 1;
                let name = if row == 0 { name.to_owned() } else { format!("{name} ({})", row + 1) };
                events.push(
                    json!({"ph": "M", "pid": pid, "tid": thread, "name": "thread_name", "args": {"name": name}}),
                );
                events.push(json!({
                    "ph": "M", "pid": pid, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": thread}
                }));
                events.extend(slices.into_iter().map(|slice| {
                    json!({
                        "ph": "X", "pid": pid, "tid": thread, "ts": microseconds(slice.start_ns),
                        "dur": microseconds(slice.duration_ns), "name": slice.name, "cat": slice.category,
                        "args": object(&slice.arguments),
                    })
                }));
            }
        };
        if let Some(gpu) = &process.gpu {
            for queue in &gpu.queues {
                let slices: Vec<Slice> = queue.commands.iter().map(command).collect();
                rows(&queue.name, &slices, &mut events);
            }
        }
        for track in &process.tracks {
            rows(&track.name, &track.slices, &mut events);
        }
        for counter in process.gpu.iter().flat_map(|gpu| &gpu.counters) {
            let unit = match counter.unit {
                CounterUnit::Count => "value",
                CounterUnit::Percent => "percent",
                CounterUnit::BytesPerSecond => "bytes per second",
            };
            events.extend(steps(counter).into_iter().map(|(time_ns, value)| {
                json!({
                    "ph": "C", "pid": pid, "tid": 0, "ts": microseconds(time_ns), "name": counter.name,
                    "args": {unit: value},
                })
            }));
        }
    }
    let all = json!({"traceEvents": events, "displayTimeUnit": "ns", "otherData": object(&timeline.facts)});
    all.to_string()
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

fn object(arguments: &Arguments) -> Value {
    let value = |value: &ArgumentValue| match value {
        ArgumentValue::Integer(value) => json!(value),
        ArgumentValue::Number(value) => json!(value),
        ArgumentValue::Text(value) => json!(value),
    };
    Value::Object(arguments.0.iter().map(|(name, of)| (name.to_string(), value(of))).collect::<Map<_, _>>())
}
