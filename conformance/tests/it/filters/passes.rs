//! Stages that share a pass, and sums two to a register.

use fastrand::Rng;
use tripipe_device::DeviceKind;
use tripipe_kernels::filter::{
    Border, Chain, Color, Fuse, Gradient, Linear, Loads, Morphology, Neighbourhood, Parameters, PixelType,
    Raster, Size, Stage, Sums, plan,
};

use super::choice::is_define;
use super::drawn::{BORDERS, Case, cases, choose, laid_out, placed, run};
use super::executors;

/// Linear filters with two sums per register, over every border and both layouts; rows with no block, one, and many.
#[test]
fn paired_sums_are_right() {
    let linear = [
        Linear::laplace_sharpen(),
        Linear::laplace4().with_offset(128),
        Linear::laplace8(),
        Linear::sharpen(),
        Linear::scharr_x().with_offset(-3),
        Linear::sobel_y().with_offset(200),
        Linear::gaussian(3, None).unwrap(),
        // The largest sum is 65408.
        Linear::gaussian(5, None).unwrap(),
        Linear::full(Size::new(5, 3), (0..15).map(|i| i * 7 % 11 - 4).collect(), 8).unwrap(),
        Linear::full(Size::new(3, 5), (0..15).map(|i| i * 5 % 13 - 6).collect(), 2).unwrap().with_offset(-20),
        Linear::separable(vec![1, -3, 4, 0, 1], vec![2, 1, 0, -1, 1], 16).unwrap(),
        Linear::full(Size::square(1), vec![-3], 2).unwrap().with_offset(255),
        Linear::full(Size::new(1, 5), vec![0, 0, 0, 0, 1], 1).unwrap(),
    ];
    let mut random = Rng::with_seed(9);
    for mut executor in executors() {
        for (linear, border) in linear.iter().zip(BORDERS.into_iter().cycle()) {
            let chain = Chain::one(Stage::Linear(linear.clone()), border).keep_alpha(random.bool());
            let size = choose(
                &mut random,
                &[Size::new(1, 2), Size::new(3, 7), Size::new(17, 5), Size::new(50, 3), Size::new(67, 9)],
            );
            let channels = random.usize(1..=4);
            let raster = laid_out(&mut random, size, channels, PixelType::U8);
            let (from, to) = (placed(&mut random, &raster), placed(&mut random, &raster));
            let aligned = Parameters {
                lanes: choose(&mut random, &[4, 8, 16]),
                rows: choose(&mut random, &[1, 2, 4]),
                loads: Loads::Aligned,
                sums: Sums::Paired,
                work_group: choose(&mut random, &[None, Some([8, 2])]),
                fuse: Fuse::Windows,
            };
            let first = choose(&mut random, &[Loads::Image, Loads::Aligned]);
            let ways = [first, Loads::Shared].map(|loads| Parameters { loads, ..aligned });
            let probe = executor.probe();
            let parameters =
                ways.into_iter().find(|way| way.check(&chain, &from, &to, probe).is_ok()).unwrap();
            let planned = plan(&chain, &from, &to, &parameters, executor.probe()).unwrap();
            assert_eq!(planned.launches()[0].entry, "filter_pairs", "{chain:?}");
            run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
        }
    }
}

