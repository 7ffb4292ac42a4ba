//! How chains are drawn, with and without faults.

use fastrand::Rng;

use super::super::numbers::{Fill, Kind, Numbers, choose, extent};
use super::super::rasters::{PIXELS, RasterLayout};
use super::{Border, Color, Fault, Filter, Step, Weights};

impl Weights {
    fn draw(random: &mut Rng) -> Self {
        let odd = |random: &mut Rng| match random.u32(..10) {
            0 => 2 * random.usize(..16) + 1,
            1..=3 => 5,
            4 => 7,
            5 => 1,
            _ => 3,
        };
        Self {
            size: [odd(random), odd(random)],
            separable: random.bool(),
            most: choose(random, &[1, 2, 4, 10, 100, 1000, 100_000]),
            negative: random.bool(),
            zeros: choose(random, &[0, 0, 2, 5]),
            seed: random.u32(..),
        }
    }
}

impl Step {
    /// A step that supports such an image.
    fn draw(random: &mut Rng, channels: usize, kind: Kind) -> Self {
        let odd = |random: &mut Rng| choose(random, &[1usize, 3, 3, 3, 5, 5, 7, 9, 15, 31]);
        let to = |random: &mut Rng| if random.u32(..3) == 0 { Some(choose(random, &PIXELS)) } else { None };
        loop {
            let step = match random.u32(..22) {
                0..=2 => Self::Linear {
                    weights: Weights::draw(random),
                    divisor: match random.u32(..6) {
                        0 => random.u32(1..),
                        1 => choose(random, &[1 << 31, u32::MAX, (1 << 31) + 7]),
                        2 => random.u32(1..20),
                        _ => choose(random, &[1, 1, 2, 16, 255, 256]),
                    },
                    offset: match random.u32(..8) {
                        0 => choose(random, &[i32::MAX, i32::MIN, 40000, -40000]),
                        1 | 2 => random.i32(-300..300),
                        _ => 0,
                    },
                    to: to(random),
                },
                3 | 4 => Self::Real {
                    weights: Weights::draw(random),
                    scale: choose(random, &[1.0, 0.1, 0.013, 1e-3, 0.37, -0.2, 3e6, 1e30]),
                    offset: choose(random, &[0, 0, 0, 128, -3]),
                    to: to(random),
                },
                5 | 6 => {
                    let sigma = choose(
                        random,
                        &[None, None, Some(0.5), Some(1.7), Some(5.0), Some(100.0), Some(1e-3)],
                    );
                    Self::Gaussian { size: odd(random), sigma }
                }
                7 => Self::Unsharp {
                    size: choose(random, &[3, 5, 7]),
                    sigma: choose(random, &[None, Some(2.0)]),
                    amount: choose(random, &[0.5, 1.5, -0.3]),
                },
                8 => Self::Mean([odd(random), odd(random)]),
                9 => choose(random, &[Self::Laplace4, Self::Laplace8, Self::LaplaceSharpen, Self::Sharpen]),
                10 => Self::Derivative { scharr: random.bool(), down: random.bool() },
                11 => Self::Gradient { scharr: random.bool() },
                12 | 13 => Self::Median(choose(random, &[3, 3, 5, 7])),
                14 | 15 => Self::Extreme {
                    dilate: random.bool(),
                    cross: random.bool(),
                    size: [odd(random), odd(random)],
                },
                16 => Self::Bilateral {
                    size: choose(random, &[3, 5, 7, 15]),
                    color: choose(random, &[0.1, 3.0, 40.0, 900.0, 1e5]),
                    space: choose(random, &[0.2, 1.0, 3.0, 50.0]),
                },
                17 | 18 => Self::Convert {
                    to: choose(random, &PIXELS),
                    scale: choose(random, &[1.0, 0.37, -1.0 / 255.0, 256.0, 0.0, 1e-3, 1e30]),
                    offset: choose(random, &[0.0, 5.5, -0.5, 32768.0]),
                },
                _ => Self::Color(choose(random, &Color::ALL)),
            };
            if step.output(channels, kind).is_some() {
                return step;
            }
        }
    }
}

