//! The expected results of a product: sums in double precision, element by element, and the interval that rounding may
//! lead to.

use super::super::numbers::{Kind, Span};
use super::super::verdict::{Expected, Right};
use super::{Batch, Elements, ProductCase, Step, Sums, places};

/// The bound for a sum of k products is Higham's, k u / (1 - k u) times the sum of their magnitudes (Accuracy and
/// Stability of Numerical Algorithms, 2nd ed., section 3.1).
fn gamma(count: usize, unit: f64) -> f64 {
    let all = count as f64 * unit;
    if all < 1.0 { all / (1.0 - all) } else { f64::INFINITY }
}

pub(super) fn expected(product: &ProductCase) -> Expected {
    let [m, n, _] = product.extents;
    let [input, kind, side] = product.elements.kinds();
    let [a, b, c] = [0, 1, 2].map(|which| product.contents(which));
    let sides: Vec<Vec<u8>> = (0..product.epilogue.len()).map(|stage| product.side(stage)).collect();
    let mut spans = vec![None; c.len() / kind.bytes()];
    for index in 0..product.batch.count() {
        let starts = [0, 1, 2].map(|which| product.batch.start(index, which));
        for [i, j] in places([m, n]) {
            let at = place_in_c(product, [i, j]) + starts[2];
            let terms = terms(product, input, [&a, &b], starts, [i, j]);
            let added = |stage: usize| {
                let place = match &product.epilogue[stage] {
                    Step::BiasColumns => j,
                    Step::BiasRows => i,
                    Step::Residual(lie) => lie.index([m, n], [i, j]) + index * product.residual_stride(),
                    _ => return 0.0,
                };
                side.load(&sides[stage], place)
            };
            let old = kind.load(&c, at);
            spans[at] = Some(if product.elements.are_bytes() {
                integer(product, &terms, old, added, j)
            } else {
                float(product, &terms, old, added).stored(kind)
            });
        }
    }
    let packed = product.packed != [None; 2] && product.batch != Batch::One;
    Expected::Result(Right { kind, before: c, spans, same: !kind.is_float(), may_refuse: packed })
}

fn place_in_c(product: &ProductCase, at: [usize; 2]) -> usize {
    let [m, n, _] = product.extents;
    if product.to_matrix { at[0] * n + at[1] } else { product.c.index([m, n], at) }
}

/// `alpha` and `beta`, rounded to the accumulation type.
fn factors(product: &ProductCase) -> [f64; 2] {
    [product.alpha, product.beta].map(|factor| match product.elements {
        Elements::F64 { .. } => factor,
        Elements::F16(Sums::F16) => Kind::F16.nearest(Kind::F32.nearest(factor)),
        _ => Kind::F32.nearest(factor),
    })
}

/// The pairs of factors whose products make up an element of C; empty if alpha is 0.
fn terms(
    product: &ProductCase,
    kind: Kind,
    [a, b]: [&[u8]; 2],
    starts: [usize; 3],
    [i, j]: [usize; 2],
) -> Vec<[f64; 2]> {
    let [m, n, k] = product.extents;
    if factors(product)[0] == 0.0 {
        return Vec::new();
    }
    let term = |l: usize| {
        let a = kind.load(a, product.a.index([m, k], [i, l]) + starts[0]);
        let b = kind.load(b, product.b.index([k, n], [l, j]) + starts[1]);
        [a, b]
    };
    (0..k).map(term).collect()
}

/// The sum of products of floating-point numbers, before it is rounded to a type.
fn sum(elements: Elements, terms: &[[f64; 2]]) -> Span {
    let float = if matches!(elements, Elements::F64 { .. }) { Kind::F64 } else { Kind::F32 };
    let half = match elements {
        Elements::F16(Sums::F16) => Some(terms.len().max(1)),
        Elements::F16(Sums::Blocks(block)) => Some(block.max(1)),
        _ => None,
    };
    let (mut value, mut magnitude, mut error) = (0.0, 0.0, 0.0);
    for block in terms.chunks(half.unwrap_or(terms.len()).max(1)) {
        let (mut of_block, mut lost) = (0.0, 0.0);
        let [unit, tiny, most] = if half.is_some() { Kind::F16.precision() } else { float.precision() };
        for [a, b] in block {
            let term = a * b;
            value += term;
            if term.is_finite() {
                of_block += term.abs();
                // A product below the smallest normal number may become 0, or be rounded as coarsely as subnormal
                // numbers.
                lost += if term.abs() < tiny { term.abs() } else { 0.0 } + tiny * unit;
            } else if a.is_finite() && b.is_finite() {
                return Span::any();
            }
        }
        // In double precision, the reference has the same kind of error as the result.
        let twice = if float == Kind::F64 { 2.0 } else { 1.0 };
        error += twice * gamma(block.len() + usize::from(half.is_some()), unit) * of_block + lost;
        if of_block * (1.0 + gamma(block.len(), unit)) > most {
            return Span::any();
        }
        magnitude += of_block;
    }
    if half.is_some() {
        let blocks = terms.len().div_ceil(half.unwrap_or(1));
        error += gamma(blocks, float.precision()[0]) * (magnitude + error);
    }
    Span::exact(value).widened(error)
}

