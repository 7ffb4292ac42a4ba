//! Several launches whose kernels were fused and rewritten, as one ladder.

use tripipe_improve::{Price, Target, Verified};
use tripipe_results::{Improved, ImprovementStep};

use super::{result::priced, unified};
use crate::number::time;

/// The time of a launch among several.
#[derive(Clone, Debug)]
pub struct LaunchPrice {
    /// Its kernel.
    pub kernel: String,
    /// Its work-items.
    pub global: [u64; 3],
    /// How often it runs.
    pub repeat: usize,
    /// The price of one run on each GPU.
    pub prices: Vec<Price>,
}

/// A ladder of several launches: each step's time is that of all of them.
#[derive(Debug)]
pub struct LaunchLadder<'t> {
    targets: &'t [Target],
    launches: Vec<LaunchPrice>,
    improved: Improved,
}

impl<'t> LaunchLadder<'t> {
    /// The launches as written; `program` is the source's name.
    pub fn new(program: &str, source: &str, targets: &'t [Target], launches: Vec<LaunchPrice>) -> Self {
        let mut kernels: Vec<&str> = launches.iter().map(|launch| launch.kernel.as_str()).collect();
        kernels.dedup();
        let improved = Improved {
            version: Improved::VERSION,
            kernel: kernels.join(", "),
            program: program.to_owned(),
            gpus: targets.iter().map(|target| target.gpu.name().to_owned()).collect(),
            global: launches.first().map_or([1; 3], |launch| launch.global),
            launches: launches.iter().map(|launch| launch.repeat as u64).sum(),
            steps: Vec::new(),
            speedup: 1.0,
            conditions: Vec::new(),
            host: Vec::new(),
            refused: Vec::new(),
            tried: 0,
            out_of_time: false,
            is_rough: false,
            notes: vec![
                "Times are those of all launches, each the longer of its kernel and of the host's part. Registers, words, limit \
                 and work-group are those of the kernel that the step changes, at first of the longest."
                    .to_owned(),
            ],
            original: source.to_owned(),
            source: source.to_owned(),
            diff: String::new(),
            launch: None,
        };
        let mut ladder = Self { targets, launches, improved };
        let longest = ladder.longest();
        if let Some(prices) = longest {
            let first = ladder.steps("original", &prices);
            ladder.improved.steps = first;
        }
        ladder
    }

    /// The launches as they are now.
    pub fn launches(&self) -> &[LaunchPrice] {
        &self.launches
    }

    /// Seconds of all launches, on each GPU.
    pub fn seconds(&self) -> Vec<f64> {
        (0..self.targets.len()).map(|at| self.total(at).0).collect()
    }

    /// Seconds of the launches of a kernel, as a share of all; the largest on any GPU.
    pub fn share(&self, kernel: &str) -> f64 {
        let of = |at: usize| {
            let own = self.launches.iter().filter(|launch| launch.kernel == kernel);
            own.map(|launch| launch.repeat as f64 * taken(&launch.prices[at])).sum::<f64>()
                / self.total(at).0.max(f64::MIN_POSITIVE)
        };
        (0..self.targets.len()).map(of).fold(0.0, f64::max)
    }

    fn longest(&self) -> Option<Vec<Price>> {
        let of = |launch: &&LaunchPrice| {
            launch.prices.first().map_or(0.0, |price| launch.repeat as f64 * price.seconds)
        };
        self.launches.iter().max_by(|a, b| of(a).total_cmp(&of(b))).map(|launch| launch.prices.clone())
    }

    /// Seconds of all launches on a GPU, and what is expected of them.
    fn total(&self, at: usize) -> (f64, Option<[f64; 2]>) {
        let (mut seconds, mut band) = (0.0, Some([0.0; 2]));
        for LaunchPrice { repeat, prices, .. } in &self.launches {
            let (price, repeat) = (&prices[at], *repeat as f64);
            seconds += repeat * taken(price);
            band = band
                .zip(price.error_band)
                .map(|(sum, own)| [0, 1].map(|end| sum[end] + repeat * own[end].max(price.launch_seconds)));
        }
        // The host's part has no band.
        (seconds, band.filter(|[low, high]| high > low))
    }

    /// The steps on all GPUs with the times of all launches.
    fn steps(&self, code: &str, prices: &[Price]) -> Vec<ImprovementStep> {
        let targets = self.targets.iter().zip(prices).enumerate();
        let step = |(at, (target, price)): (usize, (&Target, &Price))| {
            let (seconds, error_band) = self.total(at);
            let first = self.improved.steps.iter().find(|step| step.gpu == target.gpu.name());
            let speedup = first.map_or(1.0, |first| first.seconds / seconds);
            ImprovementStep { seconds, error_band, speedup, ..priced(code, target, price, price) }
        };
        targets.map(step).collect()
    }

