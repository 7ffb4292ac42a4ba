//! Chains of filters.

mod reference;

use fastrand::Rng;
use tripipe::filter::{self, Chain, FilterError, Linear, Neighbourhood, Stage};
use tripipe::{Context, Error, Image, Vector};

use super::numbers::{Fill, Kind, Numbers, choose, extent};
use super::rasters::{PIXELS, Place, Shape, element, fraction, image, smaller_sizes, with_pixel};
use super::verdict::Expected;

/// A chain applied to an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub steps: Vec<Step>,
    pub border: Border,
    pub keep_alpha: bool,
    pub size: [usize; 2],
    pub channels: usize,
    pub kind: Kind,
    pub from: Place,
    pub to: Place,
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

/// The random weights of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub size: [usize; 2],
    /// Whether they are an outer product.
    pub separable: bool,
    /// The range is `-most` to `most`, or 0 to `most`.
    pub most: i32,
    pub negative: bool,
    /// One weight in this many is 0.
    pub zeros: u32,
    pub seed: u32,
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

impl Weights {
    /// The weights of one axis, or all of them.
    fn numbers(&self, count: usize, axis: u32) -> Vec<i32> {
        let number = |index: usize| {
            let zero = self.zeros > 0 && fraction(self.seed ^ 0x5A, index) * f64::from(self.zeros) < 1.0;
            let part = fraction(self.seed.wrapping_add(axis), index);
            let low = if self.negative { -f64::from(self.most) } else { 0.0 };
            if zero { 0 } else { (low + part * (f64::from(self.most) - low)).round() as i32 }
        };
        (0..count).map(number).collect()
    }

    /// Factors across and down; `None` if the weights are not an outer product.
    pub fn factors(&self) -> Option<[Vec<i32>; 2]> {
        self.separable.then(|| [self.numbers(self.size[0], 1), self.numbers(self.size[1], 2)])
    }

    /// All weights, row by row.
    pub fn all(&self) -> Vec<i64> {
        match self.factors() {
            Some([across, down]) => {
                let product = |y: i32| across.iter().map(move |x| i64::from(*x) * i64::from(y));
                down.iter().flat_map(|y| product(*y)).collect()
            }
            None => self.full().into_iter().map(i64::from).collect(),
        }
    }

    fn full(&self) -> Vec<i32> {
        self.numbers(self.size[0] * self.size[1], 0)
    }

    /// The weights times `scale`, in single precision: factors, or all.
    pub fn real(&self, scale: f32) -> (Option<[Vec<f32>; 2]>, Vec<f32>) {
        let scaled = |weights: &[i32]| weights.iter().map(|weight| *weight as f32 * scale).collect();
        match self.factors() {
            Some([across, down]) => {
                (Some([scaled(&across), down.iter().map(|w| *w as f32 / 8.0).collect()]), Vec::new())
            }
            None => (None, scaled(&self.full())),
        }
    }

    fn draw(random: &mut Rng) -> Self {
        let odd = |random: &mut Rng| match random.u32(..10) {
            0 => 2 * random.usize(..16) + 1,
            1..=3 => 5,
            4 => 7,
            5 => 1,
            _ => 3,
        };
        Self {
            size: [odd(random), odd(random)],
            separable: random.bool(),
            most: choose(random, &[1, 2, 4, 10, 100, 1000, 100_000]),
            negative: random.bool(),
            zeros: choose(random, &[0, 0, 2, 5]),
            seed: random.u32(..),
        }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut found = vec![
            Self { size: [1, 1], ..*self },
            Self { size: [3, 1], ..*self },
            Self { size: [1, 3], ..*self },
            Self { size: [3, 3], ..*self },
            Self { size: [self.size[0], 1], ..*self },
            Self { size: [1, self.size[1]], ..*self },
            Self { zeros: 0, ..*self },
            Self { negative: false, ..*self },
            Self { most: 1, ..*self },
            Self { most: self.most / 2, ..*self },
            Self { separable: false, ..*self },
        ];
        found.retain(|smaller| {
            smaller != self && smaller.size[0] <= self.size[0] && smaller.size[1] <= self.size[1]
        });
        found
    }
}

