//! Filters on every executor, against their reference.
//!
//! Cases are drawn with a fixed seed from the whole space: stages, element types, channels, layouts, borders, sizes,
//! regions, parameters. Source and result are parts of larger buffers whose other bytes must not change. Half-precision
//! images run in the simulator only. Without an OpenCL device the OpenCL tests are skipped with a message; with
//! `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests report what they leave out, and panic"
)]

use bytemuck::{cast_slice, pod_collect_to_vec, pod_read_unaligned};
use fastrand::Rng;
use half::f16;
use tripipe_device::{DeviceKind, ImageLimits, Probe};
use tripipe_kernels::Role;
use tripipe_kernels::elementwise::{self, Grid, Matrix, Reduction, Vector};
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Element, FilterError, Fuse, Gradient, Interpolation, Layout, Linear,
    Loads, Morphology, Neighbourhood, Parameters, Raster, Semiplanar, Stage, Sums, candidates,
    default_parameters, plan, reference, resize, resize_reference, rgb_to_semiplanar, semiplanar_to_rgb,
};
use tripipe_kernels::{Plan, PlanError};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind, Program, ScalarType};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Options, Simulator};

/// A chain between two rasters, and its parameters.
#[derive(Debug)]
struct Case {
    chain: Chain,
    from: Raster,
    to: Raster,
    parameters: Parameters,
}

const BORDERS: [Border; 6] = [
    Border::None,
    Border::Constant(77.4),
    Border::Replicate,
    Border::Reflect,
    Border::Reflect101,
    Border::Wrap,
];

const COLORS: [Color; 10] = [
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

/// One pixel, lines, smaller than most windows, not a multiple of any vector, several work-groups.
const SIZES: [[usize; 2]; 10] =
    [[1, 1], [1, 9], [37, 1], [2, 2], [3, 4], [16, 5], [17, 9], [31, 3], [50, 11], [67, 20]];

fn choose<T: Clone>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())].clone()
}

/// Every kind of stage that accepts pixels of this type and number of channels.
fn stages(element: Element, channels: usize) -> Vec<Stage> {
    let odd = |width: usize, height: usize| {
        (0..width * height).map(|i| (i * 7 % 11) as i32 - 4).collect::<Vec<i32>>()
    };
    let real = |width: usize, height: usize| {
        (0..width * height).map(|i| (i * 5 % 13) as f32 / 9.0 - 0.6).collect::<Vec<f32>>()
    };
    let linear = [
        Linear::laplace_sharpen(),
        Linear::laplace4(),
        Linear::laplace8().to(Element::I16),
        Linear::sharpen(),
        Linear::sobel_x().with_offset(128),
        Linear::sobel_y().to(Element::I16),
        Linear::scharr_x().to(Element::F32),
        Linear::scharr_y().with_offset(-3),
        Linear::mean([3, 3]).unwrap(),
        Linear::mean([5, 1]).unwrap(),
        Linear::gaussian(3, None).unwrap(),
        Linear::gaussian(5, None).unwrap(),
        Linear::gaussian(7, Some(1.7)).unwrap(),
        Linear::gaussian(5, Some(0.9)).unwrap().to(Element::F32),
        Linear::unsharp(5, None, 0.7).unwrap(),
        Linear::full([5, 3], odd(5, 3), 7).unwrap(),
        Linear::full([1, 1], vec![-3], 2).unwrap().to(Element::I16),
        Linear::full_real([3, 5], real(3, 5)).unwrap(),
        Linear::mean([15, 15]).unwrap(),
        // Sums that need all of 32 bits for unsigned pixels.
        Linear::gaussian(15, Some(40.0)).unwrap(),
        Linear::gaussian(9, None).unwrap().with_offset(-20),
    ];
    let mut found: Vec<Stage> = linear.into_iter().map(Stage::Linear).collect();
    found.extend([Gradient::Sobel, Gradient::Scharr].map(Stage::Gradient));
    found.extend([3, 5].map(|size| Stage::Median { size }));
    found.extend(
        [
            Morphology::Erode(Neighbourhood::Rectangle([3, 3])),
            Morphology::Dilate(Neighbourhood::Rectangle([5, 1])),
            Morphology::Erode(Neighbourhood::Cross([5, 3])),
            Morphology::Dilate(Neighbourhood::Cross([3, 3])),
        ]
        .map(Stage::Morphology),
    );
    let sigma_color = if element == Element::U8 { 40.0 } else { 900.0 };
    found.push(Stage::Bilateral(Bilateral { size: 5, sigma_color, sigma_space: 1.8 }));
    found.extend(Element::ALL.map(|to| Stage::Convert { to, scale: 0.37, offset: 5.5 }));
    found.push(Stage::Convert { to: Element::F32, scale: -1.0 / 255.0, offset: 0.0 });
    found.extend(COLORS.into_iter().filter(|color| color.channels(channels).is_ok()).map(Stage::Color));
    found.retain(|stage| stage.output(channels, element).is_ok());
    found
}

/// A raster of the same pixels inside a larger one, with gaps between rows and planes.
fn placed(random: &mut Rng, raster: &Raster) -> Raster {
    let size = [raster.width, raster.height];
    match random.usize(..3) {
        // Unchanged.
        0 => *raster,
        // Rows and planes at multiples of every vector width.
        1 => raster.with_pitch(raster.pitch.next_multiple_of(16)),
        // A region, at any address.
        _ => {
            let at = [random.usize(..4), random.usize(..3)];
            let around = [size[0] + at[0] + random.usize(..3), size[1] + at[1] + random.usize(..2)];
            let all = match raster.layout {
                Layout::Packed => Raster::packed(around, raster.channels, raster.element),
                Layout::Planar => Raster::planar(around, raster.channels, raster.element),
            };
            all.with_pitch(all.pitch + random.usize(..3)).region(at, size).unwrap()
        }
    }
}

fn laid_out(random: &mut Rng, size: [usize; 2], channels: usize, element: Element) -> Raster {
    if random.bool() {
        Raster::packed(size, channels, element)
    } else {
        Raster::planar(size, channels, element)
    }
}

fn draw(random: &mut Rng, elements: &[Element], probe: &Probe) -> Case {
    loop {
        let (element, channels) = (choose(random, elements), random.usize(1..=4));
        let mut stages_drawn = vec![choose(random, &stages(element, channels))];
        while stages_drawn.len() < 3 && random.usize(..3) == 0 {
            let chain = Chain { stages: stages_drawn.clone(), border: Border::None, keep_alpha: false };
            let made = chain.apply_to(&Raster::packed([1, 1], channels, element)).unwrap();
            stages_drawn.push(choose(random, &stages(made.element, made.channels)));
        }
        let chain =
            Chain { stages: stages_drawn, border: choose(random, &BORDERS), keep_alpha: random.bool() };
        let size = choose(random, &SIZES);
        let from = laid_out(random, size, channels, element);
        let made = chain.apply_to(&from).unwrap();
        if !elements.contains(&made.element) {
            continue;
        }
        let to = laid_out(random, size, made.channels, made.element);
        let (from, to) = (placed(random, &from), placed(random, &to));
        let parameters = Parameters {
            lanes: choose(random, &[2, 4, 8, 16]),
            rows: choose(random, &[1, 2, 3, 4]),
            loads: choose(random, &Loads::ALL),
            sums: choose(random, &Sums::ALL),
            work_group: choose(random, &[None, Some([4, 2]), Some([8, 8])]),
            fuse: choose(random, &Fuse::ALL),
        };
        if parameters.check(&chain, &from, &to, probe).is_ok() {
            return Case { chain, from, to, parameters };
        }
    }
}

