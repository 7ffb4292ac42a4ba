//! `tripipe tune worker`: measures for a tuner in another process.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tripipe::Choice;
use tripipe_opencl::ExecutorOptions;
use tripipe_tune::bench::InProcess;
use tripipe_tune::worker::{Replies, Requests, Supervised, isolate, serve};

use super::machine::{SafetyArguments, tuned_device};
use crate::open_device::OpenDevice;
use crate::own_process;

/// How long a worker whose tuner is gone may take to end by itself.
const LAST_MOMENTS: Duration = Duration::from_secs(2);

/// Measure for a tuner in another process, over standard input and output.
///
/// `tripipe tune` starts it; on other machines, `tripipe tune --remote` does.
#[derive(Args)]
pub(super) struct Worker {
    /// Device, as for `tripipe tune`.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Choice,
    /// Supervises a worker of its own, so that a kernel that hangs is stopped even if the connection is lost.
    #[arg(long)]
    guard: bool,
    /// On a virtual GPU: also computes and verifies results.
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    safety: SafetyArguments,
}

impl Worker {
    pub(super) fn run(&self) -> Result<()> {
        let output = isolate().context("standard output")?;
        let replies = Replies::new(output);
        if self.guard { self.supervise(&replies) } else { self.measure(&replies) }
    }

    fn measure(&self, replies: &Replies) -> Result<()> {
        let device = tuned_device(self.device)?;
        let mut opened = OpenDevice::new(&device, &ExecutorOptions::default(), !self.verify)?
            .context("the CPU path runs no kernels")?;
        let phases = replies.clone();
        let mut bench = InProcess::new(opened.executor()).on_phase(move |phase| phases.phase(phase));
        let requests = Requests::read(io::stdin(), || {
            // The end of the input ends the main thread, unless a kernel hangs. Functions that run at the exit of a
            // process, the driver's included, could hang, too.
            thread::sleep(LAST_MOMENTS);
            std::process::abort()
        })?;
        Ok(serve(&mut bench, &requests, replies)?)
    }

    fn supervise(&self, replies: &Replies) -> Result<()> {
        let (device, verify, safety) = (self.device, self.verify, self.safety.clone());
        let command = own_process::commands(worker_arguments(device, verify, &safety))?;
        let phases = replies.clone();
        let mut bench =
            Supervised::start(command, self.safety.limits())?.on_phase(move |phase| phases.phase(phase));
        let cancelled = bench.cancellation();
        let requests = Requests::read(io::stdin(), move || cancelled.store(true, Ordering::SeqCst))?;
        Ok(serve(&mut bench, &requests, replies)?)
    }
}

/// The arguments of the program that make it a worker.
pub(super) fn worker_arguments(device: Choice, verify: bool, safety: &SafetyArguments) -> Vec<String> {
    let mut arguments = ["tune", "worker", "--device"].map(str::to_owned).to_vec();
    arguments.push(device.to_string());
    if verify {
        arguments.push("--verify".to_owned());
    }
    arguments.extend(safety.as_arguments());
    arguments
}
