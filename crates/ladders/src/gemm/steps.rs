//! The kernels of the ladders: kernel, layout, work-groups.

use std::fmt;
use std::sync::Arc;

use tripipe_device::{Probe, Vendor, identify};
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, NdRange, Program};

use crate::problem::Float;
use tripipe_kernels::plan::{Plan, PlanError, Slot};

/// A product to compute, with plain operands: row-major without gaps.
#[derive(Clone, Copy, Debug)]
pub struct DenseProduct<'p> {
    a: &'p [u8],
    b: &'p [u8],
    m: usize,
    n: usize,
    k: usize,
    element: Float,
}

impl<'p> DenseProduct<'p> {
    /// C (m x n) = A (m x k) times B (k x n), elements in host byte order.
    ///
    /// # Errors
    /// An extent of 0, or an operand whose length does not match its extents.
    pub fn new([a, b]: [&'p [u8]; 2], [m, n, k]: [usize; 3], element: Float) -> Result<Self, PlanError> {
        let product = Self { a, b, m, n, k, element };
        for (operand, bytes, rows, columns) in [("A", a, m, k), ("B", b, k, n)] {
            let want = rows.checked_mul(columns).and_then(|all| all.checked_mul(product.element_bytes()));
            if want != Some(bytes.len()) || bytes.is_empty() || n == 0 {
                let what = format!("{operand}, {rows} x {columns} of {} bytes", product.element_bytes());
                return Err(PlanError::Operand { what, found: bytes.len() });
            }
        }
        Ok(product)
    }

    fn element_bytes(&self) -> usize {
        match self.element {
            Float::F16 => 2,
            Float::F32 => 4,
        }
    }
}

/// The kernels of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GemmKernel {
    /// One element per work-item, directly from A and B.
    Naive,
    /// One element per work-item, as dot products of four.
    Float4Dot,
    /// One tile per work-item, in registers.
    Tile(Tile),
    /// One tile per work-item, loaded through local memory.
    LocalTile(LocalTile),
}

/// `naive`, `float4-dot`, `8x4 image B wg 16x8`, `8x8 local wg 16x16`.
impl fmt::Display for GemmKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Naive => f.write_str("naive"),
            Self::Float4Dot => f.write_str("float4-dot"),
            Self::Tile(tile) => tile.fmt(f),
            Self::LocalTile(tile) => {
                let (side, group) = (tile.side(), LocalTile::GROUP);
                write!(f, "{side}x{side} local wg {group}x{group}")
            }
        }
    }
}

/// A tile of C in a work-item's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of the tile, and the source of A.
    pub rows: Side,
    /// Columns of the tile, and the source of B.
    pub columns: Side,
    /// Whether the kernel requires `fma()`.
    pub fma: bool,
    /// Whether the loop takes two steps along K per iteration.
    pub unroll_k: bool,
    /// Work-group size along the columns and the rows of C; `None` leaves it to the driver.
    pub work_group: Option<[usize; 2]>,
}

/// Elements of an operand that each step along K loads, and their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Two, from a buffer.
    Buffer2,
    /// Four, from a buffer.
    Buffer4,
    /// Eight, from a buffer.
    Buffer8,
    /// Four, a texel of an image.
    Image4,
    /// Eight, two texels of an image.
    Image8,
}

impl Side {
    fn lanes(self) -> usize {
        match self {
            Self::Buffer2 => 2,
            Self::Buffer4 | Self::Image4 => 4,
            Self::Buffer8 | Self::Image8 => 8,
        }
    }

    fn is_image(self) -> bool {
        matches!(self, Self::Image4 | Self::Image8)
    }
}

/// The variants of the local-memory kernel; both use 8 KiB of local memory in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalTile {
    /// 4x4 per work-item, 64x64 per work-group, 16 steps along K at once.
    Side4,
    /// 8x8 per work-item, 128x128 per work-group, 8 steps along K at once.
    Side8,
}