/// Values over the whole range of integers; floating-point values between -300 and 300.
fn noise(random: &mut Rng, element: Element, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|_| match element {
            Element::F16 => f16::from_f32(random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            Element::F32 => (random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            _ => (0..element.bytes()).map(|_| random.u8(..)).collect(),
        })
        .collect()
}

/// Elements of a raster's buffer, plus a few after its last.
fn room(raster: &Raster) -> usize {
    raster.elements().unwrap() + 3
}

fn run(executor: &mut dyn Executor, random: &mut Rng, case: &Case) {
    let source = noise(random, case.from.element, room(&case.from));
    run_on(executor, random, case, &source);
}

fn run_on(executor: &mut dyn Executor, random: &mut Rng, case: &Case, source: &[u8]) {
    let Case { chain, from, to, parameters } = case;
    let before = noise(random, to.element, room(to));
    let operands = [source, &before].map(|bytes| buffer(executor, bytes));
    let planned = plan(chain, from, to, parameters, executor.probe()).unwrap();
    let bound = planned.bind(executor, &[(Role::Source, operands[0]), (Role::Result, operands[1])]).unwrap();
    executor.run(&bound.launches).unwrap_or_else(|error| panic!("{case:#?}: {error}"));
    let mut after = before.clone();
    executor.read(operands[1], 0, &mut after).unwrap();
    bound.release(executor);
    for operand in operands {
        executor.release(operand).unwrap();
    }
    reference::verify(chain, from, source, to, &after).unwrap_or_else(|error| panic!("{case:#?}: {error}"));
    let mut outside = vec![true; room(to)];
    for (y, x) in (0..to.height).flat_map(|y| (0..to.width).map(move |x| (y, x))) {
        for channel in 0..to.channels {
            outside[to.index([x, y], channel)] = false;
        }
    }
    let bytes = to.element.bytes();
    for (index, _) in outside.iter().enumerate().filter(|(_, outside)| **outside) {
        let element = index * bytes..(index + 1) * bytes;
        assert_eq!(after[element.clone()], before[element], "{case:#?}: element {index} is not a pixel");
    }
}

fn opencl() -> Vec<OpenClExecutor> {
    let found: Vec<_> = devices()
        .unwrap_or_default()
        .iter()
        .map(|device| {
            OpenClExecutor::new(device, &ExecutorOptions::default()).expect("a listed device opens")
        })
        .collect();
    if found.is_empty() {
        assert!(
            std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(),
            "no OpenCL device: scripts/setup installs one"
        );
        eprintln!("left out: no OpenCL device");
    }
    found
}

/// The element types for devices without half precision.
const WITHOUT_HALF: [Element; 4] = [Element::U8, Element::I16, Element::U16, Element::F32];

/// The number of drawn cases: `fewest`, or the value of `TRIPIPE_FILTER_CASES`, for a longer run.
fn cases(fewest: usize) -> usize {
    std::env::var("TRIPIPE_FILTER_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(fewest)
}

#[test]
fn drawn_cases_on_opencl() {
    for mut executor in opencl() {
        let mut random = Rng::with_seed(1);
        for _ in 0..cases(16) {
            let case = draw(&mut random, &WITHOUT_HALF, executor.probe());
            run(&mut executor, &mut random, &case);
        }
    }
}

#[test]
fn drawn_cases_in_the_simulator() {
    let mut executor = Simulator::new(Options::default());
    let mut random = Rng::with_seed(2);
    for _ in 0..cases(40) {
        let case = draw(&mut random, &Element::ALL, executor.probe());
        run(&mut executor, &mut random, &case);
    }
}

/// No access outside a buffer, no race, no use of uninitialised memory: the simulator checks every access of some
/// cases.
#[test]
fn nothing_undefined_is_done() {
    let mut executor = Simulator::new(Options::default());
    let mut random = Rng::with_seed(8);
    for _ in 0..cases(12) {
        let case = draw(&mut random, &Element::ALL, executor.probe());
        let Case { chain, from, to, parameters } = &case;
        let source = noise(&mut random, from.element, from.elements().unwrap());
        let result = vec![0; to.elements().unwrap() * to.element.bytes()];
        let operands = [&source, &result].map(|bytes| buffer(&mut executor, bytes));
        let planned = plan(chain, from, to, parameters, executor.probe()).unwrap();
        let operands = [(Role::Source, operands[0]), (Role::Result, operands[1])];
        let bound = planned.bind(&mut executor, &operands).unwrap();
        for launch in &bound.launches {
            let checked = executor.check(launch, &Checks::all()).unwrap();
            // All kernels take the pitches of all layouts.
            let found: Vec<_> =
                checked.findings.iter().filter(|finding| finding.rule.code != "unused-argument").collect();
            assert!(found.is_empty(), "{case:#?}: {found:#?}");
        }
        bound.release(&mut executor);
        for (_, operand) in operands {
            executor.release(operand).unwrap();
        }
    }
}

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
        Linear::full([5, 3], (0..15).map(|i| i * 7 % 11 - 4).collect(), 8).unwrap(),
        Linear::full([3, 5], (0..15).map(|i| i * 5 % 13 - 6).collect(), 2).unwrap().with_offset(-20),
        Linear::separable(vec![1, -3, 4, 0, 1], vec![2, 1, 0, -1, 1], 16).unwrap(),
        Linear::full([1, 1], vec![-3], 2).unwrap().with_offset(255),
        Linear::full([1, 5], vec![0, 0, 0, 0, 1], 1).unwrap(),
    ];
    let mut random = Rng::with_seed(9);
    for mut executor in executors() {
        for (linear, border) in linear.iter().zip(BORDERS.into_iter().cycle()) {
            let chain =
                Chain { keep_alpha: random.bool(), ..Chain::one(Stage::Linear(linear.clone()), border) };
            let size = choose(&mut random, &[[1, 2], [3, 7], [17, 5], [50, 3], [67, 9]]);
            let channels = random.usize(1..=4);
            let raster = laid_out(&mut random, size, channels, Element::U8);
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

const PLAIN: Parameters = Parameters {
    lanes: 4,
    rows: 2,
    loads: Loads::Shared,
    sums: Sums::Narrow,
    work_group: None,
    fuse: Fuse::Pixels,
};

fn has_half(executor: &dyn Executor) -> bool {
    executor.probe().kind != DeviceKind::Cpu
}

/// Every conversion of every element type, in both layouts.
#[test]
fn colours_are_right() {
    let mut random = Rng::with_seed(12);
    for mut executor in executors() {
        for color in COLORS {
            for element in Element::ALL {
                if element == Element::F16 && !has_half(executor.as_ref()) {
                    continue;
                }
                let channels = (1..=4).rev().find(|channels| color.channels(*channels).is_ok()).unwrap();
                let chain = Chain::one(Stage::Color(color), Border::None);
                let from = laid_out(&mut random, [9, 3], channels, element);
                let to = laid_out(&mut random, [9, 3], color.channels(channels).unwrap(), element);
                let fuse = choose(&mut random, &[Fuse::Nothing, Fuse::Pixels]);
                let parameters = Parameters { fuse, ..PLAIN };
                run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
            }
        }
    }
}

/// Alpha created by a stage is copied like that of an image, and its position has to be known as well.
#[test]
fn alpha_is_kept_where_it_is_made() {
    let mut random = Rng::with_seed(13);
    for mut executor in executors() {
        for (channels, text) in [
            (3, "add-alpha,laplace8"),
            (4, "drop-alpha,add-alpha,gaussian:3"),
            (4, "gray,rgb,add-alpha,median:3,swap-red-blue"),
        ] {
            let chain = Chain { keep_alpha: true, ..Chain::parse(text, Border::Reflect101).unwrap() };
            let from = Raster::packed([13, 5], channels, Element::U8);
            let to = chain.apply_to(&from).unwrap();
            let narrow = Parameters { lanes: 2, ..PLAIN };
            let error = narrow.check(&chain, &from, &to, executor.probe()).unwrap_err();
            assert!(error.to_string().contains("so that alpha is always in the same lane"), "{error}");
            let source = noise(&mut random, Element::U8, room(&from));
            let mut want = vec![0; to.elements().unwrap()];
            reference::apply(&chain, &from, &source, &to, &mut want).unwrap();
            assert!(want.chunks(4).all(|pixel| pixel[3] == 255), "{text}: {want:?}");
            run_on(executor.as_mut(), &mut random, &Case { chain, from, to, parameters: PLAIN }, &source);
        }
    }
}

/// Unsigned 32-bit sums, alone and fused with other windows in a pass; divisors of 2^31 and more.
#[test]
fn sums_of_all_32_bits_are_right() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let flat = |size: usize| Linear::gaussian(size, Some(100.0)).unwrap();
    let divided =
        |weights: [i32; 3], divisor: u32| linear(Linear::full([3, 1], weights.to_vec(), divisor).unwrap());
    let (most, large) = ((1 << 31) + 12_345, (1 << 31) + 1);
    let chains: [(Element, Vec<Stage>); 14] = [
        (Element::U8, vec![linear(flat(29))]),
        (Element::U8, vec![linear(flat(29).with_offset(-100))]),
        (Element::U8, vec![linear(flat(29).to(Element::F32))]),
        (Element::U16, vec![linear(flat(9).with_offset(-30_000).to(Element::I16))]),
        (Element::I16, vec![linear(flat(9))]),
        // The first is fused into the pass of the second.
        (Element::U16, vec![linear(flat(7)), linear(Linear::laplace8())]),
        (Element::U16, vec![linear(flat(7)), linear(flat(5))]),
        (Element::U16, vec![linear(flat(7).to(Element::U8)), linear(Linear::laplace8())]),
        (Element::U16, vec![linear(flat(7).to(Element::U8)), Stage::Median { size: 3 }]),
        (Element::U16, vec![linear(flat(7).to(Element::U8)), Stage::Gradient(Gradient::Sobel)]),
        (Element::U8, vec![linear(Linear::laplace_sharpen()), linear(flat(29))]),
        (Element::U16, vec![divided([1 << 14, 1 << 13, 3], large), divided([1, 2, 1], 1 << 31)]),
        (Element::U16, vec![divided([1, -2, -1], most)]),
        (Element::I16, vec![divided([1, -2, 1], large), divided([30_000, 2, 1], 1 << 31)]),
    ];
    let mut random = Rng::with_seed(14);
    for mut executor in executors() {
        for (element, stages) in &chains {
            let border = choose(&mut random, &BORDERS[..5]);
            let chain = Chain { stages: stages.clone(), border, keep_alpha: false };
            let from = Raster::packed([41, 6], 1, *element);
            let to = chain.apply_to(&from).unwrap();
            let sums = choose(&mut random, &[Sums::Wide, Sums::Narrow]);
            let parameters = Parameters { sums, fuse: Fuse::Windows, ..PLAIN };
            // Bright pixels, which make the largest sums.
            let source: Vec<u8> = (0..room(&from) * element.bytes()).map(|_| random.u8(..) | 0xF0).collect();
            run_on(executor.as_mut(), &mut random, &Case { chain, from, to, parameters }, &source);
        }
    }
}

/// NaN and infinity affect exactly the elements that the specification says, on every executor.
#[test]
fn nan_and_infinity_are_the_same_everywhere() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let bilateral = Stage::Bilateral(Bilateral { size: 5, sigma_color: 40.0, sigma_space: 1.8 });
    let chains: [(usize, Vec<Stage>); 10] = [
        (1, vec![Stage::Gradient(Gradient::Sobel)]),
        (1, vec![Stage::Gradient(Gradient::Scharr)]),
        (1, vec![linear(Linear::sobel_x())]),
        (1, vec![linear(Linear::laplace4().to(Element::U8))]),
        (
            1,
            vec![linear(
                Linear::full_real([3, 3], vec![0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.25]).unwrap(),
            )],
        ),
        (3, vec![bilateral.clone()]),
        (1, vec![bilateral]),
        (1, vec![linear(Linear::gaussian(5, Some(0.2)).unwrap()), Stage::Gradient(Gradient::Sobel)]),
        (3, vec![Stage::Color(Color::RgbToYuv)]),
        (1, vec![Stage::Convert { to: Element::I16, scale: 2.0, offset: 1.0 }]),
    ];
    let borders = [Border::Constant(f32::NAN), Border::Constant(f32::INFINITY), Border::Reflect101];
    let mut random = Rng::with_seed(15);
    for mut executor in executors() {
        for ((channels, stages), border) in chains.iter().zip(borders.into_iter().cycle()) {
            let chain = Chain { stages: stages.clone(), border, keep_alpha: false };
            let from = Raster::packed([19, 11], *channels, Element::F32);
            let to = chain.apply_to(&from).unwrap();
            let mut pixels: Vec<f32> = pod_collect_to_vec(&noise(&mut random, Element::F32, room(&from)));
            for (turn, value) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().enumerate() {
                let at = turn * 67 + 21;
                pixels[at] = value;
            }
            let parameters = Parameters { fuse: Fuse::Windows, ..PLAIN };
            run_on(
                executor.as_mut(),
                &mut random,
                &Case { chain, from, to, parameters },
                cast_slice(&pixels),
            );
        }
        // From 5 columns to 2, the first result does not depend on the last column, and so on.
        for (interpolation, from, to, nan, want) in [
            (Interpolation::Area, 5, 2, 0, [true, false].as_slice()),
            (Interpolation::Area, 6, 4, 2, &[false, true, false, false]),
            (Interpolation::Bilinear, 3, 3, 1, &[false, true, false]),
        ] {
            let mut pixels = vec![1.0f32; from];
            pixels[nan] = f32::NAN;
            let [from, to] = [from, to].map(|extent| Raster::packed([1, extent], 1, Element::F32));
            let planned = resize(interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(
                executor.as_mut(),
                &planned,
                &ONE_INPUT,
                &[cast_slice(&pixels), &vec![0; 4 * want.len()]],
            );
            let found: Vec<bool> =
                pod_collect_to_vec::<u8, f32>(&found[1]).iter().map(|value| value.is_nan()).collect();
            assert_eq!(found, want, "{interpolation:?}");
        }
    }
}

/// Stages of one pixel, before and after a window, in one pass and in several.
#[test]
fn fused_passes_are_right() {
    let blur = || Stage::Linear(Linear::gaussian(3, None).unwrap());
    let convert = |to: Element, scale: f32| Stage::Convert { to, scale, offset: 1.5 };
    let chains: [(Element, usize, Vec<Stage>, usize); 7] = [
        (Element::I16, 3, vec![Stage::Color(Color::BgrToGray)], 1),
        (Element::U8, 3, vec![Stage::Color(Color::RgbToGray), blur(), Stage::Median { size: 3 }], 2),
        (Element::U8, 4, vec![Stage::Color(Color::BgrToGray), blur(), convert(Element::F32, 0.25)], 1),
        (Element::U16, 1, vec![convert(Element::U8, 0.004), blur(), convert(Element::I16, -3.0)], 1),
        (Element::F32, 3, vec![Stage::Color(Color::RgbToGray), Stage::Gradient(Gradient::Sobel)], 1),
        (Element::U8, 2, vec![convert(Element::F32, 0.1), Stage::Linear(Linear::laplace8())], 1),
        // Half between stages: the value is rounded by storing it in memory.
        (Element::U8, 1, vec![convert(Element::F16, 0.1), blur()], 2),
    ];
    let mut random = Rng::with_seed(7);
    for mut executor in executors() {
        for (element, channels, stages, passes) in &chains {
            let half = stages.iter().any(|stage| matches!(stage, Stage::Convert { to: Element::F16, .. }));
            if half && executor.probe().kind == DeviceKind::Cpu {
                continue;
            }
            let border = choose(&mut random, &BORDERS);
            let chain = Chain { stages: stages.clone(), border, keep_alpha: true };
            let from = Raster::packed([37, 9], *channels, *element);
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
    let mean = || linear(Linear::mean([3, 3]).unwrap());
    let morphology = |morphology| Stage::Morphology(morphology);
    let rectangle = |size| Neighbourhood::Rectangle(size);
    let sobel = || Stage::Gradient(Gradient::Sobel);
    let gray = || Stage::Color(Color::RgbToGray);
    let convert = |to: Element| Stage::Convert { to, scale: 0.6, offset: 1.5 };
    let bytes: [Vec<Stage>; 14] = [
        vec![blur(), linear(Linear::laplace_sharpen())],
        vec![mean(), Stage::Median { size: 3 }],
        vec![linear(Linear::gaussian(3, None).unwrap()), sobel()],
        vec![
            morphology(Morphology::Erode(rectangle([3, 3]))),
            morphology(Morphology::Dilate(rectangle([3, 3]))),
        ],
        vec![morphology(Morphology::Dilate(Neighbourhood::Cross([5, 3]))), blur()],
        // Saturated between the two, with negative sums that are divided by 7.
        vec![linear(Linear::full([5, 3], (0..15).map(|i| i * 7 % 11 - 4).collect(), 7).unwrap()), mean()],
        vec![
            linear(Linear::laplace8().with_offset(90)),
            linear(Linear::full([1, 5], vec![1, -2, 0, 3, 1], 2).unwrap()),
        ],
        // 16 bits between the two, and their median.
        vec![linear(Linear::laplace8().to(Element::I16)), Stage::Median { size: 3 }],
        vec![blur(), linear(Linear::sobel_y().to(Element::I16))],
        vec![blur(), linear(Linear::scharr_x().to(Element::F32))],
        vec![
            linear(Linear::full([1, 1], vec![-3], 2).unwrap().with_offset(255)),
            linear(Linear::mean([5, 1]).unwrap()),
        ],
        vec![linear(Linear::mean([1, 7]).unwrap()), Stage::Median { size: 5 }],
        vec![convert(Element::U8), blur(), sobel(), convert(Element::F32)],
        vec![convert(Element::F32), blur(), linear(Linear::laplace4())],
    ];
    let real = linear(
        Linear::full_real([3, 5], (0..15).map(|i| (i * 5 % 13) as f32 / 9.0 - 0.6).collect()).unwrap(),
    );
    let wide: [Vec<Stage>; 3] = [
        vec![blur(), linear(Linear::laplace8())],
        vec![real, Stage::Median { size: 3 }],
        vec![morphology(Morphology::Erode(rectangle([5, 3]))), sobel(), convert(Element::I16)],
    ];
    let grays: [Vec<Stage>; 2] = [
        vec![gray(), blur(), linear(Linear::laplace_sharpen())],
        vec![gray(), mean(), sobel(), convert(Element::F32)],
    ];
    let narrowed = vec![linear(Linear::full([3, 1], vec![1, 1, 1], 1).unwrap().to(Element::U8)), mean()];
    let chains = (bytes.iter().map(|stages| (Element::U8, stages)))
        .chain(
            [Element::I16, Element::U16, Element::F32]
                .into_iter()
                .flat_map(|element| wide.iter().map(move |stages| (element, stages))),
        )
        .chain(
            [Element::U8, Element::F32]
                .into_iter()
                .flat_map(|element| grays.iter().map(move |stages| (element, stages))),
        )
        .chain([(Element::I16, &narrowed)]);
    let sizes = [[1, 1], [2, 3], [5, 4], [17, 9], [3, 30], [70, 5], [45, 23]];
    let borders = BORDERS.into_iter().filter(|border| *border != Border::Wrap).cycle();
    let mut random = Rng::with_seed(10);
    for (skipped, mut executor) in executors().into_iter().enumerate() {
        let mut borders = borders.clone().skip(skipped);
        for (element, stages) in chains.clone() {
            for border in borders.by_ref().take(cases(1)) {
                let is_gray = matches!(stages[0], Stage::Color(_));
                let chain = Chain { stages: stages.clone(), border, keep_alpha: random.bool() && !is_gray };
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
                assert_eq!(windows.count(), 1, "{chain:?}");
                run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
            }
        }
    }
}

fn is_define(program: &Program, name: &str, value: &str) -> bool {
    program.defines.iter().any(|define| *define == (name.to_owned(), value.to_owned()))
}

/// Sources read as images over their buffers, every type, layout and border, one window and two; skipped with a message
/// on devices without such images.
#[test]
fn images_over_sources_are_right() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let blur = || linear(Linear::gaussian(5, None).unwrap());
    let windows: [Vec<Stage>; 4] = [
        vec![linear(Linear::full([5, 3], (0..15).map(|i| i * 7 % 11 - 4).collect(), 7).unwrap())],
        vec![Stage::Median { size: 3 }],
        vec![blur(), linear(Linear::laplace8())],
        vec![Stage::Convert { to: Element::F32, scale: 0.1, offset: 3.0 }, Stage::Gradient(Gradient::Sobel)],
    ];
    let gray = [Stage::Color(Color::BgrToGray), blur(), Stage::Median { size: 3 }, blur()];
    let elements = Element::ALL.map(|element| windows.iter().map(move |stages| (element, &stages[..])));
    // Two sums per register.
    let paired =
        [Linear::laplace_sharpen(), Linear::gaussian(5, None).unwrap().with_offset(9)].map(|of| [linear(of)]);
    let paired = paired.iter().cycle().map(|stages| (Element::U8, &stages[..]));
    let chains = elements.into_iter().flatten().chain([(Element::U8, &gray[..])]).chain(paired.take(6));
    let mut random = Rng::with_seed(11);
    for mut executor in executors() {
        let offered = executor.probe().images.is_some_and(|limits| limits.from_buffer);
        for ((element, stages), border) in chains.clone().zip(BORDERS.into_iter().cycle()) {
            let chain = Chain { stages: stages.to_vec(), border, keep_alpha: random.bool() };
            let size = choose(&mut random, &[[4, 1], [17, 9], [50, 5], [67, 12]]);
            let is_gray = matches!(stages[0], Stage::Color(_));
            let channels = if is_gray { random.usize(3..=4) } else { random.usize(1..=4) };
            let around = laid_out(&mut random, [size[0] + 9, size[1] + 2], channels, element);
            // A pixel of 1 to 4 elements at a multiple of 4 elements.
            let from = around.with_pitch(around.pitch.next_multiple_of(64)).region([4, 1], size).unwrap();
            let made = chain.apply_to(&from).unwrap();
            let to = placed(&mut random, &made);
            let parameters = Parameters {
                lanes: choose(&mut random, &[4, 8, 16]),
                rows: choose(&mut random, &[1, 2, 4]),
                loads: Loads::Image,
                sums: Sums::Paired,
                work_group: choose(&mut random, &[None, Some([4, 2])]),
                fuse: choose(&mut random, &[Fuse::Pixels, Fuse::Windows]),
            };
            let narrow = Parameters { sums: Sums::Narrow, ..parameters };
            let fits = parameters.check(&chain, &from, &to, executor.probe()).is_ok();
            let parameters = if fits { parameters } else { narrow };
            if !offered {
                let error = plan(&chain, &from, &to, &parameters, executor.probe()).unwrap_err();
                let want =
                    "loads is image: a device that supports images over buffers (cl_khr_image2d_from_buffer)";
                assert_eq!(error.to_string(), want);
                continue;
            }
            run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
        }
    }
}

/// The library's default, and one of the candidates, for every device family.
#[test]
fn defaults_and_candidates_are_right() {
    let mut executor = Simulator::new(Options::default());
    let mut random = Rng::with_seed(3);
    let named = [
        ("Mali-T860", DeviceKind::Gpu),
        ("Mali-G610", DeviceKind::Gpu),
        ("Adreno(TM) 640", DeviceKind::Gpu),
        ("pthread", DeviceKind::Cpu),
        ("Some other", DeviceKind::Gpu),
    ];
    for (name, kind) in named {
        let probe = Probe { name: name.to_owned(), kind, ..executor.probe().clone() };
        for (element, channels) in [(Element::U8, 3), (Element::F16, 1)] {
            let chain = Chain::one(Stage::Linear(Linear::sharpen()), Border::Reflect101);
            let from = Raster::packed([64, 9], channels, element);
            let (parameters, why) = default_parameters(&chain, &from, &probe);
            assert!(!why.is_empty());
            parameters.check(&chain, &from, &from, &probe).unwrap();
            let tried = candidates(&chain, &from, &from, &probe);
            assert_eq!(tried.first(), Some(&parameters), "{name}");
            for parameters in [parameters, choose(&mut random, &tried)] {
                run(&mut executor, &mut random, &Case { chain: chain.clone(), from, to: from, parameters });
            }
        }
    }
}

/// Impossible parameters are rejected, and the error says what would be valid.
#[test]
fn impossible_parameters_are_refused() {
    let images = ImageLimits {
        max_2d: [64, 16],
        max_3d: [0; 3],
        max_layers: 0,
        max_1d_buffer: 0,
        from_buffer: true,
        pitch_alignment: 64,
        base_address_alignment: 64,
    };
    let probe = Probe { max_work_group_size: 64, images: Some(images), ..Probe::default() };
    let chain = Chain::one(Stage::Linear(Linear::sharpen()), Border::Wrap);
    let raster = Raster::packed([20, 5], 3, Element::U8);
    let good = Parameters {
        lanes: 16,
        rows: 2,
        loads: Loads::Direct,
        sums: Sums::Narrow,
        work_group: Some([8, 8]),
        fuse: Fuse::Nothing,
    };
    good.check(&chain, &raster, &raster, &probe).unwrap();
    let image = Parameters { loads: Loads::Image, ..good };
    let aside = Raster { offset: 3, ..raster.with_pitch(256) };
    let tall = Raster::packed([20, 17], 3, Element::U8).with_pitch(256);
    let alpha = Chain { keep_alpha: true, ..chain.clone() };
    let rgba = Raster::packed([20, 5], 4, Element::U8);
    let huge = Raster { offset: 1 << 33, ..raster };
    let ninth = Chain::one(Stage::Linear(Linear::mean([3, 3]).unwrap()), Border::Wrap);
    let refused = [
        (&chain, &raster, Parameters { lanes: 3, ..good }, "lanes is 3: 2, 4, 8 or 16"),
        (
            &alpha,
            &rgba,
            Parameters { lanes: 2, ..good },
            "lanes is 2: 4, 8 or 16, so that alpha is always in the same lane",
        ),
        (&chain, &raster, Parameters { rows: 0, ..good }, "rows is 0: 1 to 16"),
        (
            &chain,
            &raster,
            Parameters { loads: Loads::Aligned, ..good },
            "loads is aligned: an offset, a pitch and a plane pitch that are multiples of 16",
        ),
        (
            &chain,
            &raster,
            Parameters { work_group: Some([16, 8]), ..good },
            "a work-group of 16x8 is over the device's limit of 64",
        ),
        (
            &chain,
            &raster,
            Parameters { sums: Sums::Paired, ..good },
            "sums is paired: loads are shared, aligned or image, as columns are parts of words",
        ),
        (
            &chain,
            &raster,
            Parameters { sums: Sums::Paired, loads: Loads::Shared, lanes: 2, ..good },
            "sums is paired: lanes are 4, 8 or 16, which are whole words",
        ),
        (
            &ninth,
            &raster,
            Parameters { sums: Sums::Paired, loads: Loads::Shared, ..good },
            "sums is paired: a linear filter from bytes to bytes over 5 x 5 pixels at most whose divisor is a power of \
             two and whose sums fit 16 bits",
        ),
        (&chain, &raster, image, "loads is image: rows that are a multiple of 256 elements apart, not 60"),
        (
            &chain,
            &aside,
            image,
            "loads is image: an offset that is a multiple of 4, no row around its end, and planes that are whole rows apart",
        ),
        (&chain, &tall, image, "loads is image: 1x1 to 64x16 texels, not 15x17"),
        (&chain, &raster, Parameters { lanes: 2, ..image }, "lanes is 2: 4, 8 or 16, which are whole texels"),
        (&chain, &raster, Parameters { work_group: Some([0, 8]), ..good }, "group is 0x8: 1x1 or more"),
        (&chain, &huge, good, "an image of 8589934892 elements is over the device's limit of 4294967295"),
    ];
    for (chain, raster, parameters, want) in refused {
        let error = plan(chain, raster, raster, &parameters, &probe).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
    let other = Raster::packed([20, 4], 3, Element::U8);
    let error = plan(&chain, &raster, &other, &good, &probe).unwrap_err();
    assert!(matches!(error, PlanError::Filter(FilterError::Result { .. })), "{error}");
}

/// Memory with these contents.
fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    executor.allocate(&MemoryKind::Buffer { bytes: bytes.len() }, Access::ReadWrite, Some(bytes)).unwrap()
}

/// The roles of a computation with one input.
const ONE_INPUT: [Role; 2] = [Role::Source, Role::Result];

/// Runs a plan over operands with these roles and contents; returns the operands' contents afterwards.
fn run_over(
    executor: &mut dyn Executor,
    planned: &Plan<'_>,
    roles: &[Role],
    operands: &[&[u8]],
) -> Vec<Vec<u8>> {
    let ids = operands.iter().map(|bytes| buffer(executor, bytes));
    let ids: Vec<(Role, MemoryId)> = roles.iter().copied().zip(ids).collect();
    let bound = planned.bind(executor, &ids).unwrap();
    executor.run(&bound.launches).unwrap();
    bound.release(executor);
    let mut found = Vec::new();
    for ((_, id), operand) in ids.into_iter().zip(operands) {
        let mut bytes = vec![0; operand.len()];
        executor.read(id, 0, &mut bytes).unwrap();
        executor.release(id).unwrap();
        found.push(bytes);
    }
    found
}

fn executors() -> Vec<Box<dyn Executor>> {
    let mut all: Vec<Box<dyn Executor>> = vec![Box::new(Simulator::new(Options::default()))];
    all.extend(opencl().into_iter().map(|executor| Box::new(executor) as Box<dyn Executor>));
    all
}

/// `(x * 37 + y * 91 + x * y * 13 + channel * 20) % 256`.
fn picture([width, height]: [usize; 2], channels: usize) -> Vec<u8> {
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| x * 37 + y * 91 + x * y * 13));
    pixels.flat_map(|value| (0..channels).map(move |channel| ((value + channel * 20) % 256) as u8)).collect()
}

/// Any ratio, every element type: integers exact to the bit, the others within 2^-20 of the largest magnitude, plus
/// half a unit of `half`.
#[test]
fn images_are_resized() {
    let mut random = Rng::with_seed(4);
    for mut executor in executors() {
        let sizes = [[7, 5], [1, 1], [20, 9], [3, 14]];
        let methods = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area];
        for (turn, interpolation) in methods.into_iter().cycle().take(12).enumerate() {
            let element = choose(&mut random, &WITHOUT_HALF);
            let (channels, size) = (random.usize(1..=4), [sizes[turn % 4], choose(&mut random, &sizes)]);
            let rasters = size.map(|size| laid_out(&mut random, size, channels, element));
            let [from, to] = rasters.map(|raster| placed(&mut random, &raster));
            let source = noise(&mut random, element, room(&from));
            let before = noise(&mut random, element, room(&to));
            let planned = resize(interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &before]);
            let mut want = before.clone();
            resize_reference(interpolation, &from, &source, &to, &mut want).unwrap();
            let place = format!("{interpolation:?} {from:?} {to:?}");
            if element == Element::F32 {
                let [found, want] = [&found[1], &want].map(|bytes| pod_collect_to_vec::<u8, f32>(bytes));
                for (found, want) in found.iter().zip(want) {
                    assert!((found - want).abs() <= 300.0 / 1_048_576.0, "{place}: {found}, {want}");
                }
            } else {
                assert_eq!(found[1], want, "{place}");
            }
        }
    }
}

