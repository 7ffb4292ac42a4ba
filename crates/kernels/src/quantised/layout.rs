//! The layout in which the kernels and the CPU path read weights.

use half::f16;
use tripipe_device::Probe;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, MemoryKind};

use super::format::{BLOCK, WeightFormat};
use super::parameters::WeightMemory;
use super::weights::StoredWeights;
use crate::PlanError;
use crate::gemm::Extents;

/// Outputs per texel of an image.
const TEXEL: usize = 4;
/// The largest number of outputs that a work-item computes: rows of the layout are a multiple of it.
const OUTPUTS_MAX: usize = 16;

/// How the weights of a layer are packed.
///
/// Packed weights consist of lines, `pitch` elements apart. A line has one element for each output: a half with `f16`,
/// otherwise a word of 32 bits with the next steps along K, the first in the lowest bits: four bytes, or eight numbers of
/// four bits. So work-items of neighbouring outputs read neighbouring elements. A block of 32 steps is 32 lines of halves, 8
/// of bytes or 4 of four bits; an incomplete last block is filled with weights of 0. The scales are in memory of their own,
/// in lines of the same pitch: one line for each block in half precision, or a single line in `float` with `i8`.
///
/// With [`WeightMemory::Image`] the lines are the rows of an image with four outputs in a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedLayout {
    pub(super) format: WeightFormat,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) pitch: usize,
    pub(super) memory: WeightMemory,
    /// The image has memory of its own: the device cannot make an image over a buffer.
    pub(super) own_image: bool,
}

/// Packed weights and scales, in words of 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedWords {
    /// The weights.
    pub weights: Vec<u32>,
    /// The scales; empty for `f16`.
    pub scales: Vec<u32>,
}

impl PackedLayout {
    /// The layout in a buffer, for any device and for the CPU path, of weights with a row for each output and a column for
    /// each input.
    ///
    /// # Errors
    /// More than the kernels can index.
    pub fn in_buffer(format: WeightFormat, extents: Extents) -> Result<Self, PlanError> {
        let Extents { rows: n, columns: k } = extents;
        let memory = WeightMemory::Buffer;
        let pitch = n.checked_next_multiple_of(OUTPUTS_MAX).unwrap_or(usize::MAX).max(OUTPUTS_MAX);
        Self { format, n, k, pitch, memory, own_image: false }.checked(None)
    }

    /// The layout in this kind of memory of a device, of weights as for [`Self::in_buffer`].
    ///
    /// # Errors
    /// The device lacks images; more than it, or the kernels, can index.
    pub fn of(
        format: WeightFormat,
        extents: Extents,
        memory: WeightMemory,
        probe: &Probe,
    ) -> Result<Self, PlanError> {
        let buffer = Self::in_buffer(format, extents)?;
        if memory == WeightMemory::Buffer {
            return buffer.checked(Some(probe));
        }
        let limits = probe.images.ok_or_else(|| PlanError::NotOffered { what: "images".to_owned() })?;
        let alignment = if limits.from_buffer { limits.pitch_alignment.max(1) as usize } else { 1 };
        let unit = TEXEL.saturating_mul(alignment);
        // Both are powers of two on every known device; otherwise the larger need not be a multiple of the smaller.
        let mut pitch = buffer.pitch.checked_next_multiple_of(unit).unwrap_or(usize::MAX);
        while pitch != usize::MAX && !pitch.is_multiple_of(OUTPUTS_MAX) {
            pitch = pitch.saturating_add(unit);
        }
        let layout = Self { pitch, memory, own_image: !limits.from_buffer, ..buffer };
        let found = [pitch / TEXEL, layout.lines()];
        for (extent, limit) in found.into_iter().zip(limits.max_2d) {
            if extent > limit {
                let what = format!("weights as an image of {} x {} texels", found[0], found[1]);
                return Err(PlanError::OverLimit { what, limit: limit as u64 });
            }
        }
        layout.checked(Some(probe))
    }

    fn checked(self, probe: Option<&Probe>) -> Result<Self, PlanError> {
        let elements = self.lines().saturating_mul(self.pitch);
        let bytes = elements.saturating_mul(self.format.element_bytes());
        let what = || format!("{} weights of {} outputs with {} inputs", self.format, self.n, self.k);
        if u32::try_from(elements).is_err() || u32::try_from(self.k.saturating_add(BLOCK)).is_err() {
            return Err(PlanError::OverLimit { what: what(), limit: u64::from(u32::MAX) });
        }
        match probe.map_or(0, |probe| probe.max_buffer_bytes) {
            limit if limit != 0 && bytes as u64 > limit => {
                Err(PlanError::OverLimit { what: format!("{}, {bytes} bytes,", what()), limit })
            }
            _ => Ok(self),
        }
    }

    /// The format.
    pub fn format(&self) -> WeightFormat {
        self.format
    }

    /// A row for each output, a column for each input.
    pub fn extents(&self) -> Extents {
        Extents::new(self.n, self.k)
    }

