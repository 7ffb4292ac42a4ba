//! Elementwise operations on vectors, matrices and images: steps, reductions, conversions, copies, of every type and
//! layout.

mod reference;
mod run;

use fastrand::Rng;

use super::numbers::{Fill, Kind, Numbers, choose, extent, smaller_extents};
use super::products::Lie;
use super::rasters::{PIXELS, RasterLayout, smaller_sizes};
use super::verdict::Expected;

/// An operation on operands of one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrays {
    pub task: Task,
    pub kind: Kind,
    pub shape: Shape,
    /// The layouts of the first operand, of the others, and of the result.
    pub lies: [Lying; 3],
    pub fills: [Fill; 3],
    /// Whether the asynchronous functions are called.
    pub asynchronous: bool,
    pub fault: Option<Fault>,
}

/// The operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    Steps { steps: Vec<Step>, end: End },
    Sum,
    Dot,
    Min,
    Max,
    Convert { to: Kind, scale: f32, offset: f32 },
    Copy,
}

/// The destination of the results of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    New,
    Into(Kind),
    InPlace,
}

/// A step; its operand has the same shape, its number is rounded to the type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    Add,
    Subtract,
    Multiply,
    AddScalar(f64),
    SubtractScalar(f64),
    MultiplyScalar(f64),
    Relu,
    Relu6,
    Clamp([f64; 2]),
    Sigmoid,
    Tanh,
    Gelu,
}

/// The shape of the operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    Vector(usize),
    /// Rows and columns.
    Matrix([usize; 2]),
    /// Width, height, channels.
    Image([usize; 3]),
}

/// The layout: as a matrix, as an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lying {
    pub lie: Lie,
    pub place: RasterLayout,
}

/// An error in a description, which must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// An operand of another shape.
    Shape,
    /// More steps than are allowed.
    Steps,
    /// A clamp whose minimum exceeds its maximum.
    Clamp,
}

/// Element types.
const KINDS: [Kind; 9] =
    [Kind::U8, Kind::I8, Kind::U16, Kind::I16, Kind::U32, Kind::I32, Kind::F16, Kind::F32, Kind::F64];

/// The buffer of the result; the others are the source and the operands of steps.
const RESULT: usize = usize::MAX;

impl Shape {
    fn count(self) -> usize {
        match self {
            Self::Vector(length) => length,
            Self::Matrix(extents) => extents.iter().product(),
            Self::Image(extents) => extents.iter().product(),
        }
    }

    fn smaller(self) -> Vec<Self> {
        match self {
            Self::Vector(length) => smaller_extents(length).into_iter().map(Self::Vector).collect(),
            Self::Matrix(extents) => smaller_sizes(extents).into_iter().map(Self::Matrix).collect(),
            Self::Image([width, height, channels]) => {
                let sizes = smaller_sizes([width, height]).into_iter();
                let fewer = (1..channels).map(|channels| Self::Image([width, height, channels]));
                sizes.map(|[width, height]| Self::Image([width, height, channels])).chain(fewer).collect()
            }
        }
    }
}

impl Lying {
    const DENSE: Self = Self { lie: Lie::DENSE, place: RasterLayout::DENSE };

    fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        Self { lie: Lie::draw(random, details), place: RasterLayout::draw(random, details) }
    }

    /// The location of element `index`.
    fn index(&self, shape: Shape, index: usize) -> usize {
        match shape {
            Shape::Vector(_) => index,
            Shape::Matrix([rows, columns]) => {
                self.lie.index([rows, columns], [index / columns, index % columns])
            }
            Shape::Image([width, height, channels]) => {
                let (pixel, channel) = (index / channels, index % channels);
                self.place.index([width, height, channels], [pixel % width, pixel / width, channel])
            }
        }
    }

    /// The number of elements of the buffer.
    fn elements(&self, shape: Shape) -> usize {
        match shape {
            Shape::Vector(length) => length,
            Shape::Matrix(extents) => self.lie.elements(extents, 0),
            Shape::Image(extents) => self.place.elements(extents),
        }
    }

    fn smaller(&self) -> Vec<Self> {
        let mut found = vec![Self::DENSE];
        found.extend(self.lie.smaller().into_iter().map(|lie| Self { lie, ..*self }));
        found.extend(self.place.smaller().into_iter().map(|place| Self { place, ..*self }));
        found.retain(|smaller| smaller != self);
        found
    }
}

