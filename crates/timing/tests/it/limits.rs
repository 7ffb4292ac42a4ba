//! Launches that a GPU cannot run are refused with the reason.

use std::sync::Arc;

use tripipe_device::find;
use tripipe_launch::{
    Access, Argument, ChannelOrder, ChannelType, Executor, ImageShape, Launch, MemoryKind, NdRange, Program,
};
use tripipe_timing::{VirtualGpu, VirtualOptions};

/// Why a GPU does not run a kernel with one buffer, or `None` if it does. `Err` without clang.
fn refusal(gpu: &str, source: &str, range: NdRange, bytes: usize) -> Result<Option<String>, String> {
    let mut device = device(gpu);
    let program = Arc::new(Program::from_source("k.cl", source.to_owned()));
    if let Err(error) = device.prepare(&program, "k") {
        let said = error.to_string();
        return if said.contains("not installed") { Err(said) } else { Ok(Some(said)) };
    }
    let memory = match device.allocate(&MemoryKind::Buffer { bytes }, Access::ReadWrite, None) {
        Ok(memory) => memory,
        Err(error) => return Ok(Some(error.to_string())),
    };
    let arguments = vec![Argument::Memory(memory)];
    let launch = Launch { program, entry: "k".into(), arguments, range };
    Ok(device.run(&[launch]).err().map(|error| error.to_string()))
}

fn device(gpu: &str) -> VirtualGpu {
    VirtualGpu::new(find(gpu).unwrap(), VirtualOptions { time_only: true, ..VirtualOptions::default() })
}

const COPY: &str = "kernel void k(global float* a) { a[get_global_id(0)] += 1; }";

#[test]
fn limits_of_the_gpu_apply() {
    let tile = "kernel void k(global float* a) { local float t[12000]; t[get_local_id(0)] = a[get_global_id(0)];\n\
                barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[get_local_size(0) - 1 - get_local_id(0)]; }";
    let double = "kernel void k(global double* a) { a[get_global_id(0)] *= 3; }";
    let line = NdRange::d1(1024);
    for (gpu, source, range, bytes, words) in [
        ("t604", COPY, line, 4096, &[][..]),
        ("t604", double, line, 8192, &[]),
        ("g77", double, line, 8192, &["cl_khr_fp64", "Mali-G77"]),
        ("t604", tile, line.local(64, 1, 1), 4096, &["48000 bytes", "32768"]),
        ("t604", COPY, line.local(512, 1, 1), 4096, &["at most 256 work-items on Mali-T604"]),
        ("g77", COPY, line.local(512, 1, 1), 4096, &[]),
        // OpenCL 1.2 has no work-groups of different sizes.
        ("t604", COPY, NdRange::d1(1000).local(64, 1, 1), 4096, &["multiple", "Mali-T604"]),
        ("adreno 650", COPY, NdRange::d1(1000).local(64, 1, 1), 4096, &[]),
        ("t604", COPY, line, 3 << 30, &["3221225472 bytes do not fit"]),
        ("g77", COPY, line, 3 << 30, &[]),
    ] {
        match refusal(gpu, source, range, bytes) {
            Err(why) => {
                assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{why}");
                eprintln!("left out: {why}");
                return;
            }
            Ok(said) => {
                assert_eq!(said.is_some(), !words.is_empty(), "{gpu}: {said:?}");
                let said = said.unwrap_or_default();
                assert!(words.iter().all(|word| said.contains(word)), "{gpu}: {said}");
            }
        }
    }
}