/// Shrunk so far that a weight has few steps: the mean in `f64`, within 1.
#[test]
fn areas_are_means_however_far_they_shrink() {
    let mut random = Rng::with_seed(16);
    for mut executor in executors() {
        for (from, to) in [(83, 1), (77, 1), (1365, 1), (160, 3), (15, 2)] {
            for element in [Element::U8, Element::U16] {
                for flat in [true, false] {
                    let pixel = |random: &mut Rng| {
                        if element == Element::U8 { random.u16(..256) } else { random.u16(..) }
                    };
                    let pixels: Vec<u16> =
                        (0..from).map(|_| if flat { 200 } else { pixel(&mut random) }).collect();
                    let bytes: Vec<u8> = match element {
                        Element::U8 => pixels.iter().map(|value| *value as u8).collect(),
                        _ => cast_slice(&pixels).to_vec(),
                    };
                    let [source, result] = [from, to].map(|extent| Raster::packed([extent, 1], 1, element));
                    let planned = resize(Interpolation::Area, &source, &result, executor.probe()).unwrap();
                    let found = run_over(
                        executor.as_mut(),
                        &planned,
                        &ONE_INPUT,
                        &[&bytes, &vec![0; to * element.bytes()]],
                    );
                    let found: Vec<f64> = match element {
                        Element::U8 => found[1].iter().map(|value| f64::from(*value)).collect(),
                        _ => pod_collect_to_vec::<u8, u16>(&found[1])
                            .iter()
                            .map(|value| f64::from(*value))
                            .collect(),
                    };
                    for (at, found) in found.iter().enumerate() {
                        let [begin, end] = [at, at + 1].map(|edge| edge as f64 * from as f64 / to as f64);
                        let share = |x: usize| {
                            (end.min(x as f64 + 1.0) - begin.max(x as f64)).max(0.0) / (end - begin)
                        };
                        let mean: f64 = (0..from).map(|x| share(x) * f64::from(pixels[x])).sum();
                        assert!(
                            (found - mean).abs() <= 1.0,
                            "{from} to {to} of {element:?}: {found}, {mean}"
                        );
                    }
                }
            }
        }
    }
}

