//! Damages modules and launch files and runs them: no input may cause a panic, a hang or runaway memory use.
//!
//! The case number and the seed determine a modification of one of the [`Sample`]s, the same on every machine.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use tripipe_ir::front::clang::{self, BuildError};
use tripipe_ir::front::spirv;
use tripipe_ir::{ImageDim, ImageType, Kernel, Parameter, ParameterKind, Scalar, Space, Type};
use tripipe_launch::{
    Access, Addressing, Argument, ChannelOrder, ChannelType, Executor as _, Filter, ImageExtent, ImageShape,
    Launch, MemoryKind, NdRange, Program, Sampler, ScalarType, Source, Value,
};
use tripipe_launch_file::{self as file, Limits, NoFiles, Signature};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Options, Schedule, Simulator};

/// Time limit for a case.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);
/// Limit for the peak memory of the process.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;

/// An undamaged module, and the launch file that runs it if there is one.
pub(crate) struct Sample {
    name: String,
    spirv: Vec<u8>,
    launch: Option<String>,
}

/// The ladders' modules; and, if clang is available, every kernel of `tests/bugs` whose launch file's name is wanted.
///
/// # Errors
/// A file that cannot be read or compiled.
pub(crate) fn samples(wanted: impl Fn(&str) -> bool) -> Result<Vec<Sample>, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut samples = Vec::new();
    for path in files(&here.join("../ladders/spirv"), "spv")? {
        let spirv = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        samples.push(Sample { name: stem(&path), spirv, launch: None });
    }
    for path in files(&here.join("tests/bugs"), "toml")? {
        let name = stem(&path);
        if !wanted(&name) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let launch = file::parse(&text, &name).map_err(|error| error.to_string())?;
        let source = path.with_file_name(launch.source.path());
        let program = launch.program(name.clone(), Source::OpenClC("".into()), str::to_owned);
        let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
        let options = defines.chain(program.options.iter().cloned()).collect();
        match clang::build_file(&source, &clang::Build { options, ..clang::Build::default() }) {
            Ok(built) => samples.push(Sample { name, spirv: built.spirv, launch: Some(text) }),
            Err(BuildError::ToolMissing { .. }) => break,
            Err(error) => return Err(format!("{name}: {error}")),
        }
    }
    Ok(samples)
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    Ok(paths)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The outcome of a case.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ran {
    /// Launches that completed.
    pub(crate) done: u32,
    /// Launches, launch files and modules that were refused with an error.
    pub(crate) refused: u32,
}

impl Ran {
    fn note<T, E>(&mut self, result: &Result<T, E>) {
        match result {
            Ok(_) => self.done += 1,
            Err(_) => self.refused += 1,
        }
    }
}