impl Step {
    fn draw(random: &mut Rng, details: &mut Rng, kind: Kind) -> Self {
        let number = |details: &mut Rng| match kind.range() {
            Some([low, high]) => choose(details, &[0.0, 1.0, 2.0, 7.0, -1.0, -3.0, 100.0, low, high]),
            None => choose(details, &[0.0, -0.0, 1.0, -2.0, 0.37, 1e3, 1e-3, f64::INFINITY, f64::NAN]),
        };
        match random.u32(..if kind.is_float() { 14 } else { 11 }) {
            0 | 1 => Self::Add,
            2 => Self::Subtract,
            3 | 4 => Self::Multiply,
            5 => Self::AddScalar(number(details)),
            6 => Self::SubtractScalar(number(details)),
            7 => Self::MultiplyScalar(number(details)),
            8 => Self::Relu,
            9 => Self::Relu6,
            10 => {
                let finite = |number: f64| if number.is_nan() { -5.0 } else { kind.nearest(number) };
                let ends = [finite(number(details)), finite(number(details))];
                Self::Clamp([ends[0].min(ends[1]), ends[0].max(ends[1])])
            }
            11 => Self::Sigmoid,
            12 => Self::Tanh,
            _ => Self::Gelu,
        }
    }

    fn has_operand(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply)
    }
}

