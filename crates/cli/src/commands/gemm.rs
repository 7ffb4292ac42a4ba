//! `tripipe gemm`: products of matrices in files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use half::f16;
use tripipe::gemm::{Accumulate, Factor, Product, Strides};
use tripipe::{Arithmetic, Choice, Context, Device, Explanation, Extents, Matrix, MatrixView, Vector};
use tripipe_launch::{CpuLoad, CpuTime};

use super::filter::summary_line;
use super::{DeviceArgument, context, failed, load_line, say_on};
use crate::files::input::{is_standard, shown_input};
use crate::files::memory;
use crate::files::npy::{self, Elements};
use crate::files::output::{Output, OutputPath, shown_output};
use crate::finish::Finish;
use crate::progress::Progress;
use crate::terminal;
use crate::trace::TraceArgument;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe gemm a.npy b.npy -o c.npy
  tripipe gemm x.npy weights.npy -o y.npy --transpose-b --bias bias.npy --activation relu --explain
  tripipe gemm a.npy b.npy --c c.npy --alpha 2 --beta 0.5 -o c.npy";

/// A factor: a number that is finite.
fn finite(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value.is_finite() { Ok(value) } else { Err("want a finite number".to_owned()) }
}

/// Multiply matrices from `.npy` files: C = alpha op(A) op(B) + beta C, then a bias, then an activation.
///
/// op(A) is M x K and op(B) is K x N, both float16, float32, int8 or float64, little-endian, in C or Fortran order. C
/// is written in C order and in their type; int32 for int8. float16 is accumulated in float32 unless --accumulate says
/// otherwise. float64 is always computed on the CPU path. A small product is computed on the CPU path if that is
/// faster, unless --device names a device.
///
/// Arrays of three dimensions are batches: product i is of matrix i of A and matrix i of B; an A or B of two
/// dimensions is used for all products. The path - is standard input (for one of the arrays) or standard output.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Gemm {
    /// Left matrix, or a batch.
    a: PathBuf,
    /// Right matrix, or a batch.
    b: PathBuf,
    #[command(flatten)]
    output: OutputPath,
    /// Transposes A.
    #[arg(long)]
    transpose_a: bool,
    /// Transposes B.
    #[arg(long)]
    transpose_b: bool,
    /// Factor of the product.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, value_parser = finite)]
    alpha: f64,
    /// Matrix to add, multiplied by beta: M x N of C's type, or a batch; - for standard input.
    #[arg(long, value_name = "C")]
    c: Option<PathBuf>,
    /// Factor of the added matrix [default: 1 with --c].
    #[arg(long, allow_negative_numbers = true, requires = "c", value_parser = finite)]
    beta: Option<f64>,
    /// Vector of N numbers of C's type, added to each row of C.
    #[arg(long, value_name = "BIAS")]
    bias: Option<PathBuf>,
    /// Function applied to each element last.
    #[arg(long, value_enum)]
    activation: Option<Activation>,
    /// Accumulation type for float16.
    #[arg(long, value_enum, default_value_t = Sums::F32)]
    accumulate: Sums,
    /// Reports what was chosen, why, what bounds it, and the alternatives.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    device: DeviceArgument,
    #[command(flatten)]
    pub(crate) trace: TraceArgument,
}

/// A function applied to each element last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Activation {
    /// Negative values become 0.
    Relu,
    /// Clamps to 0..6.
    Relu6,
}

/// The accumulation type for float16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sums {
    /// float32.
    F32,
    /// float16: the fastest if the device supports it; the error grows with K.
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

/// A matrix from a file, or a batch of matrices.
struct FileOperand<'f> {
    path: &'f Path,
    matrix: npy::Matrix,
    transposed: bool,
}

impl<'f> FileOperand<'f> {
    fn read(path: &'f Path, transposed: bool) -> Result<Self> {
        Ok(Self { path, matrix: npy::read(path)?, transposed })
    }

    fn extents(&self) -> [usize; 2] {
        let (rows, columns) = (self.matrix.rows, self.matrix.columns);
        if self.transposed { [columns, rows] } else { [rows, columns] }
    }

    /// Elements from one matrix of the batch to the next; 0 if one matrix serves all products.
    fn stride(&self) -> usize {
        if self.matrix.count.is_some() { self.matrix.rows * self.matrix.columns } else { 0 }
    }