/// The result of `cv2.resize` (OpenCV 5.0.0) for the picture of 7 x 5, within 1: its weights are rounded differently.
#[test]
fn resized_images_are_opencv_s() {
    // INTER_LINEAR to 5 x 8 and 11 x 3; INTER_AREA to 3 x 2; INTER_NEAREST to 4 x 9.
    let tables: [(Interpolation, [usize; 2], &[u8]); 4] = [
        (
            Interpolation::Bilinear,
            [5, 8],
            &[
                7, 59, 111, 163, 214, 48, 108, 168, 116, 175, 107, 168, 233, 64, 122, 165, 142, 154, 157, 99,
                144, 132, 156, 169, 123, 42, 138, 237, 102, 194, 85, 115, 174, 121, 151, 126, 97, 119, 141,
                112,
            ],
        ),
        (
            Interpolation::Bilinear,
            [11, 3],
            &[
                30, 49, 75, 102, 128, 154, 126, 121, 148, 174, 193, 182, 211, 227, 105, 75, 115, 155, 195,
                235, 136, 48, 77, 116, 154, 100, 107, 161, 161, 137, 82, 120, 159,
            ],
        ),
        (Interpolation::Area, [3, 2], &[99, 135, 148, 121, 139, 136]),
        (
            Interpolation::Nearest,
            [4, 9],
            &[
                0, 37, 111, 185, 0, 37, 111, 185, 91, 141, 241, 85, 91, 141, 241, 85, 182, 245, 115, 241,
                182, 245, 115, 241, 17, 93, 245, 141, 17, 93, 245, 141, 108, 197, 119, 41,
            ],
        ),
    ];
    let source = picture([7, 5], 1);
    let from = Raster::packed([7, 5], 1, Element::U8);
    for mut executor in executors() {
        for (interpolation, size, want) in &tables {
            let to = Raster::packed(*size, 1, Element::U8);
            let planned = resize(*interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &vec![0; want.len()]]);
            for (found, want) in found[1].iter().zip(*want) {
                assert!(found.abs_diff(*want) <= 1, "{interpolation:?} {size:?}: {found}, {want}");
            }
        }
    }
}

