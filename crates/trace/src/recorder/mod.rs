//! Recording of what a program runs.

mod clock;
mod span;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::ThreadId;
use std::time::Instant;

use crate::{ArgumentValue, Arguments, Command, GpuQueue, GpuTimeline, Process, Slice, Timeline, Track};
use clock::DeviceClock;
pub use span::{Span, span};

/// The number of slices and commands that are recorded; later ones are counted only.
const LIMIT: usize = 500_000;

/// The number of commands that are asked whether they have ended when another one is recorded.
const AT_ONCE: usize = 4;

static RECORDER: OnceLock<Recorder> = OnceLock::new();

/// Starts recording in this process, unless it has started already. It does not stop.
pub fn install() -> &'static Recorder {
    RECORDER.get_or_init(Recorder::default)
}

/// The environment variable that names the file of a recording from the start of the process.
pub const VARIABLE: &str = "TRIPIPE_TRACE";

/// The recorder of this process; `None`, at the cost of two loads, if nothing is recorded. With the feature `files`,
/// recording starts here if the variable [`VARIABLE`] is set.
pub fn recorder() -> Option<&'static Recorder> {
    static IS_KNOWN: AtomicBool = AtomicBool::new(false);
    let known = RECORDER.get();
    if known.is_some() || IS_KNOWN.load(Ordering::Relaxed) {
        return known;
    }
    let is_set = std::env::var_os(VARIABLE).is_some_and(|path| !path.is_empty());
    IS_KNOWN.store(true, Ordering::Relaxed);
    (cfg!(feature = "files") && is_set).then(install)
}

/// Records slices of the host's threads and commands of GPUs. Any number of threads may use it.
pub struct Recorder {
    start: Instant,
    limit: usize,
    state: Mutex<State>,
}

/// A GPU, or another device, of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuId(usize);

/// A queue of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueId {
    gpu: usize,
    queue: usize,
}

/// A command that was given to a device.
pub trait DeviceCommand: Send {
    /// When it was queued and executed; `None` while it has not ended. Does not wait.
    ///
    /// # Errors
    /// It failed, or its times are not known, for this reason.
    fn times(&self) -> Option<Result<CommandTimes, String>>;
}

/// Times in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandTimes {
    /// The host enqueued it.
    pub queued_ns: u64,
    /// The driver submitted it.
    pub submit_ns: u64,
    /// It started.
    pub start_ns: u64,
    /// It ended.
    pub end_ns: u64,
}

impl CommandTimes {
    /// Whether they are there and in order. Some drivers report 0 for times of maps.
    fn are_complete(&self) -> bool {
        self.queued_ns > 0 && self.queued_ns <= self.start_ns && self.start_ns <= self.end_ns
    }
}

#[derive(Default)]
struct State {
    threads: Vec<Track>,
    thread_by_id: HashMap<ThreadId, usize>,
    gpus: Vec<RecordedGpu>,
    count: usize,
    left_out: u64,
}

struct RecordedGpu {
    name: String,
    /// The name and the key that it was registered with.
    given: String,
    key: usize,
    labels: Vec<String>,
    clock: DeviceClock,
    queues: Vec<RecordedQueue>,
}

struct RecordedQueue {
    name: String,
    /// Commands with times of the host.
    placed: Vec<Command>,
    /// Commands with times of the device.
    ended: Vec<(Command, CommandTimes)>,
    /// In order.
    pending: VecDeque<Pending>,
}

