//! A product with quantised weights that is ready to run.

use std::sync::Arc;

use half::f16;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::Layout;
use tripipe_kernels::quantised::{Activation, PackedLayout, ParameterChoice, QuantisedProduct, plan};

#[cfg(feature = "cpu")]
use super::host;
use crate::error::Fault;
use crate::explanation::{Arithmetic, Chosen};
use crate::matrix::MatrixShape;
use crate::operation::{BoundOperand, Host, Offset, Operation, OperationSize, Refused, RunOn};
use crate::operation_cache::{Described, Family, key};
use crate::{Context, Element, Error, Event, Explanation, Order};

/// The number of multiply-adds that the CPU path does in less time than waking another thread takes.
#[cfg(feature = "cpu")]
const SMALL: f64 = 64.0 * 64.0 * 64.0;

/// The type of x and y in products with quantised weights: `f32`, or `f16`, which every device supports here.
pub trait ActivationElement: Element {
    /// The type, as a value.
    const ACTIVATION: Activation;
}

impl ActivationElement for f32 {
    const ACTIVATION: Activation = Activation::F32;
}

impl ActivationElement for f16 {
    const ACTIVATION: Activation = Activation::F16;
}

/// The first element, and the distance from row to row.
///
/// # Errors
/// The elements of a row are not adjacent.
pub(super) fn rows_of(operand: &str, shape: &MatrixShape) -> Result<[usize; 2], Error> {
    let MatrixShape { extents, layout: Layout { order, leading, offset } } = *shape;
    match order {
        Order::RowMajor => Ok([offset, leading]),
        // One row, or one column: a transposed vector.
        Order::ColumnMajor if extents.columns <= 1 => Ok([offset, 1]),
        Order::ColumnMajor if extents.rows <= 1 && leading == 1 => Ok([offset, extents.columns]),
        Order::ColumnMajor => Err(Error::from(Fault::NoView {
            what: format!("{operand}, a column-major matrix of {extents},"),
            wanted: "rows",
            why: "products with packed weights read and write whole rows; `to_transposed` moves the elements",
        })),
    }
}

/// A product prepared for operands with the described layouts.
pub(crate) struct QuantisedOperation {
    product: QuantisedProduct,
    layout: PackedLayout,
    choice: Option<ParameterChoice>,
    operation: Operation,
}

impl Context {
    /// Prepares a product over weights packed in `layout`; the latest are cached.
    ///
    /// # Errors
    /// The description is invalid; a kernel does not build; the device is gone.
    pub(super) fn quantised(
        &self,
        product: &QuantisedProduct,
        layout: &PackedLayout,
    ) -> Result<Arc<QuantisedOperation>, Error> {
        let anywhere = |product: &QuantisedProduct| QuantisedProduct { x_offset: 0, y_offset: 0, ..*product };
        self.operation_cache().get_or_make(
            key(&(product, layout)),
            |known: &QuantisedOperation| known.product == *product && known.layout == *layout,
            || {
                let is_like = |known: &QuantisedOperation| {
                    anywhere(&known.product) == anywhere(product) && known.layout == *layout
                };
                let tried =
                    self.operation_cache().relative(is_like).and_then(|known| known.operation.trial());
                QuantisedOperation::new(self, product, layout, tried.map_or(RunOn::Fastest, RunOn::AsTried))
            },
        )
    }
}

impl QuantisedOperation {
    fn new(
        context: &Context,
        product: &QuantisedProduct,
        layout: &PackedLayout,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        product.check()?;
        // The CPU path cannot read an image.
        let only_device = !layout.is_buffer();
        let run_on = if only_device { RunOn::Device } else { run_on };
        let mut choice = None;
        let table = context.table()?;
        let plan = |probe: &_| {
            let chosen = table.choose_quantised(product, Some(layout.memory()), probe);
            let plan = match plan(product, &chosen.parameters, layout, probe) {
                Err(error) if only_device => return Err(Refused::Wrong(error.into())),
                plan => plan?,
            };
            choice = Some(chosen);
            Ok(plan)
        };
        let bytes = product.activation.scalar().bytes();
        let [x, y] = product.spans().map(|elements| elements.saturating_mul(bytes));
        let mut inputs = vec![(Role::A, x), (Role::B, layout.weights_bytes())];
        if layout.scales_bytes() > 0 {
            inputs.push((Role::Scales, layout.scales_bytes()));
        }
        let written = product.m.saturating_mul(product.n).saturating_mul(bytes);
        let size = OperationSize { inputs, result: (Role::C, y), written, operations: product.operations() };
        let host = Host {
            name: "a product with packed weights",
            #[cfg(feature = "cpu")]
            work: host::work(*product, *layout),
            #[cfg(feature = "cpu")]
            small: product.operations() <= 2.0 * SMALL,
            size,
        };
        let operation = Operation::new(context, plan, host, run_on)?;
        Ok(Self { product: *product, layout: *layout, choice, operation })
    }

    /// Whether its operands can begin later by this much than described.
    pub(super) fn can_move(&self, offsets: &[(Role, Offset)]) -> bool {
        self.operation.can_move(offsets)
    }

    /// Queues it.
    pub(super) fn run_over(&self, inputs: &[BoundOperand<'_>], y: &BoundOperand<'_>) -> Result<Event, Error> {
        if self.product.m == 0 || self.product.n == 0 {
            return Ok(Event::done());
        }
        self.operation.run(inputs, y.memory, y.offset)
    }

    /// What it does, why, and how long it takes.
    pub(super) fn explanation(&self) -> Explanation {
        let QuantisedProduct { format, activation, m, n, k, .. } = self.product;
        let mut explanation =
            self.operation.explanation(format!("{activation} product {m}x{n}x{k}, weights {format}"));
        match &self.choice {
            Some(ParameterChoice { parameters, why, rests_on }) if self.operation.runs_kernels() => {
                explanation.kernel = format!("quantised {parameters}");
                explanation.why.clone_from(why);
                explanation.rests_on.clone_from(rests_on);
                let chosen = |what, value: String| Chosen { what, value };
                explanation.choices = vec![
                    chosen("outputs", format!("{} in a work-item", parameters.outputs)),
                    chosen("vectors", format!("{} in a work-item", parameters.vectors)),
                    chosen("work-group", format!("{}x{}", parameters.group, parameters.parts)),
                ];
            }
            _ => {
                "columns in SIMD".clone_into(&mut explanation.kernel);
                "lines of packed weights are read once for up to four vectors, on all threads"
                    .clone_into(&mut explanation.why);
            }
        }
        if let Some(choice) = &self.choice {
            explanation.runners_up.extend(self.operation.runner_up(&choice.parameters.to_string()));
        }
        self.operation.add_bound(&mut explanation, Arithmetic::F32, self.operation.bytes() as f64);
        explanation
    }
}

impl Described for QuantisedOperation {
    fn family(&self) -> Family {
        Family::Product
    }

    fn explain(&self) -> Explanation {
        self.explanation()
    }
}
