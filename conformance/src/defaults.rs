//! What the library runs by default: a plan of every family with the parameters that it chooses for a device.

use tripipe_device::Probe;
use tripipe_kernels::elementwise::{
    Grid, Map, MatrixLayout, Number, Reduction, Step, histogram, map, reduce, transpose,
};
use tripipe_kernels::filter::{
    Border, Chain, Interpolation, Parameters, PixelType, Raster, Semiplanar, Size, default_parameters, plan,
    resize, rgb_to_frame,
};
use tripipe_kernels::gemm::{self, Accumulate, Elements, Extents, Gemm, OperandState, ProductExtents};
use tripipe_kernels::quantised::{self, Activation, PackedLayout, QuantisedProduct, WeightFormat};
use tripipe_kernels::{Plan, PlanError, Role};
use tripipe_launch::{Access, ExecuteError, Executor, MemoryKind, ScalarType, Timing};

/// A plan with the library's parameters.
pub struct DefaultPlan {
    /// The operation.
    pub name: String,
    /// The parameters; empty where there is no choice.
    pub parameters: String,
    /// Its launches.
    pub plan: Plan<'static>,
    /// The sizes of its operands in bytes.
    pub operands: Vec<(Role, usize)>,
}

/// Filters of one window with each of these sizes.
const SIZED: [&str; 9] = [
    "gaussian:#",
    "gaussian:#:1.5",
    "box:#",
    "unsharp:#",
    "erode:#",
    "dilate-cross:#",
    "bilateral:#:30:3",
    "gray,gaussian:#",
    "gaussian:#,sobel",
];
/// Sizes of windows.
const SIZES: [usize; 7] = [3, 5, 7, 9, 11, 13, 15];
/// Filters of one size, and chains.
const OTHERS: [&str; 18] = [
    "laplace",
    "laplace4",
    "sharpen",
    "sobel",
    "scharr",
    "sobel-x",
    "median:3",
    "median:5",
    "median:7",
    "threshold:100",
    "gray",
    "yuv",
    "convert:f32",
    "gray,sobel",
    "gaussian:3,median:3",
    "median:3,gaussian:5",
    "gray,gaussian:5,laplace",
    "erode:5,dilate:5",
];

/// Chains of filters in groups: in a group, each is next to one that is a little more work.
pub fn chains() -> Vec<Vec<String>> {
    let sized = SIZED.iter().map(|text| SIZES.map(|size| text.replace('#', &size.to_string())).to_vec());
    sized.chain(OTHERS.iter().map(|text| vec![(*text).to_owned()])).collect()
}

/// A chain over an image. It is over colours if it makes gray of them.
///
/// # Errors
/// Not a chain; not one for such an image; the device lacks what it needs.
pub fn filter(
    text: &str,
    size: Size,
    channels: usize,
    element: PixelType,
    probe: &Probe,
) -> Result<DefaultPlan, PlanError> {
    let chain = Chain::parse(text, Border::Reflect101)?;
    let from = Raster::packed(size, channels, element);
    let parameters = default_parameters(&chain, &from, probe).parameters;
    filter_with(&chain, &from, &parameters, probe)
}

/// A chain over an image with these parameters.
///
/// # Errors
/// As [`filter`].
pub fn filter_with(
    chain: &Chain,
    from: &Raster,
    parameters: &Parameters,
    probe: &Probe,
) -> Result<DefaultPlan, PlanError> {
    let to = chain.apply_to(from)?;
    Ok(DefaultPlan {
        name: format!("{chain} {from}"),
        parameters: parameters.to_string(),
        plan: plan(chain, from, &to, parameters, probe)?,
        operands: vec![(Role::Source, bytes(from)?), (Role::Result, bytes(&to)?)],
    })
}

fn bytes(raster: &Raster) -> Result<usize, PlanError> {
    Ok(raster.elements()? * raster.element.bytes())
}

