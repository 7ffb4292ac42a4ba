//! The launches of an application on one timeline: uploads, maps, flushes of caches, launches, kernels and reads, of one
//! GPU, and of a host thread for each queue. Queues are in order.
//!
//! The host works on a call while the GPU works on earlier ones. The inputs of a queue are uploaded before its first launch, and
//! its results are read after the last. What the application computes itself is not on it.
//!
//! The GPU does one command at a time, of those that are ready the one that was enqueued first: no public figure says how
//! much kernels of two queues gain by sharing cores. A second queue gains what the first one's host would have waited for.

mod hosts;

use tripipe_launch::Timing;

use self::hosts::{Call, Host};
use crate::host::HostCosts;

/// How memory gets to the GPU and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffers {
    /// `clEnqueueWriteBuffer` and `clEnqueueReadBuffer`: the device copies each byte.
    #[default]
    Copy,
    /// `clEnqueueMapBuffer` of memory that the driver allocated (`CL_MEM_ALLOC_HOST_PTR`): the host writes and reads in
    /// place, and the driver maintains caches where host and GPU are not coherent.
    Map,
    /// Memory that both see at any time: imported, or fine-grained shared virtual memory.
    ZeroCopy,
}

impl Buffers {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Copy, Self::Map, Self::ZeroCopy];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Map => "map",
            Self::ZeroCopy => "zero-copy",
        }
    }
}

/// How an application makes its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// How memory gets to the GPU and back.
    pub buffers: Buffers,
    /// Whether the host waits for every call.
    pub blocking: bool,
    /// Whether the launches were recorded before, and are replayed.
    pub recorded: bool,
    /// Whether all launches are in one queue, whatever the application says.
    pub one_queue: bool,
}

/// Memory that gets to the GPU, or back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// The number of the queue that it is enqueued in.
    pub queue: usize,
}

/// The queue of a launch, and what the launch waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueuedLaunch {
    /// The number of its queue.
    pub queue: usize,
    /// The numbers of earlier launches of other queues.
    pub after: Vec<usize>,
    /// The numbers of other queues, for whose uploads it waits.
    pub after_uploads: Vec<usize>,
}

/// A launch of an application.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledLaunch {
    /// Its number among those that the application describes: repetitions share it.
    pub index: usize,
    /// Seconds of its kernel.
    pub seconds: f64,
}

/// What an application has the GPU do, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Application {
    /// The names of the launches that it describes.
    pub names: Vec<String>,
    /// Their queues; without an entry, the first one.
    pub queues: Vec<QueuedLaunch>,
    /// Memory with contents, before the first launch.
    pub uploads: Vec<Transfer>,
    /// The launches, with repetitions.
    pub launches: Vec<ScheduledLaunch>,
    /// Results, after the last launch.
    pub reads: Vec<Transfer>,
}

/// What takes time in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// The call that enqueues a copy. Nobody has measured one alone: it is taken to cost as much as a launch.
    Enqueue,
    /// A copy to the GPU.
    Upload,
    /// The call that maps memory, or ends its mapping.
    Map,
    /// The maintenance of caches, by the host.
    Flush,
    /// The call that launches a kernel.
    Launch,
    /// A kernel.
    Kernel,
    /// A copy from the GPU.
    Read,
    /// The host waits for the GPU.
    Wait,
}

impl StepKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Upload => "upload",
            Self::Map => "map",
            Self::Flush => "flush",
            Self::Launch => "launch",
            Self::Kernel => "kernel",
            Self::Read => "read",
            Self::Wait => "wait",
        }
    }

    /// Whether the GPU does it, and not the host.
    pub fn is_of_gpu(self) -> bool {
        matches!(self, Self::Upload | Self::Kernel | Self::Read)
    }
}

