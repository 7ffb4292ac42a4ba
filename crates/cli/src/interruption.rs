//! Ctrl-C and requests to terminate: no half-written file remains, and work that can end early does.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::files::output;

/// The exit code of a command that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether the current work ends itself when it is interrupted.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);
static INTERRUPTED_ALREADY: AtomicBool = AtomicBool::new(false);

/// Sets the effect of an interruption: it ends the program, or, the first time, the work that asked for it.
///
/// # Errors
/// The system does not accept a handler.
pub(crate) fn handle() -> anyhow::Result<()> {
    #[allow(
        clippy::exit,
        reason = "the work continues in other threads, including the driver's, and cannot be unwound"
    )]
    ctrlc::set_handler(|| {
        let first = !INTERRUPTED_ALREADY.swap(true, Ordering::SeqCst);
        if first && ENDS_ITSELF.load(Ordering::SeqCst) {
            // If this fails, nobody reads standard error.
            let _ = writeln!(io::stderr(), "stopping with the results so far; Ctrl-C again stops at once");
            return;
        }
        // Held until the program ends, so that no output is started or moved to its final path.
        let _abandoned = output::abandon();
        std::process::exit(INTERRUPTED.into());
    })?;
    Ok(())
}

/// While this value exists, the current work ends itself when interrupted, with the results so far.
pub(crate) struct EndsItself(());

impl EndsItself {
    pub(crate) fn begin() -> Self {
        ENDS_ITSELF.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Whether an interruption occurred.
    #[allow(clippy::unused_self, reason = "only work that stops by itself may query it")]
    pub(crate) fn is_interrupted(&self) -> bool {
        INTERRUPTED_ALREADY.load(Ordering::SeqCst)
    }
}

impl Drop for EndsItself {
    fn drop(&mut self) {
        ENDS_ITSELF.store(false, Ordering::SeqCst);
    }
}
