//! Plans: a description, parameters and a device to a launch over the caller's memory.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange};

use super::description::{Activation, QuantisedProduct};
use super::format::{BLOCK, WeightFormat};
use super::layout::PackedLayout;
use super::parameters::{Parameters, Unpack, WeightMemory};
use crate::plan::{Arguments, Plan, Slot};
use crate::source::QUANTISED;
use crate::{PlanError, Role};

/// The plan of a product over weights packed in `layout`: x is [`Role::A`], the weights [`Role::B`], their scales
/// [`Role::Scales`] (not with `f16`), y [`Role::C`]. No launch is needed for a y without elements.
///
/// # Errors
/// As [`Parameters::check`]; weights packed for another product, memory or device.
pub fn plan(
    product: &QuantisedProduct,
    parameters: &Parameters,
    layout: &PackedLayout,
    probe: &Probe,
) -> Result<Plan<'static>, PlanError> {
    parameters.check(product, probe)?;
    let QuantisedProduct { format, activation, m, n, k, x_offset, x_stride, y_offset, y_stride } = *product;
    let Parameters { outputs, vectors, group, parts, memory, unpack } = *parameters;
    if *layout != PackedLayout::of(format, product.weights(), memory, probe)? {
        let found = format!("{} with {} inputs and {} outputs", layout.format, layout.k, layout.n);
        let want = format!("pack them for this product, in the same memory ({parameters})");
        return Err(PlanError::Parameter { parameter: "the packed weights", found, want });
    }
    let mut plan = Plan::new();
    let x = plan.operand(Role::A);
    let packed = plan.operand(Role::B);
    let scales = format.scales().map(|_| plan.operand(Role::Scales));
    let y = plan.operand(Role::C);
    if m == 0 || n == 0 {
        return Ok(plan);
    }
    let weights = match memory {
        WeightMemory::Image if layout.is_buffer() => {
            plan.image_over(packed, layout.image(), layout.pitch_bytes())
        }
        _ => packed,
    };
    let name = match format {
        WeightFormat::F16 => "F16",
        WeightFormat::I8 => "I8",
        WeightFormat::Q8_0 => "Q8_0",
        WeightFormat::Q4_0 => "Q4_0",
    };
    let program = QUANTISED
        .program()
        .define("FORMAT", name)
        .define("OUTPUTS", outputs)
        .define("VECTORS", vectors)
        .define("GROUP", group)
        .define("PARTS", parts)
        .define("IMAGE", u8::from(memory == WeightMemory::Image))
        .define("MASKS", u8::from(unpack == Unpack::Masks))
        .define("HALVES", u8::from(activation == Activation::F16))
        .define("TAIL", u8::from(!k.is_multiple_of(BLOCK)));
    let words = |values: [usize; 2]| -> Argument<Slot> { values.map(|value| value as u32).into() };
    let arguments = Arguments::default()
        .with(x)
        .at(Role::A, words([x_offset, x_stride]))
        .with(weights)
        .with(scales.map_or(Argument::Null, Argument::from))
        .with(layout.pitch as u32)
        .with(y)
        .at(Role::C, words([y_offset, y_stride]))
        .with_all([m, n, k].map(|extent| extent as u32));
    let items = n.div_ceil(outputs).next_multiple_of(group);
    let range = NdRange::d3(items, parts, m.div_ceil(vectors)).local(group, parts, 1);
    plan.launch(&Arc::new(program), "quantised_product", arguments, range);
    Ok(plan)
}