    /// Its first matrix, as a view of `stacked`.
    fn first<'m, T: tripipe::Element>(
        &self,
        stacked: &'m Matrix<T>,
    ) -> Result<MatrixView<'m, T>, tripipe::Error> {
        let first = stacked.block(0..self.matrix.rows, 0..self.matrix.columns)?;
        Ok(if self.transposed { first.transposed() } else { first })
    }

    /// All its matrices, stacked vertically.
    fn stacked<T: tripipe::Element>(
        &self,
        context: &Context,
        values: &[T],
    ) -> Result<Matrix<T>, tripipe::Error> {
        let rows = self.matrix.rows.saturating_mul(self.matrix.count.unwrap_or(1));
        Matrix::from_slice(context, Extents::new(rows, self.matrix.columns), values)
    }
}

/// The contents of a file in words: `5x13 float32`, `7 times 5x13 float32 transposed`.
impl std::fmt::Display for FileOperand<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let npy::Matrix { count, rows, columns, .. } = self.matrix;
        let times = count.map(|count| format!("{count} times ")).unwrap_or_default();
        let transposed = if self.transposed { " transposed" } else { "" };
        write!(f, "{} {times}{rows}x{columns}{transposed}", shown_input(self.path))
    }
}

impl Gemm {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let device = self.device.resolve()?;
        self.check_inputs()?;
        let output = Output::open_or_standard(self.output.path())?;
        let progress = Progress::spinner("reading the matrices");
        let a = FileOperand::read(&self.a, self.transpose_a)?;
        let b = FileOperand::read(&self.b, self.transpose_b)?;
        let added = self.c.as_deref().map(npy::read_any).transpose()?;
        let bias = self.bias.as_deref().map(npy::read_vector).transpose()?;
        drop(progress);
        check(&a, &b)?;
        let ([m, k], [_, n]) = (a.extents(), b.extents());
        let count = batch(&a, &b)?;
        let sides = Sides { added, bias };
        let type_name = a.matrix.elements.type_name();
        let mut report = output.report_destination(out, self.explain);
        let work = Work { gemm: &self, device: &device, output, size: [m, n, k], count, a: &a, b: &b };
        let Multiplied { explanation, total_seconds, cpu_load } =
            match (&a.matrix.elements, &b.matrix.elements) {
                (Elements::F16(x), Elements::F16(y)) => work.run::<f16>(x, y, &sides)?,
                (Elements::F32(x), Elements::F32(y)) => work.run::<f32>(x, y, &sides)?,
                (Elements::I8(x), Elements::I8(y)) => work.run::<i8>(x, y, &sides)?,
                (Elements::F64(x), Elements::F64(y)) => {
                    // No device supports it: if the device was not named, the operands stay on the host.
                    let auto = self.device.device == Choice::Auto;
                    let device = if auto { &Device::Cpu } else { &device };
                    Work { device, ..work }.run::<f64>(x, y, &sides)?
                }
                (left, right) => {
                    // The wider type holds every number of the other.
                    let width = |of: &Elements| {
                        ["int8", "float16", "float32"].iter().position(|name| *name == of.type_name())
                    };
                    let is_left =
                        width(left).is_some_and(|left| width(right).is_none_or(|right| left < right));
                    let (converted, to) = if is_left { (&self.a, right) } else { (&self.b, left) };
                    bail!(
                        "{} holds {} and {} holds {}; convert {} with a.astype('{}')",
                        shown_input(&self.a),
                        left.type_name(),
                        shown_input(&self.b),
                        right.type_name(),
                        shown_input(converted),
                        to.type_name()
                    )
                }
            };
        let sums = if type_name == "int8" { "int32" } else { type_name };
        let times = count.map(|count| format!("{count} times ")).unwrap_or_default();
        writeln!(report, "{a} * {b} -> {} {times}{m}x{n} {sums}", shown_output(self.output.path()))?;
        if self.explain {
            let load = cpu_load.map_or_else(String::new, |load| load_line(load, FURTHER_RUNS));
            write!(report, "{}", terminal::shown(explanation.to_string() + &load))?;
        } else {
            writeln!(report, "{}", summary_line(&explanation, total_seconds))?;
        }
        Ok(Finish::Clean)
    }

    /// Standard input can be read only once.
    fn check_inputs(&self) -> Result<()> {
        let inputs = [Some(&self.a), Some(&self.b), self.c.as_ref(), self.bias.as_ref()];
        if inputs.into_iter().flatten().filter(|path| is_standard(path)).count() > 1 {
            bail!(
                "- is given for more than one array, but standard input holds one; name files for the \
                others"
            );
        }
        Ok(())
    }
}

fn check(a: &FileOperand<'_>, b: &FileOperand<'_>) -> Result<()> {
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
        "{} is {m}x{k} and {} is {k_of_b}x{n}: a product needs as many columns in A as rows in B; {hint}",
        shown_input(a.path),
        shown_input(b.path),
    )
}

