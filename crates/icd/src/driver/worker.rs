//! The thread of a context. It runs commands one after another: the first of those whose events have completed.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};

use opencl_sys as cl;
use tripipe_launch::locks::{lock, recovered};

use super::command::Command;
use super::failure::{Failure, Outcome};

/// The commands that wait, and the thread that runs them, started at the first command.
#[derive(Default)]
pub struct Worker {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    commands: VecDeque<Command>,
    /// The process whose thread runs them: a child of `fork` has no threads of its parent.
    process: Option<u32>,
    stopped: bool,
}

impl Worker {
    /// Adds a command.
    ///
    /// # Errors
    /// The thread cannot be started, or this process is a fork of the one that has the thread.
    pub fn submit(self: &Arc<Self>, command: Command) -> Outcome<()> {
        let own = std::process::id();
        let mut state = lock(&self.state);
        match state.process {
            Some(process) if process == own => {}
            Some(_) => {
                let why = "the context was made before this process was forked: make another one";
                return Err(Failure::new(cl::CL_OUT_OF_RESOURCES, why));
            }
            None => {
                let worker = Arc::clone(self);
                let thread = std::thread::Builder::new().name("tripipe".into()).spawn(move || worker.run());
                thread.map_err(|error| {
                    Failure::new(cl::CL_OUT_OF_RESOURCES, format!("no thread can be started: {error}"))
                })?;
                state.process = Some(own);
            }
        }
        state.commands.push_back(command);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Wakes the worker, which looks at the commands again: an event of the application has changed.
    pub fn wake(&self) {
        // A thread that has looked at the commands but does not wait yet has the lock.
        drop(lock(&self.state));
        self.changed.notify_all();
    }

    /// Ends the thread when it has no commands left.
    pub fn stop(&self) {
        lock(&self.state).stopped = true;
        self.changed.notify_all();
    }

    fn run(&self) {
        loop {
            let command = {
                let mut state = lock(&self.state);
                loop {
                    if let Some(index) = state.commands.iter().position(Command::is_ready) {
                        break state.commands.remove(index);
                    }
                    if state.stopped && state.commands.is_empty() {
                        break None;
                    }
                    state = recovered(self.changed.wait(state));
                }
            };
            let Some(command) = command else { return };
            // Callbacks of the application may panic, if they are Rust.
            let _ = catch_unwind(AssertUnwindSafe(|| command.run()));
        }
    }
}
