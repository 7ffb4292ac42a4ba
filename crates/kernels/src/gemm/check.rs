//! All constraints on the parameters of a product and a device.

use thiserror::Error;
use tripipe_device::Probe;

use super::description::{Accumulate, DescriptionError, Elements, Gemm};
use super::packed::{Packed, UnpackedOperand};
use super::parameters::{Dot, Local, Parameters, Source, Tile, Vector};
use super::product::RowMajorProduct;

/// Why a product cannot be computed with these parameters.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Unfit {
    /// The description itself is wrong.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The device lacks a feature.
    #[error("needs {what}, which the device does not support")]
    NotOffered {
        /// What is missing.
        what: &'static str,
    },
    /// Something does not fit a limit of the device, or of 32-bit indices.
    #[error("{what} is over the limit of {limit}")]
    OverLimit {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A parameter has a value that the kernel does not support.
    #[error("{what} is {found}: want {want}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// Its value.
        found: String,
        /// The accepted values.
        want: &'static str,
    },
    /// The kernel does not support such products.
    #[error("the {kernel} kernel {reason}")]
    Kernel {
        /// The kernel.
        kernel: &'static str,
        /// What it cannot do.
        reason: &'static str,
    },
    /// A packed operand that was packed for another plan.
    #[error(
        "{operand} was packed for other parameters: pack it again, or plan with the parameters it was \
        packed for"
    )]
    Packed {
        /// Which operand of the description.
        operand: &'static str,
    },
}

impl Unfit {
    pub(super) fn not_offered(what: &'static str) -> Self {
        Self::NotOffered { what }
    }
}

fn one_of(what: &'static str, found: usize, want: &'static str, allowed: &[usize]) -> Result<(), Unfit> {
    if allowed.contains(&found) {
        return Ok(());
    }
    Err(Unfit::Parameter { what, found: found.to_string(), want })
}

/// Maximum number of sums per work-item: four times what the registers of any GPU hold.
const SUMS_MAX: usize = 512;

impl Parameters {
    /// Checks that these parameters can compute `gemm` on the device. The planner and the candidates rely on this
    /// check.
    ///
    /// # Errors
    /// The first constraint that is violated. Limits that the probe does not know are not checked.
    pub fn check(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        self.check_shared(gemm, probe, [false; 2])
    }

    /// As [`Self::check`], with `shared` set for A or B when one packed operand serves all products of a batch.
    pub(super) fn check_shared(&self, gemm: &Gemm, probe: &Probe, shared: [bool; 2]) -> Result<(), Unfit> {
        gemm.check()?;
        if gemm.elements == Elements::F64 {
            return Err(Unfit::not_offered("kernels for products in double precision"));
        }
        if matches!(gemm.elements, Elements::F16(Accumulate::F16 | Accumulate::Chunked { .. }))
            && !probe.fp16()
        {
            return Err(Unfit::not_offered("half-precision arithmetic (cl_khr_fp16)"));
        }
        match self {
            Self::Tile(tile) => tile.check(gemm, probe)?,
            Self::Local(local) => local.check(gemm, probe)?,
            Self::Vector(vector) => vector.check(gemm, probe)?,
        }
        let product = RowMajorProduct::of(gemm);
        self.packed(gemm, &product, probe, shared)?;
        self.partial_bytes(gemm, &product, probe)?;
        Ok(())
    }

