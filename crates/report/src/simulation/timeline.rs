//! Predicted launches as a timeline.

use std::collections::BTreeMap;

use tripipe_device::Gpu;
use tripipe_timing::activity::{Activity, Sample};
use tripipe_timing::{Prediction, Resource, errors};
use tripipe_trace::{
    Arguments, Command, CommandKind, Counter, CounterGroup, CounterSample, CounterUnit, GpuQueue,
    GpuTimeline, KernelLaunch, Process, Slice, Timeline, Track,
};

use super::limits::{exists, head, limiter, what};
use super::{Predicted, Simulated, Simulation};
use crate::number::percent;

/// Kernels on several GPUs, one process for each GPU, on which the kernels follow each other. Kernels that cannot run on a
/// GPU are left out there.
///
/// Where predictions have an [`Activity`], there is a track for each core with its work-groups, a track that tells which
/// parts of a launch were played, and counters.
pub fn timeline(simulations: &[Simulation<'_>]) -> Timeline {
    let mut gpus: Vec<OnGpu> = Vec::new();
    for simulation in simulations {
        for Simulated { gpu, outcome } in simulation.gpus {
            let Ok(predicted) = outcome else { continue };
            let known = gpus.iter().position(|known| known.gpu.name() == gpu.name());
            let place = known.unwrap_or_else(|| {
                gpus.push(OnGpu::new(gpu));
                gpus.len() - 1
            });
            gpus[place].add(simulation, predicted);
        }
    }
    let facts = Arguments::default().with("times", "predicted by a model, not measured");
    Timeline { facts, processes: gpus.into_iter().map(OnGpu::process).collect() }
}

/// The launches on a GPU.
struct OnGpu {
    gpu: &'static Gpu,
    /// The end of the last launch.
    now_ns: u64,
    host: Vec<Slice>,
    commands: Vec<Command>,
    parts: Vec<Slice>,
    /// The work-groups of each core.
    cores: BTreeMap<u32, Vec<Slice>>,
    counters: Vec<Counter>,
}

/// Nanoseconds of seconds that are not negative.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl OnGpu {
    fn new(gpu: &'static Gpu) -> Self {
        let counter = |name: &str, description: String, unit, group| Counter {
            name: format!("{name} (predicted)"),
            description,
            unit,
            group,
            samples: Vec::new(),
        };
        let busy = |resource| {
            let group = match resource {
                Resource::Port | Resource::L2 | Resource::Dram => CounterGroup::Memory,
                _ => CounterGroup::Compute,
            };
            let about = format!("Share of the time in which this is busy: {}", what(resource, gpu));
            counter(&format!("{} busy", head(resource, gpu)), about, CounterUnit::Percent, group)
        };
        let bytes = |name, about: &str| {
            counter(name, about.to_owned(), CounterUnit::BytesPerSecond, CounterGroup::Memory)
        };
        let threads = "Mean number of work-items on all cores".to_owned();
        let counters = Resource::ALL.map(busy).into_iter().chain([
            counter("Resident work-items", threads, CounterUnit::Count, CounterGroup::Compute),
            bytes("L2 bandwidth", "Bytes between the cores and the L2"),
            bytes("DRAM read bandwidth", "Bytes read from DRAM"),
            bytes("DRAM write bandwidth", "Bytes written to DRAM"),
        ]);
        Self {
            gpu,
            now_ns: 0,
            host: Vec::new(),
            commands: Vec::new(),
            parts: Vec::new(),
            cores: BTreeMap::new(),
            counters: counters.collect(),
        }
    }

    fn add(&mut self, simulation: &Simulation<'_>, predicted: &Predicted) {
        let Prediction { seconds, error_band, .. } = predicted.prediction;
        let prediction = &predicted.prediction;
        let launch_ns = nanoseconds(prediction.launch_seconds);
        let mut slice = Slice {
            name: format!("launch {} (predicted)", simulation.kernel),
            category: "launch".into(),
            start_ns: self.now_ns,
            duration_ns: launch_ns,
            arguments: Arguments::default(),
        };
        slice.arguments.push("program", simulation.program.to_owned());
        self.host.push(slice);
        let start_ns = self.now_ns + launch_ns;
        let launch = KernelLaunch {
            global: prediction.global,
            local: Some(prediction.local),
            registers: Some(prediction.registers.into()),
            spill_bytes: Some(predicted.spill_bytes.into()),
        };
        let micros = |seconds: f64| format!("{:.3} us", seconds * 1e6);
        let mut arguments = Arguments::default()
            .with("time (predicted)", micros(seconds))
            .with("limited by", limiter(prediction.limiter(), self.gpu))
            .with("clocks", prediction.cycles)
            .with("occupancy", percent(prediction.occupancy))
            .with("work-groups", prediction.groups)
            .with("work-groups played", prediction.played);
        if let Some([least, most]) = error_band {
            arguments.push("error band", format!("{} to {}", micros(least), micros(most)));
        }
        if simulation.guessed {
            arguments.push("memory", "guessed: arguments that were not given, and sizes of buffers");
        }
        let activity = prediction.activity.as_deref();
        if let Some(left_out) = activity.map(|activity| activity.spans_left_out).filter(|count| *count > 0) {
            arguments.push("work-groups played, not shown on cores", left_out);
        }
        self.commands.push(Command {
            name: format!("{} (predicted)", simulation.kernel),
            kind: CommandKind::Kernel(launch),
            start_ns,
            duration_ns: nanoseconds(seconds),
            arguments,
        });
        self.now_ns = start_ns + nanoseconds(seconds);
        if let Some(activity) = activity {
            self.add_parts(activity, start_ns);
            self.add_groups(activity, start_ns);
            for sample in &activity.samples {
                self.add_sample(sample, start_ns);
            }
        }
    }

    /// Which parts of a launch were played, and the gaps between them.
    fn add_parts(&mut self, activity: &Activity, start_ns: u64) {
        let mut part = |name: String, start: u64, end: u64, arguments: Arguments| {
            if start < end {
                let category = "played".into();
                self.parts.push(Slice {
                    name,
                    category,
                    start_ns: start,
                    duration_ns: end - start,
                    arguments,
                });
            }
        };
        let mut last = start_ns;
        let end_ns = self.now_ns;
        let gap = || {
            Arguments::default()
                .with("why", "work-groups like those before and after; their time is an estimate from these")
        };
        for window in &activity.windows {
            // Rounding to nanoseconds must not make parts overlap.
            let start = (start_ns + nanoseconds(window.start)).clamp(last, end_ns);
            let end = (start_ns + nanoseconds(window.end)).clamp(start, end_ns);
            part("not played".to_owned(), last, start, gap());
            let first = Arguments::default().with("first work-group", window.first_group);
            part("played".to_owned(), start, end, first);
            last = end;
        }
        part("not played".to_owned(), last, end_ns, gap());
    }

    /// The work-groups of each core.
    fn add_groups(&mut self, activity: &Activity, start_ns: u64) {
        for span in &activity.spans {
            let [start, end] = [span.start, span.end].map(|time| start_ns + nanoseconds(time));
            let mut arguments = Arguments::default().with("slot", span.slot);
            if !span.ended {
                arguments.push("end", "not played: the part ends here");
            }
            self.cores.entry(span.core).or_default().push(Slice {
                name: format!("work-group {}", span.group),
                category: "work-group".into(),
                start_ns: start,
                duration_ns: end.saturating_sub(start),
                arguments,
            });
        }
    }

    fn add_sample(&mut self, sample: &Sample, start_ns: u64) {
        let per_second = |bytes: f64| bytes / sample.seconds.max(f64::MIN_POSITIVE);
        let values = sample.shares.map(|share| 100.0 * share).into_iter().chain([
            sample.threads,
            per_second(sample.l2_bytes),
            per_second(sample.dram_read_bytes),
            per_second(sample.dram_written_bytes),
        ]);
        let start = start_ns + nanoseconds(sample.start);
        let end = start_ns + nanoseconds(sample.start + sample.seconds);
        for (counter, value) in self.counters.iter_mut().zip(values) {
            counter.samples.push(CounterSample { start_ns: start, end_ns: end, value });
        }
    }

    fn process(self) -> Process {
        let Self { gpu, host, commands, parts, cores, counters, .. } = self;
        let errors = errors::of(gpu);
        let known = match errors {
            Some(errors) => format!(
                "errors against {} published figures of {} GPUs: {:+.0}% to {:+.0}%",
                errors.count,
                errors::family_name(gpu),
                100.0 * errors.lowest,
                100.0 * errors.highest
            ),
            None => super::not_compared(gpu),
        };
        let labels = vec!["times are predicted by a model".to_owned(), known];
        let mut tracks = vec![Track { name: "host (predicted)".to_owned(), slices: host }];
        if !parts.is_empty() {
            tracks.push(Track { name: "played parts".to_owned(), slices: parts });
        }
        tracks.extend(
            cores
                .into_iter()
                .map(|(core, slices)| Track { name: format!("core {core} (predicted)"), slices }),
        );
        // The first counters are those of resources.
        let has = |index: usize| Resource::ALL.get(index).is_none_or(|resource| exists(*resource, gpu));
        let counters = counters.into_iter().enumerate();
        let counters = counters
            .filter(|(index, counter)| has(*index) && !counter.samples.is_empty())
            .map(|(_, counter)| counter);
        let queue = GpuQueue { name: "compute queue (predicted)".to_owned(), commands };
        let gpu_timeline = GpuTimeline { queues: vec![queue], counters: counters.collect() };
        let name = format!("{} (predicted)", gpu.name());
        Process { name, labels, tracks, gpu: Some(gpu_timeline), ..Process::default() }
    }
}
