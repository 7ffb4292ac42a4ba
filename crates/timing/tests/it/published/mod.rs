//! Compares predicted times with published ones: the tables of times in docs/model.md, which these tests update with
//! `BLESS=1`. Every change of a figure shows there.

mod bands;
mod cross;
mod doubles;
mod ladder;
mod measured;
mod peaks;
mod phones;
mod products;
mod serial;

use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use tripipe_device::Gpu;
use tripipe_launch::{Access, Argument, Executor, ImageShape, Launch, MemoryKind, NdRange, Program};
use tripipe_timing::{Limiter, Options, Prediction, VirtualGpu, VirtualOptions};

/// A kernel file of the project, by its path in `crates`.
fn program(path: &'static str) -> Program {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    Program::from_source(path, fs::read_to_string(file).unwrap())
}

/// What a test passes to a kernel.
enum Passed {
    /// Memory of zeros.
    Memory(MemoryKind),
    /// Memory with contents.
    Contents(MemoryKind, Vec<u8>),
    /// A 2D image over a buffer, without gaps between rows.
    ImageOverBuffer(ImageShape),
    /// An `int`.
    Int(usize),
    /// Any other value, or local memory.
    Argument(Argument),
}

impl Passed {
    fn buffer(bytes: usize) -> Self {
        Self::Memory(MemoryKind::Buffer { bytes })
    }
}

/// The predicted time of a launch. `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn time(
    gpu: &'static Gpu,
    program: &Arc<Program>,
    entry: &str,
    passed: Vec<Passed>,
    range: NdRange,
) -> Option<Prediction> {
    time_with(gpu, &Options::default(), program, entry, passed, range)
}

/// The same with other figures, or exact.
fn time_with(
    gpu: &'static Gpu,
    prediction: &Options,
    program: &Arc<Program>,
    entry: &str,
    passed: Vec<Passed>,
    range: NdRange,
) -> Option<Prediction> {
    let options =
        VirtualOptions { time_only: true, prediction: prediction.clone(), ..VirtualOptions::default() };
    let mut device = VirtualGpu::new(gpu, options);
    if let Err(error) = device.prepare(program, entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    let arguments = passed.into_iter().map(|passed| match passed {
        Passed::Memory(kind) => Argument::Memory(device.allocate(&kind, Access::ReadWrite, None).unwrap()),
        Passed::Contents(kind, bytes) => {
            Argument::Memory(device.allocate(&kind, Access::ReadWrite, Some(&bytes)).unwrap())
        }
        Passed::ImageOverBuffer(shape) => {
            let bytes = shape.row_bytes() * shape.extent.height();
            let buffer = device.allocate(&MemoryKind::Buffer { bytes }, Access::ReadWrite, None).unwrap();
            Argument::Memory(device.image_over_buffer(buffer, &shape, shape.row_bytes()).unwrap())
        }
        Passed::Int(value) => Argument::from(value as i32),
        Passed::Argument(argument) => argument,
    });
    let arguments = arguments.collect();
    let launch = Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments, range };
    device.run(&[launch]).unwrap();
    device.predictions().first().cloned()
}

/// Compares a part of a file of the project, between `start` and `end`, with what it has to be, or updates it.
fn keep_part(file: &str, start: &str, end: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let blesses = std::env::var_os("BLESS").is_some();
    let mut file = fs::File::options().read(true).write(blesses).open(&path).unwrap();
    if blesses {
        // Other tests, in this process or in others, update the same file.
        file.lock().unwrap();
    }
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let (before, rest) =
        text.split_once(start).unwrap_or_else(|| panic!("{} has no {start}", path.display()));
    let (known, after) = rest.split_once(end).unwrap();
    if known == wanted {
        return;
    }
    assert!(blesses, "{} has another text after {start} (BLESS=1 rewrites it):\n{wanted}", path.display());
    let text = format!("{before}{start}{wanted}{end}{after}");
    file.set_len(0).unwrap();
    file.rewind().unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Compares a table with the one in the document, or updates it.
fn keep(name: &str, table: &str) {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    keep_part("../../docs/model.md", &start, &end, table);
}

/// A set of published figures, for the table of errors.
struct Compared<'a> {
    name: &'a str,
    gpu: &'a str,
    what: &'a str,
    source: &'a str,
    /// Whether figures of the model were fitted to it.
    fitted: bool,
    /// Predicted time / published time - 1.
    errors: Vec<f64>,
}

impl Compared<'_> {
    /// Compares its entry in `data/errors.toml`, or updates it. Errors have two decimals there.
    fn keep(&self) {
        let Self { name, gpu, what, source, fitted, errors } = self;
        let errors: Vec<String> = errors.iter().map(|error| format!("{:.2}", error + 0.0)).collect();
        let errors = errors.join(", ").replace("-0.00", "0.00");
        let entry = format!(
            "[[comparison]]\nname = \"{name}\"\ngpu = \"{gpu}\"\nwhat = \"{what}\"\nsource = \"{source}\"\n\
            fitted = {fitted}\nerrors = [{errors}]\n"
        );
        keep_part("data/errors.toml", &format!("# {name}\n"), &format!("# end of {name}\n"), &entry);
    }
}

/// What limits a launch, in a word.
fn limiter(prediction: &Prediction) -> String {
    match prediction.limiter() {
        Limiter::Resource(resource) => format!("{resource:?}").to_lowercase(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn percent(share: f64) -> String {
    format!("{:+.0} %", 100.0 * share)
}
