//! Memory as elements of a type, and the methods that vectors, matrices and images have in common.

use tripipe_launch::Block;

use crate::Error;
use crate::error::Fault;

/// The methods that vectors, matrices and images have in common: `$how` describes the layout of the elements of a
/// `$name`.
macro_rules! elements {
    ($name:ident, $bound:ident, $how:literal) => {
        impl<T: $bound> $name<T> {
            /// The context it lives in.
            pub fn context(&self) -> &$crate::Context {
                self.memory.context()
            }

            /// The operation that last wrote to it; an operation that has ended if the host did.
            pub fn event(&self) -> $crate::Event {
                self.memory.event()
            }

            #[doc = concat!("A copy of all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// [The operation that made it failed](crate::ErrorKind::Dependency); no room for the copy; the device is gone.
            pub fn to_vec(&self) -> Result<Vec<T>, $crate::Error> {
                let mut elements = $crate::memory::zeros(self.memory.bytes() / size_of::<T>())?;
                self.read(&mut elements)?;
                Ok(elements)
            }

            #[doc = concat!("Copies all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// `into` has another length; [the operation that made it failed](crate::ErrorKind::Dependency); the device is
            /// gone.
            pub fn read(&self, into: &mut [T]) -> Result<(), $crate::Error> {
                self.memory.check_length::<T>(into.len())?;
                self.memory.read(0, bytemuck::cast_slice_mut(into))
            }

            #[doc = concat!("Overwrites all its elements", $how, ", after all that was queued before.")]
            /// A slice is written when the call returns; a `Vec` is moved and its write queued, with the event of
            /// [`Self::event`].
            ///
            /// # Errors
            /// `from` has another length; it is mapped through another object that shares its memory; the device is
            /// gone.
            pub fn write<'f>(
                &mut self,
                from: impl Into<std::borrow::Cow<'f, [T]>>,
            ) -> Result<(), $crate::Error> {
                let from = from.into();
                self.memory.check_length::<T>(from.len())?;
                match from {
                    std::borrow::Cow::Borrowed(from) => self.memory.write(0, bytemuck::cast_slice(from)),
                    std::borrow::Cow::Owned(from) => {
                        self.memory.enqueue_write(tripipe_launch::Block::new(from)).map(drop)
                    }
                }
            }

            #[doc = concat!("Queues a copy of all its elements", $how, ". Operations queued later do not change it.")]
            ///
            /// # Errors
            /// It is mapped for writing; no room for the copy; the device is gone. Other errors are reported by the
            /// [`Pending`](crate::Pending).
            pub fn queue_read(&self) -> Result<$crate::Pending<Vec<T>>, $crate::Error> {
                self.memory.enqueue_read(0, self.memory.bytes() / size_of::<T>())
            }

            #[doc = concat!("All its elements", $how, ", after all that was queued before.")]
            /// On the CPU path they are moved, without a copy, unless something else shares the memory; otherwise as
            /// [`Self::to_vec`].
            ///
            /// # Errors
            /// As [`Self::to_vec`]; it is mapped through another object that shares its memory.
            pub fn into_vec(self) -> Result<Vec<T>, $crate::Error> {
                self.memory.into_vec()
            }

            #[doc = concat!("Has `look` see all its elements", $how, ", where they are: no copy is made where the")]
            /// host shares the memory. Runs after all operations queued before. `look` may use the context, and so may other
            /// threads meanwhile, except where the mapping conflicts: mapped memory cannot be written, and memory that
            /// is mapped for writing cannot be read. Such uses are refused with
            /// [`ErrorKind::Mapped`](crate::ErrorKind::Mapped). With a driver that does not report what kernels write
            /// (`clGetKernelArgInfo`), no kernel can read mapped memory.
            ///
            /// # Errors
            /// It is mapped for writing through another object that shares its memory; [the operation that made it
            /// failed](crate::ErrorKind::Dependency); the device is gone.
            pub fn map<R>(&self, look: impl FnOnce(&[T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with(|bytes| look(tripipe_launch::elements_of(bytes)))
            }

            /// As [`Self::map`], for reading and writing.
            ///
            /// # Errors
            /// It is mapped through another object that shares its memory; otherwise as [`Self::map`].
            pub fn map_mut<R>(&mut self, edit: impl FnOnce(&mut [T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with_mut(|bytes| edit(tripipe_launch::elements_of_mut(bytes)))
            }

            /// A copy in another context, after all operations queued before.
            ///
            /// # Errors
            /// [The operation that made it failed](crate::ErrorKind::Dependency); no memory there; a device is gone.
            pub fn to_context(&self, context: &$crate::Context) -> Result<Self, $crate::Error> {
                Ok(Self { memory: self.memory.to_context::<T>(context)?, ..*self })
            }
        }
    };
}
pub(crate) use elements;

/// Makes a block of zero bytes, at least the given number.
pub(crate) type MakeZeros = fn(usize) -> Result<Block, Error>;

/// A block of at least `bytes` zero bytes, as elements of a type.
///
/// # Errors
/// There is not enough memory.
pub(super) fn zero_block<T: bytemuck::Pod + Send + Sync>(bytes: usize) -> Result<Block, Error> {
    Ok(Block::new(zeros::<T>(bytes.div_ceil(size_of::<T>()))?))
}

/// Zeros in host memory.
///
/// # Errors
/// There is not enough memory.
pub(crate) fn zeros<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>, Error> {
    bytemuck::allocation::try_zeroed_vec(count)
        .map_err(|()| Error::from(Fault::NoMemory { bytes: count.saturating_mul(size_of::<T>()) }))
}
