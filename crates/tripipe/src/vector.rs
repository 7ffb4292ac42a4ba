//! Vectors on a device.

use std::borrow::Cow;
use std::marker::PhantomData;

use crate::opencl::External;

use crate::error::Fault;
use crate::memory::{Memory, elements};
use crate::{Context, Element, Error};

/// A sequence of numbers in a context's memory.
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
    /// More than the device allows in one allocation; no memory left.
    pub fn from_slice(context: &Context, elements: &[T]) -> Result<Self, Error> {
        Self::with_contents(context, elements.into())
    }

    /// A vector of `elements`, which are moved: on the CPU path they stay where they are; a device copies them when what
    /// was queued before has ended, which is not waited for.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn from_vec(context: &Context, elements: Vec<T>) -> Result<Self, Error> {
        Self::with_contents(context, elements.into())
    }

    fn with_contents(context: &Context, elements: Cow<'_, [T]>) -> Result<Self, Error> {
        let length = elements.len();
        Ok(Self { memory: Memory::with_contents(context, elements)?, length, element: PhantomData })
    }

    /// A vector, all of which is written before it is read.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub(crate) fn unwritten(context: &Context, length: usize) -> Result<Self, Error> {
        let bytes =
            length.checked_mul(size_of::<T>()).ok_or(Error::from(Fault::TooLarge { elements: length }))?;
        Ok(Self { memory: Memory::uninitialised::<T>(context, bytes)?, length, element: PhantomData })
    }

    /// Memory that holds `length` elements from its beginning on.
    pub(crate) fn of_memory(memory: Memory, length: usize) -> Self {
        Self { memory, length, element: PhantomData }
    }

    /// A vector of zeros.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn zeros(context: &Context, length: usize) -> Result<Self, Error> {
        let bytes =
            length.checked_mul(size_of::<T>()).ok_or(Error::from(Fault::TooLarge { elements: length }))?;
        Ok(Self { memory: Memory::new::<T>(context, bytes, None)?, length, element: PhantomData })
    }

    /// Imports external memory as a vector of `length` elements, without a copy: a buffer of the application's own
    /// OpenCL context, a dma-buf, an Android hardware buffer. It becomes a matrix by
    /// [`Self::into_matrix`], an image by [`Self::into_image`].
    ///
    /// Not yet tried on hardware with Arm's and Qualcomm's extensions.
    ///
    /// # Errors
    /// The memory is shorter; the context is not on an OpenCL device; the device cannot import such memory (the missing
    /// extensions are named); the driver refuses.
    pub fn import(context: &Context, external: External, length: usize) -> Result<Self, Error> {
        let bytes =
            length.checked_mul(size_of::<T>()).ok_or(Error::from(Fault::TooLarge { elements: length }))?;
        let memory = Memory::import(context, external, bytes)?;
        Ok(Self { memory, length, element: PhantomData })
    }

    /// Another vector over the same memory: what is written to one is read from the other. With [`Self::into_matrix`] and
    /// [`Self::into_image`], it is a matrix or an image over that memory. Operations check that what they
    /// read and what they write have no elements in common ([`ErrorKind::Aliased`](crate::ErrorKind::Aliased)).
    #[must_use]
    pub fn share(&self) -> Self {
        Self { memory: self.memory.clone(), length: self.length, element: PhantomData }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}

elements!(Vector, Element, "");
