//! The problems that can be tuned, as arguments.

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use tripipe::filter::{Border, PixelType, Raster};
use tripipe_kernels::filter;
use tripipe_kernels::gemm::{Accumulate, Elements, Order, Parameters, ProductExtents};
use tripipe_kernels::quantised::{self, Activation, QuantisedProduct, WeightFormat};
use tripipe_ladders::{Size, SizeKind};
use tripipe_results::Search;
use tripipe_tune::{FilterProblem, GemmProblem, Problem};

use super::super::filter::parse_chain;
use super::arguments::SearchArguments;
use super::session::{Also, Session};
use crate::files::memory;
use crate::finish::Finish;

/// Matrix products.
///
/// Example: tripipe tune gemm --sizes 64,256,1024,1x1024x1024 --device opencl --table ~/.config/tripipe/gemm/mine.toml
#[derive(Args)]
pub(super) struct Products {
    /// Sizes, `MxNxK` or `N`, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1x2048x2048,2048x1x2048,16x1024x1024,128,512,1024")]
    sizes: Vec<String>,
    /// Types of operands and accumulation, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "f32")]
    elements: Vec<Kind>,
    /// Operands that are stored column by column: a, b, c, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    columns: Vec<MatrixName>,
    /// Number of products of a batch, one after the other.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,
    /// Operands that are constant, so that the time to pack them does not count: a, b, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',')]
    constant: Vec<MatrixName>,
    /// Another candidate, e.g. `local 8x8 depth=16 group=16x16`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<Parameters>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    #[command(flatten)]
    pub(super) search: SearchArguments,
}

/// Products of a few vectors and weights in 16, 8 or 4 bits, as language models have them.
///
/// Example: `tripipe tune quantised --sizes 1x4096x11008,8x4096x4096 --formats q4_0,q8_0 --device opencl`
#[derive(Args)]
pub(super) struct QuantisedProducts {
    /// Sizes, `MxNxK`, separated by commas: vectors, outputs, inputs.
    #[arg(long, value_delimiter = ',', default_value = "1x4096x4096,1x11008x4096,1x4096x11008,8x4096x4096")]
    sizes: Vec<String>,
    /// Formats of the weights, separated by commas: `f16`, `i8`, `q8_0` or `q4_0`.
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', default_value = "q4_0,q8_0")]
    formats: Vec<WeightFormat>,
    /// Type of the vectors: f32 or f16.
    #[arg(long, value_name = "TYPE", default_value_t = Activation::F32)]
    vectors: Activation,
    /// Another candidate, e.g. `4x1 group=16x4 image masks`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<quantised::Parameters>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    #[command(flatten)]
    pub(super) search: SearchArguments,
}

/// A chain of filters.
///
/// Example: tripipe tune filter laplace --size 7680x4320 --channels 3 --device opencl
#[derive(Args)]
pub(super) struct Filters {
    /// Filters, separated by commas, as for `tripipe filter`.
    chain: String,
    /// Width and height in pixels.
    #[arg(long, default_value = "1920x1080")]
    size: String,
    /// Channels.
    #[arg(long, default_value_t = 3)]
    channels: usize,
    /// Type of a channel: u8, i16, u16, f16 or f32.
    #[arg(long, value_name = "TYPE", value_parser = element, default_value = "u8")]
    element: PixelType,
    /// Pixels outside the picture.
    #[arg(long, default_value_t = Border::Reflect101)]
    border: Border,
    /// Another candidate, e.g. `16x8 loads=aligned sums=paired fuse=pixels group=64x2`; may be repeated.
    #[arg(long, value_name = "PARAMETERS")]
    also: Vec<filter::Parameters>,
    /// Tries only the candidates of --also.
    #[arg(long, requires = "also")]
    only: bool,
    #[command(flatten)]
    pub(super) search: SearchArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MatrixName {
    A,
    B,
    C,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// float32.
    F32,
    /// float16, accumulated in float16.
    F16,
    /// float16, accumulated in float32.
    F16F32,
    /// float16, accumulated in float16 in blocks of 32 along K and in float32 across them.
    F16Chunked,
    /// int8, accumulated in int32.
    I8,
}

impl From<Kind> for Elements {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::F32 => Self::F32,
            Kind::F16 => Self::F16(Accumulate::F16),
            Kind::F16F32 => Self::F16(Accumulate::F32),
            Kind::F16Chunked => Self::F16(Accumulate::Chunked { block: 32 }),
            Kind::I8 => Self::I8ToI32,
        }
    }
}

