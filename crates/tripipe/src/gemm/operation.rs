//! A product that is ready to run.

use std::sync::Arc;

use tripipe_kernels::gemm::{
    self as kernels, Accumulate, Batch, Choice, Elements, Gemm, Given, Operand, Packed, Parameters, Unfit,
};

use super::host;
use crate::explanation::{Arithmetic, Prediction, RunnerUp};
use crate::kept::{Described, Family, key};
use crate::memory::Memory;
use crate::operation::{Doer, Host, Later, Operation, Refused, Size};
use crate::{Context, Error, Explanation, Pending};

/// The number of multiply-adds that the CPU path does in less time than waking another thread takes.
const SMALL: f64 = 64.0 * 64.0 * 64.0;

/// The index in [`Gemm::operands`] of the operand that is written.
const RESULT: usize = 2;
/// The index of the operand with the offsets of the products of a batch, if it has one.
const OFFSETS: usize = 3;

/// A product prepared for operands with the described layouts.
pub struct GemmOperation {
    gemm: Gemm,
    given: [Option<Packed>; 2],
    choice: Option<Choice>,
    operation: Operation,
}

impl Context {
    /// Prepares a product for operands with the described layouts: its kernel is chosen and built. The latest are
    /// cached, so another request for the same one costs nothing.
    ///
    /// # Errors
    /// The description is invalid; a kernel does not build; the device is gone.
    pub fn gemm(&self, gemm: &Gemm) -> Result<Arc<GemmOperation>, Error> {
        self.gemm_with(gemm, None, &[None; 2])
    }

    pub(super) fn gemm_with(
        &self,
        gemm: &Gemm,
        parameters: Option<Parameters>,
        given: &[Option<Packed>; 2],
    ) -> Result<Arc<GemmOperation>, Error> {
        let Gemm { m, n, k, ref a, ref b, ref c, batch, .. } = *gemm;
        self.kept().get_or_make(
            key(&(m, n, k, a.offset, b.offset, c.offset, batch)),
            |known: &GemmOperation| {
                known.gemm == *gemm && known.given == *given && known.was_chosen(parameters)
            },
            || {
                // A caller that specifies the parameters wants the kernel.
                let doer = if parameters.is_some() { Doer::Device } else { self.doer_of(gemm) };
                GemmOperation::new(self, gemm, parameters, given, doer)
            },
        )
    }

    /// The fastest; a trial is not repeated when it was done with other factors or at other offsets.
    fn doer_of(&self, gemm: &Gemm) -> Doer {
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
        let relative = self.kept().relative(|known: &GemmOperation| of_any_factors(&known.gemm) == wanted);
        relative.and_then(|known| known.operation.trial()).map_or(Doer::Fastest, Doer::AsTried)
    }

    /// The kernel for a product on this device.
    ///
    /// # Errors
    /// The description is invalid; this is the CPU path.
    pub(super) fn choose_gemm(&self, gemm: &Gemm) -> Result<Choice, Error> {
        let probe = self.probe().ok_or(Error::NoKernels)?;
        Ok(self.table()?.choose(gemm, probe))
    }
}

impl GemmOperation {
    pub(crate) fn new(
        context: &Context,
        gemm: &Gemm,
        parameters: Option<Parameters>,
        given: &[Option<Packed>; 2],
        doer: Doer,
    ) -> Result<Self, Error> {
        gemm.check()?;
        let table = context.table()?;
        // The CPU path cannot read operands packed for kernels.
        let packed = given.iter().any(Option::is_some);
        let doer = if packed { Doer::Device } else { doer };
        let mut choice = None;
        let plan = |probe: &_| {
            let mut chosen = table.choose(gemm, probe);
            if let Some(parameters) = parameters {
                chosen.parameters = parameters;
            }
            let given = given.map(|packed| packed.map_or(Given::Changing, Given::Packed));
            let plan = match kernels::plan(gemm, &chosen.parameters, probe, given) {
                Err(unfit) if packed => return Err(Refused::Wrong(unfit.into())),
                plan => plan?,
            };
            choice = Some(chosen);
            Ok(plan)
        };
        let bytes = |operand: &Operand| operand.elements.saturating_mul(operand.element.bytes());
        let size = Size {
            operands: gemm.operands().iter().map(bytes).collect(),
            result: RESULT,
            written: written(gemm),
            operations: gemm.operations(),
        };
        let host = Host { work: host::work(gemm), small: gemm.operations() <= 2.0 * SMALL, size };
        let operation = Operation::new(context, "a product", plan, host, doer)?;
        Ok(Self { gemm: gemm.clone(), given: *given, choice, operation })
    }

    fn was_chosen(&self, parameters: Option<Parameters>) -> bool {
        match (parameters, &self.choice) {
            (Some(parameters), Some(choice)) => choice.parameters == parameters,
            _ => true,
        }
    }

    /// The description of the product.
    pub fn gemm(&self) -> &Gemm {
        &self.gemm
    }

    /// Whether its operands can begin later by this much than described.
    pub(super) fn can_move(&self, later: &[Later]) -> bool {
        self.operation.can_move(later)
    }

