//! A problem on a device: its operands, its parameters as launches, and the check of its result.

use tripipe_kernels::Role;
use tripipe_kernels::filter;
use tripipe_kernels::filter::reference::{self, Expected};
use tripipe_kernels::gemm::{self, Gemm, Reference};
use tripipe_kernels::plan::Bound;
use tripipe_kernels::quantised::{self, PackedLayout, QuantisedReference, WeightMemory};
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind};

use super::operands::{PackedOperand, QuantisedOperands, numbers, sample, sample_image};
use crate::{BenchError, FilterProblem, Outcome, Problem};

/// Seed of the operands.
const SEED: u64 = 1;

/// The operands of a problem on an executor. They must be [released](Self::release).
pub(super) struct Subject {
    problem: Problem,
    memory: Vec<(Role, MemoryId)>,
    /// The packed weights, in each layout that the device offers.
    weights: Vec<(PackedLayout, Vec<(Role, MemoryId)>)>,
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
    Bounds { expected: Box<Expected> },
    /// Against sums in double precision and their error bounds. A device that does not execute has no reference.
    Quantised { reference: Option<Box<QuantisedReference>> },
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
        let mut packed = Vec::new();
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
            Problem::Quantised(product) => {
                let operands = QuantisedOperands::sample(product, SEED).map_err(|error| fail(&error))?;
                packed = operands.packed(product, executor.probe()).map_err(|error| fail(&error))?;
                let reference = executes
                    .then(|| operands.reference(product))
                    .transpose()
                    .map_err(|error| fail(&error))?;
                let before = vec![0xFF; product.spans()[1] * product.activation.scalar().bytes()];
                let contents = vec![(Role::A, operands.x), (Role::C, before.clone())];
                (contents, Role::C, before, Check::Quantised { reference: reference.map(Box::new) })
            }
        };
        let (problem, memory, weights) = (problem.clone(), Vec::new(), Vec::new());
        let mut subject = Self { problem, memory, weights, result: MemoryId(0), before, check };
        if let Err(error) = subject.allocate(executor, contents, packed, output) {
            subject.release(executor);
            return Err(match error {
                ExecuteError::DeviceLost { .. } => BenchError::Device(error.to_string()),
                _ => fail(&error),
            });
        }
        Ok(subject)
    }

    fn allocate(
        &mut self,
        executor: &mut dyn Executor,
        contents: Vec<(Role, Vec<u8>)>,
        packed: Vec<PackedOperand>,
        output: Role,
    ) -> Result<(), ExecuteError> {
        for (role, bytes) in contents {
            let id = buffer(executor, bytes)?;
            self.memory.push((role, id));
            if role == output {
                self.result = id;
            }
        }
        for PackedOperand { layout, weights, scales } in packed {
            let kind = layout.weights_memory();
            let id = executor.allocate(&kind, Access::Read, Some(&weights))?;
            self.weights.push((layout, vec![(Role::B, id)]));
            if !scales.is_empty() {
                let id = buffer(executor, scales)?;
                if let Some((_, memory)) = self.weights.last_mut() {
                    memory.push((Role::Scales, id));
                }
            }
        }
        Ok(())
    }

    pub(super) fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Frees the operands. Ignores errors: a lost device has already released everything.
    pub(super) fn release(&self, executor: &mut dyn Executor) {
        for (_, id) in self.memory.iter().chain(self.weights.iter().flat_map(|(_, memory)| memory)) {
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
                let (chain, from) = (problem.chain(), problem.from());
                filter::default_parameters(chain, from, executor.probe()).parameters.to_string()
            }
            Problem::Quantised(product) => {
                quantised::choose(product, None, executor.probe()).parameters.to_string()
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
        let mut memory = self.memory.clone();
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
            (Problem::Quantised(product), _) => {
                let parameters = parameters
                    .parse::<quantised::Parameters>()
                    .map_err(|error| unsupported(&format!("parameters {parameters}: {error}")))?;
                let (layout, weights) = self.weights_in(parameters.memory).ok_or_else(|| {
                    unsupported(&"the device offers no images of the size of these weights")
                })?;
                memory.extend(weights);
                quantised::plan(product, &parameters, layout, executor.probe())
                    .map_err(|error| unsupported(&error))?
            }
            (Problem::Gemm(_), _) => return Err(unsupported(&"the problem is not a product")),
        };
        let bound = plan.bind(executor, &memory).map_err(|error| failure(&error))?;
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

    fn weights_in(&self, memory: WeightMemory) -> Option<(&PackedLayout, &[(Role, MemoryId)])> {
        let found = self.weights.iter().find(|(layout, _)| layout.memory() == memory);
        found.map(|(layout, memory)| (layout, memory.as_slice()))
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
            (Check::Bounds { expected }, _) => expected.verify(&found).map_err(|error| wrong(&error)),
            (Check::Exact { want }, _) => {
                match want.iter().zip(&found).position(|(want, found)| want != found) {
                    None => Ok(()),
                    Some(at) => {
                        let (found, want) = (found[at], want[at]);
                        Err(wrong(&format!("byte {at} is {found}, expected {want}")))
                    }
                }
            }
            (Check::Quantised { reference: Some(reference) }, Problem::Quantised(product)) => {
                reference.verify(&numbers(product.activation, &found)).map_err(|error| wrong(&error))
            }
            (Check::Quantised { .. }, _) => Err(wrong(&"there is no reference for this problem")),
        }
    }
}

/// A buffer with these contents. An operand without elements needs a buffer too; it is never read.
fn buffer(executor: &mut dyn Executor, bytes: Vec<u8>) -> Result<MemoryId, ExecuteError> {
    let bytes = if bytes.is_empty() { vec![0; 4] } else { bytes };
    executor.allocate(&MemoryKind::Buffer { bytes: bytes.len() }, Access::ReadWrite, Some(&bytes))
}

/// The contents of a filter's result before it runs, and how the result is checked.
fn expected(problem: &FilterProblem, source: &[u8]) -> Result<(Vec<u8>, Check), filter::FilterError> {
    let (chain, from, to) = (problem.chain(), problem.from(), problem.to());
    let mut want = vec![0; to.elements()? * to.element.bytes()];
    if from.element.is_float() || to.element.is_float() {
        let expected = Box::new(Expected::new(chain, from, source, to)?);
        return Ok((vec![0xFF; want.len()], Check::Bounds { expected }));
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
