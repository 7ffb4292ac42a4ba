//! Recording of predicted launches, while the process records what it runs ([`tripipe_trace`]).

use tripipe_trace::{Arguments, Command, CommandKind, KernelLaunch, QueueId, Recorder};

use crate::predict::Prediction;

/// Where a virtual GPU records its launches.
///
/// Predicted times are not the host's. A launch is placed where the host began to predict it, or after the launch before
/// it, so only its length has a meaning.
#[derive(Clone, Copy)]
pub(crate) struct Tape {
    recorder: &'static Recorder,
    queue: QueueId,
    /// The end of the last launch.
    last_ns: u64,
}

impl Tape {
    /// A tape for a virtual GPU; `None` if nothing is recorded.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let recorder = tripipe_trace::recorder()?;
        let labels = || {
            vec!["lengths of launches are predicted; the gaps between them are the host's work".to_owned()]
        };
        let gpu = recorder.gpu(name, 0, labels);
        Some(Self { recorder, queue: recorder.queue(gpu, "compute queue (predicted)"), last_ns: 0 })
    }

    /// A launch begins.
    pub(crate) fn begin(self) -> u64 {
        self.recorder.now_ns()
    }

    /// Records a launch.
    pub(crate) fn record(&mut self, entry: &str, begin_ns: u64, prediction: &Prediction) {
        // A queue runs one launch after another, although the host may predict the next before this one would end.
        let start_ns = begin_ns.max(self.last_ns);
        let duration_ns = (prediction.seconds * 1e9) as u64;
        self.last_ns = start_ns.saturating_add(duration_ns);
        let launch = KernelLaunch {
            global: prediction.global,
            local: Some(prediction.local),
            registers: Some(prediction.registers.into()),
            spill_bytes: None,
        };
        let micros = |seconds: f64| format!("{:.3} us", seconds * 1e6);
        let mut arguments = Arguments::default();
        if let Some([least, most]) = prediction.error_band {
            arguments.push("error band", format!("{} to {}", micros(least), micros(most)));
        }
        self.recorder.executed(
            self.queue,
            Command {
                name: format!("{entry} (predicted)"),
                kind: CommandKind::Kernel(launch),
                start_ns,
                duration_ns,
                arguments: arguments
                    .with("launch by the host", micros(prediction.launch_seconds))
                    .with("occupancy", format!("{:.0}%", 100.0 * prediction.occupancy)),
            },
        );
    }
}
