//! Bytes of memory as elements.

/// Memory as elements; an incomplete element at the end is left out. Memory without elements may have any alignment.
pub fn elements_of<T: bytemuck::Pod>(memory: &[u8]) -> &[T] {
    match memory.len() / size_of::<T>() {
        0 => &[],
        count => bytemuck::cast_slice(&memory[..count * size_of::<T>()]),
    }
}

/// As [`elements_of`], for writing.
pub fn elements_of_mut<T: bytemuck::Pod>(memory: &mut [u8]) -> &mut [T] {
    match memory.len() / size_of::<T>() {
        0 => &mut [],
        count => bytemuck::cast_slice_mut(&mut memory[..count * size_of::<T>()]),
    }
}
