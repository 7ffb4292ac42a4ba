//! Image filters: chains of stages, described in [`tripipe_kernels::filter`], on images of a context.
//!
//! ```
//! use tripipe::filter::{Border, Chain, Color, Linear, Stage};
//! use tripipe::{Context, Device, Image, Size};
//!
//! # fn main() -> Result<(), tripipe::Error> {
//! let context = Context::new(&Device::Cpu)?;
//! let photo = Image::from_slice(&context, Size::new(4, 3), 3, &[100u8; 36])?;
//! let laplacian_of_gaussian = vec![
//!     Stage::Color(Color::RgbToGray),
//!     Stage::Linear(Linear::gaussian(5, None)?),
//!     Stage::Linear(Linear::laplace8()),
//! ];
//! let edges = Chain::new(laplacian_of_gaussian, Border::Reflect101);
//! let edges: Image<u8> = photo.filtered(&edges)?;
//! assert_eq!(edges.to_vec()?, [0; 12]);
//! # Ok(())
//! # }
//! ```

mod first_use;

use std::sync::Arc;

use tripipe_kernels::Role;
pub use tripipe_kernels::filter::{
    AffineMap, Bilateral, Border, Chain, ChannelLayout, Color, FilterError, Fixed, Gradient, Interpolation,
    Linear, Morphology, Neighbourhood, PixelType, Rank, Raster, Semiplanar, Stage, Taps,
};
use tripipe_kernels::filter::{Axis, ChainChoice, Fuse, Loads, Parameters, Size, Sums, plan, runners_up};

#[cfg(feature = "cpu")]
use crate::cpu;
use crate::error::Fault;
use crate::explanation::{Arithmetic, Chosen, Prediction, RunnerUp};
#[cfg(feature = "cpu")]
use crate::image::spanned;
use crate::memory::Memory;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation::{BoundOperand, Host, Offset, Operation, OperationSize, RunOn};
use crate::operation_cache::{Described, Family, key};
use crate::{Context, Error, Event, Explanation, Image, ImageView, ImageViewMut, Pixel};

/// Size in bytes of a result that the CPU path computes in less time than waking another thread takes.
#[cfg(feature = "cpu")]
const SMALL_BYTES: usize = 16 << 10;

/// Operands that begin where the operation says.
const UNMOVED: [(Role, Offset); 2] =
    [(Role::Source, Offset { elements: 0, bytes: 0 }), (Role::Result, Offset { elements: 0, bytes: 0 })];

/// A chain of filters prepared for images of one shape.
pub struct Filter {
    shared: Arc<Chained>,
    from: Raster,
    to: Raster,
    /// How much later the source and the result begin than the operation says.
    offsets: [(Role, Offset); 2],
}

/// The shared part of filters that differ only in where their images begin.
pub(crate) struct Chained {
    chain: Chain,
    from: Raster,
    to: Raster,
    choice: Option<ChainChoice>,
    /// Whether the choice was measured on first use.
    measured_on_first_use: bool,
    operation: Operation,
}

impl Context {
    /// Prepares a chain for images with the layout `from` and results with the layout `to`: its kernels are chosen and
    /// built. The latest filters are cached, so another request for the same one costs nothing, nor does one for
    /// another region of the same size.
    ///
    /// # Errors
    /// The chain does not make such a result from such an image; a kernel does not build; the device is gone.
    pub fn filter(&self, chain: &Chain, from: &Raster, to: &Raster) -> Result<Arc<Filter>, Error> {
        let [mut near, mut near_to] = [*from, *to];
        let offsets = [(Role::Source, &mut near), (Role::Result, &mut near_to)]
            .map(|(role, near)| (role, Offset::split_from(&mut near.offset, near.element.bytes())));
        // Kernels use 32-bit indices.
        let counts =
            |raster: &Raster| raster.elements().is_ok_and(|elements| u32::try_from(elements).is_ok());
        if offsets != UNMOVED && counts(from) && counts(to) {
            let shared = self.chained(chain, &near, &near_to, RunOn::Fastest)?;
            if shared.operation.can_move(&offsets) {
                return Ok(Arc::new(Filter { shared, from: *from, to: *to, offsets }));
            }
        }
        let shared = self.chained(chain, from, to, RunOn::Fastest)?;
        Ok(Arc::new(Filter { shared, from: *from, to: *to, offsets: UNMOVED }))
    }

