//! Operands to try kernels with.

use half::f16;
use tripipe_device::Probe;
use tripipe_kernels::PlanError;
use tripipe_kernels::Role;
use tripipe_kernels::filter::{FilterError, PixelType, Raster};
use tripipe_kernels::gemm::{Batch, Extents, Gemm, RequiredOperand};
use tripipe_kernels::quantised::{
    Activation, PackedLayout, QuantisedProduct, QuantisedReference, StoredWeights, WeightMemory, WeightsError,
};
use tripipe_launch::ScalarType;

/// The bytes of operands for a product, in the order of [`Gemm::operands`], reproducible from the seed. Elements are
/// uniform in -1 to 1, bytes over their whole range; gaps between rows are filled too, and so is C. The products of a
/// batch with offsets are stored one after the other. No operand is empty: an operand without elements gets a few
/// bytes that are never read.
pub fn sample(gemm: &Gemm, seed: u64) -> Vec<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let operands = gemm.operands();
    let moves = |operand: &&RequiredOperand| matches!(operand.role, Role::A | Role::B | Role::C);
    let spans: Vec<usize> = operands.iter().filter(moves).map(|operand| operand.elements).collect();
    operands
        .iter()
        .map(|operand| {
            let copies = match gemm.batch {
                Batch::Offsets { count } if moves(&operand) => count,
                _ => 1,
            };
            let elements = (operand.elements * copies).max(1);
            match operand.role {
                Role::Offsets => (0..gemm.batch.count())
                    .flat_map(|product| spans.iter().map(move |span| (product * span) as u32))
                    .flat_map(u32::to_ne_bytes)
                    .chain([0; 4])
                    .collect(),
                Role::Scales => {
                    // Sums of k products of bytes are about 2^13 sqrt(k); scale them to a few tens.
                    let shift = 31 + 8 + gemm.k.max(1).ilog2() as i32 / 2;
                    let pairs = (0..elements.div_ceil(2)).flat_map(|_| [random.i32(1 << 30..), shift]);
                    pairs.flat_map(i32::to_ne_bytes).collect()
                }
                _ => (0..elements).flat_map(|_| value(operand.element, &mut random)).collect(),
            }
        })
        .collect()
}

fn value(element: ScalarType, random: &mut fastrand::Rng) -> Vec<u8> {
    let real = 2.0 * random.f32() - 1.0;
    match element {
        ScalarType::F32 => real.to_ne_bytes().to_vec(),
        ScalarType::F16 => f16::from_f32(real).to_ne_bytes().to_vec(),
        ScalarType::I32 => random.i32(-10_000..10_000).to_ne_bytes().to_vec(),
        _ => vec![random.u8(..)],
    }
}

/// The elements of an image, reproducible from the seed: integers over their whole range, floating-point numbers from 0
/// to 1.
///
/// # Errors
/// As [`Raster::elements`].
pub fn sample_image(raster: &Raster, seed: u64) -> Result<Vec<u8>, FilterError> {
    let mut random = fastrand::Rng::with_seed(seed);
    let elements = raster.elements()?;
    Ok(match raster.element {
        PixelType::F16 => (0..elements).flat_map(|_| f16::from_f32(random.f32()).to_ne_bytes()).collect(),
        PixelType::F32 => (0..elements).flat_map(|_| random.f32().to_ne_bytes()).collect(),
        PixelType::U8 | PixelType::I16 | PixelType::U16 => {
            (0..elements * raster.element.bytes()).map(|_| random.u8(..)).collect()
        }
    })
}

/// Operands of a product with quantised weights.
pub(super) struct QuantisedOperands {
    /// The bytes of x.
    pub(super) x: Vec<u8>,
    weights: StoredWeights,
}

/// Weights in a layout, with their scales, as bytes.
pub(super) struct PackedOperand {
    pub(super) layout: PackedLayout,
    pub(super) weights: Vec<u8>,
    /// Empty for a format without scales.
    pub(super) scales: Vec<u8>,
}

impl QuantisedOperands {
    /// Numbers uniform in -1 to 1, reproducible from the seed.
    pub(super) fn sample(product: &QuantisedProduct, seed: u64) -> Result<Self, WeightsError> {
        let mut random = fastrand::Rng::with_seed(seed);
        let weights: Vec<f32> = (0..product.n * product.k).map(|_| 2.0 * random.f32() - 1.0).collect();
        let weights = StoredWeights::quantise(product.format, &weights, Extents::new(product.n, product.k))?;
        let x =
            (0..product.spans()[0]).flat_map(|_| value(product.activation.scalar(), &mut random)).collect();
        Ok(Self { x, weights })
    }

    /// The weights and their scales, packed in each layout that the device offers.
    pub(super) fn packed(
        &self,
        product: &QuantisedProduct,
        probe: &Probe,
    ) -> Result<Vec<PackedOperand>, PlanError> {
        let layouts = [WeightMemory::Buffer, WeightMemory::Image].into_iter().filter_map(|memory| {
            PackedLayout::of(product.format, Extents::new(product.n, product.k), memory, probe).ok()
        });
        layouts
            .map(|layout| {
                let words = layout.pack(&self.weights)?;
                let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
                Ok(PackedOperand { layout, weights: bytes(&words.weights), scales: bytes(&words.scales) })
            })
            .collect()
    }

    /// The exact result.
    pub(super) fn reference(&self, product: &QuantisedProduct) -> Result<QuantisedReference, PlanError> {
        QuantisedReference::new(product, &self.weights, &numbers(product.activation, &self.x))
    }
}

/// The numbers of a row of bytes.
pub(super) fn numbers(activation: Activation, bytes: &[u8]) -> Vec<f64> {
    match activation {
        Activation::F16 => {
            bytes.as_chunks().0.iter().map(|bytes| f16::from_ne_bytes(*bytes).to_f64()).collect()
        }
        Activation::F32 => {
            bytes.as_chunks().0.iter().map(|bytes| f64::from(f32::from_ne_bytes(*bytes))).collect()
        }
    }
}
