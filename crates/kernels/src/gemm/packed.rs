//! Operands packed in advance into panels or images.

use tripipe_device::Probe;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, MemoryKind, ScalarType};

use super::check::Unfit;
use super::description::StridedLayout;
use super::parameters::Source;

/// The layout of a packed operand: the tag that belongs to its memory. An operand packed with one tag can be read by
/// every plan that needs an equal tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Rows (columns, for B) of a tile.
    pub(super) lanes: usize,
    /// Tiles, including those that fill the last panel.
    pub(super) tiles: usize,
    /// Elements from panel to panel.
    pub(super) panel: usize,
    /// Elements from step to step.
    pub(super) step: usize,
    /// Elements from product to product; rows of an image.
    pub(super) product: usize,
    /// Adjacent steps along K: 4 for dot products.
    pub(super) depth: usize,
    /// Rows (columns, for B) of the operand.
    pub(super) extent: usize,
    /// Steps along K.
    pub(super) k: usize,
    /// Products of a batch that have a separate operand.
    pub(super) products: usize,
    /// The type of its elements.
    pub(super) element: ScalarType,
    /// The image through which it is read.
    pub(super) image: Option<ImageShape>,
    /// Bytes of its buffer; `None` when the image has its own memory.
    pub(super) buffer_bytes: Option<usize>,
}

/// An operand to pack.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnpackedOperand {
    pub(super) name: &'static str,
    pub(super) lanes: usize,
    pub(super) depth: usize,
    pub(super) extent: usize,
    pub(super) k: usize,
    pub(super) products: usize,
    pub(super) element: ScalarType,
}

impl UnpackedOperand {
    /// The layout for `source`; `None` when the operand is read in its stored layout.
    pub(super) fn packed(self, source: Source, probe: &Probe) -> Result<Option<Packed>, Unfit> {
        let Self { name, lanes, depth, extent, k, products, element } = self;
        // Empty buffers and images do not exist.
        let (lines, products) = (k.div_ceil(depth).max(1), products.max(1));
        let tiles = extent.div_ceil(lanes).max(1);
        let packed = match source {
            Source::Direct => return Ok(None),
            Source::Packed { panel } => {
                let per_panel = if panel == 0 { tiles } else { panel };
                let tiles = tiles.next_multiple_of(per_panel);
                let step = per_panel * lanes * depth;
                let panel = lines.saturating_mul(step);
                let product = panel.saturating_mul(tiles / per_panel);
                Packed {
                    lanes,
                    tiles,
                    panel,
                    step,
                    product,
                    depth,
                    extent,
                    k,
                    products,
                    element,
                    image: None,
                    buffer_bytes: Some(0),
                }
            }
            Source::Image => {
                let limits = probe.images.ok_or_else(|| Unfit::not_offered("images"))?;
                let channel = match element {
                    ScalarType::F16 => ChannelType::F16,
                    _ => ChannelType::F32,
                };
                let (width, height) = (tiles * lanes / 4, lines.saturating_mul(products));
                for (extent, limit) in [width, height].into_iter().zip(limits.max_2d) {
                    if extent > limit {
                        let what = format!("{name} as an image of {width} x {height} texels");
                        return Err(Unfit::OverLimit { what, limit: limit as u64 });
                    }
                }
                let alignment = limits.pitch_alignment.max(1) as usize;
                let pitch = if limits.from_buffer { width.next_multiple_of(alignment) } else { width };
                Packed {
                    lanes,
                    tiles,
                    panel: 0,
                    step: 4 * pitch,
                    product: lines,
                    depth,
                    extent,
                    k,
                    products,
                    element,
                    image: Some(ImageShape::d2(width, height, ChannelOrder::Rgba, channel)),
                    buffer_bytes: limits.from_buffer.then_some(0),
                }
            }
        };
        packed.measured(name, probe).map(Some)
    }
}

impl Packed {
    /// The layout with the size of its buffer, checked against the device's limit and the kernels' indices.
    fn measured(self, name: &str, probe: &Probe) -> Result<Self, Unfit> {
        if self.buffer_bytes.is_none() {
            return Ok(self);
        }
        let elements = self.product_elements().saturating_mul(self.products);
        let bytes = elements.saturating_mul(self.element.bytes());
        let what = || format!("{name}, packed into {bytes} bytes,");
        if u32::try_from(elements).is_err() {
            return Err(Unfit::OverLimit { what: what(), limit: u64::from(u32::MAX) });
        }
        match probe.max_buffer_bytes {
            limit if limit != 0 && bytes as u64 > limit => Err(Unfit::OverLimit { what: what(), limit }),
            _ => Ok(Self { buffer_bytes: Some(bytes), ..self }),
        }
    }

    /// The memory that holds it: a buffer, or an image on devices that cannot create an image over a buffer.
    pub fn memory(&self) -> MemoryKind {
        match (self.buffer_bytes, self.image) {
            (None, Some(shape)) => MemoryKind::Image(shape),
            (bytes, _) => MemoryKind::Buffer { bytes: bytes.unwrap_or(0) },
        }
    }

    /// Elements of the plain matrices that it was packed from.
    pub fn plain_elements(&self) -> usize {
        self.extent.saturating_mul(self.k).saturating_mul(self.products)
    }

    fn product_elements(&self) -> usize {
        if self.image.is_some() { self.step.saturating_mul(self.product) } else { self.product }
    }

    /// Bytes from row to row of an image over the buffer.
    pub(super) fn pitch_bytes(&self) -> usize {
        self.step * self.element.bytes()
    }

    /// Its view for the packing kernel.
    pub(super) fn written(&self) -> StridedLayout {
        let batch_stride = if self.buffer_bytes.is_none() { self.product } else { self.product_elements() };
        StridedLayout { offset: 0, row_stride: self.panel, column_stride: self.step, batch_stride }
    }

    /// Its view for the product's kernel: of panels, or of rows of an image.
    pub(super) fn read(&self) -> StridedLayout {
        let batch_stride = if self.products > 1 { self.product } else { 0 };
        StridedLayout { batch_stride, ..self.written() }
    }
}