impl Arrays {
    /// Draws everything that selects kernels from `random`, the rest from `details`.
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let kind = choose(random, &KINDS);
        let image = PIXELS.contains(&kind) && random.u32(..3) == 0;
        let others: &[Kind] = if image { &PIXELS } else { &KINDS };
        let task = match random.u32(..12) {
            0..=4 => {
                let count = choose(random, &[1, 1, 2, 2, 3, 5, 8]);
                let steps = (0..count).map(|_| Step::draw(random, details, kind)).collect();
                let end = match random.u32(..4) {
                    0 => End::New,
                    1 => End::InPlace,
                    2 => End::Into(kind),
                    _ => End::Into(choose(random, others)),
                };
                Task::Steps { steps, end }
            }
            5 => Task::Sum,
            6 => Task::Dot,
            7 => Task::Min,
            8 => Task::Max,
            9 | 10 => Task::Convert {
                to: choose(random, others),
                scale: choose(details, &[1.0, 1.0, 0.37, -1.0, 255.0, 1e-3, 0.0]),
                offset: choose(details, &[0.0, 0.0, 0.5, -128.0]),
            },
            _ => Task::Copy,
        };
        let size = [extent(details, 90), extent(details, 90)];
        let shape = match details.u32(..4) {
            _ if image => Shape::Image([size[0], size[1], details.usize(1..=4)]),
            0 => Shape::Vector(details.usize(..9000)),
            1 => Shape::Vector(size[0]),
            _ => Shape::Matrix(size),
        };
        let fill = |details: &mut Rng| Fill {
            numbers: super::filters::numbers(details, kind),
            seed: details.u32(..),
        };
        let lies = [(); 3].map(|()| Lying::draw(random, details));
        let fills = [fill(details), fill(details), fill(details)];
        let mut drawn = Self { task, kind, shape, lies, fills, asynchronous: details.bool(), fault: None };
        if details.u32(..12) == 0 {
            drawn.add_fault(details);
        }
        drawn
    }

    fn add_fault(&mut self, random: &mut Rng) {
        let fault = choose(random, &[Fault::Shape, Fault::Steps, Fault::Clamp]);
        let operands = matches!(self.task, Task::Dot);
        match (fault, &mut self.task) {
            (Fault::Shape, Task::Steps { steps, .. }) if steps.iter().any(|step| step.has_operand()) => {}
            (Fault::Shape, _) if operands => {}
            (Fault::Steps, Task::Steps { steps, .. }) => *steps = vec![Step::Relu; 9],
            (Fault::Clamp, Task::Steps { steps, .. }) if steps.len() < 8 => {
                steps.insert(0, Step::Clamp([2.0, 1.0]));
            }
            _ => return,
        }
        self.fault = Some(fault);
    }

    /// The steps; empty for other tasks.
    fn steps(&self) -> &[Step] {
        if let Task::Steps { steps, .. } = &self.task { steps } else { &[] }
    }

    fn is_in_place(&self) -> bool {
        matches!(self.task, Task::Steps { end: End::InPlace, .. })
    }

    /// The element type of the result.
    fn to(&self) -> Kind {
        match self.task {
            Task::Steps { end: End::Into(to), .. } | Task::Convert { to, .. } => to,
            _ => self.kind,
        }
    }

    fn lying(&self, buffer: usize) -> &Lying {
        &self.lies[if buffer == RESULT { 2 } else { buffer.min(1) }]
    }

    /// The shape of an operand.
    fn shape_of(&self, buffer: usize) -> Shape {
        if self.fault != Some(Fault::Shape) || buffer == 0 || buffer == RESULT {
            return self.shape;
        }
        match self.shape {
            Shape::Vector(length) => Shape::Vector(length + 1),
            Shape::Matrix([rows, columns]) => Shape::Matrix([rows + 1, columns]),
            Shape::Image([width, height, channels]) => Shape::Image([width, height + 1, channels]),
        }
    }

    /// The initial contents of a buffer.
    fn contents(&self, buffer: usize) -> Vec<u8> {
        let count = self.lying(buffer).elements(self.shape_of(buffer));
        let kind = if buffer == RESULT { self.to() } else { self.kind };
        let fill = match buffer {
            RESULT if self.is_in_place() => self.fills[0],
            // Arbitrary numbers of that type.
            RESULT => Fill { numbers: Numbers::Small, ..self.fills[2] },
            0 => self.fills[0],
            _ => Fill { seed: self.fills[1].seed.wrapping_add(buffer as u32), ..self.fills[1] },
        };
        fill.bytes(kind, count)
    }

    pub fn work(&self) -> f64 {
        self.shape.count() as f64 * (4 + self.steps().len()) as f64
    }

    pub fn place(&self, index: usize) -> String {
        match self.task {
            Task::Sum | Task::Dot => "the sum".to_owned(),
            Task::Min | Task::Max if index == 0 => "the value".to_owned(),
            Task::Min | Task::Max => format!("coordinate {} of its place", index - 1),
            _ => format!("element {index}"),
        }
    }

    pub fn smaller(&self) -> Vec<Self> {
        let mut found: Vec<Self> =
            self.shape.smaller().into_iter().map(|shape| Self { shape, ..self.clone() }).collect();
        if let Task::Steps { steps, end } = &self.task
            && self.fault.is_none()
        {
            found.extend((0..steps.len()).map(|gone| {
                let mut steps = steps.clone();
                steps.remove(gone);
                Self { task: Task::Steps { steps, end: *end }, ..self.clone() }
            }));
        }
        for which in 0..3 {
            for lying in self.lies[which].smaller() {
                let mut lies = self.lies;
                lies[which] = lying;
                found.push(Self { lies, ..self.clone() });
            }
            for numbers in [Numbers::Flat(16), Numbers::Small] {
                let mut fills = self.fills;
                fills[which].numbers = numbers;
                found.push(Self { fills, ..self.clone() });
            }
        }
        found.push(Self { asynchronous: false, ..self.clone() });
        found.retain(|smaller| smaller != self);
        found
    }

    /// The expected result.
    pub fn expected(&self) -> Expected {
        reference::expected(self)
    }
}