/// `cv2.cvtColor(.., COLOR_YUV2RGB_NV12)` and `NV21` (OpenCV 5.0.0) of 4 x 2 pixels; the luma of `COLOR_RGB2YUV_I420`
/// of the result, and chroma computed by hand.
#[test]
fn semiplanar_frames_are_opencv_s() {
    const FROM_FRAME: [Role; 3] = [Role::Luma, Role::Chroma, Role::Result];
    const TO_FRAME: [Role; 3] = [Role::Source, Role::Luma, Role::Chroma];
    let yuv: [u8; 12] = [16, 80, 150, 235, 40, 126, 200, 255, 90, 240, 200, 60];
    let rgb: [u8; 24] = [
        179, 0, 0, 253, 0, 0, 47, 183, 255, 146, 255, 255, 207, 0, 0, 255, 52, 51, 106, 241, 255, 170, 255,
        255,
    ];
    let swapped: [u8; 24] = [
        0, 0, 226, 14, 62, 255, 255, 124, 19, 255, 223, 118, 0, 15, 254, 67, 115, 255, 255, 182, 77, 255,
        246, 141,
    ];
    let luma: [u8; 8] = [62, 81, 145, 207, 69, 113, 190, 213];
    for mut executor in executors() {
        for (frame, want) in [(Semiplanar::nv12([4, 2]), &rgb), (Semiplanar::nv21([4, 2]), &swapped)] {
            let to = Raster::packed([4, 2], 3, Element::U8);
            let planned = semiplanar_to_rgb(&frame, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &FROM_FRAME, &[&yuv, &yuv, &[0; 24]]);
            assert_eq!(found[2], want, "{frame:?}");
        }
        // Gaps, an odd edge, planes with alpha: the bytes in between must not change.
        let frame = Semiplanar { size: [3, 1], luma: [1, 9], chroma: [2, 7], v_first: false };
        let planes = Raster::planar([3, 1], 4, Element::U8);
        let planned = semiplanar_to_rgb(&frame, &planes, executor.probe()).unwrap();
        // Y 126 is (126 - 16) * 1.164 = 128 without chroma.
        let found = run_over(
            executor.as_mut(),
            &planned,
            &FROM_FRAME,
            &[&[9, 126, 16, 235], &[0, 0, 128, 128, 128, 128], &[7; 13]],
        );
        assert_eq!(found[2], [128, 0, 255, 128, 0, 255, 128, 0, 255, 255, 255, 255, 7]);
        let from = Raster::packed([4, 2], 3, Element::U8);
        let planned = rgb_to_semiplanar(&from, &Semiplanar::nv12([4, 2]), executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &TO_FRAME, &[&rgb, &[5; 12], &[5; 12]]);
        assert_eq!(found[1][..8], luma);
        assert_eq!(found[1][8..], [5; 4]);
        for (pair, block) in [[0, 1], [2, 3]].into_iter().enumerate() {
            let pixel = |x: usize, y: usize, channel: usize| i64::from(rgb[(y * 4 + x) * 3 + channel]);
            let sum = |channel: usize| {
                block.iter().map(|x| pixel(*x, 0, channel) + pixel(*x, 1, channel)).sum::<i64>()
            };
            let (r, g, b) = (sum(0) as f64 / 4.0, sum(1) as f64 / 4.0, sum(2) as f64 / 4.0);
            // BT.601: -0.148 R - 0.291 G + 0.439 B + 128, 0.439 R - 0.368 G - 0.071 B + 128.
            let want =
                [-0.148 * r - 0.291 * g + 0.439 * b + 128.0, 0.439 * r - 0.368 * g - 0.071 * b + 128.0];
            for (found, want) in found[2][8 + 2 * pair..][..2].iter().zip(want) {
                assert!((f64::from(*found) - want).abs() < 0.7, "{found}, {want}");
            }
        }
    }
}

