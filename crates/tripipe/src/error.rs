//! What can go wrong in an operation.

use std::ops::Range;
use std::sync::Arc;

use thiserror::Error;
use tripipe_kernels::PlanError;
use tripipe_kernels::filter::{Element, FilterError, Raster};
use tripipe_kernels::gemm::{DescriptionError, TableError, Unfit};
use tripipe_kernels::peaks::PeakError;
use tripipe_launch::ExecuteError;
use tripipe_opencl::DevicesError;

use crate::cpu::CpuError;

/// Why a device was not found or an operation failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A device name that is none.
    #[error("unknown device `{name}`: want auto, cpu, opencl, or opencl:N as `tripipe devices` numbers them")]
    UnknownDevice {
        /// What was given.
        name: String,
    },
    /// OpenCL was asked for and there is none.
    #[error("{0}")]
    NoOpenCl(#[from] DevicesError),
    /// There are not that many OpenCL devices.
    #[error("no OpenCL device {index}: this machine has {count}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// The CPU path refused.
    #[error(transparent)]
    Cpu(#[from] CpuError),
    /// The operands do not fit the device.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The device failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// An operation failed after it was queued, so that its result, and what was computed of that, is not there.
    #[error("{operation} that was queued before failed: {source}")]
    Failed {
        /// Which.
        operation: &'static str,
        /// Why.
        source: Arc<ExecuteError>,
    },
    /// Memory that is mapped cannot be used in this way.
    #[error(
        "{operand} is mapped: while memory is mapped nothing writes it, and while it is mapped to be written nothing reads it"
    )]
    Mapped {
        /// Which.
        operand: &'static str,
    },
    /// An operand of the wrong length.
    #[error("{operand} has {found} elements, {want} were expected")]
    Length {
        /// Which.
        operand: &'static str,
        /// How many elements it should have.
        want: usize,
        /// How many it has.
        found: usize,
    },
    /// The device does not compute in this type.
    #[error("{device} does not offer {what}; the CPU path does (--device cpu)")]
    NotOffered {
        /// The device.
        device: String,
        /// What it lacks.
        what: &'static str,
    },
    /// There is no such filter, or it does not fit the image.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The machine has no memory left.
    #[error("no memory left for {bytes} bytes")]
    NoMemory {
        /// How many were asked for.
        bytes: usize,
    },
    /// More elements than can be addressed.
    #[error("{elements} elements do not fit into memory")]
    TooLarge {
        /// How many were asked for.
        elements: usize,
    },
    /// A read or write past the end.
    #[error("{length} bytes from {offset} on leave a memory of {bytes}")]
    Outside {
        /// The first byte.
        offset: usize,
        /// How many.
        length: usize,
        /// How many there are.
        bytes: usize,
    },
    /// A part of a matrix that leaves it.
    #[error("rows {rows:?} and columns {columns:?} leave a matrix of {}x{}", extents[0], extents[1])]
    Block {
        /// The rows asked for.
        rows: Range<usize>,
        /// The columns asked for.
        columns: Range<usize>,
        /// The rows and columns there are.
        extents: [usize; 2],
    },
    /// A raster of one type for an image of another.
    #[error("an image of {want} cannot have a raster of {found}")]
    RasterElement {
        /// The image's.
        want: &'static str,
        /// The raster's.
        found: Element,
    },
    /// An image made of nothing, or nothing made of an image.
    #[error("an image of {}x{} cannot become one of {}x{}: both have pixels, or neither has", from[0], from[1], to[0], to[1])]
    Resize {
        /// Width and height of the image.
        from: [usize; 2],
        /// Those asked for.
        to: [usize; 2],
    },
    /// Operands of different shapes.
    #[error("{operand} is {found}, {want} was expected")]
    Shape {
        /// Which.
        operand: &'static str,
        /// What it should be.
        want: String,
        /// What it is.
        found: String,
    },
    /// Elements that lie otherwise than a view of another kind can say.
    #[error("{what} cannot be seen as {wanted} where it lies: {why}")]
    NoView {
        /// What there is.
        what: String,
        /// What was asked for.
        wanted: &'static str,
        /// What is in the way, and what helps.
        why: &'static str,
    },
    /// The value of an operation was given out before.
    #[error("the value of the operation was given out before")]
    ValueTaken,
    /// Operands of different contexts.
    #[error("{operand} lives in another context ({found}) than the operation ({want}): copy it there first")]
    OtherContext {
        /// Which.
        operand: &'static str,
        /// The operation's context.
        want: String,
        /// The operand's.
        found: String,
    },
    /// An operand that is also the result.
    #[error("{operand} and the result share memory: the operation reads the one while it writes the other")]
    Aliased {
        /// Which.
        operand: &'static str,
    },
    /// A picture that the `image` crate has no type for.
    #[cfg(feature = "image")]
    #[error("there is no picture of {channels} channels of {element}: convert the image first")]
    NoSuchPicture {
        /// Channels of a pixel.
        channels: usize,
        /// Their type.
        element: &'static str,
    },
    /// An image that lies otherwise than the filter was made for.
    #[error("{operand} lies as {}; the filter was made for {}: ask the context for another", rasters[1], rasters[0])]
    Raster {
        /// Which.
        operand: &'static str,
        /// What the filter was made for, and what the image is.
        rasters: Box<[Raster; 2]>,
    },
    /// A ceiling of the CPU path could not be measured.
    #[error(transparent)]
    Peak(#[from] PeakError),
    /// A product that makes no sense, or cannot be computed so.
    #[error(transparent)]
    Gemm(#[from] Unfit),
    /// A description of a product that makes no sense.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Extents of A and B that do not fit together.
    #[error("A is {}x{} and B is {}x{}: a product wants as many columns in A as rows in B", a[0], a[1], b[0], b[1])]
    Inner {
        /// Rows and columns of A.
        a: [usize; 2],
        /// Rows and columns of B.
        b: [usize; 2],
    },
    /// A matrix of other extents than the product.
    #[error("{operand} is {}x{}, the product {}x{}", found[0], found[1], want[0], want[1])]
    Extents {
        /// Which.
        operand: &'static str,
        /// Rows and columns of the product.
        want: [usize; 2],
        /// Rows and columns of the matrix.
        found: [usize; 2],
    },
    /// Memory that ends before the operand does.
    #[error("{operand} has {found} elements of memory, {want} are reached")]
    Short {
        /// Which.
        operand: String,
        /// Elements that are reached.
        want: usize,
        /// Elements there are.
        found: usize,
    },
    /// A batch asked for as one matrix.
    #[error("a batch of products is not one matrix: store it in a matrix that holds them all")]
    BatchToMatrix,
    /// A packed operand that a batch has in several places.
    #[error(
        "{operand} was packed ahead, once for all products of the batch: its stride and its offsets are 0"
    )]
    PackedMoved {
        /// Which.
        operand: &'static str,
    },
    /// A team of nobody.
    #[error("a team needs at least one context")]
    NoMember,
    /// A shared operation that every member failed in.
    #[error("all {members} members of the team failed, the first of them: {first}")]
    NoMemberLeft {
        /// How many there are.
        members: usize,
        /// What went wrong in the first.
        first: Box<Error>,
    },
    /// Something that only a device with kernels has.
    #[error("the CPU path runs no kernels")]
    NoKernels,
    /// The user's parameters of products cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}
