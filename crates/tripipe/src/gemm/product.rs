//! A product with its operands.

use std::sync::Arc;

use half::f16;
use tripipe_kernels::gemm::{
    self as kernels, Accumulate, Batch, Elements, Gemm, Layout, Parameters, Requantise, Scale, Stage,
};

use super::operation::GemmOperation;
use super::packed::Packed;
use crate::context::Engine;
use crate::matrix::Shape;
use crate::memory::Memory;
use crate::operation::Later;
use crate::{
    Context, Element, Error, Explanation, Matrix, MatrixView, MatrixViewMut, Order, Pending, Vector,
};

/// An element of A and B.
pub trait Factor: Element {
    /// An element of C, of biases and of residuals.
    type Sum: Element;

    /// Types of operands, sums and result.
    fn elements(accumulate: Accumulate) -> Elements;
}

impl Factor for f32 {
    type Sum = f32;

    fn elements(_: Accumulate) -> Elements {
        Elements::F32
    }
}

/// The CPU path's, on every device: OpenCL devices leave it to that.
impl Factor for f64 {
    type Sum = f64;

    fn elements(_: Accumulate) -> Elements {
        Elements::F64
    }
}

impl Factor for f16 {
    type Sum = f16;

    fn elements(accumulate: Accumulate) -> Elements {
        Elements::F16(accumulate)
    }
}

impl Factor for i8 {
    type Sum = i32;

    fn elements(_: Accumulate) -> Elements {
        Elements::I8ToI32
    }
}