impl LocalTile {
    /// Work-items along each side of its work-groups.
    const GROUP: usize = 16;

    fn side(self) -> usize {
        match self {
            Self::Side4 => 4,
            Self::Side8 => 8,
        }
    }

    fn depth(self) -> usize {
        match self {
            Self::Side4 => 16,
            Self::Side8 => 8,
        }
    }
}

/// `8x4 image B wg 16x8`.
impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows.lanes(), self.columns.lanes())?;
        f.write_str(match (self.rows.is_image(), self.columns.is_image()) {
            (false, false) => "",
            (true, false) => " image A",
            (false, true) => " image B",
            (true, true) => " images",
        })?;
        match self.work_group {
            None => f.write_str(" wg auto"),
            Some([x, y]) => write!(f, " wg {x}x{y}"),
        }
    }
}

/// The plan of one kernel for one product.
///
/// # Errors
/// The device lacks half precision or images, or a packed operand exceeds one of its limits.
pub fn plan<'p>(
    kernel: GemmKernel,
    product: &DenseProduct<'p>,
    probe: &Probe,
) -> Result<Plan<'p>, PlanError> {
    if product.element == Float::F16 && !probe.fp16() {
        return Err(PlanError::NotOffered { what: "half-precision arithmetic (cl_khr_fp16)".to_owned() });
    }
    let mut builder = Builder { plan: Plan::new(), product: *product, probe };
    let DenseProduct { m, n, k, .. } = *product;
    let (c, [rows, columns, depth]) = (builder.result()?, [m as u32, n as u32, k as u32]);
    match kernel {
        GemmKernel::Naive => {
            let program = builder.program("gemm/naive.cl", include_str!("naive.cl"), &[]);
            let a = builder.plan.input(product.a);
            let b = builder.plan.input(product.b);
            let arguments = [a.into(), b.into(), c.into(), columns.into(), depth.into()];
            builder.plan.launch(&program, "gemm_naive", arguments, NdRange::d2(n, m));
        }
        GemmKernel::Float4Dot => {
            let a = builder.pack(
                Pack { from: product.a, rows: m, columns: k, strides: [k, 1] },
                Side::Buffer4,
                m,
            )?;
            let b = builder.pack(
                Pack { from: product.b, rows: n, columns: k, strides: [1, n] },
                Side::Buffer4,
                n,
            )?;
            let program = builder.program("gemm/float4_dot.cl", include_str!("float4_dot.cl"), &[]);
            let vectors = k.div_ceil(4) as u32;
            let arguments = [a.into(), b.into(), c.into(), columns.into(), vectors.into()];
            builder.plan.launch(&program, "gemm_float4_dot", arguments, NdRange::d2(n, m));
        }
        GemmKernel::Tile(tile) => {
            let steps = if tile.unroll_k { k.next_multiple_of(2) } else { k };
            let a = Pack { from: product.a, rows: k, columns: m, strides: [1, k] };
            let b = Pack { from: product.b, rows: k, columns: n, strides: [n, 1] };
            let a = builder.pack(a, tile.rows, steps)?;
            let b = builder.pack(b, tile.columns, steps)?;
            let defines = [
                ("TILE_M", tile.rows.lanes()),
                ("TILE_N", tile.columns.lanes()),
                ("IMAGE_A", usize::from(tile.rows.is_image())),
                ("IMAGE_B", usize::from(tile.columns.is_image())),
                ("FMA", usize::from(tile.fma)),
                ("UNROLL_K", 1 + usize::from(tile.unroll_k)),
            ];
            let program = builder.program("gemm/tile.cl", include_str!("tile.cl"), &defines);
            let tiles = [n.div_ceil(tile.columns.lanes()), m.div_ceil(tile.rows.lanes())];
            let range = match tile.work_group {
                None => NdRange::d2(tiles[0], tiles[1]),
                Some([x, y]) => {
                    NdRange::d2(tiles[0].next_multiple_of(x), tiles[1].next_multiple_of(y)).local(x, y, 1)
                }
            };
            let steps = steps as u32;
            let arguments = [a.into(), b.into(), c.into(), rows.into(), columns.into(), steps.into()];
            builder.plan.launch(&program, "gemm_tile", arguments, range);
        }
        GemmKernel::LocalTile(tile) => {
            let group = LocalTile::GROUP;
            let defines = [("SIDE", tile.side()), ("GROUP", group), ("DEPTH", tile.depth())];
            let program = builder.program("gemm/local_tile.cl", include_str!("local_tile.cl"), &defines);
            let a = builder.plan.input(product.a);
            let b = builder.plan.input(product.b);
            let items = |extent: usize| extent.div_ceil(tile.side()).next_multiple_of(group);
            let arguments = [a.into(), b.into(), c.into(), rows.into(), columns.into(), depth.into()];
            let range = NdRange::d2(items(n), items(m)).local(group, group, 1);
            builder.plan.launch(&program, "gemm_local_tile", arguments, range);
        }
    }
    Ok(builder.plan)
}

