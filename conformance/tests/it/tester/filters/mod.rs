//! Chains of filters.

mod draw;
mod reference;
mod weights;

use tripipe::filter::{self, Chain, FilterError, Linear, Neighbourhood, Stage};
use tripipe::{Context, Error, Image, Size, Vector};

use super::numbers::{Fill, Kind, Numbers};
use super::rasters::{self, RasterLayout, Shape, element, image, smaller_sizes, with_pixel};
use super::verdict::Expected;
pub use draw::numbers;
pub use weights::Weights;

/// A chain applied to an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub steps: Vec<Step>,
    pub border: Border,
    pub keep_alpha: bool,
    pub size: [usize; 2],
    pub channels: usize,
    pub kind: Kind,
    pub from: RasterLayout,
    pub to: RasterLayout,
    pub fill: Fill,
    /// Whether the result is a new image.
    pub to_new: bool,
    pub fault: Option<Fault>,
}

/// The pixels outside the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Border {
    None,
    Constant(f32),
    Replicate,
    Reflect,
    Reflect101,
    Wrap,
}

/// One step of a chain.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Integer weights.
    Linear {
        weights: Weights,
        divisor: u32,
        offset: i32,
        to: Option<Kind>,
    },
    /// Real weights, multiplied by `scale`.
    Real {
        weights: Weights,
        scale: f32,
        offset: i32,
        to: Option<Kind>,
    },
    Gaussian {
        size: usize,
        sigma: Option<f32>,
    },
    Unsharp {
        size: usize,
        sigma: Option<f32>,
        amount: f32,
    },
    Mean([usize; 2]),
    Laplace4,
    Laplace8,
    LaplaceSharpen,
    Sharpen,
    Derivative {
        scharr: bool,
        down: bool,
    },
    Gradient {
        scharr: bool,
    },
    Median(usize),
    Extreme {
        dilate: bool,
        cross: bool,
        size: [usize; 2],
    },
    Bilateral {
        size: usize,
        color: f32,
        space: f32,
    },
    Convert {
        to: Kind,
        scale: f32,
        offset: f32,
    },
    Color(Color),
}

/// A conversion of channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Color {
    RgbToGray,
    BgrToGray,
    GrayToRgb,
    SwapRedBlue,
    DropAlpha,
    AddAlpha,
    RgbToYuv,
    YuvToRgb,
    RgbToYcrcb,
    YcrcbToRgb,
}

impl Color {
    const ALL: [Self; 10] = [
        Self::RgbToGray,
        Self::BgrToGray,
        Self::GrayToRgb,
        Self::SwapRedBlue,
        Self::DropAlpha,
        Self::AddAlpha,
        Self::RgbToYuv,
        Self::YuvToRgb,
        Self::RgbToYcrcb,
        Self::YcrcbToRgb,
    ];

    /// The number of output channels for a number of input channels.
    pub fn channels(self, from: usize) -> Option<usize> {
        Some(match (self, from) {
            (Self::RgbToGray | Self::BgrToGray, 3 | 4) => 1,
            (Self::GrayToRgb, 1)
            | (Self::DropAlpha, 4)
            | (Self::RgbToYuv | Self::YuvToRgb | Self::RgbToYcrcb | Self::YcrcbToRgb, 3) => 3,
            (Self::SwapRedBlue, 3 | 4) => from,
            (Self::AddAlpha, 3) => 4,
            _ => return None,
        })
    }
}

/// An error in a description, which must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Rows that overlap.
    Pitch,
    /// Planes that overlap.
    Planes,
    /// A result with another width.
    Width,
    /// A result with other channels.
    Channels,
    /// Source and result in the same memory.
    InPlace,
    /// A buffer that ends too early.
    Short,
    /// A colour conversion that does not support this number of channels.
    Color,
    /// A window with an even extent, or one above 31.
    Window(usize),
    /// A sigma that is 0, negative, or NaN.
    Sigma(f32),
    /// A divisor of 0.
    Divisor,
    /// A scale that is not finite.
    Scale(f32),
    /// An empty chain.
    Nothing,
}

impl Step {
    /// Channels and type of the output; `None` if the step does not support the input's channels.
    pub fn output(&self, channels: usize, kind: Kind) -> Option<(usize, Kind)> {
        Some(match self {
            Self::Linear { to: Some(to), .. }
            | Self::Real { to: Some(to), .. }
            | Self::Convert { to, .. } => (channels, *to),
            Self::Color(color) => (color.channels(channels)?, kind),
            _ => (channels, kind),
        })
    }

