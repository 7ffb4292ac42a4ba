//! The expected results of elementwise operations: in double precision, element by element.

use super::super::numbers::{Kind, Span};
use super::super::verdict::{Expected, Right};
use super::{Arrays, End, RESULT, Shape, Step, Task};

pub(super) fn expected(arrays: &Arrays) -> Expected {
    if arrays.fault.is_some() {
        return Expected::Refused;
    }
    let Arrays { kind, shape, .. } = *arrays;
    let count = shape.count();
    let elements = |buffer: usize| {
        let bytes = arrays.contents(buffer);
        (0..count).map(move |index| kind.load(&bytes, arrays.lying(buffer).index(shape, index)))
    };
    match &arrays.task {
        Task::Steps { steps, end } => {
            let source: Vec<f64> = elements(if *end == End::InPlace { RESULT } else { 0 }).collect();
            let others: Vec<Vec<f64>> = (0..steps.len())
                .map(|step| if steps[step].has_operand() { elements(1 + step).collect() } else { Vec::new() })
                .collect();
            let changed = |index: usize| {
                let mut value = Value::loaded(kind, source[index]);
                for (step, other) in steps.iter().zip(&others) {
                    value = value.changed(*step, other.get(index).copied().unwrap_or(0.0));
                }
                value.stored(arrays.to())
            };
            into(arrays, *end == End::New, (0..count).map(changed).collect())
        }
        Task::Convert { to, scale, offset } => {
            let made = |value: f64| {
                if *scale == 1.0 && *offset == 0.0 {
                    return Value::loaded(kind, value).stored(*to);
                }
                let work = if kind == Kind::F64 || *to == Kind::F64 { Kind::F64 } else { Kind::F32 };
                let loaded = Value::loaded(kind, value);
                // Integers are rounded to the type of the computation.
                let span = loaded.span.map(|value| work.nearest(value));
                let scaled = Value { kind: work, numbers: Kind::F32, span }
                    .changed(Step::MultiplyScalar(f64::from(*scale)), 0.0);
                scaled.changed(Step::AddScalar(f64::from(*offset)), 0.0).stored(*to)
            };
            into(arrays, true, elements(0).map(made).collect())
        }
        Task::Copy => into(arrays, true, elements(0).map(Span::exact).collect()),
        Task::Sum => sum(kind, elements(0).map(|value| [value, 1.0])),
        Task::Dot => sum(kind, elements(0).zip(elements(1)).map(|(x, y)| [x, y])),
        Task::Min | Task::Max => {
            let better = |a: f64, b: f64| if arrays.task == Task::Min { a < b } else { a > b };
            let mut best: Option<(usize, f64)> = None;
            for (index, value) in elements(0).enumerate().filter(|(_, value)| !value.is_nan()) {
                if best.is_none_or(|(_, best)| better(value, best)) {
                    best = Some((index, value));
                }
            }
            let found = best.map_or(vec![], |(index, value)| {
                let mut numbers = vec![value];
                numbers.extend(coordinates(shape, index).into_iter().map(|coordinate| coordinate as f64));
                numbers
            });
            match Right::dense(Kind::F64, found.into_iter().map(Span::exact).collect()) {
                Expected::Result(right) => Expected::Result(Right { same: true, ..right }),
                other => other,
            }
        }
    }
}

/// The elements in order, or in the layout of the result.
fn into(arrays: &Arrays, dense: bool, spans: Vec<Span>) -> Expected {
    let kind = arrays.to();
    if dense {
        return Right::dense(kind, spans);
    }
    let before = arrays.contents(RESULT);
    let mut places = vec![None; before.len() / kind.bytes()];
    for (index, span) in spans.into_iter().enumerate() {
        places[arrays.lying(RESULT).index(arrays.shape, index)] = Some(span);
    }
    Expected::Result(Right { kind, before, spans: places, same: false, may_refuse: false })
}

fn coordinates(shape: Shape, index: usize) -> Vec<usize> {
    match shape {
        Shape::Vector(_) => vec![index],
        Shape::Matrix([_, columns]) => vec![index / columns, index % columns],
        Shape::Image([width, _, channels]) => {
            let pixel = index / channels;
            vec![pixel % width, pixel / width, index % channels]
        }
    }
}

/// A sum of products: for integers exact modulo 2^64, for floating-point numbers within (length + 2) u times the sum
/// of magnitudes.
fn sum(kind: Kind, terms: impl Iterator<Item = [f64; 2]>) -> Expected {
    if !kind.is_float() {
        let sum: i128 = terms.map(|[x, y]| x as i128 * y as i128).sum();
        if i64::try_from(sum).is_err() {
            return Expected::Refused;
        }
        return Right::dense(Kind::I64, vec![Span::exact(sum as f64)]);
    }
    let (mut sum, mut magnitude, mut count) = (0.0, 0.0, 0);
    for [x, y] in terms {
        let term: f64 = x * y;
        sum += term;
        magnitude += if term.is_finite() { term.abs() } else { 0.0 };
        count += 1;
    }
    let to = if kind == Kind::F64 { Kind::F64 } else { Kind::F32 };
    let [unit, tiny, most] = to.precision();
    let error = f64::from(count + 2) * (unit * magnitude + tiny);
    let span = if magnitude > most / 1.01 { Span::any() } else { Span::exact(sum).widened(error) };
    Right::dense(to, vec![span])
}

