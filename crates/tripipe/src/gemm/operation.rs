//! A product that is ready to run.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::cost::DeviceFigures;
use tripipe_kernels::gemm::{
    self as kernels, Accumulate, Batch, Choice, Elements, Gemm, OperandState, Packed, Parameters,
    RequiredOperand, Unfit,
};
use tripipe_launch::ExecuteError;

use super::first_use;
#[cfg(feature = "cpu")]
use super::host;
#[cfg(feature = "cpu")]
use crate::cpu::small_product;
use crate::error::Fault;
use crate::explanation::{Arithmetic, Prediction, RunnerUp};
use crate::operation::{BoundOperand, Host, Offset, Operation, OperationSize, Refused, RunOn};
use crate::operation_cache::{Described, Family, key};
use crate::{Context, Error, Event, Explanation};

/// Whether the CPU path uses no thread but the caller's, so that the product need not go to its threads either.
#[cfg(feature = "cpu")]
fn is_small(gemm: &Gemm) -> bool {
    /// With a vector, memory sets the time. On two cores of an EPYC (Zen 5) one thread reads as many f32 in 20 us, and
    /// leaving a product to the threads and waiting for them takes 30 us more.
    const SMALL_VECTOR: usize = 1 << 19;

    let small = if gemm.m == 1 || gemm.n == 1 { SMALL_VECTOR } else { small_product() };
    gemm.operations() <= 2.0 * small as f64
}

/// The name of the kernel of the CPU path in explanations.
const KERNEL: &str = "blocked product in SIMD";
/// The reason for it in explanations.
const WHY: &str = "packed blocks that stay in cache, on all threads; halves are summed in f32, bytes in i32";

/// A product prepared for operands with the described layouts.
pub(crate) struct GemmOperation {
    gemm: Gemm,
    given: [Option<Packed>; 2],
    choice: Option<Choice>,
    /// Seconds that were measured on first use.
    first_use_seconds: Option<f64>,
    operation: Operation,
}

impl Context {
    /// Prepares a product for operands with the described layouts: its kernel is chosen and built. The latest are
    /// cached, so another request for the same one costs nothing.
    ///
    /// # Errors
    /// The description is invalid; a kernel does not build; the device is gone.
    pub(super) fn gemm(
        &self,
        gemm: &Gemm,
        parameters: Option<Parameters>,
        given: &[Option<Packed>; 2],
    ) -> Result<Arc<GemmOperation>, Error> {
        let Gemm { m, n, k, ref a, ref b, ref c, batch, .. } = *gemm;
        self.operation_cache().get_or_make(
            key(&(m, n, k, a.offset, b.offset, c.offset, batch)),
            |known: &GemmOperation| {
                known.gemm == *gemm && known.given == *given && known.was_chosen(parameters)
            },
            || {
                // A caller that specifies the parameters wants the kernel.
                let run_on = if parameters.is_some() { RunOn::Device } else { self.run_on(gemm) };
                GemmOperation::new(self, gemm, parameters, given, run_on)
            },
        )
    }

    /// The fastest; a trial is not repeated when it was done with other factors or at other offsets.
    fn run_on(&self, gemm: &Gemm) -> RunOn {
        let is_there = |factor: f64| f64::from(u8::from(factor != 0.0));
        let of_any_factors = |gemm: &Gemm| Gemm {
            alpha: is_there(gemm.alpha),
            beta: is_there(gemm.beta),
            a: gemm.a.at(0),
            b: gemm.b.at(0),
            c: gemm.c.at(0),
            ..gemm.clone()
        };
        let wanted = of_any_factors(gemm);
        let relative =
            self.operation_cache().relative(|known: &GemmOperation| of_any_factors(&known.gemm) == wanted);
        relative.and_then(|known| known.operation.trial()).map_or(RunOn::Fastest, RunOn::AsTried)
    }