    /// Queues it over the operands of [`Gemm::operands`], which begin `later` than described; an empty `later` means
    /// none does.
    pub(crate) fn run_over(&self, operands: &[&Memory], later: &[Later]) -> Result<Pending, Error> {
        let by = |index: usize| later.get(index).map_or(0, |later| later.elements as usize);
        let named = self.gemm.operands();
        if named.len() != operands.len() {
            return Err(Error::Length { operand: "the operands", want: named.len(), found: operands.len() });
        }
        for (index, (operand, memory)) in named.iter().zip(operands).enumerate() {
            let found = memory.bytes() / operand.element.bytes();
            // A packed operand has the size of its packing.
            let packed = self.given.get(index).is_some_and(Option::is_some);
            let want = operand.elements.saturating_add(by(index));
            if !packed && operand.elements > 0 && found < want {
                return Err(Error::Short { operand: operand.name.clone(), want, found });
            }
        }
        if self.gemm.m == 0 || self.gemm.n == 0 || self.gemm.batch.count() == 0 {
            return Ok(Pending::done());
        }
        let run = |operands: &[&Memory]| {
            let names = ["A", "B", "C"].into_iter().chain(std::iter::repeat("an operand of the epilogue"));
            let operands: Vec<(&'static str, &Memory)> = names.zip(operands.iter().copied()).collect();
            self.operation.run(&operands, later)
        };
        let Batch::Offsets { count } = self.gemm.batch else { return run(operands) };
        // The offsets that are read must be those that were checked: anything that shares the memory may write it at
        // any time.
        operands[OFFSETS].with_snapshot(
            3 * count * size_of::<u32>(),
            |offsets| self.check_offsets(&named, operands, later, offsets),
            |offsets| {
                let mut operands = operands.to_vec();
                operands[OFFSETS] = offsets;
                run(&operands)
            },
        )
    }

    /// Checks that the operands of every product of a batch are within their memory, given the offset of each.
    fn check_offsets(
        &self,
        named: &[Operand],
        operands: &[&Memory],
        later: &[Later],
        offsets: &[u8],
    ) -> Result<(), Error> {
        let Gemm { m, n, k, ref a, ref b, ref c, .. } = self.gemm;
        let words = offsets.chunks_exact(size_of::<u32>()).enumerate();
        let furthest = words.fold([0; 3], |mut furthest: [usize; 3], (index, word)| {
            let offset = bytemuck::pod_read_unaligned::<u32>(word) as usize;
            furthest[index % 3] = furthest[index % 3].max(offset);
            furthest
        });
        let spans = [a.span([m, k]), b.span([k, n]), c.span([m, n])];
        for (index, (span, furthest)) in spans.into_iter().zip(furthest).enumerate() {
            let want =
                span.map_or(usize::MAX, |span| if span == 0 { 0 } else { span.saturating_add(furthest) });
            let by = later.get(index).map_or(0, |later| later.elements as usize);
            let found = (operands[index].bytes() / named[index].element.bytes()).saturating_sub(by);
            let packed = self.given.get(index).is_some_and(Option::is_some);
            if !packed && found < want {
                return Err(Error::Short { operand: named[index].name.clone(), want, found });
            }
        }
        Ok(())
    }

    /// Runs it on the CPU path, over A, B and C in memory of the calling thread.
    pub(crate) fn run_here(&self, inputs: &[&[u8]; 2], c: &mut [u8]) -> Result<(), Error> {
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
    pub fn explain(&self) -> Explanation {
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
                explanation.predicted = choice.measured.as_ref().map(|measured| {
                    let [m, n, k, _] = measured.size;
                    Prediction {
                        seconds: self.gemm.operations() / (measured.gflops * 1e9),
                        from: format!("{:.0} GFLOP/s, as measured for {m}x{n}x{k}", measured.gflops),
                    }
                });
            }
            _ => {
                host::KERNEL.clone_into(&mut explanation.kernel);
                host::WHY.clone_into(&mut explanation.why);
            }
        }
        if let Some(choice) = &self.choice {
            let tried = self.operation.runner_up(&choice.parameters.to_string());
            explanation.runners_up.extend(tried);
        }
        let arithmetic = match self.gemm.elements {
            Elements::F32 | Elements::F16(Accumulate::F32) => Arithmetic::F32,
            Elements::F64 => Arithmetic::F64,
            Elements::F16(_) => Arithmetic::F16,
            Elements::I8ToI32 | Elements::I8ToI8(_) => Arithmetic::I8,
        };
        let bytes: usize = self.gemm.operands().iter().map(|one| one.elements * one.element.bytes()).sum();
        self.operation.add_bound(&mut explanation, arithmetic, bytes as f64);
        explanation
    }
}

/// The number of bytes of C that are written, each once; 0 where C is also read, or where several products may be
/// stored at one location.
fn written(gemm: &Gemm) -> usize {
    let one = gemm.m.saturating_mul(gemm.n).saturating_mul(gemm.operands()[RESULT].element.bytes());
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