/// Plans of all families; those that the device lacks something for are left out.
pub fn all(probe: &Probe) -> Vec<DefaultPlan> {
    let families = [filters(probe), resizings(probe), products(probe), quantised(probe), elementwise(probe)];
    families.into_iter().flatten().flatten().collect()
}

type Plans = Vec<Result<DefaultPlan, PlanError>>;

fn filters(probe: &Probe) -> Plans {
    let kinds = [(1, PixelType::U8), (3, PixelType::U8), (1, PixelType::F32), (1, PixelType::F16)];
    let mut plans = Vec::new();
    for text in chains().into_iter().flatten() {
        for (channels, element) in kinds {
            plans.push(filter(&text, Size::new(640, 480), channels, element, probe));
        }
    }
    plans
}

fn resizings(probe: &Probe) -> Plans {
    let mut plans = Vec::new();
    for how in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area, Interpolation::Cubic] {
        for (element, size) in [
            (PixelType::U8, Size::new(320, 240)),
            (PixelType::U8, Size::new(900, 700)),
            (PixelType::F32, Size::new(300, 200)),
        ] {
            let (from, to) =
                (Raster::packed(Size::new(640, 480), 3, element), Raster::packed(size, 3, element));
            plans.push(resize(how, &from, &to, probe).and_then(|plan| {
                let operands = vec![(Role::Source, bytes(&from)?), (Role::Result, bytes(&to)?)];
                Ok(DefaultPlan {
                    name: format!("{how} {from} to {to}"),
                    parameters: String::new(),
                    plan,
                    operands,
                })
            }));
        }
    }
    let (from, frame) =
        (Raster::packed(Size::new(640, 480), 3, PixelType::U8), Semiplanar::nv12(Size::new(640, 480)));
    plans.push(rgb_to_frame(&from, &frame, probe).and_then(|plan| {
        let operands = vec![(Role::Source, bytes(&from)?), (Role::Result, frame.bytes())];
        Ok(DefaultPlan { name: format!("{from} to nv12"), parameters: String::new(), plan, operands })
    }));
    plans
}

fn products(probe: &Probe) -> Plans {
    let mut plans = Vec::new();
    let elements =
        [Elements::F32, Elements::F16(Accumulate::F32), Elements::F16(Accumulate::F16), Elements::I8ToI32];
    for elements in elements {
        for [m, n, k] in [[512, 512, 512], [1, 1000, 1024], [8, 1024, 1024], [784, 256, 256], [3136, 64, 64]]
        {
            let gemm = Gemm::new(elements, ProductExtents { m, n, k });
            let parameters = gemm::default_parameters(&gemm, probe).parameters;
            let plan = gemm::plan(&gemm, &parameters, probe, [OperandState::Changing; 2]);
            let operands = gemm.operands();
            let operands =
                operands.iter().map(|one| (one.role, one.elements * one.element.bytes())).collect();
            let plan = plan.map_err(|unfit| PlanError::NotOffered { what: unfit.to_string() });
            plans.push(plan.map(|plan| DefaultPlan {
                name: format!("product {m}x{n}x{k} {elements:?}"),
                parameters: parameters.to_string(),
                plan,
                operands,
            }));
        }
    }
    plans
}

fn quantised(probe: &Probe) -> Plans {
    let mut plans = Vec::new();
    for format in WeightFormat::ALL {
        for m in [1, 4] {
            let product =
                QuantisedProduct::new(format, Activation::F32, ProductExtents { m, n: 1024, k: 1024 });
            let parameters = quantised::choose(&product, None, probe).parameters;
            let layout = PackedLayout::of(format, Extents::new(1024, 1024), parameters.memory, probe);
            plans.push(layout.and_then(|layout| {
                let [x, y] = product.spans().map(|span| span * 4);
                let mut operands = vec![(Role::A, x), (Role::B, layout.weights_bytes()), (Role::C, y)];
                if layout.scales_bytes() > 0 {
                    operands.push((Role::Scales, layout.scales_bytes()));
                }
                Ok(DefaultPlan {
                    name: format!("{m} vectors by {format} weights 1024x1024"),
                    parameters: parameters.to_string(),
                    plan: quantised::plan(&product, &parameters, &layout, probe)?,
                    operands,
                })
            }));
        }
    }
    plans
}

