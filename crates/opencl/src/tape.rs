//! Recording of the commands of a queue, while the process records what it runs ([`tripipe_trace`]).

use tripipe_launch::{KernelFacts, NdRange};
use tripipe_trace::{
    Arguments, Command, CommandKind, CommandTimes, DeviceCommand, KernelLaunch, QueueId, Recorder, Slice,
};

use crate::devices::Device;
use crate::event::Event;

/// Where a queue records its commands.
#[derive(Clone, Copy)]
pub(crate) struct Tape {
    recorder: &'static Recorder,
    queue: QueueId,
}

/// The host's call that enqueues a command; nothing if nothing is recorded.
pub(crate) struct Call(Option<(Tape, u64)>);

/// A kernel with its range, or bytes that are transferred.
pub(crate) enum Enqueued<'c> {
    Kernel { entry: &'c str, range: &'c NdRange, facts: KernelFacts },
    Transfer { what: &'static str, bytes: usize },
}

impl Tape {
    /// A tape for a new queue of a device; `None` if nothing is recorded.
    pub(crate) fn of_queue(device: &Device) -> Option<Self> {
        let recorder = tripipe_trace::recorder()?;
        let probe = device.probe();
        let labels = || vec![format!("OpenCL: {}, {}", probe.platform, probe.version)];
        let gpu = recorder.gpu(&probe.name, device.id() as usize, labels);
        Some(Self { recorder, queue: recorder.queue(gpu, "OpenCL queue") })
    }

    /// Begins a call that enqueues a command.
    pub(crate) fn call(tape: Option<Self>) -> Call {
        Call(tape.map(|tape| (tape, tape.recorder.now_ns())))
    }
}

impl Call {
    /// Whether its command is recorded, so that its event is needed.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.is_some()
    }

    /// Ends the call: the command that it has enqueued.
    pub(crate) fn enqueued(self, event: &Event, command: &Enqueued<'_>) {
        if let Some((tape, begin_ns)) = self.0 {
            tape.record(begin_ns, event.again().map_err(|error| error.to_string()), command, "enqueue");
        }
    }

    /// Ends the call, which has waited for its command.
    pub(crate) fn ended(self, event: Event, command: &Enqueued<'_>) {
        if let Some((tape, begin_ns)) = self.0 {
            tape.record(begin_ns, Ok(event), command, "transfer");
        }
    }
}

impl Tape {
    /// Records a command, and the host's call as a slice.
    fn record(
        self,
        begin_ns: u64,
        event: Result<Event, String>,
        command: &Enqueued<'_>,
        category: &'static str,
    ) {
        let end_ns = self.recorder.now_ns();
        let (name, kind, arguments) = match command {
            Enqueued::Kernel { entry, range, facts } => {
                let wide = |extents: [usize; 3]| extents.map(|extent| extent as u64);
                let launch = KernelLaunch {
                    global: wide(range.global_size()),
                    local: range.local_size().map(wide),
                    registers: None,
                    // Drivers that do not report it say 0.
                    spill_bytes: Some(facts.private_bytes).filter(|bytes| *bytes > 0),
                };
                let arguments = Arguments::default().with("local_memory_bytes", facts.local_bytes);
                ((*entry).to_owned(), CommandKind::Kernel(launch), arguments)
            }
            Enqueued::Transfer { what, bytes } => {
                ((*what).to_owned(), CommandKind::Transfer, Arguments::default().with("bytes", *bytes))
            }
        };
        let call = if category == "enqueue" { format!("enqueue {name}") } else { name.clone() };
        self.recorder.host(Slice {
            name: call,
            category: category.into(),
            start_ns: begin_ns,
            duration_ns: end_ns.saturating_sub(begin_ns),
            arguments: arguments.clone(),
        });
        let command = Command { name, kind, arguments, ..Command::default() };
        self.recorder.enqueued(self.queue, command, [begin_ns, end_ns], Box::new(Recorded(event)));
    }
}

/// A recorded command's event, or why there is none.
struct Recorded(Result<Event, String>);

impl DeviceCommand for Recorded {
    fn times(&self) -> Option<Result<CommandTimes, String>> {
        let event = match &self.0 {
            Ok(event) => event,
            Err(reason) => return Some(Err(reason.clone())),
        };
        if event.is_done() == Ok(false) {
            return None;
        }
        let timing = event.outcome().and_then(|()| event.timing());
        Some(timing.map_err(|error| error.to_string()).map(|timing| CommandTimes {
            queued_ns: timing.queued_ns,
            submit_ns: timing.submit_ns,
            start_ns: timing.start_ns,
            end_ns: timing.end_ns,
        }))
    }
}
