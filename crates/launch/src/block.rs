//! Host memory owned by a transfer.

use std::any::Any;

use bytemuck::Pod;

/// Numbers in host memory that a transfer owns while it fills or reads them, so that nothing sees them half-written or
/// frees them too early.
pub struct Block(Box<dyn Bytes>);

/// Private, so that no other type implements it: the bytes of a `Vec` do not move while nothing accesses it.
trait Bytes: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Pod + Send + Sync> Bytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Block {
    /// Takes the numbers without a copy.
    pub fn new<T: Pod + Send + Sync>(numbers: Vec<T>) -> Self {
        Self(Box::new(numbers))
    }

    /// All its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    /// All its bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    /// The numbers; `None` if they have another type.
    pub fn into_vec<T: Pod>(self) -> Option<Vec<T>> {
        self.0.into_any().downcast().ok().map(|numbers| *numbers)
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a block of {} bytes", self.bytes().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_where_they_were() {
        let numbers = vec![1.5f32, -2.0, 0.25];
        let place = numbers.as_ptr();
        let mut block = Block::new(numbers);
        assert_eq!(block.bytes().len(), 12);
        block.bytes_mut()[..4].copy_from_slice(&7.0f32.to_ne_bytes());
        let numbers: Vec<f32> = block.into_vec().unwrap();
        assert_eq!((numbers.as_ptr(), numbers), (place, vec![7.0, -2.0, 0.25]));
        assert!(Block::new(vec![1u8]).into_vec::<i8>().is_none());
        assert!(Block::new(Vec::<f64>::new()).bytes().is_empty());
    }
}
