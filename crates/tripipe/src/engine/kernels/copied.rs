//! Operations on operands in the host's memory: on the CPU path in place, or on the device, with copies there and back.

use std::fmt;
use std::sync::Mutex;

use tripipe_kernels::Role;
use tripipe_launch::locks::lock;

use super::planned::Planned;
use super::trial::TrialTimes;
use crate::explanation::Time;
use crate::memory::Memory;
use crate::operation::{BoundOperand, Host, OperationSize, Run};
use crate::{Context, Error};

/// The number of operations up to which the first calls are left to the CPU path, about a second on one that does 10 G
/// of them a second. Larger operations wait for the device.
const MOST_OPERATIONS: f64 = (1_u64 << 33) as f64;

/// The runs of each that count before the faster one is used.
const RUNS: [usize; 2] = [1, 2];

/// The times of calls, on the CPU path and on the device. Nothing is computed twice: each call gives its result.
#[derive(Default)]
pub(super) struct CopyTimes(Mutex<[Option<TrialTimes>; 2]>);

/// What runs a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallRunner {
    Host,
    Device,
}

impl CopyTimes {
    /// Whether calls decide between the two.
    pub(super) fn is_tried(size: &OperationSize) -> bool {
        size.operations <= MOST_OPERATIONS
    }

    /// What runs the next call: the CPU path until it has a time, then the device until it has one, then the faster
    /// one.
    pub(super) fn next(&self) -> CallRunner {
        let [host, device] = *lock(&self.0);
        let missing = |tried: Option<TrialTimes>, runs| tried.is_none_or(|tried| tried.runs < runs);
        match (host, device) {
            _ if missing(host, RUNS[0]) => CallRunner::Host,
            _ if missing(device, RUNS[1]) => CallRunner::Device,
            (Some(host), Some(device)) if device.shortest < host.shortest => CallRunner::Device,
            _ => CallRunner::Host,
        }
    }

    /// Adds the time of a call. Those after the choice do not change it.
    pub(super) fn add(&self, runner: CallRunner, seconds: f64) {
        let mut times = lock(&self.0);
        let [host, device] = *times;
        let chosen = [(host, RUNS[0]), (device, RUNS[1])];
        if chosen.iter().all(|(tried, runs)| tried.is_some_and(|tried| tried.runs >= *runs)) {
            return;
        }
        match &mut times[runner as usize] {
            Some(tried) => tried.add(seconds),
            none => *none = Some(TrialTimes::begun(seconds)),
        }
    }
}

impl fmt::Display for CopyTimes {
    /// Nothing before the first call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let say = |tried: Option<TrialTimes>| match tried {
            None => "has not run".to_owned(),
            Some(TrialTimes { first, runs: 0, .. }) => format!("took {} the first time", Time(first)),
            Some(TrialTimes { shortest, runs, first }) => {
                let plural = if runs == 1 { "" } else { "s" };
                format!(
                    "takes {} (the shortest of {runs} call{plural} after a first of {})",
                    Time(shortest),
                    Time(first)
                )
            }
        };
        let [host, device] = *lock(&self.0);
        if host.is_none() && device.is_none() {
            return Ok(());
        }
        let next = if self.next() == CallRunner::Host { "the CPU path" } else { "the device" };
        write!(f, "the CPU path {}, the device with copies {}; next: {next}", say(host), say(device))
    }
}

/// Runs the plan on copies of `inputs`, and copies the result to `output`.
///
/// # Errors
/// No memory left; the device is gone.
pub(super) fn through_device(
    context: &Context,
    planned: &Planned,
    host: &Host,
    inputs: &[(Role, &[u8])],
    output: &mut [u8],
) -> Result<(), Error> {
    let OperationSize { result: (role, _), written, .. } = host.size;
    let copy = |bytes: &[u8]| Memory::new::<u8>(context, bytes.len(), Some(bytes));
    let copies: Vec<(Role, Memory)> =
        inputs.iter().map(|(role, bytes)| Ok((*role, copy(bytes)?))).collect::<Result<_, Error>>()?;
    // What is not written is copied back as it was.
    let result =
        if written == output.len() { Memory::uninitialised::<u8>(context, written)? } else { copy(output)? };
    let inputs: Vec<BoundOperand<'_>> =
        copies.iter().map(|(role, memory)| BoundOperand::new(*role, memory)).collect();
    let run =
        Run { operation: host.name, inputs: &inputs, result: BoundOperand::new(role, &result), written };
    planned.submit(&run)?.wait()?;
    result.read(0, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(copied: &CopyTimes, milliseconds: [u64; 2]) -> CallRunner {
        let runner = copied.next();
        copied.add(runner, milliseconds[runner as usize] as f64 * 1e-3);
        runner
    }

    /// Each call's milliseconds on the CPU path and on the device; the first on each is slow.
    fn chosen(first: [u64; 2], later: [u64; 2]) -> Vec<CallRunner> {
        let copied = CopyTimes::default();
        let mut began = [false; 2];
        (0..8)
            .map(|_| {
                let at = copied.next() as usize;
                let times = if std::mem::replace(&mut began[at], true) { later } else { first };
                run(&copied, times)
            })
            .collect()
    }

    #[test]
    fn calls_decide_with_their_copies() {
        use CallRunner::{Device, Host};
        let tried = [Host, Host, Device, Device, Device];
        assert_eq!(chosen([9, 9], [7, 8]), [&tried[..], &[Host; 3]].concat());
        assert_eq!(chosen([9, 9], [8, 7]), [&tried[..], &[Device; 3]].concat());
        // The driver compiles in the first call.
        assert_eq!(chosen([9, 3650], [8, 7]), [&tried[..], &[Device; 3]].concat());
    }

    #[test]
    fn what_was_measured_is_said() {
        let copied = CopyTimes::default();
        assert_eq!(copied.to_string(), "");
        run(&copied, [9, 0]);
        let said = copied.to_string();
        assert!(
            said.starts_with("the CPU path took 9.00 ms the first time, the device with copies has not run"),
            "{said}"
        );
        for times in [[7, 0], [0, 3650], [0, 8], [0, 9], [0, 0]] {
            run(&copied, times);
        }
        assert_eq!(
            copied.to_string(),
            "the CPU path takes 7.00 ms (the shortest of 1 call after a first of 9.00 ms), the device with copies takes \
             8.00 ms (the shortest of 2 calls after a first of 3.65 s); next: the CPU path"
        );
    }
}
