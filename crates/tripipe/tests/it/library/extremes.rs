//! Extents, distances and weights that no image has: an error or a result, never a panic. The tests' profile checks for
//! overflows.

use proptest::prelude::*;
use proptest::sample::select;
use tripipe::filter::{
    Bilateral, Border, Chain, ChannelLayout, Color, Interpolation, Linear, Morphology, Neighbourhood,
    PixelType, Raster, Semiplanar, Stage,
};
use tripipe::{Context, Device, Image, Size};
use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::elementwise::{self, Grid, Map, MatrixLayout, Reduction, Step, VectorLayout};
use tripipe_kernels::filter::{Axis, default_parameters, plan, resize, rgb_to_semiplanar, semiplanar_to_rgb};
use tripipe_launch::ScalarType;

fn extent() -> impl Strategy<Value = usize> {
    let half = usize::MAX / 2;
    let root = 1 << (usize::BITS / 2);
    select(vec![
        0,
        1,
        2,
        3,
        5,
        16,
        31,
        255,
        root - 1,
        root,
        1 << 31,
        half,
        half + 1,
        usize::MAX - 1,
        usize::MAX,
    ])
}

fn integer() -> impl Strategy<Value = i32> {
    select(vec![0, 1, -1, 7, 255, 1 << 16, i32::MIN, i32::MIN + 1, i32::MAX])
}

fn number() -> impl Strategy<Value = f32> {
    select(vec![0.0, 1.0, -0.5, 3e6, 1e-45, f32::MIN_POSITIVE, f32::MAX, f32::MIN, f32::INFINITY, f32::NAN])
}

fn element() -> impl Strategy<Value = PixelType> {
    select(PixelType::ALL.to_vec())
}

fn raster() -> impl Strategy<Value = Raster> {
    let layout = select(vec![ChannelLayout::Packed, ChannelLayout::Planar]);
    let places = (extent(), extent(), extent());
    (extent(), extent(), 0usize..6, element(), layout, places).prop_map(
        |(width, height, channels, element, layout, (offset, pitch, plane_pitch))| Raster {
            width,
            height,
            channels,
            element,
            layout,
            offset,
            pitch,
            plane_pitch,
        },
    )
}

fn linear() -> impl Strategy<Value = Option<Linear>> {
    let integers = || prop::collection::vec(integer(), 0..6);
    let reals = || prop::collection::vec(number(), 0..6);
    let divisor = select(vec![0, 1, 2, 3, 1 << 31, (1 << 31) + 1, u32::MAX]);
    prop_oneof![
        (integers(), extent(), extent(), divisor.clone()).prop_map(|(weights, width, height, divisor)| {
            Linear::full(Size::new(width, height), weights, divisor).ok()
        }),
        (integers(), divisor.clone()).prop_map(|(weights, divisor)| Linear::full(
            Size::new(weights.len(), 1),
            weights,
            divisor
        )
        .ok()),
        (integers(), integers(), divisor)
            .prop_map(|(across, down, divisor)| Linear::separable(across, down, divisor).ok()),
        reals().prop_map(|weights| Linear::full_real(Size::new(weights.len(), 1), weights).ok()),
        (reals(), reals()).prop_map(|(across, down)| Linear::separable_real(across, down).ok()),
        (extent(), extent()).prop_map(|(width, height)| Linear::mean(Size::new(width, height)).ok()),
        (extent(), prop::option::of(number())).prop_map(|(size, sigma)| Linear::gaussian(size, sigma).ok()),
        (extent(), prop::option::of(number()), number())
            .prop_map(|(size, sigma, amount)| Linear::unsharp(size, sigma, amount).ok()),
    ]
}

