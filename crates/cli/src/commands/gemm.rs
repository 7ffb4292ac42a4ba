//! `tripipe gemm`: a matrix product from files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use half::f16;
use tripipe::gemm::{Accumulate, Factor, Product};
use tripipe::{Arithmetic, Choice, Context, Device, Element, Explanation, Matrix, Vector};

use super::filter::said;
use super::{DeviceArgument, failed};
use crate::Finish;
use crate::files::npy::{self, Elements};
use crate::files::{memory, output::Output};
use crate::progress::Progress;

/// Multiply two matrices from `.npy` files: C = alpha op(A) op(B), then a bias, then an activation.
///
/// op(A) is M x K, op(B) is K x N, both float16, float32, int8 or float64 (float64 on the CPU path alone, and plain),
/// little-endian, in C or Fortran order. C is written in C order and in their type, int32 for int8. float16 is summed in float32 unless
/// --accumulate says otherwise. A small product goes to the CPU path where that is faster, unless --device names a device.
///
/// Examples:
///   tripipe gemm a.npy b.npy -o c.npy
///   tripipe gemm x.npy weights.npy -o y.npy --transpose-b --bias bias.npy --activation relu --explain
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Gemm {
    /// Left matrix.
    a: PathBuf,
    /// Right matrix.
    b: PathBuf,
    /// Where the product goes, M x N; what is there is replaced once the new one is whole.
    #[arg(short, long, value_name = "C")]
    output: PathBuf,
    /// Multiplies by the transpose of A.
    #[arg(long)]
    transpose_a: bool,
    /// Multiplies by the transpose of B.
    #[arg(long)]
    transpose_b: bool,
    /// Factor of the product.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    alpha: f64,
    /// A vector of N numbers of C's type, added to each row of C.
    #[arg(long, value_name = "BIAS")]
    bias: Option<PathBuf>,
    /// What is done with each element last.
    #[arg(long, value_enum)]
    activation: Option<Activation>,
    /// What float16 is summed in.
    #[arg(long, value_enum, default_value_t = Sums::F32)]
    accumulate: Sums,
    /// Says what was chosen, why, what bounds it, and what else there was.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    device: DeviceArgument,
}

/// What is done with each element last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Activation {
    /// What is less than 0 becomes 0.
    Relu,
    /// Clamps to 0..6.
    Relu6,
}

/// What float16 is summed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sums {
    /// float32.
    F32,
    /// float16: the fastest where the device has it; the error grows with K.
    F16,
    /// float16 in blocks of 32 along K, float32 across them.
    Chunked,
}

impl From<Sums> for Accumulate {
    fn from(sums: Sums) -> Self {
        match sums {
            Sums::F32 => Self::F32,
            Sums::F16 => Self::F16,
            Sums::Chunked => Self::Chunked { block: 32 },
        }
    }
}

/// A matrix as its file has it.
struct Operand<'f> {
    path: &'f Path,
    matrix: npy::Matrix,
    transposed: bool,
}

impl Operand<'_> {
    fn extents(&self) -> [usize; 2] {
        let (rows, columns) = (self.matrix.rows, self.matrix.columns);
        if self.transposed { [columns, rows] } else { [rows, columns] }
    }
}

