//! Camera frames, NV12 and NV21: conversion to RGB and from it.

use fastrand::Rng;
use tripipe::filter::Semiplanar;
use tripipe::{Context, Error, Image, Vector};

use super::numbers::{Fill, Kind, Numbers, Span, choose, extent};
use super::rasters::{RasterLayout, Shape, element, image, places, size, smaller_sizes};
use super::verdict::{Expected, Right};

/// A frame and an image.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub to_rgb: bool,
    pub size: [usize; 2],
    pub channels: usize,
    /// V before U: NV21.
    pub v_first: bool,
    /// Bytes before luma, after each of its rows, between the planes, after each row of chroma.
    pub gaps: [usize; 4],
    /// Whether chroma precedes luma.
    pub chroma_first: bool,
    /// The layout of the image from which a frame is made.
    pub place: RasterLayout,
    pub fill: Fill,
    pub fault: Option<Fault>,
}

/// An error in a description, which must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// A frame that ends too early.
    Short,
    /// An image of one or two channels.
    Channels(usize),
    /// Rows of luma that overlap.
    Luma,
    /// Rows of chroma that overlap.
    Chroma,
}

impl Frame {
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let large = choose(details, &[9, 30, 120]);
        let gap = |random: &mut Rng| choose(random, &[0, 0, 0, 1, 2, 3, 7, 16]);
        let mut frame = Self {
            to_rgb: random.bool(),
            size: [extent(details, large), extent(details, large)],
            channels: random.usize(3..=4),
            v_first: random.bool(),
            gaps: [gap(details), gap(details), gap(details), gap(details)],
            chroma_first: details.u32(..4) == 0,
            place: RasterLayout::draw(random, details),
            fill: Fill {
                numbers: choose(details, &[Numbers::Noise(1.0), Numbers::Ends]),
                seed: details.u32(..),
            },
            fault: None,
        };
        if frame.size[0] > 0 && frame.size[1] > 2 && details.u32(..8) == 0 {
            let faults = [Fault::Short, Fault::Channels(details.usize(1..3)), Fault::Luma, Fault::Chroma];
            frame.fault = Some(choose(details, &faults));
        }
        frame
    }

    fn half(&self) -> [usize; 2] {
        self.size.map(|extent| extent.div_ceil(2))
    }

    /// The offsets of luma and chroma with their bytes from row to row, and the total bytes.
    fn planes(&self) -> ([usize; 2], [usize; 2], usize) {
        let [width, height] = self.size;
        let [half_width, half_height] = self.half();
        let [before, luma_gap, between, chroma_gap] = self.gaps;
        let [luma_pitch, chroma_pitch] = [width + luma_gap, 2 * half_width + chroma_gap];
        let [luma_bytes, chroma_bytes] = [luma_pitch * height, chroma_pitch * half_height];
        let (luma, chroma) = if self.chroma_first {
            (before + chroma_bytes + between, before)
        } else {
            (before, before + luma_bytes + between)
        };
        let end = (luma + luma_bytes).max(chroma + chroma_bytes);
        ([luma, luma_pitch], [chroma, chroma_pitch], end)
    }

    fn shape(&self) -> Shape {
        [self.size[0], self.size[1], self.channels]
    }

    pub fn work(&self) -> f64 {
        (self.size[0] * self.size[1]) as f64 * 16.0
    }

    pub fn place(&self, index: usize) -> String {
        if self.to_rgb {
            RasterLayout::DENSE.name(self.shape(), index)
        } else {
            format!("byte {index} of the frame")
        }
    }

    pub fn smaller(&self) -> Vec<Self> {
        let mut found: Vec<Self> =
            smaller_sizes(self.size).into_iter().map(|size| Self { size, ..self.clone() }).collect();
        found.push(Self { gaps: [0; 4], ..self.clone() });
        for which in 0..4 {
            let mut gaps = self.gaps;
            gaps[which] = 0;
            found.push(Self { gaps, ..self.clone() });
        }
        found.push(Self { channels: 3, ..self.clone() });
        found.push(Self { v_first: false, ..self.clone() });
        found.push(Self { chroma_first: false, ..self.clone() });
        found.extend(self.place.smaller().into_iter().map(|place| Self { place, ..self.clone() }));
        found.retain(|smaller| smaller != self && self.fault.is_none());
        found
    }

    /// Bytes of a frame, or of an image's buffer.
    fn source(&self) -> Vec<u8> {
        let count = if self.to_rgb { self.planes().2 } else { self.place.elements(self.shape()) };
        self.fill.bytes(Kind::U8, count)
    }

    /// The contents of a frame before it is written.
    fn before(&self) -> Vec<u8> {
        Fill { numbers: Numbers::Noise(1.0), seed: 5 }.bytes(Kind::U8, self.planes().2)
    }

    /// BT.601 in limited range, in steps of 2^-20, as the library specifies.
    pub fn expected(&self) -> Expected {
        if self.fault.is_some() {
            return Expected::Refused;
        }
        if self.to_rgb { Right::dense(Kind::U8, self.to_rgb_pixels()) } else { self.to_frame_bytes() }
    }

    fn to_rgb_pixels(&self) -> Vec<Span> {
        let frame = self.source();
        let (luma, chroma, _) = self.planes();
        let pixel = |[x, y, channel]: [usize; 3]| {
            if channel == 3 {
                return Span::exact(255.0);
            }
            let at = chroma[0] + y / 2 * chroma[1] + x / 2 * 2;
            let [first, second] = [0, 1].map(|which| i64::from(frame[at + which]) - 128);
            let [u, v] = if self.v_first { [second, first] } else { [first, second] };
            let light = i64::from(frame[luma[0] + y * luma[1] + x]);
            let white = 1_220_542 * (light - 16).max(0) + (1 << 19);
            let scaled = match channel {
                0 => white + 1_673_527 * v,
                1 => white - 852_492 * v - 409_993 * u,
                _ => white + 2_116_026 * u,
            };
            Span::exact((scaled >> 20).clamp(0, 255) as f64)
        };
        places(self.shape()).map(pixel).collect()
    }

    fn to_frame_bytes(&self) -> Expected {
        let (luma, chroma, bytes) = self.planes();
        let source = self.source();
        let rgb = |x: usize, y: usize| {
            [0, 1, 2].map(|channel| i64::from(source[self.place.index(self.shape(), [x, y, channel])]))
        };
        let mut spans = vec![None; bytes];
        let [width, height] = self.size;
        for [x, y, _] in places([width, height, 1]) {
            let [r, g, b] = rgb(x, y);
            let value = ((269_484 * r + 528_482 * g + 102_760 * b + (1 << 19)) >> 20) + 16;
            spans[luma[0] + y * luma[1] + x] = Some(Span::exact(value as f64));
        }
        let [half_width, half_height] = self.half();
        for [x, y, which] in places([half_width, half_height, 2]) {
            let mut sum = [0; 3];
            for [dx, dy, _] in places([2, 2, 1]) {
                let pixel = rgb((2 * x + dx).min(width - 1), (2 * y + dy).min(height - 1));
                sum = [sum[0] + pixel[0], sum[1] + pixel[1], sum[2] + pixel[2]];
            }
            let is_v = (which == 0) == self.v_first;
            let [r, g, b] = if is_v { [460_324, -385_875, -74_448] } else { [-155_188, -305_135, 460_324] };
            let value = ((r * sum[0] + g * sum[1] + b * sum[2] + (1 << 21)) >> 22) + 128;
            spans[chroma[0] + y * chroma[1] + 2 * x + which] = Some(Span::exact(value.clamp(0, 255) as f64));
        }
        Expected::Result(Right {
            kind: Kind::U8,
            before: self.before(),
            spans,
            same: true,
            may_refuse: false,
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let (mut luma, mut chroma, _) = self.planes();
        let mut channels = self.channels;
        match self.fault {
            Some(Fault::Luma) => luma[1] = self.size[0] - 1,
            Some(Fault::Chroma) => chroma[1] = 2 * self.half()[0] - 1,
            Some(Fault::Channels(wrong)) => channels = wrong,
            _ => {}
        }
        let layout = Semiplanar { size: size(self.size), luma, chroma, v_first: self.v_first };
        // The padding after the last row may be missing.
        let needed = |bytes: Vec<u8>| {
            let short = usize::from(self.fault == Some(Fault::Short));
            bytes[..layout.bytes().saturating_sub(short).min(bytes.len())].to_vec()
        };
        if self.to_rgb {
            let frame = if self.fault == Some(Fault::Short) { needed(self.source()) } else { self.source() };
            let frame = Vector::from_slice(context, &frame)?;
            return Image::from_frame(&frame, &layout, channels)?.to_vec();
        }
        let shape = [self.size[0], self.size[1], channels];
        let mut source = self.source();
        source.resize(source.len().max(self.place.elements(shape)), 0);
        if self.size.contains(&0) {
            source.clear();
        }
        let source: Image<u8> = image(context, self.place.raster(shape, element(Kind::U8)), &source)?;
        let frame = if self.fault == Some(Fault::Short) { needed(self.before()) } else { self.before() };
        let mut frame = Vector::from_slice(context, &frame)?;
        source.to_frame(&mut frame, &layout)?.wait()?;
        frame.to_vec()
    }
}
