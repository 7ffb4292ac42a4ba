//! Operations shared by several contexts: equal to one device's, whichever members take part and whichever fail.

use std::thread::sleep;
use std::time::Duration;

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::ProductExtents;
use tripipe::{Context, Device, ErrorKind, Shares, Size, Team};
use tripipe_kernels::filter::reference;
use tripipe_launch::{ExecuteError, Executor, Intercept, Launch, Layer, Prepared, Submission, Timing};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::bytes;

fn cpu() -> Context {
    Context::new(&Device::Cpu).unwrap()
}

fn context_over(executor: impl Executor + Send + 'static) -> Context {
    Context::builder().build_over(executor).unwrap()
}

fn opencl() -> Vec<OpenClExecutor> {
    let devices = tripipe_opencl::devices().unwrap_or_default();
    devices.iter().map(|device| OpenClExecutor::new(device, &ExecutorOptions::default()).unwrap()).collect()
}

/// Two CPU paths; the CPU path with every OpenCL device; all of them.
fn teams() -> Vec<Team> {
    let on_opencl = || opencl().into_iter().map(context_over);
    let pairs = on_opencl().map(|device| vec![device, cpu()]);
    let all = vec![cpu()].into_iter().chain(on_opencl()).chain([cpu()]).collect();
    let members = [vec![cpu(), cpu()], all].into_iter().chain(pairs);
    members.map(|members| Team::new(members).unwrap()).collect()
}

/// Makes an executor fail after a number of launches, or delays each launch.
struct Faulty {
    launches_left: usize,
    delay: Duration,
}

impl Faulty {
    /// Before `launches` are started.
    fn count(&mut self, launches: &[Launch]) -> Result<(), ExecuteError> {
        sleep(self.delay);
        self.launches_left = self.launches_left.checked_sub(launches.len()).ok_or_else(|| {
            ExecuteError::NotOffered { what: "one more launch".to_owned(), device: "this test's".to_owned() }
        })?;
        Ok(())
    }
}

impl<E: Executor> Intercept<E> for Faulty {
    fn submit(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.count(launches)?;
        inner.submit(launches)
    }

    fn submit_prepared(
        &mut self,
        inner: &mut E,
        prepared: &Prepared,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.count(prepared.launches())?;
        inner.submit_prepared(prepared)
    }

    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.count(launches)?;
        inner.run(launches)
    }
}

fn failing(after: usize) -> Option<Context> {
    let faulty = Faulty { launches_left: after, delay: Duration::ZERO };
    Some(context_over(Layer::new(opencl().pop()?, faulty)))
}

fn expected(chain: &Chain, from: &Raster, source: &[u8], to: &Raster, result: &[u8]) -> Vec<u8> {
    let mut result = result.to_vec();
    reference::apply(chain, from, source, to, &mut result).unwrap();
    result
}

fn rows(shares: &Shares) -> usize {
    shares.shares.iter().map(|share| share.rows).sum()
}

/// Filters bytes to bytes and compares with the reference; bytes between rows must be unchanged.
fn check(team: &Team, chain: &Chain, from: &Raster, to: &Raster) -> Shares {
    let source = bytes(from.elements().unwrap() + 5);
    let mut result = vec![0xa5; to.elements().unwrap() + 5];
    let want = expected(chain, from, &source, to, &result);
    let shares = team.filter(chain, from, &source, to, &mut result).unwrap();
    assert_eq!(result, want, "{chain} {} of {from:?}: {shares}", chain.border);
    assert_eq!(rows(&shares), from.height, "{shares}");
    shares
}

#[test]
fn shared_filters_are_the_reference() {
    let packed = |size, channels| Raster::packed(size, channels, PixelType::U8);
    for team in teams() {
        let chain = Chain::parse("box:3,box:3", Border::Replicate).unwrap();
        for from in [
            packed(Size::new(45, 131), 1),
            packed(Size::new(19, 240), 1),
            packed(Size::new(45, 64), 1).with_pitch(50),
        ] {
            for _ in 0..2 {
                let shares = check(&team, &chain, &from, &chain.apply_to(&from).unwrap());
                let bands: usize = shares.shares.iter().map(|share| share.bands).sum();
                assert!(bands > 1 || shares.why_not.is_some(), "{shares}");
            }
        }
    }
}

