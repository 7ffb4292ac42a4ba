//! Stages that read one pixel only.

use pulp::Arch;
use tripipe_kernels::filter::{Chroma, Color};

use super::kernel::each;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
use super::luma::luma;
use super::number::Number;
use super::rows::{LANES, Rows};

/// `value * scale + offset` in another type.
pub(super) struct Convert<'a, T> {
    input: Box<dyn Rows<T> + 'a>,
    part: Vec<T>,
    scale: f32,
    offset: f32,
    arch: Arch,
}

impl<'a, T: Number> Convert<'a, T> {
    pub(super) fn new(input: Box<dyn Rows<T> + 'a>, [scale, offset]: [f32; 2], arch: Arch) -> Self {
        Self { input, part: Vec::new(), scale, offset, arch }
    }
}

impl<T: Number, U: Number> Rows<U> for Convert<'_, T> {
    fn part(&mut self, y: isize, at: usize, out: &mut [U]) {
        let Self { input, part, scale, offset, arch } = self;
        part.resize(out.len().next_multiple_of(LANES), T::zeroed());
        input.part(y, at, &mut part[..out.len()]);
        let (scale, offset) = (*scale, *offset);
        each(*arch, part, out, move |value| U::from_float(value.to_float() * scale + offset));
    }
}

/// Conversion to other channels.
pub(super) struct Recolor<'a, T> {
    input: Box<dyn Rows<T> + 'a>,
    part: Vec<T>,
    color: Color,
    /// The number of channels of the input and of the output.
    channels: [usize; 2],
    arch: Arch,
}

impl<'a, T: Shade> Recolor<'a, T> {
    /// `channels` are those of the input and of the output.
    pub(super) fn new(input: Box<dyn Rows<T> + 'a>, color: Color, channels: [usize; 2], arch: Arch) -> Self {
        Self { input, part: Vec::new(), color, channels, arch }
    }
}

impl<T: Shade> Rows<T> for Recolor<'_, T> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, part, color, channels, arch } = self;
        let [takes, gives] = *channels;
        part.resize(out.len() / gives * takes, T::zeroed());
        input.part(y, at / gives * takes, part);
        match (&*color, &*channels) {
            (Color::RgbToGray | Color::BgrToGray, _) => {
                let places = if *color == Color::RgbToGray { [0, 1, 2] } else { [2, 1, 0] };
                gray(*arch, part, takes, places, out);
            }
            (Color::GrayToRgb, _) => pixels(*arch, part, out, |[gray]: [T; 1]| [gray; 3]),
            (Color::SwapRedBlue, [3, _]) => pixels(*arch, part, out, |[r, g, b]: [T; 3]| [b, g, r]),
            (Color::SwapRedBlue, _) => pixels(*arch, part, out, |[r, g, b, a]: [T; 4]| [b, g, r, a]),
            (Color::DropAlpha, _) => pixels(*arch, part, out, |[r, g, b, _]: [T; 4]| [r, g, b]),
            (Color::AddAlpha, _) => pixels(*arch, part, out, |[r, g, b]: [T; 3]| [r, g, b, T::LARGEST]),
            (Color::RgbToYuv, _) => pixels(*arch, part, out, |rgb: [T; 3]| T::yuv(rgb, Chroma::YUV)),
            (Color::YuvToRgb, _) => pixels(*arch, part, out, |yuv: [T; 3]| T::rgb(yuv, Chroma::YUV)),
            (Color::RgbToYcrcb, _) => pixels(*arch, part, out, |rgb: [T; 3]| {
                let [luma, blue, red] = T::yuv(rgb, Chroma::YCRCB);
                [luma, red, blue]
            }),
            (Color::YcrcbToRgb, _) => {
                pixels(*arch, part, out, |[luma, red, blue]: [T; 3]| {
                    T::rgb([luma, blue, red], Chroma::YCRCB)
                });
            }
        }
    }
}

/// The compilers of other machines load every third byte at once.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn luma(_: Arch, _: &[u8], _: usize, _: [usize; 3], _: &mut [u8]) -> usize {
    0
}

