//! Images on a device.

mod affine;
mod frame;
mod resize;

use std::borrow::Cow;
use std::marker::PhantomData;

use tripipe_kernels::filter::{ChannelLayout, Raster, Size};

use crate::error::Fault;
use crate::memory::{Memory, elements};
use crate::{Context, Error, Pending, Pixel, Vector};

/// An image in a context's memory: 1 to 4 channels of `T`, packed or in planes, with any pitch.
#[derive(Debug)]
pub struct Image<T> {
    memory: Memory,
    raster: Raster,
    element: PhantomData<T>,
}

/// A view of an image or of part of one, for reading.
#[derive(Debug)]
pub struct ImageView<'i, T> {
    memory: &'i Memory,
    raster: Raster,
    element: PhantomData<&'i T>,
}

/// A view of an image or of part of one, for writing.
#[derive(Debug)]
pub struct ImageViewMut<'i, T> {
    memory: &'i Memory,
    raster: Raster,
    element: PhantomData<&'i mut T>,
}

impl<T: Pixel> Image<T> {
    /// An image of packed pixels without gaps, with a copy of `pixels`.
    ///
    /// # Errors
    /// A number of elements other than `size.width * size.height * channels`; more than the device allows in one allocation; no
    /// memory left.
    pub fn from_slice(context: &Context, size: Size, channels: usize, pixels: &[T]) -> Result<Self, Error> {
        Self::with_raster(context, Raster::packed(size, channels, T::PIXEL), pixels)
    }

    /// An image with the layout `raster` and with `elements`, those between rows included: a slice is copied, a `Vec` is
    /// moved as [`Self::from_vec`] does.
    ///
    /// # Errors
    /// A raster with another element type; fewer elements than it spans; more than the device allows in one allocation;
    /// no memory left.
    pub fn with_raster<'e>(
        context: &Context,
        raster: Raster,
        elements: impl Into<Cow<'e, [T]>>,
    ) -> Result<Self, Error> {
        let elements = elements.into();
        check_elements::<T>(&raster, elements.len())?;
        Ok(Self { memory: Memory::with_contents(context, elements)?, raster, element: PhantomData })
    }

    /// An image of packed pixels without gaps, which are moved: on the CPU path they stay where they are; a device copies
    /// them when what was queued before has ended, which is not waited for.
    ///
    /// # Errors
    /// As [`Self::from_slice`].
    pub fn from_vec(context: &Context, size: Size, channels: usize, pixels: Vec<T>) -> Result<Self, Error> {
        Self::with_raster(context, Raster::packed(size, channels, T::PIXEL), pixels)
    }

    /// An image of zeros with the layout `raster`.
    ///
    /// # Errors
    /// As [`Self::with_raster`].
    pub fn zeros(context: &Context, raster: Raster) -> Result<Self, Error> {
        let bytes = elements_of::<T>(&raster)? * size_of::<T>();
        Ok(Self { memory: Memory::new::<T>(context, bytes, None)?, raster, element: PhantomData })
    }

    /// An image without gaps, all of which is written before it is read.
    ///
    /// # Errors
    /// As [`Self::with_raster`].
    pub(crate) fn unwritten(context: &Context, raster: Raster) -> Result<Self, Error> {
        let bytes = elements_of::<T>(&raster)? * size_of::<T>();
        Ok(Self { memory: Memory::uninitialised::<T>(context, bytes)?, raster, element: PhantomData })
    }

    /// The elements of a vector as an image in the same memory.
    ///
    /// # Errors
    /// A raster with another element type; a vector that is too short.
    pub(crate) fn over_vector(vector: &Vector<T>, raster: Raster) -> Result<Self, Error> {
        let want = elements_of::<T>(&raster)?;
        if vector.len() < want {
            return Err(Error::from(Fault::Length { operand: "the vector", want, found: vector.len() }));
        }
        Ok(Self { memory: vector.memory().clone(), raster, element: PhantomData })
    }

    /// Width and height in pixels.
    pub fn size(&self) -> Size {
        self.raster.size()
    }

    /// The number of channels of a pixel.
    pub fn channels(&self) -> usize {
        self.raster.channels
    }

    /// The layout of its pixels.
    pub fn raster(&self) -> &Raster {
        &self.raster
    }

    /// A view of the whole image.
    pub fn view(&self) -> ImageView<'_, T> {
        ImageView { memory: &self.memory, raster: self.raster, element: PhantomData }
    }

    /// A mutable view of the whole image.
    pub fn view_mut(&mut self) -> ImageViewMut<'_, T> {
        ImageViewMut { memory: &self.memory, raster: self.raster, element: PhantomData }
    }

    /// A view of the region of `size` pixels that starts at column `x` and row `y`; filters treat it as a separate image.
    ///
    /// # Errors
    /// The region exceeds the image.
    pub fn region(&self, x: usize, y: usize, size: Size) -> Result<ImageView<'_, T>, Error> {
        let raster = self.raster.region(x, y, size)?;
        Ok(ImageView { memory: &self.memory, raster, element: PhantomData })
    }

    /// A mutable view of the region of `size` pixels that starts at column `x` and row `y`; the rest of the image is unchanged.
    ///
    /// # Errors
    /// The region exceeds the image.
    pub fn region_mut(&mut self, x: usize, y: usize, size: Size) -> Result<ImageViewMut<'_, T>, Error> {
        let raster = self.raster.region(x, y, size)?;
        Ok(ImageViewMut { memory: &self.memory, raster, element: PhantomData })
    }
}

