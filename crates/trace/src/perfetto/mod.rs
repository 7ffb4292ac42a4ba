//! Perfetto's binary form: a sequence of packets, each a protobuf message.

mod fields;
mod message;

use fields::{
    counter_event, counter_spec, gpu_info, interned, launch, packet, stage_event, trace, track, track_event,
};
use message::Message;

use crate::counters::steps;
use crate::lanes::{Edge, edges, lanes};
use crate::{
    ArgumentValue, Arguments, Command, CommandKind, CounterGroup, CounterUnit, GpuTimeline, KernelLaunch,
    Timeline,
};

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;

/// The interned numbers of the two stages; those of queues follow.
const KERNEL_STAGE: u64 = 1;
const TRANSFER_STAGE: u64 = 2;

/// A timeline as a Perfetto trace.
///
/// Each process has a track with its own tracks below. The commands of a GPU's queue are render-stage events, with the
/// range of a kernel as its launch; its counters are GPU counters, whose values apply to the time before them.
pub fn perfetto(timeline: &Timeline) -> Vec<u8> {
    let mut writer = Writer { bytes: Vec::new(), timed: Vec::new(), tracks: 0, events: 0, counters: 0 };
    writer.interned(timeline);
    writer.facts(&timeline.facts);
    let pids = crate::file::pids(timeline);
    for (process, pid) in timeline.processes.iter().zip(&pids) {
        let own = writer.track(|message| {
            let described = Message::new().uint(track::PID, (*pid).into());
            let described = described.text(track::PROCESS_NAME, &process.name);
            let described =
                described.each(&process.labels, |message, label| message.text(track::PROCESS_LABELS, label));
            message.message(track::PROCESS, &described).uint(track::CHILD_ORDERING, track::EXPLICIT)
        });
        for (rank, row) in process.tracks.iter().enumerate() {
            // Rows of one name are merged by the viewer.
            for slices in lanes(&row.slices) {
                let uuid = writer.track(|message| {
                    let message = message.uint(track::PARENT_UUID, own).text(track::NAME, &row.name);
                    message.uint(track::SIBLING_ORDER_RANK, rank as u64)
                });
                writer.slices(uuid, &slices);
            }
        }
    }
    let gpus = timeline.processes.iter().filter_map(|process| process.gpu.as_ref());
    let mut queue_iid = TRANSFER_STAGE;
    for (gpu_id, gpu) in gpus.enumerate() {
        writer.commands(gpu_id as u64, gpu, &mut queue_iid);
        writer.counters(gpu_id as u64, gpu);
    }
    writer.finish()
}

struct Writer {
    /// Packets that are complete.
    bytes: Vec<u8>,
    /// Packets with times, to be sorted.
    timed: Vec<(u64, Message)>,
    /// The number of tracks, of render-stage events, and of counters so far.
    tracks: u64,
    events: u64,
    counters: u64,
}

impl Writer {
    fn add(&mut self, time_ns: u64, message: Message, flags: u64) {
        let message = message
            .uint(packet::TIMESTAMP, time_ns)
            .uint(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE)
            .uint(packet::SEQUENCE_FLAGS, flags);
        self.bytes.extend(Message::new().message(trace::PACKET, &message).into_bytes());
    }

    /// What the other packets refer to by number. The first packet.
    fn interned(&mut self, timeline: &Timeline) {
        let specification =
            |iid, name: &str| Message::new().uint(interned::IID, iid).text(interned::NAME, name);
        let kernels =
            specification(KERNEL_STAGE, "OpenCL kernel").uint(interned::CATEGORY, interned::COMPUTE);
        let mut data = Message::new()
            .message(interned::GPU_SPECIFICATIONS, &kernels)
            .message(interned::GPU_SPECIFICATIONS, &specification(TRANSFER_STAGE, "Transfer"));
        let mut gpus = Message::new();
        let (mut iid, mut gpu_count) = (TRANSFER_STAGE, 0);
        for (process, pid) in timeline.processes.iter().zip(crate::file::pids(timeline)) {
            let Some(gpu) = &process.gpu else { continue };
            for queue in &gpu.queues {
                iid += 1;
                data = data.message(interned::GPU_SPECIFICATIONS, &specification(iid, &queue.name));
            }
            gpu_count += 1;
            let context = Message::new()
                .uint(interned::IID, gpu_count)
                .uint(interned::PID, pid.into())
                .uint(interned::API, interned::OPEN_CL);
            data = data.message(interned::GRAPHICS_CONTEXTS, &context);
            gpus = gpus.message(gpu_info::GPUS, &Message::new().text(gpu_info::NAME, &process.name));
        }
        let first =
            Message::new().message(packet::INTERNED_DATA, &data).uint(packet::FIRST_PACKET_ON_SEQUENCE, 1);
        self.add(0, first, packet::INCREMENTAL_STATE_CLEARED);
        if gpu_count > 0 {
            self.add(0, Message::new().message(packet::GPU_INFO, &gpus), packet::NEEDS_INCREMENTAL_STATE);
        }
    }

