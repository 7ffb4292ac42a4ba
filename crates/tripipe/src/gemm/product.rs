//! A product with its operands.

use std::sync::Arc;

use tripipe_kernels::Role;
use tripipe_kernels::gemm::{
    self as kernels, Accumulate, Batch, DescriptionError, Elements, EpilogueStage, Extents, Gemm, Layout,
    Parameters, ProductExtents, Requantise, Scale,
};

use super::factor::Factor;
use super::operation::GemmOperation;
use super::packed::Packed;
use crate::error::Fault;
use crate::matrix::MatrixShape;
use crate::memory::Memory;
use crate::operation::{BoundOperand, Offset};
use crate::{Context, Element, Error, Event, Explanation, Matrix, MatrixView, MatrixViewMut, Vector};

/// A or B of a product: a matrix, a block of one, a transposed one, or one packed in advance.
#[derive(Debug)]
pub enum Operand<'m, T> {
    /// A matrix in its stored layout.
    Plain(MatrixView<'m, T>),
    /// An operand packed in advance.
    Packed(&'m Packed<T>),
}

impl<'m, T: Element, M: Into<MatrixView<'m, T>>> From<M> for Operand<'m, T> {
    fn from(matrix: M) -> Self {
        Self::Plain(matrix.into())
    }
}

impl<'m, T: Element> From<&'m Packed<T>> for Operand<'m, T> {
    fn from(packed: &'m Packed<T>) -> Self {
        Self::Packed(packed)
    }
}

impl<'m, T: Element> Operand<'m, T> {
    fn extents(&self) -> Extents {
        match self {
            Self::Plain(view) => view.extents(),
            Self::Packed(packed) => packed.extents(),
        }
    }

    fn layout(&self) -> Layout {
        match self {
            Self::Plain(view) => layout_of(&view.shape()),
            Self::Packed(packed) => packed.layout(),
        }
    }

    pub(super) fn memory(&self) -> &'m Memory {
        match self {
            Self::Plain(view) => view.memory(),
            Self::Packed(packed) => packed.memory(),
        }
    }

    pub(super) fn packed(&self) -> Option<&'m Packed<T>> {
        match self {
            Self::Plain(_) => None,
            Self::Packed(packed) => Some(packed),
        }
    }
}

/// The layout of a matrix with this shape as kernels take it, who allow no stride of 0.
pub(super) fn layout_of(shape: &MatrixShape) -> Layout {
    Layout { leading: shape.layout.leading.max(1), ..shape.layout }
}

/// A product to compute: its operands, factors, and the operations on each element before it is stored.
///
/// The stages of the epilogue are applied in the order of the calls that add them.
#[must_use = "a product is computed by `store` or `into_matrix`"]
#[derive(Debug)]
pub struct Product<'m, T: Factor> {
    pub(super) gemm: Gemm,
    pub(super) a: Operand<'m, T>,
    pub(super) b: Operand<'m, T>,
    offsets: Option<&'m Memory>,
    /// Biases and residuals.
    sides: Vec<BoundOperand<'m>>,
}

/// An operation, and how much later its operands begin than it says.
type ChosenOperation = (Arc<GemmOperation>, Vec<(Role, Offset)>);

/// Elements from one operand of a batch to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// From one A to the next; 0 if all products share it.
    pub a: usize,
    /// From one B to the next; 0 if all products share it.
    pub b: usize,
    /// From one C to the next; not 0.
    pub c: usize,
}

/// How sums of bytes are converted back to bytes: [`Requantise`] with its multipliers.
#[derive(Clone, Copy, Debug)]
pub struct Requantisation<'m> {
    /// One pair of a multiplier and a shift for all of C, or one for each column.
    pub scales: &'m Multipliers,
    /// The zero point of A: the value that represents 0.
    pub zero_a: i8,
    /// The zero point of B.
    pub zero_b: i8,
    /// The zero point of C.
    pub zero_c: i8,
    /// The smallest and the largest value of C.
    pub range: [i8; 2],
}

/// The multipliers and shifts of a [`Requantisation`], in a context's memory.
#[derive(Debug)]
pub struct Multipliers(Vector<i32>);

impl Multipliers {
    /// Pairs of a multiplier, at least 0, and a shift, 1 to 62: sums are multiplied by `multiplier / 2^shift`.
    ///
    /// # Errors
    /// A pair outside these ranges; no memory left.
    pub fn new(context: &Context, pairs: &[[i32; 2]]) -> Result<Self, Error> {
        let wrong = |[multiplier, shift]: &[i32; 2]| *multiplier < 0 || !(1..=62).contains(shift);
        if let Some(index) = pairs.iter().position(wrong) {
            let [multiplier, shift] = pairs[index];
            return Err(DescriptionError::Multiplier { index, multiplier, shift }.into());
        }
        Ok(Self(Vector::from_slice(context, pairs.as_flattened())?))
    }
}

