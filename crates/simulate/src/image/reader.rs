//! Reads through a sampler.

use tripipe_launch::{Addressing, Filter, ImageExtent, Sampler};

use super::address::Address;
use super::{Image, ImageError, Texel, TexelSource};

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The texel.
    pub texel: Texel,
    /// Whether the kernel violated its promise to stay inside: it reads without a sampler, or through one with
    /// `CLK_ADDRESS_NONE`, and a texel with non-zero weight is outside. That texel is treated as the border.
    pub outside: bool,
}

/// The texels of a read, and their weights: 1 texel, or with a linear filter up to 2, 4 or 8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taps {
    offsets: [Option<usize>; 8],
    weights: [f32; 8],
    len: usize,
    outside: bool,
}

impl Taps {
    /// One texel.
    #[inline]
    fn one(offset: Option<usize>) -> Self {
        Self { offsets: [offset; 8], weights: [1.0; 8], len: 1, outside: false }
    }

    /// The byte offsets of the texels inside the image; at an edge an offset may occur twice. Texels of weight 0 are
    /// not included.
    pub fn offsets(&self) -> impl Iterator<Item = usize> {
        self.used().filter_map(|(offset, _)| offset)
    }

    /// Whether a texel with non-zero weight is outside, where the sampler defines no result ([`Sample::outside`]).
    pub fn outside(&self) -> bool {
        self.outside
    }

    /// Texels of a weight other than 0.
    #[inline]
    fn used(&self) -> impl Iterator<Item = (Option<usize>, f32)> {
        let taps = self.offsets.iter().copied().zip(self.weights).take(self.len);
        taps.filter(|(_, weight)| *weight != 0.0)
    }

    /// Splits each tap into two along a dimension; `share` is the weight of the second.
    #[inline]
    fn split(&mut self, [first, second]: [Option<u32>; 2], share: f32, stride: usize) {
        let len = self.len.min(4);
        for tap in 0..len {
            let (offset, weight) = (self.offsets[tap], self.weights[tap]);
            self.offsets[tap] = moved(offset, first, stride);
            self.weights[tap] = weight * (1.0 - share);
            self.offsets[len + tap] = moved(offset, second, stride);
            self.weights[len + tap] = weight * share;
        }
        self.len = 2 * len;
    }
}

#[inline]
fn moved(offset: Option<usize>, texel: Option<u32>, stride: usize) -> Option<usize> {
    Some(offset? + texel? as usize * stride)
}

/// An image with the sampler for reading it, resolved.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    image: Image,
    address: Address,
    linear: bool,
}

impl Reader {
    /// Reads `image` through `sampler`.
    ///
    /// # Errors
    /// Combinations that OpenCL leaves undefined for all coordinates: [`ImageError::SamplerForBuffer`],
    /// [`ImageError::RepeatUnnormalized`], [`ImageError::LinearIntegers`].
    pub fn new(image: &Image, sampler: Sampler) -> Result<Self, ImageError> {
        let shape = image.shape();
        if matches!(shape.extent, ImageExtent::Buffer { .. }) {
            return Err(ImageError::SamplerForBuffer);
        }
        let repeats = matches!(sampler.addressing, Addressing::Repeat | Addressing::MirroredRepeat);
        if repeats && !sampler.normalized {
            return Err(ImageError::RepeatUnnormalized);
        }
        let linear = sampler.filter == Filter::Linear;
        if linear && shape.channel.is_integer() {
            return Err(ImageError::LinearIntegers { channel: shape.channel });
        }
        Ok(Self { image: *image, address: Address::of(sampler), linear })
    }

    /// The image.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Whether OpenCL defines reads at integer coordinates: coordinates are not normalised, and the filter is
    /// nearest.
    pub fn takes_integers(&self) -> bool {
        !self.linear && !self.address.normalized
    }

    /// The texels at float coordinates. The layer of an array is rounded to nearest even and clamped. NaN and
    /// infinity, which OpenCL leaves undefined, are treated as far outside.
    #[inline]
    pub fn taps(&self, coordinates: [f32; 3]) -> Taps {
        if !self.linear {
            let offset = self.nearest(coordinates);
            return Taps { outside: self.promised(offset), ..Taps::one(offset) };
        }
        let image = &self.image;
        let mut taps = Taps::one(Some(self.layer(coordinates)));
        for (axis, coordinate) in coordinates.into_iter().enumerate().take(image.dimensions) {
            let (texels, share) = self.address.linear(coordinate, image.size[axis]);
            taps.split(texels, share, image.stride[axis]);
        }
        let outside = taps.used().any(|(offset, _)| self.promised(offset));
        Taps { outside, ..taps }
    }