impl Gemm {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let device = self.device.resolve()?;
        let output = Output::open(&self.output)?;
        let progress = Progress::spinner("reading the matrices");
        let a = Operand { path: &self.a, matrix: npy::read(&self.a)?, transposed: self.transpose_a };
        let b = Operand { path: &self.b, matrix: npy::read(&self.b)?, transposed: self.transpose_b };
        let bias = self.bias.as_deref().map(npy::read_vector).transpose()?;
        drop(progress);
        check(&a, &b)?;
        let ([m, k], [_, n]) = (a.extents(), b.extents());
        let type_name = a.matrix.elements.type_name();
        let work = Work { gemm: &self, device: &device, output, size: [m, n, k] };
        let (explanation, total_seconds) = match (&a.matrix.elements, &b.matrix.elements) {
            (Elements::F16(x), Elements::F16(y)) => work.run::<f16>(x, y, bias.as_ref())?,
            (Elements::F32(x), Elements::F32(y)) => work.run::<f32>(x, y, bias.as_ref())?,
            (Elements::I8(x), Elements::I8(y)) => work.run::<i8>(x, y, bias.as_ref())?,
            (Elements::F64(x), Elements::F64(y)) => {
                // Left to choose, the product goes where it can be had.
                let auto = self.device.device == Choice::Auto;
                let device = if auto { &Device::Cpu } else { &device };
                Work { device, ..work }.run_f64(x, y)?
            }
            (left, right) => bail!(
                "{} holds {} and {} holds {}; convert one, e.g. a.astype('{}')",
                self.a.display(),
                left.type_name(),
                self.b.display(),
                right.type_name(),
                right.type_name()
            ),
        };
        let of = |transposed: bool| if transposed { " transposed" } else { "" };
        writeln!(
            out,
            "{} {}x{}{} * {} {}x{}{} -> {} {m}x{n} {}",
            self.a.display(),
            a.matrix.rows,
            a.matrix.columns,
            of(a.transposed),
            self.b.display(),
            b.matrix.rows,
            b.matrix.columns,
            of(b.transposed),
            self.output.display(),
            if type_name == "int8" { "int32" } else { type_name }
        )?;
        if self.explain {
            write!(out, "{explanation}")?;
        } else {
            writeln!(out, "{}", said(&explanation, total_seconds))?;
        }
        Ok(Finish::Clean)
    }
}

fn check(a: &Operand<'_>, b: &Operand<'_>) -> Result<()> {
    let ([m, k], [k_of_b, n]) = (a.extents(), b.extents());
    if k == k_of_b {
        return Ok(());
    }
    let hint = if k == n {
        "transpose B (--transpose-b)"
    } else if m == k_of_b {
        "transpose A (--transpose-a)"
    } else if n == m {
        "swap the two"
    } else {
        "check which matrices these are"
    };
    bail!(
        "{} is {m}x{k} and {} is {k_of_b}x{n}: a product wants as many columns in A as rows in B; {hint}",
        a.path.display(),
        b.path.display(),
    )
}

/// A type of A and B, and the type of C as a file has it.
trait InFiles: Factor<Sum: npyz::AutoSerialize> {
    /// The elements of a bias.
    fn sums(elements: &Elements) -> Option<&[Self::Sum]>;

    /// What its multiply-adds are held against.
    const ARITHMETIC: Arithmetic;
}

impl InFiles for f16 {
    fn sums(elements: &Elements) -> Option<&[f16]> {
        if let Elements::F16(values) = elements { Some(values) } else { None }
    }

    const ARITHMETIC: Arithmetic = Arithmetic::F16;
}

impl InFiles for f32 {
    fn sums(elements: &Elements) -> Option<&[f32]> {
        if let Elements::F32(values) = elements { Some(values) } else { None }
    }

    const ARITHMETIC: Arithmetic = Arithmetic::F32;
}

impl InFiles for i8 {
    fn sums(elements: &Elements) -> Option<&[i32]> {
        if let Elements::I32(values) = elements { Some(values) } else { None }
    }

    const ARITHMETIC: Arithmetic = Arithmetic::I8;
}

struct Work<'w> {
    gemm: &'w Gemm,
    device: &'w Device,
    output: Output,
    /// m, n, k.
    size: [usize; 3],
}

