//! Chains of image filters.

use std::ffi::{c_char, c_void};
use std::slice;

use half::f16;
use tripipe::filter::{Border, Chain, ChannelLayout, PixelType, Raster};
use tripipe::{Image, Pixel, Size, Vector};

use crate::context::tripipe_context;
use crate::status::{Failure, call, free, give, give_text, object, text, tripipe_status};
use crate::vector::{
    TRIPIPE_ELEMENT_F16, TRIPIPE_ELEMENT_F32, TRIPIPE_ELEMENT_I16, TRIPIPE_ELEMENT_U8, TRIPIPE_ELEMENT_U16,
    Typed, TypedElement, of_type, tripipe_element, tripipe_vector,
};

/// The layout of an image.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tripipe_image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Channels of a pixel, 1 to 4.
    pub channels: usize,
    /// Type of a channel: `TRIPIPE_ELEMENT_U8`, `_U16`, `_I16`, `_F16` or `_F32`.
    pub element: tripipe_element,
    /// Elements from the start of the memory to the first pixel.
    pub offset: usize,
    /// Elements from row to row; 0 if there are no gaps.
    pub pitch: usize,
}

/// Image filters, one after the other. Any number of threads may use it.
pub struct tripipe_chain(Chain);

impl tripipe_image {
    pub(crate) fn raster(&self, argument: &str) -> Result<Raster, Failure> {
        let Self { width, height, channels, element, offset, pitch } = *self;
        let element = match element {
            TRIPIPE_ELEMENT_U8 => PixelType::U8,
            TRIPIPE_ELEMENT_U16 => PixelType::U16,
            TRIPIPE_ELEMENT_I16 => PixelType::I16,
            TRIPIPE_ELEMENT_F16 => PixelType::F16,
            TRIPIPE_ELEMENT_F32 => PixelType::F32,
            _ => {
                return Err(Failure::argument(format_args!(
                    "{argument}: a channel is of type U8, U16, I16, F16 or F32"
                )));
            }
        };
        let packed = Raster::packed(Size::new(width, height), channels, element);
        Ok(Raster { offset, pitch: if pitch == 0 { packed.pitch } else { pitch }, ..packed })
    }

    fn of(raster: &Raster) -> Self {
        let Raster { width, height, channels, element, offset, pitch, .. } = *raster;
        let element = match element {
            PixelType::U8 => TRIPIPE_ELEMENT_U8,
            PixelType::U16 => TRIPIPE_ELEMENT_U16,
            PixelType::I16 => TRIPIPE_ELEMENT_I16,
            PixelType::F16 => TRIPIPE_ELEMENT_F16,
            PixelType::F32 => TRIPIPE_ELEMENT_F32,
        };
        debug_assert_eq!(raster.layout, ChannelLayout::Packed);
        Self { width, height, channels, element, offset, pitch }
    }
}

/// Makes a chain from its text, e.g. `gray,gaussian:5,sobel` (`tripipe filter --help` lists all filters). `border` says
/// what is outside the image: `none`, `constant:V`, `replicate`, `reflect`, `reflect101` or `wrap`; null is `reflect101`.
/// Free the chain with `tripipe_chain_free`.
///
/// # Safety
/// `filters` is a string, `border` is null or a string; `chain` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_chain_new(
    filters: *const c_char,
    border: *const c_char,
    chain: *mut *mut tripipe_chain,
) -> tripipe_status {
    call(|| {
        let border = if border.is_null() {
            Border::default()
        } else {
            // SAFETY: as the caller guarantees.
            let text = unsafe { text(border, "border") }?;
            text.parse().map_err(|error| Failure::argument(format_args!("border: {error}")))?
        };
        // SAFETY: as the caller guarantees.
        let filters = unsafe { text(filters, "filters") }?;
        let made = Chain::parse(filters, border)
            .map_err(|error| Failure::argument(format_args!("filters: {error}")))?;
        if chain.is_null() {
            return Err(Failure::null("chain"));
        }
        // SAFETY: as the caller guarantees.
        unsafe { give(chain, Box::into_raw(Box::new(tripipe_chain(made))), "chain") }
    })
}

