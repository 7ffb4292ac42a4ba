//! Images with other extents.

use std::ffi::c_void;

use half::f16;
use tripipe::filter::{Interpolation, PixelType, Raster};
use tripipe::{Pixel, Size};

use crate::context::tripipe_context;
use crate::filter::{bytes, bytes_mut, check_apart, tripipe_image};
use crate::status::{Failure, call, object, tripipe_status};
use crate::vector::{Typed, TypedElement, of_type, tripipe_vector};

/// How the pixels of a resized image are computed (docs/filters.md).
pub type tripipe_interpolation = i32;
/// The nearest pixel.
pub const TRIPIPE_INTERPOLATION_NEAREST: tripipe_interpolation = 0;
/// The two nearest pixels along each axis.
pub const TRIPIPE_INTERPOLATION_LINEAR: tripipe_interpolation = 1;
/// The mean of the area that a pixel covers: for shrinking.
pub const TRIPIPE_INTERPOLATION_AREA: tripipe_interpolation = 2;
/// Cubic convolution of four pixels along each axis.
pub const TRIPIPE_INTERPOLATION_CUBIC: tripipe_interpolation = 3;
/// Lanczos' kernel over eight pixels along each axis.
pub const TRIPIPE_INTERPOLATION_LANCZOS4: tripipe_interpolation = 4;

fn interpolation(how: tripipe_interpolation) -> Result<Interpolation, Failure> {
    Ok(match how {
        TRIPIPE_INTERPOLATION_NEAREST => Interpolation::Nearest,
        TRIPIPE_INTERPOLATION_LINEAR => Interpolation::Bilinear,
        TRIPIPE_INTERPOLATION_AREA => Interpolation::Area,
        TRIPIPE_INTERPOLATION_CUBIC => Interpolation::Cubic,
        TRIPIPE_INTERPOLATION_LANCZOS4 => Interpolation::Lanczos4,
        other => {
            return Err(Failure::argument(format_args!(
                "how is {other}; the interpolations are TRIPIPE_INTERPOLATION_NEAREST (0) to _LANCZOS4 (4)"
            )));
        }
    })
}

/// Resizes an image in the memory of the application to the extents of `to`, which has the channels and the type of `from`;
/// returns when the result is there. Memory, devices and copies are as with `tripipe_filter`.
///
/// # Safety
/// `context` is live; `source` and `result` have all elements of the images `from` and `to`, which are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_resize(
    context: *const tripipe_context,
    how: tripipe_interpolation,
    source: *const c_void,
    from: *const tripipe_image,
    result: *mut c_void,
    to: *const tripipe_image,
) -> tripipe_status {
    call(|| {
        let how = interpolation(how)?;
        // SAFETY: as the caller guarantees.
        let context = unsafe { object(context, "context") }?;
        // SAFETY: as the caller guarantees.
        let (from, to) = unsafe { (object(from, "from")?.raster("from")?, object(to, "to")?.raster("to")?) };
        check_alike(&from, &to)?;
        check_apart(source, &from, result, &to)?;
        // SAFETY: as the caller guarantees.
        let source = unsafe { bytes(source, &from, "source") }?;
        // SAFETY: as the caller guarantees; it does not overlap the source.
        let result = unsafe { bytes_mut(result, &to, "result") }?;
        Ok(context.context.resize_bytes(how, &from, source, &to, result)?)
    })
}

fn check_alike(from: &Raster, to: &Raster) -> Result<(), Failure> {
    if (from.channels, from.element) == (to.channels, to.element) {
        return Ok(());
    }
    Err(Failure::argument("to: an image that is resized keeps its channels and their type"))
}

/// Makes a vector with a resized image: that of `source` with `width` x `height` pixels, without gaps. Queued, as
/// `tripipe_filter_vectors`. Free the vector with `tripipe_vector_free`.
///
/// # Safety
/// `source` is live; `from` is valid; `resized` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_resize_vector(
    how: tripipe_interpolation,
    source: *const tripipe_vector,
    from: *const tripipe_image,
    width: usize,
    height: usize,
    resized: *mut *mut tripipe_vector,
) -> tripipe_status {
    call(|| {
        let how = interpolation(how)?;
        // SAFETY: as the caller guarantees.
        let (source, from) = unsafe { (&object(source, "source")?.0, object(from, "from")?.raster("from")?) };
        let size = Size::new(width, height);
        let made = match from.element {
            PixelType::U8 => made::<u8>(source, from, size, how),
            PixelType::U16 => made::<u16>(source, from, size, how),
            PixelType::I16 => made::<i16>(source, from, size, how),
            PixelType::F16 => made::<f16>(source, from, size, how),
            PixelType::F32 => made::<f32>(source, from, size, how),
        }?;
        // SAFETY: as the caller guarantees.
        unsafe { crate::vector::give_vector(resized, made, "resized") }
    })
}

fn made<T: Pixel + TypedElement>(
    source: &Typed,
    from: Raster,
    size: Size,
    how: Interpolation,
) -> Result<Typed, Failure> {
    let image = of_type::<T>(source, "source")?.share().into_image(from)?;
    Ok(T::typed(image.resized(size, how)?.into_vector()?))
}