    /// The packed layouts that the kernel needs for its A and B (not the description's); `None` for an operand that
    /// is read in its stored layout. `shared` says which operand of the description is packed once for all products
    /// of a batch, regardless of their offsets.
    pub(super) fn packed(
        &self,
        gemm: &Gemm,
        product: &RowMajorProduct,
        probe: &Probe,
        shared: [bool; 2],
    ) -> Result<[Option<Packed>; 2], Unfit> {
        let ((a, rows), (b, columns), depth) = match self {
            Self::Tile(tile) => {
                ((tile.a, tile.rows), (tile.b, tile.columns), if tile.dot.is_some() { 4 } else { 1 })
            }
            // A work-group reads whole blocks.
            Self::Local(local) => {
                let [x, y] = local.group;
                ((local.a, local.rows * y), (local.b, local.columns * x), 1)
            }
            Self::Vector(_) => return Ok([None, None]),
        };
        let (element, _, _) = gemm.elements.types();
        let [a_side, b_side] = if product.transposed { [1, 0] } else { [0, 1] };
        let packing = |side: usize, lanes, extent, stride| UnpackedOperand {
            name: ["A", "B"][side],
            lanes,
            depth,
            extent,
            // Independent of alpha: a packed operand may serve other plans.
            k: gemm.k,
            products: if stride != 0 || (gemm.has_offsets() && !shared[side]) { product.count } else { 1 },
            element,
        };
        Ok([
            packing(a_side, rows, product.m, product.a.batch_stride).packed(a, probe)?,
            packing(b_side, columns, product.n, product.b.batch_stride).packed(b, probe)?,
        ])
    }

    /// Number of parts that K is divided into.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Tile(tile) => tile.parts,
            Self::Local(local) => local.parts,
            Self::Vector(_) => 1,
        }
    }

    /// Bytes of the partial sums of the parts of K; 0 for one part.
    pub(super) fn partial_bytes(
        &self,
        gemm: &Gemm,
        product: &RowMajorProduct,
        probe: &Probe,
    ) -> Result<usize, Unfit> {
        let parts = self.parts();
        if parts <= 1 {
            return Ok(0);
        }
        let sums = [parts, product.count, product.m, product.n];
        let sums = sums.into_iter().fold(1usize, usize::saturating_mul);
        let bytes = sums.saturating_mul(gemm.elements.total().bytes());
        match probe.max_buffer_bytes {
            limit if limit != 0 && bytes as u64 > limit => {
                Err(Unfit::OverLimit { what: format!("the sums of {parts} parts, {bytes} bytes,"), limit })
            }
            _ => Ok(bytes),
        }
    }
}

/// Checks that the device supports this work-group.
fn check_group(group: [usize; 3], probe: &Probe) -> Result<(), Unfit> {
    let [x, y, z] = group;
    let name = || if z == 1 { format!("{x}x{y}") } else { format!("{x}x{y}x{z}") };
    if group.contains(&0) {
        return Err(Unfit::Parameter { what: "the work-group", found: name(), want: "no extent of 0" });
    }
    let items = x.saturating_mul(y).saturating_mul(z);
    let limits = group.into_iter().zip(probe.max_work_item_sizes).chain([(items, probe.max_work_group_size)]);
    match limits.into_iter().find(|(size, limit)| *limit != 0 && size > limit) {
        Some((_, limit)) => {
            Err(Unfit::OverLimit { what: format!("a work-group of {}", name()), limit: limit as u64 })
        }
        None => Ok(()),
    }
}

fn is_bytes(gemm: &Gemm) -> bool {
    matches!(gemm.elements, Elements::I8ToI32 | Elements::I8ToI8(_))
}

fn check_parts(parts: usize) -> Result<(), Unfit> {
    if (1..=1024).contains(&parts) {
        return Ok(());
    }
    Err(Unfit::Parameter { what: "parts", found: parts.to_string(), want: "1 to 1024" })
}

fn check_fma(fma: bool, gemm: &Gemm) -> Result<(), Unfit> {
    if fma && is_bytes(gemm) {
        return Err(Unfit::Parameter {
            what: "fma",
            found: "set".to_owned(),
            want: "floating-point elements",
        });
    }
    Ok(())
}

impl Tile {
    /// Vectors in a row of the tile.
    pub(super) fn vectors(&self) -> usize {
        self.columns / self.vector.max(1)
    }