/// The tiles and work-groups worth trying on a device, each with its label. At least one.
pub fn candidates(probe: &Probe) -> Vec<(String, GemmKernel)> {
    use Side::{Buffer2, Buffer4, Buffer8, Image4, Image8};
    let fits = |[x, y]: [usize; 2]| {
        let [max_x, max_y, _] = probe.max_work_item_sizes;
        let within = |size: usize, limit: usize| limit == 0 || size <= limit;
        within(x * y, probe.max_work_group_size) && within(x, max_x) && within(y, max_y)
    };
    let tile = |rows, columns, work_group| Tile { rows, columns, fma: false, unroll_k: true, work_group };
    // Tiles from published tunings of Mali and Adreno parts, with B or both operands through buffers and through images.
    let sides =
        [(Buffer4, Buffer4), (Buffer4, Buffer8), (Buffer8, Buffer4), (Buffer8, Buffer8), (Buffer2, Buffer8)];
    let image_sides = [(Buffer4, Image4), (Buffer4, Image8), (Buffer8, Image4), (Buffer8, Image8)];
    let both_images = [(Image4, Image4), (Image4, Image8), (Image8, Image4), (Image8, Image8)];
    let mut tiles = vec![tile(Buffer4, Buffer4, None), tile(Buffer8, Buffer8, None)];
    for (rows, columns) in sides {
        tiles.extend([[8, 8], [16, 8]].map(|group| tile(rows, columns, Some(group))));
    }
    tiles.extend([[16, 16], [32, 4]].map(|group| tile(Buffer8, Buffer4, Some(group))));
    if probe.images.is_some() {
        for (rows, columns) in image_sides {
            tiles.extend([[8, 8], [16, 8]].map(|group| tile(rows, columns, Some(group))));
        }
        for (rows, columns) in both_images {
            tiles.extend([None, Some([16, 8])].map(|group| tile(rows, columns, group)));
        }
    }
    let mut found: Vec<(String, GemmKernel)> = tiles
        .into_iter()
        .filter(|tile| tile.work_group.is_none_or(fits))
        .map(GemmKernel::Tile)
        .map(|kernel| (kernel.to_string(), kernel))
        .collect();
    let emulated = identify(probe).vendor == Some(Vendor::Arm) && !probe.local_memory_dedicated;
    // Both variants need a little more than 8 KiB.
    if !emulated && fits([LocalTile::GROUP; 2]) && probe.local_memory_bytes >= 10 << 10 {
        let tiles = [LocalTile::Side4, LocalTile::Side8].map(GemmKernel::LocalTile);
        found.extend(tiles.map(|kernel| (kernel.to_string(), kernel)));
    }
    found
}

struct Builder<'p, 'd> {
    plan: Plan<'p>,
    product: DenseProduct<'p>,
    probe: &'d Probe,
}

