//! Matrix products, shared by a team.

use std::ops::Range;
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{Accumulate, Gemm, ProductExtents};

use super::{Band, BandTimes, Kind, SharedResult, Shares, Team, Work, room};
use crate::error::Fault;
use crate::gemm::{Factor, GemmOperation, Packed};
use crate::matrix::count;
use crate::memory::Memory;
use crate::operation::{BoundOperand, RunOn};
use crate::{Context, Error, Matrix};

/// The number of rows of a band is a multiple of this, so that work-groups of the common tiles are full.
const QUANTUM: usize = 64;

impl Team {
    /// C = A B for dense row-major matrices of m x k, k x n and m x n elements, in bands of rows of A and C. B is
    /// copied to every member once. Integers are bit-identical to those of one device; floating-point sums are taken in
    /// the order of the member that computes the row.
    ///
    /// # Errors
    /// Slices with other lengths; every member failed, and then part of C may be written. A device that does not
    /// support the type fails.
    pub fn product<T: Factor>(
        &self,
        a: &[T],
        b: &[T],
        c: &mut [T::Sum],
        extents: ProductExtents,
    ) -> Result<Shares, Error> {
        for (operand, extents, found) in
            [("A", extents.a(), a.len()), ("B", extents.b(), b.len()), ("C", extents.c(), c.len())]
        {
            let want = count(extents)?;
            if want != found {
                return Err(Error::from(Fault::Length { operand, want, found }));
            }
        }
        let ProductExtents { m, n, .. } = extents;
        let uncut = (m < 2 * QUANTUM).then(|| format!("{m} rows are too few for two bands of {QUANTUM}"));
        let whole = SharedResult {
            band: Band { rows: 0..if n == 0 { 0 } else { m }, parts: vec![bytemuck::cast_slice_mut(c)] },
            // The value is meaningless when there are no rows: it may saturate.
            pitch_bytes: n.saturating_mul(size_of::<T::Sum>()),
            quantum: QUANTUM,
            uncut,
        };
        self.share(&Kind::Product(T::NAME, extents.b()), &Multiplying { a, b, extents }, whole)
    }
}

struct Multiplying<'a, T> {
    a: &'a [T],
    b: &'a [T],
    extents: ProductExtents,
}

/// The resources of a member.
struct ProductResources<T> {
    /// B on the device; `None` on the CPU path.
    b: Option<Packed<T>>,
    a: Option<Memory>,
    c: Option<Memory>,
    operations: Vec<GemmOperation>,
}

impl<T: Factor> ProductResources<T> {
    /// The index of the product with these extents.
    fn operation(&mut self, context: &Context, extents: ProductExtents) -> Result<usize, Error> {
        let known = self.operations.iter().position(|operation| operation.rows() == extents.m);
        if let Some(place) = known {
            return Ok(place);
        }
        let gemm = Gemm::new(T::elements(Accumulate::F32), extents);
        let parameters = self.b.as_ref().and_then(Packed::parameters);
        let given = [None, self.b.as_ref().and_then(Packed::tag)];
        // Not from the context's cache: its memory is freed when the work is done.
        self.operations.push(GemmOperation::new(context, &gemm, parameters, &given, RunOn::Device)?);
        Ok(self.operations.len() - 1)
    }
}

impl<T: Factor> Work for Multiplying<'_, T> {
    type Bench = ProductResources<T>;

    fn most_rows(&self, probe: &Probe) -> usize {
        let ProductExtents { n, k, .. } = self.extents;
        let row = k.saturating_mul(size_of::<T>()).max(n.saturating_mul(size_of::<T::Sum>()));
        if probe.max_buffer_bytes == 0 { usize::MAX } else { probe.max_buffer_bytes as usize / row.max(1) }
    }

    fn set_up(&self, context: &Context) -> Result<(ProductResources<T>, f64), Error> {
        let mut bench = ProductResources { b: None, a: None, c: None, operations: Vec::new() };
        if context.probe().is_none() {
            return Ok((bench, 0.0));
        }
        let b = Matrix::from_slice(context, self.extents.b(), self.b)?;
        let start = Instant::now();
        bench.b = Some(Packed::right(&b, self.extents.m)?);
        Ok((bench, start.elapsed().as_secs_f64()))
    }

    fn compute(
        &self,
        context: &Context,
        bench: &mut ProductResources<T>,
        rows: Range<usize>,
        parts: &mut [&mut [u8]],
    ) -> Result<BandTimes, Error> {
        let k = self.extents.k;
        let [c] = parts else { return Ok(BandTimes { building: 0.0, computing: None }) };
        let start = Instant::now();
        let place = bench.operation(context, ProductExtents { m: rows.len(), ..self.extents })?;
        let building = start.elapsed().as_secs_f64();
        let operation = &bench.operations[place];
        let a: &[u8] = bytemuck::cast_slice(&self.a[rows.start * k..rows.end * k]);
        #[cfg(not(feature = "cpu"))]
        let Some(b) = &bench.b else { return Err(Error::from(Fault::NoCpuPath)) };
        #[cfg(feature = "cpu")]
        let Some(b) = &bench.b else {
            let start = Instant::now();
            operation.run_here(&[(Role::A, a), (Role::B, bytemuck::cast_slice(self.b))], c)?;
            return Ok(BandTimes { building, computing: Some(start.elapsed().as_secs_f64()) });
        };
        let on_device = room(context, &mut bench.a, a.len())?;
        on_device.write(0, a)?;
        let result = room(context, &mut bench.c, c.len())?;
        let inputs = [BoundOperand::new(Role::A, on_device), BoundOperand::new(Role::B, b.memory())];
        let run = operation.run_over(&inputs, BoundOperand::new(Role::C, result))?;
        let computing = run.seconds_if_taken()?;
        result.read(0, c)?;
        Ok(BandTimes { building, computing })
    }
}
