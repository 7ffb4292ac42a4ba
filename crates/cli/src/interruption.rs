//! Ctrl-C, and being told to end: no half-written file is left, and work that can be ended early is.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::files::output;

/// The exit code of a command that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether the work at hand ends itself when it is interrupted.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);
static INTERRUPTED_ALREADY: AtomicBool = AtomicBool::new(false);

/// Says what an interruption does from now on: ends the program, or, once, the work that asks for it.
///
/// # Errors
/// The system takes no handler.
pub(crate) fn handle() -> anyhow::Result<()> {
    #[allow(
        clippy::exit,
        reason = "the work goes on in other threads, drivers' among them, and cannot be unwound"
    )]
    ctrlc::set_handler(|| {
        let first = !INTERRUPTED_ALREADY.swap(true, Ordering::SeqCst);
        if first && ENDS_ITSELF.load(Ordering::SeqCst) {
            // Nobody is left to be told when this fails.
            let _ = writeln!(io::stderr(), "ending with what there is; Ctrl-C again ends at once");
            return;
        }
        // Held until the end, so that no further output is begun or put in its place.
        let _abandoned = output::abandon();
        std::process::exit(INTERRUPTED.into());
    })?;
    Ok(())
}

/// While this lives the work ends itself when it is interrupted, with what it has so far.
pub(crate) struct EndsItself(());

impl EndsItself {
    pub(crate) fn begin() -> Self {
        ENDS_ITSELF.store(true, Ordering::SeqCst);
        Self(())
    }

    /// Whether it was.
    #[allow(clippy::unused_self, reason = "only work that ends itself may ask")]
    pub(crate) fn is_interrupted(&self) -> bool {
        INTERRUPTED_ALREADY.load(Ordering::SeqCst)
    }
}

impl Drop for EndsItself {
    fn drop(&mut self) {
        ENDS_ITSELF.store(false, Ordering::SeqCst);
    }
}
