//! Commands of queues with the device's times.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opencl_sys as cl;
use tripipe_trace::{
    Arguments, Command, CommandKind, CommandTimes, DeviceCommand, KernelLaunch, QueueId, Recorder,
};

use crate::call::Call;
use crate::driver::Driver;
use crate::function::Function;

/// Commands of a queue that are asked whether they have ended when another one is enqueued.
const AT_ONCE: usize = 4;

/// The recording of commands.
pub(crate) struct Commands {
    driver: Driver,
    /// The commands, and the host's clock.
    pub(crate) recorder: Recorder,
    /// Queues that take times although the application did not ask for them, with the properties that it asked for.
    silent: Mutex<HashMap<u64, Option<Vec<u64>>>>,
    state: Mutex<CommandsState>,
}

#[derive(Default)]
struct CommandsState {
    queues: HashMap<u64, RecordedQueue>,
    /// How often the layer holds events of the application.
    held: HashMap<u64, u32>,
    made: usize,
}

struct RecordedQueue {
    id: QueueId,
    pending: VecDeque<Pending>,
}

/// A command that may not have ended.
struct Pending {
    command: Command,
    enqueued_ns: [u64; 2],
    event: u64,
    /// Whether the application has the event too.
    is_shared: bool,
}

/// Times that are known.
struct KnownTimes(Result<CommandTimes, String>);

impl DeviceCommand for KnownTimes {
    fn times(&self) -> Option<Result<CommandTimes, String>> {
        Some(self.0.clone())
    }
}

impl Commands {
    /// No commands so far.
    pub(crate) fn new(driver: Driver) -> Self {
        let (silent, state) = (Mutex::default(), Mutex::default());
        Self { driver, recorder: Recorder::default(), silent, state }
    }

    fn lock(&self) -> MutexGuard<'_, CommandsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silent(&self) -> MutexGuard<'_, HashMap<u64, Option<Vec<u64>>>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The properties of a queue with times in addition; `None` if it has them, or is a queue of the device.
    pub(crate) fn with_times(asked: &[u64]) -> Option<Vec<u64>> {
        let key = u64::from(cl::CL_QUEUE_PROPERTIES);
        let mut properties: Vec<u64> = asked.to_vec();
        properties.pop();
        match properties.chunks_mut(2).find(|pair| pair[0] == key) {
            Some([_, bits]) => {
                if *bits & (cl::CL_QUEUE_PROFILING_ENABLE | cl::CL_QUEUE_ON_DEVICE) != 0 {
                    return None;
                }
                *bits |= cl::CL_QUEUE_PROFILING_ENABLE;
            }
            _ => properties.extend([key, cl::CL_QUEUE_PROFILING_ENABLE]),
        }
        properties.push(0);
        Some(properties)
    }

    /// A queue takes times that the application did not ask for; `asked` are its properties, with the 0.
    pub(crate) fn takes_times(&self, queue: u64, asked: Option<Vec<u64>>) {
        self.silent().insert(queue, asked);
    }

    /// A queue is what the application asked for.
    pub(crate) fn forget_requested_properties(&self, queue: u64) {
        self.silent().remove(&queue);
    }

    /// The properties that the application asked for, if the queue takes times besides.
    #[allow(clippy::option_option, reason = "a queue that is not listed, one without a list, one with")]
    pub(crate) fn requested_properties(&self, queue: u64) -> Option<Option<Vec<u64>>> {
        self.silent().get(&queue).cloned()
    }

    /// How often the layer holds an event.
    pub(crate) fn reference_count(&self, event: u64) -> u32 {
        self.lock().held.get(&event).copied().unwrap_or(0)
    }

    /// Records the command of a call. `own` is an event that the layer asked for; else that of the application is used.
    pub(crate) fn add(&self, call: &Call, own: u64, kernel: Option<&Arc<str>>) {
        let is_shared = own == 0;
        let event = if is_shared { call.event } else { own };
        if event == 0 || (is_shared && !self.hold(event)) {
            return;
        }
        let queue = call.word("command_queue");
        self.register(queue);
        let enqueued_ns = call.time.map(|time| self.recorder.at_ns(time));
        let command = command(call, kernel);
        let pending = Pending { command, enqueued_ns, event, is_shared };
        let left = match self.lock().queues.get_mut(&queue) {
            Some(known) => {
                known.pending.push_back(pending);
                None
            }
            None => Some(pending),
        };
        if let Some(left) = left {
            self.let_go(&left);
        }
        self.look_at(queue, AT_ONCE);
    }

    fn hold(&self, event: u64) -> bool {
        // Counted before, so that the application never sees the layer's reference.
        *self.lock().held.entry(event).or_default() += 1;
        let holds = self.driver.retain_event(event);
        if !holds {
            self.give_up(event);
        }
        holds
    }

