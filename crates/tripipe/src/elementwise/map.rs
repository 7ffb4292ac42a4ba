//! Elementwise operations: sums, products, activations, conversions.

use std::fmt::Write as _;
use std::marker::PhantomData;
use std::sync::Arc;

use tripipe_kernels::Role;
use tripipe_kernels::elementwise::{self, Grid, Map, Number, Step};

use super::array::sealed::Allocate;
use super::array::{Array, ArrayMut, Part, split_offsets};
#[cfg(feature = "cpu")]
use crate::cpu;
use crate::element::{Float, sealed::KernelElement};
use crate::error::Fault;
use crate::explanation::{Arithmetic, Explanation};
use crate::memory::Memory;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation::{BoundOperand, Host, Operation, OperationSize, RunOn};
use crate::operation_cache::{Described, Family, key};
use crate::task::name_of;
use crate::{Context, Element, Error, Event};

/// A computation on each element of a vector, a matrix or an image, or of a part of one, with elements of type `T`.
///
/// At most eight steps run in the order of the calls that add them, in one pass over memory. All operands have the
/// shape of the first one. Only the elements of the operands are read and written, not the gaps between them in memory.
///
/// Integers saturate in every step: for bytes, 200 + 100 - 100 is 155. `f32` and `f64` are rounded in every step; `f16`
/// is computed in `f32` and rounded once, when it is stored. Every step returns NaN for NaN. If the result has another
/// type ([`Self::store`]) it is converted last, as [`Vector::converted`](crate::Vector::converted) does. Subnormal
/// numbers may be treated as 0. Functions are as accurate as OpenCL's: `sigmoid` and `tanh` within 8 ulp, `gelu` within
/// `|x| 2^-19`.
///
/// ```
/// use tripipe::{Context, Device, Elementwise, Vector};
///
/// # fn main() -> Result<(), tripipe::Error> {
/// let context = Context::new(&Device::Cpu)?;
/// let x = Vector::from_slice(&context, &[1.0f32, -2.0, 3.0])?;
/// let y = Vector::from_slice(&context, &[0.5f32, 0.5, 0.5])?;
/// let sum = Elementwise::new(&x).add(&y).relu().into_array()?;
/// assert_eq!(sum.to_vec()?, [1.5, 0.0, 3.5]);
///
/// // In place, and into bytes.
/// let mut z = Vector::from_slice(&context, &[100i32, 200, 300])?;
/// Elementwise::in_place(&mut z).multiply_scalar(2).run()?.wait()?;
/// let mut bytes = Vector::<u8>::zeros(&context, 3)?;
/// Elementwise::new(&z).subtract_scalar(150).store(&mut bytes)?.wait()?;
/// assert_eq!(bytes.to_vec()?, [50, 250, 255]);
/// # Ok(())
/// # }
/// ```
#[must_use = "it is computed by `store`, `into_array` or `run`"]
#[derive(Debug)]
pub struct Elementwise<'m, T, M> {
    first: Part<'m>,
    steps: Vec<Step>,
    /// The operands of steps.
    others: Vec<(Role, Part<'m>)>,
    kinds: PhantomData<(T, M)>,
}

impl<'m, T: Element, M> Elementwise<'m, T, M> {
    fn begin(first: Part<'m>) -> Self {
        Self { first, steps: Vec::new(), others: Vec::new(), kinds: PhantomData }
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    fn with(mut self, other: Part<'m>, step: impl FnOnce(Grid) -> Step) -> Self {
        self.others.push((Role::Step(self.steps.len()), other));
        self.step(step(other.grid))
    }

    /// Adds a step: add the elements of another array with the same shape.
    #[allow(clippy::should_implement_trait, reason = "an operator adds no blocks and regions")]
    pub fn add(self, other: impl Array<'m, Element = T>) -> Self {
        self.with(other.part(), Step::Add)
    }

    /// Adds a step: subtract the elements of another array with the same shape.
    pub fn subtract(self, other: impl Array<'m, Element = T>) -> Self {
        self.with(other.part(), Step::Subtract)
    }

    /// Adds a step: multiply by the elements of another array with the same shape.
    pub fn multiply(self, other: impl Array<'m, Element = T>) -> Self {
        self.with(other.part(), Step::Multiply)
    }

    /// Adds a step: add a number to each element.
    pub fn add_scalar(self, scalar: T) -> Self {
        self.step(Step::AddNumber(scalar.number()))
    }

    /// Adds a step: subtract a number from each element.
    pub fn subtract_scalar(self, scalar: T) -> Self {
        self.step(Step::SubtractNumber(scalar.number()))
    }

    /// Adds a step: multiply each element by a number.
    pub fn multiply_scalar(self, scalar: T) -> Self {
        self.step(Step::MultiplyNumber(scalar.number()))
    }

    /// Adds a step: values less than 0 become 0.
    pub fn relu(self) -> Self {
        self.step(Step::Relu)
    }

    /// Adds a step: clamp to 0..6, both included.
    pub fn relu6(self) -> Self {
        self.step(Step::Clamp(Number::Integer(0), Number::Integer(6)))
    }

    /// Adds a step: clamp to the range from `least` to `most`, both included. `least` must not be greater than `most`.
    pub fn clamp(self, min: T, max: T) -> Self {
        self.step(Step::Clamp(min.number(), max.number()))
    }

    /// Queues the computation; `in_place` reads the elements from the result.
    fn run_into(
        self,
        in_place: bool,
        result: Part<'_>,
        to: tripipe_launch::ScalarType,
    ) -> Result<Event, Error> {
        for (_, other) in &self.others {
            self.first.check_shape("an operand", other)?;
        }
        self.first.check_shape("the result", &result)?;
        let source = (!in_place).then_some(self.first.grid);
        let map =
            Map { from: T::SCALAR, to, in_float: false, source, steps: self.steps, result: result.grid };
        let first = (!in_place).then_some((Role::Source, self.first.memory));
        let others = self.others.iter().map(|(role, other)| (*role, other.memory));
        let inputs: Vec<(Role, &Memory)> = first.into_iter().chain(others).collect();
        run(map, &inputs, result.memory)
    }
}

impl<'m, T: Float, M> Elementwise<'m, T, M> {
    /// Adds a step: divide by the elements of another array with the same shape. Within 2.5 ulp on devices, rounded
    /// correctly on the CPU path.
    pub fn divide(self, other: impl Array<'m, Element = T>) -> Self {
        self.with(other.part(), Step::Divide)
    }