    /// Elements from line to line.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// The memory from which kernels read it.
    pub fn memory(&self) -> WeightMemory {
        self.memory
    }

    /// Blocks along K. Empty buffers and images do not exist, so there is at least one.
    pub(super) fn blocks(&self) -> usize {
        self.k.div_ceil(BLOCK).max(1)
    }

    fn lines(&self) -> usize {
        self.blocks().saturating_mul(self.format.lines())
    }

    /// The image through which kernels read it.
    pub(super) fn image(&self) -> ImageShape {
        let channel = if self.format == WeightFormat::F16 { ChannelType::F16 } else { ChannelType::U32 };
        ImageShape::d2(self.pitch / TEXEL, self.lines(), ChannelOrder::Rgba, channel)
    }

    /// Bytes from line to line.
    pub(super) fn pitch_bytes(&self) -> usize {
        self.pitch * self.format.element_bytes()
    }

    /// The memory that holds the weights.
    pub fn weights_memory(&self) -> MemoryKind {
        if self.own_image {
            MemoryKind::Image(self.image())
        } else {
            MemoryKind::Buffer { bytes: self.lines() * self.pitch_bytes() }
        }
    }

    /// Whether the weights are in a buffer, which the CPU path can read too.
    pub fn is_buffer(&self) -> bool {
        !self.own_image
    }

    /// Bytes of the weights.
    pub fn weights_bytes(&self) -> usize {
        self.lines() * self.pitch_bytes()
    }

    /// Bytes of the scales; 0 for `f16`.
    pub fn scales_bytes(&self) -> usize {
        self.format.scales().map_or(0, |(bytes, of_blocks)| {
            let lines = if of_blocks { self.blocks() } else { 1 };
            lines * self.pitch * bytes
        })
    }

    /// Packs weights with the format and extents of this layout.
    ///
    /// # Errors
    /// Weights of another format or with other extents.
    pub fn pack(&self, stored: &StoredWeights) -> Result<PackedWords, PlanError> {
        if stored.format() != self.format || stored.extents() != self.extents() {
            let Extents { rows: n, columns: k } = stored.extents();
            let what = format!("W, {} weights of {} outputs with {} inputs", self.format, self.n, self.k);
            return Err(PlanError::Parameter {
                parameter: "the weights",
                found: format!("{} of {n} outputs with {k} inputs", stored.format()),
                want: what,
            });
        }
        let mut weights = vec![0u32; self.weights_bytes() / 4];
        let mut scales = vec![0u32; self.scales_bytes() / 4];
        for output in 0..self.n {
            self.pack_output(stored, output, &mut weights, &mut scales);
        }
        Ok(PackedWords { weights, scales })
    }

    fn pack_output(&self, stored: &StoredWeights, output: usize, weights: &mut [u32], scales: &mut [u32]) {
        let (row, pitch) = (stored.row(output), self.pitch);
        let word = |bytes: &[u8]| {
            let mut four = [0; 4];
            four[..bytes.len()].copy_from_slice(bytes);
            u32::from_le_bytes(four)
        };
        match self.format {
            WeightFormat::F16 => {
                let halves: &mut [u16] = bytemuck::cast_slice_mut(weights);
                for (l, half) in row.as_chunks::<2>().0.iter().enumerate() {
                    halves[l * pitch + output] = u16::from_ne_bytes(*half);
                }
            }
            WeightFormat::I8 => {
                for (line, bytes) in row.chunks(4).enumerate() {
                    weights[line * pitch + output] = word(bytes);
                }
                scales[output] = stored.scales()[output].to_bits();
            }
            WeightFormat::Q8_0 => {
                let scales: &mut [f16] = bytemuck::cast_slice_mut(scales);
                for (block, bytes) in row.as_chunks::<34>().0.iter().enumerate() {
                    scales[block * pitch + output] = f16::from_ne_bytes([bytes[0], bytes[1]]);
                    for (line, bytes) in bytes[2..].chunks(4).enumerate() {
                        weights[(8 * block + line) * pitch + output] = word(bytes);
                    }
                }
            }
            WeightFormat::Q4_0 => {
                let scales: &mut [f16] = bytemuck::cast_slice_mut(scales);
                for (block, bytes) in row.as_chunks::<18>().0.iter().enumerate() {
                    scales[block * pitch + output] = f16::from_ne_bytes([bytes[0], bytes[1]]);
                    // Numbers 0 to 15 are the lower halves of the bytes, 16 to 31 the upper ones.
                    for (line, bytes) in bytes[2..].chunks(8).enumerate() {
                        let numbers = |shift: usize| {
                            let of = |(at, byte): (usize, &u8)| u32::from(byte >> shift & 15) << (4 * at);
                            bytes.iter().enumerate().map(of).sum::<u32>()
                        };
                        weights[(4 * block + line) * pitch + output] = numbers(0);
                        weights[(4 * block + line + 2) * pitch + output] = numbers(4);
                    }
                }
                // Padding has the number 8, which is a weight of 0. Stored blocks are whole, so there is none in them.
            }
        }
    }
}