elements!(Image, Pixel, " in their stored layout, gaps included");

impl<T: Pixel> Image<T> {
    /// A copy of its pixels row by row, the channels of each pixel adjacent, without gaps, after all operations queued
    /// before.
    ///
    /// # Errors
    /// An earlier operation failed; the device is gone.
    pub fn to_packed_vec(&self) -> Result<Vec<T>, Error> {
        if self.raster.is_empty() {
            return Ok(Vec::new());
        }
        if self.is_dense() {
            return self.to_vec();
        }
        let dense =
            Raster::packed(self.raster.size(), self.raster.channels, self.raster.element).elements()?;
        self.map(|elements| pack(&self.raster, elements, dense))
    }

    /// Its pixels as those of [`Self::to_packed_vec`], moved where [`Self::into_vec`] moves them and the image is packed
    /// without gaps.
    ///
    /// # Errors
    /// As [`Self::into_vec`].
    pub fn into_packed_vec(self) -> Result<Vec<T>, Error> {
        if self.is_dense() { self.into_vec() } else { self.to_packed_vec() }
    }
}

impl<T: Pixel> ImageView<'_, T> {
    /// A copy of its pixels row by row, the channels of each pixel adjacent, without gaps, after all operations queued
    /// before.
    ///
    /// # Errors
    /// An earlier operation failed; the device is gone.
    pub fn to_packed_vec(&self) -> Result<Vec<T>, Error> {
        self.queue_read()?.wait()
    }

    /// Queues a copy of its pixels, packed as [`Self::to_packed_vec`] packs them. Operations queued later do not change it.
    ///
    /// # Errors
    /// It is mapped for writing; no room for the copy; the device is gone.
    pub fn queue_read(&self) -> Result<Pending<Vec<T>>, Error> {
        let spanned = self.raster.elements()?;
        let Raster { channels, element, .. } = self.raster;
        let dense = Raster::packed(self.raster.size(), channels, element).elements()?;
        // Reads from the first pixel on.
        let first = if dense == 0 { 0 } else { self.raster.offset };
        let raster = Raster { offset: 0, ..self.raster };
        let elements = self.memory.enqueue_read(first * size_of::<T>(), spanned - first)?;
        Ok(elements.then(move |elements: Vec<T>| {
            let as_it_lies = raster.layout == ChannelLayout::Packed || channels == 1;
            let lies_dense = dense == 0 || as_it_lies && elements.len() == dense;
            Ok(if lies_dense { elements } else { pack(&raster, &elements, dense) })
        }))
    }
}