#[test]
fn every_border_acts_at_the_edges_alone() {
    let borders = [
        Border::None,
        Border::Constant(9.0),
        Border::Replicate,
        Border::Reflect,
        Border::Reflect101,
        Border::Wrap,
    ];
    let team = Team::new(vec![cpu(), cpu()]).unwrap();
    for border in borders {
        for text in ["box:7,erode:3", "sobel", "gaussian:3,laplace,dilate:5"] {
            let chain = Chain::parse(text, border).unwrap();
            let from = Raster::packed(Size::new(23, 149), 3, PixelType::U8);
            let shares = check(&team, &chain, &from, &from);
            assert_eq!(shares.why_not.is_some(), border == Border::Wrap, "{shares}");
        }
    }
    let on_opencl = opencl().into_iter().map(context_over).chain([cpu()]).collect();
    let team = Team::new(on_opencl).unwrap();
    // The other borders are applied in kernels, as the surrounding tests check.
    let from = Raster::packed(Size::new(23, 149), 1, PixelType::U8);
    check(&team, &Chain::parse("box:3,box:3", Border::None).unwrap(), &from, &from);
}

#[test]
fn planes_pitches_and_regions_are_shared() {
    for team in teams() {
        let chain = Chain::parse("box:3,box:3", Border::Replicate).unwrap();
        let planar = Raster::planar(Size::new(21, 99), 3, PixelType::U8);
        let spaced = planar.with_pitch(37);
        let spaced = Raster { plane_pitch: spaced.plane_pitch + 1000, ..spaced };
        let within = spaced.region(4, 7, Size::new(15, 80)).unwrap();
        let result = Raster::planar(Size::new(15, 80), 3, PixelType::U8).with_pitch(61);
        check(&team, &chain, &spaced, &planar);
        check(&team, &chain, &within, &result);
        // A single row may have any pitch.
        let single = Raster { pitch: 0, ..Raster::planar(Size::new(21, 1), 3, PixelType::U8) };
        let shares = check(&team, &chain, &single, &single);
        assert!(shares.shares.iter().all(|share| share.failure.is_none()), "{shares}");
        if team.members().iter().all(|member| member.probe().is_none()) {
            let packed = Raster::packed(Size::new(15, 80), 3, PixelType::U8).with_pitch(61);
            check(&team, &chain, &within, &packed);
            check(&team, &chain, &packed, &within);
        }
    }
}

#[test]
fn other_types_are_shared() {
    for team in teams() {
        let chain = Chain::parse("gray,box:3,convert:i16", Border::Reflect).unwrap();
        let from = Raster::packed(Size::new(33, 121), 3, PixelType::U8);
        let to = chain.apply_to(&from).unwrap();
        let source = bytes(from.elements().unwrap());
        let mut result = vec![0i16; to.elements().unwrap()];
        let shares = team.filter(&chain, &from, &source, &to, &mut result).unwrap();
        let want = expected(&chain, &from, &source, &to, &vec![0; 2 * result.len()]);
        assert_eq!(bytemuck::cast_slice::<i16, u8>(&result), want, "{shares}");
    }
}

/// C by its definition.
fn product(a: &[i8], b: &[i8], [m, n, k]: [usize; 3]) -> Vec<i32> {
    let term = |i: usize, j: usize| i32::from(a[i / n * k + j]) * i32::from(b[j * n + i % n]);
    (0..m * n).map(|i| (0..k).map(|j| term(i, j)).sum()).collect()
}

fn whole(count: usize) -> Vec<i8> {
    bytes(count).into_iter().map(|byte| (byte % 7) as i8 - 3).collect()
}

#[test]
fn shared_products_are_exact() {
    for team in teams() {
        for [m, n, k] in [[333, 40, 29], [50, 40, 29], [129, 5, 0], [0, 3, 4], [3, 0, 4]] {
            let (a, b) = (whole(m * k), whole(k * n));
            let want = product(&a, &b, [m, n, k]);
            let mut c = vec![-1; m * n];
            let shares = team.product(&a, &b, &mut c, ProductExtents { m, n, k }).unwrap();
            assert_eq!(c, want, "{m}x{n}x{k} {shares}");
            assert_eq!(rows(&shares), if n == 0 { 0 } else { m }, "{shares}");
            let float =
                |values: &[i8]| -> Vec<f32> { values.iter().map(|value| f32::from(*value)).collect() };
            let mut c = vec![f32::NAN; m * n];
            let shares = team.product(&float(&a), &float(&b), &mut c, ProductExtents { m, n, k }).unwrap();
            let want: Vec<f32> = want.into_iter().map(|sum| sum as f32).collect();
            assert_eq!(c, want, "{m}x{n}x{k} {shares}");
        }
    }
}

