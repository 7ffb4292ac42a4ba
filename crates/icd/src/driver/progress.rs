//! What is said while something takes long.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// After so long a build is announced, and after as long again once more.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Calls `work`. Whenever `patience` is over before it ends, `say` gets the time since the start.
pub fn watched<T>(patience: Duration, say: impl Fn(Duration) + Sync, work: impl FnOnce() -> T) -> T {
    let (working, ends) = channel::<()>();
    thread::scope(|scope| {
        // Without a thread, nothing is said.
        let _ = thread::Builder::new().spawn_scoped(scope, || {
            let (begin, ends) = (Instant::now(), ends);
            while ends.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                say(begin.elapsed());
            }
        });
        let result = work();
        drop(working);
        result
    })
}

/// Says on the standard error stream that a build goes on.
#[allow(clippy::print_stderr, reason = "an application that waits for a compiler looks as if it hung")]
pub fn print(lines: usize, since: Duration) {
    eprintln!("tripipe: compiling a program of {lines} lines for {} s", since.as_secs());
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// The work lasts until it was announced twice.
    #[test]
    fn long_work_is_announced_until_it_ends() {
        let (said, heard) = channel();
        let said = Mutex::new(said);
        let say = |since| said.lock().unwrap().send(since).unwrap();
        let work = || [heard.recv().unwrap(), heard.recv().unwrap()];
        let [first, second] = watched(Duration::from_millis(1), say, work);
        assert!(Duration::ZERO < first && first < second);
        assert_eq!(watched(PATIENCE, |_| unreachable!(), || 7), 7);
    }
}
