//! Reducing on a device: a wrong compiler is played by the simulator, which gets the source with a mistake.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test ends at the first surprise")]

use std::sync::Arc;

use tripipe_capture::verdict::reduce::reduce;
use tripipe_capture::verdict::{Case, Kind, Verdict, judge};
use tripipe_launch::{Executor as _, Program, Source};
use tripipe_launch_file::{Limits, Loaded, NoFiles, Signature, Tolerance, parse};
use tripipe_simulate::{Options, Simulator};

const KERNEL: &str = "float unused(float x)
{
    return x * 2;
}
kernel void k(global const float *in, global int *out, float scale)
{
    int i = get_global_id(0);
    float sum = 0;
    for (int j = 0; j < 4; j++) {
        sum += unused(in[j]);
    }
    if (sum < -1e30f)
        out[i] = -1;
    float x = in[i] * scale;
    out[i] = convert_int_rte(x);
}
";

const LAUNCH: &str = "source = \"k.cl\"
global = 64
local = 16
[[argument]]
buffer = \"float\"
count = 64
range = { start = 0.25, step = 0.25 }
[[argument]]
buffer = \"int\"
count = 64
fill = 0
[[argument]]
value = 1.0
";

/// The launch of a program's kernel; `None` without clang.
fn loaded(launch: &str, program: &Arc<Program>) -> Option<Loaded> {
    let mut simulator = Simulator::new(Options::default());
    let signature = match simulator.kernel(program, "k") {
        Ok(kernel) => Signature::of(kernel),
        Err(error) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            return None;
        }
    };
    Some(parse(launch, "k.toml").unwrap().load(&[signature], &mut NoFiles, Limits::default()).unwrap())
}

/// A device whose compiler takes one rounding for another; `None` if it cannot compile.
fn wrong_device(program: &Arc<Program>, loaded: &Loaded) -> Option<Vec<Vec<u8>>> {
    let Source::OpenClC(text) = &program.source else { return None };
    let text = text.to_string().replace("convert_int_rte", "convert_int_rtz");
    let mut simulator = Simulator::new(Options::default());
    let program = Arc::new(Program::from_source("k.cl", text));
    let staged = loaded.clone().stage(&mut simulator, program).ok()?;
    simulator.run(std::slice::from_ref(&staged.launch)).ok()?;
    staged.memory.iter().map(|memory| Some(memory.read(&mut simulator).ok()?.bytes)).collect()
}

#[test]
fn a_wrong_device_is_reduced_to_one_work_item_and_three_statements() {
    let program = Arc::new(Program::from_source("k.cl", KERNEL));
    let Some(mut loaded) = loaded(LAUNCH, &program) else { return };
    let results = wrong_device(&program, &loaded).unwrap();
    for (memory, bytes) in loaded.memory.iter_mut().zip(results) {
        memory.expected = Some((bytes, Tolerance::default()));
    }
    let case = Case {
        program,
        loaded,
        options: Options::default(),
        build: String::new(),
        source: KERNEL.to_owned(),
    };
    let judged = judge(&case).unwrap();
    assert_eq!(judged.verdict, Verdict::Miscompiled);
    // 0.75, 1.75 ... and every second half, 1.5, 3.5 ..., whose even neighbour is above.
    assert_eq!(judged.memory[1].wrong, 16 + 8, "{:?}", judged.memory[1]);
    let first = &judged.memory[1].first[0];
    assert_eq!((first.kind, first.device.as_str(), first.defined.as_str()), (Kind::Wrong, "0", "1"));

    let mut device = |program: &Arc<Program>, loaded: &Loaded| wrong_device(program, loaded);
    let reduced = reduce(&case, &judged, Some(&mut device)).unwrap();
    assert!(reduced.confirmed);
    assert_eq!(reduced.judged.verdict, Verdict::Miscompiled);
    assert_eq!(reduced.case.loaded.range.work_items(), Some(1));
    let lines: Vec<&str> = reduced.case.source.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(lines.len() <= 6, "{lines:#?}");
    assert!(reduced.case.source.contains("convert_int_rte") && !reduced.case.source.contains("unused"));
    let elements: Vec<usize> =
        reduced.case.loaded.memory.iter().map(|memory| memory.array.extents[0]).collect();
    assert_eq!(elements, [3, 3]);
    // What the language defines, and what the device computed.
    let defined = i32::from_ne_bytes(reduced.defined[1][8..12].try_into().unwrap());
    let device = &reduced.case.device_results()[1][8..12];
    assert_eq!((defined, i32::from_ne_bytes(device.try_into().unwrap())), (1, 0));

    // A device that is right leaves nothing to reduce.
    let mut same = case.clone();
    for (memory, bytes) in same.loaded.memory.iter_mut().zip(&case.loaded.memory) {
        memory.expected = bytes.initial.clone().map(|initial| (initial, Tolerance::default()));
    }
    same.loaded.memory[1].expected = None;
    let judged = judge(&same).unwrap();
    assert_eq!(judged.verdict, Verdict::Same);
    assert!(reduce(&same, &judged, None).is_none());
}

const STRUCTS: &str = "typedef struct { float2 place; int count; } Found;
kernel void k(global Found *out)
{
    int i = get_global_id(0);
    Found found = { (float2)(i, -i), 1 };
    out[i] = found;
}
";

#[test]
fn padding_of_structs_is_no_difference() {
    let program = Arc::new(Program::from_source("k.cl", STRUCTS));
    let launch = "source = \"k.cl\"\nglobal = 4\n[[argument]]\nbuffer = \"uint\"\ncount = 16\nfill = 0\n";
    let Some(loaded) = loaded(launch, &program) else { return };
    let mut simulator = Simulator::new(Options::default());
    let staged = loaded.clone().stage(&mut simulator, Arc::clone(&program)).unwrap();
    simulator.run(std::slice::from_ref(&staged.launch)).unwrap();
    let bytes = staged.memory[0].read(&mut simulator).unwrap().bytes;
    // A float2 has 8 bytes, an int 4, and a multiple of 8 is 16.
    for (changed, verdict) in [(28, Verdict::Same), (24, Verdict::Miscompiled)] {
        let (mut loaded, mut device) = (loaded.clone(), bytes.clone());
        device[changed..changed + 4].fill(0xab);
        loaded.memory[0].expected = Some((device, Tolerance::default()));
        let (options, build, source) = (Options::default(), String::new(), STRUCTS.to_owned());
        let case = Case { program: Arc::clone(&program), loaded, options, build, source };
        assert_eq!(judge(&case).unwrap().verdict, verdict, "byte {changed}");
    }
}