    /// Adds a step: divide each element by a number; as [`Self::divide`].
    pub fn divide_scalar(self, scalar: T) -> Self {
        self.step(Step::DivideNumber(scalar.number()))
    }

    /// Adds a step: `1 / (1 + exp(-x))`.
    pub fn sigmoid(self) -> Self {
        self.step(Step::Sigmoid)
    }

    /// Adds a step: the hyperbolic tangent.
    pub fn tanh(self) -> Self {
        self.step(Step::Tanh)
    }

    /// Adds a step: `x / 2 erfc(-x / sqrt(2))`. This is the exact GELU, not its approximation by `tanh`; it gives -0
    /// for minus infinity.
    pub fn gelu(self) -> Self {
        self.step(Step::Gelu)
    }
}

impl<'m, T: Element, M: Allocate + Send + Sync + 'static> Elementwise<'m, T, M> {
    /// Starts with the elements of `source`.
    pub fn new<A: Array<'m, Element = T, Owned = M>>(source: A) -> Self {
        Self::begin(source.part())
    }

    /// Queues the computation; the results are stored into an operand of the same shape, with any type of elements.
    ///
    /// # Errors
    /// Operands with other shapes or in other contexts; a result that shares memory with an operand; more than eight
    /// steps; a clamp whose lower limit is greater than the upper one; the device is gone.
    pub fn store<'r, R: ArrayMut<'r>>(self, result: R) -> Result<Event, Error> {
        let to = <R::Element as KernelElement>::SCALAR;
        self.run_into(false, result.part(), to)
    }

    /// A new vector, row-major matrix or image (planar if the source is) with the results. Queued; it can be used at
    /// once.
    ///
    /// # Errors
    /// As [`Self::store`]; no memory left.
    pub fn into_array(self) -> Result<M, Error> {
        let mut made = M::like(self.first.memory.context(), &self.first)?;
        drop(self.run_into(false, made.part_mut(), T::SCALAR)?);
        Ok(made)
    }
}

impl<'m, T: Element> Elementwise<'m, T, ()> {
    /// Starts with the elements of `result`, which are overwritten with the results.
    pub fn in_place(result: impl ArrayMut<'m, Element = T>) -> Self {
        Self::begin(result.part())
    }

    /// Queues the computation.
    ///
    /// # Errors
    /// As [`Self::store`](Elementwise::store).
    pub fn run(self) -> Result<Event, Error> {
        let result = self.first;
        self.run_into(true, result, T::SCALAR)
    }
}

/// Queues `map` over its inputs, into the result.
///
/// # Errors
/// An invalid map; operands in different contexts, or that share memory with the result; the device is gone.
pub(super) fn run(map: Map, inputs: &[(Role, &Memory)], result: &Memory) -> Result<Event, Error> {
    map.check()?;
    if map.result.is_empty() {
        return Ok(Event::done());
    }
    let mut near = map.merged();
    let (from, to) = (near.from.bytes(), near.to.bytes());
    let source = near.source.iter_mut().map(|grid| (Role::Source, grid, from));
    let steps = near.steps.iter_mut().enumerate();
    let others = steps.filter_map(|(index, step)| Some((Role::Step(index), step.operand_mut()?, from)));
    let offsets = split_offsets(source.chain(others).chain([(Role::Result, &mut near.result, to)]));
    let mapped = result.context().mapped(&near)?;
    let inputs: Vec<BoundOperand<'_>> =
        inputs.iter().map(|(role, memory)| BoundOperand::moved(*role, memory, &offsets)).collect();
    let result = BoundOperand::moved(Role::Result, result, &offsets);
    mapped.operation.run(&inputs, result.memory, result.offset)
}

