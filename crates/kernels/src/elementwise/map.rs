//! Elementwise operations: sums, products, activations, conversions.

use std::cmp::Ordering;
use std::sync::Arc;

use tripipe_launch::{Argument, NdRange, ScalarType};

use super::{GROUP, Grid, indexable};
use crate::Role;
use crate::plan::{Arguments, Plan, PlanError, Slot};
use crate::source::MAP;

/// A computation on each element: load it, apply the steps in order, convert it, store it.
///
/// Integers saturate in every step. Steps of `half` are computed in `float`, and the result is rounded once, when it is
/// stored. `float` and `double` are rounded in every step. A conversion to integers rounds to the nearest integer, ties
/// to even, and saturates; NaN becomes 0. A conversion between integer types saturates.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Type of the source and of the steps' operands.
    pub from: ScalarType,
    /// Type of the result.
    pub to: ScalarType,
    /// Whether the steps compute in floating point, whatever the source's type: in `double` if the source or the result
    /// is `double`, otherwise in `float`.
    pub in_float: bool,
    /// The layout of the source; `None` if the elements of the result are changed in place.
    pub source: Option<Grid>,
    /// Steps, in order; at most [`Map::MOST_STEPS`].
    pub steps: Vec<Step>,
    /// The layout of the result.
    pub result: Grid,
}

/// A change to an element. Operands have the extents of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Adds the element of another operand.
    Add(Grid),
    /// Subtracts the element of another operand.
    Subtract(Grid),
    /// Multiplies by the element of another operand.
    Multiply(Grid),
    /// Divides by the element of another operand; for floating-point numbers only. Devices are within 2.5 units in the
    /// last place.
    Divide(Grid),
    /// Adds a number.
    AddNumber(Number),
    /// Subtracts a number.
    SubtractNumber(Number),
    /// Multiplies by a number.
    MultiplyNumber(Number),
    /// Divides by a number; as [`Step::Divide`].
    DivideNumber(Number),
    /// Limits the element to the range from the first number to the second. NaN stays NaN, in this step and those
    /// below.
    Clamp(Number, Number),
    /// Values less than 0 become 0.
    Relu,
    /// `1 / (1 + exp(-x))`; for floating-point numbers only, as are all below.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `x / 2 erfc(-x / sqrt(2))`; -0 for minus infinity.
    Gelu,
}

/// A number of the type that steps compute in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// For integers.
    Integer(i64),
    /// For floating-point numbers.
    Real(f64),
}

impl Number {
    /// As a floating-point number.
    pub fn real(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// As an integer.
    pub fn integer(self) -> i64 {
        match self {
            Self::Integer(value) => value,
            Self::Real(value) => value as i64,
        }
    }

    /// As an argument of a kernel that computes in type `work`; the value is within its range.
    fn argument(self, work: ScalarType) -> Argument<Slot> {
        let integer = self.integer();
        match work {
            ScalarType::U8 => (integer as u8).into(),
            ScalarType::I8 => (integer as i8).into(),
            ScalarType::U16 => (integer as u16).into(),
            ScalarType::I16 => (integer as i16).into(),
            ScalarType::U32 => (integer as u32).into(),
            ScalarType::I32 => (integer as i32).into(),
            _ => (self.real() as f32).into(),
        }
    }
}

impl Step {
    /// The operand that it reads.
    pub fn operand(&self) -> Option<&Grid> {
        match self {
            Self::Add(grid) | Self::Subtract(grid) | Self::Multiply(grid) | Self::Divide(grid) => Some(grid),
            _ => None,
        }
    }

    /// As [`Self::operand`], mutable.
    pub fn operand_mut(&mut self) -> Option<&mut Grid> {
        match self {
            Self::Add(grid) | Self::Subtract(grid) | Self::Multiply(grid) | Self::Divide(grid) => Some(grid),
            _ => None,
        }
    }

