//! Operations without choices: resizing, camera frames, vectors, reductions, the transpose, histograms.

use std::sync::Arc;

use half::f16;
use tripipe_device::Probe;
use tripipe_kernels::elementwise::{self, Grid, Matrix, Reduction, Vector};
use tripipe_kernels::filter::{
    Element, FilterError, Interpolation, Layout, Raster, Semiplanar, resize, rgb_to_frame, semiplanar_to_rgb,
};
use tripipe_kernels::{Plan, PlanError};
use tripipe_launch::ScalarType;

use crate::cpu::{self, CpuError, Threads};
use crate::explanation::{Arithmetic, Explanation};
use crate::kept::{Described, Family, key};
use crate::memory::{Memory, elements_of as cast, elements_of_mut as cast_mut};
use crate::operation::{Doer, Host, HostWork, Later, Operation, Size};
use crate::{Context, Error, Pending};

/// The operation and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Task {
    Resize {
        interpolation: Interpolation,
        from: Raster,
        to: Raster,
    },
    ToRgb {
        from: Semiplanar,
        to: Raster,
    },
    ToFrame {
        from: Raster,
        to: Semiplanar,
    },
    Axpy {
        alpha: f32,
        length: usize,
        element: Element,
    },
    /// `y` equals `x` when there is one operand.
    Reduce {
        reduction: Reduction,
        x: Grid,
        y: Grid,
        element: ScalarType,
    },
    Histogram {
        raster: Raster,
    },
    Transpose {
        rows: usize,
        columns: usize,
        element_bytes: usize,
    },
}

/// A task that is ready to run.
pub(crate) struct Simple {
    task: Task,
    operation: Operation,
}

impl Context {
    /// Prepares a task; the latest are cached.
    ///
    /// # Errors
    /// Shapes that do not match; a kernel does not build; the device is gone.
    pub(crate) fn simple(&self, task: Task) -> Result<Arc<Simple>, Error> {
        self.kept().get_or_make(
            task.key(),
            |known: &Simple| known.task == task,
            || {
                let plan = |probe: &Probe| Ok(task.plan(probe)?);
                let host = Host { work: task.host(), small: task.is_small(), size: task.size()? };
                let relative = self.kept().relative(|known: &Simple| known.task.costs_as(&task));
                let tried = relative.and_then(|known| known.operation.trial());
                let doer = tried.map_or(Doer::Fastest, Doer::AsTried);
                Ok(Simple { task, operation: Operation::new(self, task.kernel(), plan, host, doer)? })
            },
        )
    }
}

impl Simple {
    /// Queues it over its inputs and the result, which is the last operand.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub(crate) fn run(&self, inputs: &[&Memory], result: &Memory) -> Result<Pending, Error> {
        self.run_later(inputs, result, &[])
    }

    /// As [`Self::run`], over operands that begin later than the task says.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub(crate) fn run_later(
        &self,
        inputs: &[&Memory],
        result: &Memory,
        later: &[Later],
    ) -> Result<Pending, Error> {
        let mut operands: Vec<(&'static str, &Memory)> =
            inputs.iter().map(|memory| ("an operand", *memory)).collect();
        operands.push(("the result", result));
        self.operation.run(&operands, later)
    }
}

impl Described for Simple {
    fn family(&self) -> Family {
        Family::Other
    }

    fn explain(&self) -> Explanation {
        let mut explanation = self.operation.explanation(self.task.name());
        let (kernel, why) = if self.operation.runs_kernels() {
            (self.task.kernel(), "there is no other kernel for it")
        } else {
            ("a loop", "the CPU path has one way to do it")
        };
        kernel.clone_into(&mut explanation.kernel);
        why.clone_into(&mut explanation.why);
        explanation.runners_up.extend(self.operation.runner_up(self.task.kernel()));
        let bytes = self.operation.bytes();
        self.operation.add_bound(&mut explanation, Arithmetic::F32, bytes as f64);
        explanation
    }
}

impl Task {
    /// A short description.
    fn name(&self) -> String {
        let image = |Raster { width, height, channels, element, .. }: &Raster| {
            format!("{width}x{height}, {channels} x {element}")
        };
        match self {
            Self::Resize { interpolation, from, to } => {
                format!("{interpolation} resizing of {} to {}x{}", image(from), to.width, to.height)
            }
            Self::ToRgb { to, .. } => format!("frame to {}", image(to)),
            Self::ToFrame { from, .. } => format!("{} to a frame", image(from)),
            Self::Axpy { length, element, .. } => format!("scaled sum of {length} {element}"),
            Self::Reduce { reduction, x, element, .. } => {
                format!("{reduction} of {} {}", x.count(), name_of(*element))
            }
            Self::Histogram { raster } => format!("histogram of {}", image(raster)),
            Self::Transpose { rows, columns, element_bytes } => {
                format!("transpose of {rows}x{columns}, {element_bytes} bytes each")
            }
        }
    }