/// Something that takes time.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleStep {
    /// What it is.
    pub kind: StepKind,
    /// The memory or the launch; empty for a wait.
    pub name: String,
    /// The number of the launch among those that the application describes.
    pub launch: Option<usize>,
    /// Seconds from the start of the schedule to its start.
    pub start: f64,
    /// Its seconds.
    pub seconds: f64,
    /// Bytes that it transfers or makes visible.
    pub bytes: u64,
    /// Seconds for which the GPU has had nothing to do before it; 0 for what the host does.
    pub idle: f64,
    /// The number of its queue.
    pub queue: usize,
}

impl ScheduleStep {
    /// Seconds from the start of the schedule to its end.
    pub fn end(&self) -> f64 {
        self.start + self.seconds
    }
}

/// Seconds of a schedule by what it waits for. They add up to its length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// A kernel runs.
    pub kernel: f64,
    /// Else memory is copied or mapped, or caches are flushed.
    pub copy: f64,
    /// Else the host launches.
    pub launch: f64,
    /// Nothing of it.
    pub wait: f64,
}

/// A timeline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// What takes time, by start.
    pub steps: Vec<ScheduleStep>,
    /// Seconds from the first start to the last end.
    pub seconds: f64,
}

impl Schedule {
    fn new(mut steps: Vec<ScheduleStep>) -> Self {
        steps.sort_by(|a, b| a.start.total_cmp(&b.start));
        let seconds = steps.iter().map(ScheduleStep::end).fold(0.0, f64::max);
        Self { steps, seconds }
    }

    /// The schedule of launches that a device ran, by its own clock; `indices` are their numbers among those that the
    /// application describes, whose names are `names`. The time from the end of a kernel, or from its own call if that
    /// is later, to the start of the next one is that of its launch.
    pub fn measured(names: &[String], indices: &[usize], timings: &[Timing]) -> Self {
        let first = timings.iter().map(|timing| timing.queued_ns).min().unwrap_or(0);
        let seconds = |ns: u64| ns.saturating_sub(first) as f64 * 1e-9;
        let mut steps = Vec::new();
        let mut free = first;
        for (index, timing) in indices.iter().zip(timings) {
            let mut add = |kind, from: u64, to: u64| {
                let (start, end) = (seconds(from), seconds(to));
                let name = names.get(*index).cloned().unwrap_or_default();
                let idle = if kind == StepKind::Kernel { start - seconds(free.min(from)) } else { 0.0 };
                let launch = Some(*index);
                let (bytes, queue, seconds) = (0, 0, end - start);
                steps.push(ScheduleStep { kind, name, launch, start, seconds, bytes, idle, queue });
            };
            let called = timing.queued_ns.max(free);
            if timing.start_ns > called {
                add(StepKind::Launch, called, timing.start_ns);
            }
            add(StepKind::Kernel, timing.start_ns, timing.end_ns);
            free = free.max(timing.end_ns);
        }
        Self::new(steps)
    }

    /// Seconds of the host for a launch of those that a device ran: the mean time from one call to the next, or, of a
    /// single launch, until it starts.
    pub fn measured_launch(timings: &[Timing]) -> f64 {
        let calls = timings.iter().map(|timing| timing.queued_ns);
        let (first, last) = (calls.clone().min().unwrap_or(0), calls.max().unwrap_or(0));
        let ns = match timings {
            [] => 0.0,
            [only] => only.start_ns.saturating_sub(only.queued_ns) as f64,
            all => (last - first) as f64 / (all.len() - 1) as f64,
        };
        ns * 1e-9
    }

