//! A problem on a device: its operands, its parameters as launches, and the check of its result.

use tripipe_kernels::Role;
use tripipe_kernels::filter::{self, reference};
use tripipe_kernels::gemm::{self, Gemm, Reference};
use tripipe_kernels::plan::Bound;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind};

use super::operands::{sample, sample_image};
use crate::{BenchError, FilterProblem, Outcome, Problem};

/// Seed of the operands.
const SEED: u64 = 1;

/// The operands of a problem on an executor. They must be [released](Self::release).
pub(super) struct Subject {
    problem: Problem,
    memory: Vec<(Role, MemoryId)>,
    result: MemoryId,
    /// Contents of the result before a run whose result is checked: for products, bytes that are NaN in every
    /// floating-point type; for filters, bytes that are all wrong.
    before: Vec<u8>,
    check: Check,
}

/// How results are checked.
enum Check {
    /// Against sums in double precision and their error bounds.
    Product { gemm: Box<Gemm>, reference: Box<Reference> },
    /// Byte by byte.
    Exact { want: Vec<u8> },
    /// Against the reference of filters and its error bounds, for pixels of floating-point types.
    Bounds { source: Vec<u8> },
}

impl Subject {
    /// Makes the operands and the expected result.
    pub(super) fn new(executor: &mut dyn Executor, problem: &Problem) -> Result<Self, BenchError> {
        let fail = |reason: &dyn std::fmt::Display| BenchError::Problem {
            problem: problem.to_string(),
            reason: reason.to_string(),
        };
        // A device that does not execute launches needs no expected result.
        let executes = executor.time_source().executes();
        let (contents, output, before, check) = match problem {
            Problem::Gemm(product) => {
                let gemm = product.gemm();
                let operands = sample(&gemm, SEED);
                let mut slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
                let roles: Vec<Role> = gemm.operands().iter().map(|operand| operand.role).collect();
                let length = roles.iter().position(|role| *role == Role::C).map_or(0, |at| slices[at].len());
                let before = vec![0xFF; length];
                for (role, slice) in roles.iter().zip(&mut slices) {
                    if *role == Role::C {
                        *slice = &before;
                    }
                }
                let reference = if executes {
                    Reference::new(&gemm, &slices).map_err(|error| fail(&error))?
                } else {
                    let nothing = Gemm::new(gemm.elements, [0, 0, 0]);
                    Reference::new(&nothing, &[&[], &[], &[]]).map_err(|error| fail(&error))?
                };
                let contents: Vec<(Role, Vec<u8>)> =
                    roles.iter().zip(&slices).map(|(role, slice)| (*role, slice.to_vec())).collect();
                (
                    contents,
                    Role::C,
                    before,
                    Check::Product { gemm: Box::new(gemm), reference: Box::new(reference) },
                )
            }
            Problem::Filter(problem) => {
                let source = sample_image(problem.from(), SEED).map_err(|error| fail(&error))?;
                let (before, check) = if executes {
                    expected(problem, &source).map_err(|error| fail(&error))?
                } else {
                    let elements = problem.to().elements().map_err(|error| fail(&error))?;
                    (vec![0; elements * problem.to().element.bytes()], Check::Exact { want: Vec::new() })
                };
                let contents = vec![(Role::Source, source), (Role::Result, before.clone())];
                (contents, Role::Result, before, check)
            }
        };
        let mut subject =
            Self { problem: problem.clone(), memory: Vec::new(), result: MemoryId(0), before, check };
        for (role, bytes) in contents {
            // An operand without elements needs a buffer too; it is never read.
            let bytes = if bytes.is_empty() { vec![0; 4] } else { bytes };
            let kind = MemoryKind::Buffer { bytes: bytes.len() };
            match executor.allocate(&kind, Access::ReadWrite, Some(&bytes)) {
                Ok(id) => subject.memory.push((role, id)),
                Err(error) => {
                    subject.release(executor);
                    return Err(match error {
                        ExecuteError::DeviceLost { .. } => BenchError::Device(error.to_string()),
                        _ => fail(&error),
                    });
                }
            }
            if role == output
                && let Some((_, id)) = subject.memory.last()
            {
                subject.result = *id;
            }
        }
        Ok(subject)
    }

    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Frees the operands. Ignores errors: a lost device has already released everything.
    pub(super) fn release(&self, executor: &mut dyn Executor) {
        for (_, id) in &self.memory {
            let _ = executor.release(*id);
        }
    }

    /// The parameters that the library chooses.
    pub(super) fn default_parameters(&self, executor: &dyn Executor) -> String {
        match &self.problem {
            Problem::Gemm(product) => {
                gemm::default_parameters(&product.gemm(), executor.probe()).parameters.to_string()
            }
            Problem::Filter(problem) => {
                filter::default_parameters(problem.chain(), problem.from(), executor.probe()).0.to_string()
            }
        }
    }

