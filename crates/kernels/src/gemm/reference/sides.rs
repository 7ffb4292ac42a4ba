//! The operands of one product, and what becomes of a sum: factors, C as it was, the epilogue.

use tripipe_launch::ScalarType;

use super::{element, position, precision, rounded, types};
use crate::gemm::description::{Batch, Elements, EpilogueStage, Gemm, Scale};

/// The operands of one product.
pub(super) struct Sides<'o> {
    pub(super) gemm: &'o Gemm,
    pub(super) operands: &'o [&'o [u8]],
    pub(super) product: usize,
    pub(super) c: usize,
}

impl Sides<'_> {
    /// The values that stages add, in the order of the epilogue; `None` for stages that add nothing.
    fn added(&self, row: usize, column: usize) -> impl Iterator<Item = (&EpilogueStage, Option<f64>)> {
        let [_, _, side, _] = types(self.gemm.elements);
        let skipped = 3
            + usize::from(matches!(self.gemm.batch, Batch::Offsets { .. }))
            + usize::from(matches!(self.gemm.elements, Elements::I8ToI8(_)));
        let mut operands = self.operands.iter().skip(skipped);
        self.gemm.epilogue.iter().map(move |stage| {
            let index = match stage {
                EpilogueStage::BiasColumns => column,
                EpilogueStage::BiasRows => row,
                EpilogueStage::Residual { layout, stride } => {
                    self.product * stride + position(layout, [row, column])
                }
                EpilogueStage::Relu | EpilogueStage::Relu6 | EpilogueStage::Clamp { .. } => {
                    return (stage, None);
                }
            };
            (stage, operands.next().map(|bytes| element(side, bytes, index)))
        })
    }

    fn before(&self, row: usize, column: usize) -> f64 {
        let [_, output, ..] = types(self.gemm.elements);
        element(output, self.operands[2], self.c + position(&self.gemm.c, [row, column]))
    }

    /// The element of C for a sum, with its bound.
    pub(super) fn float(&self, sum: f64, bound: f64, row: usize, column: usize) -> (f64, f64) {
        let [_, output, _, total] = types(self.gemm.elements);
        let [unit, _, largest] = precision(total);
        let [alpha, beta] = [self.gemm.alpha, self.gemm.beta].map(|factor| rounded(total, factor));
        // Infinities and NaN propagate exactly.
        let bound = if sum.is_finite() || bound == f64::INFINITY { bound } else { 0.0 };
        let mut value = alpha * sum;
        // An infinite or NaN factor leaves nothing to round. But when the sum may be 0 or of either sign, any result
        // is possible.
        let mut error = match alpha {
            alpha if alpha.is_finite() => alpha.abs() * bound,
            alpha if alpha.is_nan() || bound == 0.0 || sum.abs() > bound => 0.0,
            _ => f64::INFINITY,
        };
        let finite = |value: f64| if value.is_finite() { value.abs() } else { 0.0 };
        let mut peak = finite(value) + error;
        if alpha != 1.0 {
            error += unit * (finite(value) + error);
        }
        let mut add = |value: &mut f64, error: &mut f64, addend: f64| {
            *value += addend;
            *error += unit * (finite(*value) + *error);
            peak = peak.max(finite(addend)).max(finite(*value) + *error);
        };
        if beta != 0.0 {
            let addend = beta * self.before(row, column);
            error += unit * finite(addend);
            add(&mut value, &mut error, addend);
        }
        for (stage, addend) in self.added(row, column) {
            if let Some(addend) = addend {
                add(&mut value, &mut error, addend);
            }
            let limits = match stage {
                EpilogueStage::Relu => Some((0.0, f64::INFINITY)),
                EpilogueStage::Relu6 => Some((0.0, 6.0)),
                EpilogueStage::Clamp { least, most } => {
                    Some((rounded(total, f64::from(*least)), rounded(total, f64::from(*most))))
                }
                EpilogueStage::BiasColumns | EpilogueStage::BiasRows | EpilogueStage::Residual { .. } => None,
            };
            if let Some((least, most)) = limits {
                value = if value < least {
                    least
                } else if value > most {
                    most
                } else {
                    value
                };
            }
        }
        let [unit, tiny, stored_largest] = precision(output);
        if output != total {
            error += unit * (finite(value) + error);
        }
        error += tiny;
        if peak > largest || finite(value) + error > stored_largest {
            error = f64::INFINITY;
        }
        (value, error)
    }

    /// The element of C for a sum of bytes.
    pub(super) fn integer(&self, sum: f64, row: usize, column: usize) -> i32 {
        let [alpha, beta] = [self.gemm.alpha, self.gemm.beta].map(|factor| factor as i32);
        let mut value = (sum as i32).wrapping_mul(alpha);
        if beta != 0 {
            value = value.wrapping_add((self.before(row, column) as i32).wrapping_mul(beta));
        }
        for (stage, addend) in self.added(row, column) {
            value = match stage {
                EpilogueStage::Relu => value.max(0),
                EpilogueStage::Relu6 => value.clamp(0, 6),
                EpilogueStage::Clamp { least, most } => value.max(*least as i32).min(*most as i32),
                EpilogueStage::BiasColumns | EpilogueStage::BiasRows | EpilogueStage::Residual { .. } => {
                    value.wrapping_add(addend.unwrap_or(0.0) as i32)
                }
            };
        }
        let Elements::I8ToI8(requantise) = &self.gemm.elements else { return value };
        let scales = self.operands[3 + usize::from(matches!(self.gemm.batch, Batch::Offsets { .. }))];
        let pair = if requantise.scale == Scale::Columns { column } else { 0 };
        let number = |index| element(ScalarType::I32, scales, 2 * pair + index) as i64;
        let (multiplier, shift) = (number(0), number(1).clamp(1, 62));
        let scaled = ((i128::from(value) * i128::from(multiplier) * 2) >> shift) + 1;
        let nearest = (scaled >> 1) + i128::from(requantise.zero_c);
        nearest.clamp(requantise.least.into(), requantise.most.into()) as i32
    }
}