    /// Where its time goes.
    pub fn parts(&self) -> Parts {
        // At each moment the first of these that happens counts.
        let rank = |kind: StepKind| match kind {
            StepKind::Kernel => Some(0),
            StepKind::Enqueue | StepKind::Upload | StepKind::Map | StepKind::Flush | StepKind::Read => {
                Some(1)
            }
            StepKind::Launch => Some(2),
            StepKind::Wait => None,
        };
        let mut edges: Vec<(f64, usize, bool)> = Vec::new();
        for step in &self.steps {
            if let Some(rank) = rank(step.kind) {
                edges.extend([(step.start, rank, true), (step.end(), rank, false)]);
            }
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut sums, mut active, mut now) = ([0.0; 3], [0usize; 3], 0.0);
        for (time, rank, starts) in edges {
            if let Some(first) = active.iter().position(|count| *count > 0) {
                sums[first] += time - now;
            }
            now = time;
            // The sort is stable, so a step without time starts before it ends.
            active[rank] = if starts { active[rank] + 1 } else { active[rank].saturating_sub(1) };
        }
        let [kernel, copy, launch] = sums;
        Parts { kernel, copy, launch, wait: (self.seconds - kernel - copy - launch).max(0.0) }
    }

    /// The share of the time in which the host works, that of its threads added up.
    pub fn host_share(&self) -> f64 {
        let works = |step: &&ScheduleStep| !step.kind.is_of_gpu() && step.kind != StepKind::Wait;
        let busy: f64 = self.steps.iter().filter(works).map(|step| step.seconds).sum();
        if self.seconds > 0.0 { busy / self.seconds } else { 0.0 }
    }
}

impl Application {
    /// The same with other kernels: `seconds` has the seconds of a launch's kernel from its number and what it takes.
    #[must_use]
    pub fn with_kernels(&self, seconds: impl Fn(usize, f64) -> f64) -> Self {
        let mut changed = self.clone();
        for launch in &mut changed.launches {
            launch.seconds = seconds(launch.index, launch.seconds);
        }
        changed
    }

    /// The schedule of the launches alone, each of which costs the host `launch` seconds, and none of which it waits for.
    pub fn back_to_back(&self, launch: f64) -> Schedule {
        let mut hosts = vec![Host::default()];
        self.launch(&mut hosts, launch, true);
        self.run(hosts)
    }

    /// The number of queues.
    pub fn queue_count(&self) -> usize {
        self.queues.iter().map(|own| own.queue + 1).max().unwrap_or(1)
    }

    fn launch(&self, hosts: &mut [Host], launch: f64, one_queue: bool) {
        for ScheduledLaunch { index, seconds } in &self.launches {
            let queue = self.queues.get(*index).map_or(0, |own| if one_queue { 0 } else { own.queue });
            let name = self.names.get(*index).map_or("", String::as_str);
            hosts[queue].host(StepKind::Launch, name, Some(*index), launch, 0);
            hosts[queue].gpu(StepKind::Kernel, name, Some(*index), *seconds, 0);
        }
    }