/// The number of products; `None` for a product of two matrices.
fn batch(a: &FileOperand<'_>, b: &FileOperand<'_>) -> Result<Option<usize>> {
    match (a.matrix.count, b.matrix.count) {
        (Some(of_a), Some(of_b)) if of_a != of_b => bail!(
            "{} is a batch of {of_a} matrices and {} one of {of_b}; batches must have the same size, or one \
            operand must be a single matrix",
            shown_input(a.path),
            shown_input(b.path),
        ),
        (of_a, of_b) => Ok(of_a.or(of_b)),
    }
}

/// The matrix that a product is added to, and the bias of its rows.
struct Sides {
    added: Option<npy::Matrix>,
    bias: Option<Elements>,
}

/// A type of A and B, and the type of C in a file.
trait InFiles: Factor<Sum: npy::Number> {
    /// The elements of a bias, or of the matrix to add.
    fn sums(elements: &Elements) -> Option<&[Self::Sum]>;

    /// The type of C, by its name in `.npy` tools.
    const SUMS: &'static str;

    /// The arithmetic whose ceiling its multiply-adds are compared with.
    const ARITHMETIC: Arithmetic;
}

impl InFiles for f16 {
    fn sums(elements: &Elements) -> Option<&[f16]> {
        if let Elements::F16(values) = elements { Some(values) } else { None }
    }

    const SUMS: &'static str = "float16";
    const ARITHMETIC: Arithmetic = Arithmetic::F16;
}

impl InFiles for f32 {
    fn sums(elements: &Elements) -> Option<&[f32]> {
        if let Elements::F32(values) = elements { Some(values) } else { None }
    }

    const SUMS: &'static str = "float32";
    const ARITHMETIC: Arithmetic = Arithmetic::F32;
}

impl InFiles for f64 {
    fn sums(elements: &Elements) -> Option<&[f64]> {
        if let Elements::F64(values) = elements { Some(values) } else { None }
    }

    const SUMS: &'static str = "float64";
    const ARITHMETIC: Arithmetic = Arithmetic::F64;
}

impl InFiles for i8 {
    fn sums(elements: &Elements) -> Option<&[i32]> {
        if let Elements::I32(values) = elements { Some(values) } else { None }
    }

    const SUMS: &'static str = "int32";
    const ARITHMETIC: Arithmetic = Arithmetic::I8;
}

struct Work<'w> {
    gemm: &'w Gemm,
    device: &'w Device,
    output: Output,
    /// m, n, k.
    size: [usize; 3],
    /// The number of products in a batch; `None` for one product.
    count: Option<usize>,
    a: &'w FileOperand<'w>,
    b: &'w FileOperand<'w>,
}

/// Runs after the first one, for an explanation.
const FURTHER_RUNS: usize = 4;

/// How a product was made.
struct Multiplied {
    explanation: Explanation,
    /// Wall time of the first run, including start-up and copies.
    total_seconds: f64,
    /// How busy the host's CPU was in the further runs.
    cpu_load: Option<CpuLoad>,
}