impl Step {
    /// A step that supports such an image.
    fn draw(random: &mut Rng, channels: usize, kind: Kind) -> Self {
        let odd = |random: &mut Rng| choose(random, &[1usize, 3, 3, 3, 5, 5, 7, 9, 15, 31]);
        let to = |random: &mut Rng| if random.u32(..3) == 0 { Some(choose(random, &PIXELS)) } else { None };
        loop {
            let step = match random.u32(..22) {
                0..=2 => Self::Linear {
                    weights: Weights::draw(random),
                    divisor: match random.u32(..6) {
                        0 => random.u32(1..),
                        1 => choose(random, &[1 << 31, u32::MAX, (1 << 31) + 7]),
                        2 => random.u32(1..20),
                        _ => choose(random, &[1, 1, 2, 16, 255, 256]),
                    },
                    offset: match random.u32(..8) {
                        0 => choose(random, &[i32::MAX, i32::MIN, 40000, -40000]),
                        1 | 2 => random.i32(-300..300),
                        _ => 0,
                    },
                    to: to(random),
                },
                3 | 4 => Self::Real {
                    weights: Weights::draw(random),
                    scale: choose(random, &[1.0, 0.1, 0.013, 1e-3, 0.37, -0.2, 3e6, 1e30]),
                    offset: choose(random, &[0, 0, 0, 128, -3]),
                    to: to(random),
                },
                5 | 6 => {
                    let sigma = choose(
                        random,
                        &[None, None, Some(0.5), Some(1.7), Some(5.0), Some(100.0), Some(1e-3)],
                    );
                    Self::Gaussian { size: odd(random), sigma }
                }
                7 => Self::Unsharp {
                    size: choose(random, &[3, 5, 7]),
                    sigma: choose(random, &[None, Some(2.0)]),
                    amount: choose(random, &[0.5, 1.5, -0.3]),
                },
                8 => Self::Mean([odd(random), odd(random)]),
                9 => choose(random, &[Self::Laplace4, Self::Laplace8, Self::LaplaceSharpen, Self::Sharpen]),
                10 => Self::Derivative { scharr: random.bool(), down: random.bool() },
                11 => Self::Gradient { scharr: random.bool() },
                12 | 13 => Self::Median(choose(random, &[3, 3, 5])),
                14 | 15 => Self::Extreme {
                    dilate: random.bool(),
                    cross: random.bool(),
                    size: [odd(random), odd(random)],
                },
                16 => Self::Bilateral {
                    size: choose(random, &[3, 5, 7, 15]),
                    color: choose(random, &[0.1, 3.0, 40.0, 900.0, 1e5]),
                    space: choose(random, &[0.2, 1.0, 3.0, 50.0]),
                },
                17 | 18 => Self::Convert {
                    to: choose(random, &PIXELS),
                    scale: choose(random, &[1.0, 0.37, -1.0 / 255.0, 256.0, 0.0, 1e-3, 1e30]),
                    offset: choose(random, &[0.0, 5.5, -0.5, 32768.0]),
                },
                _ => Self::Color(choose(random, &Color::ALL)),
            };
            if step.output(channels, kind).is_some() {
                return step;
            }
        }
    }

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
                    None => Linear::full(weights.size, weights.full(), *divisor)?,
                };
                Stage::Linear(to_type(linear, *offset, *to))
            }
            Self::Real { weights, scale, offset, to } => {
                let linear = match weights.real(*scale) {
                    (Some([across, down]), _) => Linear::separable_real(across, down)?,
                    (None, all) => Linear::full_real(weights.size, all)?,
                };
                Stage::Linear(to_type(linear, *offset, *to))
            }
            Self::Gaussian { size, sigma } => Stage::Linear(Linear::gaussian(*size, *sigma)?),
            Self::Unsharp { size, sigma, amount } => Stage::Linear(Linear::unsharp(*size, *sigma, *amount)?),
            Self::Mean(size) => Stage::Linear(Linear::mean(*size)?),
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
            Self::Median(size) => Stage::Median { size: *size },
            Self::Extreme { dilate, cross, size } => {
                let seen = if *cross { Neighbourhood::Cross(*size) } else { Neighbourhood::Rectangle(*size) };
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
    /// A chain: its steps, types and layouts from `random`, the rest from `details`. With `color` it consists of
    /// colour conversions.
    pub fn draw(random: &mut Rng, details: &mut Rng, color: bool) -> Self {
        let kind = choose(random, &[Kind::U8, Kind::U8, Kind::I16, Kind::U16, Kind::F16, Kind::F32]);
        let channels = if color { choose(random, &[1, 3, 3, 4]) } else { random.usize(1..=4) };
        let length = if color { 1 } else { choose(random, &[1, 1, 1, 2, 3]) };
        let mut steps = Vec::new();
        let mut made = (channels, kind);
        while steps.len() < length {
            let step = Step::draw(random, made.0, made.1);
            if color && !matches!(step, Step::Color(_)) {
                continue;
            }
            made = step.output(made.0, made.1).unwrap_or(made);
            steps.push(step);
        }
        let border = match random.u32(..7) {
            0 => Border::None,
            1 => Border::Constant(choose(random, &[0.0, 7.5, -3.0, 1e6, f32::NAN, f32::INFINITY])),
            2 => Border::Replicate,
            3 => Border::Reflect,
            4 | 5 => Border::Reflect101,
            _ => Border::Wrap,
        };
        let large = choose(details, &[12, 24, 40, 130]);
        let mut filter = Self {
            steps,
            border,
            keep_alpha: random.bool(),
            size: [extent(details, large), extent(details, large.min(60))],
            channels,
            kind,
            from: Place::draw(random, details),
            to: Place::draw(random, details),
            fill: Fill { numbers: numbers(details, kind), seed: details.u32(..) },
            to_new: details.u32(..5) == 0,
            fault: None,
        };
        if filter.to_new {
            filter.to = Place { planar: filter.from.planar, ..Place::DENSE };
        }
        if details.u32(..12) == 0 {
            filter.add_fault(details);
        }
        filter
    }

    fn add_fault(&mut self, random: &mut Rng) {
        let mut open = vec![
            Fault::Width,
            Fault::Channels,
            Fault::Color,
            Fault::Window(choose(random, &[0, 2, 4, 33, usize::MAX])),
            Fault::Sigma(choose(random, &[0.0, -1.0, f32::NAN, f32::INFINITY])),
            Fault::Divisor,
            Fault::Scale(choose(random, &[f32::NAN, f32::INFINITY])),
            Fault::Nothing,
        ];
        if self.size[0] > 0 && self.size[1] > 1 {
            open.push(Fault::Pitch);
            self.from.row_gap = 0;
        }
        if self.size[0] * self.size[1] > 0 {
            open.extend([Fault::Short, Fault::InPlace]);
            if self.from.planar && self.channels > 1 {
                open.push(Fault::Planes);
            }
        }
        self.to_new = false;
        self.fault = Some(choose(random, &open));
    }

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
            let to_new =
                !smaller.to_new || smaller.to == Place { planar: smaller.from.planar, ..Place::DENSE };
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
            Some(Fault::Window(size)) => stages.push(Stage::Linear(Linear::mean([size, 3])?)),
            Some(Fault::Sigma(sigma)) => stages.push(Stage::Linear(Linear::gaussian(5, Some(sigma))?)),
            Some(Fault::Divisor) => stages.push(Stage::Linear(Linear::full([1, 1], vec![1], 0)?)),
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
        Ok(Chain { stages, border, keep_alpha: self.keep_alpha })
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
                let one = Image::over(&vector, from)?;
                let mut other = Image::over(&vector, from)?;
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

/// Random contents for images.
pub fn numbers(random: &mut Rng, kind: Kind) -> Numbers {
    if !kind.is_float() {
        let edges = Numbers::Edges(random.u32(1..40));
        return choose(
            random,
            &[Numbers::Noise(1.0), Numbers::Ends, edges, Numbers::Small, Numbers::Flat(200)],
        );
    }
    match random.u32(..12) {
        0 => Numbers::Special(choose(random, &[10, 60, 300])),
        1 => Numbers::Ends,
        2 => Numbers::Small,
        3 => Numbers::Flat(40),
        4 => Numbers::Noise(if kind == Kind::F16 { 6e4 } else { 1e36 }),
        5 | 6 => Numbers::Noise(300.0),
        _ => Numbers::Noise(1.0),
    }
}