    /// The schedule with the costs of a host. Without recorded launches' cost, recorded ones cost as others.
    pub fn schedule(&self, costs: &HostCosts, calls: Calls) -> Schedule {
        let recorded = costs.recorded_launch.as_ref().filter(|_| calls.recorded);
        let launch = recorded.unwrap_or(&costs.launch).value;
        let count = if calls.one_queue { 1 } else { self.queue_count() };
        let mut hosts = vec![Host::new(calls.blocking); count];
        for Transfer { name, bytes, queue } in &self.uploads {
            let host = &mut hosts[(*queue).min(count - 1)];
            match calls.buffers {
                Buffers::Copy => {
                    host.host(StepKind::Enqueue, name, None, costs.launch.value, 0);
                    host.gpu(StepKind::Upload, name, None, costs.copy_seconds(*bytes), *bytes);
                }
                Buffers::Map => {
                    // All of it is overwritten, so only the end of the mapping makes bytes visible.
                    host.host(StepKind::Map, name, None, costs.launch.value, 0);
                    host.host(StepKind::Map, name, None, costs.launch.value, 0);
                    host.host(StepKind::Flush, name, None, costs.maintenance_seconds(*bytes), *bytes);
                }
                Buffers::ZeroCopy => {}
            }
        }
        for host in &mut hosts {
            host.end_uploads();
        }
        self.launch(&mut hosts, launch, calls.one_queue);
        for Transfer { name, bytes, queue } in &self.reads {
            let host = &mut hosts[(*queue).min(count - 1)];
            match calls.buffers {
                Buffers::Copy => {
                    host.host(StepKind::Enqueue, name, None, costs.launch.value, 0);
                    host.gpu(StepKind::Read, name, None, costs.copy_seconds(*bytes), *bytes);
                }
                Buffers::Map => {
                    host.calls.push_back(Call::Wait);
                    host.host(StepKind::Map, name, None, costs.launch.value, 0);
                    host.host(StepKind::Flush, name, None, costs.maintenance_seconds(*bytes), *bytes);
                    host.host(StepKind::Map, name, None, costs.launch.value, 0);
                }
                Buffers::ZeroCopy => {}
            }
        }
        for host in &mut hosts {
            host.calls.push_back(Call::Wait);
        }
        self.run(hosts)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tripipe_device::{Basis, Source, Sourced};

    use super::*;

    fn costs() -> HostCosts {
        let source = Arc::new(Source { id: String::new(), citation: String::new() });
        let cost = |value| Sourced { value, basis: Basis::Guessed, source: Arc::clone(&source), note: None };
        HostCosts {
            launch: cost(10.0),
            recorded_launch: Some(cost(4.0)),
            copy_rate: cost(2.0),
            maintenance_rate: Some(cost(5.0)),
        }
    }

    /// 20 bytes up, launches of kernels of 100, 3 and 3 seconds, 40 bytes back.
    fn application() -> Application {
        let transfer = |name: &str, bytes| Transfer { name: name.to_owned(), bytes, queue: 0 };
        let launch = |index, seconds| ScheduledLaunch { index, seconds };
        Application {
            names: vec!["long".to_owned(), "short".to_owned()],
            uploads: vec![transfer("in", 20)],
            launches: vec![launch(0, 100.0), launch(1, 3.0), launch(1, 3.0)],
            reads: vec![transfer("out", 40)],
            ..Application::default()
        }
    }

    fn seconds(buffers: Buffers, blocking: bool) -> f64 {
        application().schedule(&costs(), Calls { buffers, blocking, ..Calls::default() }).seconds
    }

    /// By hand.
    #[test]
    fn the_three_modes_blocking_or_not() {
        // Copy: a call, then the upload, which ends at 20, as the first launch does; short kernels follow the long one at 120.
        assert_eq!(seconds(Buffers::Copy, false), 10.0 + 10.0 + 100.0 + 6.0 + 20.0);
        assert_eq!(seconds(Buffers::Copy, true), 20.0 + 3.0 * 10.0 + 106.0 + 30.0);
        // Map: two calls and 4 s of flushing; the same at the end, where 40 bytes take 8 s.
        assert_eq!(seconds(Buffers::Map, false), 24.0 + 10.0 + 106.0 + 28.0);
        assert_eq!(seconds(Buffers::ZeroCopy, false), 10.0 + 106.0);
        // Kernels shorter than the host's part follow each other as fast as the host launches.
        let short = application().with_kernels(|_, _| 3.0);
        let calls = Calls { buffers: Buffers::ZeroCopy, ..Calls::default() };
        assert_eq!(short.schedule(&costs(), calls).seconds, 33.0);
        assert_eq!(short.schedule(&costs(), Calls { recorded: true, ..calls }).seconds, 15.0);
    }

    #[test]
    fn parts_add_up_to_the_length() {
        for buffers in Buffers::ALL {
            for blocking in [false, true] {
                let calls = Calls { buffers, blocking, ..Calls::default() };
                let schedule = application().schedule(&costs(), calls);
                let Parts { kernel, copy, launch, wait } = schedule.parts();
                assert!((kernel + copy + launch + wait - schedule.seconds).abs() < 1e-9, "{calls:?}");
                assert_eq!(kernel, 106.0, "{calls:?}");
                assert_eq!(wait, 0.0, "{calls:?}");
            }
        }
        let calls = Calls { blocking: true, ..Calls::default() };
        let schedule = application().schedule(&costs(), calls);
        assert_eq!((schedule.parts().launch, schedule.parts().copy), (30.0, 50.0));
        assert!((schedule.host_share() - 50.0 / 186.0).abs() < 1e-12);
    }

    /// By hand: two chains whose hosts wait for each launch.
    #[test]
    fn a_second_queue_works_while_the_first_host_waits() {
        let launch = |index, seconds| ScheduledLaunch { index, seconds };
        let queued =
            |queue, after: &[usize]| QueuedLaunch { queue, after: after.to_vec(), ..QueuedLaunch::default() };
        let chains = Application {
            names: ["a", "b", "c"].map(str::to_owned).to_vec(),
            queues: vec![queued(0, &[]), queued(1, &[]), queued(1, &[0])],
            launches: vec![launch(0, 25.0), launch(1, 5.0), launch(0, 25.0), launch(1, 5.0)],
            ..Application::default()
        };
        let calls = Calls { buffers: Buffers::ZeroCopy, blocking: true, ..Calls::default() };
        let seconds = |application: &Application, calls| application.schedule(&costs(), calls).seconds;
        // 10 to call, then the kernel, four times.
        assert_eq!(seconds(&chains, Calls { one_queue: true, ..calls }), 4.0 * 10.0 + 60.0);
        // a from 10 to 35 and b until 40, which was called at 10 too; a called at 35 runs from 45, b called at 40 after it.
        assert_eq!(seconds(&chains, calls), 45.0 + 25.0 + 5.0);
        // Kernels that keep the GPU busy gain nothing.
        let calls = Calls { blocking: false, ..calls };
        assert_eq!(seconds(&chains, Calls { one_queue: true, ..calls }), 10.0 + 60.0);
        assert_eq!(seconds(&chains, calls), 10.0 + 60.0);
        // The first kernel of b waits for the upload of a, from 10 to 20: its 5 are no longer before the upload's end.
        let mut uploading = chains.clone();
        uploading.uploads = vec![Transfer { name: "in".to_owned(), bytes: 20, queue: 0 }];
        let first_b = |application: &Application| {
            let schedule = application.schedule(&costs(), Calls { blocking: true, ..Calls::default() });
            let b = schedule.steps.iter().find(|step| step.kind == StepKind::Kernel && step.name == "b");
            b.map(|step| step.start)
        };
        assert_eq!(first_b(&uploading), Some(20.0), "the GPU is busy");
        uploading.uploads[0].bytes = 200;
        uploading.queues[1].after_uploads = vec![0];
        assert_eq!(first_b(&uploading), Some(110.0));
        // c waits for both runs of a, and does not hold up others.
        let mut waiting = chains.clone();
        waiting.launches.push(launch(2, 1.0));
        let schedule = waiting.schedule(&costs(), calls);
        let last = schedule.steps.iter().rfind(|step| step.kind == StepKind::Kernel).unwrap();
        assert_eq!((last.name.as_str(), last.queue, last.start), ("c", 1, 70.0));
    }

    #[test]
    fn measured_gaps_are_launches() {
        let timing =
            |queued_ns, start_ns, end_ns| Timing { queued_ns, submit_ns: queued_ns, start_ns, end_ns };
        let names = ["a".to_owned()];
        let timings = [timing(100, 150, 250), timing(110, 260, 360), timing(400, 400, 500)];
        let schedule = Schedule::measured(&names, &[0, 0, 0], &timings);
        let Parts { kernel, launch, copy, wait } = schedule.parts();
        let ns = [schedule.seconds, kernel, launch, copy, wait].map(|seconds| (seconds * 1e9).round() as u64);
        // The third was not called for 40 ns after the second had ended.
        assert_eq!(ns, [400, 300, 60, 0, 40]);
    }
}