    fn kernel(&self) -> &'static str {
        match self {
            Self::Resize { .. } => "resize",
            Self::ToRgb { .. } => "semiplanar to RGB",
            Self::ToFrame { .. } => "RGB to semiplanar",
            Self::Axpy { .. } => "axpy",
            Self::Reduce { .. } => "reduction in two launches",
            Self::Histogram { .. } => "histogram",
            Self::Transpose { .. } => "transpose in tiles",
        }
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        match *self {
            Self::Resize { interpolation, from, to } => resize(interpolation, &from, &to, probe),
            Self::ToRgb { from, to } => semiplanar_to_rgb(&from, &to, probe),
            Self::ToFrame { from, to } => rgb_to_frame(&from, &to, probe),
            Self::Axpy { alpha, length, element } => {
                elementwise::axpy(alpha, Vector::dense(length), Vector::dense(length), element)
            }
            Self::Reduce { reduction, x, y, element } => {
                let y = (reduction == Reduction::Dot).then_some(y);
                elementwise::reduce(reduction, x, y, element, probe)
            }
            Self::Histogram { raster } => elementwise::histogram(&raster, probe),
            Self::Transpose { rows, columns, element_bytes } => {
                elementwise::transpose(Matrix::dense(columns, rows), [0, rows], element_bytes)
            }
        }
    }

    /// Whether both cost the same: they differ only in a factor.
    fn costs_as(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Axpy { length, element, .. }, Self::Axpy { length: of_other, element: other, .. }) => {
                length == of_other && element == other
            }
            _ => false,
        }
    }

    /// A hash that distinguishes most tasks.
    fn key(&self) -> u64 {
        let kind = std::mem::discriminant(self);
        match self {
            Self::Resize { from, to, .. } => key(&(kind, from, to)),
            Self::ToRgb { to: image, .. }
            | Self::ToFrame { from: image, .. }
            | Self::Histogram { raster: image } => key(&(kind, image)),
            Self::Axpy { alpha, length, element } => key(&(kind, alpha.to_bits(), length, element)),
            Self::Reduce { reduction, x, element, .. } => key(&(kind, reduction, x, element)),
            Self::Transpose { rows, columns, element_bytes } => key(&(kind, rows, columns, element_bytes)),
        }
    }

    /// The number of elements of the larger operand, or of pixels of the result.
    fn elements(&self) -> usize {
        match self {
            Self::Resize { to, .. } | Self::ToRgb { to, .. } => to.width * to.height,
            Self::Axpy { length, .. } => *length,
            Self::Reduce { x, .. } => x.count(),
            Self::Histogram { raster } | Self::ToFrame { from: raster, .. } => raster.width * raster.height,
            Self::Transpose { rows, columns, .. } => rows * columns,
        }
    }

    /// Whether the CPU path does it in less time than waking another thread takes.
    fn is_small(&self) -> bool {
        const ELEMENTS: usize = 1 << 13;
        self.elements() <= ELEMENTS
    }

    /// The sizes of its operands, the result last; one operation per element.
    fn size(&self) -> Result<Size, FilterError> {
        let raster = |raster: &Raster| Ok::<_, FilterError>(raster.elements()? * raster.element.bytes());
        let operands = match self {
            Self::Resize { from, to, .. } => vec![raster(from)?, raster(to)?],
            Self::ToRgb { from, to } => {
                let [luma, chroma] = from.planes();
                vec![raster(&luma)?, raster(&chroma)?, raster(to)?]
            }
            Self::ToFrame { from, to } => vec![raster(from)?, to.bytes()],
            Self::Axpy { length, element, .. } => vec![length * element.bytes(); 2],
            Self::Reduce { reduction, x, y, element } => {
                let inputs = if *reduction == Reduction::Dot { vec![x, y] } else { vec![x] };
                // They are stored in memory that exists.
                let bytes = |grid: &Grid| grid.span().unwrap_or(usize::MAX).saturating_mul(element.bytes());
                let mut operands: Vec<usize> = inputs.into_iter().map(bytes).collect();
                operands.push(reduction.result_bytes(*element));
                operands
            }
            Self::Histogram { raster: image } => vec![raster(image)?, 256 * size_of::<u32>()],
            Self::Transpose { rows, columns, element_bytes } => vec![rows * columns * element_bytes; 2],
        };
        let pixels =
            |raster: &Raster| raster.width * raster.height * raster.channels * raster.element.bytes();
        let written = match self {
            Self::Resize { to, .. } | Self::ToRgb { to, .. } => pixels(to),
            Self::ToFrame { to, .. } => to.planes().iter().map(pixels).sum(),
            Self::Axpy { .. } => 0,
            Self::Reduce { .. } | Self::Histogram { .. } | Self::Transpose { .. } => {
                operands.last().copied().unwrap_or(0)
            }
        };
        Ok(Size { result: operands.len() - 1, operands, written, operations: self.elements() as f64 })
    }

    fn host(self) -> HostWork {
        Arc::new(move |inputs, output, threads| match (self, inputs) {
            (Self::Resize { interpolation, from, to }, [source]) => {
                cpu::resize(interpolation, &from, source, &to, output, threads)
            }
            (Self::ToRgb { from, to }, [luma, chroma]) => {
                cpu::semiplanar_to_rgb(&from, luma, chroma, &to, output, threads)
            }
            (Self::ToFrame { from, to }, [source]) => cpu::rgb_to_frame(&from, source, &to, output, threads),
            (Self::Axpy { alpha, length, element: Element::F16 }, [x]) => {
                axpy::<f16>(alpha, &cast(x)[..length], &mut cast_mut(output)[..length]);
                Ok(())
            }
            (Self::Axpy { alpha, length, .. }, [x]) => {
                axpy::<f32>(alpha, &cast(x)[..length], &mut cast_mut(output)[..length]);
                Ok(())
            }
            (Self::Reduce { reduction, x, y, element }, [x_bytes, rest @ ..]) => {
                let y_bytes = rest.first().unwrap_or(x_bytes);
                cpu::reduce(reduction, element, (&x, x_bytes), (&y, y_bytes), output);
                Ok(())
            }
            (Self::Histogram { raster }, [image]) => {
                histogram(&raster, image, &mut cast_mut::<u32>(output)[..256]);
                Ok(())
            }
            (Self::Transpose { rows, columns, element_bytes }, [from]) => {
                transpose(from, output, [rows, columns], element_bytes, threads)
            }
            _ => Ok(()),
        })
    }
}