fn stage() -> impl Strategy<Value = Stage> {
    let offset_to = (integer(), prop::option::of(element()));
    let linear = (linear(), offset_to).prop_filter_map("a filter", |(linear, (offset, to))| {
        let linear = linear?.with_offset(offset);
        Some(Stage::Linear(to.map_or(linear.clone(), |to| linear.to(to))))
    });
    let neighbourhood = (extent(), extent(), any::<bool>()).prop_map(|(width, height, cross)| {
        if cross {
            Neighbourhood::Cross(Size::new(width, height))
        } else {
            Neighbourhood::Rectangle(Size::new(width, height))
        }
    });
    let colors = vec![Color::RgbToGray, Color::AddAlpha, Color::DropAlpha, Color::RgbToYcrcb];
    prop_oneof![
        3 => linear,
        1 => extent().prop_map(|size| Stage::Median { size }),
        1 => neighbourhood.prop_map(|neighbourhood| Stage::Morphology(Morphology::Erode(neighbourhood))),
        1 => (extent(), number(), number()).prop_map(|(size, sigma_color, sigma_space)| {
            Stage::Bilateral(Bilateral { size, sigma_color, sigma_space })
        }),
        1 => (element(), number(), number()).prop_map(|(to, scale, offset)| Stage::Convert { to, scale, offset }),
        1 => select(colors).prop_map(Stage::Color),
    ]
}

fn border() -> impl Strategy<Value = Border> {
    prop_oneof![
        Just(Border::None),
        number().prop_map(Border::Constant),
        Just(Border::Replicate),
        Just(Border::Reflect),
        Just(Border::Reflect101),
        Just(Border::Wrap),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rasters(raster in raster(), (x, y) in (extent(), extent()), size in (extent(), extent()), pitch in extent()) {
        let _ = (raster.step(), raster.row_elements(), raster.is_empty(), raster.index(x, y, 3));
        let _ = raster.with_pitch(pitch).elements();
        if let Ok(region) = raster.region(x, y, Size::new(size.0, size.1)) {
            let _ = region.elements();
        }
        let extents = Size::new(x, y);
        let packed = Raster::packed(extents, size.0, raster.element);
        for built in [packed, Raster::planar(extents, size.0, raster.element), Raster::luma(extents, pitch)] {
            let _ = (built.elements(), built.index(x, y, 1));
        }
    }

    #[test]
    fn filters(linear in linear(), element in element(), bilateral in (extent(), number(), number())) {
        if let Some(linear) = linear {
            let _ = (linear.real(), linear.real_factors(Axis::Across));
            if let Ok(fixed) = linear.fixed(element) {
                let _ = (fixed.scale(i64::MAX), fixed.scale(i64::MIN), fixed.scale(fixed.sums[1]));
            }
        }
        let (size, sigma_color, sigma_space) = bilateral;
        let bilateral = Bilateral { size, sigma_color, sigma_space };
        let _ = (bilateral.space(), bilateral.space_exact());
    }

    #[test]
    fn chains(from in raster(), stages in prop::collection::vec(stage(), 0..4), border in border(), keep_alpha: bool) {
        let chain = Chain::new(stages, border).keep_alpha(keep_alpha);
        let images = ImageLimits {
            max_2d: [1 << 14; 2],
            max_3d: [0; 3],
            max_layers: 0,
            max_1d_buffer: 0,
            from_buffer: true,
            pitch_alignment: 4,
            base_address_alignment: 4,
        };
        let probe = Probe { name: "Adreno".to_owned(), images: Some(images), ..Probe::default() };
        let parameters = default_parameters(&chain, &from, &probe).parameters;
        let Ok(to) = chain.apply_to(&from) else { return Ok(()) };
        let _ = chain.check(&from, &to);
        let _ = plan(&chain, &from, &to, &parameters, &probe);
    }

    #[test]
    fn other_plans(
        from in raster(),
        to in raster(),
        at in (extent(), extent()),
        numbers in (extent(), extent(), extent(), extent()),
    ) {
        let probe = Probe::default();
        let (a, b, c, d) = numbers;
        let method = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area][a % 3];
        // Tables have as many entries as there are pixels along an axis.
        if to.width < 1 << 16 && to.height < 1 << 16 && from.width < 1 << 16 && from.height < 1 << 16 {
            let _ = resize(method, &from, &Raster { channels: from.channels, element: from.element, ..to }, &probe);
        }
        let size = Size::new(a, b);
        let swapped = Semiplanar { size, luma: [c, d], chroma: [d, c], v_first: true };
        for frame in [Semiplanar::nv12(size), Semiplanar::nv21(size), swapped] {
            let image = Raster::packed(size, 3, PixelType::U8);
            let _ = (frame.bytes(), frame.planes(), frame.check_image(&image));
            let _ = (semiplanar_to_rgb(&frame, &image, &probe), rgb_to_semiplanar(&image, &frame, &probe));
        }
        let x = VectorLayout { length: a, offset: b, stride: c };
        let y = VectorLayout { length: a, offset: d, stride: b };
        let _ = (x.elements(), elementwise::axpy(1.0, x, y, PixelType::F32));
        let _ = elementwise::reduce(Reduction::Sum, x.into(), None, ScalarType::U8, &probe);
        let _ = elementwise::reduce(Reduction::Dot, x.into(), Some(y.into()), ScalarType::F32, &probe);
        let grid = Grid { extents: [a, b, c], offset: d, strides: [at.0, at.1, c] };
        let other = Grid { strides: [at.1, d, at.0], ..grid };
        let steps = vec![Step::Add(other)];
        let map = Map {
            from: ScalarType::I16, to: ScalarType::F32, in_float: false, source: Some(grid), steps, result: grid
        };
        let _ = (grid.count(), grid.span(), elementwise::map(&map), elementwise::map(&map.merged()));
        let _ = elementwise::reduce(Reduction::Least, grid, None, ScalarType::I32, &probe);
        let _ = elementwise::histogram(&from, &probe);
        let _ = elementwise::transpose(MatrixLayout { columns: a, rows: b, offset: c, pitch: d }, at.0, at.1, 4);
    }

    #[test]
    fn borders(border in border(), place in select(vec![0, 1, -1, 9, isize::MIN, isize::MAX]), extent in extent()) {
        if let Some(at) = border.source(place, extent) {
            prop_assert!(at < extent);
        }
    }
}