/// The type of a channel by its name.
fn element(text: &str) -> Result<PixelType, String> {
    let found = PixelType::ALL.into_iter().find(|element| element.to_string() == text);
    found.ok_or_else(|| "want u8, i16, u16, f16 or f32".to_owned())
}

impl Products {
    pub(super) fn run(self, out: &mut dyn Write, results: &mut Vec<Search>) -> Result<Finish> {
        if self.constant.contains(&MatrixName::C) {
            bail!("--constant c: C is the result; only a and b can be constant");
        }
        let order = |matrix| {
            if self.columns.contains(&matrix) { Order::ColumnMajor } else { Order::RowMajor }
        };
        let mut problems = Vec::new();
        for text in &self.sizes {
            let Size::Matrix { m, n, k } = SizeKind::Matrix.parse(text)? else {
                bail!("size {text}: want MxNxK or N")
            };
            // Operands and reference in double precision, and copies of them.
            let elements = m.checked_mul(k).zip(k.checked_mul(n)).zip(m.checked_mul(n));
            let bytes = elements.and_then(|((a, b), c)| {
                a.checked_add(b)?.checked_add(c)?.checked_mul(24 * self.batch as usize)
            });
            let what = format!("tuning of {m}x{n}x{k}");
            memory::check(&what, bytes.map(|bytes| bytes as u64), "choose a smaller one with --sizes")?;
            for elements in &self.elements {
                let problem = GemmProblem {
                    orders: [MatrixName::A, MatrixName::B, MatrixName::C].map(order),
                    batch: self.batch as usize,
                    constant: [MatrixName::A, MatrixName::B].map(|matrix| self.constant.contains(&matrix)),
                    ..GemmProblem::new((*elements).into(), ProductExtents { m, n, k })
                };
                problem.gemm().check()?;
                problems.push(Problem::Gemm(problem));
            }
        }
        let texts = self.also.iter().map(ToString::to_string).collect();
        Session::new(self.search, Also { texts, only: self.only }).run(&problems, out, results)
    }
}

impl QuantisedProducts {
    pub(super) fn run(self, out: &mut dyn Write, results: &mut Vec<Search>) -> Result<Finish> {
        let mut problems = Vec::new();
        for text in &self.sizes {
            let Size::Matrix { m, n, k } = SizeKind::Matrix.parse(text)? else {
                bail!("size {text}: want MxNxK or N")
            };
            // Weights in single precision, as stored, packed twice, and as the reference reads them.
            let weights = n.checked_mul(k).and_then(|weights| weights.checked_mul(24));
            let rows = n.checked_add(k).and_then(|row| row.checked_mul(m)?.checked_mul(24));
            let bytes = weights.zip(rows).and_then(|(weights, rows)| weights.checked_add(rows));
            let what = format!("tuning of {m}x{n}x{k}");
            memory::check(&what, bytes.map(|bytes| bytes as u64), "choose a smaller one with --sizes")?;
            for format in &self.formats {
                let product = QuantisedProduct::new(*format, self.vectors, ProductExtents { m, n, k });
                product.check()?;
                problems.push(Problem::Quantised(product));
            }
        }
        let texts = self.also.iter().map(ToString::to_string).collect();
        Session::new(self.search, Also { texts, only: self.only }).run(&problems, out, results)
    }
}

impl Filters {
    pub(super) fn run(self, out: &mut dyn Write, results: &mut Vec<Search>) -> Result<Finish> {
        let mut chain = parse_chain(&self.chain, self.border)?;
        let Size::Image { width, height } = SizeKind::Image.parse(&self.size)? else {
            bail!("size {}: want WIDTHxHEIGHT", self.size)
        };
        let from = Raster::packed(filter::Size::new(width, height), self.channels, self.element);
        let to = chain.apply_to(&from)?;
        // Without an image of four channels, there is no alpha to keep.
        let mut image = from;
        let mut has_alpha = image.channels == 4;
        for stage in &chain.stages {
            image = stage.apply_to(&image)?;
            has_alpha |= image.channels == 4;
        }
        chain.keep_alpha &= has_alpha;
        let elements = from.elements()?.checked_add(to.elements()? * to.element.bytes());
        // Image, result and comparison, on the host and on the device.
        let bytes = elements.and_then(|bytes| bytes.checked_mul(4)).map(|bytes| bytes as u64);
        memory::check(&format!("tuning over {width}x{height} pixels"), bytes, "choose a smaller --size")?;
        let problem = Problem::Filter(FilterProblem::new(chain, from)?);
        let texts = self.also.iter().map(ToString::to_string).collect();
        Session::new(self.search, Also { texts, only: self.only }).run(&[problem], out, results)
    }
}
