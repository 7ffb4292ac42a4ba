//! Answers of `clGet...Info`.

use std::ffi::c_void;

use bytemuck::NoUninit;

/// The bytes of an answer.
pub type Answer = Vec<u8>;

/// A number, or any plain value.
pub fn number<T: NoUninit>(value: T) -> Answer {
    bytemuck::bytes_of(&value).to_vec()
}

/// A `cl_bool`.
pub fn boolean(value: bool) -> Answer {
    number(u32::from(value))
}

/// Several numbers; none is an empty answer.
pub fn list<T: NoUninit>(values: &[T]) -> Answer {
    bytemuck::cast_slice(values).to_vec()
}

/// A handle or another pointer.
pub fn pointer(pointer: *mut c_void) -> Answer {
    number(pointer as usize)
}

/// Handles or other pointers.
pub fn pointers(pointers: impl IntoIterator<Item = *mut c_void>) -> Answer {
    pointers.into_iter().flat_map(pointer).collect()
}

/// A text that ends with a 0. Zeros inside of the text end it.
pub fn text(text: &str) -> Answer {
    let mut bytes = text.as_bytes().to_vec();
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes.push(0);
    bytes
}

/// `cl_name_version` of each: a packed version and a name of at most 63 bytes.
pub fn names_with_versions<'n>(names: impl IntoIterator<Item = (&'n str, u32)>) -> Answer {
    let mut bytes = Vec::new();
    for (name, version) in names {
        bytes.extend(version.to_ne_bytes());
        let mut field = [0u8; 64];
        let length = name.len().min(63);
        field[..length].copy_from_slice(&name.as_bytes()[..length]);
        bytes.extend(field);
    }
    bytes
}