/// An element during the steps.
struct Value {
    /// The type that steps compute in.
    kind: Kind,
    /// The type that the numbers of steps are rounded to.
    numbers: Kind,
    span: Span,
}

impl Value {
    fn loaded(kind: Kind, value: f64) -> Self {
        let work = if kind == Kind::F16 { Kind::F32 } else { kind };
        Self { kind: work, numbers: kind, span: Span::exact(value) }.settled()
    }

    /// Rounded to the type, once; a subnormal number may become 0.
    fn settled(self) -> Self {
        let Self { kind, numbers, span } = self;
        if span.any {
            return self;
        }
        let span = span.map(|value| kind.nearest(value));
        let tiny = if kind == Kind::F32 { kind.precision()[1] } else { 0.0 };
        let flushed = |value: f64| value != 0.0 && value.abs() < tiny;
        if !flushed(span.low) && !flushed(span.high) {
            return Self { kind, numbers, span };
        }
        Self { kind, numbers, span: Span { low: span.low.min(0.0), high: span.high.max(0.0), ..span } }
    }

    fn changed(self, step: Step, other: f64) -> Self {
        let Self { kind, numbers, span } = self;
        let number = |value: f64| Span::exact(numbers.nearest(value));
        let other = Self { kind, numbers, span: Span::exact(other) }.settled().span;
        let negated = |span: Span| span.times(-1.0);
        let span = match step {
            Step::Add => span.plus(other),
            Step::Subtract => span.plus(negated(other)),
            Step::Multiply => product(span, other),
            Step::AddScalar(value) => span.plus(number(value)),
            Step::SubtractScalar(value) => span.plus(negated(number(value))),
            Step::MultiplyScalar(value) => product(span, number(value)),
            Step::Relu => limited(span, 0.0, f64::INFINITY),
            Step::Relu6 => limited(span, 0.0, 6.0),
            Step::Clamp([least, most]) => limited(span, numbers.nearest(least), numbers.nearest(most)),
            Step::Sigmoid => rising(span, kind, |x| 1.0 / (1.0 + (-x).exp())),
            Step::Tanh => rising(span, kind, f64::tanh),
            Step::Gelu => gelu(span, kind),
        };
        Self { kind, numbers, span }.settled()
    }

    fn stored(self, to: Kind) -> Span {
        self.span.stored(to)
    }
}

/// NaN stays NaN.
fn limited(span: Span, least: f64, most: f64) -> Span {
    if span.value.is_nan() { span } else { span.map(|value| value.max(least).min(most)) }
}

fn product(one: Span, other: Span) -> Span {
    if one.any || other.any {
        return Span::any();
    }
    let value = one.value * other.value;
    if one.is_exact() && other.is_exact() || value.is_nan() {
        return Span::exact(value);
    }
    let corners = [one.low * other.low, one.low * other.high, one.high * other.low, one.high * other.high];
    if corners.iter().any(|corner| corner.is_nan()) {
        return Span::any();
    }
    let [low, high] = [corners.into_iter().fold(value, f64::min), corners.into_iter().fold(value, f64::max)];
    Span { low, value, high, any: false }
}

/// The allowed error of a function of one number, in units of the last place.
const UNITS: f64 = 8.0;

/// An increasing function, within 8 units of the last place.
fn rising(span: Span, kind: Kind, function: impl Fn(f64) -> f64) -> Span {
    if span.any || span.value.is_nan() {
        return span;
    }
    let [unit, tiny, _] = kind.precision();
    let error = |value: f64| 2.0 * UNITS * unit * value.abs() + tiny;
    let [low, value, high] = [span.low, span.value, span.high].map(function);
    Span { low: low - error(low), value, high: high + error(high), any: false }
}

/// Within `|x| 2^-19`, or 1e-12 relative in double precision.
fn gelu(span: Span, kind: Kind) -> Span {
    if span.any || span.value.is_nan() {
        return span;
    }
    if span.value.is_infinite() {
        return Span::exact(if span.value > 0.0 { f64::INFINITY } else { 0.0 });
    }
    let relative = if kind == Kind::F64 { 1e-12 } else { 2f64.powi(-19) };
    let of = |x: f64| 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
    let value = of(span.value);
    // The slope is less than 1.2 everywhere.
    let error = relative * span.magnitude() + 1.2 * (span.high - span.low) + kind.precision()[1];
    Span::exact(value).widened(error)
}

/// The complementary error function: by its series near 0, otherwise by its continued fraction (DLMF 7.6.1 and 7.9.4).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let mut fraction = 0.0;
    for n in (1..120).rev() {
        fraction = f64::from(n) / 2.0 / (x + fraction);
    }
    (-x * x).exp() / (x + fraction) * std::f64::consts::FRAC_2_SQRT_PI / 2.0
}