struct Pending {
    command: Command,
    /// When the host began and finished to enqueue it.
    enqueued_ns: [u64; 2],
    device: Box<dyn DeviceCommand>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Recorder {
    /// A recorder that records at most `limit` slices and commands.
    pub fn with_limit(limit: usize) -> Self {
        Self { start: Instant::now(), limit, state: Mutex::default() }
    }

    /// Nanoseconds since recording began.
    pub fn now_ns(&self) -> u64 {
        self.at_ns(Instant::now())
    }

    /// A time as nanoseconds since recording began; 0 for earlier times.
    pub fn at_ns(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Records a slice of the calling thread.
    pub fn host(&self, slice: Slice) {
        let mut state = self.lock();
        if state.takes_one(self.limit) {
            let thread = state.thread();
            state.threads[thread].slices.push(slice);
        }
    }

    /// Registers a device; those of one name and key are one device. Others of that name get a number. Labels are facts
    /// about it.
    pub fn gpu(&self, name: &str, key: usize, labels: impl FnOnce() -> Vec<String>) -> GpuId {
        let mut state = self.lock();
        let known = state.gpus.iter().position(|gpu| gpu.given == name && gpu.key == key);
        GpuId(known.unwrap_or_else(|| {
            let labels = labels();
            let alike = state.gpus.iter().filter(|gpu| gpu.given == name).count();
            state.gpus.push(RecordedGpu {
                name: numbered(name, alike),
                given: name.to_owned(),
                key,
                labels,
                clock: DeviceClock::default(),
                queues: Vec::new(),
            });
            state.gpus.len() - 1
        }))
    }

    /// Registers a queue of a device. If several queues of one name have commands, all but the first get a number.
    pub fn queue(&self, gpu: GpuId, name: &str) -> QueueId {
        let mut state = self.lock();
        let queues = &mut state.gpus[gpu.0].queues;
        let name = name.to_owned();
        queues.push(RecordedQueue { name, placed: Vec::new(), ended: Vec::new(), pending: VecDeque::new() });
        QueueId { gpu: gpu.0, queue: queues.len() - 1 }
    }

    /// Records a command whose times are known, in nanoseconds since recording began.
    pub fn executed(&self, queue: QueueId, command: Command) {
        let mut state = self.lock();
        if state.takes_one(self.limit) {
            state.gpus[queue.gpu].queues[queue.queue].placed.push(command);
        }
    }

    /// Records a command that was enqueued between two times of the host. Its own times are asked for later; those of
    /// `command` are ignored.
    pub fn enqueued(
        &self,
        queue: QueueId,
        command: Command,
        enqueued_ns: [u64; 2],
        device: Box<dyn DeviceCommand>,
    ) {
        let mut state = self.lock();
        let takes = state.takes_one(self.limit);
        let RecordedGpu { clock, queues, .. } = &mut state.gpus[queue.gpu];
        let queue = &mut queues[queue.queue];
        if takes {
            queue.pending.push_back(Pending { command, enqueued_ns, device });
        }
        queue.look_at(AT_ONCE, clock);
    }

    /// The number of slices and commands recorded so far, including those that were left out.
    pub fn count(&self) -> u64 {
        let state = self.lock();
        state.count as u64 + state.left_out
    }

    /// Everything recorded so far. Commands that have not ended are counted only.
    pub fn timeline(&self) -> Timeline {
        let mut state = self.lock();
        let mut running = 0;
        for RecordedGpu { clock, queues, .. } in &mut state.gpus {
            for queue in queues {
                queue.look_at(usize::MAX, clock);
                running += queue.pending.len();
            }
        }
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
        let program = program.unwrap_or(Cow::Borrowed("host")).into_owned();
        let mut facts = Arguments::default().with("program", program.clone());
        if running > 0 {
            facts.push("commands that had not ended, left out", running);
        }
        if state.left_out > 0 {
            facts.push("later slices and commands, left out", state.left_out);
        }
        let host = Process {
            name: program,
            pid: Some(std::process::id()),
            tracks: state.threads.clone(),
            ..Process::default()
        };
        let processes = [host].into_iter().chain(state.gpus.iter().map(RecordedGpu::process)).collect();
        Timeline { facts, processes }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Whatever panicked while it was locked, the lists are lists.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether there is room for one more; counts it.
    fn takes_one(&mut self, limit: usize) -> bool {
        let takes = self.count < limit;
        if takes {
            self.count += 1;
        } else {
            self.left_out += 1;
        }
        takes
    }

    /// The track of the calling thread.
    fn thread(&mut self) -> usize {
        let thread = std::thread::current();
        if let Some(known) = self.thread_by_id.get(&thread.id()) {
            return *known;
        }
        let number = self.threads.len() + 1;
        let name = thread.name().map_or_else(|| format!("thread {number}"), str::to_owned);
        let alike = self.threads.iter().filter(|track| track.name.starts_with(&name)).count();
        let name = numbered(&name, alike);
        self.threads.push(Track { name, slices: Vec::new() });
        self.thread_by_id.insert(thread.id(), number - 1);
        number - 1
    }
}

impl RecordedQueue {
    /// Asks the oldest commands for their times, until one has not ended.
    fn look_at(&mut self, most: usize, clock: &mut DeviceClock) {
        for _ in 0..most {
            let Some(front) = self.pending.front() else { return };
            let Some(times) = front.device.times() else { return };
            let Some(Pending { mut command, enqueued_ns, .. }) = self.pending.pop_front() else { return };
            match times {
                Ok(times) if times.are_complete() => {
                    clock.record_sample(times.queued_ns, enqueued_ns);
                    self.ended.push((command, times));
                }
                Ok(CommandTimes { start_ns, end_ns, .. }) => {
                    let reason = "the driver reports only a part of them; placed where the host enqueued it";
                    command.arguments.push("no times", reason.to_owned());
                    let duration_ns = if start_ns > 0 { end_ns.saturating_sub(start_ns) } else { 0 };
                    self.placed.push(Command { start_ns: enqueued_ns[0], duration_ns, ..command });
                }
                Err(reason) => {
                    command.arguments.push("no times", reason);
                    self.placed.push(Command { start_ns: enqueued_ns[0], duration_ns: 0, ..command });
                }
            }
        }
    }

    /// Its commands on the host's clock.
    fn commands(&self, clock: &DeviceClock) -> Vec<Command> {
        let ended = self.ended.iter().map(|(command, times)| {
            let micros = |from: u64, to: u64| ArgumentValue::Number(to.saturating_sub(from) as f64 / 1e3);
            let mut command = command.clone();
            command.start_ns = clock.on_host(times.start_ns);
            command.duration_ns = times.end_ns.saturating_sub(times.start_ns);
            command.arguments.push("queued before the start (us)", micros(times.queued_ns, times.start_ns));
            command
                .arguments
                .push("submitted before the start (us)", micros(times.submit_ns, times.start_ns));
            command
        });
        ended.chain(self.placed.iter().cloned()).collect()
    }
}

impl RecordedGpu {
    fn process(&self) -> Process {
        let mut labels = self.labels.clone();
        labels.extend(self.clock.accuracy_text());
        let mut queues: Vec<GpuQueue> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for queue in &self.queues {
            let commands = queue.commands(&self.clock);
            if !commands.is_empty() {
                let alike = names.iter().filter(|name| **name == queue.name).count();
                names.push(&queue.name);
                queues.push(GpuQueue { name: numbered(&queue.name, alike), commands });
            }
        }
        let gpu = Some(GpuTimeline { queues, counters: Vec::new() });
        Process { name: self.name.clone(), labels, gpu, ..Process::default() }
    }
}

/// A name, with a number if others of that name came before it.
fn numbered(name: &str, alike: usize) -> String {
    if alike == 0 { name.to_owned() } else { format!("{name} {}", alike + 1) }
}

#[cfg(test)]
mod tests;
