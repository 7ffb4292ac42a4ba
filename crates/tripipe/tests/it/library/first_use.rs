//! Tuning of products and filters on first use, and ceilings that are kept between contexts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::launch::{
    Access, ExecuteError, Executor, Launch, MemoryId, MemoryKind, NdRange, Program, Timing,
};
use tripipe::{
    Arithmetic, Cache, CacheChoice, Context, ContextBuilder, Device, Error, Explanation, Extents, Image,
    Matrix, Probe, Size,
};
use tripipe_kernels::filter::reference;
use tripipe_launch::{Intercept, Layer};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

const BUDGET: Duration = Duration::from_millis(200);
/// Names the cache folder of a process that a test starts.
const FOLDER: &str = "TRIPIPE_TEST_FIRST_USE";

/// Counts the launches that are run one by one, as tuning and ceilings do; products are submitted.
#[derive(Clone, Default)]
struct Watched {
    runs: Arc<AtomicUsize>,
    /// A probe that is reported instead of the device's.
    probe: Option<Arc<Probe>>,
    /// Where every kernel but the first one leaves four bytes of zeros in the result, or behind it.
    spoils: Option<usize>,
    /// Where every kernel but the first one leaves four bytes of the result as they were.
    keeps: Option<usize>,
    /// The first kernel: others may have the same program with other work-groups.
    first: Option<(Arc<Program>, NdRange)>,
    /// The result that is measured, and its bytes with those behind it: what a bench fills with 0xCD.
    c: Option<(MemoryId, usize)>,
}

impl<E: Executor> Intercept<E> for Watched {
    fn probe<'p>(&'p self, inner: &'p E) -> &'p Probe {
        self.probe.as_deref().unwrap_or(inner.probe())
    }

    fn allocate(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let made = inner.allocate(kind, access, initial)?;
        if let Some(initial) = initial.filter(|initial| initial.iter().all(|byte| *byte == 0xCD)) {
            self.c = Some((made, initial.len()));
        }
        Ok(made)
    }

    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.runs.fetch_add(launches.len(), Ordering::SeqCst);
        let mut kept = [0; 4];
        if let (Some(from), Some((result, _))) = (self.keeps, self.c) {
            inner.read(result, from, &mut kept)?;
        }
        let timings = inner.run(launches)?;
        if let (Some((result, bytes)), Some(launch)) = (self.c, launches.last()) {
            let this = (Arc::clone(&launch.program), launch.range);
            if *self.first.get_or_insert_with(|| this.clone()) != this {
                if let Some(from) = self.spoils {
                    inner.write(result, from.min(bytes - 4), &[0; 4])?;
                }
                if let Some(from) = self.keeps {
                    inner.write(result, from, &kept)?;
                }
            }
        }
        Ok(timings)
    }
}

impl Watched {
    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// A context on the first OpenCL device that keeps what it measures in `folder`; `None` without such a device.
    fn context(&self, folder: &Path) -> Option<Context> {
        self.build(folder, &Context::builder()).map(Result::unwrap)
    }

    /// As [`Self::context`], with tuning on first use.
    fn tuning(&self, folder: &Path, budget: Duration) -> Option<Context> {
        self.build(folder, &Context::builder().tune_on_first_use(budget)).map(Result::unwrap)
    }

    fn build(&self, folder: &Path, builder: &ContextBuilder) -> Option<Result<Context, Error>> {
        let device = tripipe_opencl::devices().ok()?.into_iter().next()?;
        let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
        let builder = builder.clone().cpu_when_faster(false).cache(CacheChoice::At(Cache::at(folder)));
        Some(builder.build_over(Layer::new(inner, self.clone())))
    }
}

/// The product of small integers, which floats represent exactly, and its explanation.
fn multiplied(context: &Context, [m, n, k]: [usize; 3]) -> Explanation {
    let value = |index: usize| ((index * 7) % 5) as f32 - 2.0;
    let [a, b] = [m * k, k * n].map(|count| (0..count).map(value).collect::<Vec<f32>>());
    let left = Matrix::from_slice(context, Extents::new(m, k), &a).unwrap();
    let right = Matrix::from_slice(context, Extents::new(k, n), &b).unwrap();
    let found = left.matmul(&right).unwrap().to_vec().unwrap();
    for (index, found) in found.into_iter().enumerate() {
        let (row, column) = (index / n, index % n);
        let want: f32 = (0..k).map(|step| a[row * k + step] * b[step * n + column]).sum();
        assert_eq!(found.to_bits(), want.to_bits(), "({row}, {column})");
    }
    Product::new(&left, &right).unwrap().explain().unwrap()
}

