//! Converts bytes in memory to the components that a kernel sees, and back.

use half::f16;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape};

use super::{EncodedTexel, ImageError, Texel, TexelKind, srgb};

/// Channels of a texel in memory: at most four, then a 0 and a 1 for components without a channel, then unused
/// entries.
type Channels<T> = [T; 8];

const ZERO: u8 = 4;
const ONE: u8 = 5;

/// A resolved texel format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    channel: ChannelType,
    channels: usize,
    /// For red, green, blue and alpha: the channel that it is read from, [`ZERO`] or [`ONE`].
    read: [u8; 4],
    /// For each channel: the component written to it.
    write: [u8; 4],
    /// Alpha outside the image.
    border_alpha: u8,
    srgb: Option<&'static [f32; 256]>,
}

impl Format {
    pub(super) fn of(shape: &ImageShape) -> Self {
        use ChannelOrder as O;
        let order = shape.order;
        // OpenCL C 3.0, 6.15.15.7 "Mapping image channels to color values ..."; channels in memory are in the order
        // of the name.
        let (read, write) = match order {
            O::R | O::Depth => ([0, ZERO, ZERO, ONE], [0; 4]),
            O::A => ([ZERO, ZERO, ZERO, 0], [3; 4]),
            O::Rg => ([0, 1, ZERO, ONE], [0, 1, 0, 0]),
            O::Ra => ([0, ZERO, ZERO, 1], [0, 3, 0, 0]),
            O::Rgb => ([0, 1, 2, ONE], [0, 1, 2, 0]),
            O::Rgba | O::Srgba => ([0, 1, 2, 3], [0, 1, 2, 3]),
            O::Bgra | O::Sbgra => ([2, 1, 0, 3], [2, 1, 0, 3]),
            O::Argb => ([1, 2, 3, 0], [3, 0, 1, 2]),
            O::Abgr => ([3, 2, 1, 0], [3, 2, 1, 0]),
            O::Intensity => ([0; 4], [0; 4]),
            O::Luminance => ([0, 0, 0, ONE], [0; 4]),
        };
        // 6.15.15.1 "Determining the border color or value".
        let opaque = matches!(order, O::R | O::Rg | O::Rgb | O::Luminance | O::Depth);
        Self {
            channel: shape.channel,
            channels: order.channels(),
            read,
            write,
            border_alpha: u8::from(opaque),
            srgb: order.is_srgb().then(|| &*srgb::LINEAR),
        }
    }

    /// The component written to each channel; one entry if all channels share a number.
    pub(super) fn written(&self) -> &[u8] {
        &self.write[..if self.channel.is_packed() { 1 } else { self.channels }]
    }

    pub(super) fn kind(&self) -> TexelKind {
        match self.channel {
            ChannelType::I8 | ChannelType::I16 | ChannelType::I32 => TexelKind::Signed,
            ChannelType::U8 | ChannelType::U16 | ChannelType::U32 => TexelKind::Unsigned,
            _ => TexelKind::Float,
        }
    }

    pub(super) fn border(&self) -> Texel {
        match self.kind() {
            TexelKind::Float => Texel::Float([0.0, 0.0, 0.0, f32::from(self.border_alpha)]),
            TexelKind::Signed => Texel::Signed([0, 0, 0, i32::from(self.border_alpha)]),
            TexelKind::Unsigned => Texel::Unsigned([0, 0, 0, u32::from(self.border_alpha)]),
        }
    }

    /// Red, green, blue and alpha from the channels.
    #[inline]
    fn components<T: Copy>(&self, channels: &Channels<T>) -> [T; 4] {
        // All entries of `read` are below 8; the mask shows this to the compiler.
        self.read.map(|channel| channels[usize::from(channel & 7)])
    }

    /// Converts each channel of `B` bytes to a number.
    #[inline]
    fn split<const B: usize, T: Copy>(
        &self,
        bytes: &[u8],
        [zero, one]: [T; 2],
        number: impl Fn([u8; B]) -> T,
    ) -> [T; 4] {
        let mut channels = [zero; 8];
        channels[usize::from(ONE)] = one;
        let found = bytes.as_chunks::<B>().0.iter().take(self.channels);
        for (to, from) in channels.iter_mut().zip(found) {
            *to = number(*from);
        }
        self.components(&channels)
    }