    /// Facts about the whole trace: an instant on a track of its own.
    fn facts(&mut self, facts: &Arguments) {
        if facts.is_empty() {
            return;
        }
        let uuid = self.track(|message| message.text(track::NAME, "trace"));
        let event = Message::new()
            .uint(track_event::TYPE, track_event::INSTANT)
            .uint(track_event::TRACK_UUID, uuid)
            .text(track_event::NAME, "about this trace");
        let event = annotated(event, facts);
        self.timed.push((0, Message::new().message(packet::TRACK_EVENT, &event)));
    }

    /// Describes a track; returns its number.
    fn track(&mut self, describe: impl FnOnce(Message) -> Message) -> u64 {
        self.tracks += 1;
        let described = describe(Message::new().uint(track::UUID, self.tracks));
        let message = Message::new().message(packet::TRACK_DESCRIPTOR, &described);
        self.add(0, message, packet::NEEDS_INCREMENTAL_STATE);
        self.tracks
    }

    fn slices(&mut self, uuid: u64, row: &[&crate::Slice]) {
        for (time_ns, edge) in edges(row) {
            let event = Message::new().uint(track_event::TRACK_UUID, uuid);
            let event = match edge {
                Edge::Begin(slice) => {
                    let event = event
                        .uint(track_event::TYPE, track_event::SLICE_BEGIN)
                        .text(track_event::NAME, &slice.name)
                        .text(track_event::CATEGORIES, &slice.category);
                    annotated(event, &slice.arguments)
                }
                Edge::End => event.uint(track_event::TYPE, track_event::SLICE_END),
            };
            self.timed.push((time_ns, Message::new().message(packet::TRACK_EVENT, &event)));
        }
    }

    fn commands(&mut self, gpu_id: u64, gpu: &GpuTimeline, queue_iid: &mut u64) {
        for queue in &gpu.queues {
            *queue_iid += 1;
            for command in &queue.commands {
                let Command { name, kind, start_ns, duration_ns, arguments } = command;
                self.events += 1;
                let stage = match kind {
                    CommandKind::Kernel(_) => KERNEL_STAGE,
                    CommandKind::Transfer => TRANSFER_STAGE,
                };
                let event = Message::new()
                    .uint(stage_event::EVENT_ID, self.events)
                    .uint(stage_event::DURATION, *duration_ns)
                    .uint(stage_event::HW_QUEUE_IID, *queue_iid)
                    .uint(stage_event::STAGE_IID, stage)
                    .uint(stage_event::GPU_ID, gpu_id)
                    .uint(stage_event::CONTEXT, gpu_id + 1)
                    .text(stage_event::NAME, name)
                    .each(&arguments.0, |event, (name, value)| {
                        let value = match value {
                            ArgumentValue::Integer(value) => value.to_string(),
                            ArgumentValue::Number(value) => value.to_string(),
                            ArgumentValue::Text(value) => value.to_string(),
                        };
                        let extra = Message::new().text(stage_event::EXTRA_NAME, name);
                        event.message(stage_event::EXTRA_DATA, &extra.text(stage_event::EXTRA_VALUE, &value))
                    });
                let event = match kind {
                    CommandKind::Kernel(kernel) => event.message(stage_event::LAUNCH, &launched(kernel)),
                    CommandKind::Transfer => event,
                };
                self.timed.push((*start_ns, Message::new().message(packet::GPU_RENDER_STAGE_EVENT, &event)));
            }
        }
    }