/// The Rust name of a type.
pub(crate) fn name_of(element: ScalarType) -> String {
    format!("{element:?}").to_lowercase()
}

trait Real: Copy + Into<f32> {
    fn of(value: f32) -> Self;
}

impl Real for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl Real for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

fn axpy<T: Real>(alpha: f32, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = T::of((*y).into() + alpha * (*x).into());
    }
}

fn histogram(raster: &Raster, image: &[u8], bins: &mut [u32]) {
    bins.fill(0);
    if raster.is_empty() {
        return;
    }
    let planes = if raster.layout == Layout::Packed { 1 } else { raster.channels };
    for plane in 0..planes {
        for y in 0..raster.height {
            let first = raster.index([0, y], if planes > 1 { plane } else { 0 });
            if raster.element == Element::U16 {
                for value in &cast::<u16>(image)[first..][..raster.row_elements()] {
                    bins[usize::from(*value >> 8)] += 1;
                }
            } else {
                for value in &image[first..][..raster.row_elements()] {
                    bins[usize::from(*value)] += 1;
                }
            }
        }
    }
}

fn transpose(
    from: &[u8],
    to: &mut [u8],
    [rows, columns]: [usize; 2],
    element_bytes: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    match element_bytes {
        1 => cpu::transpose_u8(&from[..rows * columns], &mut to[..rows * columns], rows, columns, threads),
        4 => cpu::transpose_f32(
            &cast(from)[..rows * columns],
            &mut cast_mut(to)[..rows * columns],
            rows,
            columns,
            threads,
        ),
        _ => {
            for (i, row) in from.chunks_exact(columns.max(1) * element_bytes).take(rows).enumerate() {
                for (j, element) in row.chunks_exact(element_bytes).enumerate() {
                    to[(j * rows + i) * element_bytes..][..element_bytes].copy_from_slice(element);
                }
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use tripipe_kernels::elementwise::{Grid, Reduction};
    use tripipe_kernels::filter::{Element, Raster};
    use tripipe_launch::ScalarType;

    use super::Task;

    /// Text for users has no names of enum variants.
    #[test]
    fn tasks_have_names_in_words() {
        let x = Grid::dense(12);
        let of = |reduction| Task::Reduce { reduction, x, y: x, element: ScalarType::F32 }.name();
        let names = [Reduction::Sum, Reduction::Dot, Reduction::Least, Reduction::Most].map(of);
        let wanted = [
            "sum of 12 f32",
            "dot product of 12 f32",
            "smallest element of 12 f32",
            "largest element of 12 f32",
        ];
        assert_eq!(names, wanted);
        let raster = Raster::packed([3, 2], 3, Element::U8);
        assert_eq!(Task::Histogram { raster }.name(), "histogram of 3x2, 3 x u8");
    }
}
