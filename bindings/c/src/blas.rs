//! Matrix products on buffers of the application, with the arguments of CLBlast: code written for `CLBlastSgemm` changes
//! the name of the call.

use std::cell::RefCell;
use std::ffi::c_void;

use half::f16;
use tripipe::gemm::{Factor, Product};
use tripipe::opencl::Queue;
use tripipe::{Context, Extents, MatrixView, MatrixViewMut, Order, Vector};

use crate::context::on_queue;
use crate::status::{Failure, call, tripipe_status};
use crate::vector::external;

/// The order of the elements of all matrices of a call. The numbers are those of CBLAS and CLBlast.
pub type tripipe_layout = i32;
/// Row by row.
pub const TRIPIPE_LAYOUT_ROW_MAJOR: tripipe_layout = 101;
/// Column by column.
pub const TRIPIPE_LAYOUT_COL_MAJOR: tripipe_layout = 102;

/// Whether an operand is transposed. The numbers are those of CBLAS and CLBlast.
pub type tripipe_transpose = i32;
/// It is not.
pub const TRIPIPE_TRANSPOSE_NO: tripipe_transpose = 111;
/// It is.
pub const TRIPIPE_TRANSPOSE_YES: tripipe_transpose = 112;
/// Likewise: real numbers are their own conjugates.
pub const TRIPIPE_TRANSPOSE_CONJUGATE: tripipe_transpose = 113;

/// An operand in a buffer of the application.
struct BufferOperand {
    name: &'static str,
    buffer: *mut c_void,
    offset: usize,
    stride: usize,
}

/// The contexts of the queues that a thread used last: their kernels are kept.
const KEPT: usize = 4;

thread_local! {
    static CONTEXTS: RefCell<Vec<(*mut c_void, Queue, Context)>> = const { RefCell::new(Vec::new()) };
}

/// The context of a queue. A kept one retains its queue, so another queue never has the same handle.
///
/// # Safety
/// As [`on_queue`].
unsafe fn context_of(queue: *mut c_void) -> Result<(Queue, Context), Failure> {
    CONTEXTS
        .try_with(|contexts| {
            let mut contexts = contexts.borrow_mut();
            let known = contexts.iter().position(|(of, _, _)| *of == queue);
            let one = if let Some(known) = known {
                contexts.remove(known)
            } else {
                // SAFETY: as the caller guarantees.
                let (retained, context) = unsafe { on_queue(queue) }?;
                (queue, retained, context)
            };
            contexts.truncate(KEPT - 1);
            contexts.insert(0, one.clone());
            Ok((one.1, one.2))
        })
        .unwrap_or_else(|_| Err(Failure::argument("the thread is ending")))
}

impl BufferOperand {
    /// The elements that a matrix of these extents takes.
    fn elements(&self, Extents { rows, columns }: Extents, order: Order) -> Result<usize, Failure> {
        let (run, count) = match order {
            Order::RowMajor => (columns, rows),
            Order::ColumnMajor => (rows, columns),
        };
        if self.stride < run {
            let Self { name, stride, .. } = self;
            return Err(Failure::argument(format_args!("{name}_ld is {stride}, less than {run}")));
        }
        let last = count.saturating_sub(1).checked_mul(self.stride);
        let end = last.and_then(|last| last.checked_add(run)?.checked_add(self.offset));
        end.ok_or_else(|| Failure::argument(format_args!("{}: too large", self.name)))
    }

    /// # Safety
    /// The buffer is null or live.
    unsafe fn vector<T: tripipe::Element>(
        &self,
        context: &Context,
        extents: Extents,
        order: Order,
    ) -> Result<Vector<T>, Failure> {
        let elements = self.elements(extents, order)?;
        // SAFETY: as the caller guarantees.
        let external = unsafe { external(self.buffer, self.name) }?;
        Vector::import(context, external, elements)
            .map_err(|error| Failure::argument(format_args!("{}: {error}", self.name)))
    }
}

fn is_yes(transpose: tripipe_transpose, argument: &str) -> Result<bool, Failure> {
    match transpose {
        TRIPIPE_TRANSPOSE_NO => Ok(false),
        TRIPIPE_TRANSPOSE_YES | TRIPIPE_TRANSPOSE_CONJUGATE => Ok(true),
        other => {
            Err(Failure::argument(format_args!("{argument} is {other}; 111 is no, 112 yes, 113 conjugate")))
        }
    }
}