    /// The texels at integer coordinates. The layer of an array is clamped. If [`Self::takes_integers`] is false,
    /// which OpenCL leaves undefined, the coordinates are converted to floats.
    pub fn taps_at(&self, coordinates: [i32; 3]) -> Taps {
        if !self.takes_integers() {
            return self.taps(coordinates.map(|coordinate| coordinate as f32));
        }
        let offset = self.exact(coordinates);
        Taps { outside: self.promised(offset), ..Taps::one(offset) }
    }

    /// The weighted sum of the texels of `taps`; texels outside the image count as the border.
    #[inline]
    pub fn texel(&self, taps: &Taps, source: &mut impl TexelSource) -> Texel {
        if taps.len == 1 {
            return self.one(taps.offsets[0], source);
        }
        let mut sum = [0.0; 4];
        for (offset, weight) in taps.used() {
            // Only floats have several taps.
            if let Texel::Float(rgba) = self.one(offset, source) {
                for (sum, component) in sum.iter_mut().zip(rgba) {
                    *sum += weight * component;
                }
            }
        }
        Texel::Float(sum)
    }

    /// A read at float coordinates: [`Self::texel`] of [`Self::taps`].
    #[inline]
    pub fn sample(&self, coordinates: [f32; 3], source: &mut impl TexelSource) -> Sample {
        if self.linear {
            let taps = self.taps(coordinates);
            return Sample { texel: self.texel(&taps, source), outside: taps.outside };
        }
        let offset = self.nearest(coordinates);
        Sample { texel: self.one(offset, source), outside: self.promised(offset) }
    }

    /// A read at integer coordinates: [`Self::texel`] of [`Self::taps_at`].
    #[inline]
    pub fn sample_at(&self, coordinates: [i32; 3], source: &mut impl TexelSource) -> Sample {
        if !self.takes_integers() {
            return self.sample(coordinates.map(|coordinate| coordinate as f32), source);
        }
        let offset = self.exact(coordinates);
        Sample { texel: self.one(offset, source), outside: self.promised(offset) }
    }

    /// The texel at an offset; the border if there is none.
    #[inline]
    fn one(&self, offset: Option<usize>, source: &mut impl TexelSource) -> Texel {
        match offset {
            Some(offset) => self.image.decode(source.texel(offset, self.image.texel_bytes())),
            None => self.image.border(),
        }
    }

    /// Whether the texel is outside although the kernel promised to stay inside.
    #[inline]
    fn promised(&self, offset: Option<usize>) -> bool {
        offset.is_none() && self.address.addressing == Addressing::None
    }

    /// The offset of the nearest texel.
    #[inline]
    fn nearest(&self, coordinates: [f32; 3]) -> Option<usize> {
        let image = &self.image;
        let mut offset = self.layer(coordinates);
        for (axis, coordinate) in coordinates.into_iter().enumerate().take(image.dimensions) {
            offset += self.address.nearest(coordinate, image.size[axis])? as usize * image.stride[axis];
        }
        Some(offset)
    }

    /// The offset of the texel with these coordinates.
    #[inline]
    fn exact(&self, coordinates: [i32; 3]) -> Option<usize> {
        let image = &self.image;
        let mut offset = self.layer_at(coordinates);
        for (axis, coordinate) in coordinates.into_iter().enumerate().take(image.dimensions) {
            offset += self.address.texel(coordinate, image.size[axis])? as usize * image.stride[axis];
        }
        Some(offset)
    }

    /// The offset of the layer that the coordinates select; 0 for images without layers.
    #[inline]
    fn layer(&self, coordinates: [f32; 3]) -> usize {
        if !self.image.array {
            return 0;
        }
        // The conversion saturates and converts NaN to 0.
        self.layer_at(coordinates.map(|coordinate| coordinate.round_ties_even() as i32))
    }

    #[inline]
    fn layer_at(&self, coordinates: [i32; 3]) -> usize {
        let image = &self.image;
        // An array has at most two other dimensions.
        let axis = image.dimensions.min(2);
        if !image.array {
            return 0;
        }
        coordinates[axis].clamp(0, image.size[axis].cast_signed() - 1) as usize * image.stride[axis]
    }
}
