//! Resizing beside another implementation, `fast_image_resize`, where its definitions are the same.
//!
//! Its `Interpolation` reads as many pixels when an image shrinks as when it grows, with the weights of a function of the
//! distance: `linear` here, and `cubic` and `lanczos4` with their functions. Its own cubic functions have other constants,
//! its Lanczos has three lobes, its box is the mean of `area` only for whole factors, and its
//! nearest pixel is that of the centre. At edges it leaves pixels out
//! where they are repeated here, which is the same for two pixels. It rounds between the axes: within 1 of bytes and of 16
//! bits, where the weights are positive; `cubic` and `lanczos4` of pixels with room around them within 2.

use std::f64::consts::PI;

use fast_image_resize::images::Image;
use fast_image_resize::{self as peer, Filter, FilterType, ResizeAlg, ResizeOptions, Resizer};
use tripipe_cpu::{self as cpu, Threads};
use tripipe_kernels::filter::{Interpolation, PixelType, Raster, Size};

use super::noise;

/// OpenCV's constant, -0.75.
fn cubic(x: f64) -> f64 {
    match x.abs() {
        x if x < 1.0 => (1.25 * x - 2.25) * x * x + 1.0,
        x if x < 2.0 => -0.75 * (((x - 5.0) * x + 8.0) * x - 4.0),
        _ => 0.0,
    }
}

fn lanczos4(x: f64) -> f64 {
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    if x.abs() < 4.0 { sinc(x) * sinc(x / 4.0) } else { 0.0 }
}

#[test]
fn resizing_is_that_of_a_peer() {
    let custom = |name, function, support| FilterType::Custom(Filter::new(name, function, support).unwrap());
    let methods = [
        (Interpolation::Bilinear, ResizeAlg::Interpolation(FilterType::Bilinear), 1, 0),
        (Interpolation::Area, ResizeAlg::Convolution(FilterType::Box), 1, 0),
        (Interpolation::Cubic, ResizeAlg::Interpolation(custom("cubic", cubic, 2.0)), 2, 2),
        (Interpolation::Lanczos4, ResizeAlg::Interpolation(custom("lanczos4", lanczos4, 4.0)), 2, 4),
    ];
    let from = Size::new(96, 60);
    for to in [Size::new(48, 20), Size::new(130, 77), Size::new(31, 47)] {
        for (how, algorithm, within, margin) in methods {
            let is_whole = from.width.is_multiple_of(to.width) && from.height.is_multiple_of(to.height);
            if how == Interpolation::Area && !is_whole {
                continue;
            }
            for (element, channels, kind) in [
                (PixelType::U8, 3, peer::PixelType::U8x3),
                (PixelType::U8, 4, peer::PixelType::U8x4),
                (PixelType::U16, 1, peer::PixelType::U16),
            ] {
                let [from, to] = [from, to].map(|size| Raster::packed(size, channels, element));
                let mut source = noise(element, from.elements().unwrap() * element.bytes(), 11);
                if how.is_signed() {
                    // In the middle of the range, where intermediate sums are not limited to it.
                    let shift = |byte: u8| byte / 2 + 64;
                    let step = element.bytes();
                    source.iter_mut().skip(step - 1).step_by(step).for_each(|byte| *byte = shift(*byte));
                }
                let mut found = vec![0; to.elements().unwrap() * element.bytes()];
                cpu::resize(how, &from, &source, &to, &mut found, Threads::One).unwrap();
                let [width, height] = [from.width, from.height].map(|extent| extent as u32);
                let source = Image::from_vec_u8(width, height, source, kind).unwrap();
                let mut want = Image::new(to.width as u32, to.height as u32, kind);
                let options = ResizeOptions::new().resize_alg(algorithm).use_alpha(false);
                Resizer::new().resize(&source, &mut want, &options).unwrap();
                let room = |from: usize, to: usize| (margin * to).div_ceil(from) + usize::from(margin > 0);
                let [left, top] = [room(from.width, to.width), room(from.height, to.height)];
                for y in top..to.height - top {
                    for x in left * channels..(to.width - left) * channels {
                        let at = (y * to.width * channels + x) * element.bytes();
                        let [found, want] = [&found, want.buffer()].map(|bytes| match element {
                            PixelType::U8 => i32::from(bytes[at]),
                            _ => i32::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]])),
                        });
                        assert!(
                            (found - want).abs() <= within,
                            "{how} {from} {to}: ({x}, {y}): {found} {want}"
                        );
                    }
                }
            }
        }
    }
}
