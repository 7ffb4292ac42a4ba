//! The time of a launch.

use std::sync::Arc;

use tripipe_device::Gpu;
use tripipe_launch::{ExecuteError, Launch};
use tripipe_simulate::Simulator;

use crate::activity::{self, Activity, Facts};
use crate::compiled::Compiled;
use crate::distinct::{DistinctBytes, distinct_bytes};
use crate::engine::Engine;
use crate::errors;
use crate::figures::Figures;
use crate::play::Mapping;
use crate::program::Program;
use crate::resident::Busy;
use crate::resource::Resource;
use crate::sample::{STEPS, SampledLaunch, Sampler};
use crate::shape::Shape;
use crate::traffic::Traffic;

/// Options of a prediction.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Plays every work-group.
    pub exact: bool,
    /// Steps of warps that are played instead of the usual number: fewer are faster and less accurate.
    pub steps: Option<u64>,
    /// Figures instead of those of the GPU.
    pub figures: Option<Figures>,
    /// Whether [`Prediction::activity`] is wanted.
    pub activity: bool,
    /// Whether [`Prediction::distinct`] is wanted.
    pub distinct: bool,
}

/// What limits a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limiter {
    /// A resource that is busy nearly all the time.
    Resource(Resource),
    /// No resource: warps wait for results, and there are too few of them to fill the time.
    Latency,
    /// The host's launch takes longer than the kernel.
    Launch,
}

/// The share of the time from which on a busy resource counts as the limit: a choice of words, not a figure of a GPU.
pub const BUSY: f64 = 0.8;

impl Prediction {
    /// What limits it: the busiest resource if it is busy for at least [`BUSY`] of the time.
    pub fn limiter(&self) -> Limiter {
        if self.launch_seconds > self.seconds { Limiter::Launch } else { self.kernel_limiter() }
    }

    /// What limits the kernel, however long the host needs for the launch.
    pub fn kernel_limiter(&self) -> Limiter {
        match self.busiest() {
            (resource, share) if share >= BUSY => Limiter::Resource(resource),
            _ => Limiter::Latency,
        }
    }

    /// The busiest resource, and its share of the time.
    pub fn busiest(&self) -> (Resource, f64) {
        let shares = Resource::ALL.into_iter().zip(self.shares);
        shares.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Resource::Arithmetic, 0.0))
    }

    /// A lower bound of [`Self::seconds`]: how long the busiest resource works. It takes no less without any waiting.
    pub fn least_seconds(&self) -> f64 {
        // A resource may still be busy when the last played work-item has ended.
        self.seconds * self.busiest().1.min(1.0)
    }
}

/// The predicted time of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Work-items in each dimension.
    pub global: [u64; 3],
    /// Work-items of a work-group.
    pub local: [u64; 3],
    /// Seconds from start to end, without the launch.
    pub seconds: f64,
    /// The lowest and the highest number of seconds at which a measurement is expected, given the errors of
    /// predictions for its family ([`errors`](crate::errors)) and [`Self::sampling_error`]; `None` if no figures of the
    /// family are published.
    pub error_band: Option<[f64; 2]>,
    /// The same as `seconds` in clocks of the GPU.
    pub cycles: f64,
    /// Seconds that the host needs for the launch.
    pub launch_seconds: f64,
    /// Seconds after which the kernel driver stops a launch; other drivers may wait longer.
    pub watchdog_seconds: f64,
    /// Registers of a work-item, in the GPU's own width.
    pub registers: u32,
    /// The most work-items of a work-group with the registers that the kernel would use, if the launch has more: it was
    /// predicted with fewer registers, or with the warps of a work-group one after another.
    pub modelled_limit: Option<u32>,
    /// Threads of a core that its registers allow.
    pub threads: u32,
    /// Mean share of a core's threads that were occupied.
    pub occupancy: f64,
    /// Relative uncertainty of the time from playing only a part; 0 if all was played.
    pub sampling_error: f64,
    /// What the played part kept busy, in the order of [`Resource::ALL`]: each as a share of its time.
    pub shares: [f64; Resource::ALL.len()],
    /// Work-groups of the launch, and those that were played.
    pub groups: u64,
    /// Work-groups that were played.
    pub played: u64,
    /// The numbers of the work-groups that were run for the prediction, in order, dimension 0 fastest: those played, and
    /// those whose work was estimated.
    pub ran: Arc<[u64]>,
    /// What the played work-groups transferred.
    pub traffic: Traffic,
    /// What happened, and when, if [`Options::activity`] asks for it.
    pub activity: Option<Arc<Activity>>,
    /// What the launch loads and stores, if [`Options::distinct`] asks for it.
    pub distinct: Option<DistinctBytes>,
}