/// Luma of pixels of `channels` elements, of which red, green and blue are at these places.
fn gray<T: Shade>(arch: Arch, row: &[T], channels: usize, [r, g, b]: [usize; 3], out: &mut [T]) {
    let done = match (bytemuck::try_cast_slice(row), bytemuck::try_cast_slice_mut(out)) {
        // Bytes are the only elements of this size.
        (Ok(row), Ok(out)) if size_of::<T>() == 1 => luma(arch, row, channels, [r, g, b], out),
        _ => 0,
    };
    let (row, out) = (&row[done * channels..], &mut out[done..]);
    // Closures that know the places, which the compiler makes shuffles of.
    match (channels, r < b) {
        (3, true) => pixels(arch, row, out, |[r, g, b]: [T; 3]| [T::luma(r, g, b)]),
        (3, false) => pixels(arch, row, out, |[b, g, r]: [T; 3]| [T::luma(r, g, b)]),
        (_, true) => pixels(arch, row, out, |[r, g, b, _]: [T; 4]| [T::luma(r, g, b)]),
        (_, false) => pixels(arch, row, out, |[b, g, r, _]: [T; 4]| [T::luma(r, g, b)]),
    }
}

fn pixels<T: Number, const P: usize, const Q: usize>(
    arch: Arch,
    row: &[T],
    out: &mut [T],
    recolor: impl Fn([T; P]) -> [T; Q],
) {
    let (row, out) = (row.as_chunks::<P>().0, out.as_chunks_mut::<Q>().0);
    arch.dispatch(|| {
        for (pixel, out) in row.iter().zip(out) {
            *out = recolor(*pixel);
        }
    });
}

/// A pixel type with its colour arithmetic.
pub(super) trait Shade: Number {
    /// White, opaque.
    const LARGEST: Self;

    fn luma(red: Self, green: Self, blue: Self) -> Self;

    /// Luma, and the differences of blue and of red.
    fn yuv(rgb: [Self; 3], chroma: Chroma) -> [Self; 3];

    /// The inverse of [`Self::yuv`].
    fn rgb(yuv: [Self; 3], chroma: Chroma) -> [Self; 3];
}

macro_rules! shade_integer {
    ($($type:ty: $half:expr),*) => { $(
        impl Shade for $type {
            const LARGEST: $type = <$type>::MAX;

            #[inline(always)]
            fn luma(red: $type, green: $type, blue: $type) -> $type {
                let [r, g, b] = Color::LUMA_STEPS;
                // At most 65535 * 32768 + 16384, which fits.
                ((r * i32::from(red) + g * i32::from(green) + b * i32::from(blue) + (1 << 14)) >> 15) as $type
            }

            #[inline(always)]
            fn yuv([red, green, blue]: [$type; 3], chroma: Chroma) -> [$type; 3] {
                let [red, green, blue] = [red, green, blue].map(i32::from);
                let [r, g, b] = Chroma::LUMA_STEPS;
                let luma = steps(r * red + g * green + b * blue);
                let [u, v] = chroma.to_steps;
                // Differences are at most 65535: all products fit.
                let difference = |step: i32, value: i32| Self::from_integer(steps(step * (value - luma)) + $half);
                [luma as $type, difference(u, blue), difference(v, red)]
            }

            #[inline(always)]
            fn rgb([luma, u, v]: [$type; 3], chroma: Chroma) -> [$type; 3] {
                let luma = i32::from(luma);
                let [u, v] = [u, v].map(|chroma| i32::from(chroma) - $half);
                let [blue, green_u, green_v, red] = chroma.back_steps;
                [
                    Self::from_integer(luma + steps(v * red)),
                    Self::from_integer(luma + steps(u * green_u + v * green_v)),
                    Self::from_integer(luma + steps(u * blue)),
                ]
            }
        }
    )* };
}

shade_integer!(u8: 128, i16: 0, u16: 32768);

/// Converts from steps of 2^-14, rounding half up.
#[inline(always)]
fn steps(value: i32) -> i32 {
    (value + (1 << 13)) >> 14
}

impl Shade for f32 {
    const LARGEST: f32 = 1.0;

    #[inline(always)]
    fn luma(red: f32, green: f32, blue: f32) -> f32 {
        let [r, g, b] = Color::LUMA;
        r * red + g * green + b * blue
    }

    #[inline(always)]
    fn yuv([red, green, blue]: [f32; 3], chroma: Chroma) -> [f32; 3] {
        let luma = Self::luma(red, green, blue);
        let [u, v] = chroma.to;
        [luma, (blue - luma) * u + 0.5, (red - luma) * v + 0.5]
    }

    #[inline(always)]
    fn rgb([luma, u, v]: [f32; 3], chroma: Chroma) -> [f32; 3] {
        let [u, v] = [u - 0.5, v - 0.5];
        let [blue, green_u, green_v, red] = chroma.back;
        [luma + v * red, luma + (u * green_u + v * green_v), luma + u * blue]
    }
}