    /// The kernel for a product on this device.
    ///
    /// # Errors
    /// The description is invalid; this is the CPU path.
    pub(super) fn choose_gemm(&self, gemm: &Gemm) -> Result<Choice, Error> {
        let probe = self.probe().ok_or(Error::from(Fault::NoKernels))?;
        Ok(self.table()?.choose_product_with(gemm, probe, &self.figures(gemm, probe)))
    }

    /// What is known about the device's speed: with the ceilings, if they were measured here.
    fn figures(&self, gemm: &Gemm, probe: &Probe) -> DeviceFigures {
        let figures = DeviceFigures::of(probe);
        match self.ceilings(arithmetic(gemm)) {
            Some(ceilings) => figures.with_ceilings(
                ceilings.operations_per_second,
                ceilings.bytes_per_second,
                ceilings.launch_seconds,
            ),
            None => figures,
        }
    }
}

/// The type of a product's multiply-adds.
fn arithmetic(gemm: &Gemm) -> Arithmetic {
    match gemm.elements {
        Elements::F32 | Elements::F16(Accumulate::F32) => Arithmetic::F32,
        Elements::F64 => Arithmetic::F64,
        Elements::F16(_) => Arithmetic::F16,
        Elements::I8ToI32 | Elements::I8ToI8(_) => Arithmetic::I8,
    }
}

impl GemmOperation {
    pub(crate) fn new(
        context: &Context,
        gemm: &Gemm,
        parameters: Option<Parameters>,
        given: &[Option<Packed>; 2],
        run_on: RunOn,
    ) -> Result<Self, Error> {
        gemm.check()?;
        let table = context.table()?;
        // The CPU path cannot read operands packed for kernels.
        let packed = given.iter().any(Option::is_some);
        let run_on = if packed { RunOn::Device } else { run_on };
        let mut choice = None;
        let mut first_use_seconds = None;
        let plan = |probe: &Probe| {
            let figures = context.figures(gemm, probe);
            let mut chosen = table.choose_product_with(gemm, probe, &figures);
            if let Some(parameters) = parameters {
                chosen.parameters = parameters;
            } else if !packed && let Some(measured) = first_use::choose(context, gemm, &chosen, &figures) {
                first_use_seconds = Some(measured.seconds);
                chosen = measured.choice;
            }
            let given = given.map(|packed| packed.map_or(OperandState::Changing, OperandState::Packed));
            let plan = match kernels::plan(gemm, &chosen.parameters, probe, given) {
                Err(unfit) if packed => return Err(Refused::Wrong(unfit.into())),
                plan => plan?,
            };
            choice = Some(chosen);
            Ok(plan)
        };
        let bytes = |operand: &RequiredOperand| {
            (operand.role, operand.elements.saturating_mul(operand.element.bytes()))
        };
        let operands = gemm.operands().iter().map(bytes).collect::<Vec<_>>();
        let (result, inputs) = operands.into_iter().partition::<Vec<_>, _>(|(role, _)| *role == Role::C);
        let size = OperationSize {
            inputs,
            result: result.first().copied().unwrap_or((Role::C, 0)),
            written: written(gemm),
            operations: gemm.operations(),
        };
        let host = Host {
            name: "a product",
            #[cfg(feature = "cpu")]
            work: host::work(gemm),
            #[cfg(feature = "cpu")]
            small: is_small(gemm),
            size,
        };
        let operation = Operation::new(context, plan, host, run_on)?;
        Ok(Self { gemm: gemm.clone(), given: *given, choice, first_use_seconds, operation })
    }

    fn was_chosen(&self, parameters: Option<Parameters>) -> bool {
        match (parameters, &self.choice) {
            (Some(parameters), Some(choice)) => choice.parameters == parameters,
            _ => true,
        }
    }

    /// The number of rows of A.
    pub(crate) fn rows(&self) -> usize {
        self.gemm.m
    }

    /// Whether its operands can begin later by this much than described.
    pub(super) fn can_move(&self, offsets: &[(Role, Offset)]) -> bool {
        self.operation.can_move(offsets)
    }

