//! Times from samples of a launch against those from all its work-groups.

use std::time::Instant;

use tripipe_device::find;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, MemoryKind, NdRange};
use tripipe_timing::Options;

use crate::engine::{Passed, device, program, time, zeros};

struct Case {
    file: &'static str,
    entry: &'static str,
    passed: Vec<Passed>,
    range: NdRange,
}

/// Pseudo-random numbers below `below`.
fn random(count: usize, below: u32) -> impl Iterator<Item = u32> {
    let mut state = 1_u32;
    (0..count).map(move |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    })
}

fn cases(warps: bool) -> Vec<Case> {
    // Midgard plays each work-item: a launch of a tenth of the size takes as long.
    let pick = |one: usize, many: usize| if warps { many } else { one };
    let mut cases = Vec::new();
    let mut case = |file, entry, passed, range| cases.push(Case { file, entry, passed, range });
    let n = pick(192, 320);
    let square = || zeros(4 * n * n);
    let product = || vec![square(), square(), square(), Passed::Int(n)];
    case("kernels.cl", "untiled", product(), NdRange::d2(n, n).local(8, 8, 1));
    case("kernels.cl", "blocked", product(), NdRange::d2(n, n / 4).local(8, 8, 1));
    let n = pick(192, 384);
    let square = || zeros(4 * n * n);
    let product = vec![square(), square(), square(), Passed::Int(n)];
    case("kernels.cl", "tiled", product, NdRange::d2(n, n).local(8, 8, 1));
    let n = pick(192, 512);
    case(
        "kernels.cl",
        "triangular",
        vec![zeros(4 * n * n), zeros(4 * n * n), Passed::Int(n)],
        NdRange::d2(n, n / 2).local(16, 4, 1),
    );
    let n = pick(1024, 4096);
    case(
        "kernels.cl",
        "border",
        vec![zeros(4 * n * n), Passed::Int(n), Passed::Int(n)],
        NdRange::d2(n, n).local(16, 4, 1),
    );
    let n = pick(1 << 20, 1 << 23);
    let bytes = random(n, 256).map(|value| ((value * value) >> 8) as u8).collect();
    case("kernels.cl", "histogram", vec![Passed::Bytes(bytes), zeros(1024)], NdRange::d1(n).local(64, 1, 1));
    let n = pick(1 << 17, 1 << 19);
    let index = random(n, n as u32).flat_map(u32::to_le_bytes).collect();
    case(
        "kernels.cl",
        "gather",
        vec![Passed::Bytes(index), zeros(4 * n), zeros(4 * n)],
        NdRange::d1(n).local(64, 1, 1),
    );
    let n = pick(1024, 3072);
    case(
        "kernels.cl",
        "transpose",
        vec![zeros(4 * n * n), zeros(4 * n * n), Passed::Int(n), Passed::Int(n)],
        NdRange::d2(n, n).local(8, 8, 1),
    );
    let n = pick(512, 1536);
    let image = || {
        let shape = ImageShape::d2(n, n, ChannelOrder::Rgba, ChannelType::UnormU8);
        Passed::Memory(MemoryKind::Image(shape))
    };
    case("kernels.cl", "blur", vec![image(), image()], NdRange::d2(n, n).local(8, 8, 1));
    let (width, height) = (pick(480, 1920), pick(270, 1080));
    let picture = || zeros(3 * width * (height + 4) + 64);
    let passed = vec![picture(), picture(), Passed::Int(width), Passed::Int(height)];
    case("published.cl", "scalar", passed, NdRange::d2(height, width));
    let (width, height) = (pick(1920, 3840), pick(1080, 2160));
    let picture = || zeros(3 * width * (height + 4) + 64);
    let passed = vec![picture(), picture(), Passed::Int(width)];
    case("published.cl", "eight_pixels", passed, NdRange::d2(height, width / 8));
    cases
}

/// The error that samples of a launch may have, as a share.
const AGREE: f64 = 0.03;

