//! Reading what the application's arguments point to.

use std::ffi::CStr;
use std::ptr::with_exposed_provenance;

use opencl_sys::{cl_image_desc, cl_image_format};

use crate::call::Argument;
use crate::function::{Function, Pointee};
use crate::layer::Layer;

/// Lists, texts and values that are longer are not of a driver's API.
const LIMIT: u64 = 1 << 20;

/// The arguments. If the call failed, only its texts are read: the driver may not have looked at the rest.
///
/// # Safety
/// The words are the arguments of the function. If it succeeded, or is called next, they point to what it asks for.
pub(super) unsafe fn arguments(
    layer: &Layer,
    function: Function,
    words: &[u64],
    succeeded: bool,
) -> Vec<Argument> {
    let count_of = |name: &str| -> Option<usize> {
        let count = *words.get(function.position(name)?)?;
        let count = if function == Function::clCreateKernelsInProgram {
            // The application may have room for more.
            count.min(layer.driver().kernel_count(words[0]))
        } else {
            count
        };
        Some(usize::try_from(count.min(LIMIT)).unwrap_or(0))
    };
    let read = |(pointee, word): (Pointee, u64)| -> Argument {
        let address = word as usize;
        let is_read = word != 0 && (succeeded || pointee == Pointee::Text);
        if !is_read {
            return Argument::Word(word);
        }
        match pointee {
            // SAFETY: as the caller promises.
            Pointee::Text => unsafe { text(address) },
            // SAFETY: as the caller promises.
            Pointee::Words(of) => unsafe { list(address, count_of(of).unwrap_or(0)) },
            // SAFETY: as the caller promises.
            Pointee::Fixed(count) => unsafe { list(address, count) },
            // SAFETY: as the caller promises.
            Pointee::Bytes(of) => unsafe { bytes(address, count_of(of).unwrap_or(0)) },
            Pointee::Module(of) if layer.wants_modules() => {
                let count = function.position(of).map_or(0, |index| words[index] as usize);
                // SAFETY: as the caller promises.
                unsafe { bytes(address, count) }
            }
            Pointee::Unread | Pointee::Module(_) => Argument::Word(word),
            // SAFETY: as the caller promises.
            Pointee::Pairs => unsafe { pairs(address) },
            // SAFETY: as the caller promises.
            Pointee::ImageFormat => unsafe { format(address) },
            // SAFETY: as the caller promises.
            Pointee::ImageDescription => unsafe { description(address) },
        }
    };
    function.parameters().map(|parameter| parameter.pointee).zip(words.iter().copied()).map(read).collect()
}

/// # Safety
/// A text that ends with a 0 is there.
unsafe fn text(address: usize) -> Argument {
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(with_exposed_provenance(address)) };
    Argument::Text(text.to_string_lossy().into_owned())
}

/// # Safety
/// So many words are there.
unsafe fn list(address: usize, count: usize) -> Argument {
    let first: *const usize = with_exposed_provenance(address);
    // SAFETY: as the caller promises; they may not be aligned.
    Argument::Words((0..count).map(|index| unsafe { first.add(index).read_unaligned() } as u64).collect())
}

/// # Safety
/// So many bytes are there.
unsafe fn bytes(address: usize, count: usize) -> Argument {
    // SAFETY: as the caller promises.
    Argument::Bytes(unsafe { std::slice::from_raw_parts(with_exposed_provenance(address), count) }.to_vec())
}

/// # Safety
/// Pairs of words that end with a 0 are there.
unsafe fn pairs(address: usize) -> Argument {
    let first: *const usize = with_exposed_provenance(address);
    let mut all = Vec::new();
    while all.len() < LIMIT as usize {
        // SAFETY: the list goes on until its 0.
        let key = unsafe { first.add(all.len()).read_unaligned() } as u64;
        if key == 0 {
            break;
        }
        all.push(key);
        // SAFETY: a key that is not 0 has a value.
        all.push(unsafe { first.add(all.len()).read_unaligned() } as u64);
    }
    Argument::Words(all)
}

/// # Safety
/// A `cl_image_format` is there.
unsafe fn format(address: usize) -> Argument {
    // SAFETY: as the caller promises; it may not be aligned.
    let format: cl_image_format =
        unsafe { with_exposed_provenance::<cl_image_format>(address).read_unaligned() };
    Argument::Words(vec![format.image_channel_order.into(), format.image_channel_data_type.into()])
}

/// # Safety
/// A `cl_image_desc` is there.
unsafe fn description(address: usize) -> Argument {
    // SAFETY: as the caller promises; it may not be aligned.
    let image: cl_image_desc = unsafe { with_exposed_provenance::<cl_image_desc>(address).read_unaligned() };
    let sizes = [
        image.image_width,
        image.image_height,
        image.image_depth,
        image.image_array_size,
        image.image_row_pitch,
        image.image_slice_pitch,
    ];
    let kind = [u64::from(image.image_type)];
    Argument::Words(kind.into_iter().chain(sizes.map(|size| size as u64)).collect())
}