    /// Queues it over the operands of [`Gemm::operands`]: C, and those that are read, in any order.
    pub(crate) fn run_over(&self, inputs: &[BoundOperand<'_>], c: BoundOperand<'_>) -> Result<Event, Error> {
        for operand in self.gemm.operands() {
            let placed = if operand.role == Role::C { &c } else { operand_with_role(inputs, operand.role)? };
            let found = placed.memory.bytes() / operand.element.bytes();
            let want = operand.elements.saturating_add(placed.offset.elements as usize);
            if !self.is_packed(operand.role) && operand.elements > 0 && found < want {
                return Err(Error::from(Fault::Short { operand: operand.role.to_string(), want, found }));
            }
        }
        if self.gemm.m == 0 || self.gemm.n == 0 || self.gemm.batch.count() == 0 {
            return Ok(Event::done());
        }
        let Batch::Offsets { count } = self.gemm.batch else {
            return self.operation.run(inputs, c.memory, c.offset);
        };
        // The offsets that are read must be those that were checked: anything that shares the memory may write it at
        // any time.
        operand_with_role(inputs, Role::Offsets)?.memory.with_snapshot(
            3 * count * size_of::<u32>(),
            |offsets| self.check_offsets(inputs, &c, offsets),
            |offsets| {
                let others = inputs.iter().filter(|input| input.role != Role::Offsets).copied();
                let inputs: Vec<BoundOperand<'_>> =
                    others.chain([BoundOperand::new(Role::Offsets, offsets)]).collect();
                self.operation.run(&inputs, c.memory, c.offset)
            },
        )
    }

    /// Whether an operand has the layout of a packing, and its size.
    fn is_packed(&self, role: Role) -> bool {
        let [a, b] = self.given;
        role == Role::A && a.is_some() || role == Role::B && b.is_some()
    }

    /// Checks that the operands of every product of a batch are within their memory, given the offset of each.
    fn check_offsets(
        &self,
        inputs: &[BoundOperand<'_>],
        c: &BoundOperand<'_>,
        offsets: &[u8],
    ) -> Result<(), Error> {
        let extents = self.gemm.extents();
        let words = offsets.chunks_exact(size_of::<u32>()).enumerate();
        // In the order of the offsets: A, B, C.
        let furthest = words.fold([0; 3], |mut furthest: [usize; 3], (index, word)| {
            let offset = bytemuck::pod_read_unaligned::<u32>(word) as usize;
            furthest[index % 3] = furthest[index % 3].max(offset);
            furthest
        });
        let (input, output, _) = self.gemm.elements.types();
        let moved = [
            (operand_with_role(inputs, Role::A)?, self.gemm.a.span(extents.a()), input),
            (operand_with_role(inputs, Role::B)?, self.gemm.b.span(extents.b()), input),
            (c, self.gemm.c.span(extents.c()), output),
        ];
        for ((placed, span, element), furthest) in moved.into_iter().zip(furthest) {
            let want =
                span.map_or(usize::MAX, |span| if span == 0 { 0 } else { span.saturating_add(furthest) });
            let by = placed.offset.elements as usize;
            let found = (placed.memory.bytes() / element.bytes()).saturating_sub(by);
            if !self.is_packed(placed.role) && found < want {
                return Err(Error::from(Fault::Short { operand: placed.role.to_string(), want, found }));
            }
        }
        Ok(())
    }

    /// Runs it on the CPU path, over A, B and C in memory of the calling thread.
    #[cfg(feature = "cpu")]
    pub(crate) fn run_here(&self, inputs: &[(Role, &[u8])], c: &mut [u8]) -> Result<(), Error> {
        self.operation.run_here(inputs, c)
    }

    /// A short description of the product: `f32 product 512x512x256`.
    fn name(&self) -> String {
        let Gemm { m, n, k, .. } = self.gemm;
        let elements = match self.gemm.elements {
            Elements::F32 => "f32",
            Elements::F64 => "f64",
            Elements::F16(Accumulate::F16) => "f16",
            Elements::F16(Accumulate::F32) => "f16 in f32",
            Elements::F16(Accumulate::Chunked { .. }) => "f16 in blocks",
            Elements::I8ToI32 => "i8 to i32",
            Elements::I8ToI8(_) => "i8 to i8",
        };
        let batch = match self.gemm.batch.count() {
            1 => String::new(),
            count => format!(", {count} of them"),
        };
        format!("{elements} product {m}x{n}x{k}{batch}")
    }

    /// What it does, why, and how long it takes.
    pub(crate) fn explain(&self) -> Explanation {
        let mut explanation = self.operation.explanation(self.name());
        match &self.choice {
            Some(choice) if self.operation.runs_kernels() => {
                explanation.kernel = choice.parameters.to_string();
                explanation.why.clone_from(&choice.why);
                explanation.rests_on.clone_from(&choice.source);
                explanation.runners_up = choice
                    .runners_up
                    .iter()
                    .map(|(parameters, why_not)| RunnerUp {
                        kernel: parameters.to_string(),
                        why_not: why_not.clone(),
                    })
                    .collect();
                let by_rate = || {
                    let measured = choice.measured.as_ref()?;
                    let [m, n, k, _] = measured.size;
                    Some(Prediction {
                        seconds: self.gemm.operations() / (measured.gflops * 1e9),
                        from: format!("{:.0} GFLOP/s, as measured for {m}x{n}x{k}", measured.gflops),
                        host_share: None,
                    })
                };
                explanation.predicted = match (self.first_use_seconds, choice.estimated_seconds) {
                    (Some(seconds), _) => {
                        let from = "as measured on first use".to_owned();
                        Some(Prediction { seconds, from, host_share: None })
                    }
                    (None, Some(seconds)) => {
                        let from = format!(
                            "the cost of this shape, corrected by times {} at shapes near it",
                            choice.basis
                        );
                        Some(Prediction { seconds, from, host_share: None })
                    }
                    (None, None) => by_rate(),
                };
            }
            _ => {
                KERNEL.clone_into(&mut explanation.kernel);
                WHY.clone_into(&mut explanation.why);
            }
        }
        if let Some(choice) = &self.choice {
            let tried = self.operation.runner_up(&choice.parameters.to_string());
            explanation.runners_up.extend(tried);
        }
        let arithmetic = arithmetic(&self.gemm);
        self.operation.add_bound(&mut explanation, arithmetic, self.operation.bytes() as f64);
        explanation
    }
}

/// The operand with this role.
///
/// # Errors
/// It is missing.
fn operand_with_role<'r, 'm>(
    inputs: &'r [BoundOperand<'m>],
    role: Role,
) -> Result<&'r BoundOperand<'m>, Error> {
    inputs
        .iter()
        .find(|input| input.role == role)
        .ok_or_else(|| ExecuteError::Operand { operand: role.to_string(), problem: "is missing" }.into())
}

/// The number of bytes of C that are written, each once; 0 where C is also read, or where several products may be
/// stored at one location.
fn written(gemm: &Gemm) -> usize {
    let (_, output, _) = gemm.elements.types();
    let one = gemm.m.saturating_mul(gemm.n).saturating_mul(output.bytes());
    match gemm.batch {
        _ if gemm.beta != 0.0 => 0,
        Batch::One => one,
        Batch::Strided { count, .. } => one.saturating_mul(count),
        Batch::Offsets { .. } => 0,
    }
}

impl Described for GemmOperation {
    fn family(&self) -> Family {
        Family::Product
    }

    fn explain(&self) -> Explanation {
        self.explain()
    }
}

impl From<Unfit> for Refused {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::NotOffered { .. } | Unfit::OverLimit { .. } => Self::Lacks(unfit.to_string()),
            _ => Self::Wrong(unfit.into()),
        }
    }
}
