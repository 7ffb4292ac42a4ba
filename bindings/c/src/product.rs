//! Matrix products.

use std::ffi::c_char;

use half::f16;
use tripipe::gemm::{Accumulate, Factor, Product};
use tripipe::{Extents, MatrixView, MatrixViewMut, Order, Vector};

use crate::status::{Failure, call, give_text, object, tripipe_status};
use crate::vector::{Typed, TypedElement, of_type, tripipe_vector};

/// The order of the elements of a matrix.
pub type tripipe_order = i32;
/// Row by row, as in C.
pub const TRIPIPE_ORDER_ROW_MAJOR: tripipe_order = 0;
/// Column by column, as in Fortran; a row-major matrix, transposed.
pub const TRIPIPE_ORDER_COLUMN_MAJOR: tripipe_order = 1;

/// A matrix in a vector. Element (i, j) is the one with the number `offset + i * stride + j` in row-major order,
/// `offset + i + j * stride` in column-major order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tripipe_matrix {
    /// The vector.
    pub vector: *mut tripipe_vector,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// The number of the first element.
    pub offset: usize,
    /// Elements from row to row, or from column to column; 0 if there are no gaps.
    pub stride: usize,
    /// The order.
    pub order: tripipe_order,
}

/// What is done to each element of a product at last.
pub type tripipe_activation = i32;
/// Nothing.
pub const TRIPIPE_ACTIVATION_NONE: tripipe_activation = 0;
/// Values less than 0 become 0.
pub const TRIPIPE_ACTIVATION_RELU: tripipe_activation = 1;
/// Clamped to 0..6.
pub const TRIPIPE_ACTIVATION_RELU6: tripipe_activation = 2;

/// The type in which sums of halves are accumulated.
pub type tripipe_accumulate = i32;
/// `float`
pub const TRIPIPE_ACCUMULATE_F32: tripipe_accumulate = 0;
/// `half`: the fastest where the device has it, and the least accurate.
pub const TRIPIPE_ACCUMULATE_F16: tripipe_accumulate = 1;

/// Options of a product `C = activation(alpha * A * B + beta * C + bias)`. `tripipe_product_options` has the usual ones.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tripipe_product {
    /// The factor of the product.
    pub alpha: f64,
    /// The factor of the old contents of C; they are not read if it is 0.
    pub beta: f64,
    /// A number for each column of C, or null.
    pub bias_columns: *const tripipe_vector,
    /// A number for each row of C, or null.
    pub bias_rows: *const tripipe_vector,
    /// What is done at last.
    pub activation: tripipe_activation,
    /// The type of sums of halves.
    pub accumulate: tripipe_accumulate,
}

const USUAL: tripipe_product = tripipe_product {
    alpha: 1.0,
    beta: 0.0,
    bias_columns: std::ptr::null(),
    bias_rows: std::ptr::null(),
    activation: TRIPIPE_ACTIVATION_NONE,
    accumulate: TRIPIPE_ACCUMULATE_F32,
};

/// The options of a plain product: alpha is 1, beta 0, no bias, no activation, sums in `float`.
#[unsafe(no_mangle)]
pub extern "C" fn tripipe_product_options() -> tripipe_product {
    USUAL
}

impl tripipe_matrix {
    fn order(&self, argument: &str) -> Result<Order, Failure> {
        match self.order {
            TRIPIPE_ORDER_ROW_MAJOR => Ok(Order::RowMajor),
            TRIPIPE_ORDER_COLUMN_MAJOR => Ok(Order::ColumnMajor),
            other => Err(Failure::argument(format_args!(
                "{argument}: order is {other}; 0 is row-major, 1 column-major"
            ))),
        }
    }

    fn stride(&self) -> usize {
        match (self.stride, self.order) {
            (0, TRIPIPE_ORDER_COLUMN_MAJOR) => self.rows,
            (0, _) => self.columns,
            (stride, _) => stride,
        }
    }

    /// # Safety
    /// The vector is null or live.
    pub(crate) unsafe fn vector<'v>(&self, argument: &str) -> Result<&'v Typed, Failure> {
        // SAFETY: as the caller guarantees.
        Ok(&unsafe { object(self.vector.cast_const(), argument) }?.0)
    }