fn floats(values: &[f32]) -> Vec<u8> {
    cast_slice(values).to_vec()
}

#[test]
fn vectors_are_added_and_reduced() {
    let mut random = Rng::with_seed(5);
    for mut executor in executors() {
        for length in [0, 1, 63, 1000] {
            let x = Vector { length, offset: 2, stride: 3 };
            let y = Vector { length, offset: 1, stride: 1 };
            let values =
                |random: &mut Rng, count: usize| (0..count).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
            let (a, b) = (values(&mut random, 3 * length + 3), values(&mut random, length + 2));
            let doubles = |of: &[f32], vector: Vector| -> Vec<f64> {
                (0..length).map(|i| f64::from(of[vector.offset + i * vector.stride])).collect()
            };
            let (wide_a, wide_b) = (doubles(&a, x), doubles(&b, y));
            let planned = elementwise::axpy(1.5, x, y, Element::F32).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&floats(&a), &floats(&b)]);
            let found: Vec<f32> = pod_collect_to_vec(&found[1]);
            assert_eq!((found[0], found[length + 1]), (b[0], b[length + 1]), "outside the vector");
            for (found, want) in found[1..].iter().zip(elementwise::reference::axpy(1.5, &wide_a, &wide_b)) {
                assert!((f64::from(*found) - want).abs() < 1e-6, "{found}, {want}");
            }
            let mut reduced = |reduction: Reduction, other: Option<Vector>| -> Vec<u8> {
                let planned = elementwise::reduce(
                    reduction,
                    x.into(),
                    other.map(Grid::from),
                    ScalarType::F32,
                    executor.probe(),
                )
                .unwrap();
                let [a, b] = [floats(&a), floats(&b)];
                let room = vec![0; reduction.result_bytes(ScalarType::F32)];
                let (roles, operands): (Vec<Role>, Vec<&[u8]>) = match other {
                    Some(_) => (vec![Role::Y, Role::X, Role::Result], vec![&b, &a, &room]),
                    None => (vec![Role::X, Role::Result], vec![&a, &room]),
                };
                let found = run_over(executor.as_mut(), &planned, &roles, &operands);
                found.last().unwrap().clone()
            };
            let number = |bytes: &[u8]| f64::from(pod_read_unaligned::<f32>(&bytes[..4]));
            let ones = vec![1.0; length];
            let bound = (length + 2) as f64 * 2f64.powi(-24) * length as f64;
            let sum = number(&reduced(Reduction::Sum, None));
            assert!((sum - elementwise::reference::dot(&wide_a, &ones)).abs() <= bound, "{length}: {sum}");
            let dot = number(&reduced(Reduction::Dot, Some(y)));
            assert!((dot - elementwise::reference::dot(&wide_a, &wide_b)).abs() <= bound, "{length}: {dot}");
            for (reduction, want, none) in [
                (Reduction::Least, elementwise::reference::least(&wide_a), f64::INFINITY),
                (Reduction::Most, elementwise::reference::most(&wide_a), f64::NEG_INFINITY),
            ] {
                let bytes = reduced(reduction, None);
                let found = (number(&bytes), pod_read_unaligned::<u32>(&bytes[4..]));
                assert_eq!(found, want.map_or((none, u32::MAX), |(value, index)| (value, index as u32)));
            }
        }
    }
}