    fn check(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        if !(1..=16).contains(&self.rows) {
            return Err(Unfit::Parameter { what: "rows", found: self.rows.to_string(), want: "1 to 16" });
        }
        one_of("vector", self.vector, "2, 4, 8 or 16", &[2, 4, 8, 16])?;
        if !self.columns.is_multiple_of(self.vector) || !(1..=4).contains(&self.vectors()) {
            let found = format!("{} of vectors of {}", self.columns, self.vector);
            return Err(Unfit::Parameter { what: "columns", found, want: "1 to 4 vectors" });
        }
        if self.rows * self.columns > SUMS_MAX {
            let what = format!("a tile of {}x{}", self.rows, self.columns);
            return Err(Unfit::OverLimit { what, limit: SUMS_MAX as u64 });
        }
        one_of("unroll", self.unroll, "1, 2, 4 or 8", &[1, 2, 4, 8])?;
        check_parts(self.parts)?;
        check_fma(self.fma, gemm)?;
        self.check_groups(gemm, probe)?;
        if self.a_vector {
            if !matches!(self.a, Source::Packed { .. }) || self.dot.is_some() {
                let found = "set".to_owned();
                return Err(Unfit::Parameter { what: "a-vector", found, want: "a packed A, without dot" });
            }
            one_of("rows of a-vector", self.rows, "2, 4, 8 or 16", &[2, 4, 8, 16])?;
        }
        if self.a == Source::Image {
            one_of("rows of an image", self.rows, "4, 8 or 16", &[4, 8, 16])?;
        }
        if self.b == Source::Image {
            one_of("vector of an image", self.vector, "4, 8 or 16", &[4, 8, 16])?;
        }
        if (self.a == Source::Image || self.b == Source::Image) && is_bytes(gemm) {
            return Err(Unfit::Kernel { kernel: "tile", reason: "cannot read bytes from images" });
        }
        if self.short_products && (!is_bytes(gemm) || self.dot.is_some()) {
            let (found, want) = ("set".to_owned(), "a product of bytes, without dot");
            return Err(Unfit::Parameter { what: "short-products", found, want });
        }
        self.check_dot(gemm, probe)
    }

    fn check_groups(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        if !self.slices.is_power_of_two() {
            let found = self.slices.to_string();
            return Err(Unfit::Parameter { what: "slices", found, want: "a power of two" });
        }
        let Some([x, y]) = self.group else {
            if self.slices > 1 {
                let found = self.slices.to_string();
                return Err(Unfit::Parameter { what: "slices", found, want: "1 without a work-group" });
            }
            return Ok(());
        };
        check_group([x.saturating_mul(self.slices), y, 1], probe)?;
        let number = if gemm.elements == Elements::F16(Accumulate::F16) { 2 } else { 4 };
        let bytes = [if self.slices > 1 { self.slices } else { 0 }, x, y, self.vector, number]
            .iter()
            .fold(1usize, |a, b| a.saturating_mul(*b));
        match probe.local_memory_bytes {
            limit if limit != 0 && bytes as u64 > limit => {
                Err(Unfit::OverLimit { what: format!("local memory of {bytes} bytes"), limit })
            }
            _ => Ok(()),
        }
    }

    fn check_dot(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        let Some(dot) = self.dot else { return Ok(()) };
        let (extension, there) = match dot {
            Dot::Khr => (
                "cl_khr_integer_dot_product of OpenCL 3.0",
                probe.has_extension("cl_khr_integer_dot_product") && probe.opencl_c >= (3, 0),
            ),
            Dot::Arm => (
                "cl_arm_integer_dot_product_accumulate_int8",
                probe.has_extension("cl_arm_integer_dot_product_accumulate_int8"),
            ),
        };
        if !there {
            return Err(Unfit::not_offered(extension));
        }
        if !is_bytes(gemm) {
            return Err(Unfit::Kernel { kernel: "tile", reason: "supports dot products of bytes only" });
        }
        one_of("vector of dot products", self.vector, "4", &[4])?;
        let packed = |source| matches!(source, Source::Packed { .. });
        if !packed(self.a) || !packed(self.b) {
            return Err(Unfit::Kernel {
                kernel: "tile",
                reason: "needs both operands packed for dot products",
            });
        }
        Ok(())
    }
}