    /// The launches of a set of parameters, which must be released. Their preparation has run.
    ///
    /// # Errors
    /// The outcome, if it is no time.
    pub(super) fn bind(&self, executor: &mut dyn Executor, parameters: &str) -> Result<Bound, Outcome> {
        let unsupported =
            |reason: &dyn std::fmt::Display| Outcome::Unsupported { reason: reason.to_string() };
        let plan = match (&self.problem, &self.check) {
            (Problem::Gemm(product), Check::Product { gemm, .. }) => {
                let parameters = parameters
                    .parse::<gemm::Parameters>()
                    .map_err(|error| unsupported(&format!("parameters {parameters}: {error}")))?;
                gemm::plan(gemm, &parameters, executor.probe(), product.given())
                    .map_err(|error| unsupported(&error))?
            }
            (Problem::Filter(problem), _) => {
                let parameters = parameters
                    .parse::<filter::Parameters>()
                    .map_err(|error| unsupported(&format!("parameters {parameters}: {error}")))?;
                filter::plan(problem.chain(), problem.from(), problem.to(), &parameters, executor.probe())
                    .map_err(|error| unsupported(&error))?
            }
            (Problem::Gemm(_), _) => return Err(unsupported(&"the problem is not a product")),
        };
        let bound = plan.bind(executor, &self.memory).map_err(|error| failure(&error))?;
        // Built now, so that a compiler that takes long is not mistaken for a kernel that hangs.
        let prepared = bound.preparation.iter().chain(&bound.launches);
        let built = prepared
            .into_iter()
            .try_for_each(|launch| executor.prepare(&launch.program, &launch.entry).map(|_| ()));
        if let Err(error) = built.and_then(|()| executor.run(&bound.preparation).map(|_| ())) {
            bound.release(executor);
            return Err(failure(&error));
        }
        Ok(bound)
    }

    /// Overwrites the result, so that the output of earlier launches is not mistaken for that of the next ones.
    pub(super) fn overwrite(&self, executor: &mut dyn Executor) -> Result<(), Outcome> {
        if self.before.is_empty() {
            return Ok(());
        }
        executor.write(self.result, 0, &self.before).map_err(|error| failure(&error))
    }

    /// Checks the result of launches that ran since [`Self::overwrite`].
    pub(super) fn check(&self, executor: &mut dyn Executor) -> Result<(), Outcome> {
        let wrong = |reason: &dyn std::fmt::Display| Outcome::Wrong { reason: reason.to_string() };
        let mut found = vec![0; self.before.len()];
        if !found.is_empty() {
            executor.read(self.result, 0, &mut found).map_err(|error| failure(&error))?;
        }
        match (&self.check, &self.problem) {
            (Check::Product { reference, .. }, _) => {
                reference.verify(&self.before, &found).map_err(|error| wrong(&error))
            }
            (Check::Bounds { source }, Problem::Filter(problem)) => {
                let verified =
                    reference::verify(problem.chain(), problem.from(), source, problem.to(), &found);
                verified.map_err(|error| wrong(&error))
            }
            (Check::Exact { want }, _) => {
                match want.iter().zip(&found).position(|(want, found)| want != found) {
                    None => Ok(()),
                    Some(at) => {
                        let (found, want) = (found[at], want[at]);
                        Err(wrong(&format!("byte {at} is {found}, expected {want}")))
                    }
                }
            }
            (Check::Bounds { .. }, Problem::Gemm(_)) => Err(wrong(&"the problem is not a filter")),
        }
    }
}

/// The contents of a filter's result before it runs, and how the result is checked.
fn expected(problem: &FilterProblem, source: &[u8]) -> Result<(Vec<u8>, Check), filter::FilterError> {
    let (chain, from, to) = (problem.chain(), problem.from(), problem.to());
    let mut want = vec![0; to.elements()? * to.element.bytes()];
    if from.element.is_float() || to.element.is_float() {
        return Ok((vec![0xFF; want.len()], Check::Bounds { source: source.to_vec() }));
    }
    reference::apply(chain, from, source, to, &mut want)?;
    let before = want.iter().map(|byte| !byte).collect();
    Ok((before, Check::Exact { want }))
}

/// The outcome of an error of the executor.
pub(super) fn failure(error: &ExecuteError) -> Outcome {
    let reason = error.to_string();
    match error {
        ExecuteError::Build { .. } | ExecuteError::NoSuchKernel { .. } => Outcome::BuildFailed { reason },
        ExecuteError::OutOfMemory { .. } => Outcome::OutOfMemory { reason },
        ExecuteError::DeviceLost { .. } => Outcome::DeviceLost { reason },
        ExecuteError::NotOffered { .. } | ExecuteError::Range { .. } => Outcome::Unsupported { reason },
        _ => Outcome::Failed { reason },
    }
}