/// Launches that people ran, and that a model of registers would refuse: 64 sums of eight a work-item in groups of 256 on
/// an Adreno 530 (boda), and the same behind a barrier on a T860, whose drivers take 256.
#[test]
fn a_modelled_limit_refuses_nothing() {
    let sums = "{ float8 s[8]; int l = get_local_id(0);\n\
                for (int i = 0; i < 8; i++) s[i] = 0.0f;\n\
                for (int k = 0; k < 64; k++) { float8 x = a[k * 64 + l % 16]; BARRIER\n\
                for (int i = 0; i < 8; i++) s[i] += x * a[k * 64 + l / 16 + i]; }\n\
                for (int i = 0; i < 8; i++) a[get_global_id(0) * 8 + i] = s[i]; }";
    for (gpu, barrier) in [("adreno 530", ""), ("t860", ""), ("t860", "barrier(CLK_LOCAL_MEM_FENCE);")] {
        let source = format!("kernel void k(global float8* a) {}", sums.replace("BARRIER", barrier));
        match refusal(gpu, &source, NdRange::d1(1024).local(256, 1, 1), 1 << 20) {
            Err(why) => {
                assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{why}");
                eprintln!("left out: {why}");
                return;
            }
            Ok(said) => assert_eq!(said, None, "{gpu} {barrier}"),
        }
    }
}

#[test]
fn images_have_the_extents_that_the_gpu_supports() {
    let image = |width, height| {
        MemoryKind::Image(ImageShape::d2(width, height, ChannelOrder::R, ChannelType::UnormU8))
    };
    // From data/images.toml: 16384 on Adreno, 65536 on Mali.
    assert!(device("g77").allocate(&image(20_000, 1), Access::Read, None).is_ok());
    let error = device("adreno 650").allocate(&image(20_000, 1), Access::Read, None).unwrap_err().to_string();
    assert!(error.contains("20000x1 texels; the limit is 16384x16384"), "{error}");
}

/// A changed copy predicts, and the probe stays.
#[test]
fn a_changed_gpu_is_predicted() {
    let gpu = find("g77").unwrap();
    let mut changed = gpu.clone();
    changed.configuration.clock_mhz.value *= 2;
    let seconds = |changed: Option<tripipe_device::Gpu>| {
        let options =
            VirtualOptions { time_only: true, changed: changed.map(Arc::new), ..VirtualOptions::default() };
        let mut device = VirtualGpu::new(gpu, options);
        assert_eq!(device.probe().clock_mhz, gpu.configuration.clock_mhz.value);
        let source = "kernel void k(global float* a) { float x = a[get_global_id(0)];\n\
                      for (int i = 0; i < 500; ++i) x = mad(x, x, 1.0f); a[get_global_id(0)] = x; }";
        let program = Arc::new(Program::from_source("k.cl", source.to_owned()));
        device.prepare(&program, "k").ok()?;
        let memory =
            device.allocate(&MemoryKind::Buffer { bytes: 1 << 18 }, Access::ReadWrite, None).unwrap();
        let arguments = vec![Argument::Memory(memory)];
        let range = NdRange::d1(1 << 16);
        device.run(&[Launch { program, entry: "k".into(), arguments, range }]).unwrap();
        Some(device.predictions()[0].seconds)
    };
    let (Some(before), Some(after)) = (seconds(None), seconds(Some(changed))) else {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none());
        return;
    };
    // Arithmetic alone: twice the clock is half the time.
    assert!((before / after - 2.0).abs() < 0.05, "{before} {after}");
}

#[test]
fn a_launch_without_a_time_has_results_and_is_refused_like_one_with_a_time() {
    let mut device = VirtualGpu::new(find("t604").unwrap(), VirtualOptions::default());
    let program = Arc::new(Program::from_source("k.cl", COPY.to_owned()));
    if let Err(error) = device.prepare(&program, "k") {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return;
    }
    let memory =
        device.allocate(&MemoryKind::Buffer { bytes: 16 }, Access::ReadWrite, Some(&[0; 16])).unwrap();
    let arguments = vec![Argument::Memory(memory)];
    let launch = Launch { program, entry: "k".into(), arguments, range: NdRange::d1(4) };
    device.run_untimed(&launch).unwrap();
    assert!(device.predictions().is_empty());
    let mut bytes = [0; 16];
    device.read(memory, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [1.0f32; 4].map(f32::to_le_bytes).concat()[..]);
    // OpenCL 1.2 has no work-groups of different sizes.
    let uneven = Launch { range: NdRange::d1(3).local(2, 1, 1), ..launch };
    let untimed = device.run_untimed(&uneven).unwrap_err().to_string();
    assert_eq!(untimed, device.run(&[uneven]).unwrap_err().to_string());
}
