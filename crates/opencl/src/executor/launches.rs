//! Enqueuing of launches.

use std::sync::{Arc, OnceLock};

use tripipe_launch::{Argument, ExecuteError, Launch, MemoryId};

use crate::context::Context;
use crate::event::Event;
use crate::executor::OpenClExecutor;
use crate::executor::error::launch_error;
use crate::executor::object_access::in_use;
use crate::executor::submitted::Submitted;
use crate::kernel::{Arg, BoundKernel, Kernel, LaunchError};
use crate::memory::{Object, Sampler};
use crate::queue::Queue;
use crate::recording::Recording;

/// The memory objects among the arguments of a launch, each with whether its kernel may write it.
fn operands<'l>(kernel: &Kernel, launch: &'l Launch) -> impl Iterator<Item = (MemoryId, bool)> + use<'l> {
    let arguments = kernel.clone();
    launch.arguments.iter().enumerate().filter_map(move |(index, argument)| match argument {
        Argument::Memory(memory) => Some((*memory, arguments.arguments().may_write(index))),
        _ => None,
    })
}

/// Launches that were checked once: kernels of their own whose arguments stay set, and the objects they use.
pub(super) struct Ready {
    pub(super) context: Context,
    kernels: Vec<BoundKernel>,
    /// Retained here because kernels do not retain their arguments. Each with its id, and whether a kernel may write
    /// it.
    objects: Vec<(Arc<Object>, MemoryId, bool)>,
    samplers: Vec<Arc<Sampler>>,
    /// The recording, once one was needed; `None` where there cannot be one.
    recording: OnceLock<Option<Recording>>,
}

impl OpenClExecutor {
    /// Enqueues the launches. If one of them is invalid, none is run. After an error, nothing is left running.
    pub(super) fn enqueue(&mut self, launches: &[Launch], timed: bool) -> Result<Submitted, ExecuteError> {
        let kernels = self.kernels(launches)?;
        self.use_queue(timed)?;
        let mut resolved = Vec::with_capacity(launches.len());
        for (kernel, launch) in kernels.iter().zip(launches) {
            let arguments = self.arguments(launch)?;
            kernel.check(&arguments, &launch.range).map_err(|error| self.launch_failed(error))?;
            for (memory, to_write) in operands(kernel, launch) {
                if self.host_uses(self.object(memory)?, to_write) {
                    return Err(in_use(memory));
                }
            }
            resolved.push((kernel, arguments, &launch.range));
        }
        let queue = &self.queue;
        let events = self.in_line(&resolved, |(kernel, arguments, range), event| {
            kernel.launch_checked(queue, arguments, range, event)
        })?;
        Ok(self.submitted(events))
    }

    /// Checks the launches and binds each to a kernel of its own.
    pub(super) fn ready(&mut self, launches: &[Launch]) -> Result<Ready, ExecuteError> {
        let kernels = self.kernels(launches)?;
        let mut ready = Ready {
            context: self.context.clone(),
            kernels: Vec::with_capacity(launches.len()),
            objects: Vec::new(),
            samplers: Vec::new(),
            recording: OnceLock::new(),
        };
        for (kernel, launch) in kernels.iter().zip(launches) {
            let bound = BoundKernel::new(kernel, &self.arguments(launch)?, &launch.range)
                .map_err(|error| self.launch_failed(error))?;
            ready.kernels.push(bound);
            for (memory, to_write) in operands(kernel, launch) {
                ready.objects.push((Arc::clone(self.object(memory)?), memory, to_write));
            }
            for argument in &launch.arguments {
                if let Argument::Sampler(sampler) = argument {
                    ready.samplers.extend(self.samplers.get(sampler).cloned());
                }
            }
        }
        Ok(ready)
    }