/// Sums of bytes are exact; among equal elements the first is found.
#[test]
fn integers_are_reduced() {
    for mut executor in executors() {
        let bytes: Vec<u8> = (0..5000).map(|i| (i * 7 % 256) as u8).collect();
        let x = Vector::dense(bytes.len());
        let mut reduced = |reduction: Reduction, other: Option<Vector>| {
            let planned = elementwise::reduce(
                reduction,
                x.into(),
                other.map(Grid::from),
                ScalarType::U8,
                executor.probe(),
            )
            .unwrap();
            let (roles, operands): (Vec<Role>, Vec<&[u8]>) = match other {
                Some(_) => (vec![Role::X, Role::Y, Role::Result], vec![&bytes, &bytes, &[0; 8]]),
                None => (vec![Role::X, Role::Result], vec![&bytes, &[0; 8]]),
            };
            run_over(executor.as_mut(), &planned, &roles, &operands).pop().unwrap()
        };
        let sum: i64 = bytes.iter().map(|byte| i64::from(*byte)).sum();
        let squares: i64 = bytes.iter().map(|byte| i64::from(*byte) * i64::from(*byte)).sum();
        assert_eq!(pod_read_unaligned::<i64>(&reduced(Reduction::Sum, None)), sum);
        assert_eq!(pod_read_unaligned::<i64>(&reduced(Reduction::Dot, Some(x))), squares);
        // 7 is coprime to 256: 255 is 7 x 73 - 256, and 0 comes first.
        assert_eq!(pod_collect_to_vec::<u8, u32>(&reduced(Reduction::Least, None)), [0, 0]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&reduced(Reduction::Most, None)), [255, 73]);
    }
}

