//! `--trace FILE`: what a command runs, and when, in a file.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::finish::Finish;

/// Where the trace of a command is written.
#[derive(Args, Clone)]
pub(crate) struct TraceArgument {
    /// Records what ran when, on the host and on devices, for ui.perfetto.dev (docs/traces.md): a Perfetto trace if FILE
    /// ends in .pftrace or .perfetto-trace, Chrome JSON if it ends in .json.
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,
}

impl TraceArgument {
    /// Whether a trace is wanted, by the argument or by the environment (`TRIPIPE_TRACE`).
    pub(crate) fn is_wanted(&self) -> bool {
        self.trace.is_some() || std::env::var_os("TRIPIPE_TRACE").is_some_and(|file| !file.is_empty())
    }

    /// Runs a command, and writes its trace when it has ended; nothing if it failed.
    ///
    /// # Errors
    /// Those of the command; the file cannot be written.
    pub(crate) fn record(self, command: impl FnOnce() -> Result<Finish>) -> Result<Finish> {
        match &self.trace {
            Some(path) => tripipe::trace::start(path)?,
            None => tripipe::trace::start_from_environment()?,
        }
        let finish = command().inspect_err(|_| tripipe::trace::discard())?;
        tripipe::trace::save()?;
        Ok(finish)
    }
}