    /// Enqueues prepared launches.
    pub(super) fn enqueue_ready(&mut self, ready: &Ready) -> Result<Submitted, ExecuteError> {
        if let Some((_, memory, _)) =
            ready.objects.iter().find(|(object, _, to_write)| self.host_uses(object, *to_write))
        {
            return Err(in_use(*memory));
        }
        self.use_queue(self.takes_times)?;
        let queue = &self.queue;
        if self.records && !self.takes_times && !queue.is_recorded() {
            // A driver that cannot record them may still run them.
            let record = || Recording::new(queue, &ready.kernels).ok().flatten();
            if let Some(recording) =
                ready.recording.get_or_init(record).as_ref().filter(|own| own.is_of(queue))
            {
                let event = recording.enqueue().map_err(|error| self.fail(error))?;
                queue.flush().map_err(|error| self.fail(error))?;
                return Ok(self.submitted(vec![event]));
            }
        }
        let events = self.in_line(&ready.kernels, |kernel, event| kernel.launch(queue, event))?;
        Ok(self.submitted(events))
    }

    /// Enqueues commands one by one until one is refused. Each has an event, because the event of the last command
    /// does not report whether an earlier one failed.
    fn in_line<C>(
        &self,
        commands: &[C],
        put: impl Fn(&C, Option<&mut Option<Event>>) -> Result<(), LaunchError>,
    ) -> Result<Vec<Event>, ExecuteError> {
        let mut events = Vec::with_capacity(commands.len());
        for command in commands {
            let mut event = None;
            if let Err(error) = put(command, Some(&mut event)) {
                // A failure of `finish` adds no information.
                let _ = self.queue.finish();
                return Err(self.launch_failed(error));
            }
            events.extend(event);
        }
        if !events.is_empty() {
            self.queue.flush().map_err(|error| self.fail(error))?;
        }
        Ok(events)
    }

    /// Switches to the queue with or without profiling, after all work of the current queue has ended.
    fn use_queue(&mut self, timed: bool) -> Result<(), ExecuteError> {
        if self.queue.profiles() == timed || self.is_given {
            return Ok(());
        }
        self.queue.finish().map_err(|error| self.fail(error))?;
        let next = match self.other_queue.take() {
            Some(queue) => queue,
            None if timed => Queue::with_profiling(&self.context).map_err(|error| self.fail(error))?,
            None => Queue::new(&self.context).map_err(|error| self.fail(error))?,
        };
        self.other_queue = Some(std::mem::replace(&mut self.queue, next));
        Ok(())
    }

    /// The kernel of each launch. Also makes all samplers that the launches need.
    fn kernels(&mut self, launches: &[Launch]) -> Result<Vec<Kernel>, ExecuteError> {
        for argument in launches.iter().flat_map(|launch| &launch.arguments) {
            if let Argument::Sampler(sampler) = argument {
                self.make_sampler(*sampler)?;
            }
        }
        launches.iter().map(|launch| self.kernel(&launch.program, &launch.entry)).collect()
    }

    /// Converts the arguments of a launch to the form that kernels take.
    fn arguments<'a>(&'a self, launch: &'a Launch) -> Result<Vec<Arg<'a>>, ExecuteError> {
        let argument = |(index, argument): (usize, &'a Argument)| {
            let known = match argument {
                Argument::Memory(memory) => Some(Arg::memory(self.object(*memory)?)),
                Argument::Value(value) => Some(Arg::borrowed(value)),
                Argument::Local { bytes } => Some(Arg::local(*bytes)),
                Argument::Sampler(sampler) => self.samplers.get(sampler).map(|sampler| Arg::from(&**sampler)),
                Argument::Bytes(bytes) => Some(Arg::bytes(bytes)),
                Argument::Null => Some(Arg::null()),
                _ => None,
            };
            known.ok_or_else(|| ExecuteError::Argument {
                entry: launch.entry.clone(),
                index,
                name: String::new(),
                want: "a buffer, image, value, struct, local size, sampler or NULL".to_owned(),
                found: argument.to_string(),
            })
        };
        launch.arguments.iter().enumerate().map(argument).collect()
    }

    fn launch_failed(&self, error: LaunchError) -> ExecuteError {
        launch_error(&self.device, self.allocated_bytes, error)
    }
}