/// Launches whose samples are farther off, and how far. The work-groups of the two products and of `blur` start in step and
/// fall out of step later, which is slower (`blur`: faster) than the parts that are played; `gather` fills the L2 of the GPU
/// slowly, and its stated uncertainty is 4 %. The windows of `scalar` on a G77 have a pace that is
/// 6 % slower than that of the whole launch, wherever they begin and however long they are: why is not known.
const FARTHER: [(&str, &str, f64); 5] = [
    ("mali-g77-mp9", "scalar", 0.065),
    ("mali-g77-mp9", "tiled", 0.065),
    ("mali-t604", "blocked", 0.045),
    ("mali-t604", "gather", 0.04),
    ("mali-t604", "blur", 0.035),
];

fn samples_and_all(name: &str) {
    let gpu = find(name).unwrap();
    let exact = Options { exact: true, ..Options::default() };
    let mut errors = Vec::new();
    for Case { file, entry, passed, range } in cases(gpu.core.warp_width.value > 1) {
        let program = program(file);
        let Some(mut all) = device(gpu, exact.clone(), &program, entry) else { return };
        let Some(mut some) = device(gpu, Options::default(), &program, entry) else { return };
        let before = Instant::now();
        let want = time(&mut all, &program, entry, &passed, range);
        let took = before.elapsed();
        let before = Instant::now();
        let found = time(&mut some, &program, entry, &passed, range);
        let error = found.seconds / want.seconds - 1.0;
        eprintln!(
            "{name} {entry:12} {:9.1} us, {:+.1} % (estimated {:.1} %), {} of {} work-groups, in {:.2} and {:.2} s",
            want.seconds * 1e6,
            100.0 * error,
            100.0 * found.sampling_error,
            found.played,
            found.groups,
            before.elapsed().as_secs_f64(),
            took.as_secs_f64(),
        );
        errors.push((entry, error));
    }
    for (entry, error) in errors {
        let farther = FARTHER.iter().find(|(gpu, of, _)| (*gpu, *of) == (name, entry));
        let most = farther.map_or(AGREE, |(_, _, most)| *most);
        assert!(error.abs() <= most, "{entry} on {name}: {:+.1} %", 100.0 * error);
    }
}

#[test]
fn samples_of_a_launch_have_its_time_on_midgard() {
    samples_and_all("mali-t604");
}

#[test]
fn samples_of_a_launch_have_its_time_on_valhall() {
    samples_and_all("mali-g77-mp9");
}

#[test]
fn samples_of_a_launch_have_its_time_on_adreno() {
    samples_and_all("adreno-650");
}

/// Samples that are too short to have ended any work are played on.
#[test]
fn a_small_sample_has_a_time_and_a_finite_error() {
    let program = program("kernels.cl");
    let n = 1024;
    let passed = [zeros(4 * (n + 6) * (n + 6)), zeros(4 * n * n), Passed::Int(n)];
    let range = NdRange::d2(n / 2, n / 4).local(16, 1, 1);
    for name in ["mali-g77", "mali-g710", "adreno-650"] {
        let gpu = find(name).unwrap();
        let Some(mut usual) = device(gpu, Options::default(), &program, "staged") else { return };
        let want = time(&mut usual, &program, "staged", &passed, range).seconds;
        for steps in [60_000, 100_000, 200_000] {
            let options = Options { steps: Some(steps), ..Options::default() };
            let Some(mut small) = device(gpu, options, &program, "staged") else { return };
            let found = time(&mut small, &program, "staged", &passed, range);
            let ratio = found.seconds / want;
            eprintln!("{name}, {steps} steps: {ratio:.2}, estimated error {:.2}", found.sampling_error);
            let error = found.sampling_error;
            assert!(error.is_finite(), "{name}, {steps} steps");
            assert!(
                ratio.max(1.0 / ratio) <= 1.0 + error.max(AGREE),
                "{name}, {steps} steps: {ratio:.2}, estimated error {error:.2}"
            );
        }
    }
}