fn is_measured(explanation: &Explanation) -> bool {
    explanation.why.starts_with("measured on this device on first use: ")
}

#[test]
fn a_shape_is_tuned_once_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let watched = Watched::default();
    let Some(context) = watched.context(folder.path()) else { return };
    let without = multiplied(&context, [9, 21, 40]);
    assert!(!is_measured(&without) && watched.runs() == 0, "{without}");
    let context = watched.tuning(folder.path(), BUDGET).unwrap();
    let first = multiplied(&context, [33, 65, 40]);
    assert!(is_measured(&first) && watched.runs() > 0, "{first}");
    assert!(first.predicted.as_ref().is_some_and(|it| it.from == "as measured on first use"), "{first}");
    let runs = watched.runs();
    multiplied(&context, [33, 65, 40]);
    assert_eq!(watched.runs(), runs);
    // Another context, as in another process.
    let watched = Watched::default();
    let context = watched.context(folder.path()).unwrap();
    assert!(!is_measured(&multiplied(&context, [33, 65, 40])), "tuning is off");
    let context = watched.tuning(folder.path(), BUDGET).unwrap();
    let again = multiplied(&context, [33, 65, 40]);
    assert_eq!((again.kernel, again.why, watched.runs()), (first.kernel, first.why, 0));
    // Another driver.
    let probe = Probe { driver: "another".to_owned(), ..context.probe().unwrap().clone() };
    let updated = Watched { probe: Some(Arc::new(probe)), ..Watched::default() };
    let context = updated.tuning(folder.path(), BUDGET).unwrap();
    assert!(is_measured(&multiplied(&context, [33, 65, 40])) && updated.runs() > 0);
}

/// In C, and behind it.
#[test]
fn kernels_with_wrong_results_are_not_chosen() {
    for spoils in [0, usize::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let plain = Watched::default();
        let Some(context) = plain.context(folder.path()) else { return };
        let choice = multiplied(&context, [33, 65, 40]).kernel;
        let watched = Watched { spoils: Some(spoils), ..Watched::default() };
        let context = watched.tuning(folder.path(), Duration::from_secs(1)).unwrap();
        let explanation = multiplied(&context, [33, 65, 40]);
        assert_eq!(explanation.kernel, choice, "{explanation}");
        assert!(explanation.why.contains("the fastest of 1 candidate"), "{explanation}");
        // They are not tried for another shape either.
        let runs = watched.runs();
        multiplied(&context, [34, 66, 41]);
        assert!(watched.runs() > runs);
    }
}

/// The image that a chain makes of noise, which is the reference's, and the explanation.
fn filtered(context: &Context, text: &str, border: Border, size: Size) -> Explanation {
    let pixels: Vec<u8> = (0..size.width * size.height * 3).map(|at| (at * 7919 % 251) as u8).collect();
    let image = Image::from_slice(context, size, 3, &pixels).unwrap();
    let chain = Chain::parse(text, border).unwrap();
    let found = image.filtered::<u8>(&chain).unwrap().to_vec().unwrap();
    let from = Raster::packed(size, 3, PixelType::U8);
    let to = chain.apply_to(&from).unwrap();
    let mut want = vec![0; found.len()];
    reference::apply(&chain, &from, &pixels, &to, &mut want).unwrap();
    assert!(found == want, "{text}");
    context.filter(&chain, &from, &to).unwrap().explain()
}

/// The parameters of a filter's kernel.
fn parameters(explanation: &Explanation) -> Vec<String> {
    explanation.choices.iter().map(|choice| format!("{} {}", choice.what, choice.value)).collect()
}

