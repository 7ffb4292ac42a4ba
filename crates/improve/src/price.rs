//! The price of a kernel: its predicted time on GPUs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use tripipe_device::{Gpu, OpenCl};
use tripipe_launch::locks::lock;
use tripipe_launch::{ExecuteError, Executor as _, NdRange};
use tripipe_launch_file::{
    Contents, Entry, FileError, Files, Given, LaunchFile, Limits, Loaded, Memory, MemoryShape, NoFiles,
    Signature,
};
use tripipe_timing::{Limiter, Options, Prediction, VirtualGpu, VirtualOptions};

use crate::Subject;

/// A GPU that a kernel is improved for.
#[derive(Clone, Debug)]
pub struct Target {
    /// The GPU.
    pub gpu: &'static Gpu,
    /// What its driver offers to programs.
    pub offered: OpenCl,
}

/// The files that a launch refers to, for several threads.
pub trait OpenFiles: Sync {
    /// A reader of the files.
    fn open(&self) -> Box<dyn Files + '_>;
}

impl OpenFiles for NoFiles {
    fn open(&self) -> Box<dyn Files + '_> {
        Box::new(*self)
    }
}

/// The price of a kernel on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The predicted time.
    pub seconds: f64,
    /// The seconds that the host needs for the launch, which are not part of the time.
    pub launch_seconds: f64,
    /// The lowest and the highest time at which a measurement is expected, in seconds; `None` if that is not known.
    pub error_band: Option<[f64; 2]>,
    /// Registers of a work-item.
    pub registers: u32,
    /// Bytes of registers that a work-item spills.
    pub spill_bytes: u32,
    /// Words of the code, of all pipes: bundles, tuples or instructions. Each counts once, however often it runs.
    pub words: usize,
    /// What limits it.
    pub limiter: Limiter,
    /// The work-group size.
    pub local: [u64; 3],
    /// The share of the threads of all cores that are occupied, from 0 to 1.
    pub occupancy: f64,
}

/// The largest of the times as multiples of `before`.
pub(crate) fn worst(prices: &[Price], before: &[Price]) -> f64 {
    let ratios = prices.iter().zip(before).map(|(price, before)| price.seconds / before.seconds);
    ratios.fold(0.0, f64::max)
}

/// How much the mean of all targets counts beside the slowest: a gain of two on one of two targets counts as 5 %.
const OTHERS: f64 = 0.15;

/// How a kernel is judged: the largest of the times as multiples of `before`; if none is longer, also the geometric mean,
/// a little, so that what one target gains is not lost where the others stay as they are.
pub(crate) fn score(prices: &[Price], before: &[Price]) -> f64 {
    let worst = worst(prices, before);
    let logarithms = prices.iter().zip(before).map(|(price, before)| (price.seconds / before.seconds).ln());
    let mean = (logarithms.sum::<f64>() / prices.len().max(1) as f64).exp();
    if worst > 1.0 { worst } else { worst.powf(1.0 - OTHERS) * mean.powf(OTHERS) }
}

/// Why a kernel has no price on a GPU.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// The launch does not suit the kernel, or a file of it cannot be read.
    #[error(transparent)]
    Launch(#[from] FileError),
    /// It does not compile, or the GPU cannot run it.
    #[error(transparent)]
    Execute(Arc<ExecuteError>),
    /// The model returned nothing.
    #[error("no time was predicted")]
    NotPredicted,
}

impl From<ExecuteError> for PriceError {
    fn from(error: ExecuteError) -> Self {
        Self::Execute(Arc::new(error))
    }
}

/// Prices kernels, each once.
pub struct Pricing<'f> {
    targets: &'f [Target],
    files: &'f dyn OpenFiles,
    options: Options,
    limit_steps: u64,
    known: Mutex<HashMap<(String, NdRange), Vec<PricedArguments>>>,
}

/// Arguments, and the prices of a launch with them, one for each target.
type PricedArguments = (Vec<Entry>, Vec<Result<Price, PriceError>>);