/// A packing task for `pack.cl`: element (y, x) of the result is `from[y * strides[0] + x * strides[1]]`.
#[derive(Clone, Copy)]
struct Pack<'p> {
    from: &'p [u8],
    rows: usize,
    columns: usize,
    strides: [usize; 2],
}

impl<'p> Builder<'p, '_> {
    fn program(&self, name: &'static str, text: &'static str, defines: &[(&str, usize)]) -> Arc<Program> {
        let half = usize::from(self.product.element == Float::F16);
        let mut program = Program::from_source(name, text).define("HALF", half);
        for (name, value) in defines {
            program = program.define(name, value);
        }
        Arc::new(program)
    }

    fn result(&mut self) -> Result<Slot, PlanError> {
        let bytes = self.buffer_bytes("C", self.product.m, self.product.n)?;
        Ok(self.plan.result(bytes))
    }

    /// Bytes of a buffer of `rows` x `columns` elements, after checks against the device's limit and the range of a
    /// `uint`.
    fn buffer_bytes(&self, what: &str, rows: usize, columns: usize) -> Result<usize, PlanError> {
        let over = |limit: u64| PlanError::OverLimit { what: format!("{what}, {rows} x {columns}"), limit };
        let elements = rows.checked_mul(columns).filter(|elements| u32::try_from(*elements).is_ok());
        let bytes = elements.ok_or_else(|| over(u32::MAX.into()))? * self.product.element_bytes();
        match self.probe.max_buffer_bytes {
            limit if limit != 0 && bytes as u64 > limit => Err(over(limit)),
            _ => Ok(bytes),
        }
    }

    /// The operand in `rows_padded` rows of whole vectors of `side`: unchanged if it already has that layout,
    /// otherwise packed before the step.
    fn pack(&mut self, pack: Pack<'p>, side: Side, rows_padded: usize) -> Result<Slot, PlanError> {
        let source = self.plan.input(pack.from);
        let as_is = !side.is_image()
            && pack.strides == [pack.columns, 1]
            && pack.columns.is_multiple_of(side.lanes())
            && rows_padded == pack.rows;
        if as_is {
            return Ok(source);
        }
        let columns_padded = pack.columns.next_multiple_of(side.lanes());
        // A texel holds four elements, regardless of the number that a step loads.
        let width = if side.is_image() { 4 } else { side.lanes() };
        let vectors = columns_padded / width;
        let packed = if side.is_image() {
            self.image(vectors, rows_padded)?
        } else {
            let bytes = self.buffer_bytes("a packed operand", rows_padded, columns_padded)?;
            self.plan.scratch(bytes)
        };
        let defines = [("WIDTH", width), ("TO_IMAGE", usize::from(side.is_image()))];
        let program = self.program("gemm/pack.cl", include_str!("pack.cl"), &defines);
        let [rows, columns] = [pack.rows as u32, pack.columns as u32];
        let [row_stride, column_stride] = pack.strides.map(|stride| stride as u32);
        let arguments = [
            source.into(),
            packed.into(),
            rows.into(),
            columns.into(),
            row_stride.into(),
            column_stride.into(),
        ];
        self.plan.prepare(&program, "gemm_pack", arguments, NdRange::d2(vectors, rows_padded));
        Ok(packed)
    }

    fn image(&mut self, width: usize, height: usize) -> Result<Slot, PlanError> {
        let Some(limits) = self.probe.images else {
            return Err(PlanError::NotOffered { what: "images".to_owned() });
        };
        for (extent, limit) in [width, height].into_iter().zip(limits.max_2d) {
            if extent > limit {
                let what = format!("an operand as an image of {width} x {height} texels");
                return Err(PlanError::OverLimit { what, limit: limit as u64 });
            }
        }
        let channel = match self.product.element {
            Float::F16 => ChannelType::F16,
            Float::F32 => ChannelType::F32,
        };
        let shape = ImageShape::d2(width, height, ChannelOrder::Rgba, channel);
        Ok(self.plan.scratch_image(shape))
    }
}
