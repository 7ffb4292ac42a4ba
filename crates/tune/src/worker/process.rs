//! A child process whose standard streams are read by threads.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufReader, Read};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tripipe_launch::locks::lock;

use super::protocol::{self, Line, Reply, Request, read_lines};

/// How often a wait looks at the memory of the process.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a process may take to end after its output has.
const LAST_MOMENTS: Duration = Duration::from_secs(2);
/// Lines of standard error that are kept.
const KEPT_LINES: usize = 20;
/// Characters of a line that are kept.
const KEPT_CHARACTERS: usize = 300;

/// A worker process. Dropping it stops it, with all processes of its group.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<Line<Reply>>,
    /// The last lines of standard error, and of standard output without the messages.
    said: Arc<Mutex<VecDeque<String>>>,
    /// Closed when all of standard error was read.
    heard: Receiver<()>,
    own_group: bool,
    /// Whether it has ended, and its number may belong to another process.
    has_ended: bool,
}

/// What a wait for a worker ended with.
pub(super) enum WaitOutcome {
    /// A message.
    Reply(Reply),
    /// A worker of another version.
    OtherProtocol { protocol: u64, version: String },
    /// The process ended, or closed its output and was stopped; in words.
    Ended(String),
    /// Nothing in time.
    Overdue,
    /// The process uses more memory than it may: this number of bytes.
    TooMuchMemory(u64),
    /// The wait was cancelled.
    Cancelled,
}

impl Process {
    /// Starts a process, in a group of its own if `own_group`.
    pub(super) fn start(mut command: Command, own_group: bool) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        if own_group {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        let mut child = command.spawn()?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, replies) = mpsc::channel();
        let (listening, heard) = mpsc::channel::<()>();
        let started = (|| {
            if let Some(output) = child.stdout.take() {
                let said = Arc::clone(&said);
                spawn("replies", move || read_replies(output, &sender, &said))?;
            }
            if let Some(errors) = child.stderr.take() {
                let said = Arc::clone(&said);
                spawn("complaints", move || {
                    read_lines::<serde_json::Value>(BufReader::new(errors), |line| {
                        if let Line::Noise(text) = line {
                            keep(&said, &text);
                        }
                        true
                    });
                    drop(listening);
                })?;
            }
            Ok(())
        })();
        let input = child.stdin.take();
        let process = Self { child, input, replies, said, heard, own_group, has_ended: false };
        // If a thread could not be started, dropping the process stops it.
        started.map(|()| process)
    }

    /// Sends a request. An error means that the process has ended; the next wait says so.
    pub(super) fn send(&mut self, request: &Request) {
        if let Some(input) = &mut self.input {
            let _ = protocol::write(input, request);
        }
    }

    /// Waits for the next message, until `limit` has passed.
    pub(super) fn wait(
        &mut self,
        limit: Duration,
        memory_bytes: Option<u64>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> WaitOutcome {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match self.replies.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(Line::Message(reply)) => return WaitOutcome::Reply(reply),
                Ok(Line::OtherProtocol { protocol, version }) => {
                    return WaitOutcome::OtherProtocol { protocol, version };
                }
                Err(RecvTimeoutError::Disconnected) => return WaitOutcome::Ended(self.end()),
                Ok(Line::Noise(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if is_cancelled() {
                return WaitOutcome::Cancelled;
            }
            if let (Some(limit), Some(used)) = (memory_bytes, resident_bytes(self.child.id()))
                && used > limit
            {
                return WaitOutcome::TooMuchMemory(used);
            }
            if start.elapsed() >= limit {
                return WaitOutcome::Overdue;
            }
        }
    }

    /// Ends the process in an orderly way; stops it if it does not end soon.
    pub(super) fn bid_farewell(mut self) {
        self.send(&Request::Bye);
        self.input.take();
        self.wait_for_end();
    }

    /// The last line of what the process printed besides messages; empty if it printed nothing.
    pub(super) fn last_words(&self) -> String {
        lock(&self.said).back().cloned().unwrap_or_default()
    }

    /// How the process, whose output has ended, ended itself.
    fn end(&mut self) -> String {
        let ended = if let Some(status) = self.wait_for_end() {
            status_in_words(status)
        } else {
            self.stop();
            "its output ended, and it was stopped".to_owned()
        };
        // A process of its group may keep standard error open.
        let _ = self.heard.recv_timeout(LAST_MOMENTS);
        match self.last_words().as_str() {
            "" => ended,
            words => format!("{ended}: {words}"),
        }
    }

    /// `None` if it does not end soon.
    fn wait_for_end(&mut self) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < LAST_MOMENTS {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.has_ended = true;
                return Some(status);
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// Stops the process and its group with a signal that it cannot ignore.
    fn stop(&mut self) {
        if self.has_ended {
            return;
        }
        #[cfg(unix)]
        if self.own_group
            && let Some(group) = rustix::process::Pid::from_raw(self.child.id().cast_signed())
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.has_ended = true;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn read_replies(output: impl Read, replies: &Sender<Line<Reply>>, said: &Mutex<VecDeque<String>>) {
    read_lines(BufReader::new(output), |line| {
        if let Line::Noise(text) = &line {
            keep(said, text);
            return true;
        }
        replies.send(line).is_ok()
    });
}

fn keep(said: &Mutex<VecDeque<String>>, text: &str) {
    let mut said = lock(said);
    if said.len() == KEPT_LINES {
        said.pop_front();
    }
    said.push_back(text.chars().filter(|letter| !letter.is_control()).take(KEPT_CHARACTERS).collect());
}

/// Resident and swapped memory of a process; `None` where the system does not say.
fn resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kilobytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()
    };
    Some((kilobytes("VmRSS")? + kilobytes("VmSwap").unwrap_or(0)) * 1024)
}

fn status_in_words(status: ExitStatus) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return signal_in_words(signal);
        }
    }
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

#[cfg(unix)]
fn signal_in_words(signal: i32) -> String {
    use rustix::process::Signal;

    let known = [
        (Signal::SEGV, "SIGSEGV", "an invalid address"),
        (Signal::ABORT, "SIGABRT", "it aborted"),
        (Signal::BUS, "SIGBUS", "an invalid address"),
        (Signal::FPE, "SIGFPE", "an arithmetic error"),
        (Signal::ILL, "SIGILL", "an invalid instruction"),
        (Signal::TRAP, "SIGTRAP", "a trap"),
        (Signal::SYS, "SIGSYS", "a forbidden system call"),
        (Signal::KILL, "SIGKILL", "another process or the system stopped it, perhaps for lack of memory"),
        (Signal::TERM, "SIGTERM", "another process stopped it"),
    ];
    match known.into_iter().find(|(known, ..)| known.as_raw() == signal) {
        Some((_, name, meaning)) => format!("{name} ({meaning})"),
        None => format!("signal {signal}"),
    }
}
