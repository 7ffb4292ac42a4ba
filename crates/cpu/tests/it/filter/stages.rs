//! Stages and chains of stages, for every element and border.

use half::f16;
use proptest::prelude::*;
use tripipe_kernels::filter::reference;
use tripipe_kernels::filter::{
    Border, Chain, ChannelLayout, Color, Gradient, Linear, Morphology, Neighbourhood, PixelType, Raster,
    Size, Stage,
};

use super::{BORDERS, check, check_layouts, linear, noise, stages};

#[test]
fn every_stage_for_every_element() {
    for stage in stages() {
        for element in PixelType::ALL {
            let chain = Chain::one(stage.clone(), Border::Reflect101);
            check_layouts(&chain, Size::new(19, 9), 1, element);
            check_layouts(&chain, Size::new(11, 8), 3, element);
        }
    }
}

#[test]
fn every_stage_for_every_border() {
    for stage in stages() {
        for (border, element) in BORDERS.into_iter().zip(PixelType::ALL.into_iter().cycle()) {
            let chain = Chain::one(stage.clone(), border).keep_alpha(true);
            check_layouts(&chain, Size::new(13, 10), 4, element);
            check_layouts(&Chain::one(stage.clone(), border), Size::new(21, 7), 2, PixelType::U8);
        }
    }
}

/// Images narrower and lower than the windows.
#[test]
fn small_images() {
    for stage in stages() {
        for border in BORDERS {
            for size in [Size::square(1), Size::new(1, 6), Size::new(5, 1), Size::new(2, 3), Size::new(4, 2)]
            {
                check_layouts(&Chain::one(stage.clone(), border), size, 1, PixelType::U8);
                check_layouts(&Chain::one(stage.clone(), border), size, 3, PixelType::F32);
            }
        }
    }
}

#[test]
fn every_color() {
    let colors = [
        Color::RgbToGray,
        Color::BgrToGray,
        Color::GrayToRgb,
        Color::SwapRedBlue,
        Color::DropAlpha,
        Color::AddAlpha,
        Color::RgbToYuv,
        Color::YuvToRgb,
        Color::RgbToYcrcb,
        Color::YcrcbToRgb,
    ];
    for color in colors {
        for channels in (1..=4).filter(|channels| color.channels(*channels).is_ok()) {
            for element in PixelType::ALL {
                check_layouts(
                    &Chain::one(Stage::Color(color), Border::None),
                    Size::new(70, 5),
                    channels,
                    element,
                );
            }
        }
    }
}

/// The filter with a dedicated implementation.
#[test]
fn laplace() {
    for (size, channels) in [
        (Size::square(1), 1),
        (Size::new(2, 9), 3),
        (Size::new(70, 9), 1),
        (Size::new(33, 12), 3),
        (Size::new(40, 8), 4),
        (Size::new(300, 200), 3),
    ] {
        for keep_alpha in [false, true] {
            let chain = Chain::one(linear(Linear::laplace_sharpen()), Border::None).keep_alpha(keep_alpha);
            check_layouts(&chain, size, channels, PixelType::U8);
        }
    }
}

/// Windows after windows, types that change in between, and colour; each stage reads the rounded results of the one
/// before.
#[test]
fn chains() {
    let chains = [
        vec![
            Stage::Color(Color::RgbToGray),
            linear(Linear::gaussian(5, None).unwrap()),
            Stage::Gradient(Gradient::Sobel),
            Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(Size::square(3)))),
        ],
        vec![
            linear(Linear::gaussian(3, Some(0.9)).unwrap().to(PixelType::F16)),
            Stage::Convert { to: PixelType::I16, scale: 3.0, offset: -100.0 },
            Stage::Median { size: 3 },
            linear(Linear::laplace4().to(PixelType::F32)),
            Stage::Convert { to: PixelType::U8, scale: 0.5, offset: 128.0 },
        ],
        vec![
            Stage::Color(Color::AddAlpha),
            linear(Linear::mean(Size::new(3, 7)).unwrap()),
            Stage::Color(Color::DropAlpha),
            Stage::Color(Color::RgbToYuv),
        ],
    ];
    for stages in chains {
        for border in BORDERS {
            for keep_alpha in [false, true] {
                let chain = Chain::new(stages.clone(), border).keep_alpha(keep_alpha);
                for size in [Size::new(1, 2), Size::new(6, 3), Size::new(33, 40)] {
                    check_layouts(&chain, size, 3, PixelType::U8);
                }
                check_layouts(&chain, Size::new(10, 12), 3, PixelType::F16);
            }
        }
    }
}