    /// A chain for images in the host's memory, as [`Self::filter_bytes`] runs it: nothing waits for its kernels. What
    /// [`Filter::explain`] says of it holds for such images.
    ///
    /// # Errors
    /// As [`Self::filter`].
    #[cfg(feature = "cpu")]
    pub fn filter_of_host(&self, chain: &Chain, from: &Raster, to: &Raster) -> Result<Arc<Filter>, Error> {
        let shared = self.chained(chain, from, to, self.run_on_copies())?;
        Ok(Arc::new(Filter { shared, from: *from, to: *to, offsets: UNMOVED }))
    }

    /// Runs a chain over an image in the host's memory, with the result there; bytes between its pixels are unchanged.
    /// Done when it returns.
    ///
    /// Where the CPU path may be used ([`crate::ContextBuilder::cpu_when_faster`]), it runs the first calls, while the
    /// kernels are built on another thread; the next calls are the device's, with copies there and back, and then the
    /// faster one of the two runs all others. [`Explanation::copied`] has the times. Chains that would take the CPU
    /// path about a second or more are the device's from the first call on.
    ///
    /// # Errors
    /// As [`Self::filter`]; slices that are too short.
    #[cfg(feature = "cpu")]
    pub fn filter_bytes(
        &self,
        chain: &Chain,
        from: &Raster,
        source: &[u8],
        to: &Raster,
        result: &mut [u8],
    ) -> Result<(), Error> {
        let (source, result) = spanned([from, to], source, result)?;
        chain.check(from, to)?;
        if to.is_empty() {
            return Ok(());
        }
        let filter = self.filter_of_host(chain, from, to)?;
        filter.shared.operation.run_copied(self, &[(Role::Source, source)], result)
    }

    fn chained(
        &self,
        chain: &Chain,
        from: &Raster,
        to: &Raster,
        run_on: RunOn,
    ) -> Result<Arc<Chained>, Error> {
        let cache = self.operation_cache();
        cache.get_or_make(
            key(&(from, to, chain.stages.len())),
            |known: &Chained| known.from == *from && known.to == *to && known.chain == *chain,
            || {
                // The layout of the rows makes no difference worth another trial.
                let size = |raster: &Raster| Raster { offset: 0, pitch: 0, plane_pitch: 0, ..*raster };
                let alike = |one: &Raster, other: &Raster| size(one) == size(other);
                let relative = cache.relative(|known: &Chained| {
                    alike(&known.from, from) && alike(&known.to, to) && known.chain == *chain
                });
                let tried = relative.filter(|_| run_on == RunOn::Fastest);
                let tried = tried.and_then(|known| known.operation.trial());
                Chained::new(self, chain, from, to, tried.map_or(run_on, RunOn::AsTried))
            },
        )
    }
}

impl Chained {
    fn new(
        context: &Context,
        chain: &Chain,
        from: &Raster,
        to: &Raster,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        chain.check(from, to)?;
        let (from, to) = (*from, *to);
        let table = context.table()?;
        let mut choice = context.probe().map(|probe| table.choose_chain(chain, &from, probe));
        let mut measured_on_first_use = false;
        let plan = |probe: &_| {
            let mut chosen = table.choose_chain(chain, &from, probe);
            if let Some(measured) = first_use::choose(context, chain, [&from, &to], &chosen) {
                measured_on_first_use = true;
                chosen = measured;
            }
            let plan = plan(chain, &from, &to, &chosen.parameters, probe)?;
            choice = Some(chosen);
            Ok(plan)
        };
        let bytes = |raster: &Raster| Ok::<_, Error>(raster.elements()? * raster.element.bytes());
        let (inputs, result) = (vec![(Role::Source, bytes(&from)?)], bytes(&to)?);
        let written = to.width * to.height * to.channels * to.element.bytes();
        let size = OperationSize {
            inputs,
            result: (Role::Result, result),
            written,
            operations: operations(chain, &from),
        };
        #[cfg(feature = "cpu")]
        let stages = chain.clone();
        let host = Host {
            name: "a filter",
            #[cfg(feature = "cpu")]
            work: Arc::new(move |inputs: &Inputs<'_>, output: &mut [u8], threads| {
                cpu::filter(&stages, &from, inputs.get(Role::Source)?, &to, output, threads)
            }),
            #[cfg(feature = "cpu")]
            small: result <= SMALL_BYTES,
            size,
        };
        let operation = Operation::new(context, plan, host, run_on)?;
        Ok(Self { chain: chain.clone(), from, to, choice, measured_on_first_use, operation })
    }
}

