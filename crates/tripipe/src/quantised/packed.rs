//! Weights in a context's memory.

use tripipe_kernels::Role;
use tripipe_kernels::gemm::{Extents, Layout, ProductExtents};
use tripipe_kernels::quantised::{Activation, PackedLayout, QuantisedProduct, StoredWeights, WeightFormat};

use super::operation::{ActivationElement, rows_of};
use crate::error::Fault;
use crate::matrix::MatrixShape;
use crate::memory::Memory;
use crate::operation::{BoundOperand, Offset};
use crate::{Context, Error, Event, Explanation, Matrix, MatrixView, MatrixViewMut, Vector};

/// The weights of a layer, packed once in the layout that the device's kernels read.
#[derive(Debug)]
pub struct PackedWeights {
    weights: Memory,
    scales: Option<Memory>,
    layout: PackedLayout,
}

impl PackedWeights {
    /// Packs weights as they are stored in a file, or quantised before.
    ///
    /// # Errors
    /// More than the device allows in one allocation; no memory left.
    pub fn new(context: &Context, stored: &StoredWeights) -> Result<Self, Error> {
        let (format, extents) = (stored.format(), stored.extents());
        let layout = match context.probe() {
            None => PackedLayout::in_buffer(format, extents)?,
            Some(probe) => {
                // The memory that is best for one vector: batches read the same weights.
                let one = QuantisedProduct::new(
                    format,
                    Activation::F32,
                    ProductExtents { m: 1, n: extents.rows, k: extents.columns },
                );
                let choice = context.table()?.choose_quantised(&one, None, probe);
                PackedLayout::of(format, extents, choice.parameters.memory, probe)?
            }
        };
        let words = layout.pack(stored)?;
        let weights = if layout.is_buffer() {
            Memory::owning(context, words.weights)?
        } else {
            Memory::of_kind_with(context, &layout.weights_memory(), bytemuck::cast_slice(&words.weights))?
        };
        let scales =
            if words.scales.is_empty() { None } else { Some(Memory::owning(context, words.scales)?) };
        Ok(Self { weights, scales, layout })
    }

    /// Quantises `weights` and packs them: a row for each output, a column for each input.
    ///
    /// # Errors
    /// As [`StoredWeights::quantise`] and [`Self::new`].
    pub fn quantise(
        context: &Context,
        format: WeightFormat,
        weights: &[f32],
        extents: Extents,
    ) -> Result<Self, Error> {
        Self::new(context, &StoredWeights::quantise(format, weights, extents)?)
    }

    /// The format.
    pub fn format(&self) -> WeightFormat {
        self.layout.format()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.layout.extents().rows
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.layout.extents().columns
    }

    /// The context it lives in.
    pub fn context(&self) -> &Context {
        self.weights.context()
    }

    /// The size in bytes of weights and scales.
    pub fn bytes(&self) -> usize {
        self.weights.bytes() + self.scales.as_ref().map_or(0, Memory::bytes)
    }

    /// Queues x W for a vector x of as many elements as there are inputs; the result has one for each output.
    ///
    /// # Errors
    /// As [`Self::store`]; no memory left.
    pub fn times_vector<T: ActivationElement>(&self, x: &Vector<T>) -> Result<Vector<T>, Error> {
        let of_x = row(x.len());
        let y = Vector::<T>::unwritten(self.context(), self.outputs())?;
        let into = MatrixViewMut::<T>::over(y.memory(), row(self.outputs()));
        drop(self.store(MatrixView::<T>::over(x.memory(), of_x), into)?);
        Ok(y)
    }

    /// Queues x W for the rows of x; the result is a new row-major matrix.
    ///
    /// # Errors
    /// As [`Self::store`]; no memory left.
    pub fn to_matrix<'m, T: ActivationElement>(
        &self,
        x: impl Into<MatrixView<'m, T>>,
    ) -> Result<Matrix<T>, Error> {
        let x = x.into();
        let mut y = Matrix::unwritten(self.context(), Extents::new(x.rows(), self.outputs()))?;
        drop(self.store(x, &mut y)?);
        Ok(y)
    }

    /// Queues x W for the rows of x, with the result in y.
    ///
    /// # Errors
    /// Extents that do not match; x or y whose rows are not contiguous; operands in different contexts, or x and y that
    /// share memory; the device is gone.
    pub fn store<'m, 'y, T: ActivationElement>(
        &self,
        x: impl Into<MatrixView<'m, T>>,
        y: impl Into<MatrixViewMut<'y, T>>,
    ) -> Result<Event, Error> {
        let (x, y) = (x.into(), y.into());
        let (m, Extents { rows: n, columns: k }) = (x.rows(), self.layout.extents());
        for (operand, want, found) in
            [("x", Extents::new(m, k), x.extents()), ("y", Extents::new(m, n), y.extents())]
        {
            if want != found {
                return Err(Error::from(Fault::Extents { operand, want, found }));
            }
        }
        let ([x_offset, x_stride], [y_offset, y_stride]) =
            (rows_of("x", &x.shape())?, rows_of("y", &y.shape())?);
        let dense = QuantisedProduct::new(self.format(), T::ACTIVATION, ProductExtents { m, n, k });
        let product = QuantisedProduct { x_offset, x_stride, y_offset, y_stride, ..dense };
        // Products at other offsets are the same operation.
        let mut near = product;
        let offsets = [
            (Role::A, Offset::split_from(&mut near.x_offset, size_of::<T>())),
            (Role::C, Offset::split_from(&mut near.y_offset, size_of::<T>())),
        ];
        let (operation, offsets) = match self.context().quantised(&near, &self.layout)? {
            operation if operation.can_move(&offsets) => (operation, offsets.to_vec()),
            _ => (self.context().quantised(&product, &self.layout)?, Vec::new()),
        };
        let mut inputs = vec![
            BoundOperand::moved(Role::A, x.memory(), &offsets),
            BoundOperand::new(Role::B, &self.weights),
        ];
        inputs.extend(self.scales.as_ref().map(|scales| BoundOperand::new(Role::Scales, scales)));
        operation.run_over(&inputs, &BoundOperand::moved(Role::C, y.memory(), &offsets))
    }

    /// What a product with `vectors` vectors of a type would do, why, and how long it takes; nothing is run.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    pub fn explain<T: ActivationElement>(&self, vectors: usize) -> Result<Explanation, Error> {
        let Extents { rows: n, columns: k } = self.layout.extents();
        let product =
            QuantisedProduct::new(self.format(), T::ACTIVATION, ProductExtents { m: vectors, n, k });
        Ok(self.context().quantised(&product, &self.layout)?.explanation())
    }
}

/// A vector as a matrix of one row.
fn row(length: usize) -> MatrixShape {
    MatrixShape { extents: Extents::new(1, length), layout: Layout::row_major(length) }
}