/// Gives the layout of a chain's result, without gaps between rows.
///
/// # Safety
/// `chain` is live; `from` is valid; `to` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_chain_result(
    chain: *const tripipe_chain,
    from: *const tripipe_image,
    to: *mut tripipe_image,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (chain, from) = unsafe { (object(chain, "chain")?, object(from, "from")?.raster("from")?) };
        let result = made(&chain.0, &from)?;
        // SAFETY: as the caller guarantees.
        unsafe { give(to, tripipe_image::of(&result), "to") }
    })
}

/// Frees a chain. Null is allowed.
///
/// # Safety
/// `chain` is null or live, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_chain_free(chain: *mut tripipe_chain) {
    // SAFETY: as the caller guarantees.
    unsafe { free(chain) }
}

/// Filters an image in the memory of the application; returns when the result is there. Bytes between the rows of the
/// result are unchanged. `source` and `result`, from the first element of their images to the last, must not overlap: such
/// calls are refused. On the CPU path nothing is copied. With a device, the first calls run on the CPU path, while the
/// kernels are built on another thread; then calls on the device, with copies, decide which of the two runs all others. A
/// context over a queue always uses the device.
///
/// # Safety
/// `context` and `chain` are live; `source` and `result` have all elements of the images `from` and `to`, which are
/// valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_filter(
    context: *const tripipe_context,
    chain: *const tripipe_chain,
    source: *const c_void,
    from: *const tripipe_image,
    result: *mut c_void,
    to: *const tripipe_image,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (context, chain) = unsafe { (object(context, "context")?, object(chain, "chain")?) };
        // SAFETY: as the caller guarantees.
        let (from, to) = unsafe { (object(from, "from")?.raster("from")?, object(to, "to")?.raster("to")?) };
        made(&chain.0, &from)?;
        chain.0.check(&from, &to).map_err(|error| Failure::argument(format_args!("to: {error}")))?;
        check_apart(source, &from, result, &to)?;
        // SAFETY: as the caller guarantees.
        let source = unsafe { bytes(source, &from, "source") }?;
        // SAFETY: as the caller guarantees; it does not overlap the source.
        let result = unsafe { bytes_mut(result, &to, "result") }?;
        Ok(context.context.filter_bytes(&chain.0, &from, source, &to, result)?)
    })
}

/// Chooses and builds the kernels for images with these layouts in vectors, and waits for the compiler: the first
/// `tripipe_filter_vectors` with them then takes as long as any other. The context keeps those of the latest layouts.
///
/// # Safety
/// `context` and `chain` are live; `from` and `to` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_filter_prepare(
    context: *const tripipe_context,
    chain: *const tripipe_chain,
    from: *const tripipe_image,
    to: *const tripipe_image,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (context, chain) = unsafe { (object(context, "context")?, object(chain, "chain")?) };
        // SAFETY: as the caller guarantees.
        let (from, to) = unsafe { (object(from, "from")?.raster("from")?, object(to, "to")?.raster("to")?) };
        made(&chain.0, &from)?;
        context.context.filter(&chain.0, &from, &to)?;
        Ok(())
    })
}

/// Checks that a result is not over its source.
///
/// # Errors
/// They share memory, or are larger than memory.
pub(crate) fn check_apart(
    source: *const c_void,
    from: &Raster,
    result: *mut c_void,
    to: &Raster,
) -> Result<(), Failure> {
    let [read, written] = [size(from, "source")?, size(to, "result")?];
    let [source, result] = [source.addr(), result.addr()];
    if read > 0 && written > 0 && source < result + written && result < source + read {
        return Err(Failure::argument("source and result overlap: give the result memory of its own"));
    }
    Ok(())
}

/// The layout of a chain's result.
fn made(chain: &Chain, from: &Raster) -> Result<Raster, Failure> {
    chain.apply_to(from).map_err(|error| Failure::argument(format_args!("from: {error}")))
}

/// The bytes of a raster.
fn size(raster: &Raster, argument: &str) -> Result<usize, Failure> {
    let elements =
        raster.elements().map_err(|error| Failure::argument(format_args!("{argument}: {error}")))?;
    let bytes = elements.checked_mul(raster.element.bytes());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| Failure::argument(format_args!("{argument}: {raster} are more than memory has")))
}

