//! The CPU path on the optimisation ladders: the serial version, one thread with SIMD, all threads.

use tripipe_cpu::{self as cpu, CpuError, Threads};
use tripipe_kernels::PlanError;
use tripipe_kernels::bench::clocked;
use tripipe_kernels::gemm::{Extents, ProductExtents};
use tripipe_kernels::quantised::{Activation, QuantisedProduct, WeightFormat};

use super::{Attempt, AttemptError, Climber, Ladder, StepName, Visit};
use crate::problem::{Data, Problem, Size};

/// Runs the steps of ladders on the built-in CPU path.
#[derive(Clone, Debug, Default)]
pub struct CpuClimber {}

impl CpuClimber {
    /// A climber; the CPU path needs no setup.
    pub fn new() -> Self {
        Self {}
    }
}

/// The steps of every ladder on the CPU.
const STEPS: [(&str, &str); 3] = [
    ("serial", "plain loops on one thread, as the published baselines are"),
    ("simd", "the CPU path on one thread: loops shaped for the vector unit this CPU has"),
    ("threads", "the CPU path on all threads, each with its band of the output"),
];

impl Climber for CpuClimber {
    fn device(&self) -> String {
        cpu::name()
    }

    fn steps(&self, _: &Ladder) -> Vec<StepName> {
        STEPS.map(|(name, about)| StepName { name: name.to_owned(), about: about.to_owned() }).to_vec()
    }

    fn attempt(
        &mut self,
        ladder: &Ladder,
        step: usize,
        problem: &Problem,
        visit: &mut Visit<'_>,
    ) -> Result<(), AttemptError> {
        let way = match step {
            0 => Way::Serial(ladder.serial),
            1 => Way::Path(Threads::One),
            _ => Way::Path(Threads::All),
        };
        let output = problem.expected.blank_output();
        visit("", Ok(&mut CpuAttempt { ladder: ladder.name, problem, way, output }));
        Ok(())
    }
}

enum Way {
    Serial(fn(&Problem, &mut Data)),
    Path(Threads),
}

struct CpuAttempt<'p> {
    ladder: &'static str,
    problem: &'p Problem,
    way: Way,
    output: Data,
}

impl Attempt for CpuAttempt<'_> {
    fn prepare(&mut self) -> Result<Option<f64>, AttemptError> {
        Ok(None)
    }

    fn run(&mut self) -> Result<f64, AttemptError> {
        let _span = tripipe_trace::span("CPU path", || {
            let way = match self.way {
                Way::Serial(_) => "serial",
                Way::Path(Threads::One) => "simd",
                Way::Path(_) => "threads",
            };
            format!("{}, {way}", self.ladder)
        });
        clocked(|| match self.way {
            Way::Serial(serial) => {
                serial(self.problem, &mut self.output);
                Ok(())
            }
            Way::Path(threads) => solve(self.ladder, self.problem, &mut self.output, threads),
        })
    }

    fn output(&mut self) -> Result<Vec<u8>, AttemptError> {
        Ok(self.output.bytes().to_vec())
    }
}

/// Solves a ladder's problem with the CPU path.
fn solve(ladder: &str, problem: &Problem, output: &mut Data, threads: Threads) -> Result<(), AttemptError> {
    let done = match (ladder, problem.inputs.as_slice(), problem.size, output) {
        ("vector-add", [Data::I32(a), Data::I32(b)], _, Data::I32(c)) => cpu::vector_add(a, b, c, threads),
        ("saxpy" | "saxpy-ratio", [Data::F32(a), Data::F32(x), Data::F32(y)], _, Data::F32(z))
            if a.len() == 1 =>
        {
            cpu::saxpy(a[0], x, y, z, threads)
        }
        ("laplace", [Data::U8(source)], Size::Image { width, height }, Data::U8(result)) => {
            cpu::laplace_rgb(source, result, width, height, threads)
        }
        ("laplace-gray", [Data::U8(source)], Size::Image { width, height }, Data::U8(result)) => {
            cpu::laplace_gray(source, result, width, height, threads)
        }
        ("gemm", [Data::F32(a), Data::F32(b)], Size::Matrix { m, n, k }, Data::F32(c)) => {
            cpu::gemm_f32(a, b, c, m, n, k, threads)
        }
        ("gemm-f16", [Data::F16(a), Data::F16(b)], Size::Matrix { m, n, k }, Data::F16(c)) => {
            cpu::gemm_f16(a, b, c, m, n, k, threads)
        }
        ("gemv", [Data::F16(x), Data::F16(w)], Size::Matrix { m, n, k }, Data::F16(y)) => {
            cpu::gemm_f16(x, w, y, m, n, k, threads)
        }
        (
            "gemv-q4",
            [Data::F32(x), _, Data::I32(words), Data::I32(scales)],
            Size::Matrix { m, n, .. },
            Data::F32(y),
        ) => {
            let Some(layout) = crate::gemv_q4::layout(problem.size) else {
                return Err(PlanError::OverLimit { what: "W".to_owned(), limit: u64::from(u32::MAX) }.into());
            };
            let Extents { columns: k, .. } = layout.extents();
            let product =
                QuantisedProduct::new(WeightFormat::Q4_0, Activation::F32, ProductExtents { m, n, k });
            let packed = [words, scales].map(|words| bytemuck::cast_slice(words));
            cpu::quantised(&product, &layout, x, packed, y, threads)
        }
        ("transpose", [Data::F32(source)], Size::Image { width, height }, Data::F32(result)) => {
            cpu::transpose_f32(source, result, height, width, threads)
        }
        ("rgb-planar", [Data::U8(rgb)], Size::Image { width, height }, Data::U8(planes)) => {
            let (red, rest) = planes.split_at_mut(width * height);
            let (green, blue) = rest.split_at_mut(width * height);
            cpu::rgb_to_planes(rgb, red, green, blue, threads)
        }
        ("planar-rgb", [Data::U8(planes)], Size::Image { width, height }, Data::U8(rgb)) => {
            let (red, rest) = planes.split_at(width * height);
            let (green, blue) = rest.split_at(width * height);
            cpu::planes_to_rgb(red, green, blue, rgb, threads)
        }
        _ => {
            let what = format!("the ladder {ladder} on the CPU path");
            return Err(PlanError::NotOffered { what }.into());
        }
    };
    done.map_err(|error: CpuError| AttemptError::Cpu(error.to_string()))
}
