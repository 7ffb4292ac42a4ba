//! Records single work-groups of a launch.

use std::cell::Cell;

use tripipe_ir::Module;
use tripipe_launch::{ExecuteError, Launch};

use super::Simulator;
use super::launch::{SetUp, failure};
use super::program::{Loaded, Purpose};
use crate::execute::effects::written;
use crate::execute::launch::Job;
use crate::execute::memory::{Global, Home, Overlay};
use crate::execute::memory_map::MemoryMap;
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
        let SetUp { code, memory_map, range, schedule, values, images, .. } =
            self.set_up(launch, Purpose::Trace)?;
        let missing =
            |what: &str| ExecuteError::NotOffered { what: what.to_owned(), device: self.probe.name.clone() };
        let loaded = self.programs.get(&launch.program).ok_or_else(|| missing("the program"))?;
        let Loaded { module, objects: kept, .. } = loaded;
        let kernel = module.kernel(&launch.entry).ok_or_else(|| missing("the kernel"))?;
        let own = program_objects(module, kept.as_deref(), &memory_map);
        let buffers: Vec<&[u8]> = memory_map
            .buffers
            .iter()
            .map(|memory| self.objects.stored(*memory))
            .collect::<Option<_>>()
            .ok_or_else(|| missing("a buffer"))?;
        // What the kernel may write is copied page by page.
        let written = written(kernel);
        let is_written = |index: usize| {
            index < own.len()
                || written.as_ref().is_none_or(|written| {
                    let home = Home::Global(index as u32);
                    memory_map.arguments.iter().zip(written).any(|(object, written)| {
                        *written && memory_map.objects[*object as usize].home == home
                    })
                })
        };
        let globals = own.iter().map(Vec::as_slice).chain(buffers).enumerate();
        let globals = globals.map(|(index, bytes)| {
            if is_written(index) { Global::Overlay(Overlay::new(bytes)) } else { Global::Shared(bytes) }
        });
        let globals: Vec<Global<'_>> = globals.collect();
        let job = Job {
            module,
            kernel,
            code: &code,
            memory_map: &memory_map,
            arguments: &values,
            images: &images,
            range,
            only: None,
            schedule,
            threads: 1,
            steps: self.options.steps,
        };
        let bases = bases(&memory_map);
        let done = Cell::new(None);
        let mut recorder = Recorder::new(&bases, &done);
        let state = job.state(globals, Some(&mut recorder));
        let fail = |group: &Group, stop: Stop| ExecuteError::Backend {
            during: format!("tracing `{}`", launch.entry),
            source: Box::new(failure(group, stop, module, kernel, &self.options)),
        };
        let mut tracer = Tracer::new(&job, &bases, state, &done, &fail);
        with(&mut tracer)
    }
}

/// The bytes of the program's objects: those of the last launch, or the initial ones.
fn program_objects(module: &Module, kept: Option<&[Vec<u8>]>, memory_map: &MemoryMap) -> Vec<Vec<u8>> {
    let objects = module.objects.values().enumerate();
    objects
        .map(|(index, object)| {
            let kept = kept.filter(|_| object.space != tripipe_ir::Space::Constant);
            kept.and_then(|kept| kept.get(index)).cloned().unwrap_or_else(|| memory_map.initial(object))
        })
        .collect()
}