impl Local {
    /// Loads of four elements per work-item for a block of an operand.
    pub(super) fn loads(&self, extent: usize) -> usize {
        let [x, y] = self.group;
        extent * self.depth / 4 / (x * y).max(1)
    }

    /// Rows and columns of C that a work-group computes.
    pub(super) fn block(&self) -> [usize; 2] {
        let [x, y] = self.group;
        [self.rows * y, self.columns * x]
    }

    /// Bytes of local memory: two blocks per buffer, each row padded by one vector.
    pub(super) fn local_bytes(&self, gemm: &Gemm) -> usize {
        let number = if gemm.elements == Elements::F16(Accumulate::F16) { 2 } else { 4 };
        let [rows, columns] = self.block();
        self.buffers * self.depth * (rows + 4 + columns + 4) * number
    }

    fn check(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        let floats =
            matches!(gemm.elements, Elements::F32 | Elements::F16(Accumulate::F16 | Accumulate::F32));
        if !floats {
            return Err(Unfit::Kernel {
                kernel: "local",
                reason: "sums floats and halves, without blocks of K",
            });
        }
        one_of("rows", self.rows, "4, 8, 12 or 16", &[4, 8, 12, 16])?;
        one_of("columns", self.columns, "4, 8, 12 or 16", &[4, 8, 12, 16])?;
        one_of("depth", self.depth, "4, 8, 16 or 32", &[4, 8, 16, 32])?;
        one_of("buffers", self.buffers, "1 or 2", &[1, 2])?;
        check_parts(self.parts)?;
        let [x, y] = self.group;
        check_group([x, y, 1], probe)?;
        for (what, extent) in [("rows", self.rows * y), ("columns", self.columns * x)] {
            let all = extent * self.depth / 4;
            if !all.is_multiple_of(x * y) || !(1..=8).contains(&(all / (x * y))) {
                let found = format!("{extent} in {} steps by {x}x{y} work-items", self.depth);
                let want = "1 to 8 loads of four elements a work-item";
                return Err(Unfit::Parameter { what, found, want });
            }
        }
        for source in [self.a, self.b] {
            if !matches!(source, Source::Direct | Source::Packed { panel: 0 }) {
                let reason = "reads operands unpacked, or packed in one panel";
                return Err(Unfit::Kernel { kernel: "local", reason });
            }
        }
        let bytes = self.local_bytes(gemm) as u64;
        match probe.local_memory_bytes {
            limit if limit != 0 && bytes > limit => {
                Err(Unfit::OverLimit { what: format!("local memory of {bytes} bytes"), limit })
            }
            _ => Ok(()),
        }
    }
}

impl Vector {
    fn check(&self, gemm: &Gemm, probe: &Probe) -> Result<(), Unfit> {
        one_of("outputs", self.outputs, "2, 4 or 8", &[2, 4, 8])?;
        one_of("width", self.width, "2, 4, 8 or 16", &[2, 4, 8, 16])?;
        check_group([self.group, 1, 1], probe)?;
        if !self.group.is_power_of_two() {
            let found = self.group.to_string();
            return Err(Unfit::Parameter { what: "the work-group", found, want: "a power of two" });
        }
        if self.sub_groups && !probe.has_extension("cl_khr_subgroups") {
            return Err(Unfit::not_offered("sub-groups (cl_khr_subgroups)"));
        }
        let product = RowMajorProduct::of(gemm);
        if product.m > 1 {
            return Err(Unfit::Kernel { kernel: "vector", reason: "computes one row or one column" });
        }
        // The kernel reads a row of B along K, so B must be contiguous there.
        if product.b.row_stride != 1 && product.k > 1 {
            let reason = "needs a matrix that is contiguous along K; a tile of one row reads the other one";
            return Err(Unfit::Kernel { kernel: "vector", reason });
        }
        Ok(())
    }
}