/// Stages of one pixel, before and after a window, in one pass and in several.
#[test]
fn fused_passes_are_right() {
    let blur = || Stage::Linear(Linear::gaussian(3, None).unwrap());
    let convert = |to: PixelType, scale: f32| Stage::Convert { to, scale, offset: 1.5 };
    let chains: [(PixelType, usize, Vec<Stage>, usize); 7] = [
        (PixelType::I16, 3, vec![Stage::Color(Color::BgrToGray)], 1),
        (PixelType::U8, 3, vec![Stage::Color(Color::RgbToGray), blur(), Stage::Median { size: 3 }], 2),
        (PixelType::U8, 4, vec![Stage::Color(Color::BgrToGray), blur(), convert(PixelType::F32, 0.25)], 1),
        (PixelType::U16, 1, vec![convert(PixelType::U8, 0.004), blur(), convert(PixelType::I16, -3.0)], 1),
        (PixelType::F32, 3, vec![Stage::Color(Color::RgbToGray), Stage::Gradient(Gradient::Sobel)], 1),
        (PixelType::U8, 2, vec![convert(PixelType::F32, 0.1), Stage::Linear(Linear::laplace8())], 1),
        // Half between stages: the value is rounded by storing it in memory.
        (PixelType::U8, 1, vec![convert(PixelType::F16, 0.1), blur()], 2),
    ];
    let mut random = Rng::with_seed(7);
    for mut executor in executors() {
        for (element, channels, stages, passes) in &chains {
            let half = stages.iter().any(|stage| matches!(stage, Stage::Convert { to: PixelType::F16, .. }));
            if half && executor.probe().kind == DeviceKind::Cpu {
                continue;
            }
            let border = choose(&mut random, &BORDERS);
            let chain = Chain::new(stages.clone(), border).keep_alpha(true);
            let from = Raster::packed(Size::new(37, 9), *channels, *element);
            let to = chain.apply_to(&from).unwrap();
            for (fuse, loads) in [(Fuse::Pixels, Loads::Shared), (Fuse::Nothing, Loads::Direct)] {
                let [lanes, rows] = [choose(&mut random, &[4, 8, 16]), 4];
                let parameters =
                    Parameters { lanes, rows, loads, sums: Sums::Narrow, work_group: Some([8, 8]), fuse };
                let planned = plan(&chain, &from, &to, &parameters, executor.probe()).unwrap();
                let want = if fuse == Fuse::Pixels { *passes } else { stages.len() };
                assert_eq!(planned.launches().len(), want, "{chain:?} {parameters:?}");
                run(executor.as_mut(), &mut random, &Case { chain: chain.clone(), from, to, parameters });
            }
        }
    }
}

