//! Tuning of products when a shape is used for the first time.

use tripipe_device::Probe;
use tripipe_kernels::gemm::cost::DeviceFigures;
use tripipe_kernels::gemm::{
    self as kernels, Batch, Choice, Elements, Gemm, Layout, OperandState, Parameters, ProductExtents,
    Reference, TimedShape,
};
use tripipe_kernels::{Basis, Plan, Role};
use tripipe_launch::ScalarType;

use crate::Context;
use crate::first_use::{MOST, Refusal, Request, SOURCE, TunedWork, noise, tuned};

/// The byte that C consists of before a run: NaN in every floating-point type, -1 in others.
const POISON: u8 = 0xFF;
/// Rows and columns of C, in which elements are compared with the reference.
const SAMPLES: usize = 8;

/// A choice that was measured on first use.
#[derive(Clone, Debug)]
pub(super) struct MeasuredChoice {
    pub(super) choice: Choice,
    /// Seconds of the product with these parameters, without epilogue and gaps between rows.
    pub(super) seconds: f64,
}

/// The parameters that are the fastest of those measured on this device for products of this shape: measured now, within
/// the budget, if they were not before. `None` if tuning is off, nothing could be measured, or the product has other
/// limits than its shape.
pub(super) fn choose(
    context: &Context,
    gemm: &Gemm,
    estimated: &Choice,
    figures: &DeviceFigures,
) -> Option<MeasuredChoice> {
    let probe = context.probe()?;
    // Products of these elements and this shape are measured as one.
    let elements = match gemm.elements {
        Elements::I8ToI8(_) => Elements::I8ToI32,
        elements => elements,
    };
    let shape = TimedShape::of(gemm);
    let plain = shape.gemm(elements);
    let request = Request {
        family: "products",
        key: format!("{elements} {shape}"),
        estimated: estimated.parameters,
        fits: &|one: &Parameters| one.check(gemm, probe).is_ok(),
        candidates: &|| {
            let mut all: Vec<Parameters> = estimated.runners_up.iter().map(|(other, _)| *other).collect();
            all.extend(kernels::likely(&plain, probe, figures, MOST));
            all.retain(|one| one.check(&plain, probe).is_ok());
            all
        },
        work: &|most| Ok(Box::new(ProductWork::new(&plain, most)?)),
    };
    let found = tuned(context, &request)?;
    let choice = Choice {
        parameters: found.parameters,
        why: found.why,
        source: SOURCE.to_owned(),
        basis: Basis::Measured,
        measured: None,
        estimated_seconds: Some(found.seconds),
        runners_up: found.others,
    };
    Some(MeasuredChoice { choice, seconds: found.seconds })
}

/// A product of A, B and C without gaps.
struct ProductWork {
    gemm: Gemm,
    a: Vec<u8>,
    b: Vec<u8>,
    /// Bytes of C.
    c_bytes: usize,
}

impl ProductWork {
    /// With operands of at most `most` bytes.
    ///
    /// # Errors
    /// The product is larger, or empty.
    fn new(gemm: &Gemm, most: u64) -> Result<Self, Refusal> {
        let sizes: Vec<(Role, ScalarType, usize)> =
            gemm.operands().iter().map(|one| (one.role, one.element, one.elements)).collect();
        let bytes = |role: Role| {
            let (_, element, elements) = sizes.iter().find(|(other, ..)| *other == role)?;
            elements.checked_mul(element.bytes()).map(|bytes| (*element, bytes))
        };
        let missing = || Refusal::NotUsable("the product is too large to try kernels".to_owned());
        let [(input, a_bytes), (_, b_bytes), (_, c_bytes)] = [bytes(Role::A), bytes(Role::B), bytes(Role::C)]
            .map(|one| one.ok_or_else(missing))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?
            .try_into()
            .map_err(|_| missing())?;
        let all = (a_bytes as u64).saturating_add(b_bytes as u64).saturating_add(c_bytes as u64);
        if all > most || a_bytes == 0 || b_bytes == 0 || c_bytes == 0 {
            return Err(missing());
        }
        let mut random = fastrand::Rng::with_seed(1);
        let [a, b] = [a_bytes, b_bytes].map(|bytes| noise(input, bytes, -1.0, &mut random));
        Ok(Self { gemm: gemm.clone(), a, b, c_bytes })
    }

    /// Compares elements of some rows and columns of a product with the reference of those alone.
    fn check_product(&self, product: usize, found: &[u8]) -> Result<(), Refusal> {
        let Gemm { m, n, k, ref a, ref b, ref c, batch, elements, .. } = self.gemm;
        let (input, output, _) = elements.types();
        let strides = if let Batch::Strided { strides, .. } = batch { strides } else { [0; 3] };
        let [rows, columns] = [m, n].map(sampled);
        let picked =
            |layout: &Layout, start: usize, bytes: &[u8], width: usize, rows: &[usize], columns: &[usize]| {
                let [down, across] = layout.strides();
                let mut picked = Vec::with_capacity(rows.len() * columns.len() * width);
                for row in rows {
                    for column in columns {
                        let at = (start + row * down + column * across) * width;
                        picked.extend_from_slice(&bytes[at..at + width]);
                    }
                }
                picked
            };
        let steps: Vec<usize> = (0..k).collect();
        let [of_a, of_b, of_c] = strides.map(|stride| stride * product);
        let a = picked(a, of_a, &self.a, input.bytes(), &rows, &steps);
        let b = picked(b, of_b, &self.b, input.bytes(), &steps, &columns);
        let found = picked(c, of_c, found, output.bytes(), &rows, &columns);
        let part = Gemm::new(elements, ProductExtents { m: rows.len(), n: columns.len(), k });
        let before = vec![POISON; found.len()];
        let reference = Reference::new(&part, &[&a, &b, &before]);
        let reference = reference.map_err(|error| Refusal::not_usable(&error))?;
        reference
            .verify(&before, &found)
            .map_err(|error| Refusal::Wrong(format!("of some rows and columns: {error}")))
    }
}

impl TunedWork<Parameters> for ProductWork {
    fn inputs(&self) -> Vec<(Role, &[u8])> {
        vec![(Role::A, &self.a), (Role::B, &self.b)]
    }

    fn result(&self) -> (Role, usize) {
        (Role::C, self.c_bytes)
    }

    fn fills(&self) -> &'static [u8] {
        &[POISON]
    }

    fn plan(&self, parameters: &Parameters, probe: &Probe) -> Result<Plan<'static>, Refusal> {
        kernels::plan(&self.gemm, parameters, probe, [OperandState::Changing; 2])
            .map_err(|error| Refusal::not_usable(&error))
    }

    fn check(&self, found: &[u8], fill: u8) -> Result<(), Refusal> {
        let element = self.gemm.elements.types().1.bytes();
        let unwritten = |one: &[u8]| one.iter().all(|byte| *byte == fill);
        if let Some(at) = found.chunks_exact(element).position(unwritten) {
            // A sum of bytes may be -1.
            if self.gemm.elements.types().1 != ScalarType::I32 {
                return Err(Refusal::Wrong(format!("element {at} of C was not written")));
            }
        }
        let count = self.gemm.batch.count();
        let last = count.saturating_sub(1);
        for product in [0, last].into_iter().take(count.min(2)) {
            self.check_product(product, found)?;
        }
        Ok(())
    }
}

/// Some of `extent` rows or columns: the first, the last, and others, each once.
fn sampled(extent: usize) -> Vec<usize> {
    let mut found: Vec<usize> =
        (0..SAMPLES).map(|index| index * extent.saturating_sub(1) / (SAMPLES - 1)).collect();
    found.dedup();
    found
}
