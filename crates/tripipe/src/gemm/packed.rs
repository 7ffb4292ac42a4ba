//! Operands packed in advance: weights that many products share.

use std::marker::PhantomData;
use std::sync::OnceLock;

use tripipe_kernels::Role;
use tripipe_kernels::gemm::{self as kernels, Extents, Gemm, Layout, Parameters, ProductExtents, Side};

use super::factor::Factor;
use super::product::layout_of;
use crate::error::Fault;
use crate::memory::Memory;
use crate::operation::{BoundOperand, Refused, Run};
use crate::{Error, Matrix, MatrixView};

/// A or B of many products, converted once to the layout in which the kernel reads it. On the CPU path, and for a
/// kernel that reads matrices in their stored layout, it is the matrix itself. The products of a batch share it.
///
/// Products with it use the kernel that it was packed for, whatever their other extents. Where that kernel cannot
/// compute a product (for example one stored in column-major order, or one of two operands that were packed for
/// different kernels), the first such product converts the operand back to a plain matrix, which is retained beside it
/// and takes as much memory again.
#[derive(Debug)]
pub struct Packed<T> {
    memory: Memory,
    extents: Extents,
    layout: Layout,
    parameters: Option<Parameters>,
    tag: Option<kernels::Packed>,
    side: Side,
    /// With extents lanes of the tag x k, once a product needed it.
    plain: OnceLock<Matrix<T>>,
    element: PhantomData<T>,
}

impl<T: Factor> Packed<T> {
    /// Packs A (m x k) for products with a B of about `n` columns. Queued; it can be used at once.
    ///
    /// # Errors
    /// The extents are invalid for a product; no memory left; the device is gone.
    pub fn left<'m>(matrix: impl Into<MatrixView<'m, T>>, n: usize) -> Result<Self, Error> {
        let view = matrix.into();
        let Extents { rows: m, columns: k } = view.extents();
        let mut gemm = Gemm::new(T::elements(kernels::Accumulate::F32), ProductExtents { m, n, k });
        gemm.a = layout_of(&view.shape());
        Self::pack(view, &gemm, Side::A)
    }

    /// Packs B (k x n) for products with an A of about `m` rows. Queued; it can be used at once.
    ///
    /// # Errors
    /// The extents are invalid for a product; no memory left; the device is gone.
    pub fn right<'m>(matrix: impl Into<MatrixView<'m, T>>, m: usize) -> Result<Self, Error> {
        let view = matrix.into();
        let Extents { rows: k, columns: n } = view.extents();
        let mut gemm = Gemm::new(T::elements(kernels::Accumulate::F32), ProductExtents { m, n, k });
        gemm.b = layout_of(&view.shape());
        Self::pack(view, &gemm, Side::B)
    }

    fn pack(view: MatrixView<'_, T>, gemm: &Gemm, side: Side) -> Result<Self, Error> {
        let as_it_lies = |parameters| Self {
            memory: view.memory().clone(),
            extents: view.extents(),
            layout: layout_of(&view.shape()),
            parameters,
            tag: None,
            side,
            plain: OnceLock::new(),
            element: PhantomData,
        };
        gemm.check()?;
        let context = view.memory().context();
        let Some(probe) = context.probe() else { return Ok(as_it_lies(None)) };
        let choice = context.choose_gemm(gemm)?;
        let planned = match kernels::plan_packing(gemm, &choice.parameters, probe, side) {
            Ok(planned) => planned,
            Err(unfit) => match Refused::from(unfit) {
                // The product is then done without packing, or by the CPU path.
                Refused::Lacks(_) => return Ok(as_it_lies(None)),
                Refused::Wrong(error) => return Err(error),
            },
        };
        let Some((plan, tag)) = planned else { return Ok(as_it_lies(Some(choice.parameters))) };
        let memory = Memory::of_kind(context, &tag.memory())?;
        let run = Run {
            operation: "packing",
            inputs: &[BoundOperand::new(Role::Source, view.memory())],
            result: BoundOperand::new(Role::Result, &memory),
            written: memory.bytes(),
        };
        drop(context.core().engine().run_plan(plan, &run)?);
        Ok(Self { memory, tag: Some(tag), ..as_it_lies(Some(choice.parameters)) })
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

impl<T: Factor> Packed<T> {
    /// A plain matrix with the same elements, made on the first request.
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub(super) fn plain(&self) -> Result<MatrixView<'_, T>, Error> {
        let matrix = match (self.plain.get(), self.tag) {
            (Some(matrix), _) => matrix,
            (None, Some(tag)) => {
                let made = self.unpack(&tag)?;
                self.plain.get_or_init(|| made)
            }
            (None, None) => return Err(Error::from(Fault::NoKernels)),
        };
        let view = MatrixView::from(matrix);
        Ok(if self.side == Side::A { view } else { view.transposed() })
    }

    fn unpack(&self, tag: &kernels::Packed) -> Result<Matrix<T>, Error> {
        let context = self.memory.context();
        let probe = context.probe().ok_or(Error::from(Fault::NoKernels))?;
        let extents = if self.side == Side::A { self.extents } else { self.extents.transposed() };
        let matrix = Matrix::unwritten(context, extents)?;
        let plan = kernels::plan_unpacking(tag, probe);
        let to = MatrixView::from(&matrix).memory();
        let run = Run {
            operation: "unpacking",
            inputs: &[BoundOperand::new(Role::Source, &self.memory)],
            result: BoundOperand::new(Role::Result, to),
            written: to.bytes(),
        };
        drop(context.core().engine().run_plan(plan, &run)?);
        Ok(matrix)
    }
}

impl<T> Packed<T> {
    pub(super) fn extents(&self) -> Extents {
        self.extents
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn parameters(&self) -> Option<Parameters> {
        // An operand that was not packed can be read by any kernel.
        self.tag.and(self.parameters)
    }

    /// How it was packed; `None` for an operand in its original layout.
    pub(crate) fn tag(&self) -> Option<kernels::Packed> {
        self.tag
    }
}