#[test]
fn work_that_cannot_be_shared_runs_on_one_member() {
    let team = Team::new(vec![cpu(), cpu()]).unwrap();
    let chain = Chain::parse("gaussian:5", Border::Wrap).unwrap();
    let why_not = |chain: &Chain, size: Size| {
        let from = Raster::packed(size, 1, PixelType::U8);
        let shares = check(&team, chain, &from, &from);
        assert!(shares.shares.iter().filter(|share| share.bands > 0).count() <= 1, "{shares}");
        shares.why_not.unwrap()
    };
    assert!(why_not(&chain, Size::new(20, 200)).contains("read the last rows"));
    let chain = Chain::new(chain.stages, Border::Replicate);
    assert!(why_not(&chain, Size::new(20, 31)).contains("31 rows are too few for two bands of 16"));
    assert!(why_not(&chain, Size::new(20, 0)).contains("no pixel"));
    let one = Team::new(vec![cpu()]).unwrap();
    let from = Raster::packed(Size::new(20, 200), 1, PixelType::U8);
    assert!(check(&one, &chain, &from, &from).why_not.unwrap().contains("one member"));
    let nobody = Team::new(Vec::new()).unwrap_err().to_string();
    assert!(nobody.contains("at least one context"), "{nobody}");
}

#[test]
fn a_slow_member_is_left_out_of_the_next_call() {
    let Some(inner) = opencl().pop() else { return };
    // At 0.2 s per band even a busy processor is more than 12 times as fast.
    let slow = Faulty { launches_left: usize::MAX, delay: Duration::from_millis(200) };
    let slow = Layer::new(inner, slow);
    let team = Team::new(vec![context_over(slow), cpu()]).unwrap();
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let from = Raster::packed(Size::new(64, 2000), 1, PixelType::U8);
    check(&team, &chain, &from, &from);
    let shares = check(&team, &chain, &from, &from);
    assert_eq!(shares.shares[0].rows, 0, "{shares}");
    assert!(shares.shares[0].left_out.as_deref().is_some_and(|why| why.contains("8 %")), "{shares}");
    assert!(shares.why_not.is_some());
}

#[test]
fn work_of_a_failed_member_moves_to_others() {
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let from = Raster::packed(Size::new(40, 400), 1, PixelType::U8);
    for after in [0, 1] {
        let Some(faulty) = failing(after) else { return };
        let team = Team::new(vec![faulty, cpu()]).unwrap();
        // It gets a band in the first call, to be measured; whether it gets another depends on the other member.
        let shares = check(&team, &chain, &from, &from);
        assert_eq!(shares.shares[0].bands, after, "{shares}");
        match &shares.shares[0].failure {
            Some(failure) => assert!(failure.to_string().contains("one more launch"), "{failure}"),
            None => assert_eq!(after, 1),
        }
        // If one member does all the work and fails, another one does it all.
        let low = Raster::packed(Size::new(20, 10), 1, PixelType::U8);
        let shares = check(&team, &chain, &low, &low);
        assert_eq!([shares.shares[0].rows, shares.shares[1].rows], [0, 10], "{shares}");
        assert!(shares.shares[0].failure.is_some());
    }
    let team = Team::new([0, 1].into_iter().filter_map(failing).collect()).unwrap();
    let source = bytes(40 * 400);
    let error = team.filter(&chain, &from, &source, &from, &mut source.clone()).unwrap_err();
    assert!(error.to_string().contains("all 2 members"), "{error}");
    assert!(error.to_string().contains("one more launch"), "{error}");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let team = Team::new(vec![cpu(), cpu()]).unwrap();
    let error = team
        .product(&[0.0f32; 6], &[0.0; 6], &mut [0.0; 5], ProductExtents { m: 2, n: 2, k: 3 })
        .unwrap_err();
    assert_eq!(error.to_string(), "C has 5 elements, expected 4");
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let from = Raster::packed(Size::square(10), 1, PixelType::U8);
    let error = team.filter(&chain, &from, &[0u8; 99], &from, &mut [0u8; 100]).unwrap_err();
    assert_eq!(error.to_string(), "the source has 99 elements, expected 100");
    let error = team.filter(&chain, &from, &[0u16; 100], &from, &mut [0u8; 100]).unwrap_err();
    assert!(error.kind() == ErrorKind::Shape && error.to_string().contains("image of u16"), "{error}");
}
