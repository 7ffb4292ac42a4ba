//! Parameters: images over sources, defaults, candidates, and those that are refused.

use fastrand::Rng;
use tripipe_device::{DeviceKind, ImageLimits, Probe};
use tripipe_kernels::filter::{
    Border, Chain, ChainChoice, Color, Fuse, Gradient, Linear, Loads, Parameters, PixelType, Raster, Size,
    Stage, Sums, candidates, default_parameters, plan,
};
use tripipe_launch::{Executor, Program};
use tripipe_simulate::{Options, Simulator};

use tripipe_kernels::PlanError;
use tripipe_kernels::filter::FilterError;

use super::drawn::{BORDERS, Case, choose, laid_out, placed, run};
use super::executors;

pub(super) fn is_define(program: &Program, name: &str, value: &str) -> bool {
    program.defines.iter().any(|define| *define == (name.to_owned(), value.to_owned()))
}

/// Sources read as images over their buffers, every type, layout and border, one window and two; skipped with a message
/// on devices without such images.
#[test]
fn images_over_sources_are_right() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let blur = || linear(Linear::gaussian(5, None).unwrap());
    let windows: [Vec<Stage>; 4] = [
        vec![linear(Linear::full(Size::new(5, 3), (0..15).map(|i| i * 7 % 11 - 4).collect(), 7).unwrap())],
        vec![Stage::Median { size: 3 }],
        vec![blur(), linear(Linear::laplace8())],
        vec![
            Stage::Convert { to: PixelType::F32, scale: 0.1, offset: 3.0 },
            Stage::Gradient(Gradient::Sobel),
        ],
    ];
    let gray = [Stage::Color(Color::BgrToGray), blur(), Stage::Median { size: 3 }, blur()];
    let elements = PixelType::ALL.map(|element| windows.iter().map(move |stages| (element, &stages[..])));
    // Two sums per register.
    let paired =
        [Linear::laplace_sharpen(), Linear::gaussian(5, None).unwrap().with_offset(9)].map(|of| [linear(of)]);
    let paired = paired.iter().cycle().map(|stages| (PixelType::U8, &stages[..]));
    let chains = elements.into_iter().flatten().chain([(PixelType::U8, &gray[..])]).chain(paired.take(6));
    let mut random = Rng::with_seed(11);
    for mut executor in executors() {
        let offered = executor.probe().images.is_some_and(|limits| limits.from_buffer);
        for ((element, stages), border) in chains.clone().zip(BORDERS.into_iter().cycle()) {
            let chain = Chain::new(stages.to_vec(), border).keep_alpha(random.bool());
            let size = choose(
                &mut random,
                &[Size::new(4, 1), Size::new(17, 9), Size::new(50, 5), Size::new(67, 12)],
            );
            let is_gray = matches!(stages[0], Stage::Color(_));
            let channels = if is_gray { random.usize(3..=4) } else { random.usize(1..=4) };
            let around = laid_out(&mut random, Size::new(size.width + 9, size.height + 2), channels, element);
            // A pixel of 1 to 4 elements at a multiple of 4 elements.
            let from = around.with_pitch(around.pitch.next_multiple_of(64)).region(4, 1, size).unwrap();
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
        for (element, channels) in [(PixelType::U8, 3), (PixelType::F16, 1)] {
            let chain = Chain::one(Stage::Linear(Linear::sharpen()), Border::Reflect101);
            let from = Raster::packed(Size::new(64, 9), channels, element);
            let ChainChoice { parameters, why, source, .. } = default_parameters(&chain, &from, &probe);
            assert!(!why.is_empty() && !source.is_empty());
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
    let raster = Raster::packed(Size::new(20, 5), 3, PixelType::U8);
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
    let tall = Raster::packed(Size::new(20, 17), 3, PixelType::U8).with_pitch(256);
    let alpha = chain.clone().keep_alpha(true);
    let rgba = Raster::packed(Size::new(20, 5), 4, PixelType::U8);
    let huge = Raster { offset: 1 << 33, ..raster };
    let ninth = Chain::one(Stage::Linear(Linear::mean(Size::square(3)).unwrap()), Border::Wrap);
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
    let other = Raster::packed(Size::new(20, 4), 3, PixelType::U8);
    let error = plan(&chain, &raster, &other, &good, &probe).unwrap_err();
    assert!(matches!(error, PlanError::Filter(FilterError::Result { .. })), "{error}");
}