/// Predicts the time of a launch on a GPU. `compiled` is the kernel of the simulator, which has to build
/// programs as drivers do.
///
/// # Errors
/// The launch cannot run.
pub fn predict(
    simulator: &mut Simulator,
    launch: &Launch,
    gpu: &Gpu,
    compiled: &Compiled,
    options: &Options,
) -> Result<Prediction, ExecuteError> {
    let figures = options.figures.clone().unwrap_or_else(|| Figures::of(gpu));
    simulator.trace(launch, |tracer| {
        let Compiled { code, threads, wave, .. } = compiled;
        let (threads, wave) = (*threads, *wave);
        let mapping = Mapping::new(gpu, &figures, tracer.images(), options.activity);
        let private_bytes = u64::from(code.work.spill_bytes) + tracer.private_bytes();
        let shape = Shape::new(gpu, wave, threads, tracer.local_bytes(), private_bytes);
        let groups: u64 = tracer.groups().iter().product();
        let program = Program::new(tracer.kernel(), code, gpu, &figures, &shape);
        let mut engine = Engine::new(gpu, &figures, &program, shape);
        if options.activity {
            engine.record(Facts::new(tracer.module(), tracer.kernel(), code, &program, gpu), mapping.width);
        }
        let steps = (!options.exact).then(|| options.steps.unwrap_or(STEPS));
        let SampledLaunch {
            clocks,
            error,
            groups: played,
            ticks,
            busy,
            resident,
            traffic,
            mut recorded,
            work,
            to_end,
        } = Sampler::new(tracer, &program, &mapping, engine).play(steps)?;
        let clock_hz = f64::from(gpu.configuration.clock_mhz.value.max(1)) * 1e6;
        let Busy { servers, load_store, texture, local, start, l2, port, translation, dram } = busy;
        let share = |busy: f64| busy / ticks.max(1.0);
        let shares = [
            servers[0],
            servers[1],
            servers[2],
            load_store,
            texture,
            local,
            start,
            port,
            l2,
            translation,
            dram,
        ]
        .map(share);
        let whole = activity::WholeLaunch {
            clocks,
            work,
            to_end,
            clock_hz,
            global: tracer.global(),
            local: tracer.local(),
            width: mapping.width,
            cores: shape.cores,
            engines: shape.engines,
        };
        // Parts of long work-groups may lack their ends. The counts come from a few work-groups that are seen whole.
        if let (Some(recorded), Some(_)) = (&mut recorded, work) {
            let mut engine = Engine::new(gpu, &figures, &program, shape);
            engine.record(recorded.recorder.facts.clone(), mapping.width);
            recorded.survey = activity::survey(tracer, &program, &mapping, engine)?.map(Box::new);
        }
        let activity = recorded.map(|recorded| Arc::new(recorded.activity(&whole)));
        // Before `distinct_bytes`, which runs other work-groups.
        let ran = tracer.ran().collect();
        let distinct = options.distinct.then(|| distinct_bytes(tracer)).transpose()?;
        let band = errors::of(gpu).map(|errors| errors.band(clocks / clock_hz));
        Ok(Prediction {
            global: tracer.global(),
            local: tracer.local(),
            seconds: clocks / clock_hz,
            // Both errors may point the same way, so they multiply.
            error_band: band.map(|band| errors::widened(band, error)),
            cycles: clocks,
            launch_seconds: figures.launch_us * 1e-6,
            watchdog_seconds: figures.watchdog_s,
            registers: code.work.used,
            modelled_limit: None,
            threads,
            occupancy: resident
                / ticks.max(1.0)
                / (f64::from(gpu.core.max_threads.value) * shape.cores as f64),
            sampling_error: error,
            shares,
            groups,
            played,
            ran,
            traffic,
            activity,
            distinct,
        })
    })
}