    /// Its name in kernels and explanations.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "ADD",
            Self::Subtract(_) => "SUBTRACT",
            Self::Multiply(_) => "MULTIPLY",
            Self::Divide(_) => "DIVIDE",
            Self::AddNumber(_) => "ADD_NUMBER",
            Self::SubtractNumber(_) => "SUBTRACT_NUMBER",
            Self::MultiplyNumber(_) => "MULTIPLY_NUMBER",
            Self::DivideNumber(_) => "DIVIDE_NUMBER",
            Self::Clamp(..) => "CLAMP",
            Self::Relu => "RELU",
            Self::Sigmoid => "SIGMOID",
            Self::Tanh => "TANH",
            Self::Gelu => "GELU",
        }
    }

    fn numbers(&self) -> Vec<Number> {
        match self {
            Self::AddNumber(number)
            | Self::SubtractNumber(number)
            | Self::MultiplyNumber(number)
            | Self::DivideNumber(number) => vec![*number],
            Self::Clamp(least, most) => vec![*least, *most],
            _ => Vec::new(),
        }
    }

    /// Whether it exists for floating-point numbers only.
    fn wants_float(&self) -> bool {
        matches!(self, Self::Divide(_) | Self::DivideNumber(_) | Self::Sigmoid | Self::Tanh | Self::Gelu)
    }
}

fn is_float(element: ScalarType) -> bool {
    matches!(element, ScalarType::F16 | ScalarType::F32 | ScalarType::F64)
}

impl Map {
    /// The maximum number of steps.
    pub const MOST_STEPS: usize = 8;

    /// All operands in order, the result last.
    pub fn operands(&self) -> impl Iterator<Item = (Role, &Grid, ScalarType)> {
        let steps = self.steps.iter().enumerate();
        let others = steps.filter_map(|(index, step)| Some((Role::Step(index), step.operand()?)));
        let inputs = self.source.iter().map(|source| (Role::Source, source)).chain(others);
        inputs.map(|(role, grid)| (role, grid, self.from)).chain([(Role::Result, &self.result, self.to)])
    }

    /// The type that steps compute in.
    pub fn work(&self) -> ScalarType {
        match (self.from, self.to) {
            (ScalarType::F64, _) => ScalarType::F64,
            (_, ScalarType::F64) if self.in_float => ScalarType::F64,
            (ScalarType::F16 | ScalarType::F32, _) => ScalarType::F32,
            _ if self.in_float => ScalarType::F32,
            (integer, _) => integer,
        }
    }

    /// Whether elements are only moved, bit by bit.
    pub fn is_copy(&self) -> bool {
        self.from == self.to && self.steps.is_empty() && !self.in_float
    }

    /// The same map in as few directions as possible, see [`Grid::merge`].
    #[must_use]
    pub fn merged(mut self) -> Self {
        let mut grids: Vec<Grid> = self.operands().map(|(_, grid, _)| *grid).collect();
        Grid::merge(&mut grids, true);
        let mut grids = grids.into_iter();
        let places = self.source.iter_mut().chain(self.steps.iter_mut().filter_map(Step::operand_mut));
        for (place, grid) in places.chain([&mut self.result]).zip(&mut grids) {
            *place = grid;
        }
        self
    }

    /// Checks that it is valid.
    ///
    /// # Errors
    /// Too many steps; operands with extents other than the result's; a step that does not exist for integers; a clamp
    /// whose first number is greater than the second, or NaN; an in-place map whose result has another type.
    pub fn check(&self) -> Result<(), PlanError> {
        let wrong = |parameter, found: String, want: &str| {
            Err(PlanError::Parameter { parameter, found, want: want.to_owned() })
        };
        if self.steps.len() > Self::MOST_STEPS {
            let found = format!("{} steps", self.steps.len());
            return wrong(
                "the list of steps",
                found,
                "at most 8; store the result of the first eight, and continue from there",
            );
        }
        if let Some((_, grid, _)) = self.operands().find(|(_, grid, _)| grid.extents != self.result.extents) {
            let what = format!("of {:?} elements", self.result.extents);
            return Err(PlanError::Operand { what, found: grid.count() });
        }
        if self.source.is_none() && self.from != self.to {
            return wrong(
                "the result's type",
                self.to.opencl_name().to_owned(),
                "the source's, when \
                computed in place",
            );
        }
        for step in &self.steps {
            if step.wants_float() && !is_float(self.work()) {
                let step = step.name().to_lowercase();
                return wrong("a step of integers", step, "one that they have: sums, products, relu, clamp");
            }
            if let Step::Clamp(least, most) = step
                && least.real().partial_cmp(&most.real()).is_none_or(Ordering::is_gt)
            {
                return wrong(
                    "the lower bound of a clamp",
                    format!("{}", least.real()),
                    "at most the upper bound",
                );
            }
        }
        Ok(())
    }
}

