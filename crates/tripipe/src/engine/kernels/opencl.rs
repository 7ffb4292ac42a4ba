//! What an OpenCL device can do besides running kernels. Other executors, such as a simulated GPU, cannot.

use std::sync::Arc;

use tripipe_kernels::Plan;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, Program};
use tripipe_opencl::memory::External;
use tripipe_opencl::{BuiltProgram, ObjectAccess, OpenClExecutor};

use super::runner::{BuildTask, Imported, Runner};

impl Runner {
    fn opencl(&mut self) -> Option<&mut OpenClExecutor> {
        self.executor().as_any()?.downcast_mut()
    }

    /// Whether operations are tried on it and on the CPU path, to see which is faster.
    #[cfg(feature = "cpu")]
    pub(super) fn is_tried(&mut self) -> bool {
        self.opencl().is_some()
    }

    /// Imported memory; `None` where memory cannot be imported.
    ///
    /// # Errors
    /// The device cannot import such memory; it is shorter than `bytes` bytes; the driver refuses.
    pub(super) fn import(
        &mut self,
        external: External,
        bytes: usize,
    ) -> Result<Option<(MemoryId, Imported)>, ExecuteError> {
        let Some(opencl) = self.opencl() else { return Ok(None) };
        let id = opencl.import(external, Access::ReadWrite)?;
        // Reading zero bytes at the end checks that it is long enough.
        if let Err(short) = opencl.read(id, bytes, &mut []) {
            let _ = opencl.release(id);
            return Err(short);
        }
        let imported = Imported {
            footprint: opencl.footprint(id)?,
            #[cfg(feature = "cpu")]
            is_accessible: opencl.is_accessible(id)?,
        };
        Ok(Some((id, imported)))
    }

    /// Access to an object from the host that does not keep the executor busy; `None` where there is none.
    ///
    /// # Errors
    /// The host is already using the object.
    pub(super) fn hold(
        &mut self,
        memory: MemoryId,
        access: Access,
    ) -> Result<Option<ObjectAccess>, ExecuteError> {
        self.opencl().map(|opencl| opencl.hold(memory, access)).transpose()
    }

    /// What builds the kernels of a plan that are not built yet, on any thread; `None` when nothing is left to build,
    /// or no other thread can do it. Programs that do not build are left out.
    pub(super) fn builder(&mut self, plan: &Plan<'static>) -> Option<BuildTask> {
        let opencl = self.opencl()?;
        let mut missing: Vec<(Arc<Program>, Vec<String>)> = Vec::new();
        for launch in plan.preparation().iter().chain(plan.launches()) {
            match missing.iter_mut().find(|(program, _)| *program == launch.program) {
                Some((_, entries)) => entries.push(launch.entry.clone()),
                None if opencl.has_built(&launch.program) => {}
                None => missing.push((Arc::clone(&launch.program), vec![launch.entry.clone()])),
            }
        }
        if missing.is_empty() {
            return None;
        }
        let builder = opencl.builder();
        Some(Box::new(move || {
            let built = missing.iter().filter_map(|(program, entries)| {
                let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
                builder.build(program, &entries).ok()
            });
            built.collect()
        }))
    }

    /// Takes over the programs that a [builder](Self::builder) has built.
    ///
    /// # Errors
    /// They were built for another device.
    pub(super) fn adopt(&mut self, programs: Vec<BuiltProgram>) -> Result<(), ExecuteError> {
        let Some(opencl) = self.opencl() else { return Ok(()) };
        programs.into_iter().try_for_each(|program| opencl.adopt(program))
    }
}