    /// Unpacks bit fields of one number as fractions; for each channel the position of the lowest bit, and the
    /// largest value.
    #[inline]
    fn unpack<const N: usize>(&self, packed: u32, fields: [(u32, u16); N]) -> [f32; 4] {
        let mut channels = [0.0; 8];
        channels[usize::from(ONE)] = 1.0;
        for (to, (shift, most)) in channels.iter_mut().zip(fields) {
            *to = f32::from((packed >> shift) as u16 & most) / f32::from(most);
        }
        self.components(&channels)
    }

    #[inline]
    pub(super) fn decode(&self, bytes: &[u8]) -> Texel {
        use ChannelType as C;
        let floats = [0.0, 1.0];
        let short = || u32::from(u16::from_ne_bytes(first(bytes)));
        let long = || u32::from_ne_bytes(first(bytes));
        match self.channel {
            C::UnormU8 => Texel::Float(match self.srgb {
                None => self.split(bytes, floats, |[byte]| f32::from(byte) / 255.0),
                Some(linear) => {
                    let [r, g, b, a] = self.split(bytes, [0, u8::MAX], |[byte]| byte);
                    let [r, g, b] = [r, g, b].map(|code| linear[usize::from(code)]);
                    [r, g, b, f32::from(a) / 255.0]
                }
            }),
            C::UnormU16 => {
                Texel::Float(self.split(bytes, floats, |b| f32::from(u16::from_ne_bytes(b)) / 65535.0))
            }
            C::SnormI8 => Texel::Float(
                self.split(bytes, floats, |b| (f32::from(i8::from_ne_bytes(b)) / 127.0).max(-1.0)),
            ),
            C::SnormI16 => Texel::Float(
                self.split(bytes, floats, |b| (f32::from(i16::from_ne_bytes(b)) / 32767.0).max(-1.0)),
            ),
            C::Unorm565 => Texel::Float(self.unpack(short(), FIELDS_565)),
            C::Unorm555 => Texel::Float(self.unpack(short(), FIELDS_555)),
            C::Unorm101010 => Texel::Float(self.unpack(long(), FIELDS_101010)),
            C::Unorm1010102 => Texel::Float(self.unpack(long(), FIELDS_1010102)),
            C::F16 => Texel::Float(self.split(bytes, floats, |b| f16::from_ne_bytes(b).to_f32())),
            C::F32 => Texel::Float(self.split(bytes, floats, f32::from_ne_bytes)),
            C::I8 => Texel::Signed(self.split(bytes, [0, 1], |b| i8::from_ne_bytes(b).into())),
            C::I16 => Texel::Signed(self.split(bytes, [0, 1], |b| i16::from_ne_bytes(b).into())),
            C::I32 => Texel::Signed(self.split(bytes, [0, 1], i32::from_ne_bytes)),
            C::U8 => Texel::Unsigned(self.split(bytes, [0, 1], |[byte]| byte.into())),
            C::U16 => Texel::Unsigned(self.split(bytes, [0, 1], |b| u16::from_ne_bytes(b).into())),
            C::U32 => Texel::Unsigned(self.split(bytes, [0, 1], u32::from_ne_bytes)),
        }
    }

    /// Converts the components to bytes, in the order of the channels.
    #[inline]
    fn join<const B: usize, T: Copy>(&self, rgba: &[T; 4], bytes: impl Fn(T) -> [u8; B]) -> EncodedTexel {
        let channels = self.write.iter().take(self.channels);
        // All entries of `write` are below 4.
        EncodedTexel::new(channels.map(|component| bytes(rgba[usize::from(component & 3)])))
    }

