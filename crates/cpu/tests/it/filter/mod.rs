//! The filters of the CPU path against the specification's reference.

mod affine;
mod frames;
mod layouts;
mod peers;
mod resize;
mod special;
mod stages;

use half::f16;
use tripipe_cpu::{self as cpu, Threads};
use tripipe_kernels::filter::reference::{self, Mismatch};
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Gradient, Linear, Morphology, Neighbourhood, PixelType, Rank, Raster, Size,
    Stage,
};

const BORDERS: [Border; 6] = [
    Border::None,
    Border::Constant(37.4),
    Border::Replicate,
    Border::Reflect,
    Border::Reflect101,
    Border::Wrap,
];

/// Bytes that look random and, as pixels, are finite and often at the ends of their range.
fn noise(element: PixelType, bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let mut value = move || match next() % 5 {
        0 => [0, 0xFFFF][next() as usize % 2],
        _ => next() as u16,
    };
    match element {
        PixelType::U8 => (0..bytes).map(|_| value() as u8).collect(),
        // The ends of the signed range are the middle of the unsigned one.
        PixelType::I16 => (0..bytes / 2).flat_map(|_| (value() ^ 0x8000).to_ne_bytes()).collect(),
        PixelType::U16 => (0..bytes / 2).flat_map(|_| value().to_ne_bytes()).collect(),
        PixelType::F16 => (0..bytes / 2)
            .flat_map(|_| f16::from_f32(f32::from(value()) / 300.0 - 70.0).to_ne_bytes())
            .collect(),
        PixelType::F32 => {
            (0..bytes / 4).flat_map(|_| (f32::from(value()) / 300.0 - 70.0).to_ne_bytes()).collect()
        }
    }
}

/// Filters noise on one thread and on all, and compares with the reference.
fn check(chain: &Chain, from: &Raster, to: &Raster) {
    let source = noise(from.element, from.elements().unwrap() * from.element.bytes(), 7);
    let len = to.elements().unwrap() * to.element.bytes();
    for threads in [Threads::One, Threads::All] {
        let mut result = vec![0xA5; len];
        cpu::filter(chain, from, &source, to, &mut result, threads).unwrap();
        let compared = reference::verify(chain, from, &source, to, &result);
        assert_eq!(compared, Ok(()), "{threads:?} {chain:?}\n{from:?}\n{to:?}");
    }
}

/// The same for rasters without gaps, in both layouts.
fn check_layouts(chain: &Chain, size: Size, channels: usize, element: PixelType) {
    for from in [Raster::packed(size, channels, element), Raster::planar(size, channels, element)] {
        check(chain, &from, &chain.apply_to(&from).unwrap());
    }
}

fn linear(linear: Linear) -> Stage {
    Stage::Linear(linear)
}

/// Every kind of stage, and every path of the weighted sums. The comments name the property that selects the path.
fn stages() -> Vec<Stage> {
    let ramp = |len: i32| (0..len).map(|i| i - len / 3).collect::<Vec<i32>>();
    vec![
        linear(Linear::laplace_sharpen()),
        linear(Linear::gaussian(5, None).unwrap()),
        // 32 bits across, 16 down.
        linear(Linear::gaussian(7, Some(1.4)).unwrap()),
        // Sums of bytes and of 16-bit values that need all of 32 bits.
        linear(Linear::gaussian(29, Some(100.0)).unwrap()),
        linear(Linear::gaussian(29, Some(100.0)).unwrap().with_offset(-90).to(PixelType::I16)),
        linear(Linear::gaussian(9, None).unwrap().to(PixelType::F32)),
        linear(Linear::full(Size::new(3, 1), vec![1 << 14, 5, 17], (1 << 31) + 5).unwrap()),
        linear(Linear::sobel_x().to(PixelType::I16)),
        linear(Linear::scharr_y().to(PixelType::F32)),
        // Divisors that are not powers of two, in 16 bits, and in 32 because of the offset.
        linear(Linear::mean(Size::new(3, 5)).unwrap()),
        linear(Linear::mean(Size::new(5, 3)).unwrap().with_offset(-9)),
        linear(Linear::sobel_y().with_offset(128).to(PixelType::U16)),
        linear(Linear::unsharp(3, None, 0.7).unwrap()),
        // A divisor that is not a power of two with sums of both signs.
        linear(Linear::full(Size::new(3, 5), ramp(15), 7).unwrap()),
        linear(Linear::full(Size::square(1), vec![0], 1).unwrap()),
        linear(Linear::mean(Size::new(31, 1)).unwrap().to(PixelType::F16)),
        linear(Linear::separable(vec![1], ramp(9), 3).unwrap()),
        Stage::Gradient(Gradient::Sobel),
        Stage::Gradient(Gradient::Scharr),
        Stage::Median { size: 3 },
        Stage::Median { size: 5 },
        Stage::Rank(Rank { size: 7, rank: 24 }),
        Stage::Rank(Rank { size: 3, rank: 2 }),
        Stage::threshold(77.5).unwrap(),
        Stage::Morphology(Morphology::Erode(Neighbourhood::Rectangle(Size::new(5, 3)))),
        Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(Size::new(1, 7)))),
        Stage::Morphology(Morphology::Dilate(Neighbourhood::Cross(Size::new(7, 5)))),
        Stage::Bilateral(Bilateral { size: 5, sigma_color: 30.0, sigma_space: 1.5 }),
        Stage::Convert { to: PixelType::U8, scale: 0.7, offset: 3.5 },
        Stage::Convert { to: PixelType::F16, scale: -0.3, offset: 0.0 },
    ]
}

/// Checks that the comparison can fail: a result with one wrong bit is detected.
#[test]
fn the_comparison_detects_one_wrong_bit() {
    let from = Raster::packed(Size::new(40, 30), 1, PixelType::U8);
    let chain = Chain::one(linear(Linear::gaussian(5, None).unwrap()), Border::Wrap);
    let source = noise(PixelType::U8, 1200, 1);
    let mut result = vec![0; 1200];
    cpu::filter(&chain, &from, &source, &from, &mut result, Threads::All).unwrap();
    result[777] ^= 1;
    let compared = reference::verify(&chain, &from, &source, &from, &result);
    assert!(matches!(compared, Err(Mismatch::Pixel { x: 17, y: 19, count: 1, .. })), "{compared:?}");
}