#[test]
fn matrices_are_transposed_and_values_counted() {
    for mut executor in executors() {
        for [columns, rows] in [[1, 1], [9, 17], [16, 8]] {
            let matrix: Vec<u16> = (0..columns * rows).map(|i| i as u16).collect();
            let planned = elementwise::transpose(Matrix::dense(columns, rows), [0, rows], 2).unwrap();
            let found = run_over(
                executor.as_mut(),
                &planned,
                &ONE_INPUT,
                &[cast_slice(&matrix), &vec![0; matrix.len() * 2]],
            );
            let want = elementwise::reference::transpose(&matrix, columns);
            assert_eq!(pod_collect_to_vec::<u8, u16>(&found[1]), want);
        }
        // 2 x 2 elements of 16 bytes from rows of 3, into rows of 4.
        let matrix = Matrix { columns: 2, rows: 2, offset: 1, pitch: 3 };
        let source: Vec<u8> = (0..6 * 16).collect();
        let planned = elementwise::transpose(matrix, [0, 4], 16).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &[255; 6 * 16]]);
        let first: Vec<u8> = found[1].iter().copied().step_by(16).collect();
        assert_eq!(first, [16, 64, 255, 255, 32, 80]);
        let raster = Raster::planar([31, 9], 2, Element::U8).with_pitch(40);
        let source = noise(&mut Rng::with_seed(6), Element::U8, raster.elements().unwrap());
        let pixels = (0..2).flat_map(|channel| (0..9 * 31).map(move |i| ([i % 31, i / 31], channel)));
        let want =
            elementwise::reference::histogram(pixels.map(|(at, channel)| source[raster.index(at, channel)]));
        let planned = elementwise::histogram(&raster, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &[9; 1024]]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&found[1]), want);
        // Packed pixels have one plane, whatever the plane pitch; an image without columns has nothing to count.
        let odd = Raster { plane_pitch: 7, ..Raster::packed([4, 2], 3, Element::U8) };
        let planned = elementwise::histogram(&odd, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&[5; 40], &[9; 1024]]);
        let found: Vec<u32> = pod_collect_to_vec(&found[1]);
        assert_eq!((found[5], found.iter().sum::<u32>()), (24, 24));
        let none = Raster { pitch: 5, ..Raster::packed([0, 3], 1, Element::U8) };
        let planned = elementwise::histogram(&none, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&[5; 40], &[9; 1024]]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&found[1]), [0; 256]);
        let wide = Raster::packed([3, 1], 1, Element::U16);
        let planned = elementwise::histogram(&wide, executor.probe()).unwrap();
        let values = [0x01FFu16, 0x0100, 0xFF00];
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[cast_slice(&values), &[9; 1024]]);
        let found: Vec<u32> = pod_collect_to_vec(&found[1]);
        assert_eq!((found[1], found[255], found.iter().sum::<u32>()), (2, 1, 3));
    }
}
