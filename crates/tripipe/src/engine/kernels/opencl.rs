//! What an OpenCL device can do besides running kernels.

use std::sync::Arc;

use tripipe_kernels::Plan;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, Program};
use tripipe_opencl::memory::External;
use tripipe_opencl::{BuiltProgram, Held, OpenClExecutor};

use super::runner::{BuildTask, Imported, Runner};

impl Runner for OpenClExecutor {
    fn executor(&mut self) -> &mut dyn Executor {
        self
    }

    #[cfg(feature = "cpu")]
    fn is_tried(&self) -> bool {
        true
    }

    fn import(
        &mut self,
        external: External,
        bytes: usize,
    ) -> Result<Option<(MemoryId, Imported)>, ExecuteError> {
        let id = Self::import(self, external, Access::ReadWrite)?;
        // Reading zero bytes at the end checks that it is long enough.
        if let Err(short) = self.read(id, bytes, &mut []) {
            let _ = self.release(id);
            return Err(short);
        }
        let imported = Imported {
            footprint: self.footprint(id)?,
            #[cfg(feature = "cpu")]
            is_accessible: self.is_accessible(id)?,
        };
        Ok(Some((id, imported)))
    }

    fn hold(&mut self, memory: MemoryId, access: Access) -> Result<Option<Held>, ExecuteError> {
        Self::hold(self, memory, access).map(Some)
    }

    fn builder(&mut self, plan: &Plan<'static>) -> Option<BuildTask> {
        let mut missing: Vec<(Arc<Program>, Vec<String>)> = Vec::new();
        for launch in plan.preparation().iter().chain(plan.launches()) {
            match missing.iter_mut().find(|(program, _)| *program == launch.program) {
                Some((_, entries)) => entries.push(launch.entry.clone()),
                None if self.has_built(&launch.program) => {}
                None => missing.push((Arc::clone(&launch.program), vec![launch.entry.clone()])),
            }
        }
        if missing.is_empty() {
            return None;
        }
        let builder = Self::builder(self);
        Some(Box::new(move || {
            let built = missing.iter().filter_map(|(program, entries)| {
                let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
                builder.build(program, &entries).ok()
            });
            built.collect()
        }))
    }

    fn adopt(&mut self, programs: Vec<BuiltProgram>) -> Result<(), ExecuteError> {
        programs.into_iter().try_for_each(|program| Self::adopt(self, program))
    }
}
