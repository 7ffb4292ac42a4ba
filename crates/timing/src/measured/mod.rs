//! Other people's measurements beside predictions: tables of them, the kernels that they name, and the errors.
//!
//! A table is a CSV file with the columns `device`, `model_gpu`, `what_if`, `kernel`, `source`, `unit`, `measured`, and
//! perhaps `held_out` and `fitted`. `data/measured` has the project's own table and the kernels that it names.

mod kernels;
mod rows;
mod summary;

use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tripipe_device::{Gpu, GpuChangeError};
use tripipe_launch::{Access, Argument, ExecuteError, Executor as _, Launch, MemoryKind};

use crate::executor::{VirtualGpu, VirtualOptions};
use crate::predict::{Options, Prediction};
use kernels::MicroKernel;
pub use kernels::NamedKernelError;
pub use rows::{Row, RowError, Rows, Unit};
pub use summary::{Outcome, Summary};

/// The table of the project, by path and content.
pub const OPEN: (&str, &str) =
    ("crates/timing/data/measured/open-2026-11.csv", include_str!("../../data/measured/open-2026-11.csv"));

/// Why there is no prediction for a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasuredError {
    /// The row names no kernel that is known.
    #[error(transparent)]
    Kernel(#[from] NamedKernelError),
    /// The GPU cannot be changed so.
    #[error(transparent)]
    Change(#[from] GpuChangeError),
    /// The kernel has no operations that a rate could count.
    #[error("it computes nothing: want GB/s, ms or us instead of Gop/s")]
    NoOperations(String),
    /// The kernel has no traffic that a rate could count.
    #[error("it measures arithmetic: want Gop/s, ms or us instead of GB/s")]
    NoBytes(String),
    /// The launch cannot run.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// A predicted row.
#[derive(Clone, Debug)]
pub struct PredictedRow {
    /// The prediction of one launch.
    pub prediction: Prediction,
    /// What the launch does, in the row's unit times seconds: `None` where the unit is a time.
    pub work: Option<f64>,
}

/// Something of each row, such as its prediction, in the rows' order; several at a time.
pub fn each<T: Send>(rows: &[Row], of: impl Fn(&Row) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(rows.len().max(1));
    let of = &of;
    thread::scope(|scope| {
        // Neighbours take about as long as each other, so that threads take turns.
        let started: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || rows.iter().skip(first).step_by(threads).map(of).collect::<Vec<T>>())
            })
            .collect();
        let mut parts: Vec<_> = started
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).into_iter())
            .collect();
        (0..rows.len()).filter_map(|at| parts.get_mut(at % threads)?.next()).collect()
    })
}

impl Row {
    /// The GPU with the row's changes; `None` if there are none.
    ///
    /// # Errors
    /// [`GpuChangeError`].
    pub fn changed(&self) -> Result<Option<Arc<Gpu>>, GpuChangeError> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        let mut gpu = self.gpu.clone();
        self.changes.iter().try_for_each(|change| change.apply(&mut gpu))?;
        Ok(Some(Arc::new(gpu)))
    }

    /// Predicts the launch of a named kernel.
    ///
    /// # Errors
    /// [`MeasuredError`]: the kernel is not known, does not compile, or cannot run on the GPU.
    pub fn predict(&self) -> Result<PredictedRow, MeasuredError> {
        let changed = self.changed()?;
        let gpu = changed.as_deref().unwrap_or(self.gpu);
        let MicroKernel { program, entry, buffers, values, range, operations, bytes } =
            MicroKernel::named(&self.kernel, &self.device, gpu)?;
        if self.unit == Unit::GigaoperationsPerSecond && operations == 0.0 {
            return Err(MeasuredError::NoOperations(self.kernel.clone()));
        }
        if self.unit == Unit::GigabytesPerSecond && bytes == 0.0 {
            return Err(MeasuredError::NoBytes(self.kernel.clone()));
        }
        let prediction = Options::default();
        // No path of these kernels depends on the contents of buffers.
        let options = VirtualOptions {
            time_only: true,
            prediction,
            changed: changed.clone(),
            ..VirtualOptions::default()
        };
        let mut device = VirtualGpu::new(self.gpu, options);
        let program = Arc::new(program);
        let facts = device.prepare(&program, entry)?;
        let range = range.within(facts.max_work_group_size);
        let mut arguments = Vec::new();
        for bytes in buffers {
            arguments.push(Argument::Memory(device.allocate(
                &MemoryKind::Buffer { bytes },
                Access::ReadWrite,
                None,
            )?));
        }
        values.insert_into(&mut arguments);
        let launch = Launch { program, entry: entry.to_owned(), arguments, range };
        device.run(std::slice::from_ref(&launch))?;
        let prediction = device.predictions().first().cloned().unwrap_or_default();
        let work = match self.unit {
            Unit::GigabytesPerSecond => Some(bytes * 1e-9),
            Unit::GigaoperationsPerSecond => Some(operations * 1e-9),
            Unit::Milliseconds | Unit::Microseconds => None,
        };
        Ok(PredictedRow { prediction, work })
    }
}
