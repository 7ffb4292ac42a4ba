//! What stands in for `opencl` without the feature: no executor can do more than run kernels.

use tripipe_kernels::Plan;
use tripipe_launch::{Access, ExecuteError, MemoryId};

use super::runner::{BuildTask, Imported, Runner};
use crate::driver::memory::External;
use crate::driver::{BuiltProgram, ObjectAccess};

impl Runner {
    #[cfg(feature = "cpu")]
    pub(super) fn is_tried(&mut self) -> bool {
        false
    }

    pub(super) fn import(
        &mut self,
        external: External,
        _: usize,
    ) -> Result<Option<(MemoryId, Imported)>, ExecuteError> {
        match external {}
    }

    pub(super) fn hold(&mut self, _: MemoryId, _: Access) -> Result<Option<ObjectAccess>, ExecuteError> {
        Ok(None)
    }

    pub(super) fn builder(&mut self, _: &Plan<'static>) -> Option<BuildTask> {
        None
    }

    pub(super) fn adopt(&mut self, _: Vec<BuiltProgram>) -> Result<(), ExecuteError> {
        Ok(())
    }
}
