//! Compares predicted times with published ones: the tables of times in docs/model.md, which these tests update with
//! `BLESS=1`. Every change of a figure shows there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test reports what it leaves out"
)]

mod bands;
mod ladder;
mod products;

use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use tripipe_device::Gpu;
use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_timing::{Prediction, VirtualGpu, VirtualOptions};

/// A kernel file of the tests of `analyze`, which hold the same kernels against published cycles.
fn program(name: &'static str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analyze/tests/held").join(name);
    Arc::new(Program::from_source(name, fs::read_to_string(path).unwrap()))
}

/// What a test passes to a kernel.
enum Passed {
    /// Memory of zeros.
    Memory(MemoryKind),
    /// An `int`.
    Int(usize),
}

/// The predicted time of a launch. `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn time(
    gpu: &'static Gpu,
    program: &Arc<Program>,
    entry: &str,
    passed: &[Passed],
    global: [usize; 2],
) -> Option<Prediction> {
    let mut device = VirtualGpu::new(gpu, VirtualOptions { time_only: true, ..VirtualOptions::default() });
    if let Err(error) = device.prepare(program, entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    let arguments = passed.iter().map(|passed| match passed {
        Passed::Memory(kind) => Argument::Memory(device.allocate(kind, Access::ReadWrite, None).unwrap()),
        Passed::Int(value) => Argument::from(*value as i32),
    });
    let arguments = arguments.collect();
    let range = NdRange::d2(global[0], global[1]);
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
struct Compared {
    name: &'static str,
    gpu: &'static str,
    what: &'static str,
    source: &'static str,
    /// Whether figures of the model were fitted to it.
    fitted: bool,
    /// Predicted time / published time - 1.
    errors: Vec<f64>,
}

impl Compared {
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

fn percent(share: f64) -> String {
    format!("{:+.0} %", 100.0 * share)
}
