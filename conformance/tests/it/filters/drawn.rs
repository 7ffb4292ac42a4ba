//! Cases drawn from the whole space.

use fastrand::Rng;
use tripipe_device::Probe;
use tripipe_kernels::Role;
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Fuse, Gradient, Linear, Loads, Morphology, Neighbourhood, Parameters,
    PixelType, Rank, Raster, Size, Stage, Sums, plan, reference,
};
use tripipe_launch::Executor;
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Options, Simulator};

use super::{WITHOUT_HALF, buffer, noise, opencl, room};

/// A chain between two rasters, and its parameters.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) chain: Chain,
    pub(super) from: Raster,
    pub(super) to: Raster,
    pub(super) parameters: Parameters,
}

pub(super) const BORDERS: [Border; 6] = [
    Border::None,
    Border::Constant(77.4),
    Border::Replicate,
    Border::Reflect,
    Border::Reflect101,
    Border::Wrap,
];

pub(super) const COLORS: [Color; 10] = [
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
const SIZES: [Size; 10] = [
    Size::square(1),
    Size::new(1, 9),
    Size::new(37, 1),
    Size::square(2),
    Size::new(3, 4),
    Size::new(16, 5),
    Size::new(17, 9),
    Size::new(31, 3),
    Size::new(50, 11),
    Size::new(67, 20),
];

pub(super) fn choose<T: Clone>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())].clone()
}

/// Every kind of stage that accepts pixels of this type and number of channels.
pub(super) fn stages(element: PixelType, channels: usize) -> Vec<Stage> {
    let odd = |width: usize, height: usize| {
        (0..width * height).map(|i| (i * 7 % 11) as i32 - 4).collect::<Vec<i32>>()
    };
    let real = |width: usize, height: usize| {
        (0..width * height).map(|i| (i * 5 % 13) as f32 / 9.0 - 0.6).collect::<Vec<f32>>()
    };
    let linear = [
        Linear::laplace_sharpen(),
        Linear::laplace4(),
        Linear::laplace8().to(PixelType::I16),
        Linear::sharpen(),
        Linear::sobel_x().with_offset(128),
        Linear::sobel_y().to(PixelType::I16),
        Linear::scharr_x().to(PixelType::F32),
        Linear::scharr_y().with_offset(-3),
        Linear::mean(Size::square(3)).unwrap(),
        Linear::mean(Size::new(5, 1)).unwrap(),
        Linear::gaussian(3, None).unwrap(),
        Linear::gaussian(5, None).unwrap(),
        Linear::gaussian(7, Some(1.7)).unwrap(),
        Linear::gaussian(5, Some(0.9)).unwrap().to(PixelType::F32),
        Linear::unsharp(5, None, 0.7).unwrap(),
        Linear::full(Size::new(5, 3), odd(5, 3), 7).unwrap(),
        Linear::full(Size::square(1), vec![-3], 2).unwrap().to(PixelType::I16),
        Linear::full_real(Size::new(3, 5), real(3, 5)).unwrap(),
        Linear::mean(Size::square(15)).unwrap(),
        // Sums that need all of 32 bits for unsigned pixels.
        Linear::gaussian(15, Some(40.0)).unwrap(),
        Linear::gaussian(9, None).unwrap().with_offset(-20),
    ];
    let mut found: Vec<Stage> = linear.into_iter().map(Stage::Linear).collect();
    found.extend([Gradient::Sobel, Gradient::Scharr].map(Stage::Gradient));
    found.extend([3, 5].map(|size| Stage::Median { size }));
    found.extend([(7, 24), (3, 1), (5, 20)].map(|(size, rank)| Stage::Rank(Rank { size, rank })));
    found.extend([0.0, 99.5, -7.0].map(|level| Stage::threshold(level).unwrap()));
    found.extend(
        [
            Morphology::Erode(Neighbourhood::Rectangle(Size::square(3))),
            Morphology::Dilate(Neighbourhood::Rectangle(Size::new(5, 1))),
            Morphology::Erode(Neighbourhood::Cross(Size::new(5, 3))),
            Morphology::Dilate(Neighbourhood::Cross(Size::square(3))),
        ]
        .map(Stage::Morphology),
    );
    let sigma_color = if element == PixelType::U8 { 40.0 } else { 900.0 };
    found.push(Stage::Bilateral(Bilateral { size: 5, sigma_color, sigma_space: 1.8 }));
    found.extend(PixelType::ALL.map(|to| Stage::Convert { to, scale: 0.37, offset: 5.5 }));
    found.push(Stage::Convert { to: PixelType::F32, scale: -1.0 / 255.0, offset: 0.0 });
    found.extend(COLORS.into_iter().filter(|color| color.channels(channels).is_ok()).map(Stage::Color));
    found.retain(|stage| stage.output(channels, element).is_ok());
    found
}