    /// # Safety
    /// The vector is null or live.
    pub(crate) unsafe fn view<'v, T: TypedElement>(
        &self,
        argument: &str,
    ) -> Result<MatrixView<'v, T>, Failure> {
        // SAFETY: as the caller guarantees.
        let vector = of_type::<T>(unsafe { self.vector(argument) }?, argument)?;
        let view = MatrixView::within(
            vector,
            self.offset,
            Extents::new(self.rows, self.columns),
            self.order(argument)?,
            self.stride(),
        );
        view.map_err(|error| Failure::argument(format_args!("{argument}: {error}")))
    }

    /// The elements of a matrix that is written.
    ///
    /// # Safety
    /// The vector is null or live.
    pub(crate) unsafe fn shared<T: TypedElement>(&self, argument: &str) -> Result<Vector<T>, Failure> {
        // SAFETY: as the caller guarantees.
        Ok(of_type::<T>(unsafe { self.vector(argument) }?, argument)?.share())
    }

    /// The matrix within these elements, to be written.
    pub(crate) fn view_mut<'v, T: TypedElement>(
        &self,
        vector: &'v mut Vector<T>,
        argument: &str,
    ) -> Result<MatrixViewMut<'v, T>, Failure> {
        let extents = Extents::new(self.rows, self.columns);
        MatrixViewMut::within(vector, self.offset, extents, self.order(argument)?, self.stride())
            .map_err(|error| Failure::argument(format_args!("{argument}: {error}")))
    }
}

/// Queues a product; returns at once. The elements of A and B are `F32`, `F16`, `F64` or `I8`; those of C and of the biases are
/// the same, but `I32` for `I8`. C shares no elements with A or B. With a context over a queue of the application, it runs after
/// the commands enqueued there before, and before those enqueued later.
///
/// # Safety
/// All matrices are valid, with live vectors; `options` is null (the usual ones) or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_matmul(
    a: *const tripipe_matrix,
    b: *const tripipe_matrix,
    options: *const tripipe_product,
    c: *const tripipe_matrix,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let call = unsafe { Call::new(a, b, options) }?;
        // SAFETY: as the caller guarantees.
        let c = unsafe { object(c, "c") }?;
        // SAFETY: as the caller guarantees.
        match unsafe { call.a.vector("a") }? {
            // SAFETY: as the caller guarantees.
            Typed::F32(_) => unsafe { call.store::<f32>(c) },
            // SAFETY: as the caller guarantees.
            Typed::F16(_) => unsafe { call.store::<f16>(c) },
            // SAFETY: as the caller guarantees.
            Typed::F64(_) => unsafe { call.store::<f64>(c) },
            // SAFETY: as the caller guarantees.
            Typed::I8(_) => unsafe { call.store::<i8>(c) },
            other => Err(no_product(other)),
        }
    })
}

/// Chooses and builds the kernels of a product whose C is row-major without gaps, and waits for the compiler: the first
/// `tripipe_matmul` with operands of these layouts then takes as long as any other. The context keeps those of the latest
/// layouts.
///
/// # Safety
/// As `tripipe_matmul`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_matmul_prepare(
    a: *const tripipe_matrix,
    b: *const tripipe_matrix,
    options: *const tripipe_product,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { explained(a, b, options) }.map(drop))
}

/// Gives what a product would do, why, and how long it takes. Free the text with `tripipe_string_free`.
///
/// # Safety
/// As `tripipe_matmul`; `explanation` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_matmul_explain(
    a: *const tripipe_matrix,
    b: *const tripipe_matrix,
    options: *const tripipe_product,
    explanation: *mut *mut c_char,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    call(|| unsafe { give_text(explanation, &explained(a, b, options)?, "explanation") })
}

