//! Ctrl-C and requests to terminate: no half-written file remains, and work that can end early does.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::files::output;

/// Whether the current work ends itself when it is interrupted.
static ENDS_ITSELF: AtomicBool = AtomicBool::new(false);
/// The first signal; 0 before it.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The exit code of a command that was interrupted, as shells report it: 130 for Ctrl-C, 143 for SIGTERM, 129 for
/// SIGHUP.
pub(crate) fn exit_code() -> u8 {
    128 + SIGNAL.load(Ordering::SeqCst) as u8
}

/// Sets the effect of an interruption: it ends the program, or, the first time, the work that asked for it.
///
/// # Errors
/// The system does not accept a handler.
pub(crate) fn handle() -> anyhow::Result<()> {
    #[allow(
        clippy::exit,
        reason = "the work continues in other threads, including the driver's, and cannot be unwound"
    )]
    let interrupted = |signal: i32| {
        let first = SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if first && ENDS_ITSELF.load(Ordering::SeqCst) {
            // If this fails, nobody reads standard error.
            let _ = writeln!(io::stderr(), "stopping with the results so far; Ctrl-C again stops at once");
            return;
        }
        // Held until the program ends, so that no output is started or moved to its final path.
        let _abandoned = output::abandon();
        std::process::exit(exit_code().into());
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("tripipe-signals".to_owned())
        .spawn(move || signals.forever().for_each(interrupted))?;
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
        SIGNAL.load(Ordering::SeqCst) != 0
    }
}

impl Drop for EndsItself {
    fn drop(&mut self) {
        ENDS_ITSELF.store(false, Ordering::SeqCst);
    }
}