#[test]
fn a_chain_over_images_of_a_size_is_tuned_once_and_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let watched = Watched::default();
    let Some(context) = watched.context(folder.path()) else { return };
    let of =
        |context: &Context| filtered(context, "gaussian:5,laplace", Border::Reflect101, Size::new(83, 97));
    let without = of(&context);
    assert!(!is_measured(&without) && watched.runs() == 0, "{without}");
    let context = watched.tuning(folder.path(), BUDGET).unwrap();
    let first = of(&context);
    assert!(is_measured(&first) && watched.runs() > 0, "{first}");
    assert!(first.predicted.as_ref().is_some_and(|it| it.from == "as measured on first use"), "{first}");
    let runs = watched.runs();
    of(&context);
    assert_eq!(watched.runs(), runs);
    // Another size, and another border.
    filtered(&context, "gaussian:5,laplace", Border::Reflect101, Size::new(83, 98));
    let more = watched.runs();
    assert!(more > runs);
    assert!(is_measured(&filtered(&context, "gaussian:5,laplace", Border::Wrap, Size::new(83, 97))));
    assert!(watched.runs() > more);
    // Another context, as in another process.
    let watched = Watched::default();
    let context = watched.tuning(folder.path(), BUDGET).unwrap();
    let again = of(&context);
    assert_eq!((parameters(&again), again.why, watched.runs()), (parameters(&first), first.why, 0));
    // Another driver.
    let probe = Probe { driver: "another".to_owned(), ..context.probe().unwrap().clone() };
    let updated = Watched { probe: Some(Arc::new(probe)), ..Watched::default() };
    let context = updated.tuning(folder.path(), BUDGET).unwrap();
    assert!(is_measured(&of(&context)) && updated.runs() > 0);
}

/// In the result, and behind it.
#[test]
fn filters_with_wrong_results_are_not_chosen() {
    for spoils in [0, usize::MAX] {
        let folder = tempfile::tempdir().unwrap();
        let Some(context) = Watched::default().context(folder.path()) else { return };
        let of = |context: &Context, size| filtered(context, "gaussian:5", Border::Reflect101, size);
        let choice = parameters(&of(&context, Size::new(64, 40)));
        let watched = Watched { spoils: Some(spoils), ..Watched::default() };
        let context = watched.tuning(folder.path(), Duration::from_secs(1)).unwrap();
        let explanation = of(&context, Size::new(64, 40));
        assert_eq!(parameters(&explanation), choice, "{explanation}");
        assert!(explanation.why.contains("the fastest of 1 candidate"), "{explanation}");
    }
}

/// Between the bands that are compared with the reference, a kernel that leaves pixels unwritten is found by what was there
/// before.
#[test]
fn filters_that_leave_pixels_unwritten_are_not_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let watched = Watched { keeps: Some(64 * 3 * 20), ..Watched::default() };
    let Some(context) = watched.tuning(folder.path(), Duration::from_secs(1)) else { return };
    let explanation = filtered(&context, "gaussian:5", Border::Reflect101, Size::new(64, 200));
    assert!(explanation.why.contains("the fastest of 1 candidate"), "{explanation}");
}

#[test]
fn planes_and_floats_and_views_are_tuned() {
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = Watched::default().tuning(folder.path(), BUDGET) else { return };
    let chain = Chain::parse("gaussian:3", Border::Wrap).unwrap();
    for layout in [Raster::packed, Raster::planar] {
        let from = layout(Size::new(40, 70), 3, PixelType::F32);
        assert!(is_measured(&context.filter(&chain, &from, &from).unwrap().explain()));
    }
    // Rows with gaps between them.
    let from = Raster { pitch: 133, ..Raster::packed(Size::new(40, 70), 3, PixelType::U8) };
    let to = Raster::packed(Size::new(40, 70), 3, PixelType::U8);
    assert!(is_measured(&context.filter(&chain, &from, &to).unwrap().explain()));
    // An image without pixels.
    let none = Raster::packed(Size::new(0, 5), 3, PixelType::U8);
    assert!(!is_measured(&context.filter(&chain, &none, &none).unwrap().explain()));
}

#[test]
fn a_folder_that_cannot_be_written_is_not_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    for _ in 0..2 {
        let watched = Watched::default();
        let Some(context) = watched.tuning(&file.join("below"), BUDGET) else { return };
        assert!(is_measured(&multiplied(&context, [17, 16, 15])) && watched.runs() > 0);
        let runs = watched.runs();
        // The context itself has the operation.
        multiplied(&context, [17, 16, 15]);
        assert_eq!(watched.runs(), runs);
    }
}