    fn give_up(&self, event: u64) {
        let mut state = self.lock();
        if let Some(held) = state.held.get_mut(&event) {
            *held -= 1;
            if *held == 0 {
                state.held.remove(&event);
            }
        }
    }

    fn let_go(&self, pending: &Pending) {
        self.driver.release_event(pending.event);
        if pending.is_shared {
            self.give_up(pending.event);
        }
    }

    /// Makes a queue known.
    fn register(&self, queue: u64) {
        if self.lock().queues.contains_key(&queue) {
            return;
        }
        let device = self.driver.queue_device(queue);
        let name = self.driver.device_name(device).unwrap_or_else(|| "device".to_owned());
        let gpu = self.recorder.gpu(&name, device as usize, Vec::new);
        let mut state = self.lock();
        state.made += 1;
        let id = self.recorder.queue(gpu, &format!("queue {}", state.made));
        state.queues.entry(queue).or_insert(RecordedQueue { id, pending: VecDeque::new() });
    }

    /// Asks the oldest commands of a queue for their times, until one has not ended. No lock is held meanwhile.
    pub(crate) fn look_at(&self, queue: u64, most: usize) {
        for _ in 0..most {
            let Some((id, oldest)) = self.lock().queues.get_mut(&queue).and_then(|queue| {
                let oldest = queue.pending.pop_front()?;
                Some((queue.id, oldest))
            }) else {
                return;
            };
            let Some(times) = self.driver.times(oldest.event) else {
                if let Some(queue) = self.lock().queues.get_mut(&queue) {
                    queue.pending.push_front(oldest);
                }
                return;
            };
            self.let_go(&oldest);
            self.recorder.enqueued(id, oldest.command, oldest.enqueued_ns, Box::new(KnownTimes(times)));
        }
    }

    /// Asks all commands of all queues.
    pub(crate) fn look_at_all(&self) {
        let queues: Vec<u64> = self.lock().queues.keys().copied().collect();
        for queue in queues {
            self.look_at(queue, usize::MAX);
        }
    }

    /// A queue is released. If its commands have ended, another queue may get its handle; else their events keep it.
    pub(crate) fn forget(&self, queue: u64) {
        self.look_at(queue, usize::MAX);
        let mut state = self.lock();
        if state.queues.get(&queue).is_some_and(|known| known.pending.is_empty()) {
            state.queues.remove(&queue);
        }
    }

    /// The number of commands that have not ended.
    pub(crate) fn pending(&self) -> usize {
        self.lock().queues.values().map(|queue| queue.pending.len()).sum()
    }
}

/// The command of a call, without times.
fn command(call: &Call, kernel: Option<&Arc<str>>) -> Command {
    let mut arguments = Arguments::default().with("call", call.number);
    if let Some(kernel) = kernel {
        let three = |name: &str| -> Option<[u64; 3]> {
            let words = call.argument(name).words();
            let size = |index: usize| words.get(index).copied().unwrap_or(1);
            (!words.is_empty()).then(|| [size(0), size(1), size(2)])
        };
        let task = call.function == Function::clEnqueueTask;
        let launch = KernelLaunch {
            global: three("global_work_size").unwrap_or([1, 1, 1]),
            local: if task { Some([1, 1, 1]) } else { three("local_work_size") },
            ..KernelLaunch::default()
        };
        return Command {
            name: kernel.to_string(),
            kind: CommandKind::Kernel(launch),
            arguments,
            ..Command::default()
        };
    }
    if call.function.position("size").is_some() {
        arguments.push("bytes", call.word("size"));
    }
    let name = call.function.name().strip_prefix("clEnqueue").unwrap_or_default();
    Command { name: name.to_owned(), kind: CommandKind::Transfer, arguments, ..Command::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_added_to_the_properties() {
        let key = u64::from(cl::CL_QUEUE_PROPERTIES);
        let (times, order) = (cl::CL_QUEUE_PROFILING_ENABLE, cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
        assert_eq!(Commands::with_times(&[]), Some(vec![key, times, 0]));
        assert_eq!(Commands::with_times(&[0]), Some(vec![key, times, 0]));
        assert_eq!(Commands::with_times(&[key, order, 0]), Some(vec![key, order | times, 0]));
        assert_eq!(Commands::with_times(&[7, 8, 0]), Some(vec![7, 8, key, times, 0]));
        assert_eq!(Commands::with_times(&[key, times, 0]), None);
        assert_eq!(Commands::with_times(&[key, order | cl::CL_QUEUE_ON_DEVICE, 0]), None);
    }
}