impl<T: Factor> Matrix<T> {
    /// The product of this matrix (m x k) and `b` (k x n). Queued, as [`Product::into_matrix`]; a [`Product`] has
    /// factors, biases, activations and a result in existing memory besides.
    ///
    /// # Errors
    /// As [`Product::new`] and [`Product::into_matrix`].
    pub fn matmul<'m>(&'m self, b: impl Into<Operand<'m, T>>) -> Result<Matrix<T::Sum>, Error> {
        Product::new(self, b)?.into_matrix()
    }
}

impl<T: Factor> MatrixView<'_, T> {
    /// As [`Matrix::matmul`].
    ///
    /// # Errors
    /// As [`Matrix::matmul`].
    pub fn matmul<'m>(&'m self, b: impl Into<Operand<'m, T>>) -> Result<Matrix<T::Sum>, Error> {
        Product::new(*self, b)?.into_matrix()
    }
}

impl<'m, T: Factor> Product<'m, T> {
    /// The product of A (m x k) and B (k x n).
    ///
    /// # Errors
    /// The number of rows of B is not the number of columns of A.
    pub fn new(a: impl Into<Operand<'m, T>>, b: impl Into<Operand<'m, T>>) -> Result<Self, Error> {
        let (a, b) = (a.into(), b.into());
        let (of_a, of_b) = (a.extents(), b.extents());
        if of_a.columns != of_b.rows {
            return Err(Error::from(Fault::Inner { a: of_a, b: of_b }));
        }
        let extents = ProductExtents { m: of_a.rows, n: of_b.columns, k: of_b.rows };
        let mut gemm = Gemm::new(T::elements(Accumulate::F32), extents);
        (gemm.a, gemm.b) = (a.layout(), b.layout());
        Ok(Self { gemm, a, b, offsets: None, sides: Vec::new() })
    }

