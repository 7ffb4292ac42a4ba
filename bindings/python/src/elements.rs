//! Elements of any type in a context's memory.

use std::sync::Arc;

use tripipe::{Context, Element, Extents, Vector, f16};

use crate::host::{ElementType, HostArray};

/// Runs code for the type of a pixel: `$type` names it there.
macro_rules! for_pixels {
    ($pixel:expr, $type:ident => $body:expr) => {
        match $pixel {
            tripipe::filter::PixelType::U8 => {
                type $type = u8;
                $body
            }
            tripipe::filter::PixelType::I16 => {
                type $type = i16;
                $body
            }
            tripipe::filter::PixelType::U16 => {
                type $type = u16;
                $body
            }
            tripipe::filter::PixelType::F16 => {
                type $type = tripipe::f16;
                $body
            }
            tripipe::filter::PixelType::F32 => {
                type $type = f32;
                $body
            }
        }
    };
}
pub(crate) use for_pixels;

/// Runs code for elements of any type: `$vector` is the vector, `$type` the type of its elements.
macro_rules! for_elements {
    ($elements:expr, $vector:ident: $type:ident => $body:expr) => {
        $crate::elements::for_elements!(
            $elements, $vector: $type => $body;
            U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, F16 tripipe::f16, F32 f32, F64 f64
        )
    };
    ($elements:expr, $vector:ident: $type:ident => $body:expr; $($variant:ident $own:ty),*) => {
        match $elements {
            $($crate::elements::Elements::$variant($vector) => {
                #[allow(dead_code, reason = "not every use names the type")]
                type $type = $own;
                $body
            })*
        }
    };
}
pub(crate) use for_elements;

/// A vector of elements of any type.
#[derive(Clone)]
pub(crate) enum Elements {
    U8(Arc<Vector<u8>>),
    I8(Arc<Vector<i8>>),
    U16(Arc<Vector<u16>>),
    I16(Arc<Vector<i16>>),
    U32(Arc<Vector<u32>>),
    I32(Arc<Vector<i32>>),
    F16(Arc<Vector<f16>>),
    F32(Arc<Vector<f32>>),
    F64(Arc<Vector<f64>>),
}

/// A type of elements that [`Elements`] has.
pub(crate) trait Stored: Element {
    /// The vector, if its elements have this type.
    fn stored(elements: &Elements) -> Option<&Arc<Vector<Self>>>;

    /// The elements of a vector.
    fn store(vector: Vector<Self>) -> Elements;
}

macro_rules! stored {
    ($($type:ty as $variant:ident),*) => {$(
        impl Stored for $type {
            fn stored(elements: &Elements) -> Option<&Arc<Vector<Self>>> {
                if let Elements::$variant(vector) = elements { Some(vector) } else { None }
            }

            fn store(vector: Vector<Self>) -> Elements {
                Elements::$variant(Arc::new(vector))
            }
        }
    )*};
}

stored!(
    u8 as U8, i8 as I8, u16 as U16, i16 as I16, u32 as U32, i32 as I32, f16 as F16, f32 as F32, f64 as F64
);

impl Elements {
    /// A copy of an array without gaps.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub(crate) fn upload(context: &Context, host: &HostArray) -> Result<Self, tripipe::Error> {
        fn copied<T: Stored>(context: &Context, host: &HostArray) -> Result<Elements, tripipe::Error> {
            Ok(T::store(Vector::from_slice(context, host.elements())?))
        }
        match host.element() {
            ElementType::U8 => copied::<u8>(context, host),
            ElementType::I8 => copied::<i8>(context, host),
            ElementType::U16 => copied::<u16>(context, host),
            ElementType::I16 => copied::<i16>(context, host),
            ElementType::U32 => copied::<u32>(context, host),
            ElementType::I32 => copied::<i32>(context, host),
            ElementType::F16 => copied::<f16>(context, host),
            ElementType::F32 => copied::<f32>(context, host),
            ElementType::F64 => copied::<f64>(context, host),
        }
    }

    /// Copies them to an array without gaps, after all operations queued before.
    ///
    /// # Errors
    /// The array has another length; the operation that made them failed; the device is gone.
    pub(crate) fn read(&self, host: &mut HostArray) -> Result<(), tripipe::Error> {
        for_elements!(self, vector: T => vector.read(host.elements_mut()))
    }

    /// The address of the elements and their size in bytes, where they are in the host's memory: on the CPU path.
    ///
    /// # Errors
    /// The operation that made them failed.
    pub(crate) fn address(&self) -> Result<(usize, usize), tripipe::Error> {
        for_elements!(self, vector: T => vector.map(|elements| (elements.as_ptr() as usize, size_of_val(elements))))
    }

    /// The type of the elements.
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::U8(_) => ElementType::U8,
            Self::I8(_) => ElementType::I8,
            Self::U16(_) => ElementType::U16,
            Self::I16(_) => ElementType::I16,
            Self::U32(_) => ElementType::U32,
            Self::I32(_) => ElementType::I32,
            Self::F16(_) => ElementType::F16,
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    /// The elements of a matrix with these extents, column by column.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub(crate) fn transposed(&self, extents: Extents) -> Result<Self, tripipe::Error> {
        for_elements!(self, vector: T => {
            let matrix = vector.share().into_matrix(extents)?;
            Ok(T::store(matrix.to_transposed()?.into_vector()?))
        })
    }
}