impl Work<'_> {
    /// Extents of the result.
    fn extents(&self) -> Vec<usize> {
        let [m, n, _] = self.size;
        self.count.into_iter().chain([m, n]).collect()
    }

    /// Its name in messages, after a check that it fits into memory.
    fn name(&self, element_bytes: usize) -> Result<String> {
        let [m, n, _] = self.size;
        let times = self.count.map(|count| format!("{count} times ")).unwrap_or_default();
        let (a, b) = (shown_input(&self.gemm.a), shown_input(&self.gemm.b));
        let what = format!("the {times}{m}x{n} product of {a} and {b}");
        let elements = self.extents().into_iter().try_fold(1usize, usize::checked_mul);
        let bytes = elements.and_then(|elements| elements.checked_mul(element_bytes));
        memory::check(&what, bytes.map(|bytes| bytes as u64), "multiply the matrices in blocks")?;
        Ok(what)
    }

    fn run<T: InFiles>(self, a: &[T], b: &[T], sides: &Sides) -> Result<Multiplied> {
        let [m, n, _] = self.size;
        let what = self.name(size_of::<T::Sum>())?;
        let bias = sides.bias.as_ref().map(|bias| self.bias::<T>(bias)).transpose()?;
        let added = sides.added.as_ref().map(|added| self.added::<T>(added)).transpose()?;
        let beta = if added.is_some() { self.gemm.beta.unwrap_or(1.0) } else { 0.0 };
        let failed = |error| failed(&format!("{what} could not be computed"), self.device, &error);
        let progress = Progress::spinner("");
        say_on(&progress, "multiplying", self.device);
        let start = Instant::now();
        let context =
            context(self.device, self.gemm.device.falls_back(), self.gemm.explain).map_err(failed)?;
        let (x, y) =
            (self.a.stacked(&context, a).map_err(failed)?, self.b.stacked(&context, b).map_err(failed)?);
        let bias = bias.map(|bias| Vector::from_slice(&context, bias)).transpose().map_err(failed)?;
        let count = self.count.unwrap_or(1);
        let rows = m.saturating_mul(count);
        let mut c = match added {
            Some(values) => Matrix::from_slice(&context, Extents::new(rows, n), values),
            None => Matrix::zeros(&context, Extents::new(rows, n)),
        }
        .map_err(failed)?;
        let product = || {
            let (a, b) = (self.a.first(&x)?, self.b.first(&y)?);
            let mut product = Product::new(a, b)?.alpha(self.gemm.alpha).beta(beta);
            product = product.accumulate(self.gemm.accumulate.into());
            if self.count.is_some() {
                product =
                    product.strided(count, Strides { a: self.a.stride(), b: self.b.stride(), c: m * n });
            }
            if let Some(bias) = &bias {
                product = product.bias_columns(bias);
            }
            Ok(match self.gemm.activation {
                None => product,
                Some(Activation::Relu) => product.relu(),
                Some(Activation::Relu6) => product.relu6(),
            })
        };
        if count > 0 {
            let first = c.block_mut(0..m, 0..n).map_err(failed)?;
            product().and_then(|product| product.store(first)?.wait()).map_err(failed)?;
        }
        let values = c.to_vec().map_err(failed)?;
        let total_seconds = start.elapsed().as_secs_f64();
        let mut cpu = CpuTime::default();
        if self.gemm.explain {
            // The first run is not representative. On a virtual GPU, every run is the same, and the load is the simulator's.
            let further =
                if matches!(self.device, Device::Virtual(_)) || count == 0 { 0 } else { FURTHER_RUNS };
            for _ in 0..further {
                let again = c.block_mut(0..m, 0..n).map_err(failed)?;
                cpu.measure(|| product().and_then(|product| product.store(again)?.wait())).map_err(failed)?;
            }
            // Without ceilings, the explanation contains less, and says so.
            let _ = context.measure_ceilings(T::ARITHMETIC);
        }
        let explanation = if count > 0 {
            product().and_then(Product::explain).map_err(failed)?
        } else {
            nothing_done(self.device)
        };
        drop(progress);
        let extents = self.extents();
        self.output.write(|sink| npy::write(sink, &extents, &values))?;
        Ok(Multiplied { explanation, total_seconds, cpu_load: cpu.load() })
    }

    /// The elements of the matrix to add, which has the result's extents and type.
    fn added<'c, T: InFiles>(&self, added: &'c npy::Matrix) -> Result<&'c [T::Sum]> {
        let shown = shown_input(self.gemm.c.as_deref().unwrap_or(Path::new("C")));
        let values = T::sums(&added.elements).ok_or_else(|| {
            anyhow!(
                "{shown} holds {}; the added matrix must have the type of C, {}",
                added.elements.type_name(),
                T::SUMS
            )
        })?;
        let found: Vec<usize> = added.count.into_iter().chain([added.rows, added.columns]).collect();
        let want = self.extents();
        if found != want {
            let shown_extents =
                |extents: &[usize]| extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
            bail!(
                "{shown} is {}; the added matrix must have the extents of C, {}",
                shown_extents(&found),
                shown_extents(&want)
            );
        }
        Ok(values)
    }

    fn bias<'b, T: InFiles>(&self, bias: &'b Elements) -> Result<&'b [T::Sum]> {
        let n = self.size[1];
        let shown = shown_input(self.gemm.bias.as_deref().unwrap_or(Path::new("the bias")));
        let values = T::sums(bias).ok_or_else(|| {
            anyhow!("{shown} holds {}; a bias must have the type of C, {}", bias.type_name(), T::SUMS)
        })?;
        if values.len() != n {
            bail!("{shown} holds {} numbers; a bias must have one for each of C's {n} columns", values.len());
        }
        Ok(values)
    }
}

/// The explanation of a batch without products.
fn nothing_done(device: &Device) -> Explanation {
    let mut explanation = Explanation::default();
    "an empty batch of products".clone_into(&mut explanation.operation);
    explanation.device = device.name();
    "nothing".clone_into(&mut explanation.kernel);
    "there is no product in the batch".clone_into(&mut explanation.why);
    explanation
}
