//! Errors of operations.

use std::ops::Range;
use std::sync::Arc;

use crate::driver::DevicesError;
use crate::matrix_shape::MatrixShape;
use thiserror::Error;
use tripipe_kernels::elementwise::Reduction;
use tripipe_kernels::filter::{FilterError, PixelType, Raster, Size};
use tripipe_kernels::gemm::{DescriptionError, Extents, Unfit};
use tripipe_kernels::quantised::WeightsError;
use tripipe_kernels::{PlanError, TableError};
use tripipe_launch::ExecuteError;

#[cfg(feature = "cpu")]
use crate::cpu::CpuError;

/// The reason why a device was not found or an operation failed. The text names the place and the remedy;
/// [`Self::kind`] is for programs.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct Error(Box<Fault>);

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A text that is not the name of a device.
    DeviceName,
    /// OpenCL was requested, and there is no driver for it.
    NoOpenCl,
    /// There is no OpenCL device with the requested number.
    NoSuchDevice,
    /// The device, the type of the operands, or a program built without the CPU path does not support the request.
    Unsupported,
    /// Lengths, extents, layouts or offsets that do not fit together or exceed the memory.
    Shape,
    /// An operation that is invalid by itself: a filter with a wrong parameter, a product with an invalid description.
    Description,
    /// A sum of integers that exceeds the type of its result.
    Overflow,
    /// An operand shares memory with the result.
    Aliased,
    /// An operand is stored in another context.
    OtherContext,
    /// A mapping of the memory prevents this use of it.
    Mapped,
    /// The host or the device is out of memory.
    OutOfMemory,
    /// The device failed, or computed something wrong.
    Device,
    /// An operation that was queued before failed, so its result, and everything computed from it, is not available.
    Dependency,
    /// This process was forked from one that has contexts.
    Forked,
    /// The value of an operation was already taken.
    ValueTaken,
    /// A table of parameters that the user supplies cannot be read.
    Table,
    /// The file of a trace cannot be written.
    Trace,
}

impl Error {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match &*self.0 {
            Fault::UnknownDevice { .. } => ErrorKind::DeviceName,
            Fault::NoOpenCl(_) => ErrorKind::NoOpenCl,
            Fault::NoSuchDevice { .. } | Fault::UnknownGpu(_) => ErrorKind::NoSuchDevice,
            Fault::NotOffered { .. }
            | Fault::NoView { .. }
            | Fault::NoKernels
            | Fault::NothingToTune { .. }
            | Fault::Plan(_) => ErrorKind::Unsupported,
            #[cfg(not(feature = "virtual"))]
            Fault::NoVirtualGpus => ErrorKind::Unsupported,
            #[cfg(feature = "image")]
            Fault::NoSuchPicture { .. } => ErrorKind::Unsupported,
            #[cfg(not(feature = "cpu"))]
            Fault::NoCpuPath | Fault::NoFallback { .. } => ErrorKind::Unsupported,
            Fault::Execute(error) => kind_of(error),
            Fault::Failed { .. } => ErrorKind::Dependency,
            Fault::Mapped { .. } => ErrorKind::Mapped,
            Fault::Aliased { .. } => ErrorKind::Aliased,
            Fault::SumTooLarge { .. } => ErrorKind::Overflow,
            #[cfg(feature = "cpu")]
            Fault::Cpu(CpuError::SumTooLarge { .. }) => ErrorKind::Overflow,
            Fault::OtherContext { .. } => ErrorKind::OtherContext,
            Fault::NoMemory { .. } => ErrorKind::OutOfMemory,
            Fault::Forked => ErrorKind::Forked,
            Fault::ValueTaken => ErrorKind::ValueTaken,
            Fault::NoMemberLeft { first, .. } => first.kind(),
            #[cfg(feature = "cpu")]
            Fault::Cpu(CpuError::WrongResult { .. }) => ErrorKind::Device,
            Fault::Table(_) => ErrorKind::Table,
            #[cfg(feature = "trace")]
            Fault::Trace(_) => ErrorKind::Trace,
            Fault::Weights(WeightsError::Length { .. }) => ErrorKind::Shape,
            Fault::Filter(_)
            | Fault::Gemm(_)
            | Fault::Description(_)
            | Fault::Weights(_)
            | Fault::NoMember => ErrorKind::Description,
            #[cfg(feature = "cpu")]
            Fault::Cpu(CpuError::Filter(_)) => ErrorKind::Description,
            #[cfg(feature = "cpu")]
            Fault::Cpu(CpuError::Length { .. } | CpuError::TooLarge { .. } | CpuError::Operand { .. }) => {
                ErrorKind::Shape
            }
            Fault::Length { .. }
            | Fault::TooLarge { .. }
            | Fault::Outside { .. }
            | Fault::Block { .. }
            | Fault::Within { .. }
            | Fault::RasterElement { .. }
            | Fault::ChainElement { .. }
            | Fault::Resize { .. }
            | Fault::Shape { .. }
            | Fault::Raster { .. }
            | Fault::Inner { .. }
            | Fault::Extents { .. }
            | Fault::Short { .. }
            | Fault::BatchToMatrix
            | Fault::PackedMoved { .. } => ErrorKind::Shape,
        }
    }
}

