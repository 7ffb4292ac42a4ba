//! Hosts and the GPU over time.

use std::collections::VecDeque;

use super::{Application, QueuedLaunch, Schedule, ScheduleStep, StepKind};

impl Application {
    /// Plays the hosts' calls beside the GPU, the earliest event first.
    pub(super) fn run(&self, mut hosts: Vec<Host>) -> Schedule {
        let (mut steps, mut gpu) = (Vec::new(), 0.0f64);
        // Of each launch, how many of its runs are left, and when the last one ended.
        let mut left = vec![0usize; self.names.len()];
        let mut ended = vec![0.0f64; self.names.len()];
        for launch in &self.launches {
            left[launch.index] += 1;
        }
        let nothing = QueuedLaunch::default();
        loop {
            let call = (0..hosts.len())
                .filter(|at| hosts[*at].may_call())
                .min_by(|a, b| hosts[*a].now.total_cmp(&hosts[*b].now));
            // Of each queue the first command, if what it waits for has an end.
            let ready = |at: &usize| {
                let (enqueued, step) = hosts[*at].queue.front()?;
                let own = step.launch.filter(|_| hosts.len() > 1).and_then(|own| self.queues.get(own));
                let after = &own.unwrap_or(&nothing).after;
                let launches = after.iter().map(|other| (left[*other] == 0).then_some(ended[*other]));
                let uploads = own.unwrap_or(&nothing).after_uploads.iter();
                let uploads =
                    uploads.map(|other| (hosts[*other].uploads == [0, 0]).then_some(hosts[*other].uploaded));
                let ends = launches.chain(uploads);
                let end = ends.collect::<Option<Vec<f64>>>()?.into_iter().fold(*enqueued, f64::max);
                Some((*at, end.max(gpu), *enqueued))
            };
            let command = (0..hosts.len())
                .filter_map(|at| ready(&at))
                .min_by(|(_, a, first), (_, b, second)| a.total_cmp(b).then(first.total_cmp(second)));
            match (call, command) {
                (Some(at), command) if command.is_none_or(|(_, start, _)| hosts[at].now <= start) => {
                    hosts[at].call(at, &mut steps);
                }
                (_, Some((at, start, _))) => {
                    let Some((_, step)) = hosts[at].queue.pop_front() else { break };
                    let step = ScheduleStep { start, idle: start - gpu, queue: at, ..step };
                    gpu = step.end();
                    hosts[at].ended = gpu;
                    hosts[at].end(1, gpu);
                    if let Some(launch) = step.launch {
                        left[launch] -= 1;
                        ended[launch] = gpu;
                    }
                    add(&mut steps, step);
                }
                // Nothing is left.
                (_, None) => break,
            }
        }
        Schedule::new(steps)
    }
}

/// What a host does next.
#[derive(Clone, Debug)]
pub(super) enum Call {
    /// Work of its own.
    Host(ScheduleStep),
    /// A command of its queue.
    Enqueue(ScheduleStep),
    /// It waits for all commands of its queue.
    Wait,
}

/// A host thread and its queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    blocking: bool,
    pub(super) calls: VecDeque<Call>,
    /// When it makes its next call.
    now: f64,
    /// Commands that the GPU has not started, each with the time at which it was enqueued.
    queue: VecDeque<(f64, ScheduleStep)>,
    /// When the last command ended.
    ended: f64,
    /// Calls and commands of its uploads that have not ended, and when the last one did.
    uploads: [usize; 2],
    uploaded: f64,
}

impl Host {
    pub(super) fn new(blocking: bool) -> Self {
        Self { blocking, ..Self::default() }
    }

    /// Takes all calls so far as those of uploads.
    pub(super) fn end_uploads(&mut self) {
        let host = self.calls.iter().filter(|call| matches!(call, Call::Host(_))).count();
        let commands = self.calls.iter().filter(|call| matches!(call, Call::Enqueue(_))).count();
        self.uploads = [host, commands];
    }

    /// Notes the end of a call (0) or of a command (1): the first ones are uploads.
    fn end(&mut self, kind: usize, at: f64) {
        if self.uploads[kind] > 0 {
            self.uploads[kind] -= 1;
            self.uploaded = self.uploaded.max(at);
        }
    }

    pub(super) fn host(
        &mut self,
        kind: StepKind,
        name: &str,
        launch: Option<usize>,
        seconds: f64,
        bytes: u64,
    ) {
        self.calls.push_back(Call::Host(step(kind, name, launch, seconds, bytes)));
    }

    pub(super) fn gpu(
        &mut self,
        kind: StepKind,
        name: &str,
        launch: Option<usize>,
        seconds: f64,
        bytes: u64,
    ) {
        self.calls.push_back(Call::Enqueue(step(kind, name, launch, seconds, bytes)));
        if self.blocking {
            self.calls.push_back(Call::Wait);
        }
    }

    fn may_call(&self) -> bool {
        self.calls.front().is_some_and(|call| !matches!(call, Call::Wait) || self.queue.is_empty())
    }

    fn call(&mut self, queue: usize, steps: &mut Vec<ScheduleStep>) {
        match self.calls.pop_front() {
            Some(Call::Host(step)) => {
                let step = ScheduleStep { start: self.now, queue, ..step };
                self.now = step.end();
                self.end(0, self.now);
                add(steps, step);
            }
            Some(Call::Enqueue(step)) => self.queue.push_back((self.now, step)),
            Some(Call::Wait) => {
                let wait = step(StepKind::Wait, "", None, self.ended - self.now, 0);
                let start = self.now;
                self.now = self.now.max(self.ended);
                add(steps, ScheduleStep { start, queue, ..wait });
            }
            None => {}
        }
    }
}

/// A step whose start is not known.
fn step(kind: StepKind, name: &str, launch: Option<usize>, seconds: f64, bytes: u64) -> ScheduleStep {
    ScheduleStep { kind, name: name.to_owned(), launch, start: 0.0, seconds, bytes, idle: 0.0, queue: 0 }
}

/// Adds a step. Driver calls without cost, such as the maintenance of coherent caches, are no steps.
fn add(steps: &mut Vec<ScheduleStep>, step: ScheduleStep) {
    if step.seconds > 0.0 || step.kind == StepKind::Kernel {
        steps.push(step);
    }
}