    fn push(&mut self, step: &ImprovementStep, prices: &[Price]) {
        for own in self.steps(&step.name, prices) {
            let place = ImprovementStep {
                name: own.name,
                gpu: own.gpu,
                seconds: own.seconds,
                error_band: own.error_band,
                speedup: own.speedup,
                registers: own.registers,
                spill_bytes: own.spill_bytes,
                words: own.words,
                limiter: own.limiter,
                local: own.local,
                ..step.clone()
            };
            self.improved.steps.push(place);
        }
    }

    /// Two launches became one with these arguments: the first of them is launch number `at`.
    pub fn fuse(
        &mut self,
        at: usize,
        (fused, arguments): (LaunchPrice, &[String]),
        why: String,
        verified: &Verified,
        conditions: &[String],
    ) {
        let names: Vec<String> =
            self.launches[at..].iter().take(2).map(|launch| format!("`{}`", launch.kernel)).collect();
        let prices = fused.prices.clone();
        let title = format!("{} in one launch", names.join(" and "));
        self.improved.conditions.extend(conditions.iter().map(|said| format!("{title}: {said}")));
        self.improved.host.push(format!(
            "launch `{}({})` instead of {}",
            fused.kernel,
            arguments.join(", "),
            names.join(" and then ")
        ));
        self.launches.splice(at..at + 2, [fused]);
        let Some(target) = self.targets.first() else { return };
        let step = ImprovementStep {
            title,
            why,
            launches: verified.launches as u64,
            values: verified.values,
            given_launch: verified.whole,
            ..priced("fuse-launches", target, &prices[0], &prices[0])
        };
        self.push(&step, &prices);
    }

    /// A kernel was rewritten; `steps` are the prices of its first launch after each step, and what each step is.
    pub fn improve(&mut self, improved: Improved, steps: &[Vec<Price>]) {
        let kernel = improved.kernel.clone();
        let Some(gpu) = improved.gpus.first().cloned() else { return };
        let said: Vec<ImprovementStep> = improved.steps_on(&gpu).skip(1).cloned().collect();
        for (step, prices) in said.iter().zip(steps) {
            let before =
                self.launches.iter().find(|launch| launch.kernel == kernel).map(|it| it.prices.clone());
            for launch in self.launches.iter_mut().filter(|launch| launch.kernel == kernel) {
                for (at, own) in launch.prices.iter_mut().enumerate() {
                    // Other launches of the kernel become as much faster as the first one.
                    let ratio = before.as_ref().map_or(1.0, |before| prices[at].seconds / before[at].seconds);
                    own.seconds *= ratio;
                    own.error_band = own.error_band.map(|band| band.map(|end| end * ratio));
                }
            }
            let title = format!("`{kernel}`: {}", step.title);
            self.push(&ImprovementStep { title, ..step.clone() }, prices);
        }
        let of = |said: String| format!("`{kernel}`: {said}");
        self.improved.conditions.extend(improved.conditions.into_iter().map(of));
        self.improved.host.extend(improved.host.into_iter().map(of));
        self.improved.refused.extend(
            improved
                .refused
                .into_iter()
                .map(|refused| tripipe_results::RefusedRewrite { title: of(refused.title), ..refused }),
        );
        self.improved.tried += improved.tried;
        self.improved.out_of_time |= improved.out_of_time;
        self.improved.is_rough |= improved.is_rough;
    }

    /// Something else that is to be said, in a sentence.
    pub fn note(&mut self, said: String) {
        self.improved.notes.push(said);
    }

    /// Says on which GPUs the host's part is most of the time at last.
    fn note_launches(&mut self) {
        for (at, target) in self.targets.iter().enumerate() {
            let own = self
                .launches
                .iter()
                .filter(|launch| launch.prices[at].launch_seconds > launch.prices[at].seconds);
            let host: f64 = own.map(|launch| launch.repeat as f64 * launch.prices[at].launch_seconds).sum();
            if 2.0 * host > self.total(at).0 {
                self.improved.notes.push(format!(
                    "On a {} the host's launches take {} of the {} at last: what the kernels gain hardly matters there. Do more in \
                     one launch, or fewer launches.",
                    target.gpu.name(),
                    time(host),
                    time(self.total(at).0)
                ));
            }
        }
    }

    /// The result with the last source, and its launch file if that has changed.
    pub fn finish(mut self, source: String, launch: Option<String>) -> Improved {
        self.note_launches();
        let Self { mut improved, .. } = self;
        let last = improved.steps.len().saturating_sub(improved.gpus.len());
        improved.speedup =
            improved.steps[last..].iter().map(|step| step.speedup).fold(f64::INFINITY, f64::min);
        improved.diff = unified(&improved.program, &improved.original, &source);
        Improved { source, launch, ..improved }
    }
}

/// Seconds of a launch among several: the host prepares the next one while the GPU works, so the longer of both counts.
pub fn taken(price: &Price) -> f64 {
    price.seconds.max(price.launch_seconds)
}
