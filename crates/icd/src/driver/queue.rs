//! Command queues.

use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::{cl_command_queue_info, cl_command_queue_properties, cl_command_type};
use tripipe_launch::locks::lock;

use super::command::{Action, Command};
use super::context::Context;
use super::device::Device;
use super::event::Event;
use super::failure::{Failure, Outcome, require};
use super::handle::{ApiObject, Handle, api_object, register};
use super::info::{self, Answer};

/// A command queue.
pub struct Queue {
    handle: Handle,
    context: Arc<Context>,
    device: Arc<Device>,
    properties: cl_command_queue_properties,
    /// The properties that the application passed, with the 0 at their end; empty if it passed none.
    array: Vec<u64>,
    pending: Mutex<Pending>,
    /// The failure of the first command since the application was last told of one.
    failed: Mutex<Option<Failure>>,
}

/// Commands that later ones wait for.
#[derive(Default)]
struct Pending {
    /// In order: the last one. Out of order: all that are not done.
    events: Vec<Arc<Event>>,
    /// Out of order: the last barrier.
    barrier: Option<Arc<Event>>,
}

/// What a command waits for, beside its wait list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// What the order of the queue demands.
    Queue,
    /// All commands before it.
    All,
    /// All commands before it, and all after it wait for it.
    Barrier,
}

api_object!(Queue, cl::CL_INVALID_COMMAND_QUEUE, "command queue", |object| &object.context);

impl Queue {
    /// A queue.
    ///
    /// # Errors
    /// Another context's device, or properties that are wrong or not offered.
    pub fn new(
        context: Arc<Context>,
        device: Arc<Device>,
        properties: cl_command_queue_properties,
        array: Vec<u64>,
    ) -> Outcome<Arc<Self>> {
        context.check_device(&device)?;
        let offered = cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | cl::CL_QUEUE_PROFILING_ENABLE;
        let known = offered | cl::CL_QUEUE_ON_DEVICE | cl::CL_QUEUE_ON_DEVICE_DEFAULT;
        require(properties & !known == 0, cl::CL_INVALID_VALUE, "the queue's properties have unknown bits")?;
        require(
            properties & !offered == 0,
            cl::CL_INVALID_QUEUE_PROPERTIES,
            "queues on devices are not offered",
        )?;
        let (handle, pending, failed) = (Handle::default(), Mutex::default(), Mutex::default());
        Ok(register(Self { handle, context, device, properties, array, pending, failed }, 1))
    }

    /// Its context.
    pub fn owner(&self) -> &Arc<Context> {
        &self.context
    }

    /// Its device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Whether its events have times.
    pub fn is_profiling(&self) -> bool {
        self.properties & cl::CL_QUEUE_PROFILING_ENABLE != 0
    }

    fn is_in_order(&self) -> bool {
        self.properties & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0
    }

    /// Adds a command and returns its event.
    ///
    /// # Errors
    /// Events of another context, or the context has no thread.
    pub fn submit(
        self: &Arc<Self>,
        kind: cl_command_type,
        wait: Vec<Arc<Event>>,
        waits: Waits,
        action: Action,
    ) -> Outcome<Arc<Event>> {
        if wait.iter().any(|event| !Arc::ptr_eq(event.owner(), &self.context)) {
            return Err(Failure::new(
                cl::CL_INVALID_CONTEXT,
                "an event of the wait list is of another context",
            ));
        }
        let event = Event::of_command(self, kind);
        let mut pending = lock(&self.pending);
        let after: Vec<Arc<Event>> = if self.is_in_order() || waits != Waits::Queue {
            pending.events.clone()
        } else {
            pending.barrier.iter().cloned().collect()
        };
        // The lock is held so that commands of several threads are in one order in both lists.
        let command = Command { event: Arc::clone(&event), after, wait, action };
        if self.is_in_order() {
            pending.events.clear();
        }
        pending.events.push(Arc::clone(&event));
        if waits == Waits::Barrier && !self.is_in_order() {
            pending.barrier = Some(Arc::clone(&event));
        }
        if let Err(failure) = self.context.worker.submit(command) {
            drop(pending);
            self.forget(&event);
            event.advance(failure.code);
            return Err(failure);
        }
        Ok(event)
    }

    /// Removes a command that is done.
    pub fn forget(&self, event: &Arc<Event>) {
        let mut pending = lock(&self.pending);
        pending.events.retain(|other| !Arc::ptr_eq(other, event));
        if pending.barrier.as_ref().is_some_and(|barrier| Arc::ptr_eq(barrier, event)) {
            pending.barrier = None;
        }
    }

    /// Notes that a command failed.
    pub fn fail(&self, failure: &Failure) {
        lock(&self.failed).get_or_insert_with(|| failure.clone());
    }

    /// Fails if a command has failed since the last call: an application that looks at no event learns it here.
    ///
    /// # Errors
    /// That of the first one.
    pub fn check(&self) -> Outcome<()> {
        lock(&self.failed).take().map_or(Ok(()), Err)
    }

    /// Waits until all commands are done.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn finish(&self) -> Outcome<()> {
        let events = lock(&self.pending).events.clone();
        for event in events {
            event.wait();
        }
        self.check()
    }

    /// Answers `clGetCommandQueueInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_command_queue_info) -> Outcome<Answer> {
        Ok(match query {
            cl::CL_QUEUE_CONTEXT => info::pointer(self.context.handle().pointer()),
            cl::CL_QUEUE_DEVICE => info::pointer(self.device.handle().pointer()),
            cl::CL_QUEUE_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_QUEUE_PROPERTIES => info::number(self.properties),
            cl::CL_QUEUE_PROPERTIES_ARRAY => info::list(&self.array),
            cl::CL_QUEUE_DEVICE_DEFAULT => info::pointer(std::ptr::null_mut()),
            cl::CL_QUEUE_SIZE => {
                return Err(Failure::new(cl::CL_INVALID_COMMAND_QUEUE, "only queues on devices have a size"));
            }
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of queues"),
                ));
            }
        })
    }
}