impl<'f> Pricing<'f> {
    /// Prices for `targets`. A prediction plays at most `steps` steps of warps if that is given, else as many as
    /// [`Options::default`]; a work-group runs at most `limit_steps` instructions.
    pub fn new(
        targets: &'f [Target],
        files: &'f dyn OpenFiles,
        steps: Option<u64>,
        limit_steps: u64,
    ) -> Self {
        let options = Options { steps, ..Options::default() };
        Self { targets, files, options, limit_steps, known: Mutex::default() }
    }

    /// The targets.
    pub fn targets(&self) -> &'f [Target] {
        self.targets
    }

    /// The number of kernels that were priced.
    pub fn count(&self) -> usize {
        lock(&self.known).values().map(Vec::len).sum()
    }

    /// The prices of a kernel, one for each target.
    pub fn price(&self, subject: &Subject) -> Vec<Result<Price, PriceError>> {
        let key = (subject.source.clone(), subject.launch.range);
        let find = |known: &HashMap<_, Vec<PricedArguments>>| {
            let same = known.get(&key)?.iter().find(|(arguments, _)| *arguments == subject.launch.arguments);
            same.map(|(_, prices)| prices.clone())
        };
        if let Some(known) = find(&lock(&self.known)) {
            return known;
        }
        let prices: Vec<_> = self.targets.par_iter().map(|target| self.price_on(subject, target)).collect();
        let entry = (subject.launch.arguments.clone(), prices.clone());
        lock(&self.known).entry(key).or_default().push(entry);
        prices
    }

    fn price_on(&self, subject: &Subject, target: &Target) -> Result<Price, PriceError> {
        let mut device = VirtualGpu::new(
            target.gpu,
            VirtualOptions {
                prediction: self.options.clone(),
                time_only: true,
                limit_steps: Some(self.limit_steps),
                offered: Some(target.offered.clone()),
                ..VirtualOptions::default()
            },
        );
        let program = subject.program();
        let signature = Signature::of(device.kernel(&program, &subject.kernel)?);
        let compiled = device.compiled(&program, &subject.kernel)?;
        let spill_bytes = compiled.code.work.spill_bytes;
        let words = compiled.code.blocks.values().map(Vec::len).sum();
        let mut launch = subject.launch.clone();
        launch.forget_results();
        if !compiled.depends_on_memory {
            forget_contents(&mut launch);
        }
        let loaded = launch.load(&[signature], &mut *self.files.open(), Limits::default())?;
        let range = device.with_local(&program, &subject.kernel, loaded.range)?;
        let staged = Loaded { range, ..loaded }.stage(&mut device, program)?;
        device.run(std::slice::from_ref(&staged.launch))?;
        let prediction = device.predictions().first().ok_or(PriceError::NotPredicted)?;
        Ok(Price::new(prediction, spill_bytes, words))
    }
}

/// The least share of the predicted time at which a band begins that says something.
const LEAST: f64 = 0.01;

impl Price {
    fn new(prediction: &Prediction, spill_bytes: u32, words: usize) -> Self {
        Self {
            seconds: prediction.seconds,
            launch_seconds: prediction.launch_seconds,
            // A band down to 0 says only that too little of the launch was played.
            error_band: prediction.error_band.filter(|[low, _]| *low > LEAST * prediction.seconds),
            registers: prediction.registers,
            spill_bytes,
            words,
            limiter: prediction.limiter(),
            local: prediction.local,
            occupancy: prediction.occupancy,
        }
    }
}

/// Removes the contents of memory whose size does not follow from them: they cost time.
fn forget_contents(launch: &mut LaunchFile) {
    for entry in &mut launch.arguments {
        if let Given::Memory(Memory { shape, contents, .. }) = &mut entry.given {
            let sized = match shape {
                MemoryShape::Buffer { extents, .. } => extents.is_some(),
                MemoryShape::Image { extent, .. } => extent.is_some(),
            };
            if sized {
                *contents = Contents::Unwritten;
            }
        }
    }
}