/// A or B of a product: a matrix, part of one, one transposed, or one packed ahead.
#[derive(Debug)]
pub enum Operand<'m, T> {
    /// As it lies.
    Plain(MatrixView<'m, T>),
    /// Packed ahead.
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
    /// Rows and columns of the operand.
    fn extents(&self) -> [usize; 2] {
        match self {
            Self::Plain(view) => [view.rows(), view.columns()],
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

/// How a matrix of that shape lies, as kernels are told.
pub(super) fn layout_of(shape: &Shape) -> Layout {
    let stride = shape.stride.max(1);
    let layout = match shape.order {
        Order::RowMajor => Layout::row_major(stride),
        Order::ColumnMajor => Layout::column_major(stride),
    };
    layout.at(shape.offset)
}

/// A product to be computed: its operands, factors, and what is done with each element before it is stored.
///
/// The stages of the epilogue are done in the order of the calls that add them.
#[must_use = "a product is computed by `store` or `to_matrix`"]
#[derive(Debug)]
pub struct Product<'m, T: Factor> {
    pub(super) gemm: Gemm,
    pub(super) a: Operand<'m, T>,
    pub(super) b: Operand<'m, T>,
    offsets: Option<&'m Memory>,
    /// Biases and residuals, in the order of their stages.
    sides: Vec<&'m Memory>,
}

/// How sums of bytes become bytes again: [`Requantise`] with its multipliers.
#[derive(Clone, Copy, Debug)]
pub struct Requantisation<'m> {
    /// Pairs of a multiplier and a shift: one for all of C, or one for each column.
    pub scales: &'m Vector<i32>,
    /// What stands for 0 in A.
    pub zero_a: i8,
    /// What stands for 0 in B.
    pub zero_b: i8,
    /// What stands for 0 in C.
    pub zero_c: i8,
    /// The least and the largest value of C.
    pub range: [i8; 2],
}

impl<'m, T: Factor> Product<'m, T> {
    /// A times B.
    ///
    /// # Errors
    /// B has another number of rows than A has columns.
    pub fn of(a: impl Into<Operand<'m, T>>, b: impl Into<Operand<'m, T>>) -> Result<Self, Error> {
        let (a, b) = (a.into(), b.into());
        let ([m, k], [k_of_b, n]) = (a.extents(), b.extents());
        if k != k_of_b {
            return Err(Error::Inner { a: [m, k], b: [k_of_b, n] });
        }
        let mut gemm = Gemm::new(T::elements(Accumulate::F32), [m, n, k]);
        (gemm.a, gemm.b) = (a.layout(), b.layout());
        Ok(Self { gemm, a, b, offsets: None, sides: Vec::new() })
    }

    /// With the product times `alpha`.
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.gemm.alpha = alpha;
        self
    }

    /// With `beta` times what C holds added. 0, when nothing is said: C is not read then.
    pub fn beta(mut self, beta: f64) -> Self {
        self.gemm.beta = beta;
        self
    }

    /// With sums of halves held in another type than `float`.
    pub fn accumulate(mut self, accumulate: Accumulate) -> Self {
        self.gemm.elements = T::elements(accumulate);
        self
    }

    /// Then: adds a number to each column.
    pub fn bias_columns(mut self, bias: &'m Vector<T::Sum>) -> Self {
        self.gemm.epilogue.push(Stage::BiasColumns);
        self.sides.push(bias.memory());
        self
    }

    /// Then: adds a number to each row.
    pub fn bias_rows(mut self, bias: &'m Vector<T::Sum>) -> Self {
        self.gemm.epilogue.push(Stage::BiasRows);
        self.sides.push(bias.memory());
        self
    }

    /// Then: what is less than 0 becomes 0.
    pub fn relu(mut self) -> Self {
        self.gemm.epilogue.push(Stage::Relu);
        self
    }

    /// Then: clamps to 0..6.
    pub fn relu6(mut self) -> Self {
        self.gemm.epilogue.push(Stage::Relu6);
        self
    }

    /// Then: clamps to `least..most`.
    pub fn clamp(mut self, least: f32, most: f32) -> Self {
        self.gemm.epilogue.push(Stage::Clamp { least, most });
        self
    }

    /// Then: adds a matrix of C's extents.
    ///
    /// # Errors
    /// It has others.
    pub fn residual(mut self, residual: impl Into<MatrixView<'m, T::Sum>>) -> Result<Self, Error> {
        let view = residual.into();
        self.check_extents("the residual", [view.rows(), view.columns()])?;
        let stride = match self.gemm.batch {
            Batch::Strided { strides: [_, _, stride], .. } => stride,
            Batch::One | Batch::Offsets { .. } => 0,
        };
        self.gemm.epilogue.push(Stage::Residual { layout: layout_of(&view.shape()), stride });
        self.sides.push(view.memory());
        Ok(self)
    }

    /// `count` such products: the operands of each lie `strides` elements (of A, B, C) after those of the one before. A stride of 0
    /// is one operand for all; not for C. An operand packed ahead is one for all. A residual is strided as C where this comes before it.
    pub fn strided(mut self, count: usize, strides: [usize; 3]) -> Self {
        self.gemm.batch = Batch::Strided { count, strides };
        self
    }

    /// As many products as there are triples: elements that the operands A, B and C of each lie after those given.
    ///
    /// Offsets that lead out of a matrix are refused when the product is stored, which waits for whatever fills them and takes a copy of
    /// them: what is written there afterwards changes nothing. An operand packed ahead is one for all products: its offsets are 0. The
    /// products are done in any order, or at once. Two to the same place are not found out: without a beta, what is there then is one of
    /// the two; with one, it is not specified.
    ///
    /// # Errors
    /// A number of offsets that is no multiple of 3.
    pub fn at_offsets(mut self, offsets: &'m Vector<u32>) -> Result<Self, Error> {
        if !offsets.len().is_multiple_of(3) {
            let want = offsets.len().next_multiple_of(3);
            return Err(Error::Length { operand: "the offsets", want, found: offsets.len() });
        }
        self.gemm.batch = Batch::Offsets { count: offsets.len() / 3 };
        self.offsets = Some(offsets.memory());
        Ok(self)
    }

    /// Queues the product, into C.
    ///
    /// # Errors
    /// Extents that do not fit together; operands of different contexts, or that share memory with C; an operand packed ahead that the
    /// products of a batch have in several places; a description that makes no sense; the device is gone.
    pub fn store<'c>(mut self, c: impl Into<MatrixViewMut<'c, T::Sum>>) -> Result<Pending, Error>
    where
        'm: 'c,
    {
        let c = c.into();
        self.place(c.shape())?;
        self.run(c.memory(), None)
    }

    /// Queues the product, into a new row-major matrix.
    ///
    /// # Errors
    /// As [`Self::store`]; no memory left; a batch, which is more than one matrix.
    pub fn to_matrix(self) -> Result<Matrix<T::Sum>, Error> {
        self.to_matrix_async()?.queued_value()
    }

    /// As [`Self::to_matrix`]; the [`Pending`] gives the matrix when it is computed.
    ///
    /// # Errors
    /// As [`Self::to_matrix`].
    pub fn to_matrix_async(self) -> Result<Pending<Matrix<T::Sum>>, Error> {
        if self.gemm.batch != Batch::One {
            return Err(Error::BatchToMatrix);
        }
        let extents = [self.gemm.m, self.gemm.n];
        // Only with a beta is what was there read.
        let [_, beta] = self.gemm.factors();
        let make = if beta == 0.0 { Matrix::unwritten } else { Matrix::zeros };
        let mut c = make(self.context(), extents)?;
        Ok(self.store(&mut c)?.with(c))
    }

    /// What it would do, why that way, and how long that takes; nothing is run. C is taken as row-major.
    ///
    /// # Errors
    /// As [`Self::store`].
    pub fn explain(mut self) -> Result<Explanation, Error> {
        self.gemm.c = Layout::row_major(self.gemm.n.max(1));
        let parameters = self.settle_packed()?;
        Ok(self.operation(None, parameters)?.0.explain())
    }

    fn context(&self) -> &Context {
        self.a.memory().context()
    }

    fn check_extents(&self, operand: &'static str, found: [usize; 2]) -> Result<(), Error> {
        let want = [self.gemm.m, self.gemm.n];
        if want == found { Ok(()) } else { Err(Error::Extents { operand, want, found }) }
    }

    fn place(&mut self, shape: Shape) -> Result<(), Error> {
        self.check_extents("C", [shape.rows, shape.columns])?;
        self.gemm.c = layout_of(&shape);
        Ok(())
    }

    /// The operation, and how much later its operands begin than it says: products of blocks that differ in nothing but their places are one
    /// operation.
    fn operation(
        &self,
        c: Option<&Memory>,
        parameters: Option<Parameters>,
    ) -> Result<(Arc<GemmOperation>, Vec<Later>), Error> {
        let packed = self.tags();
        let mut near = self.gemm.clone();
        let [a, b, sum] = [0, 1, 2].map(|index| self.gemm.operands()[index].element.bytes());
        let mut later = vec![Later::default(); 3];
        if packed[0].is_none() {
            later[0] = Later::off(&mut near.a.offset, a);
        }
        if packed[1].is_none() {
            later[1] = Later::off(&mut near.b.offset, b);
        }
        later[2] = Later::off(&mut near.c.offset, sum);
        // Kernels count in 32 bits.
        let memories = [Some(self.a.memory()), Some(self.b.memory()), c];
        let counts = memories.into_iter().flatten().all(|memory| u32::try_from(memory.bytes()).is_ok());
        if counts && later.iter().any(|later| *later != Later::default()) {
            let operation = self.context().gemm_with(&near, parameters, &packed)?;
            if operation.can_move(&later) {
                return Ok((operation, later));
            }
        }
        Ok((self.context().gemm_with(&self.gemm, parameters, &packed)?, Vec::new()))
    }

    fn tags(&self) -> [Option<kernels::Packed>; 2] {
        [self.a.packed().and_then(Packed::tag), self.b.packed().and_then(Packed::tag)]
    }

    /// The kernel that reads the packed operands, or `None` where any kernel will do. Operands that it cannot read become plain matrices.
    fn settle_packed(&mut self) -> Result<Option<Parameters>, Error> {
        let tags = self.tags();
        let Engine::Kernels(engine) = self.context().engine() else { return Ok(None) };
        if tags == [None; 2] {
            return Ok(None);
        }
        let mut best: Option<(Parameters, [bool; 2])> = None;
        // One that lies as it did leaves the choice to the other.
        for parameters in [&self.b, &self.a].into_iter().filter_map(|operand| operand.packed()?.parameters())
        {
            // A kernel that the device does not offer for this product reads nothing.
            let Ok(reads) = kernels::reads_as_packed(&self.gemm, &parameters, &engine.probe, tags) else {
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

    /// What was packed ahead lies in one place, for all products of a batch.
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
            Some(side) => Err(Error::PackedMoved { operand: sides[side].0 }),
            None => Ok(()),
        }
    }

    fn run(mut self, c: &Memory, scales: Option<&Memory>) -> Result<Pending, Error> {
        self.check_packed()?;
        let parameters = self.settle_packed()?;
        let (operation, later) = self.operation(Some(c), parameters)?;
        let mut operands = vec![self.a.memory(), self.b.memory(), c];
        operands.extend(self.offsets);
        operands.extend(scales);
        operands.extend(self.sides);
        operation.run_over(&operands, &later)
    }
}

impl<'m> Product<'m, i8> {
    /// Queues the product, its sums turned into bytes again, into C.
    ///
    /// # Errors
    /// As [`Product::store`]; neither one pair of a multiplier and a shift nor as many as C has columns.
    pub fn store_bytes<'c>(
        mut self,
        c: impl Into<MatrixViewMut<'c, i8>>,
        requantisation: Requantisation<'m>,
    ) -> Result<Pending, Error>
    where
        'm: 'c,
    {
        let c = c.into();
        self.place(c.shape())?;
        let Requantisation { scales, zero_a, zero_b, zero_c, range: [least, most] } = requantisation;
        let scale = match scales.len() {
            2 => Scale::Tensor,
            length if length == self.gemm.n.saturating_mul(2) => Scale::Columns,
            found => return Err(Error::Length { operand: "the multipliers and shifts", want: 2, found }),
        };
        self.gemm.elements = Elements::I8ToI8(Requantise { scale, zero_a, zero_b, zero_c, least, most });
        self.run(c.memory(), Some(scales.memory()))
    }
}