fn elementwise(probe: &Probe) -> Plans {
    const COUNT: usize = 1 << 16;
    let mut plans = Vec::new();
    let made = |name: String, plan: Result<Plan<'static>, PlanError>, operands: Vec<(Role, usize)>| {
        plan.map(|plan| DefaultPlan { name, parameters: String::new(), plan, operands })
    };
    let grid = Grid::dense(COUNT);
    for element in [ScalarType::F32, ScalarType::F16, ScalarType::I16, ScalarType::U8] {
        let bytes = COUNT * element.bytes();
        for reduction in [Reduction::Sum, Reduction::Dot, Reduction::Least, Reduction::Most] {
            let second = (reduction == Reduction::Dot).then_some(grid);
            let plan = reduce(reduction, grid, second, element, probe);
            let mut operands = vec![(Role::X, bytes), (Role::Result, reduction.result_bytes(element))];
            operands.extend(second.map(|_| (Role::Y, bytes)));
            plans.push(made(format!("{reduction} of {element:?}"), plan, operands));
        }
        let steps = match element {
            ScalarType::F32 | ScalarType::F16 => {
                vec![Step::MultiplyNumber(Number::Real(0.5)), Step::Gelu, Step::Tanh]
            }
            _ => vec![Step::AddNumber(Number::Integer(3)), Step::Relu],
        };
        let in_float = matches!(element, ScalarType::F32 | ScalarType::F16);
        let chain = Map { from: element, to: element, in_float, source: Some(grid), steps, result: grid };
        let operands = chain.operands().map(|(role, _, element)| (role, COUNT * element.bytes())).collect();
        plans.push(made(format!("map of {element:?}"), map(&chain), operands));
    }
    let image = Raster::packed(Size::new(640, 480), 3, PixelType::U8);
    let operands = vec![(Role::Source, 640 * 480 * 3), (Role::Result, 1024)];
    plans.push(made("histogram".to_owned(), histogram(&image, probe), operands));
    let transposed = transpose(MatrixLayout::dense(Extents::new(256, 256)), 0, 256, 4);
    plans.push(made(
        "transpose".to_owned(),
        transposed,
        vec![(Role::Source, 1 << 18), (Role::Result, 1 << 18)],
    ));
    plans
}

impl DefaultPlan {
    /// Calls `use_bound` with the plan bound to memory of zeros, which is freed afterwards.
    ///
    /// # Errors
    /// Those of the executor; those of `use_bound`.
    pub fn bound<R>(
        &self,
        executor: &mut dyn Executor,
        use_bound: impl FnOnce(&mut dyn Executor, &[tripipe_launch::Launch]) -> Result<R, ExecuteError>,
    ) -> Result<R, ExecuteError> {
        let mut memory = Vec::new();
        let outcome = self.operands.iter().try_for_each(|(role, bytes)| {
            let kind = MemoryKind::Buffer { bytes: (*bytes).max(1) };
            executor.allocate_zeros(&kind, Access::ReadWrite).map(|id| memory.push((*role, id)))
        });
        let outcome = outcome.and_then(|()| {
            let bound = self.plan.bind(executor, &memory)?;
            let launches = [&bound.preparation[..], &bound.launches].concat();
            let outcome = use_bound(executor, &launches);
            bound.release(executor);
            outcome
        });
        for (_, id) in memory {
            // What cannot be freed any more is gone.
            let _ = executor.release(id);
        }
        outcome
    }

    /// The seconds of its run, on an executor whose times do not vary.
    ///
    /// # Errors
    /// Those of the executor.
    pub fn seconds(&self, executor: &mut dyn Executor) -> Result<f64, ExecuteError> {
        self.bound(executor, |executor, launches| Ok(Timing::span_seconds(&executor.run(launches)?)))
    }
}