/// A raster of the same pixels inside a larger one, with gaps between rows and planes.
pub(super) fn placed(random: &mut Rng, raster: &Raster) -> Raster {
    let size = raster.size();
    match random.usize(..3) {
        // Unchanged.
        0 => *raster,
        // Rows and planes at multiples of every vector width.
        1 => raster.with_pitch(raster.pitch.next_multiple_of(16)),
        // A region, at any address.
        _ => {
            let (x, y) = (random.usize(..4), random.usize(..3));
            let around = Size::new(size.width + x + random.usize(..3), size.height + y + random.usize(..2));
            let all = Raster::dense(raster.layout, around, raster.channels, raster.element);
            all.with_pitch(all.pitch + random.usize(..3)).region(x, y, size).unwrap()
        }
    }
}

pub(super) fn laid_out(random: &mut Rng, size: Size, channels: usize, element: PixelType) -> Raster {
    if random.bool() {
        Raster::packed(size, channels, element)
    } else {
        Raster::planar(size, channels, element)
    }
}

fn draw(random: &mut Rng, elements: &[PixelType], probe: &Probe) -> Case {
    loop {
        let (element, channels) = (choose(random, elements), random.usize(1..=4));
        let mut stages_drawn = vec![choose(random, &stages(element, channels))];
        while stages_drawn.len() < 3 && random.usize(..3) == 0 {
            let chain = Chain::new(stages_drawn.clone(), Border::None);
            let made = chain.apply_to(&Raster::packed(Size::square(1), channels, element)).unwrap();
            stages_drawn.push(choose(random, &stages(made.element, made.channels)));
        }
        let chain = Chain::new(stages_drawn, choose(random, &BORDERS)).keep_alpha(random.bool());
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

pub(super) fn run(executor: &mut dyn Executor, random: &mut Rng, case: &Case) {
    let source = noise(random, case.from.element, room(&case.from));
    run_on(executor, random, case, &source);
}

pub(super) fn run_on(executor: &mut dyn Executor, random: &mut Rng, case: &Case, source: &[u8]) {
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
            outside[to.index(x, y, channel)] = false;
        }
    }
    let bytes = to.element.bytes();
    for (index, _) in outside.iter().enumerate().filter(|(_, outside)| **outside) {
        let element = index * bytes..(index + 1) * bytes;
        assert_eq!(after[element.clone()], before[element], "{case:#?}: element {index} is not a pixel");
    }
}

/// The number of drawn cases: `fewest`, or the value of `TRIPIPE_FILTER_CASES`, for a longer run.
pub(super) fn cases(fewest: usize) -> usize {
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
        let case = draw(&mut random, &PixelType::ALL, executor.probe());
        run(&mut executor, &mut random, &case);
    }
}

/// No access outside a buffer, no race, no use of uninitialised memory: the simulator checks every access of some
/// cases.
#[test]
fn kernels_have_no_undefined_behaviour() {
    let mut executor = Simulator::new(Options::default());
    let mut random = Rng::with_seed(8);
    for _ in 0..cases(12) {
        let case = draw(&mut random, &PixelType::ALL, executor.probe());
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