fn float(product: &ProductCase, terms: &[[f64; 2]], old: f64, added: impl Fn(usize) -> f64) -> Span {
    let half_sums = matches!(product.elements, Elements::F16(Sums::F16));
    // The type that the epilogue is computed in; for halves, float may be used instead.
    let kind = match product.elements {
        Elements::F64 { .. } => Kind::F64,
        Elements::F16(Sums::F16) => Kind::F16,
        _ => Kind::F32,
    };
    let round = |span: Span| {
        let rounded = span.rounded(kind);
        // Above the largest half, a backend that sums in float continues, and another one has infinity.
        if half_sums && rounded.is_finite() && rounded.magnitude() > Kind::F16.precision()[2] {
            Span::any()
        } else {
            rounded
        }
    };
    let [alpha, beta] = factors(product);
    let mut value = sum(product.elements, terms);
    if alpha != 1.0 {
        value = round(value.times(alpha));
        // The factor itself may be rounded to half.
        if half_sums {
            value = value.widened(value.magnitude() * Kind::F16.precision()[0]);
        }
    }
    if beta != 0.0 {
        let kept = if beta == 1.0 { Span::exact(old) } else { round(Span::exact(old).times(beta)) };
        let kept = if half_sums { kept.widened(kept.magnitude() * Kind::F16.precision()[0]) } else { kept };
        value = round(value.plus(kept));
    }
    for (stage, step) in product.epilogue.iter().enumerate() {
        let clamped = |value: f64, least: f64, most: f64| {
            if value < least {
                least
            } else if value > most {
                most
            } else {
                value
            }
        };
        value = match step {
            Step::BiasColumns | Step::BiasRows | Step::Residual(_) => {
                round(value.plus(Span::exact(added(stage))))
            }
            Step::Relu => value.map(|value| clamped(value, 0.0, f64::INFINITY)),
            Step::Relu6 => value.map(|value| clamped(value, 0.0, 6.0)),
            Step::Clamp([least, most]) => {
                value.map(|value| clamped(value, f64::from(*least), f64::from(*most)))
            }
        };
    }
    value
}

/// Exact, in 32 bits that wrap around after every step.
fn integer(
    product: &ProductCase,
    terms: &[[f64; 2]],
    old: f64,
    added: impl Fn(usize) -> f64,
    column: usize,
) -> Span {
    let wrapped = |value: i128| i128::from(value as i32);
    let zeros = match product.elements {
        Elements::I8ToI8 { zeros, .. } => zeros.map(i128::from),
        _ => [0; 3],
    };
    let sum: i128 = terms.iter().map(|[a, b]| (*a as i128 - zeros[0]) * (*b as i128 - zeros[1])).sum();
    let mut value = wrapped(wrapped(sum) * product.alpha as i128);
    if product.beta != 0.0 {
        value = wrapped(value + wrapped(old as i128 * product.beta as i128));
    }
    for (stage, step) in product.epilogue.iter().enumerate() {
        value = match step {
            Step::BiasColumns | Step::BiasRows | Step::Residual(_) => wrapped(value + added(stage) as i128),
            Step::Relu => value.max(0),
            Step::Relu6 => value.clamp(0, 6),
            Step::Clamp([least, most]) => value.clamp(*least as i128, *most as i128),
        };
    }
    if let Elements::I8ToI8 { columns, zeros, range, .. } = product.elements {
        let scales = product.scales();
        let pair = if columns { 2 * column } else { 0 };
        let (multiplier, shift) = (i128::from(scales[pair]), scales[pair + 1]);
        let half = 1i128 << (shift - 1);
        value = (value * multiplier + half).div_euclid(1 << shift) + i128::from(zeros[2]);
        value = value.clamp(range[0].into(), range[1].into());
    }
    Span::exact(value as f64)
}
