//! Memory of a context.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;

use half::f16;
use tripipe::opencl::External;
use tripipe::{Context, Element, Vector};

use crate::context::tripipe_context;
use crate::status::{Failure, call, free, give, object, tripipe_status};

/// The type of an element.
pub type tripipe_element = i32;
/// `uint8_t`
pub const TRIPIPE_ELEMENT_U8: tripipe_element = 0;
/// `int8_t`
pub const TRIPIPE_ELEMENT_I8: tripipe_element = 1;
/// `uint16_t`
pub const TRIPIPE_ELEMENT_U16: tripipe_element = 2;
/// `int16_t`
pub const TRIPIPE_ELEMENT_I16: tripipe_element = 3;
/// `uint32_t`
pub const TRIPIPE_ELEMENT_U32: tripipe_element = 4;
/// `int32_t`
pub const TRIPIPE_ELEMENT_I32: tripipe_element = 5;
/// IEEE half precision, 16 bits (`cl_half`)
pub const TRIPIPE_ELEMENT_F16: tripipe_element = 6;
/// `float`
pub const TRIPIPE_ELEMENT_F32: tripipe_element = 7;
/// `double`
pub const TRIPIPE_ELEMENT_F64: tripipe_element = 8;

/// Elements in the memory of a context. One thread at a time writes to it; any number may read.
pub struct tripipe_vector(pub(crate) Typed);

/// A vector of any type.
pub(crate) enum Typed {
    U8(Vector<u8>),
    I8(Vector<i8>),
    U16(Vector<u16>),
    I16(Vector<i16>),
    U32(Vector<u32>),
    I32(Vector<i32>),
    F16(Vector<f16>),
    F32(Vector<f32>),
    F64(Vector<f64>),
}

/// Types that a [`Typed`] holds.
pub(crate) trait TypedElement: Element {
    fn of(typed: &Typed) -> Option<&Vector<Self>>;
    fn typed(vector: Vector<Self>) -> Typed;
}

macro_rules! typed_elements {
    ($($type:ident $name:ident $number:ident),*) => {
        $(impl TypedElement for $type {
            fn of(typed: &Typed) -> Option<&Vector<Self>> {
                if let Typed::$name(vector) = typed { Some(vector) } else { None }
            }

            fn typed(vector: Vector<Self>) -> Typed {
                Typed::$name(vector)
            }
        })*

        impl Typed {
            /// The name of the element type in Rust.
            pub(crate) fn element(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => <$type as Element>::NAME,)*
                }
            }

            fn len(&self) -> usize {
                match self {
                    $(Self::$name(vector) => vector.len(),)*
                }
            }

            /// # Safety
            /// As [`read`].
            unsafe fn read(&self, into: *mut c_void, bytes: usize) -> Result<(), Failure> {
                match self {
                    // SAFETY: as the caller guarantees.
                    $(Self::$name(vector) => unsafe { read(vector, into, bytes) },)*
                }
            }

            /// # Safety
            /// As [`write`].
            unsafe fn write(&self, from: *const c_void, bytes: usize) -> Result<(), Failure> {
                match self {
                    // SAFETY: as the caller guarantees.
                    $(Self::$name(vector) => unsafe { write(&mut vector.share(), from, bytes) },)*
                }
            }
        }

        /// A new vector with a copy of `contents`, or of zeros.
        ///
        /// # Safety
        /// As [`new`].
        unsafe fn new_typed(
            context: &Context,
            element: tripipe_element,
            length: usize,
            contents: *const c_void,
        ) -> Result<Typed, Failure> {
            match element {
                // SAFETY: as the caller guarantees.
                $($number => unsafe { new::<$type>(context, length, contents) },)*
                _ => Err(unknown(element)),
            }
        }

        /// The size of an element.
        fn element_bytes(element: tripipe_element) -> Result<usize, Failure> {
            match element {
                $($number => Ok(size_of::<$type>()),)*
                _ => Err(unknown(element)),
            }
        }

        fn import_typed(
            context: &Context,
            element: tripipe_element,
            length: usize,
            external: External,
        ) -> Result<Typed, Failure> {
            Ok(match element {
                $($number => Typed::$name(Vector::<$type>::import(context, external, length)?),)*
                _ => return Err(unknown(element)),
            })
        }
    };
}

