//! An executor around another one that changes single calls and passes on all others.

use std::ops::Range;
use std::sync::Arc;

use tripipe_device::Probe;

use crate::executor::OverBytes;
use crate::{
    Access, Block, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Prepared,
    Program, Reading, Submission, TimeSource, Timing,
};

/// An executor that passes every call on to `inner`, unless `calls` intercepts it.
///
/// To observe, change or refuse single calls, implement [`Intercept`] with only those methods:
///
/// ```
/// use tripipe_launch::{ExecuteError, Executor, Intercept, Launch, Layer, Timing};
///
/// /// Counts the launches of `run`.
/// #[derive(Default)]
/// struct Counted(usize);
///
/// impl<E: Executor> Intercept<E> for Counted {
///     fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
///         self.0 += launches.len();
///         inner.run(launches)
///     }
/// }
///
/// fn count(executor: impl Executor, launches: &[Launch]) -> Result<usize, ExecuteError> {
///     let mut counted = Layer::new(executor, Counted::default());
///     counted.run(launches)?;
///     Ok(counted.calls.0)
/// }
/// ```
///
/// A call that is passed on does not come back: `submit` of the inner executor runs its own launches, not those of an
/// intercepted `run`. Intercept every method that the code under test calls: kernels are started by
/// [`Executor::run`], [`Executor::submit`] and [`Executor::submit_prepared`], and memory is made by
/// [`Executor::allocate`], [`Executor::allocate_zeros`] and [`Executor::image_over_buffer`].
#[derive(Clone, Debug)]
pub struct Layer<E, I> {
    /// The executor that does the work.
    pub inner: E,
    /// The intercepted calls.
    pub calls: I,
}

impl<E, I> Layer<E, I> {
    /// `calls` around `inner`.
    pub fn new(inner: E, calls: I) -> Self {
        Self { inner, calls }
    }
}

/// Declares the calls once: the methods of [`Intercept`] that pass them on, and those of [`Layer`] that ask it.
macro_rules! calls {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        /// The calls that a [`Layer`] intercepts. Each method stands for the method of [`Executor`] with the same name,
        /// and calls that of `inner` unless it is implemented.
        #[allow(clippy::missing_errors_doc, reason = "the errors are those of the methods of `Executor`")]
        pub trait Intercept<E: Executor> {
            /// [`Executor::probe`]
            fn probe<'p>(&'p self, inner: &'p E) -> &'p Probe {
                inner.probe()
            }

            /// [`Executor::time_source`]
            fn time_source(&self, inner: &E) -> TimeSource {
                inner.time_source()
            }

            $(
                #[doc = concat!("[`Executor::", stringify!($name), "`]")]
                fn $name(&mut self, inner: &mut E, $($argument: $kind),*) $(-> $answer)? {
                    inner.$name($($argument),*)
                }
            )*
        }

        impl<E: Executor, I: Intercept<E>> Executor for Layer<E, I> {
            fn probe(&self) -> &Probe {
                self.calls.probe(&self.inner)
            }

            fn time_source(&self) -> TimeSource {
                self.calls.time_source(&self.inner)
            }

            $(
                fn $name(&mut self, $($argument: $kind),*) $(-> $answer)? {
                    self.calls.$name(&mut self.inner, $($argument),*)
                }
            )*
        }
    };
}

calls! {
    allocate(kind: &MemoryKind, access: Access, initial: Option<&[u8]>) -> Result<MemoryId, ExecuteError>;
    allocate_zeros(kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError>;
    image_over_buffer(buffer: MemoryId, shape: &ImageShape, row_pitch_bytes: usize) -> Result<MemoryId, ExecuteError>;
    release(memory: MemoryId) -> Result<(), ExecuteError>;
    write(memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError>;
    read(memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError>;
    enqueue_write(memory: MemoryId, offset: usize, from: Block) -> Result<Box<dyn Submission>, ExecuteError>;
    enqueue_read(memory: MemoryId, offset: usize, into: Block) -> Result<Box<dyn Reading>, ExecuteError>;
    with_bytes(memory: MemoryId, range: Range<usize>, look: &mut dyn FnMut(&[u8])) -> Result<(), ExecuteError>;
    with_bytes_mut(
        memory: MemoryId, range: Range<usize>, edit: &mut dyn FnMut(&mut [u8])
    ) -> Result<(), ExecuteError>;
    with_all_bytes(
        inputs: &[(MemoryId, usize)], output: (MemoryId, usize), work: &mut OverBytes<'_>
    ) -> Result<(), ExecuteError>;
    copy(
        from: MemoryId, from_offset: usize, to: MemoryId, to_offset: usize, bytes: usize
    ) -> Result<Box<dyn Submission>, ExecuteError>;
    prepare(program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError>;
    submit(launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError>;
    take_times(take: bool);
    prepare_launches(launches: &[Launch]) -> Result<Prepared, ExecuteError>;
    submit_prepared(prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError>;
    run(launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError>;
}