/// The same for images on the CPU path: unused distances may have any value.
#[test]
fn images() {
    let context = Context::new(&Device::Cpu).unwrap();
    let far = usize::MAX;
    let row = Raster { pitch: far, plane_pitch: far, ..Raster::packed(Size::new(6, 1), 3, PixelType::U8) };
    let plane = Raster { plane_pitch: far, ..Raster::planar(Size::new(3, 2), 1, PixelType::U8) };
    for (raster, elements) in [(row, 18), (plane, 6)] {
        let pixels: Vec<u8> = (0..elements).collect();
        let image = Image::with_raster(&context, raster, &pixels).unwrap();
        assert_eq!(image.to_packed_vec().unwrap(), pixels);
        let chain = Chain::parse("dilate:1", Border::Replicate).unwrap();
        let mut result = Image::<u8>::zeros(&context, raster).unwrap();
        context.filter(&chain, &raster, &raster).unwrap().run(&image, &mut result).unwrap().wait().unwrap();
        assert_eq!(result.to_packed_vec().unwrap(), pixels, "{raster:?}");
        assert_eq!(image.histogram().unwrap().wait().unwrap().iter().sum::<u32>(), u32::from(elements));
        let half = image.resized(Size::new(2, 1), Interpolation::Area).unwrap();
        assert_eq!(half.size(), Size::new(2, 1));
    }
    for size in
        [[far, far], [far, 1], [1, far], [far, 0], [0, far]].map(|[width, height]| Size::new(width, height))
    {
        let _ = Image::from_slice(&context, size, 4, &[0u8; 4]);
        let _ = Image::<f32>::zeros(&context, Raster::planar(size, 4, PixelType::F32));
    }
}
