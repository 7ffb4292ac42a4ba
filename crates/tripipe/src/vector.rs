//! Vectors on a device.

use std::marker::PhantomData;

use tripipe_opencl::memory::External;

use crate::memory::Memory;
use crate::{Context, Element, Error};

/// Numbers in a row, in a context's memory.
#[derive(Debug)]
pub struct Vector<T> {
    memory: Memory,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Element> Vector<T> {
    /// A vector with a copy of `elements`.
    ///
    /// # Errors
    /// More than the device gives in one piece; no memory left.
    pub fn from_slice(context: &Context, elements: &[T]) -> Result<Self, Error> {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let memory = Memory::new(context, bytes.len(), Some(bytes))?;
        Ok(Self { memory, length: elements.len(), element: PhantomData })
    }

    /// A vector of zeros.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn zeros(context: &Context, length: usize) -> Result<Self, Error> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(Error::TooLarge { elements: length })?;
        Ok(Self { memory: Memory::new(context, bytes, None)?, length, element: PhantomData })
    }

    /// Memory that others made, as a vector of `length` elements; no copy is made: a buffer of the application's own OpenCL
    /// context, a dma-buf, an Android hardware buffer. What is in it can become a matrix ([`crate::Matrix::from_vector`]) or an image
    /// ([`crate::Image::over`]).
    ///
    /// Not yet tried on hardware with Arm's and Qualcomm's extensions.
    ///
    /// # Errors
    /// It is shorter; the context is on no OpenCL device; the device cannot take in such memory (the extensions are named); the driver
    /// refuses.
    pub fn import(context: &Context, external: External, length: usize) -> Result<Self, Error> {
        let bytes = length.checked_mul(size_of::<T>()).ok_or(Error::TooLarge { elements: length })?;
        let memory = Memory::import(context, external, bytes)?;
        Ok(Self { memory, length, element: PhantomData })
    }

    /// Its length.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The context it lives in.
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// A copy of its elements, after all that was queued before.
    ///
    /// # Errors
    /// An operation before failed; the device is gone.
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut elements = vec![T::default(); self.length];
        self.read(&mut elements)?;
        Ok(elements)
    }

    /// Copies its elements, after all that was queued before.
    ///
    /// # Errors
    /// `into` of another length; an operation before failed; the device is gone.
    pub fn read(&self, into: &mut [T]) -> Result<(), Error> {
        self.check(into.len())?;
        self.memory.read(0, bytemuck::cast_slice_mut(into))
    }

    /// Overwrites its elements, after all that was queued before.
    ///
    /// # Errors
    /// `from` of another length; the device is gone.
    pub fn write(&mut self, from: &[T]) -> Result<(), Error> {
        self.check(from.len())?;
        self.memory.write(0, bytemuck::cast_slice(from))
    }

    /// Has `look` see its elements where they lie: no copy is made where the host shares the memory. After all that was queued
    /// before; the context does nothing else meanwhile, so `look` must not ask it for anything.
    ///
    /// # Errors
    /// An operation before failed; the device is gone.
    pub fn map<R>(&self, look: impl FnOnce(&[T]) -> R) -> Result<R, Error> {
        self.memory.with(|bytes| look(bytemuck::cast_slice(bytes)))
    }

    /// As [`Self::map`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::map`].
    pub fn map_mut<R>(&mut self, edit: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        self.memory.with_mut(|bytes| edit(bytemuck::cast_slice_mut(bytes)))
    }

    /// A copy in another context, after all that was queued before.
    ///
    /// # Errors
    /// An operation before failed; no memory there; a device is gone.
    pub fn to_context(&self, context: &Context) -> Result<Self, Error> {
        Ok(Self { memory: self.memory.to_context(context)?, length: self.length, element: PhantomData })
    }

    pub(crate) fn check(&self, found: usize) -> Result<(), Error> {
        let operand = "the slice";
        if found == self.length { Ok(()) } else { Err(Error::Length { operand, want: self.length, found }) }
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}