    #[inline]
    pub(super) fn encode(&self, texel: &Texel) -> Result<EncodedTexel, ImageError> {
        use ChannelType as C;
        // A conversion with `as` saturates and converts NaN to 0.
        Ok(match (texel, self.channel) {
            (Texel::Float([r, g, b, a]), C::UnormU8) if self.srgb.is_some() => {
                let alpha = (a * 255.0).round_ties_even() as u8;
                self.join(&[srgb::code(*r), srgb::code(*g), srgb::code(*b), alpha], |code| [code])
            }
            (Texel::Float(rgba), C::UnormU8) => self.join(rgba, |f| [(f * 255.0).round_ties_even() as u8]),
            (Texel::Float(rgba), C::UnormU16) => {
                self.join(rgba, |f| ((f * 65535.0).round_ties_even() as u16).to_ne_bytes())
            }
            (Texel::Float(rgba), C::SnormI8) => {
                self.join(rgba, |f| ((f * 127.0).round_ties_even() as i8).to_ne_bytes())
            }
            (Texel::Float(rgba), C::SnormI16) => {
                self.join(rgba, |f| ((f * 32767.0).round_ties_even() as i16).to_ne_bytes())
            }
            (Texel::Float(rgba), C::Unorm565) => {
                EncodedTexel::new([(pack(rgba, FIELDS_565) as u16).to_ne_bytes()])
            }
            (Texel::Float(rgba), C::Unorm555) => {
                EncodedTexel::new([(pack(rgba, FIELDS_555) as u16).to_ne_bytes()])
            }
            (Texel::Float(rgba), C::Unorm101010) => {
                EncodedTexel::new([pack(rgba, FIELDS_101010).to_ne_bytes()])
            }
            (Texel::Float(rgba), C::Unorm1010102) => {
                EncodedTexel::new([pack(rgba, FIELDS_1010102).to_ne_bytes()])
            }
            (Texel::Float(rgba), C::F16) => self.join(rgba, |f| f16::from_f32(f).to_ne_bytes()),
            (Texel::Float(rgba), C::F32) => self.join(rgba, f32::to_ne_bytes),
            (Texel::Signed(rgba), C::I8) => {
                self.join(rgba, |i| (i.clamp(i8::MIN.into(), i8::MAX.into()) as i8).to_ne_bytes())
            }
            (Texel::Signed(rgba), C::I16) => {
                self.join(rgba, |i| (i.clamp(i16::MIN.into(), i16::MAX.into()) as i16).to_ne_bytes())
            }
            (Texel::Signed(rgba), C::I32) => self.join(rgba, i32::to_ne_bytes),
            (Texel::Unsigned(rgba), C::U8) => self.join(rgba, |i| [i.min(u8::MAX.into()) as u8]),
            (Texel::Unsigned(rgba), C::U16) => {
                self.join(rgba, |i| (i.min(u16::MAX.into()) as u16).to_ne_bytes())
            }
            (Texel::Unsigned(rgba), C::U32) => self.join(rgba, u32::to_ne_bytes),
            (texel, _) => return Err(ImageError::Kind { want: self.kind(), found: texel.kind() }),
        })
    }
}

// OpenCL 3.0 API, 5.3.1.1: red in the uppermost used bits, then green, blue and alpha.
const FIELDS_565: [(u32, u16); 3] = [(11, 31), (5, 63), (0, 31)];
const FIELDS_555: [(u32, u16); 3] = [(10, 31), (5, 31), (0, 31)];
const FIELDS_101010: [(u32, u16); 3] = [(20, 1023), (10, 1023), (0, 1023)];
const FIELDS_1010102: [(u32, u16); 4] = [(22, 1023), (12, 1023), (2, 1023), (0, 3)];

/// The first `B` bytes; zeros if there are fewer.
#[inline]
fn first<const B: usize>(bytes: &[u8]) -> [u8; B] {
    bytes.first_chunk().copied().unwrap_or([0; B])
}

/// Packs fractions into bit fields of one number; unused bits are 0.
#[inline]
fn pack<const N: usize>(rgba: &[f32; 4], fields: [(u32, u16); N]) -> u32 {
    rgba.iter().zip(fields).fold(0, |packed, (component, (shift, most))| {
        let code = (component * f32::from(most)).round_ties_even() as u16;
        packed | u32::from(code.min(most)) << shift
    })
}