    /// Sets `alpha`, the factor of the product.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.gemm.alpha = alpha;
        self
    }

    /// Sets `beta`, the factor of the old contents of C, which are added. The default is 0: C is then not read.
    pub fn beta(mut self, beta: f64) -> Self {
        self.gemm.beta = beta;
        self
    }

    /// Sets the type in which sums of halves are accumulated; the default is `float`.
    pub fn accumulate(mut self, accumulate: Accumulate) -> Self {
        self.gemm.elements = T::elements(accumulate);
        self
    }

    /// Adds a stage: add a number to each column.
    pub fn bias_columns(mut self, bias: &'m Vector<T::Sum>) -> Self {
        self.stage(EpilogueStage::BiasColumns, bias.memory());
        self
    }

    /// Adds a stage: add a number to each row.
    pub fn bias_rows(mut self, bias: &'m Vector<T::Sum>) -> Self {
        self.stage(EpilogueStage::BiasRows, bias.memory());
        self
    }

    /// Adds a stage: values less than 0 become 0.
    pub fn relu(mut self) -> Self {
        self.gemm.epilogue.push(EpilogueStage::Relu);
        self
    }

    /// Adds a stage: clamp to 0..6, both included.
    pub fn relu6(mut self) -> Self {
        self.gemm.epilogue.push(EpilogueStage::Relu6);
        self
    }

    /// Adds a stage: clamp to the range from `min` to `max`, both included.
    pub fn clamp(mut self, min: f32, max: f32) -> Self {
        self.gemm.epilogue.push(EpilogueStage::Clamp { least: min, most: max });
        self
    }

    /// Adds a stage: add a matrix with the extents of C.
    ///
    /// # Errors
    /// Its extents differ.
    pub fn residual(mut self, residual: impl Into<MatrixView<'m, T::Sum>>) -> Result<Self, Error> {
        let view = residual.into();
        self.check_extents("the residual", view.extents())?;
        let stride = match self.gemm.batch {
            Batch::Strided { strides: [_, _, stride], .. } => stride,
            Batch::One | Batch::Offsets { .. } => 0,
        };
        self.stage(EpilogueStage::Residual { layout: layout_of(&view.shape()), stride }, view.memory());
        Ok(self)
    }

    /// A batch of `count` products: each operand of a product is stored `strides` elements after that of the previous
    /// product. An operand packed in advance is shared by all. A residual has the stride of C if this is called before
    /// [`Self::residual`].
    pub fn strided(mut self, count: usize, strides: Strides) -> Self {
        self.gemm.batch = Batch::Strided { count, strides: [strides.a, strides.b, strides.c] };
        self
    }

    /// A batch with one product per triple of offsets: the number of elements by which the operands A, B and C of each
    /// product follow those given.
    ///
    /// Offsets that exceed a matrix are refused when the product is stored, which waits for the operation that writes
    /// them and takes a copy of them: later writes have no effect. An operand packed in advance is shared by all
    /// products: its offsets are 0. The products are computed in any order, or at the same time. Two products at the
    /// same location of C are not detected: without a beta, the result there is one of the two; with one, it is not
    /// specified.
    ///
    /// # Errors
    /// The number of offsets is not a multiple of 3.
    pub fn at_offsets(mut self, offsets: &'m Vector<u32>) -> Result<Self, Error> {
        if !offsets.len().is_multiple_of(3) {
            let want = offsets.len().next_multiple_of(3);
            return Err(Error::from(Fault::Length { operand: "the offsets", want, found: offsets.len() }));
        }
        self.gemm.batch = Batch::Offsets { count: offsets.len() / 3 };
        self.offsets = Some(offsets.memory());
        Ok(self)
    }

    /// Queues the product, with the result in C.
    ///
    /// # Errors
    /// Extents that do not match; operands in different contexts, or that share memory with C; an operand packed in
    /// advance that has several locations in a batch; an invalid description; the device is gone.
    pub fn store<'c>(mut self, c: impl Into<MatrixViewMut<'c, T::Sum>>) -> Result<Event, Error>
    where
        'm: 'c,
    {
        let c = c.into();
        self.set_result_shape(c.shape())?;
        self.run(c.memory(), None)
    }

    /// Queues the product, with the result in a new row-major matrix.
    ///
    /// # Errors
    /// As [`Self::store`]; no memory left; a batch, whose result is more than one matrix.
    pub fn into_matrix(self) -> Result<Matrix<T::Sum>, Error> {
        if self.gemm.batch != Batch::One {
            return Err(Error::from(Fault::BatchToMatrix));
        }
        // The old contents are read only with a beta.
        let [_, beta] = self.gemm.factors();
        let make = if beta == 0.0 { Matrix::unwritten } else { Matrix::zeros };
        let mut c = make(self.context(), self.gemm.extents().c())?;
        drop(self.store(&mut c)?);
        Ok(c)
    }

    /// What it would do, why, and how long it takes; nothing is run. C is taken as row-major.
    ///
    /// # Errors
    /// As [`Self::store`].
    pub fn explain(mut self) -> Result<Explanation, Error> {
        self.gemm.c = Layout::row_major(self.gemm.n.max(1));
        let parameters = self.settle_packed()?;
        Ok(self.operation(None, parameters)?.0.explain())
    }

    /// Adds a stage that reads memory.
    fn stage(&mut self, stage: EpilogueStage, memory: &'m Memory) {
        let role = stage.role(self.gemm.epilogue.len());
        self.sides.extend(role.map(|role| BoundOperand::new(role, memory)));
        self.gemm.epilogue.push(stage);
    }

    fn context(&self) -> &Context {
        self.a.memory().context()
    }

    fn check_extents(&self, operand: &'static str, found: Extents) -> Result<(), Error> {
        let want = self.gemm.extents().c();
        if want == found { Ok(()) } else { Err(Error::from(Fault::Extents { operand, want, found })) }
    }

    fn set_result_shape(&mut self, shape: MatrixShape) -> Result<(), Error> {
        self.check_extents("C", shape.extents)?;
        self.gemm.c = layout_of(&shape);
        Ok(())
    }

    /// The operation, and how much later its operands begin than it says: products of blocks that differ only in their
    /// offsets are one operation.
    fn operation(
        &self,
        c: Option<&Memory>,
        parameters: Option<Parameters>,
    ) -> Result<ChosenOperation, Error> {
        let packed = self.tags();
        let mut near = self.gemm.clone();
        let (input, output, _) = self.gemm.elements.types();
        let moved = [
            (Role::A, packed[0].is_none(), &mut near.a, input),
            (Role::B, packed[1].is_none(), &mut near.b, input),
            (Role::C, true, &mut near.c, output),
        ];
        let moved = moved.into_iter().filter(|(_, is_plain, _, _)| *is_plain);
        let offsets: Vec<(Role, Offset)> = moved
            .map(|(role, _, layout, element)| (role, Offset::split_from(&mut layout.offset, element.bytes())))
            .collect();
        // Kernels use 32-bit indices.
        let memories = [Some(self.a.memory()), Some(self.b.memory()), c];
        let counts = memories.into_iter().flatten().all(|memory| u32::try_from(memory.bytes()).is_ok());
        if counts && offsets.iter().any(|(_, offset)| offset.elements > 0) {
            let operation = self.context().gemm(&near, parameters, &packed)?;
            if operation.can_move(&offsets) {
                return Ok((operation, offsets));
            }
        }
        Ok((self.context().gemm(&self.gemm, parameters, &packed)?, Vec::new()))
    }

    fn tags(&self) -> [Option<kernels::Packed>; 2] {
        [self.a.packed().and_then(Packed::tag), self.b.packed().and_then(Packed::tag)]
    }

    /// The kernel that reads the packed operands, or `None` where any kernel will do. Operands that it cannot read
    /// become plain matrices.
    fn settle_packed(&mut self) -> Result<Option<Parameters>, Error> {
        let tags = self.tags();
        let Some(probe) = self.context().probe() else { return Ok(None) };
        if tags == [None; 2] {
            return Ok(None);
        }
        let mut best: Option<(Parameters, [bool; 2])> = None;
        // An operand in its original layout leaves the choice to the other.
        for parameters in [&self.b, &self.a].into_iter().filter_map(|operand| operand.packed()?.parameters())
        {
            // A kernel that the device does not support for this product reads nothing.
            let Ok(reads) = kernels::reads_as_packed(&self.gemm, &parameters, probe, tags) else {
                continue;
            };
            let kept = |reads: [bool; 2]| (0..2).filter(|side| reads[*side] && tags[*side].is_some()).count();
            if kept(reads) > best.map_or(0, |(_, reads)| kept(reads)) {
                best = Some((parameters, reads));
            }
        }
        let reads = best.map_or([false; 2], |(_, reads)| reads);
        if let (Operand::Packed(packed), false, Some(_)) = (&self.a, reads[0], tags[0]) {
            self.a = Operand::Plain(packed.plain()?);
            self.gemm.a = self.a.layout();
        }
        if let (Operand::Packed(packed), false, Some(_)) = (&self.b, reads[1], tags[1]) {
            self.b = Operand::Plain(packed.plain()?);
            self.gemm.b = self.b.layout();
        }
        Ok(best.map(|(parameters, _)| parameters))
    }

    /// Checks that an operand packed in advance has one location for all products of a batch.
    fn check_packed(&self) -> Result<(), Error> {
        let sides = [("A", self.a.packed()), ("B", self.b.packed())];
        let packed = |side: usize| sides[side].1.is_some();
        if !packed(0) && !packed(1) {
            return Ok(());
        }
        let moved = match (self.gemm.batch, self.offsets) {
            (Batch::Strided { count, strides: [a, b, _] }, _) if count > 1 => [a > 0, b > 0],
            (Batch::Offsets { count }, Some(offsets)) => offsets.with(|bytes| {
                let words = bytes.chunks_exact(size_of::<u32>()).take(3 * count).enumerate();
                words.fold([false; 2], |mut moved, (index, word)| {
                    if let Some(moved) = moved.get_mut(index % 3) {
                        *moved |= word.iter().any(|byte| *byte != 0);
                    }
                    moved
                })
            })?,
            _ => [false; 2],
        };
        match (0..2).find(|side| packed(*side) && moved[*side]) {
            Some(side) => Err(Error::from(Fault::PackedMoved { operand: sides[side].0 })),
            None => Ok(()),
        }
    }

    fn run(mut self, c: &Memory, scales: Option<&Memory>) -> Result<Event, Error> {
        self.check_packed()?;
        let parameters = self.settle_packed()?;
        let (operation, offsets) = self.operation(Some(c), parameters)?;
        let place = |role, memory| BoundOperand::moved(role, memory, &offsets);
        let mut inputs = vec![place(Role::A, self.a.memory()), place(Role::B, self.b.memory())];
        inputs.extend(self.offsets.map(|offsets| BoundOperand::new(Role::Offsets, offsets)));
        inputs.extend(scales.map(|scales| BoundOperand::new(Role::Scales, scales)));
        inputs.extend(&self.sides);
        operation.run_over(&inputs, place(Role::C, c))
    }
}

impl<'m> Product<'m, i8> {
    /// Queues the product, its sums requantised to bytes, with the result in C.
    ///
    /// # Errors
    /// As [`Product::store`]; the number of pairs of a multiplier and a shift is neither one nor the number of columns
    /// of C.
    pub fn store_bytes<'c>(
        mut self,
        c: impl Into<MatrixViewMut<'c, i8>>,
        requantisation: Requantisation<'m>,
    ) -> Result<Event, Error>
    where
        'm: 'c,
    {
        let c = c.into();
        self.set_result_shape(c.shape())?;
        let Requantisation { scales, zero_a, zero_b, zero_c, range: [least, most] } = requantisation;
        let scales = &scales.0;
        let scale = match scales.len() / 2 {
            1 => Scale::Tensor,
            pairs if pairs == self.gemm.n => Scale::Columns,
            found => {
                let operand = "the pairs of a multiplier and a shift";
                return Err(Error::from(Fault::Length { operand, want: 1, found }));
            }
        };
        self.gemm.elements = Elements::I8ToI8(Requantise { scale, zero_a, zero_b, zero_c, least, most });
        self.run(c.memory(), Some(scales.memory()))
    }
}