typed_elements!(
    u8 U8 TRIPIPE_ELEMENT_U8,
    i8 I8 TRIPIPE_ELEMENT_I8,
    u16 U16 TRIPIPE_ELEMENT_U16,
    i16 I16 TRIPIPE_ELEMENT_I16,
    u32 U32 TRIPIPE_ELEMENT_U32,
    i32 I32 TRIPIPE_ELEMENT_I32,
    f16 F16 TRIPIPE_ELEMENT_F16,
    f32 F32 TRIPIPE_ELEMENT_F32,
    f64 F64 TRIPIPE_ELEMENT_F64
);

fn unknown(element: tripipe_element) -> Failure {
    Failure::argument(format_args!("element is {element}; the types are TRIPIPE_ELEMENT_U8 (0) to _F64 (8)"))
}

/// Checks a pointer to elements of the application.
fn check<T>(pointer: *const c_void, length: usize, argument: &str) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::null(argument));
    }
    if !pointer.cast::<T>().is_aligned() {
        let want = align_of::<T>();
        return Err(Failure::argument(format_args!("{argument} is not aligned to {want} bytes")));
    }
    match length.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Failure::argument(format_args!("{argument}: {length} elements are more than memory has"))),
    }
}

/// # Safety
/// `contents` is null or has `length` elements.
unsafe fn new<T: TypedElement>(
    context: &Context,
    length: usize,
    contents: *const c_void,
) -> Result<Typed, Failure> {
    if contents.is_null() {
        return Ok(T::typed(Vector::zeros(context, length)?));
    }
    check::<T>(contents, length, "contents")?;
    // SAFETY: neither null nor misaligned; the caller guarantees the length.
    let contents = unsafe { slice::from_raw_parts(contents.cast::<T>(), length) };
    Ok(T::typed(Vector::from_slice(context, contents)?))
}

/// Checks that a size in bytes is that of the vector.
fn check_bytes<T: TypedElement>(vector: &Vector<T>, bytes: usize) -> Result<(), Failure> {
    let want = vector.len() * size_of::<T>();
    if bytes == want {
        return Ok(());
    }
    Err(Failure::argument(format_args!("bytes is {bytes}, but the vector has {want}")))
}

/// # Safety
/// `into` is null or has room for `bytes` bytes.
unsafe fn read<T: TypedElement>(vector: &Vector<T>, into: *mut c_void, bytes: usize) -> Result<(), Failure> {
    check_bytes(vector, bytes)?;
    check::<T>(into, vector.len(), "into")?;
    // SAFETY: neither null nor misaligned; the caller guarantees the length, and any bytes are elements.
    let into = unsafe { slice::from_raw_parts_mut(into.cast::<T>(), vector.len()) };
    Ok(vector.read(into)?)
}

/// # Safety
/// `from` is null or has `bytes` bytes.
unsafe fn write<T: TypedElement>(
    vector: &mut Vector<T>,
    from: *const c_void,
    bytes: usize,
) -> Result<(), Failure> {
    check_bytes(vector, bytes)?;
    check::<T>(from, vector.len(), "from")?;
    // SAFETY: neither null nor misaligned; the caller guarantees the length.
    let from = unsafe { slice::from_raw_parts(from.cast::<T>(), vector.len()) };
    Ok(vector.write(from)?)
}

/// The vector of elements `T` behind a handle.
pub(crate) fn of_type<'v, T: TypedElement>(
    vector: &'v Typed,
    argument: &str,
) -> Result<&'v Vector<T>, Failure> {
    T::of(vector).ok_or_else(|| {
        Failure::argument(format_args!(
            "{argument} has elements of type {}, expected {}",
            vector.element(),
            T::NAME
        ))
    })
}

/// # Safety
/// `into` is null or valid for a write.
pub(crate) unsafe fn give_vector(
    into: *mut *mut tripipe_vector,
    vector: Typed,
    argument: &str,
) -> Result<(), Failure> {
    if into.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: as the caller guarantees.
    unsafe { give(into, Box::into_raw(Box::new(tripipe_vector(vector))), argument) }
}

/// Makes a vector with a copy of `contents` (`length` elements), or of zeros if that is null. Free it with
/// `tripipe_vector_free`.
///
/// # Safety
/// `context` is live; `contents` is null or has `length` elements; `vector` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_new(
    context: *const tripipe_context,
    element: tripipe_element,
    length: usize,
    contents: *const c_void,
    vector: *mut *mut tripipe_vector,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let context = unsafe { &object(context, "context")?.context };
        // SAFETY: as the caller guarantees.
        unsafe { give_vector(vector, new_typed(context, element, length, contents)?, "vector") }
    })
}

