//! Filters of images in the host's memory: what runs them, the CPU path or a device with copies. On the stand-in
//! driver, whose kernels do nothing: a result of zeros is the device's, and transfers, builds and the first launch take
//! as long as a test says.

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use tripipe::filter::{Border, Chain, Interpolation, PixelType, Raster};
use tripipe::{Context, Device, Image, Size};
use tripipe_kernels::filter::reference;

use crate::library::bytes;
use crate::library::import::extensions::stand_in::stand_in;

/// The variable that says what a process does.
const PART: &str = "TRIPIPE_TEST_HOST_MEMORY";

const SIZE: Size = Size::new(96, 64);

/// Runs a part in a process of its own, on the stand-in driver with these variables.
fn run(part: &str, variables: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["library::host_memory::part", "--exact", "--nocapture"])
        .env("TRIPIPE_OPENCL", stand_in())
        .env("TRIPIPE_CACHE_DIR", folder.path())
        .env("TRIPIPE_STAND_IN_FILE", folder.path().join("build"))
        .env(PART, part)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The parts of other tests.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    let context = Context::new(&Device::named("opencl:0").unwrap()).unwrap();
    match part.as_str() {
        "slow copies" => assert_eq!(who(&context, "gaussian:5", 8), "HHDDDHHH"),
        "slow filter" => assert_eq!(who(&context, "bilateral:15:30:3", 8), "HHDDDDDD"),
        "compiler" => compiler(&context),
        "resize" => resized(&context),
        "first launch" => first_launch(&context),
        _ => unreachable!("{part}"),
    }
}

/// Filters `calls` times, and says who did each: the host, whose result must be the reference's, or the device, whose
/// kernels do nothing. Waits for the kernels before the third call.
fn who(context: &Context, text: &str, calls: usize) -> String {
    let chain = Chain::parse(text, Border::Replicate).unwrap();
    let raster = Raster::packed(SIZE, 1, PixelType::U8);
    let source = bytes(SIZE.width * SIZE.height);
    let mut want = vec![0; source.len()];
    reference::apply(&chain, &raster, &source, &raster, &mut want).unwrap();
    let one = |call: usize| {
        if call == 2 {
            built(context, &chain, &raster);
        }
        let mut result = vec![7; source.len()];
        context.filter_bytes(&chain, &raster, &source, &raster, &mut result).unwrap();
        if result == want {
            return 'H';
        }
        assert!(result.iter().all(|byte| *byte == 0), "call {call}: neither the filter nor zeros");
        'D'
    };
    let all = (0..calls).map(one).collect();
    let said = context.filter_of_host(&chain, &raster, &raster).unwrap().explain();
    let copied = said.copied.clone().unwrap();
    assert!(
        copied.contains("the CPU path takes") && copied.contains("the device with copies takes"),
        "{copied}"
    );
    assert!(said.to_string().contains(&copied), "{said}");
    all
}

/// Waits until the kernels are built.
fn built(context: &Context, chain: &Chain, raster: &Raster) {
    let filter = context.filter_of_host(chain, raster, raster).unwrap();
    while filter.explain().fallback.is_some_and(|reason| reason.contains("being built")) {
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn copies_count() {
    run("slow copies", &[("TRIPIPE_STAND_IN_TRANSFER_MS", "40")]);
}

/// Whatever the driver compiles in the first launch does not.
#[test]
fn the_device_is_used_where_it_is_faster_with_copies() {
    run("slow filter", &[("TRIPIPE_STAND_IN_FIRST_MS", "1500")]);
}

#[test]
fn nothing_waits_for_the_compiler() {
    run("compiler", &[("TRIPIPE_STAND_IN", "build-waits")]);
}

/// The compiler waits for a file that only this test makes.
fn compiler(context: &Context) {
    let chain = Chain::parse("median:5", Border::Replicate).unwrap();
    let raster = Raster::packed(SIZE, 1, PixelType::U8);
    let (source, mut result) = (bytes(SIZE.width * SIZE.height), vec![0; SIZE.width * SIZE.height]);
    let mut want = result.clone();
    reference::apply(&chain, &raster, &source, &raster, &mut want).unwrap();
    for _ in 0..4 {
        result.fill(0);
        context.filter_bytes(&chain, &raster, &source, &raster, &mut result).unwrap();
        assert_eq!(result, want);
    }
    let compiled: Vec<String> = context.compilations().into_iter().map(|one| one.kernels).collect();
    assert_eq!(compiled, ["filter_window"]);
    let said = context.filter_of_host(&chain, &raster, &raster).unwrap().explain();
    assert_eq!(said.fallback.as_deref(), Some("its kernels are being built"));
    std::fs::write(std::env::var_os("TRIPIPE_STAND_IN_FILE").unwrap(), "").unwrap();
    built(context, &chain, &raster);
    assert!(context.compilations().is_empty());
    // The same filter of images on the device was built with it.
    let image = Image::from_slice(context, SIZE, 1, &source).unwrap();
    assert!(image.filtered::<u8>(&chain).unwrap().to_vec().unwrap().len() == want.len());
}

#[test]
fn resizing_counts_copies_too() {
    run("resize", &[("TRIPIPE_STAND_IN_TRANSFER_MS", "200")]);
}

fn resized(context: &Context) {
    let (from, to) =
        (Raster::packed(SIZE, 1, PixelType::U8), Raster::packed(Size::new(48, 32), 1, PixelType::U8));
    let source = vec![9; SIZE.width * SIZE.height];
    for call in 0..8 {
        let mut result = vec![7; 48 * 32];
        context.resize_bytes(Interpolation::Area, &from, &source, &to, &mut result).unwrap();
        let on_device = result.iter().all(|byte| *byte == 0);
        assert!(on_device || result == [9; 48 * 32], "{call}");
        assert!(!on_device || (2..5).contains(&call), "{call}");
    }
}

/// The trial of operations on the device's memory: what the driver compiles in the first launch is not the device's
/// time, and the explanation says what was measured.
#[test]
fn a_first_launch_that_compiles_is_not_the_devices_time() {
    run("first launch", &[("TRIPIPE_STAND_IN_FIRST_MS", "1500")]);
}

fn first_launch(context: &Context) {
    let chain = Chain::parse("bilateral:15:30:3", Border::Replicate).unwrap();
    let image = Image::from_slice(context, Size::new(256, 192), 1, &bytes(256 * 192)).unwrap();
    let filter = context.filter(&chain, image.raster(), image.raster()).unwrap();
    let said = filter.explain();
    assert_eq!(said.fallback, None, "{said}");
    let tried = &said.runners_up.last().unwrap().why_not;
    assert!(
        tried.contains("the shortest of 5 and") && tried.contains("without the first ones of 1.5"),
        "{tried}"
    );
}
