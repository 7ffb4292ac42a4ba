//! `tripipe gemm`: a matrix product from files.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use half::f16;
use tripipe::{Device, Error, Explanation};

use super::filter::said;
use super::{DeviceArgument, failed};
use crate::Finish;
use crate::files::npy::{self, Elements, Matrix};
use crate::files::{memory, output::Output};
use crate::progress::Progress;

/// Multiply two matrices from `.npy` files: C = A B.
///
/// A is M x K, B is K x N, both float16, float32 or float64 (float64 on the CPU path alone), little-endian, in C or
/// Fortran order. C is written in their type and in C order. float16 is summed in float32 on the CPU path, in float16 on
/// an OpenCL device.
///
/// Example: tripipe gemm a.npy b.npy -o c.npy
#[derive(Args)]
pub(crate) struct Gemm {
    /// Left matrix, M x K.
    a: PathBuf,
    /// Right matrix, K x N.
    b: PathBuf,
    /// Where the product goes, M x N; what is there is replaced once the new one is whole.
    #[arg(short, long, value_name = "C")]
    output: PathBuf,
    #[command(flatten)]
    device: DeviceArgument,
}

/// A product of one type, as the library offers it.
type Product<T> = fn(&Device, [&[T]; 2], &mut [T], [usize; 3]) -> std::result::Result<Explanation, Error>;

impl Gemm {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let device = self.device.resolve()?;
        let output = Output::open(&self.output)?;
        let progress = Progress::spinner("reading the matrices");
        let (a, b) = (npy::read(&self.a)?, npy::read(&self.b)?);
        drop(progress);
        self.check(&a, &b)?;
        let work = Work { gemm: &self, device: &device, output, size: [a.rows, b.columns, a.columns] };
        let explanation = match (&a.elements, &b.elements) {
            (Elements::F16(a), Elements::F16(b)) => work.run(a, b, f16::ZERO, tripipe::gemm::gemm_f16)?,
            (Elements::F32(a), Elements::F32(b)) => work.run(a, b, 0.0, tripipe::gemm::gemm_f32)?,
            (Elements::F64(a), Elements::F64(b)) => {
                // Left to choose, the product goes where it can be had.
                let device = if self.device.device == tripipe::Choice::Auto { &Device::Cpu } else { &device };
                Work { device, ..work }.run(a, b, 0.0, tripipe::gemm::gemm_f64)?
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
        writeln!(
            out,
            "{} {}x{} * {} {}x{} -> {} {}x{} {}",
            self.a.display(),
            a.rows,
            a.columns,
            self.b.display(),
            b.rows,
            b.columns,
            self.output.display(),
            a.rows,
            b.columns,
            a.elements.type_name()
        )?;
        writeln!(out, "{}", said(&explanation))?;
        Ok(Finish::Clean)
    }

    fn check(&self, a: &Matrix, b: &Matrix) -> Result<()> {
        if a.columns == b.rows {
            return Ok(());
        }
        let hint = if a.columns == b.columns {
            "transpose B (b.T)"
        } else if a.rows == b.rows {
            "transpose A (a.T)"
        } else if b.columns == a.rows {
            "swap the two"
        } else {
            "check which matrices these are"
        };
        bail!(
            "{} is {}x{} and {} is {}x{}: a product wants as many columns in A as rows in B; {hint}",
            self.a.display(),
            a.rows,
            a.columns,
            self.b.display(),
            b.rows,
            b.columns
        )
    }
}

struct Work<'w> {
    gemm: &'w Gemm,
    device: &'w Device,
    output: Output,
    /// m, n, k.
    size: [usize; 3],
}

impl Work<'_> {
    fn run<T: npyz::AutoSerialize + Copy>(
        self,
        a: &[T],
        b: &[T],
        zero: T,
        product: Product<T>,
    ) -> Result<Explanation> {
        let [m, n, _] = self.size;
        let names = |path: &Path| path.display().to_string();
        let what = format!("the {m}x{n} product of {} and {}", names(&self.gemm.a), names(&self.gemm.b));
        let elements = m.checked_mul(n);
        let bytes = elements.and_then(|count| count.checked_mul(size_of::<T>()));
        memory::check(&what, bytes.map(|bytes| bytes as u64), "multiply blocks of the matrices one by one")?;
        let mut c = vec![zero; elements.unwrap_or(0)];
        let progress = Progress::spinner(format!("multiplying on {}", self.device.name()));
        let explanation = product(self.device, [a, b], &mut c, self.size)
            .map_err(|error| failed(&format!("{what} could not be computed"), self.device, &error))?;
        drop(progress);
        self.output.write(|sink| npy::write(sink, m, n, &c))?;
        Ok(explanation)
    }
}