/// Two windows in one pass: sums and extremes first, any window second; stages of one pixel before and after; every
/// border, reflected more than once where the image is smaller than the windows; every type, with sums of every width.
#[test]
fn two_windows_in_a_pass_are_right() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let blur = || linear(Linear::gaussian(5, None).unwrap());
    let mean = || linear(Linear::mean(Size::square(3)).unwrap());
    let morphology = |morphology| Stage::Morphology(morphology);
    let rectangle = |size| Neighbourhood::Rectangle(size);
    let sobel = || Stage::Gradient(Gradient::Sobel);
    let gray = || Stage::Color(Color::RgbToGray);
    let convert = |to: PixelType| Stage::Convert { to, scale: 0.6, offset: 1.5 };
    let bytes: [Vec<Stage>; 14] = [
        vec![blur(), linear(Linear::laplace_sharpen())],
        vec![mean(), Stage::Median { size: 3 }],
        vec![linear(Linear::gaussian(3, None).unwrap()), sobel()],
        vec![
            morphology(Morphology::Erode(rectangle(Size::square(3)))),
            morphology(Morphology::Dilate(rectangle(Size::square(3)))),
        ],
        vec![morphology(Morphology::Dilate(Neighbourhood::Cross(Size::new(5, 3)))), blur()],
        // Saturated between the two, with negative sums that are divided by 7.
        vec![
            linear(Linear::full(Size::new(5, 3), (0..15).map(|i| i * 7 % 11 - 4).collect(), 7).unwrap()),
            mean(),
        ],
        vec![
            linear(Linear::laplace8().with_offset(90)),
            linear(Linear::full(Size::new(1, 5), vec![1, -2, 0, 3, 1], 2).unwrap()),
        ],
        // 16 bits between the two, and their median.
        vec![linear(Linear::laplace8().to(PixelType::I16)), Stage::Median { size: 3 }],
        vec![blur(), linear(Linear::sobel_y().to(PixelType::I16))],
        vec![blur(), linear(Linear::scharr_x().to(PixelType::F32))],
        vec![
            linear(Linear::full(Size::square(1), vec![-3], 2).unwrap().with_offset(255)),
            linear(Linear::mean(Size::new(5, 1)).unwrap()),
        ],
        vec![linear(Linear::mean(Size::new(1, 7)).unwrap()), Stage::Median { size: 5 }],
        vec![convert(PixelType::U8), blur(), sobel(), convert(PixelType::F32)],
        vec![convert(PixelType::F32), blur(), linear(Linear::laplace4())],
    ];
    let real = linear(
        Linear::full_real(Size::new(3, 5), (0..15).map(|i| (i * 5 % 13) as f32 / 9.0 - 0.6).collect())
            .unwrap(),
    );
    let wide: [Vec<Stage>; 3] = [
        vec![blur(), linear(Linear::laplace8())],
        vec![real, Stage::Median { size: 3 }],
        vec![morphology(Morphology::Erode(rectangle(Size::new(5, 3)))), sobel(), convert(PixelType::I16)],
    ];
    let grays: [Vec<Stage>; 2] = [
        vec![gray(), blur(), linear(Linear::laplace_sharpen())],
        vec![gray(), mean(), sobel(), convert(PixelType::F32)],
    ];
    let narrowed =
        vec![linear(Linear::full(Size::new(3, 1), vec![1, 1, 1], 1).unwrap().to(PixelType::U8)), mean()];
    let chains = (bytes.iter().map(|stages| (PixelType::U8, stages)))
        .chain(
            [PixelType::I16, PixelType::U16, PixelType::F32]
                .into_iter()
                .flat_map(|element| wide.iter().map(move |stages| (element, stages))),
        )
        .chain(
            [PixelType::U8, PixelType::F32]
                .into_iter()
                .flat_map(|element| grays.iter().map(move |stages| (element, stages))),
        )
        .chain([(PixelType::I16, &narrowed)]);
    let sizes = [
        Size::square(1),
        Size::new(2, 3),
        Size::new(5, 4),
        Size::new(17, 9),
        Size::new(3, 30),
        Size::new(70, 5),
        Size::new(45, 23),
    ];
    let borders = BORDERS.into_iter().filter(|border| *border != Border::Wrap).cycle();
    let mut random = Rng::with_seed(10);
    for (skipped, mut executor) in executors().into_iter().enumerate() {
        let mut borders = borders.clone().skip(skipped);
        for (element, stages) in chains.clone() {
            for border in borders.by_ref().take(cases(1)) {
                let is_gray = matches!(stages[0], Stage::Color(_));
                let chain = Chain::new(stages.clone(), border).keep_alpha(random.bool() && !is_gray);
                let channels = if is_gray { random.usize(3..=4) } else { random.usize(1..=4) };
                let size = choose(&mut random, &sizes);
                let from = if is_gray {
                    Raster::packed(size, channels, element)
                } else {
                    laid_out(&mut random, size, channels, element)
                };
                let made = chain.apply_to(&from).unwrap();
                let (from, to) = (placed(&mut random, &from), placed(&mut random, &made));
                let parameters = Parameters {
                    lanes: choose(&mut random, &[4, 8, 16]),
                    rows: choose(&mut random, &[1, 2, 4]),
                    loads: choose(&mut random, &Loads::ALL),
                    sums: choose(&mut random, &[Sums::Wide, Sums::Narrow]),
                    work_group: choose(&mut random, &[None, Some([4, 2])]),
                    fuse: Fuse::Windows,
                };
                let aligned = parameters.check(&chain, &from, &to, executor.probe()).is_ok();
                let parameters =
                    if aligned { parameters } else { Parameters { loads: Loads::Shared, ..parameters } };
                let planned = plan(&chain, &from, &to, &parameters, executor.probe()).unwrap();
                let windows =
                    planned.launches().iter().filter(|launch| is_define(&launch.program, "INNER", "1"));
                // Sums of 16-bit pixels in `float` are rounded between the two: that takes a pass.
                let is_rounded = matches!(&chain.stages[0], Stage::Linear(linear)
                    if linear.sums_in_float(element) && element != PixelType::F32);
                assert_eq!(windows.count(), usize::from(!is_rounded), "{chain:?}");
                run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
            }
        }
    }
}
