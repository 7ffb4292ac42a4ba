//! Products with quantised weights on the CPU path.

use std::sync::Arc;

use half::f16;
use tripipe_kernels::Role;
use tripipe_kernels::quantised::{Activation, PackedLayout, QuantisedProduct};
use tripipe_launch::{elements_of, elements_of_mut};

use crate::cpu::{self, CpuError, QuantisedNumber, Threads};
use crate::operation::{HostWork, Inputs};

/// The product on the CPU path.
pub(super) fn work(product: QuantisedProduct, layout: PackedLayout) -> HostWork {
    Arc::new(move |inputs: &Inputs<'_>, y: &mut [u8], threads| match product.activation {
        Activation::F16 => run::<f16>(&product, &layout, inputs, y, threads),
        Activation::F32 => run::<f32>(&product, &layout, inputs, y, threads),
    })
}

fn run<T: QuantisedNumber + bytemuck::Pod>(
    product: &QuantisedProduct,
    layout: &PackedLayout,
    inputs: &Inputs<'_>,
    y: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let x = elements_of(inputs.get(Role::A)?);
    let weights = elements_of(inputs.get(Role::B)?);
    let scales = if layout.scales_bytes() == 0 { &[] } else { elements_of(inputs.get(Role::Scales)?) };
    cpu::quantised::<T>(product, layout, x, [weights, scales], elements_of_mut(y), threads)
}