fn rng(seed: u64, case: u64) -> Rng {
    // Consecutive cases get seeds far apart: the factor is 2^64 divided by the golden ratio.
    Rng::with_seed(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Damages a sample and runs it, unchecked and with all checks.
///
/// # Errors
/// A bug was found: a panic (details on standard error), a case that takes longer than [`LIMIT`], or peak memory
/// above [`MEMORY_BYTES`].
pub(crate) fn run(samples: &[Sample], seed: u64, case: u64) -> Result<Ran, String> {
    let began = Instant::now();
    let mut rng = rng(seed, case);
    let sample = &samples[rng.usize(..samples.len())];
    let bug = |what: String| format!("case {case} of seed {seed}, {}, {what}", sample.name);
    let ran = catch_unwind(AssertUnwindSafe(|| match &sample.launch {
        Some(launch) if rng.bool() => launch_file(&damaged_text(launch, &mut rng), sample, &mut rng),
        _ => module(&damaged(&sample.spirv, &mut rng), &mut rng),
    }));
    let Ok(ran) = ran else { return Err(bug("panics".into())) };
    let (took, peak) = (began.elapsed(), peak_bytes());
    if took > LIMIT {
        return Err(bug(format!("takes {took:?}")));
    }
    if peak > MEMORY_BYTES {
        return Err(bug(format!("takes {peak} bytes")));
    }
    Ok(ran)
}

/// Peak memory of this process; 0 if the system does not report it.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Words of a module's header, which is never changed: without it a module is refused at once.
const HEADER: usize = 5;

/// A module with some words changed, moved or removed; sometimes unchanged.
fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    for _ in 0..rng.usize(..4) {
        if words.len() < HEADER + 8 {
            break;
        }
        let at = rng.usize(HEADER..words.len());
        let from = rng.usize(HEADER..words.len());
        match rng.u32(..20) {
            0 => words[at] = rng.u32(..),
            1..7 => words[at] = rng.u32(..300),
            7..10 => words[at] ^= 1 << rng.u32(..32),
            10..16 => words[at] = words[from],
            16 => drop(words.remove(at)),
            17 => words[at] = *rng.choice(&LARGE.map(|number| number as u32)).unwrap_or(&0),
            18 => {
                let piece = words[from..words.len().min(from + rng.usize(1..8))].to_vec();
                words.splice(at..at, piece);
            }
            _ => words.truncate(at),
        }
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Numbers at the ends of ranges.
const LARGE: [u64; 10] = [
    0,
    1 << 7,
    (1 << 15) - 1,
    1 << 16,
    1 << 31,
    (1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 63) - 1,
    u64::MAX,
];

/// A text with some lines, numbers or characters changed.
fn damaged_text(text: &str, rng: &mut Rng) -> String {
    let mut text: Vec<u8> = text.bytes().collect();
    for _ in 0..rng.usize(..4) {
        if text.is_empty() {
            break;
        }
        let at = rng.usize(..text.len());
        match rng.u32(..10) {
            0 => text[at] = rng.u8(..),
            1 => drop(text.remove(at)),
            2 => text.insert(at, *rng.choice(b"[]{}='\",.-+_e#\n 0129").unwrap_or(&b' ')),
            3 => {
                // Removes a line, or repeats it elsewhere.
                let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
                let line = lines[rng.usize(..lines.len())];
                if rng.bool() {
                    lines.retain(|other| *other != line);
                } else {
                    lines.insert(rng.usize(..=lines.len()), line);
                }
                text = lines.concat();
            }
            _ => {
                // Replaces a number.
                let Some(start) = (at..text.len()).find(|index| text[*index].is_ascii_digit()) else {
                    continue;
                };
                let end =
                    (start..text.len()).find(|index| !text[*index].is_ascii_digit()).unwrap_or(text.len());
                let number = match rng.u32(..3) {
                    0 => rng.i32(-3..300).to_string(),
                    1 => LARGE[rng.usize(..LARGE.len())].to_string(),
                    _ => ["1e400", "nan", "-0.5", "1e-320"][rng.usize(..4)].to_owned(),
                };
                text.splice(start..end, number.into_bytes());
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// A simulator with a low step limit.
fn simulator(threads: usize, rng: &mut Rng) -> Simulator {
    Simulator::new(Options {
        threads,
        steps: 20_000,
        memory_bytes: 1 << 20,
        schedule: Schedule::numbered(rng.u32(..8)),
        ..Options::default()
    })
}

fn program(spirv: &[u8]) -> Arc<Program> {
    Arc::new(Program {
        name: "fuzz.spv".into(),
        source: Source::SpirV(spirv.into()),
        defines: Vec::new(),
        options: Vec::new(),
    })
}

/// Parses and runs a launch file.
fn launch_file(text: &str, sample: &Sample, rng: &mut Rng) -> Ran {
    let mut ran = Ran::default();
    let parsed = file::parse(text, "fuzz.toml");
    let module = spirv::load(&sample.spirv, &spirv::Options::default());
    let (Ok(parsed), Ok(module)) = (parsed, module) else {
        ran.refused += 1;
        return ran;
    };
    let signatures: Vec<_> = module.kernels.iter().map(Signature::of).collect();
    let program = program(&sample.spirv);
    for checked in [false, true] {
        let Ok(loaded) = parsed.load(&signatures, &mut NoFiles, Limits { bytes: 1 << 20 }) else {
            ran.refused += 1;
            return ran;
        };
        let mut simulator = simulator(2, rng);
        let staged = loaded.stage(&mut simulator, Arc::clone(&program));
        match staged {
            Err(_) => ran.refused += 1,
            Ok(staged) if checked => ran.note(&simulator.check(&staged.launch, &Checks::all())),
            Ok(staged) => ran.note(&simulator.run(std::slice::from_ref(&staged.launch))),
        }
    }
    ran
}

/// Runs the kernels of a module over a few work-items, with matching arguments.
fn module(spirv: &[u8], rng: &mut Rng) -> Ran {
    let mut ran = Ran::default();
    let limits = spirv::Limits { instructions: 20_000, initial_bytes: 1 << 16, ..spirv::Limits::default() };
    let Ok(loaded) = spirv::load_each(spirv, &spirv::Options { limits, ..spirv::Options::default() }) else {
        ran.refused += 1;
        return ran;
    };
    let program = program(spirv);
    for kernel in loaded.module.kernels.iter().take(4) {
        let range = range(kernel, rng);
        for checked in [false, true] {
            let mut simulator = simulator(2, rng);
            let mut arguments = Vec::new();
            for parameter in &kernel.parameters {
                arguments.extend(argument(&mut simulator, parameter, kernel, rng));
            }
            let launch =
                Launch { program: Arc::clone(&program), entry: kernel.name.clone(), arguments, range };
            if checked {
                ran.note(&simulator.check(&launch, &Checks::all()));
            } else {
                ran.note(&simulator.run(&[launch]));
            }
        }
    }
    ran
}

fn range(kernel: &Kernel, rng: &mut Rng) -> NdRange {
    let (x, y, z) = (rng.usize(1..140), rng.usize(1..4), rng.usize(1..3));
    let range = match rng.u32(..3) {
        0 => NdRange::d1(x),
        1 => NdRange::d2(x, y),
        _ => NdRange::d3(x, y, z),
    };
    let range = if rng.bool() { range.offset(rng.usize(..3), 0, 0) } else { range };
    match kernel.required_local_size {
        Some([x, y, z]) => range.local(x as usize, y as usize, z as usize),
        None if rng.bool() => range.local(rng.usize(1..70), 1, 1),
        None => range,
    }
}

/// An argument that fits a parameter; `None` if there is none.
fn argument(
    simulator: &mut Simulator,
    parameter: &Parameter,
    kernel: &Kernel,
    rng: &mut Rng,
) -> Option<Argument> {
    let access = *rng.choice(&[Access::Read, Access::Write, Access::ReadWrite])?;
    let mut bytes = |count: usize| -> Vec<u8> {
        // Mostly small numbers, like indices.
        (0..count).map(|at| if at % 4 == 0 { rng.u8(..16) } else { 0 }).collect()
    };
    Some(match &parameter.kind {
        ParameterKind::Pointer { space: Space::Local, .. } => Argument::Local { bytes: 4 << rng.u32(..8) },
        ParameterKind::Pointer { .. } => {
            let size = 4 << (bytes(1)[0] % 12);
            let contents = bytes(size);
            match rng.u32(..10) {
                0 => Argument::Null,
                fill => {
                    let initial = (fill > 3).then_some(&contents[..]);
                    Argument::Memory(
                        simulator.allocate(&MemoryKind::Buffer { bytes: size }, access, initial).ok()?,
                    )
                }
            }
        }
        ParameterKind::Struct { object } => {
            let size =
                usize::try_from(kernel.objects.get(*object)?.bytes()).ok().filter(|size| *size < 1 << 16)?;
            Argument::Bytes(bytes(size).into())
        }
        ParameterKind::Value(Type::Image(ty)) => {
            let shape = shape(*ty, rng);
            match shape.extent {
                ImageExtent::Buffer { .. } => {
                    let buffer = MemoryKind::Buffer { bytes: shape.bytes() };
                    let buffer = simulator.allocate(&buffer, access, None).ok()?;
                    Argument::Memory(simulator.image_over_buffer(buffer, &shape, shape.row_bytes()).ok()?)
                }
                _ => Argument::Memory(simulator.allocate(&MemoryKind::Image(shape), access, None).ok()?),
            }
        }
        ParameterKind::Value(Type::Sampler) => {
            let addressing =
                [Addressing::None, Addressing::ClampToEdge, Addressing::Clamp, Addressing::Repeat];
            Argument::Sampler(Sampler {
                normalized: rng.bool(),
                addressing: *rng.choice(&addressing)?,
                filter: if rng.bool() { Filter::Linear } else { Filter::Nearest },
            })
        }
        ParameterKind::Value(ty) => {
            let contents = bytes(ty.stored_bytes() as usize);
            Argument::Value(Value::from_bytes(scalar(ty.scalar()?), usize::from(ty.lanes()), contents)?)
        }
    })
}

fn scalar(scalar: Scalar) -> ScalarType {
    match scalar {
        Scalar::Bool | Scalar::I8 => ScalarType::U8,
        Scalar::I16 => ScalarType::I16,
        Scalar::I32 => ScalarType::I32,
        Scalar::I64 => ScalarType::I64,
        Scalar::F16 => ScalarType::F16,
        Scalar::F32 => ScalarType::F32,
        Scalar::F64 => ScalarType::F64,
    }
}

/// A small image of this type.
fn shape(ty: ImageType, rng: &mut Rng) -> ImageShape {
    let (width, height, depth) = (rng.usize(1..9), rng.usize(1..5), rng.usize(1..4));
    let extent = match (ty.dim, ty.array) {
        (ImageDim::D1, false) => ImageExtent::D1 { width },
        (ImageDim::D1, true) => ImageExtent::D1Array { width, layers: depth },
        (ImageDim::Buffer, _) => ImageExtent::Buffer { width },
        (ImageDim::D2, false) => ImageExtent::D2 { width, height },
        (ImageDim::D2, true) => ImageExtent::D2Array { width, height, layers: depth },
        (ImageDim::D3, _) => ImageExtent::D3 { width, height, depth },
    };
    let order =
        if ty.depth { ChannelOrder::Depth } else { ChannelOrder::ALL[rng.usize(..ChannelOrder::ALL.len())] };
    let channels: Vec<ChannelType> =
        ChannelType::ALL.into_iter().filter(|channel| order.takes(*channel)).collect();
    ImageShape { extent, order, channel: channels[rng.usize(..channels.len())] }
}