/// # Safety
/// As `tripipe_matmul`.
unsafe fn explained(
    a: *const tripipe_matrix,
    b: *const tripipe_matrix,
    options: *const tripipe_product,
) -> Result<String, Failure> {
    // SAFETY: as the caller guarantees.
    let call = unsafe { Call::new(a, b, options) }?;
    // SAFETY: as the caller guarantees.
    match unsafe { call.a.vector("a") }? {
        // SAFETY: as the caller guarantees.
        Typed::F32(_) => unsafe { call.explain::<f32>() },
        // SAFETY: as the caller guarantees.
        Typed::F16(_) => unsafe { call.explain::<f16>() },
        // SAFETY: as the caller guarantees.
        Typed::F64(_) => unsafe { call.explain::<f64>() },
        // SAFETY: as the caller guarantees.
        Typed::I8(_) => unsafe { call.explain::<i8>() },
        other => Err(no_product(other)),
    }
}

fn no_product(a: &Typed) -> Failure {
    Failure::argument(format_args!(
        "a has elements of type {}; products are of f16, f32, f64 or i8",
        a.element()
    ))
}

/// The arguments of a product.
struct Call<'c> {
    a: &'c tripipe_matrix,
    b: &'c tripipe_matrix,
    options: tripipe_product,
}

impl Call<'_> {
    /// # Safety
    /// As `tripipe_matmul`.
    unsafe fn new(
        a: *const tripipe_matrix,
        b: *const tripipe_matrix,
        options: *const tripipe_product,
    ) -> Result<Self, Failure> {
        // SAFETY: as the caller guarantees.
        let (a, b, options) = unsafe { (object(a, "a")?, object(b, "b")?, options.as_ref()) };
        Ok(Self { a, b, options: options.copied().unwrap_or(USUAL) })
    }

    /// # Safety
    /// As `tripipe_matmul`.
    unsafe fn product<'m, T: Factor + TypedElement>(&self) -> Result<Product<'m, T>, Failure>
    where
        T::Sum: TypedElement,
    {
        let Self { a, b, options } = self;
        // SAFETY: as the caller guarantees.
        let (a, b) = unsafe { (a.view::<T>("a")?, b.view::<T>("b")?) };
        let mut product = Product::new(a, b)?.alpha(options.alpha).beta(options.beta);
        product = product.accumulate(match options.accumulate {
            TRIPIPE_ACCUMULATE_F32 => Accumulate::F32,
            TRIPIPE_ACCUMULATE_F16 => Accumulate::F16,
            other => {
                return Err(Failure::argument(format_args!("accumulate is {other}; 0 is F32, 1 is F16")));
            }
        });
        // SAFETY: as the caller guarantees.
        if let Some(bias) = unsafe { options.bias_columns.as_ref() } {
            product = product.bias_columns(of_type(&bias.0, "bias_columns")?);
        }
        // SAFETY: as the caller guarantees.
        if let Some(bias) = unsafe { options.bias_rows.as_ref() } {
            product = product.bias_rows(of_type(&bias.0, "bias_rows")?);
        }
        Ok(match options.activation {
            TRIPIPE_ACTIVATION_NONE => product,
            TRIPIPE_ACTIVATION_RELU => product.relu(),
            TRIPIPE_ACTIVATION_RELU6 => product.relu6(),
            other => {
                return Err(Failure::argument(format_args!(
                    "activation is {other}; 0 is none, 1 ReLU, 2 ReLU6"
                )));
            }
        })
    }

    /// # Safety
    /// As `tripipe_matmul`.
    unsafe fn store<T: Factor + TypedElement>(&self, c: &tripipe_matrix) -> Result<(), Failure>
    where
        T::Sum: TypedElement,
    {
        // SAFETY: as the caller guarantees.
        let product = unsafe { self.product::<T>() }?;
        // SAFETY: as the caller guarantees.
        let mut vector = unsafe { c.shared::<T::Sum>("c") }?;
        product.store(c.view_mut(&mut vector, "c")?)?;
        Ok(())
    }

    /// # Safety
    /// As `tripipe_matmul`.
    unsafe fn explain<T: Factor + TypedElement>(&self) -> Result<String, Failure>
    where
        T::Sum: TypedElement,
    {
        // SAFETY: as the caller guarantees.
        Ok(unsafe { self.product::<T>() }?.explain()?.to_string())
    }
}