/// The launch. Its operands are those of [`Map::operands`].
///
/// # Errors
/// As [`Map::check`]; `double`; an operand that a `uint` cannot index.
pub fn map(map: &Map) -> Result<Plan<'static>, PlanError> {
    map.check()?;
    for (_, grid, _) in map.operands() {
        grid.elements()?;
    }
    // A copy moves integers of the same size: a device may flush subnormal numbers, and may lack `double`.
    let bits = match map.from.bytes() {
        1 => ScalarType::U8,
        2 => ScalarType::U16,
        4 => ScalarType::U32,
        _ => ScalarType::U64,
    };
    let [from, to] = if map.is_copy() { [bits; 2] } else { [map.from, map.to] };
    if from == ScalarType::F64 || to == ScalarType::F64 {
        return Err(PlanError::NotOffered { what: "kernels for double".to_owned() });
    }
    let mut plan = Plan::new();
    for (role, _, _) in map.operands() {
        plan.operand(role);
    }
    if map.result.is_empty() {
        return Ok(plan);
    }
    let work = if map.is_copy() { bits } else { map.work() };
    let flag = |is: bool| usize::from(is);
    let wide = match from {
        ScalarType::U8 | ScalarType::I8 | ScalarType::I16 => "int",
        ScalarType::U16 => "uint",
        ScalarType::I32 => "long",
        _ => "ulong",
    };
    let mut program = MAP
        .program()
        .define("ELEMENT", from.opencl_name())
        .define("TO", to.opencl_name())
        .define("HALF", flag(from == ScalarType::F16))
        .define("TO_HALF", flag(to == ScalarType::F16))
        .define("TO_FLOAT", flag(is_float(to)))
        .define("FLOAT", flag(is_float(work)))
        .define("WIDE", wide);
    for index in 0..Map::MOST_STEPS {
        let name = map.steps.get(index).map_or("NOTHING", Step::name);
        program = program.define(&format!("STEP{index}"), name);
    }
    let place = |grid: &Grid| -> Argument<Slot> {
        let [i, j, k] = grid.strides;
        [grid.offset, i, j, k].map(|value| value as u32).into()
    };
    let [columns, rows, planes] = map.result.extents;
    // Work-items past the end also compute an index.
    indexable(columns.saturating_add(GROUP).max(rows.saturating_add(GROUP)))?;
    let (read, source) = match &map.source {
        Some(source) => (Role::Source, source),
        None => (Role::Result, &map.result),
    };
    let mut array = |role: Role, grid| Arguments::default().with(plan.operand(role)).at(role, place(grid));
    let extents = [columns, rows, planes, 0].map(|extent| extent as u32);
    let mut arguments = array(read, source).and(array(Role::Result, &map.result)).with(extents);
    for (index, step) in map.steps.iter().enumerate() {
        if let Some(grid) = step.operand() {
            arguments = arguments.and(array(Role::Step(index), grid));
        }
        arguments = arguments.with_all(step.numbers().into_iter().map(|number| number.argument(work)));
    }
    let across = columns.next_power_of_two().min(GROUP);
    let group = [across, GROUP / across];
    let range = NdRange::d3(columns.next_multiple_of(group[0]), rows.next_multiple_of(group[1]), planes);
    plan.launch(&Arc::new(program), "map", arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}