/// # Safety
/// `source` is null or has all elements of the raster.
pub(crate) unsafe fn bytes<'b>(
    source: *const c_void,
    raster: &Raster,
    argument: &str,
) -> Result<&'b [u8], Failure> {
    let size = size(raster, argument)?;
    if source.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: not null; the caller guarantees the length.
    Ok(unsafe { slice::from_raw_parts(source.cast(), size) })
}

/// # Safety
/// `result` is null or has all elements of the raster, which nothing else uses.
pub(crate) unsafe fn bytes_mut<'b>(
    result: *mut c_void,
    raster: &Raster,
    argument: &str,
) -> Result<&'b mut [u8], Failure> {
    let size = size(raster, argument)?;
    if result.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: not null; the caller guarantees the length and that nothing else uses it.
    Ok(unsafe { slice::from_raw_parts_mut(result.cast(), size) })
}

/// Queues a chain over an image in a vector, into another vector; returns at once. With a context over a queue of the
/// application, it runs after the commands enqueued there before, and before those enqueued later.
///
/// # Safety
/// All handles are live; `from` and `to` are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_filter_vectors(
    context: *const tripipe_context,
    chain: *const tripipe_chain,
    source: *const tripipe_vector,
    from: *const tripipe_image,
    result: *mut tripipe_vector,
    to: *const tripipe_image,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (context, chain) = unsafe { (object(context, "context")?, object(chain, "chain")?) };
        // SAFETY: as the caller guarantees.
        let (from, to) = unsafe { (object(from, "from")?.raster("from")?, object(to, "to")?.raster("to")?) };
        // SAFETY: as the caller guarantees.
        let (source, result) = unsafe { (&object(source, "source")?.0, &object(result, "result")?.0) };
        let images = Images { context, chain: &chain.0, from, to };
        match from.element {
            PixelType::U8 => images.from::<u8>(source, result),
            PixelType::U16 => images.from::<u16>(source, result),
            PixelType::I16 => images.from::<i16>(source, result),
            PixelType::F16 => images.from::<f16>(source, result),
            PixelType::F32 => images.from::<f32>(source, result),
        }
    })
}

/// A chain from one image to another, in vectors.
struct Images<'i> {
    context: &'i tripipe_context,
    chain: &'i Chain,
    from: Raster,
    to: Raster,
}

impl Images<'_> {
    fn from<S: Pixel + TypedElement>(&self, source: &Typed, result: &Typed) -> Result<(), Failure> {
        let source = of_type::<S>(source, "source")?.share().into_image(self.from)?;
        match self.to.element {
            PixelType::U8 => self.to::<S, u8>(&source, of_type(result, "result")?),
            PixelType::U16 => self.to::<S, u16>(&source, of_type(result, "result")?),
            PixelType::I16 => self.to::<S, i16>(&source, of_type(result, "result")?),
            PixelType::F16 => self.to::<S, f16>(&source, of_type(result, "result")?),
            PixelType::F32 => self.to::<S, f32>(&source, of_type(result, "result")?),
        }
    }

    fn to<S: Pixel, R: Pixel>(&self, source: &Image<S>, result: &Vector<R>) -> Result<(), Failure> {
        let mut result = result.share().into_image(self.to)?;
        let filter = self.context.context.filter(self.chain, &self.from, &self.to)?;
        filter.run(source, &mut result)?;
        Ok(())
    }
}

/// Gives what a chain would do for such an image, why, and how long it takes. Free the text with `tripipe_string_free`.
///
/// # Safety
/// `context` and `chain` are live; `from` is valid; `explanation` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_filter_explain(
    context: *const tripipe_context,
    chain: *const tripipe_chain,
    from: *const tripipe_image,
    explanation: *mut *mut c_char,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (context, chain) = unsafe { (object(context, "context")?, object(chain, "chain")?) };
        // SAFETY: as the caller guarantees.
        let from = unsafe { object(from, "from") }?.raster("from")?;
        let to = made(&chain.0, &from)?;
        let filter = context.context.filter(&chain.0, &from, &to)?;
        // SAFETY: as the caller guarantees.
        unsafe { give_text(explanation, &filter.explain().to_string(), "explanation") }
    })
}