impl Described for Chained {
    fn family(&self) -> Family {
        Family::Filter
    }

    fn explain(&self) -> Explanation {
        let core = self.operation.core();
        let Raster { width, height, channels, element, .. } = self.from;
        let operation = format!("{} of {width}x{height}, {channels} x {element}", self.chain);
        let mut explanation = self.operation.explanation(operation);
        match &self.choice {
            Some(choice) if self.operation.runs_kernels() => {
                "window".clone_into(&mut explanation.kernel);
                explanation.choices = choices(&choice.parameters);
                explanation.why.clone_from(&choice.why);
                explanation.rests_on.clone_from(&choice.source);
                let from = if self.measured_on_first_use {
                    "as measured on first use"
                } else {
                    "times of the same stages over an image near this size"
                };
                let predicted = |seconds| Prediction { seconds, from: from.to_owned(), host_share: None };
                explanation.predicted = choice.estimated_seconds.map(predicted);
                if let Some(probe) = core.probe() {
                    let others = if choice.runners_up.is_empty() {
                        runners_up(&self.chain, &self.from, &self.to, &choice.parameters, probe)
                    } else {
                        choice.runners_up.clone()
                    };
                    let others = others
                        .into_iter()
                        .map(|(other, why_not)| RunnerUp { kernel: format!("window {other}"), why_not });
                    explanation.runners_up.extend(others);
                }
            }
            _ => {
                "rows in SIMD".clone_into(&mut explanation.kernel);
                "bands of rows, one per thread; each stage runs while its rows are in cache"
                    .clone_into(&mut explanation.why);
            }
        }
        if let Some(ChainChoice { parameters, .. }) = &self.choice {
            explanation.runners_up.extend(self.operation.runner_up(&format!("window {parameters}")));
        }
        let bytes = [&self.from, &self.to]
            .map(|raster| (raster.width * raster.height * raster.channels * raster.element.bytes()) as f64);
        let arithmetic = match element {
            PixelType::U8 | PixelType::I16 | PixelType::U16 => Arithmetic::I16,
            PixelType::F16 => Arithmetic::F16,
            PixelType::F32 => Arithmetic::F32,
        };
        self.operation.add_bound(&mut explanation, arithmetic, bytes.iter().sum());
        explanation
    }
}

impl Filter {
    /// A filter that the context does not cache.
    pub(crate) fn new(
        context: &Context,
        chain: &Chain,
        from: &Raster,
        to: &Raster,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        let shared = Arc::new(Chained::new(context, chain, from, to, run_on)?);
        Ok(Self { shared, from: *from, to: *to, offsets: UNMOVED })
    }

    /// Queues the chain over `source`, into `result`.
    ///
    /// # Errors
    /// Images whose layout is not the one the filter was made for, that live in another context, or that share memory;
    /// the device is gone.
    pub fn run<'i, S: Pixel, R: Pixel>(
        &self,
        source: impl Into<ImageView<'i, S>>,
        result: impl Into<ImageViewMut<'i, R>>,
    ) -> Result<Event, Error> {
        let (source, result) = (source.into(), result.into());
        for (operand, want, found) in
            [("the source", &self.from, source.raster()), ("the result", &self.to, result.raster())]
        {
            if want != found {
                return Err(Error::from(Fault::Raster { operand, rasters: Box::new([*want, *found]) }));
            }
        }
        if self.to.is_empty() {
            return Ok(Event::done());
        }
        self.run_over(source.memory(), result.memory())
    }

    /// Queues it over memory with the layout it was made for.
    pub(crate) fn run_over(&self, source: &Memory, result: &Memory) -> Result<Event, Error> {
        let [_, (_, offset)] = self.offsets;
        self.shared.operation.run(&[BoundOperand::moved(Role::Source, source, &self.offsets)], result, offset)
    }

    /// Runs it on the CPU path, on memory of the calling thread.
    #[cfg(feature = "cpu")]
    pub(crate) fn run_here(&self, source: &[u8], result: &mut [u8]) -> Result<(), Error> {
        self.shared.operation.run_here(&[(Role::Source, source)], result)
    }

    /// Whether it makes images with the layout `to` from images with the layout `from`.
    pub(crate) fn is_between(&self, from: &Raster, to: &Raster) -> bool {
        self.from == *from && self.to == *to
    }

    /// What it does, why, and how long it takes.
    pub fn explain(&self) -> Explanation {
        self.shared.explain()
    }
}