/// Makes a vector over a buffer of the application (`cl_mem`), without a copy. The context is one over a queue of the
/// same OpenCL context (`tripipe_context_on_queue`). The buffer is retained until the vector is freed.
///
/// # Safety
/// `context` is live; `buffer` is a live buffer of its OpenCL context; `vector` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_import(
    context: *const tripipe_context,
    buffer: *mut c_void,
    element: tripipe_element,
    length: usize,
    vector: *mut *mut tripipe_vector,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let context = unsafe { &object(context, "context")?.context };
        // SAFETY: as the caller guarantees.
        let external = unsafe { external(buffer, "buffer") }?;
        // SAFETY: as the caller guarantees.
        unsafe { give_vector(vector, import_typed(context, element, length, external)?, "vector") }
    })
}

/// Makes a vector over the first elements of an `AHardwareBuffer` of Android, without a copy: of format
/// `AHARDWAREBUFFER_FORMAT_BLOB`, with usage `AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER`. Devices without
/// `cl_arm_import_memory_android_hardware_buffer` or `cl_qcom_android_ahardwarebuffer_host_ptr`, and the CPU, answer
/// `TRIPIPE_STATUS_UNSUPPORTED`: lock the buffer there, and use `tripipe_filter` on its memory.
///
/// The application keeps a reference to the buffer until the vector is freed and nothing queued uses it
/// (`tripipe_context_finish`). It reads and writes the contents between `AHardwareBuffer_lock` and `AHardwareBuffer_unlock`, never while
/// something queued uses the vector; the unlock's fence has signalled before something is queued.
///
/// # Safety
/// `context` is live; `buffer` is a live `AHardwareBuffer` with `length` elements, used as above; `vector` is valid for a
/// write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_import_hardware_buffer(
    context: *const tripipe_context,
    buffer: *mut c_void,
    element: tripipe_element,
    length: usize,
    vector: *mut *mut tripipe_vector,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let context = unsafe { &object(context, "context")?.context };
        let buffer = NonNull::new(buffer).ok_or_else(|| Failure::null("buffer"))?;
        let bytes = length.checked_mul(element_bytes(element)?).ok_or_else(|| {
            Failure::argument(format_args!("length: {length} elements are more than memory has"))
        })?;
        // SAFETY: as the caller guarantees.
        let external = unsafe { External::hardware_buffer(buffer, bytes) };
        // SAFETY: as the caller guarantees.
        unsafe { give_vector(vector, import_typed(context, element, length, external)?, "vector") }
    })
}

/// A buffer of the application.
///
/// # Safety
/// `buffer` is null or a live `cl_mem`.
pub(crate) unsafe fn external(buffer: *mut c_void, argument: &str) -> Result<External, Failure> {
    if buffer.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: as the caller guarantees.
    unsafe { External::buffer(buffer) }
        .map_err(|error| Failure::argument(format_args!("{argument} is not a buffer: {error}")))
}

/// Gives the number of elements of a vector.
///
/// # Safety
/// `vector` is live; `length` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_length(
    vector: *const tripipe_vector,
    length: *mut usize,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe { give(length, object(vector, "vector")?.0.len(), "length") }
    })
}

/// Copies all elements of a vector to the application, after everything queued before. `bytes` is the size of the vector.
///
/// # Safety
/// `vector` is live; `into` has room for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_read(
    vector: *const tripipe_vector,
    into: *mut c_void,
    bytes: usize,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe { object(vector, "vector")?.0.read(into, bytes) }
    })
}

/// Overwrites all elements of a vector, after everything queued before. `bytes` is the size of the vector.
///
/// # Safety
/// `vector` is live; `from` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_write(
    vector: *mut tripipe_vector,
    from: *const c_void,
    bytes: usize,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe { object(vector, "vector")?.0.write(from, bytes) }
    })
}

/// Frees a vector, once nothing that is queued uses it. Null is allowed.
///
/// # Safety
/// `vector` is null or live, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_vector_free(vector: *mut tripipe_vector) {
    // SAFETY: as the caller guarantees.
    unsafe { free(vector) }
}