fn kind_of(error: &ExecuteError) -> ErrorKind {
    match error {
        ExecuteError::OutOfMemory { .. } => ErrorKind::OutOfMemory,
        ExecuteError::NotOffered { .. } => ErrorKind::Unsupported,
        _ => ErrorKind::Device,
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self(Box::new(fault))
    }
}

/// Errors of the layers below.
macro_rules! from {
    ($($error:ty),*) => { $(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Fault::from(error).into()
            }
        }
    )* };
}

#[cfg(feature = "cpu")]
from!(CpuError);
#[cfg(feature = "trace")]
from!(tripipe_trace::TraceError);
from!(DevicesError, PlanError, ExecuteError, FilterError, Unfit, DescriptionError, TableError, WeightsError);

/// The errors with their details.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    /// An unknown device name.
    #[error(
        "unknown device `{name}`: expected auto, cpu, opencl, opencl:N with N counted from 0, or virtual:GPU, e.g. virtual:mali-g77"
    )]
    UnknownDevice {
        /// The given name.
        name: String,
    },
    /// A virtual GPU without a model.
    #[error(transparent)]
    UnknownGpu(#[from] tripipe_device::UnknownGpu),
    /// A virtual GPU was requested in a program without them.
    #[cfg(not(feature = "virtual"))]
    #[error(
        "this program was built without virtual GPUs: the feature `virtual` of the crate `tripipe` is off"
    )]
    NoVirtualGpus,
    /// OpenCL was requested but is not available.
    #[error("{0}")]
    NoOpenCl(#[from] DevicesError),
    /// There are fewer OpenCL devices than that.
    #[error("no OpenCL device {index}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The requested number.
        index: usize,
        /// The number of devices.
        count: usize,
    },
    /// The CPU path refused the operation.
    #[cfg(feature = "cpu")]
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The operands do not fit the device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An operation failed after it was queued, so its result, and everything computed from it, is not available.
    #[error("{operation}, queued earlier, failed: {source}")]
    Failed {
        /// The operation that failed.
        operation: &'static str,
        /// The reason.
        source: Arc<ExecuteError>,
    },
    /// A mapping of the memory prevents this use of it.
    #[error(
        "{operand} is mapped: no operation may write mapped memory, or read memory that is mapped for writing"
    )]
    Mapped {
        /// The operand.
        operand: &'static str,
    },
    /// An operand with the wrong length.
    #[error("{operand} has {found} elements, expected {want}")]
    Length {
        /// The operand.
        operand: &'static str,
        /// The expected number of elements.
        want: usize,
        /// The actual number of elements.
        found: usize,
    },
    /// A matrix that is not within a vector.
    #[error(
        "a {} matrix at element {} with a stride of {} is not within {length} elements; a stride is at least the length of a row \
         (of a column, in column-major order)",
        shape.extents, shape.layout.offset, shape.layout.leading
    )]
    Within {
        /// The matrix.
        shape: MatrixShape,
        /// The length of the vector.
        length: usize,
    },
    /// The CPU path was requested in a program without it.
    #[cfg(not(feature = "cpu"))]
    #[error("this program was built without the CPU path: the feature `cpu` of the crate `tripipe` is off")]
    NoCpuPath,
    /// An operation that the device does not support, in a program without the CPU path.
    #[cfg(not(feature = "cpu"))]
    #[error(
        "{device} cannot run {operation}: {lacks}; the CPU path can, but the feature `cpu` of the crate `tripipe` is off"
    )]
    NoFallback {
        /// The device.
        device: String,
        /// The operation.
        operation: &'static str,
        /// What the device lacks.
        lacks: String,
    },
    /// The device does not support this.
    #[error("{device} does not support {what}")]
    NotOffered {
        /// The device.
        device: String,
        /// The missing feature.
        what: &'static str,
    },
    /// The filter does not exist, or does not fit the image.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The host is out of memory.
    #[error("out of memory: {bytes} bytes cannot be allocated")]
    NoMemory {
        /// The number of bytes requested.
        bytes: usize,
    },
    /// More elements than can be addressed.
    #[error("{elements} elements do not fit into memory")]
    TooLarge {
        /// The number of elements requested.
        elements: usize,
    },
    /// A read or write past the end of the memory.
    #[error("{length} bytes at offset {offset} exceed a memory of {bytes} bytes")]
    Outside {
        /// Offset of the first byte.
        offset: usize,
        /// The number of bytes.
        length: usize,
        /// The size of the memory in bytes.
        bytes: usize,
    },
    /// A block of a matrix that exceeds it.
    #[error("rows {rows:?} and columns {columns:?} exceed a matrix of {extents}")]
    Block {
        /// The requested rows.
        rows: Range<usize>,
        /// The requested columns.
        columns: Range<usize>,
        /// The extents of the matrix.
        extents: Extents,
    },
    /// A raster with an element type other than the image's.
    #[error("a raster of {found} does not describe an image of {want}")]
    RasterElement {
        /// The element type of the image.
        want: &'static str,
        /// The element type of the raster.
        found: PixelType,
    },
    /// A chain that makes pixels of a type other than the wanted one.
    #[error(
        "the chain makes pixels of {made}, not {want}: end it with `convert:{want}`, or take an image of {made}"
    )]
    ChainElement {
        /// The type of the result.
        made: PixelType,
        /// The type that was asked for.
        want: PixelType,
    },
    /// An empty image resized to one with pixels, or an image with pixels resized to an empty one.
    #[error("an image of {from} cannot be resized to {to}: either both have pixels, or neither does")]
    Resize {
        /// Width and height of the image.
        from: Size,
        /// The requested width and height.
        to: Size,
    },
    /// Operands with different shapes.
    #[error("{operand} is {found}, expected {want}")]
    Shape {
        /// The operand.
        operand: &'static str,
        /// The expected shape.
        want: String,
        /// The actual shape.
        found: String,
    },
    /// Elements whose layout a view of another kind cannot express.
    #[error("{what} cannot be viewed as {wanted} without a copy: {why}")]
    NoView {
        /// The object.
        what: String,
        /// The requested kind of view.
        wanted: &'static str,
        /// The obstacle, and the remedy.
        why: &'static str,
    },
    /// The child of a process that has contexts.
    #[error(
        "this process was forked from one that uses Tripipe, and has none of its threads: start another program \
         instead, or fork before the first context (in Python, use multiprocessing's `spawn` or `forkserver`)"
    )]
    Forked,
    /// The value of an operation was already taken.
    #[error("the value of the operation was already taken")]
    ValueTaken,
    /// Operands in different contexts.
    #[error(
        "{operand} belongs to another context ({found}) than the operation ({want}): copy it there first"
    )]
    OtherContext {
        /// The operand.
        operand: &'static str,
        /// The operation's context.
        want: String,
        /// The operand's context.
        found: String,
    },
    /// A sum of integers that `i64` does not hold.
    #[error("the {reduction} is {sum}, which 64 bits do not hold: convert the elements to f64")]
    SumTooLarge {
        /// What was summed.
        reduction: Reduction,
        /// The sum.
        sum: i128,
    },
    /// An operand that shares memory with the result.
    #[error("{operand} and the result share memory: the operation would read one while it writes the other")]
    Aliased {
        /// The operand.
        operand: &'static str,
    },
    /// A picture that the `image` crate has no type for.
    #[cfg(feature = "image")]
    #[error("the crate `image` has no type for {channels} channels of {element}: convert the image first")]
    NoSuchPicture {
        /// Number of channels of a pixel.
        channels: usize,
        /// Type of the channels.
        element: &'static str,
    },
    /// An image with a layout other than the one the filter was made for.
    #[error(
        "{operand} has the layout {}; the filter was made for {}: make another filter for it",
        rasters[1], rasters[0]
    )]
    Raster {
        /// The operand.
        operand: &'static str,
        /// The layout the filter was made for, and the layout of the image.
        rasters: Box<[Raster; 2]>,
    },
    /// A product that is invalid, or that cannot be computed in this way.
    #[error(transparent)]
    Gemm(#[from] Unfit),
    /// An invalid description of a product.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Weights that cannot be stored in their format.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// Extents of A and B that do not match.
    #[error("A is {a} and B is {b}: a product needs as many columns in A as rows in B")]
    Inner {
        /// The extents of A.
        a: Extents,
        /// The extents of B.
        b: Extents,
    },
    /// A matrix with extents other than the product's.
    #[error("{operand} is {found}, the product {want}")]
    Extents {
        /// The operand.
        operand: &'static str,
        /// The extents of the product.
        want: Extents,
        /// The extents of the matrix.
        found: Extents,
    },
    /// Memory that ends before the operand does.
    #[error("{operand} has {found} elements of memory, the operation accesses {want}")]
    Short {
        /// The operand.
        operand: String,
        /// The number of elements accessed.
        want: usize,
        /// The number of elements available.
        found: usize,
    },
    /// A batch requested as one matrix.
    #[error("the result of a batch is not one matrix: store it in a matrix that holds all results")]
    BatchToMatrix,
    /// A packed operand that has several locations in a batch.
    #[error("{operand} was packed once for all products of the batch: its stride and its offsets must be 0")]
    PackedMoved {
        /// The operand.
        operand: &'static str,
    },
    /// A team without members.
    #[error("a team needs at least one context")]
    NoMember,
    /// A shared operation in which every member failed.
    #[error("all {members} members of the team failed, the first of them: {first}")]
    NoMemberLeft {
        /// The number of members.
        members: usize,
        /// The error of the first.
        first: Box<Error>,
    },
    /// A feature that only a device with kernels has.
    #[error("the CPU path does not run kernels")]
    NoKernels,
    /// Tuning where it has no use.
    #[error("{device} cannot be tuned: {reason}")]
    NothingToTune {
        /// The device.
        device: String,
        /// Why not.
        reason: &'static str,
    },
    /// The user's parameters of products cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The file of a trace cannot be written.
    #[cfg(feature = "trace")]
    #[error(transparent)]
    Trace(#[from] tripipe_trace::TraceError),
}
