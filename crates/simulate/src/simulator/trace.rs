//! Records single work-groups of a launch.

use std::cell::Cell;

use tripipe_launch::{ExecuteError, Launch};

use super::Simulator;
use super::launch::{SetUp, failure, program_objects};
use super::program::Purpose;
use crate::execute::effects::written;
use crate::execute::memory::{Global, Overlay};
use crate::execute::range::Group;
use crate::execute::state::Stop;
use crate::trace::{Recorder, Tracer, bases};

impl Simulator {
    /// Calls `with` with a tracer of a launch. The memory objects keep their contents.
    ///
    /// # Errors
    /// As [`tripipe_launch::Executor::run`], before a work-group runs; and those of `with`.
    pub fn trace<R>(
        &mut self,
        launch: &Launch,
        with: impl FnOnce(&mut Tracer<'_>) -> Result<R, ExecuteError>,
    ) -> Result<R, ExecuteError> {
        let set_up = SetUp { threads: 1, ..self.set_up(launch, Purpose::Trace)? };
        let memory_map = &set_up.memory_map;
        let loaded = self.programs.load(&launch.program, &self.options, &self.probe.name)?;
        let kernel = loaded.kernel(&launch.program, &launch.entry)?;
        let module = &loaded.module;
        let own = program_objects(module, loaded.objects.as_deref(), memory_map);
        let buffers: Vec<&[u8]> = memory_map
            .buffers
            .iter()
            .map(|memory| self.objects.stored(*memory))
            .collect::<Option<_>>()
            .ok_or_else(|| ExecuteError::NotOffered {
                what: "a buffer".to_owned(),
                device: self.probe.name.clone(),
            })?;
        // What the kernel may write is copied page by page.
        let written = written(kernel);
        let globals = own.iter().map(Vec::as_slice).chain(buffers).enumerate();
        let globals = globals.map(|(index, bytes)| {
            if memory_map.may_write(written.as_deref(), index) {
                Global::Overlay(Overlay::new(bytes))
            } else {
                Global::Shared(bytes)
            }
        });
        let globals: Vec<Global<'_>> = globals.collect();
        let job = set_up.job(module, kernel, self.options.steps);
        let bases = bases(memory_map);
        let done = Cell::new(None);
        let mut recorder = Recorder::new(&bases, &done);
        let state = job.state(globals, Some(&mut recorder));
        let fail = |group: &Group, stop: Stop| ExecuteError::Backend {
            during: format!("tracing `{}`", launch.entry),
            source: Box::new(failure(group, stop, module, kernel, &self.options)),
        };
        let mut tracer = Tracer::new(&job, &bases, state, &done, &fail);
        let result = with(&mut tracer);
        let stray = tracer.stray();
        let stray =
            stray.map(|(group, fault)| failure(&group, Stop::Fault(fault), module, kernel, &self.options));
        self.strays.extend(stray);
        result
    }
}
