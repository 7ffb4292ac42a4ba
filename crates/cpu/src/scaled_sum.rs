//! Sums with a scaled vector.

use half::f16;
use tripipe_kernels::filter::PixelType;

use tripipe_launch::{elements_of, elements_of_mut};

use crate::CpuError;

/// `y += alpha x` for `length` elements of `f16` or `f32`, computed in `f32`.
///
/// # Errors
/// [`CpuError::Length`] when `x` or `y` has fewer elements.
pub fn scaled_sum(
    element: PixelType,
    length: usize,
    alpha: f32,
    x: &[u8],
    y: &mut [u8],
) -> Result<(), CpuError> {
    for (buffer, found) in [("x", x.len()), ("y", y.len())] {
        let found = found / element.bytes();
        if found < length {
            return Err(CpuError::Length { operation: "scaled_sum", buffer, want: length, found });
        }
    }
    if element == PixelType::F16 {
        axpy::<f16>(alpha, &elements_of(x)[..length], &mut elements_of_mut(y)[..length]);
    } else {
        axpy::<f32>(alpha, &elements_of(x)[..length], &mut elements_of_mut(y)[..length]);
    }
    Ok(())
}

trait FloatElement: Copy + Into<f32> {
    fn of(value: f32) -> Self;
}

impl FloatElement for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl FloatElement for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

fn axpy<T: FloatElement>(alpha: f32, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = T::of((*y).into() + alpha * (*x).into());
    }
}
