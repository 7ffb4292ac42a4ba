//! A problem on a device: its operands, its parameters as launches, and the check of its result.

use std::mem;
use std::str::FromStr;

use tripipe_device::Probe;
use tripipe_kernels::Role;
use tripipe_kernels::bench::{Bench, ResultMemory, WrittenBehind};
use tripipe_kernels::filter;
use tripipe_kernels::filter::reference::{self, Expected};
use tripipe_kernels::gemm::{self, Gemm, ProductExtents, Reference};
use tripipe_kernels::plan::Bound;
use tripipe_kernels::quantised::{self, PackedLayout, QuantisedReference, WeightMemory};
use tripipe_launch::{ExecuteError, Launch, MemoryId};

use super::kernel::KernelRun;
use super::operands::{PackedOperand, QuantisedOperands, numbers, sample, sample_image};
use crate::{BenchError, FilterProblem, Outcome, Problem};

/// Seed of the operands.
const SEED: u64 = 1;

/// A problem that is set up on a device.
pub(super) trait Subject {
    /// The parameters of the reference kernel.
    fn default_parameters(&self, probe: &Probe) -> String;

    /// The launches of a set of parameters, which must be released. They are built, and their preparation has run.
    ///
    /// # Errors
    /// The outcome, if it is no time.
    fn bind(&mut self, bench: &mut Bench<'_>, parameters: &str) -> Result<BoundCandidate, Outcome>;

    /// Frees what only these launches need.
    fn release(&mut self, bench: &mut Bench<'_>, bound: BoundCandidate);

    /// Overwrites the result, so that the output of earlier launches is not mistaken for that of the next ones.
    fn overwrite(&mut self, bench: &mut Bench<'_>, bound: &BoundCandidate) -> Result<(), Outcome>;

    /// Checks the result of launches that ran since [`Self::overwrite`].
    fn check(&self, bench: &mut Bench<'_>, bound: &BoundCandidate) -> Result<(), Outcome>;

    /// Frees the memory of the problem.
    fn clear(&mut self, bench: &mut Bench<'_>);
}

/// The launches of a candidate.
pub(super) struct BoundCandidate {
    pub(super) launches: Vec<Launch>,
    /// Memory of a plan of the library.
    pub(super) plan: Option<Bound>,
    /// What a kernel of the user needs.
    pub(super) kernel: Option<KernelRun>,
}

/// The operands of a problem, in the memory of a bench.
pub(super) struct LibrarySubject {
    problem: Problem,
    memory: Vec<(Role, MemoryId)>,
    /// The packed weights, in each layout that the device offers.
    weights: Vec<(PackedLayout, Vec<(Role, MemoryId)>)>,
    result: ResultMemory,
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

impl LibrarySubject {
    /// Makes the operands and the expected result.
    pub(super) fn new(bench: &mut Bench<'_>, problem: &Problem) -> Result<Self, BenchError> {
        let fail = |reason: &dyn std::fmt::Display| BenchError::Problem {
            problem: problem.to_string(),
            reason: reason.to_string(),
        };
        // A device that does not execute launches needs no expected result.
        let executes = bench.time_source().executes();
        let mut packed = Vec::new();
        let (contents, output, before, check) = match problem {
            Problem::Kernel(_) => return Err(fail(&"it is not a problem of the library")),
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
                    let nothing = Gemm::new(gemm.elements, ProductExtents { m: 0, n: 0, k: 0 });
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
                packed = operands.packed(product, bench.probe()).map_err(|error| fail(&error))?;
                let reference = executes
                    .then(|| operands.reference(product))
                    .transpose()
                    .map_err(|error| fail(&error))?;
                let before = vec![0xFF; product.spans()[1] * product.activation.scalar().bytes()];
                let contents = vec![(Role::A, operands.x), (Role::C, before.clone())];
                (contents, Role::C, before, Check::Quantised { reference: reference.map(Box::new) })
            }
        };
        let allocated = allocate(bench, contents, packed, output);
        let (memory, weights, result) = allocated.map_err(|error| {
            bench.clear();
            match error {
                ExecuteError::DeviceLost { .. } => BenchError::Device(error.to_string()),
                _ => fail(&error),
            }
        })?;
        Ok(Self { problem: problem.clone(), memory, weights, result, before, check })
    }

    fn weights_in(&self, memory: WeightMemory) -> Option<(&PackedLayout, &[(Role, MemoryId)])> {
        let found = self.weights.iter().find(|(layout, _)| layout.memory() == memory);
        found.map(|(layout, memory)| (layout, memory.as_slice()))
    }
}

impl Subject for LibrarySubject {
    /// The parameters that the library chooses.
    fn default_parameters(&self, probe: &Probe) -> String {
        match &self.problem {
            Problem::Gemm(product) => gemm::default_parameters(&product.gemm(), probe).parameters.to_string(),
            Problem::Filter(problem) => {
                let (chain, from) = (problem.chain(), problem.from());
                filter::default_parameters(chain, from, probe).parameters.to_string()
            }
            Problem::Quantised(product) => quantised::choose(product, None, probe).parameters.to_string(),
            Problem::Kernel(kernel) => kernel.first().to_owned(),
        }
    }

    fn bind(&mut self, bench: &mut Bench<'_>, parameters: &str) -> Result<BoundCandidate, Outcome> {
        let probe = bench.probe();
        let mut memory = self.memory.clone();
        let plan = match (&self.problem, &self.check) {
            (Problem::Gemm(product), Check::Product { gemm, .. }) => {
                gemm::plan(gemm, &parsed(parameters)?, probe, product.given()).map_err(unsupported)?
            }
            (Problem::Filter(problem), _) => {
                let (chain, from, to) = (problem.chain(), problem.from(), problem.to());
                filter::plan(chain, from, to, &parsed(parameters)?, probe).map_err(unsupported)?
            }
            (Problem::Quantised(product), _) => {
                let parameters: quantised::Parameters = parsed(parameters)?;
                let weights = self.weights_in(parameters.memory);
                let (layout, weights) = weights
                    .ok_or_else(|| unsupported("the device offers no images of the size of these weights"))?;
                memory.extend(weights);
                quantised::plan(product, &parameters, layout, probe).map_err(unsupported)?
            }
            (Problem::Gemm(_) | Problem::Kernel(_), _) => {
                return Err(unsupported("the problem is not a product"));
            }
        };
        let mut plan = bench.bind(&plan, &memory)?;
        Ok(BoundCandidate { launches: mem::take(&mut plan.launches), plan: Some(plan), kernel: None })
    }

    fn release(&mut self, bench: &mut Bench<'_>, bound: BoundCandidate) {
        bound.plan.into_iter().for_each(|plan| bench.release(plan));
    }

    fn overwrite(&mut self, bench: &mut Bench<'_>, _: &BoundCandidate) -> Result<(), Outcome> {
        Ok(bench.overwrite(&mut self.result, &self.before)?)
    }

    fn check(&self, bench: &mut Bench<'_>, _: &BoundCandidate) -> Result<(), Outcome> {
        let wrong = |reason: &dyn std::fmt::Display| Outcome::Wrong { reason: reason.to_string() };
        let found: Vec<u8> = bench.read_result::<Outcome>(&self.result)?;
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

    fn clear(&mut self, bench: &mut Bench<'_>) {
        bench.clear();
    }
}

/// Memory by role.
type Operands = Vec<(Role, MemoryId)>;

/// The operands, the weights in each layout, and the result.
type Allocated = (Operands, Vec<(PackedLayout, Operands)>, ResultMemory);

fn allocate(
    bench: &mut Bench<'_>,
    contents: Vec<(Role, Vec<u8>)>,
    packed: Vec<PackedOperand>,
    output: Role,
) -> Result<Allocated, ExecuteError> {
    let length = contents.iter().find(|(role, _)| *role == output).map_or(0, |(_, bytes)| bytes.len());
    let result = bench.result(length)?;
    let (mut memory, mut all) = (vec![(output, result.id)], Vec::new());
    for (role, bytes) in contents.into_iter().filter(|(role, _)| *role != output) {
        memory.push((role, bench.operand(&bytes)?));
    }
    for PackedOperand { layout, weights, scales } in packed {
        let mut operands = vec![(Role::B, bench.input(&layout.weights_memory(), &weights)?)];
        if !scales.is_empty() {
            operands.push((Role::Scales, bench.operand(&scales)?));
        }
        all.push((layout, operands));
    }
    Ok((memory, all, result))
}

fn unsupported(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Unsupported { reason: reason.to_string() }
}

/// Parameters of a family.
fn parsed<P: FromStr<Err: std::fmt::Display>>(parameters: &str) -> Result<P, Outcome> {
    parameters.parse().map_err(|error| unsupported(format!("parameters {parameters}: {error}")))
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

impl From<ExecuteError> for Outcome {
    fn from(error: ExecuteError) -> Self {
        let reason = error.to_string();
        match error {
            ExecuteError::Build { .. } | ExecuteError::NoSuchKernel { .. } => Self::BuildFailed { reason },
            ExecuteError::OutOfMemory { .. } => Self::OutOfMemory { reason },
            ExecuteError::DeviceLost { .. } => Self::DeviceLost { reason },
            ExecuteError::NotOffered { .. } | ExecuteError::Range { .. } => Self::Unsupported { reason },
            _ => Self::Failed { reason },
        }
    }
}

impl From<WrittenBehind> for Outcome {
    fn from(error: WrittenBehind) -> Self {
        Self::Wrong { reason: error.to_string() }
    }
}