    /// The step as the library's description.
    fn stage(&self) -> Result<Stage, FilterError> {
        let to_type = |linear: Linear, offset: i32, to: Option<Kind>| {
            let linear = linear.with_offset(offset);
            to.map_or(linear.clone(), |to| linear.to(element(to)))
        };
        Ok(match self {
            Self::Linear { weights, divisor, offset, to } => {
                let linear = match weights.factors() {
                    Some([across, down]) => Linear::separable(across, down, *divisor)?,
                    None => Linear::full(rasters::size(weights.size), weights.full(), *divisor)?,
                };
                Stage::Linear(to_type(linear, *offset, *to))
            }
            Self::Real { weights, scale, offset, to } => {
                let linear = match weights.real(*scale) {
                    (Some([across, down]), _) => Linear::separable_real(across, down)?,
                    (None, all) => Linear::full_real(rasters::size(weights.size), all)?,
                };
                Stage::Linear(to_type(linear, *offset, *to))
            }
            Self::Gaussian { size, sigma } => Stage::Linear(Linear::gaussian(*size, *sigma)?),
            Self::Unsharp { size, sigma, amount } => Stage::Linear(Linear::unsharp(*size, *sigma, *amount)?),
            Self::Mean(size) => Stage::Linear(Linear::mean(rasters::size(*size))?),
            Self::Laplace4 => Stage::Linear(Linear::laplace4()),
            Self::Laplace8 => Stage::Linear(Linear::laplace8()),
            Self::LaplaceSharpen => Stage::Linear(Linear::laplace_sharpen()),
            Self::Sharpen => Stage::Linear(Linear::sharpen()),
            Self::Derivative { scharr, down } => Stage::Linear(match (scharr, down) {
                (false, false) => Linear::sobel_x(),
                (false, true) => Linear::sobel_y(),
                (true, false) => Linear::scharr_x(),
                (true, true) => Linear::scharr_y(),
            }),
            Self::Gradient { scharr: false } => Stage::Gradient(filter::Gradient::Sobel),
            Self::Gradient { scharr: true } => Stage::Gradient(filter::Gradient::Scharr),
            Self::Median(size) => {
                Stage::ranked(*size, size * size / 2).unwrap_or(Stage::Median { size: *size })
            }
            Self::Extreme { dilate, cross, size } => {
                let seen = if *cross { Neighbourhood::Cross } else { Neighbourhood::Rectangle }(
                    rasters::size(*size),
                );
                Stage::Morphology(if *dilate {
                    filter::Morphology::Dilate(seen)
                } else {
                    filter::Morphology::Erode(seen)
                })
            }
            Self::Bilateral { size, color, space } => {
                Stage::Bilateral(filter::Bilateral { size: *size, sigma_color: *color, sigma_space: *space })
            }
            Self::Convert { to, scale, offset } => {
                Stage::Convert { to: element(*to), scale: *scale, offset: *offset }
            }
            Self::Color(color) => Stage::Color(match color {
                Color::RgbToGray => filter::Color::RgbToGray,
                Color::BgrToGray => filter::Color::BgrToGray,
                Color::GrayToRgb => filter::Color::GrayToRgb,
                Color::SwapRedBlue => filter::Color::SwapRedBlue,
                Color::DropAlpha => filter::Color::DropAlpha,
                Color::AddAlpha => filter::Color::AddAlpha,
                Color::RgbToYuv => filter::Color::RgbToYuv,
                Color::YuvToRgb => filter::Color::YuvToRgb,
                Color::RgbToYcrcb => filter::Color::RgbToYcrcb,
                Color::YcrcbToRgb => filter::Color::YcrcbToRgb,
            }),
        })
    }

    fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Linear { weights, divisor, offset, to } => {
                let other = |weights, divisor, offset, to| Self::Linear { weights, divisor, offset, to };
                let mut found: Vec<Self> = weights
                    .smaller()
                    .into_iter()
                    .map(|weights| other(weights, *divisor, *offset, *to))
                    .collect();
                found.push(other(*weights, 1, *offset, *to));
                found.push(other(*weights, *divisor, 0, *to));
                found.push(other(*weights, *divisor, *offset, None));
                found
            }
            Self::Real { weights, scale, offset, to } => {
                let other = |weights, scale, offset, to| Self::Real { weights, scale, offset, to };
                let mut found: Vec<Self> = weights
                    .smaller()
                    .into_iter()
                    .map(|weights| other(weights, *scale, *offset, *to))
                    .collect();
                found.push(other(*weights, 1.0, *offset, *to));
                found.push(other(*weights, *scale, 0, *to));
                found.push(other(*weights, *scale, *offset, None));
                found
            }
            Self::Gaussian { size, sigma } => [1, 3, 5]
                .into_iter()
                .filter(|smaller| smaller < size)
                .map(|size| Self::Gaussian { size, sigma: *sigma })
                .collect(),
            Self::Mean([x, y]) => vec![Self::Mean([1, *y]), Self::Mean([*x, 1]), Self::Mean([3, 3])],
            Self::Extreme { dilate, cross, size: [x, y] } => [[1, *y], [*x, 1], [3, 3]]
                .into_iter()
                .map(|size| Self::Extreme { dilate: *dilate, cross: *cross, size })
                .collect(),
            Self::Convert { to, .. } => vec![Self::Convert { to: *to, scale: 1.0, offset: 0.0 }],
            _ => Vec::new(),
        }
    }

    /// Whether integer sums are not exact: real weights of 16-bit pixels.
    fn sums_in_float(&self, kind: Kind) -> bool {
        let real = match self {
            Self::Real { .. } | Self::Unsharp { .. } => true,
            Self::Gaussian { size, sigma } => sigma.is_some() || *size > 7,
            _ => false,
        };
        real && matches!(kind, Kind::I16 | Kind::U16)
    }

    /// The number of pixels that are read for one result.
    fn window(&self) -> usize {
        match self {
            Self::Linear { weights, .. } | Self::Real { weights, .. } => weights.size[0] * weights.size[1],
            Self::Gaussian { size, .. } | Self::Unsharp { size, .. } | Self::Median(size) => size * size,
            Self::Bilateral { size, .. } => 4 * size * size,
            Self::Mean([x, y]) | Self::Extreme { size: [x, y], .. } => x * y,
            _ => 9,
        }
    }
}

impl Filter {
    /// Width, height, channels and type of the result.
    pub fn made(&self) -> (Shape, Kind) {
        let start = (self.channels, self.kind);
        let (channels, kind) =
            self.steps.iter().fold(start, |made, step| step.output(made.0, made.1).unwrap_or(made));
        ([self.size[0], self.size[1], channels], kind)
    }

    pub fn shape(&self) -> Shape {
        [self.size[0], self.size[1], self.channels]
    }

    /// The number of pixels times the pixels read for each.
    pub fn work(&self) -> f64 {
        let seen: usize = self.steps.iter().map(Step::window).sum();
        (self.size[0] * self.size[1] * self.channels * (seen + 8)) as f64
    }

    pub fn place(&self, index: usize) -> String {
        self.to.name(self.made().0, index)
    }

    /// The expected result.
    pub fn expected(&self) -> Expected {
        if self.fault.is_some() { Expected::Refused } else { reference::expected(self) }
    }

    /// The contents of the source.
    pub fn source(&self) -> Vec<u8> {
        self.fill.bytes(self.kind, self.from.elements(self.shape()))
    }

    /// The contents of the result's buffer before the run.
    pub fn before(&self) -> Vec<u8> {
        let (shape, kind) = self.made();
        let fill = Fill { numbers: Numbers::Small, seed: 99 };
        fill.bytes(kind, self.to.elements(shape))
    }

    /// Simpler filters.
    pub fn smaller(&self) -> Vec<Self> {
        let mut found = Vec::new();
        for step in 0..self.steps.len() {
            let mut steps = self.steps.clone();
            steps.remove(step);
            found.push(Self { steps, ..self.clone() });
        }
        for (index, step) in self.steps.iter().enumerate() {
            found.extend(step.smaller().into_iter().map(|smaller| {
                let mut steps = self.steps.clone();
                steps[index] = smaller;
                Self { steps, ..self.clone() }
            }));
        }
        found.extend(smaller_sizes(self.size).into_iter().map(|size| Self { size, ..self.clone() }));
        found.extend((1..self.channels).map(|channels| Self { channels, ..self.clone() }));
        found.extend(self.from.smaller().into_iter().map(|from| Self { from, ..self.clone() }));
        found.extend(self.to.smaller().into_iter().map(|to| Self { to, ..self.clone() }));
        found.push(Self { keep_alpha: false, ..self.clone() });
        found.push(Self { border: Border::Replicate, ..self.clone() });
        found.push(Self { kind: Kind::U8, ..self.clone() });
        for numbers in [Numbers::Flat(16), Numbers::Small] {
            found.push(Self { fill: Fill { numbers, ..self.fill }, ..self.clone() });
        }
        found.retain(|smaller| {
            let mut made = Some((smaller.channels, smaller.kind));
            for step in &smaller.steps {
                made = made.and_then(|(channels, kind)| step.output(channels, kind));
            }
            let to_new = !smaller.to_new
                || smaller.to == RasterLayout { planar: smaller.from.planar, ..RasterLayout::DENSE };
            smaller != self && !smaller.steps.is_empty() && made.is_some() && to_new && self.fault.is_none()
        });
        found
    }