/// The number of elements that the CPU path processes in less time than waking another thread takes.
#[cfg(feature = "cpu")]
const SMALL: usize = 1 << 14;

/// A map that is ready to run.
pub(crate) struct Mapped {
    map: Map,
    operation: Operation,
}

impl Context {
    /// Prepares a map; the latest are cached.
    fn mapped(&self, map: &Map) -> Result<Arc<Mapped>, Error> {
        let cache = self.operation_cache();
        cache.get_or_make(
            key(&(map.from, map.to, map.result.extents, map.steps.len())),
            |known: &Mapped| known.map == *map,
            || {
                // The layout of the elements, and the numbers, make no difference worth another trial.
                let relative = cache.relative(|known: &Mapped| costs_as(&known.map, map));
                let tried = relative.and_then(|known| known.operation.trial());
                Mapped::new(self, map, tried.map_or(RunOn::Fastest, RunOn::AsTried))
            },
        )
    }
}

fn costs_as(one: &Map, other: &Map) -> bool {
    let shape = |map: &Map| (map.from, map.to, map.in_float, map.source.is_some(), map.result.extents);
    let names = |map: &Map| map.steps.iter().map(Step::name).collect::<Vec<_>>();
    shape(one) == shape(other) && names(one) == names(other)
}

impl Mapped {
    fn new(context: &Context, map: &Map, run_on: RunOn) -> Result<Self, Error> {
        let count = map.result.count();
        let bytes = |(role, grid, element): (Role, &Grid, tripipe_launch::ScalarType)| {
            let bytes = grid.span().and_then(|span| span.checked_mul(element.bytes()));
            Ok((role, bytes.ok_or(Error::from(Fault::TooLarge { elements: count }))?))
        };
        let mut inputs: Vec<(Role, usize)> = map.operands().map(bytes).collect::<Result<_, Error>>()?;
        // The last of them.
        let result = inputs.pop().unwrap_or((Role::Result, 0));
        let written = if map.source.is_some() { count.saturating_mul(map.to.bytes()) } else { 0 };
        let operations = count as f64 * map.steps.len().max(1) as f64;
        let size = OperationSize { inputs, result, written, operations };
        #[cfg(feature = "cpu")]
        let own = map.clone();
        let host = Host {
            name: "an elementwise operation",
            #[cfg(feature = "cpu")]
            work: Arc::new(move |inputs: &Inputs<'_>, output: &mut [u8], threads| {
                let roles = own.operands().map(|(role, _, _)| role).filter(|role| *role != Role::Result);
                let inputs: Vec<&[u8]> = roles.map(|role| inputs.get(role)).collect::<Result<_, _>>()?;
                cpu::map(&own, &inputs, output, threads)
            }),
            #[cfg(feature = "cpu")]
            small: count <= SMALL,
            size,
        };
        let plan = |_: &_| Ok(elementwise::map(map)?);
        let operation = Operation::new(context, plan, host, run_on)?;
        Ok(Self { map: map.clone(), operation })
    }
}

impl Described for Mapped {
    fn family(&self) -> Family {
        Family::Elementwise
    }

    fn explain(&self) -> Explanation {
        let Map { from, to, ref steps, ref result, .. } = self.map;
        let [columns, rows, planes] = result.extents;
        let mut name = format!("{columns}x{rows}x{planes} {}", name_of(from));
        for step in steps {
            let _ = write!(name, ", {}", step.name().to_lowercase().replace('_', " "));
        }
        if to != from {
            let _ = write!(name, ", to {}", name_of(to));
        }
        let mut explanation = self.operation.explanation(name);
        let (kernel, why) = if self.operation.runs_kernels() {
            ("map", "all steps in one pass over memory")
        } else {
            ("blocks of 256 elements in SIMD", "all steps of a block while it is in the nearest cache")
        };
        kernel.clone_into(&mut explanation.kernel);
        why.clone_into(&mut explanation.why);
        explanation.runners_up.extend(self.operation.runner_up("map"));
        self.operation.add_bound(&mut explanation, Arithmetic::F32, self.operation.bytes() as f64);
        explanation
    }
}

/// `source` with each element times `scale` plus `offset`, converted to the type of `result`.
///
/// # Errors
/// As [`run`].
pub(super) fn convert<T: Element, U: Element>(
    source: &Part<'_>,
    result: &Part<'_>,
    scale: f32,
    offset: f32,
) -> Result<Event, Error> {
    let in_float = scale.to_bits() != 1.0f32.to_bits() || offset != 0.0;
    let number = |value: f32| Number::Real(value.into());
    let steps = if in_float {
        vec![Step::MultiplyNumber(number(scale)), Step::AddNumber(number(offset))]
    } else {
        Vec::new()
    };
    let map = Map {
        from: T::SCALAR,
        to: U::SCALAR,
        in_float,
        source: Some(source.grid),
        steps,
        result: result.grid,
    };
    run(map, &[(Role::Source, source.memory)], result.memory)
}
