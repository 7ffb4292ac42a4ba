//! Building programs for an executor on other threads.

use std::fmt;
use std::sync::Arc;

use tripipe_cache::Cache;
use tripipe_launch::{ExecuteError, Program as Request};

use crate::context::Context;
use crate::executor::error::{build_error, launch_error};
use crate::executor::programs::Built;

/// Builds programs for an executor while the executor keeps working ([`crate::OpenClExecutor::builder`]). Cheap to
/// clone; any number of threads may use it.
#[derive(Clone)]
pub struct Builder {
    pub(super) context: Context,
    pub(super) cache: Option<Cache>,
}

impl Builder {
    /// Builds `program` and its kernels `entries`, from the executor's cache or from source. After
    /// [`crate::OpenClExecutor::adopt`], the executor uses the result and does not build it again.
    ///
    /// # Errors
    /// It does not build, or does not have such a kernel.
    pub fn build(&self, program: &Arc<Request>, entries: &[&str]) -> Result<BuiltProgram, ExecuteError> {
        let device = self.context.device();
        let mut built = Built::new(&self.context, program, self.cache.as_ref())
            .map_err(|error| build_error(device, 0, error))?;
        for entry in entries {
            built.kernel(entry).map_err(|error| launch_error(device, 0, error))?;
        }
        Ok(BuiltProgram { request: Arc::clone(program), built })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("context", &self.context).finish_non_exhaustive()
    }
}

/// A program that was built for an executor but not adopted by it yet.
pub struct BuiltProgram {
    pub(super) request: Arc<Request>,
    pub(super) built: Built,
}

impl fmt::Debug for BuiltProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltProgram").field("name", &self.request.name).finish_non_exhaustive()
    }
}