/// The `dense` elements of a raster's pixels, packed. Whole rows are moved.
fn pack<T: Pixel>(raster: &Raster, elements: &[T], dense: usize) -> Vec<T> {
    if raster.layout == ChannelLayout::Packed || raster.channels == 1 {
        let mut packed = Vec::with_capacity(dense);
        for y in 0..raster.height {
            packed.extend_from_slice(&elements[raster.index(0, y, 0)..][..raster.row_elements()]);
        }
        return packed;
    }
    let mut packed = vec![T::default(); dense];
    for y in 0..raster.height {
        let row = &mut packed[y * raster.width * raster.channels..][..raster.width * raster.channels];
        let planes = |channel: usize| &elements[raster.index(0, y, channel)..][..raster.width];
        match raster.channels {
            2 => interleave::<T, 2>(row, [0, 1].map(planes)),
            3 => interleave::<T, 3>(row, [0, 1, 2].map(planes)),
            _ => interleave::<T, 4>(row, [0, 1, 2, 3].map(planes)),
        }
    }
    packed
}

fn interleave<T: Pixel, const C: usize>(row: &mut [T], planes: [&[T]; C]) {
    for (x, pixel) in row.as_chunks_mut::<C>().0.iter_mut().enumerate() {
        for (value, plane) in pixel.iter_mut().zip(planes) {
            *value = plane[x];
        }
    }
}

/// Checks that `found` elements can hold a raster of `T`.
fn check_elements<T: Pixel>(raster: &Raster, found: usize) -> Result<(), Error> {
    let want = elements_of::<T>(raster)?;
    if found < want || (found > want && raster.is_empty()) {
        return Err(Error::from(Fault::Length { operand: "the slice", want, found }));
    }
    Ok(())
}

/// The bytes of two images in the host's memory, gaps included.
///
/// # Errors
/// A slice is too short.
#[cfg(feature = "cpu")]
pub(crate) fn spanned<'b>(
    [from, to]: [&Raster; 2],
    source: &'b [u8],
    result: &'b mut [u8],
) -> Result<(&'b [u8], &'b mut [u8]), Error> {
    let bytes = |raster: &Raster| Ok::<_, Error>(raster.elements()? * raster.element.bytes());
    let short = |operand, want, found| Error::from(Fault::Length { operand, want, found });
    let ([want, to_fill], found) = ([bytes(from)?, bytes(to)?], result.len());
    let source = source.get(..want).ok_or_else(|| short("the source", want, source.len()))?;
    let result = result.get_mut(..to_fill).ok_or_else(|| short("the result", to_fill, found))?;
    Ok((source, result))
}

/// The number of elements that a raster of `T` spans.
pub(crate) fn elements_of<T: Pixel>(raster: &Raster) -> Result<usize, Error> {
    if raster.element != T::PIXEL {
        return Err(Error::from(Fault::RasterElement { want: T::NAME, found: raster.element }));
    }
    Ok(raster.elements()?)
}

/// What views for reading and for writing have in common.
macro_rules! views {
    ($($name:ident),*) => {$(
        impl<'i, T: Pixel> $name<'i, T> {
            /// A view of memory with the layout `raster`.
            pub(crate) fn over(memory: &'i Memory, raster: Raster) -> Self {
                Self { memory, raster, element: PhantomData }
            }

            /// The layout of its pixels.
            pub fn raster(&self) -> &Raster {
                &self.raster
            }

            pub(crate) fn memory(&self) -> &'i Memory {
                self.memory
            }
        }
    )*};
}

views!(ImageView, ImageViewMut);

impl<T> Clone for ImageView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ImageView<'_, T> {}

impl<'i, T: Pixel> From<&'i Image<T>> for ImageView<'i, T> {
    fn from(image: &'i Image<T>) -> Self {
        image.view()
    }
}

impl<'i, T: Pixel> From<&'i mut Image<T>> for ImageViewMut<'i, T> {
    fn from(image: &'i mut Image<T>) -> Self {
        image.view_mut()
    }
}