/// The number of multiplications and additions, or of comparisons, of the whole chain; separable windows count as two
/// passes.
fn operations(chain: &Chain, from: &Raster) -> f64 {
    let pixels = (from.width * from.height * from.channels) as f64;
    // Elements are compared in their own type, and two bytes fit in the space of one 16-bit element.
    let compared = if from.element == PixelType::U8 { 0.5 } else { 1.0 };
    let each = chain.stages.iter().map(|stage| match stage {
        Stage::Linear(linear) => {
            let Size { width, height } = linear.size();
            2.0 * if linear.real_factors(Axis::Across).is_some() { width + height } else { width * height }
                as f64
        }
        Stage::Gradient(_) => 24.0,
        // Comparators of the known networks, two operations each.
        Stage::Median { size: 3 } => 38.0 * compared,
        Stage::Median { .. } => 198.0 * compared,
        Stage::Morphology(morphology) => {
            let Size { width, height } = morphology.neighbourhood().size();
            (width + height) as f64 * compared
        }
        // Two for each pixel that enters or leaves the window: a histogram of bytes; others select.
        Stage::Rank(Rank { size, .. }) if from.element == PixelType::U8 => 8.0 * *size as f64,
        Stage::Rank(Rank { size, .. }) => 8.0 * (size * size) as f64,
        Stage::Bilateral(bilateral) => 6.0 * (bilateral.size * bilateral.size) as f64,
        Stage::Convert { .. } => 2.0,
        Stage::Color(_) => 6.0,
    });
    pixels * each.sum::<f64>()
}

/// The parameters of a filter's kernel as text.
fn choices(parameters: &Parameters) -> Vec<Chosen> {
    let Parameters { lanes, rows, loads, sums, work_group, fuse } = *parameters;
    let group = work_group.map_or("the driver's choice".to_owned(), |[x, y]| format!("{x}x{y}"));
    let loads = match loads {
        Loads::Direct => "a vector for each column of the window",
        Loads::Shared => "shared between neighbouring columns of the window",
        Loads::Aligned => "aligned vectors, shared between neighbouring columns of the window",
        Loads::Image => {
            "texels of an image over the buffer, shared between neighbouring columns of the window"
        }
    };
    let arithmetic = match sums {
        Sums::Wide => "32 bits",
        Sums::Narrow => "16 bits where the range of sums allows it",
        Sums::Paired => "two sums of 16 bits per register where their range allows it",
    };
    let passes = match fuse {
        Fuse::Nothing => "one for each stage",
        Fuse::Pixels => {
            "one for each window, fused with the single-pixel stages beside it where that pays off"
        }
        Fuse::Windows => "one for two windows, fused with the single-pixel stages beside them",
    };
    let chosen = |what, value: &str| Chosen { what, value: value.to_owned() };
    vec![
        chosen("work-item", &format!("{lanes} elements x {rows} rows")),
        chosen("loads", loads),
        chosen("arithmetic", arithmetic),
        chosen("passes", passes),
        chosen("work-group", &group),
    ]
}

impl<T: Pixel> Image<T> {
    /// A new image: the result of the chain on this one. Queued; the image can be used at once.
    ///
    /// # Errors
    /// The chain does not take this image or makes pixels of another type; no memory left; the device is gone.
    pub fn filtered<R: Pixel>(&self, chain: &Chain) -> Result<Image<R>, Error> {
        let to = chain.apply_to(self.raster())?;
        if to.element != R::PIXEL {
            return Err(Error::from(Fault::ChainElement { made: to.element, want: R::PIXEL }));
        }
        let mut result = Image::unwritten(self.context(), to)?;
        drop(self.context().filter(chain, self.raster(), &to)?.run(self, &mut result)?);
        Ok(result)
    }
}