#[test]
fn bytes_and_batches_and_empty_products_are_tuned_or_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let Some(context) = Watched::default().tuning(folder.path(), BUDGET) else { return };
    let [a, b] = [Extents::new(8, 12), Extents::new(12, 4)].map(|extents| {
        let bytes: Vec<i8> = (0..extents.elements().unwrap()).map(|index| (index % 7) as i8 - 3).collect();
        Matrix::from_slice(&context, extents, &bytes).unwrap()
    });
    assert!(is_measured(&Product::new(&a, &b).unwrap().explain().unwrap()));
    let strides = tripipe::gemm::Strides { a: 24, b: 16, c: 8 };
    let [a, b] = [Extents::new(6, 12), Extents::new(12, 4)].map(|extents| {
        Matrix::from_slice(&context, extents, &vec![1.0f32; extents.elements().unwrap()]).unwrap()
    });
    let batch = Product::new(a.block(0..2, 0..4).unwrap(), b.block(0..4, 0..4).unwrap());
    assert!(is_measured(&batch.unwrap().strided(3, strides).explain().unwrap()));
    let empty = Matrix::<f32>::zeros(&context, Extents::new(0, 4)).unwrap();
    let product = Product::new(&empty, b.block(0..4, 0..4).unwrap()).unwrap();
    assert!(!is_measured(&product.explain().unwrap()));
}

#[test]
fn contexts_may_tune_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let made: Vec<Context> =
        (0..2).filter_map(|_| Watched::default().tuning(folder.path(), BUDGET)).collect();
    std::thread::scope(|scope| {
        for context in &made {
            scope.spawn(|| assert!(is_measured(&multiplied(context, [20, 30, 10]))));
        }
    });
}

/// The part of `processes_may_tune_at_once` in a process of its own.
#[test]
fn tunes_in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let watched = Watched::default();
    let context = watched.tuning(Path::new(&folder), BUDGET).unwrap();
    assert!(is_measured(&multiplied(&context, [20, 30, 11])));
    println!("{} runs", watched.runs());
}

#[test]
fn processes_may_tune_at_once() {
    let folder = tempfile::tempdir().unwrap();
    if Watched::default().context(folder.path()).is_none() {
        return;
    }
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["library::first_use::tunes_in_a_process_of_its_own", "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start()];
    for process in both.into_iter().chain([start()]) {
        assert!(process.wait_with_output().unwrap().status.success());
    }
    let output = start().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("0 runs"), "{said}");
}

#[test]
fn where_there_is_nothing_to_tune_the_call_says_so() {
    let tuning = |budget| Context::builder().tune_on_first_use(budget);
    let cpu = tuning(BUDGET).build(&Device::Cpu).unwrap_err().to_string();
    assert!(cpu.contains("CPU path") && cpu.contains("no kernels to choose among"), "{cpu}");
    let folder = tempfile::tempdir().unwrap();
    let Some(zero) = Watched::default().build(folder.path(), &tuning(Duration::ZERO)) else { return };
    let zero = zero.unwrap_err().to_string();
    assert!(zero.contains("the budget is zero"), "{zero}");
}

#[test]
fn ceilings_are_measured_once_for_a_driver() {
    let folder = tempfile::tempdir().unwrap();
    let measured = |watched: &Watched| {
        let context = watched.context(folder.path())?;
        let before = context.ceilings(Arithmetic::F32);
        let ceilings = context.measure_ceilings(Arithmetic::F32).unwrap();
        assert_eq!(context.ceilings(Arithmetic::F32).as_ref(), Some(&ceilings));
        Some((before, ceilings, watched.runs()))
    };
    let Some((before, ceilings, runs)) = measured(&Watched::default()) else { return };
    assert!(before.is_none_or(|it| !it.from.contains("measured")) && runs > 0);
    let (before, again, runs) = measured(&Watched::default()).unwrap();
    assert_eq!((before.as_ref(), runs), (Some(&again), 0));
    assert_eq!(again.operations_per_second.to_bits(), ceilings.operations_per_second.to_bits());
    assert_eq!(again.from, "measured before on this device and driver");
    // Files that are no entries are not believed, and replaced.
    for file in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::write(file.unwrap().path(), "1 1 1").unwrap();
    }
    assert!(measured(&Watched::default()).unwrap().2 > 0);
    assert_eq!(measured(&Watched::default()).unwrap().2, 0);
    let context = Watched::default().context(folder.path()).unwrap();
    let probe = Probe { driver: "another".to_owned(), ..context.probe().unwrap().clone() };
    let updated = Watched { probe: Some(Arc::new(probe)), ..Watched::default() };
    assert!(measured(&updated).unwrap().2 > 0);
}