impl Filter {
    /// A chain: its steps, types and layouts from `random`, the rest from `details`. With `color` it consists of
    /// colour conversions.
    pub fn draw(random: &mut Rng, details: &mut Rng, color: bool) -> Self {
        let kind = choose(random, &[Kind::U8, Kind::U8, Kind::I16, Kind::U16, Kind::F16, Kind::F32]);
        let channels = if color { choose(random, &[1, 3, 3, 4]) } else { random.usize(1..=4) };
        let length = if color { 1 } else { choose(random, &[1, 1, 1, 2, 3]) };
        let mut steps = Vec::new();
        let mut made = (channels, kind);
        while steps.len() < length {
            let step = Step::draw(random, made.0, made.1);
            if color && !matches!(step, Step::Color(_)) {
                continue;
            }
            made = step.output(made.0, made.1).unwrap_or(made);
            steps.push(step);
        }
        let border = match random.u32(..7) {
            0 => Border::None,
            1 => Border::Constant(choose(random, &[0.0, 7.5, -3.0, 1e6, f32::NAN, f32::INFINITY])),
            2 => Border::Replicate,
            3 => Border::Reflect,
            4 | 5 => Border::Reflect101,
            _ => Border::Wrap,
        };
        let large = choose(details, &[12, 24, 40, 130]);
        let mut filter = Self {
            steps,
            border,
            keep_alpha: random.bool(),
            size: [extent(details, large), extent(details, large.min(60))],
            channels,
            kind,
            from: RasterLayout::draw(random, details),
            to: RasterLayout::draw(random, details),
            fill: Fill { numbers: numbers(details, kind), seed: details.u32(..) },
            to_new: details.u32(..5) == 0,
            fault: None,
        };
        if filter.to_new {
            filter.to = RasterLayout { planar: filter.from.planar, ..RasterLayout::DENSE };
        }
        if details.u32(..12) == 0 {
            filter.add_fault(details);
        }
        filter
    }

    fn add_fault(&mut self, random: &mut Rng) {
        let mut open = vec![
            Fault::Width,
            Fault::Channels,
            Fault::Color,
            Fault::Window(choose(random, &[0, 2, 4, 33, usize::MAX])),
            Fault::Sigma(choose(random, &[0.0, -1.0, f32::NAN, f32::INFINITY])),
            Fault::Divisor,
            Fault::Scale(choose(random, &[f32::NAN, f32::INFINITY])),
            Fault::Nothing,
        ];
        if self.size[0] > 0 && self.size[1] > 1 {
            open.push(Fault::Pitch);
            self.from.row_gap = 0;
        }
        if self.size[0] * self.size[1] > 0 {
            open.extend([Fault::Short, Fault::InPlace]);
            if self.from.planar && self.channels > 1 {
                open.push(Fault::Planes);
            }
        }
        self.to_new = false;
        self.fault = Some(choose(random, &open));
    }
}

/// Random contents for images.
pub fn numbers(random: &mut Rng, kind: Kind) -> Numbers {
    if !kind.is_float() {
        let edges = Numbers::Edges(random.u32(1..40));
        return choose(
            random,
            &[Numbers::Noise(1.0), Numbers::Ends, edges, Numbers::Small, Numbers::Flat(200)],
        );
    }
    match random.u32(..12) {
        0 => Numbers::Special(choose(random, &[10, 60, 300])),
        1 => Numbers::Ends,
        2 => Numbers::Small,
        3 => Numbers::Flat(40),
        4 => Numbers::Noise(if kind == Kind::F16 { 6e4 } else { 1e36 }),
        5 | 6 => Numbers::Noise(300.0),
        _ => Numbers::Noise(1.0),
    }
}