    fn counters(&mut self, gpu_id: u64, gpu: &GpuTimeline) {
        if gpu.counters.is_empty() {
            return;
        }
        let mut specs = Message::new();
        let mut values: Vec<(u64, u64, f64)> = Vec::new();
        for counter in &gpu.counters {
            self.counters += 1;
            let spec = Message::new()
                .uint(counter_spec::COUNTER_ID, self.counters)
                .text(counter_spec::NAME, &counter.name)
                .text(counter_spec::DESCRIPTION, &counter.description);
            let spec = match counter.unit {
                CounterUnit::Count => spec,
                CounterUnit::Percent => spec.uint(counter_spec::NUMERATOR_UNITS, counter_spec::PERCENT),
                CounterUnit::BytesPerSecond => spec
                    .uint(counter_spec::NUMERATOR_UNITS, counter_spec::BYTE)
                    .uint(counter_spec::DENOMINATOR_UNITS, counter_spec::SECOND),
            };
            let group = match counter.group {
                CounterGroup::Compute => counter_spec::COMPUTE,
                CounterGroup::Memory => counter_spec::MEMORY,
            };
            let spec = spec
                .uint(counter_spec::SELECT_BY_DEFAULT, 1)
                .uint(counter_spec::GROUPS, group)
                .uint(counter_spec::VALUE_DIRECTION, counter_spec::BACKWARDS_LOOKING);
            specs = specs.message(counter_spec::SPECS, &spec);
            // A value is that of the time before; the first has no time before.
            let mut before = 0.0;
            for (time_ns, value) in steps(counter) {
                values.push((time_ns, self.counters, before));
                before = value;
            }
        }
        let described = Message::new()
            .message(counter_event::COUNTER_DESCRIPTOR, &specs)
            .uint(counter_event::GPU_ID, gpu_id);
        let message = Message::new().message(packet::GPU_COUNTER_EVENT, &described);
        self.add(0, message, packet::NEEDS_INCREMENTAL_STATE);
        values.sort_by_key(|(time_ns, ..)| *time_ns);
        for together in values.chunk_by(|one, next| one.0 == next.0) {
            let event = Message::new().uint(counter_event::GPU_ID, gpu_id);
            let event = event.each(together, |event, (_, counter, value)| {
                let value = Message::new()
                    .uint(counter_event::COUNTER_ID, *counter)
                    .double(counter_event::DOUBLE_VALUE, *value);
                event.message(counter_event::COUNTERS, &value)
            });
            self.timed.push((together[0].0, Message::new().message(packet::GPU_COUNTER_EVENT, &event)));
        }
    }

    /// Adds the packets with times in order.
    fn finish(mut self) -> Vec<u8> {
        let mut timed = std::mem::take(&mut self.timed);
        // Stable: what a track has at one time stays in order.
        timed.sort_by_key(|(time_ns, _)| *time_ns);
        for (time_ns, message) in timed {
            self.add(time_ns, message, packet::NEEDS_INCREMENTAL_STATE);
        }
        self.bytes
    }
}

fn launched(kernel: &KernelLaunch) -> Message {
    let extent = |[x, y, z]: [u64; 3]| {
        // Extents are numbers of 32 bits there.
        let most = u64::from(u32::MAX);
        Message::new().uint(1, x.min(most)).uint(2, y.min(most)).uint(3, z.min(most))
    };
    let arg =
        |name: &str, value: u64| Message::new().text(launch::ARG_NAME, name).uint(launch::ARG_UINT, value);
    let [x, y, z] = kernel.global;
    let known = [
        ("global_size_x", Some(x)),
        ("global_size_y", Some(y)),
        ("global_size_z", Some(z)),
        ("registers_per_thread", kernel.registers),
        ("spill_bytes", kernel.spill_bytes),
    ];
    let message = Message::new();
    let message = match (kernel.groups(), kernel.local) {
        (Some(groups), Some(local)) => message
            .message(launch::GRID_SIZE, &extent(groups))
            .message(launch::WORK_GROUP_SIZE, &extent(local)),
        _ => message,
    };
    message.each(known, |message, (name, value)| match value {
        Some(value) => message.message(launch::ARGS, &arg(name, value)),
        None => message,
    })
}

fn annotated(event: Message, arguments: &Arguments) -> Message {
    event.each(&arguments.0, |event, (name, value)| {
        let annotation = Message::new().text(track_event::ANNOTATION_NAME, name);
        let annotation = match value {
            ArgumentValue::Integer(value) => annotation.uint(track_event::UINT_VALUE, *value),
            ArgumentValue::Number(value) => annotation.double(track_event::DOUBLE_VALUE, *value),
            ArgumentValue::Text(value) => annotation.text(track_event::STRING_VALUE, value),
        };
        event.message(track_event::DEBUG_ANNOTATIONS, &annotation)
    })
}