/// Sizes around the blocks, around the chunks of a row, and above the size from which all threads are used.
#[test]
fn lengths_of_rows() {
    let chain = |stage: Stage| Chain::one(stage, Border::Replicate);
    for stage in [linear(Linear::gaussian(5, None).unwrap()), Stage::Median { size: 3 }] {
        for width in [63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 4161] {
            check(
                &chain(stage.clone()),
                &Raster::packed(Size::new(width, 2), 1, PixelType::U8),
                &Raster::packed(Size::new(width, 2), 1, PixelType::U8),
            );
        }
    }
    // Some rows together, in parts of 24 KiB and in chunks of 2 KiB of sums.
    let stages = [
        linear(Linear::mean(Size::square(3)).unwrap()),
        linear(Linear::gaussian(5, None).unwrap()),
        linear(Linear::gaussian(7, None).unwrap()),
        linear(Linear::laplace_sharpen()),
        Stage::Gradient(Gradient::Sobel),
        Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(Size::square(5)))),
        Stage::Median { size: 5 },
    ];
    for stage in stages {
        for (element, lens) in [(PixelType::U8, [1024, 24576]), (PixelType::F32, [512, 6144])] {
            for width in lens.into_iter().flat_map(|len| [len - 1, len, len + 1]) {
                let raster = Raster::packed(Size::new(width, 6), 1, element);
                check(&chain(stage.clone()), &raster, &raster);
            }
        }
    }
    let wide = Raster::packed(Size::new(1400, 3), 3, PixelType::U8);
    let flat = Raster::packed(Size::new(260, 700), 1, PixelType::U8);
    for stage in [
        linear(Linear::laplace_sharpen()),
        Stage::Morphology(Morphology::Erode(Neighbourhood::Cross(Size::square(3)))),
    ] {
        for border in BORDERS {
            let chain = Chain::one(stage.clone(), border);
            check(&chain, &wide, &wide);
            let twice = chain.with_stages(vec![stage.clone(), stage.clone()]);
            check(&twice, &flat, &flat);
        }
    }
}

fn any_raster() -> impl Strategy<Value = Raster> {
    let element = prop::sample::select(PixelType::ALL.to_vec());
    (1usize..90, 1usize..40, 1usize..=4, element, any::<bool>(), 0usize..4).prop_map(
        |(width, height, channels, element, planar, gap)| {
            let raster = if planar { Raster::planar } else { Raster::packed }(
                Size::new(width, height),
                channels,
                element,
            );
            raster.with_pitch(raster.pitch + gap)
        },
    )
}

/// Whether no stage turns the noise into infinity or NaN.
fn stays_finite(chain: &Chain, from: &Raster) -> bool {
    let source = noise(from.element, from.elements().unwrap() * from.element.bytes(), 7);
    (1..=chain.stages.len()).all(|count| {
        let stages = chain.stages[..count].to_vec();
        let part = chain.with_stages(stages);
        let to = part.apply_to(from).unwrap();
        let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
        reference::apply(&part, from, &source, &to, &mut result).unwrap();
        match to.element {
            PixelType::U8 | PixelType::I16 | PixelType::U16 => true,
            PixelType::F16 => {
                bytemuck::pod_collect_to_vec::<u8, f16>(&result).iter().all(|value| value.is_finite())
            }
            PixelType::F32 => {
                bytemuck::pod_collect_to_vec::<u8, f32>(&result).iter().all(|value| value.is_finite())
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_chains(
        from in any_raster(),
        stages in prop::collection::vec(prop::sample::select(stages()), 1..4),
        border in prop::sample::select(BORDERS.to_vec()),
        keep_alpha: bool,
        packed: bool,
    ) {
        let chain = Chain::new(stages, border).keep_alpha(keep_alpha);
        // Sums of sums may exceed 32 bits, and the range of half precision: then medians are unspecified.
        if let Ok(mut to) = chain.apply_to(&from) && stays_finite(&chain, &from) {
            if packed && to.layout == ChannelLayout::Planar {
                to = Raster::packed(to.size(), to.channels, to.element);
            }
            check(&chain, &from, &to);
        }
    }
}