/// Queues a product; the arguments are those of CLBlast, and an operand is its buffer, offset and leading dimension.
///
/// # Safety
/// As [`tripipe_sgemm`].
unsafe fn gemm<T: Factor>(
    layout: tripipe_layout,
    [a_transpose, b_transpose]: [tripipe_transpose; 2],
    [m, n, k]: [usize; 3],
    [alpha, beta]: [f64; 2],
    [a, b, c]: [(*mut c_void, usize, usize); 3],
    queue: *mut *mut c_void,
    event: *mut *mut c_void,
) -> Result<(), Failure> {
    let operand = |name, (buffer, offset, stride)| BufferOperand { name, buffer, offset, stride };
    let (a, b, c) = (operand("a", a), operand("b", b), operand("c", c));
    // SAFETY: as the caller guarantees.
    let handle = *unsafe { queue.as_ref() }.ok_or_else(|| Failure::null("queue"))?;
    // SAFETY: as the caller guarantees.
    let (queue, context) = unsafe { context_of(handle) }?;
    let order = match layout {
        TRIPIPE_LAYOUT_ROW_MAJOR => Order::RowMajor,
        TRIPIPE_LAYOUT_COL_MAJOR => Order::ColumnMajor,
        other => {
            return Err(Failure::argument(format_args!(
                "layout is {other}; 101 is row-major, 102 column-major"
            )));
        }
    };
    let is_transposed = [is_yes(a_transpose, "a_transpose")?, is_yes(b_transpose, "b_transpose")?];
    let stored = |extents: Extents, is_transposed: bool| {
        if is_transposed { extents.transposed() } else { extents }
    };
    let of_a = stored(Extents::new(m, k), is_transposed[0]);
    let of_b = stored(Extents::new(k, n), is_transposed[1]);
    let of_c = Extents::new(m, n);
    // SAFETY: as the caller guarantees.
    let vectors = unsafe { (a.vector::<T>(&context, of_a, order)?, b.vector::<T>(&context, of_b, order)?) };
    // SAFETY: as the caller guarantees.
    let mut result = unsafe { c.vector::<T::Sum>(&context, of_c, order) }?;
    let views = [
        MatrixView::within(&vectors.0, a.offset, of_a, order, a.stride)?,
        MatrixView::within(&vectors.1, b.offset, of_b, order, b.stride)?,
    ];
    let side = |index: usize| if is_transposed[index] { views[index].transposed() } else { views[index] };
    let into = MatrixViewMut::within(&mut result, c.offset, of_c, order, c.stride)?;
    Product::new(side(0), side(1))?.alpha(alpha).beta(beta).store(into)?;
    if !event.is_null() {
        let marker = queue.marker().map_err(Failure::device)?;
        // SAFETY: as the caller guarantees.
        unsafe { event.write(marker) };
    }
    Ok(())
}

/// Queues `C = alpha * A * B + beta * C` of `float` (`CLBlastSgemm`).
///
/// The arguments are those of CLBlast's function: offsets and leading dimensions in elements; `queue` points to the in-order
/// queue (`cl_command_queue`) on which the product is enqueued, after the commands enqueued before. If `event` is not null, it
/// gets an event (`cl_event`) that completes with the product, and that the application releases. Returns at once, but for the
/// first call of a shape, which chooses and builds the kernel. Each thread keeps its last four queues retained.
///
/// # Safety
/// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
/// the call needs; `event` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_sgemm(
    layout: tripipe_layout,
    a_transpose: tripipe_transpose,
    b_transpose: tripipe_transpose,
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a_buffer: *mut c_void,
    a_offset: usize,
    a_ld: usize,
    b_buffer: *mut c_void,
    b_offset: usize,
    b_ld: usize,
    beta: f32,
    c_buffer: *mut c_void,
    c_offset: usize,
    c_ld: usize,
    queue: *mut *mut c_void,
    event: *mut *mut c_void,
) -> tripipe_status {
    let operands = [(a_buffer, a_offset, a_ld), (b_buffer, b_offset, b_ld), (c_buffer, c_offset, c_ld)];
    let factors = [f64::from(alpha), f64::from(beta)];
    // SAFETY: as the caller guarantees.
    call(|| unsafe {
        gemm::<f32>(layout, [a_transpose, b_transpose], [m, n, k], factors, operands, queue, event)
    })
}

/// Queues `C = alpha * A * B + beta * C` of `half`, summed in `float` (`CLBlastHgemm`), as `tripipe_sgemm` does. The factors are
/// halves, as their 16 bits (`cl_half`).
///
/// # Safety
/// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
/// the call needs; `event` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_hgemm(
    layout: tripipe_layout,
    a_transpose: tripipe_transpose,
    b_transpose: tripipe_transpose,
    m: usize,
    n: usize,
    k: usize,
    alpha: u16,
    a_buffer: *mut c_void,
    a_offset: usize,
    a_ld: usize,
    b_buffer: *mut c_void,
    b_offset: usize,
    b_ld: usize,
    beta: u16,
    c_buffer: *mut c_void,
    c_offset: usize,
    c_ld: usize,
    queue: *mut *mut c_void,
    event: *mut *mut c_void,
) -> tripipe_status {
    let operands = [(a_buffer, a_offset, a_ld), (b_buffer, b_offset, b_ld), (c_buffer, c_offset, c_ld)];
    let factors = [f16::from_bits(alpha).to_f64(), f16::from_bits(beta).to_f64()];
    // SAFETY: as the caller guarantees.
    call(|| unsafe {
        gemm::<f16>(layout, [a_transpose, b_transpose], [m, n, k], factors, operands, queue, event)
    })
}

/// Queues `C = alpha * A * B + beta * C`, where A and B have elements of type `int8_t`, C and the factors of type `int32_t`, as
/// `tripipe_sgemm` does.
///
/// # Safety
/// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
/// the call needs; `event` is null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_igemm(
    layout: tripipe_layout,
    a_transpose: tripipe_transpose,
    b_transpose: tripipe_transpose,
    m: usize,
    n: usize,
    k: usize,
    alpha: i32,
    a_buffer: *mut c_void,
    a_offset: usize,
    a_ld: usize,
    b_buffer: *mut c_void,
    b_offset: usize,
    b_ld: usize,
    beta: i32,
    c_buffer: *mut c_void,
    c_offset: usize,
    c_ld: usize,
    queue: *mut *mut c_void,
    event: *mut *mut c_void,
) -> tripipe_status {
    let operands = [(a_buffer, a_offset, a_ld), (b_buffer, b_offset, b_ld), (c_buffer, c_offset, c_ld)];
    let factors = [f64::from(alpha), f64::from(beta)];
    // SAFETY: as the caller guarantees.
    call(|| unsafe {
        gemm::<i8>(layout, [a_transpose, b_transpose], [m, n, k], factors, operands, queue, event)
    })
}
