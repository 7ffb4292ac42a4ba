//! Filters on every executor, against their reference.
//!
//! Cases are drawn with a fixed seed from the whole space: stages, element types, channels, layouts, borders, sizes, regions,
//! parameters. Source and result lie inside larger buffers whose other bytes must survive. Half-precision images run in the
//! simulator only. Without an OpenCL device its part is left out, which is said; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests say what they leave out, and panic"
)]

use fastrand::Rng;
use half::f16;
use tripipe_device::{DeviceKind, Probe};
use tripipe_kernels::PlanError;
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Element, FilterError, Gradient, Layout, Linear, Loads, Morphology,
    Neighbourhood, Parameters, Raster, Stage, candidates, default_parameters, plan, reference,
};
use tripipe_launch::{Access, Executor, MemoryKind};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_simulate::{Options, Simulator};

/// A chain between two rasters, and how it is run.
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

/// One pixel, lines, smaller than most windows, off every vector, several work-groups.
const SIZES: [[usize; 2]; 10] =
    [[1, 1], [1, 9], [37, 1], [2, 2], [3, 4], [16, 5], [17, 9], [31, 3], [50, 11], [67, 20]];

fn choose<T: Clone>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())].clone()
}

/// Every kind of stage that takes pixels of this type and so many channels.
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
    let colors = [
        Color::RgbToGray,
        Color::BgrToGray,
        Color::GrayToRgb,
        Color::SwapRedBlue,
        Color::DropAlpha,
        Color::AddAlpha,
        Color::RgbToYuv,
        Color::YuvToRgb,
    ];
    found.extend(colors.into_iter().filter(|color| color.channels(channels).is_ok()).map(Stage::Color));
    found.retain(|stage| stage.output(channels, element).is_ok());
    found
}

/// A raster of the same pixels inside a larger one, with gaps between rows and planes.
fn placed(random: &mut Rng, raster: &Raster) -> Raster {
    let size = [raster.width, raster.height];
    match random.usize(..3) {
        // As it is.
        0 => *raster,
        // Rows and planes at multiples of every vector.
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
            narrow: random.bool(),
            work_group: choose(random, &[None, Some([4, 2]), Some([8, 8])]),
            fuse: random.bool(),
        };
        if parameters.check(&chain, &from, &to, probe).is_ok() {
            return Case { chain, from, to, parameters };
        }
    }
}

/// Values over the whole range of integers; floating-point ones between -300 and 300.
fn noise(random: &mut Rng, element: Element, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|_| match element {
            Element::F16 => f16::from_f32(random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            Element::F32 => (random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            _ => (0..element.bytes()).map(|_| random.u8(..)).collect(),
        })
        .collect()
}

/// Elements of a raster's buffer, with some after its last.
fn room(raster: &Raster) -> usize {
    raster.elements().unwrap() + 3
}

fn run(executor: &mut dyn Executor, random: &mut Rng, case: &Case) {
    let Case { chain, from, to, parameters } = case;
    let source = noise(random, from.element, room(from));
    let before = noise(random, to.element, room(to));
    let mut buffer = |bytes: &[u8], access: Access| {
        executor.allocate(&MemoryKind::Buffer { bytes: bytes.len() }, access, Some(bytes)).unwrap()
    };
    let operands = [buffer(&source, Access::Read), buffer(&before, Access::ReadWrite)];
    let planned = plan(chain, from, to, parameters, executor.probe()).unwrap();
    let bound = planned.bind(executor, &operands).unwrap();
    executor.run(&bound.launches).unwrap_or_else(|error| panic!("{case:#?}: {error}"));
    let mut after = before.clone();
    executor.read(operands[1], 0, &mut after).unwrap();
    bound.release(executor);
    for operand in operands {
        executor.release(operand).unwrap();
    }
    reference::verify(chain, from, &source, to, &after).unwrap_or_else(|error| panic!("{case:#?}: {error}"));
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

/// What devices without half precision are given.
const WITHOUT_HALF: [Element; 4] = [Element::U8, Element::I16, Element::U16, Element::F32];

fn cases() -> usize {
    std::env::var("FILTER_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn drawn_cases_on_opencl() {
    for mut executor in opencl() {
        let mut random = Rng::with_seed(1);
        for _ in 0..cases() {
            let case = draw(&mut random, &WITHOUT_HALF, executor.probe());
            run(&mut executor, &mut random, &case);
        }
    }
}

#[test]
fn drawn_cases_in_the_simulator() {
    let mut executor = Simulator::new(Options::default());
    let mut random = Rng::with_seed(2);
    for _ in 0..cases() {
        let case = draw(&mut random, &Element::ALL, executor.probe());
        run(&mut executor, &mut random, &case);
    }
}

/// What the library runs where nobody says otherwise, and one of the candidates, for every device family.
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

/// What cannot be run is refused with what would be right.
#[test]
fn impossible_parameters_are_refused() {
    let probe = Probe { max_work_group_size: 64, ..Probe::default() };
    let chain = Chain::one(Stage::Linear(Linear::sharpen()), Border::Wrap);
    let raster = Raster::packed([20, 5], 3, Element::U8);
    let good = Parameters {
        lanes: 16,
        rows: 2,
        loads: Loads::Direct,
        narrow: true,
        work_group: Some([8, 8]),
        fuse: false,
    };
    good.check(&chain, &raster, &raster, &probe).unwrap();
    let alpha = Chain { keep_alpha: true, ..chain.clone() };
    let rgba = Raster::packed([20, 5], 4, Element::U8);
    let huge = Raster { offset: 1 << 33, ..raster };
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
            "loads is Aligned: an offset, a pitch and a plane pitch that are multiples of 16",
        ),
        (
            &chain,
            &raster,
            Parameters { work_group: Some([16, 8]), ..good },
            "a work-group of 16x8 is over the device's limit of 64",
        ),
        (&chain, &raster, Parameters { work_group: Some([0, 8]), ..good }, "work_group is 0x8: 1x1 or more"),
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
