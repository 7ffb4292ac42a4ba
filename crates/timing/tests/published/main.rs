//! Compares predicted times with published ones: the tables of times in docs/model.md, which these tests update with
//! `BLESS=1`. Every change of a figure shows there.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test reports what it leaves out")]

mod ladder;
mod products;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

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

/// Compares a table with the one in the document, or updates it.
fn keep(name: &str, table: &str) {
    static PAGE: Mutex<()> = Mutex::new(());
    let _alone = PAGE.lock().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model.md");
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(&start).unwrap();
    let (known, after) = rest.split_once(&end).unwrap();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&page, format!("{before}{start}{table}{end}{after}")).unwrap();
    } else {
        assert!(known == table, "docs/model.md has another table (BLESS=1 rewrites it):\n{table}");
    }
}

fn percent(share: f64) -> String {
    format!("{:+.0} %", 100.0 * share)
}
