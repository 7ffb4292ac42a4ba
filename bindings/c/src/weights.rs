//! Products with quantised weights.

use std::ffi::c_char;
use std::slice;

use half::f16;
use tripipe::Extents;
use tripipe::quantised::{ActivationElement, PackedWeights, WeightFormat};

use crate::context::tripipe_context;
use crate::product::tripipe_matrix;
use crate::status::{Failure, call, free, give, object, text, tripipe_status};
use crate::vector::{Typed, TypedElement};

/// The weights of a layer, packed once for the kernels of a device. Any number of threads may use it.
pub struct tripipe_weights(PackedWeights);

/// Quantises and packs weights, a row of `inputs` numbers for each of `outputs`, as `f16`, `i8`, `q8_0` or `q4_0`
/// (docs/quantised.md). Free them with `tripipe_weights_free`.
///
/// # Safety
/// `context` is live; `format` is a string; `numbers` has `outputs * inputs` elements; `weights` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_weights_new(
    context: *const tripipe_context,
    format: *const c_char,
    outputs: usize,
    inputs: usize,
    numbers: *const f32,
    weights: *mut *mut tripipe_weights,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let context = unsafe { &object(context, "context")?.context };
        // SAFETY: as the caller guarantees.
        let format: WeightFormat = unsafe { text(format, "format") }?
            .parse()
            .map_err(|error| Failure::argument(format_args!("format: {error}")))?;
        if numbers.is_null() {
            return Err(Failure::null("numbers"));
        }
        if !numbers.is_aligned() {
            return Err(Failure::argument("numbers is not aligned to 4 bytes"));
        }
        if weights.is_null() {
            return Err(Failure::null("weights"));
        }
        let count =
            outputs.checked_mul(inputs).filter(|count| isize::try_from(count.saturating_mul(4)).is_ok());
        let count = count.ok_or_else(|| {
            Failure::argument(format_args!("{outputs} x {inputs} numbers are more than memory has"))
        })?;
        // SAFETY: neither null nor misaligned; the caller guarantees the length.
        let numbers = unsafe { slice::from_raw_parts(numbers, count) };
        let packed = PackedWeights::quantise(context, format, numbers, Extents::new(outputs, inputs))?;
        // SAFETY: as the caller guarantees.
        unsafe { give(weights, Box::into_raw(Box::new(tripipe_weights(packed))), "weights") }
    })
}

/// Queues Y = X W for the rows of X, each a vector of the weights' inputs; Y has a row of their outputs for each. Both are
/// row-major, of `F32` or `F16`, and share no elements. Returns at once; runs where the weights are.
///
/// # Safety
/// `weights` are live; `x` and `y` are valid, with live vectors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_weights_multiply(
    weights: *const tripipe_weights,
    x: *const tripipe_matrix,
    y: *const tripipe_matrix,
) -> tripipe_status {
    /// # Safety
    /// As `tripipe_weights_multiply`.
    unsafe fn store<T: ActivationElement + TypedElement>(
        weights: &PackedWeights,
        x: &tripipe_matrix,
        y: &tripipe_matrix,
    ) -> Result<(), Failure> {
        // SAFETY: as the caller guarantees.
        let (x, mut into) = unsafe { (x.view::<T>("x")?, y.shared::<T>("y")?) };
        weights.store(x, y.view_mut(&mut into, "y")?)?;
        Ok(())
    }
    call(|| {
        // SAFETY: as the caller guarantees.
        let (weights, x, y) = unsafe { (&object(weights, "weights")?.0, object(x, "x")?, object(y, "y")?) };
        // SAFETY: as the caller guarantees.
        match unsafe { x.vector("x") }? {
            // SAFETY: as the caller guarantees.
            Typed::F32(_) => unsafe { store::<f32>(weights, x, y) },
            // SAFETY: as the caller guarantees.
            Typed::F16(_) => unsafe { store::<f16>(weights, x, y) },
            other => Err(Failure::argument(format_args!(
                "x has elements of type {}; weights are multiplied by f32 or f16",
                other.element()
            ))),
        }
    })
}

/// Gives the size of packed weights in bytes.
///
/// # Safety
/// `weights` are live; `bytes` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_weights_bytes(
    weights: *const tripipe_weights,
    bytes: *mut usize,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { give(bytes, object(weights, "weights")?.0.bytes(), "bytes") })
}

/// Frees packed weights, once nothing that is queued uses them. Null is allowed.
///
/// # Safety
/// `weights` are null or live, and are not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_weights_free(weights: *mut tripipe_weights) {
    // SAFETY: as the caller guarantees.
    unsafe { free(weights) }
}