    fn chain(&self) -> Result<Chain, FilterError> {
        let mut stages = self.steps.iter().map(Step::stage).collect::<Result<Vec<_>, _>>()?;
        match self.fault {
            Some(Fault::Color) => {
                let channels = self.made().0[2];
                let wrong = if channels == 3 { filter::Color::GrayToRgb } else { filter::Color::RgbToYuv };
                stages.push(Stage::Color(wrong));
            }
            Some(Fault::Window(size)) => stages.push(Stage::Linear(Linear::mean(Size::new(size, 3))?)),
            Some(Fault::Sigma(sigma)) => stages.push(Stage::Linear(Linear::gaussian(5, Some(sigma))?)),
            Some(Fault::Divisor) => stages.push(Stage::Linear(Linear::full(Size::square(1), vec![1], 0)?)),
            Some(Fault::Scale(scale)) => {
                stages.push(Stage::Convert { to: element(self.made().1), scale, offset: 0.0 });
            }
            Some(Fault::Nothing) => stages.clear(),
            _ => {}
        }
        let border = match self.border {
            Border::None => filter::Border::None,
            Border::Constant(value) => filter::Border::Constant(value),
            Border::Replicate => filter::Border::Replicate,
            Border::Reflect => filter::Border::Reflect,
            Border::Reflect101 => filter::Border::Reflect101,
            Border::Wrap => filter::Border::Wrap,
        };
        Ok(Chain::new(stages, border).keep_alpha(self.keep_alpha))
    }

    /// Runs it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let (_, made) = self.made();
        with_pixel!(self.kind, S => with_pixel!(made, R => self.run_as::<S, R>(context)))
    }

    fn run_as<S: tripipe::Pixel, R: tripipe::Pixel>(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let (shape, made) = self.made();
        let chain = self.chain()?;
        let mut from = self.from.raster(self.shape(), element(self.kind));
        let mut to = self.to.raster(shape, element(made));
        let mut source = self.source();
        match self.fault {
            Some(Fault::Pitch) => from.pitch -= 1,
            Some(Fault::Planes) => from.plane_pitch = from.pitch * (from.height - 1) + from.width - 1,
            Some(Fault::Width) => to.width += 1,
            Some(Fault::Channels) => to.channels = to.channels % 4 + 1,
            Some(Fault::Short) => {
                let last = self.from.elements(self.shape()) - self.from.slack - 1;
                source.truncate(last * self.kind.bytes());
            }
            Some(Fault::InPlace) => {
                let contents: Vec<S> = bytemuck::pod_collect_to_vec(&source);
                let vector = Vector::from_slice(context, &contents)?;
                let same = Chain::one(Stage::Median { size: 3 }, filter::Border::Replicate);
                let one = vector.share().into_image(from)?;
                let mut other = vector.share().into_image(from)?;
                context.filter(&same, &from, &from)?.run(&one, &mut other)?.wait()?;
                return Ok(Vec::new());
            }
            _ => {}
        }
        let source: Image<S> = image(context, from, &source)?;
        if self.to_new {
            return Ok(bytemuck::cast_slice(&source.filtered::<R>(&chain)?.to_vec()?).to_vec());
        }
        let before = self.before();
        let mut result: Image<R> = if matches!(self.fault, Some(Fault::Width | Fault::Channels)) {
            Image::zeros(context, to.with_pitch(to.pitch + 4))?
        } else {
            image(context, to, &before)?
        };
        let to = *result.raster();
        context.filter(&chain, &from, &to)?.run(&source, &mut result)?.wait()?;
        Ok(bytemuck::cast_slice(&result.to_vec()?).to_vec())
    }
}
