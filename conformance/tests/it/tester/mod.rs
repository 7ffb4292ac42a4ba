//! The differential tester: random cases, each on the CPU path, on an OpenCL device and in the simulator, compared
//! with references that share no code with the library.
//!
//! A [`Case`] is plain data, drawn from a seed and a number. Its expected outcome follows from the description alone:
//! the allowed values of each element ([`verdict::Right`]), or a refusal. A case that one backend refuses must be refused
//! by every backend.

#![allow(unreachable_pub, reason = "a part of two programs")]

pub mod arrays;
pub mod backends;
pub mod disguise;
pub mod filters;
pub mod frames;
pub mod numbers;
pub mod products;
pub mod rasters;
pub mod resize;
pub mod search;
pub mod simple;
pub mod verdict;

use fastrand::Rng;
use tripipe::{Context, Error};

use arrays::Arrays;
use backends::Backend;
use filters::Filter;
use frames::Frame;
use numbers::scrambled;
use products::ProductCase;
use resize::Resize;
use simple::Simple;
use verdict::Expected;

/// The topic of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Products,
    Filters,
    Resize,
    Colour,
    Elementwise,
}

impl Topic {
    pub const ALL: [Self; 5] = [Self::Products, Self::Filters, Self::Resize, Self::Colour, Self::Elementwise];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Products => "products",
            Self::Filters => "filters",
            Self::Resize => "resize",
            Self::Colour => "colour",
            Self::Elementwise => "elementwise",
        }
    }
}

/// An operation with its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Case {
    Product(ProductCase),
    Filter(Filter),
    Resize(Resize),
    Frame(Frame),
    Simple(Simple),
    Arrays(Arrays),
}

/// Consecutive cases that share their kernels, so that compilation does not take all the time.
const FAMILY: u64 = 12;

impl Case {
    /// The case with that number, and its topic.
    pub fn draw(seed: u64, number: u64) -> (Topic, Self) {
        let mut family = Rng::with_seed(scrambled(seed, number / FAMILY));
        let mut details = Rng::with_seed(scrambled(seed ^ 0x5EED, number));
        let topic = match family.u32(..26) {
            0..8 => Topic::Products,
            8..16 => Topic::Filters,
            16..19 => Topic::Resize,
            19..22 => Topic::Colour,
            _ => Topic::Elementwise,
        };
        let case = match topic {
            Topic::Products => Self::Product(ProductCase::draw(&mut family, &mut details)),
            Topic::Filters => Self::Filter(Filter::draw(&mut family, &mut details, false)),
            Topic::Resize => Self::Resize(Resize::draw(&mut family, &mut details)),
            Topic::Colour if family.bool() => Self::Filter(Filter::draw(&mut family, &mut details, true)),
            Topic::Colour => Self::Frame(Frame::draw(&mut family, &mut details)),
            Topic::Elementwise if family.u32(..4) > 0 => {
                Self::Arrays(Arrays::draw(&mut family, &mut details))
            }
            Topic::Elementwise => Self::Simple(Simple::draw(&mut family, &mut details)),
        };
        (topic, case)
    }

    /// The expected outcome, by the reference.
    pub fn expected(&self) -> Expected {
        match self {
            Self::Product(product) => product.expected(),
            Self::Filter(filter) => filter.expected(),
            Self::Resize(resize) => resize.expected(),
            Self::Frame(frame) => frame.expected(),
            Self::Simple(simple) => simple.expected(),
            Self::Arrays(arrays) => arrays.expected(),
        }
    }

    /// Runs the case; `None` if the backend does not support it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context, backend: Backend) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Product(product) => product.run(context, backend),
            Self::Filter(filter) => filter.run(context).map(Some),
            Self::Resize(resize) => resize.run(context).map(Some),
            Self::Frame(frame) => frame.run(context).map(Some),
            Self::Simple(simple) => simple.run(context).map(Some),
            Self::Arrays(arrays) => arrays.run(context).map(Some),
        }
    }

    /// The approximate number of operations.
    pub fn work(&self) -> f64 {
        match self {
            Self::Product(product) => product.work(),
            Self::Filter(filter) => filter.work(),
            Self::Resize(resize) => resize.work(),
            Self::Frame(frame) => frame.work(),
            Self::Simple(simple) => simple.work(),
            Self::Arrays(arrays) => arrays.work(),
        }
    }

    /// Simpler cases to try instead.
    pub fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Product(product) => product.smaller().into_iter().map(Self::Product).collect(),
            Self::Filter(filter) => filter.smaller().into_iter().map(Self::Filter).collect(),
            Self::Resize(resize) => resize.smaller().into_iter().map(Self::Resize).collect(),
            Self::Frame(frame) => frame.smaller().into_iter().map(Self::Frame).collect(),
            Self::Simple(simple) => simple.smaller().into_iter().map(Self::Simple).collect(),
            Self::Arrays(arrays) => arrays.smaller().into_iter().map(Self::Arrays).collect(),
        }
    }

    /// The meaning of an element of the result's buffer.
    pub fn place(&self, index: usize) -> String {
        match self {
            Self::Product(product) => product.place(index),
            Self::Filter(filter) => filter.place(index),
            Self::Resize(resize) => resize.place(index),
            Self::Frame(frame) => frame.place(index),
            Self::Simple(simple) => simple.place(index),
            Self::Arrays(arrays) => arrays.place(index),
        }
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Product(product) => write!(f, "{product:?}"),
            Self::Filter(filter) => write!(f, "{filter:?}"),
            Self::Resize(resize) => write!(f, "{resize:?}"),
            Self::Frame(frame) => write!(f, "{frame:?}"),
            Self::Simple(simple) => write!(f, "{simple:?}"),
            Self::Arrays(arrays) => write!(f, "{arrays:?}"),
        }
    }
}