impl Work<'_> {
    /// What messages call it; it fits into memory.
    fn name(&self, element_bytes: usize) -> Result<String> {
        let [m, n, _] = self.size;
        let what = format!("the {m}x{n} product of {} and {}", self.gemm.a.display(), self.gemm.b.display());
        let bytes = m.checked_mul(n).and_then(|count| count.checked_mul(element_bytes));
        memory::check(&what, bytes.map(|bytes| bytes as u64), "multiply blocks of the matrices one by one")?;
        Ok(what)
    }

    fn run<T: InFiles>(self, a: &[T], b: &[T], bias: Option<&Elements>) -> Result<(Explanation, f64)> {
        let [m, n, k] = self.size;
        let what = self.name(size_of::<T::Sum>())?;
        let bias = bias.map(|bias| self.bias::<T>(bias)).transpose()?;
        let failed = |error| failed(&format!("{what} could not be computed"), self.device, &error);
        let progress = Progress::spinner(format!("multiplying on {}", self.device.name()));
        let start = Instant::now();
        let context = Context::new(self.device).map_err(failed)?;
        context.fall_back_when_slower(self.gemm.device.falls_back());
        let matrix = |values: &[T], [rows, columns]: [usize; 2], transposed: bool| {
            let stored = if transposed { [columns, rows] } else { [rows, columns] };
            Matrix::from_slice(&context, stored, values).map_err(failed)
        };
        let a = matrix(a, [m, k], self.gemm.transpose_a)?;
        let b = matrix(b, [k, n], self.gemm.transpose_b)?;
        let bias = bias.map(|bias| Vector::from_slice(&context, bias)).transpose().map_err(failed)?;
        let a = if self.gemm.transpose_a { a.transposed() } else { a.view() };
        let b = if self.gemm.transpose_b { b.transposed() } else { b.view() };
        let product = || {
            let mut product = Product::of(a, b)?.alpha(self.gemm.alpha);
            product = product.accumulate(self.gemm.accumulate.into());
            if let Some(bias) = &bias {
                product = product.bias_columns(bias);
            }
            Ok(match self.gemm.activation {
                None => product,
                Some(Activation::Relu) => product.relu(),
                Some(Activation::Relu6) => product.relu6(),
            })
        };
        let c = product().and_then(Product::to_matrix).and_then(|c| c.to_vec()).map_err(failed)?;
        let total_seconds = start.elapsed().as_secs_f64();
        if self.gemm.explain {
            // Without them the explanation has less to say, and says so.
            let _ = context.measure_ceilings(T::ARITHMETIC);
        }
        let explanation = product().and_then(Product::explain).map_err(failed)?;
        drop(progress);
        self.output.write(|sink| npy::write(sink, m, n, &c))?;
        Ok((explanation, total_seconds))
    }

    fn bias<'b, T: InFiles>(&self, bias: &'b Elements) -> Result<&'b [T::Sum]> {
        let n = self.size[1];
        let path = self.gemm.bias.as_deref().unwrap_or(Path::new("the bias"));
        let values = T::sums(bias).ok_or_else(|| {
            let found = bias.type_name();
            anyhow!("{} holds {found}; a bias has the type of C, {}", path.display(), T::Sum::NAME)
        })?;
        if values.len() != n {
            bail!(
                "{} holds {} numbers; a bias has one for each of C's {n} columns",
                path.display(),
                values.len()
            );
        }
        Ok(values)
    }

    fn run_f64(self, a: &[f64], b: &[f64]) -> Result<(Explanation, f64)> {
        let [m, n, k] = self.size;
        let what = self.name(size_of::<f64>())?;
        let gemm = self.gemm;
        let plain = gemm.alpha == 1.0 && gemm.bias.is_none() && gemm.activation.is_none();
        if !plain || gemm.transpose_a || gemm.transpose_b {
            bail!("float64 products are plain, A times B: convert the matrices to float32 for anything else");
        }
        if !matches!(self.device, Device::Cpu) {
            bail!("{} does not offer products of float64; --device cpu does", self.device.name());
        }
        let progress = Progress::spinner(format!("multiplying on {}", self.device.name()));
        let mut c = vec![0.0; m * n];
        let start = Instant::now();
        tripipe::cpu::gemm_f64(a, b, &mut c, m, n, k, tripipe::cpu::Threads::All)
            .map_err(|error| anyhow!("{what} could not be computed: {error}"))?;
        let seconds = start.elapsed().as_secs_f64();
        drop(progress);
        self.output.write(|sink| npy::write(sink, m, n, &c))?;
        let mut explanation = Explanation::default();
        explanation.operation = format!("f64 product {m}x{n}x{k}");
        explanation.device = self.device.name();
        "blocked product".clone_into(&mut explanation.kernel);
        "the CPU path's only one in double precision".clone_into(&mut explanation.why);
        explanation.measured_seconds = Some(seconds);
        Ok((explanation, seconds))
    }
}
