//! The worker's side.

use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

use tripipe_launch::locks::lock;

use super::protocol::{self, Hello, Line, Reply, Request, read_lines};
use crate::bench::Phase;
use crate::{Bench, BenchError, KernelProblem, Problem};

/// The requests of a tuner, read in a thread of their own, so that the end of the input is noticed while a kernel runs.
pub struct Requests {
    lines: Receiver<Result<Request, String>>,
}

impl Requests {
    /// Reads `input`. Calls `on_end` when it ends, in the thread that reads. If the tuner is gone, nobody is left to
    /// stop a kernel that hangs, so `on_end` should end the process after a moment.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn read(
        input: impl Read + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel();
        thread::Builder::new().name("requests".to_owned()).spawn(move || {
            read_lines(BufReader::new(input), |line| {
                let request = match line {
                    Line::Message(Request::Bye) => return false,
                    Line::Message(request) => Ok(request),
                    Line::OtherProtocol { protocol, .. } => Err(format!("a line of protocol {protocol}")),
                    Line::Noise(text) => Err(format!("a line that is not a request: {text}")),
                };
                sender.send(request).is_ok()
            });
            drop(sender);
            on_end();
        })?;
        Ok(Self { lines })
    }
}

/// The way back to the tuner. Clones write to the same output.
#[derive(Clone)]
pub struct Replies {
    output: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl Replies {
    /// Writes to `output`.
    pub fn new(output: impl Write + Send + 'static) -> Self {
        Self { output: Arc::new(Mutex::new(Box::new(output))) }
    }

    /// Reports a phase. A tuner that is gone is noticed elsewhere.
    pub fn phase(&self, phase: Phase) {
        let _ = self.send(&Reply::Phase(phase));
    }

    fn send(&self, reply: &Reply) -> io::Result<()> {
        protocol::write(&mut **lock(&self.output), reply)
    }
}

/// Measures for a tuner until it ends, or its input does. `bench` should report its phases to `replies`.
///
/// # Errors
/// The replies cannot be written.
pub fn serve(bench: &mut dyn Bench, requests: &Requests, replies: &Replies) -> io::Result<()> {
    replies.send(&Reply::Hello(Box::new(Hello::new(bench.probe()))))?;
    let mut kernel = None;
    while let Ok(request) = requests.lines.recv() {
        let reply = match request {
            Ok(Request::Bye) => return Ok(()),
            Ok(Request::Kernel(described)) => {
                kernel = Some(Arc::new(*described));
                continue;
            }
            Ok(request) => answer(bench, &request, kernel.as_ref()),
            Err(reason) => Reply::Refused { reason, device: false },
        };
        replies.send(&reply)?;
    }
    Ok(())
}

fn answer(bench: &mut dyn Bench, request: &Request, kernel: Option<&Arc<KernelProblem>>) -> Reply {
    let Request::Measure { problem, parameters, effort } = request else {
        return Reply::Trials(Vec::new());
    };
    let problem: Problem = match (kernel, problem.parse()) {
        (Some(kernel), _) if kernel.to_string() == *problem => Problem::Kernel(Arc::clone(kernel)),
        (_, Ok(problem)) => problem,
        (_, Err(error)) => return Reply::Refused { reason: format!("{problem}: {error}"), device: false },
    };
    let trials = match parameters.as_slice() {
        [one] => bench.measure(&problem, one, effort).map(|trial| vec![trial]),
        several => bench.compare(&problem, several, effort),
    };
    match trials {
        Ok(trials) => Reply::Trials(trials),
        Err(BenchError::Problem { reason, .. }) => Reply::Refused { reason, device: false },
        Err(error) => Reply::Refused { reason: error.to_string(), device: true },
    }
}
