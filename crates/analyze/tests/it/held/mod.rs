//! Compares the model with published figures: the tables in docs/model.md, which these tests update with `BLESS=1`.
//! Every change of a figure shows there.

mod counts;
mod gemm;
mod ladder;
mod rates;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tripipe_analyze::Analysis;
use tripipe_ir::Module;
use tripipe_ir::front::clang::{Build, BuildError, Built, Optimization};
use tripipe_ir::front::spirv;

/// A file of this test.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/held").join(name)
}

/// Kernels after a driver's optimisations; `None`, with a message, if there is no clang, unless
/// `TRIPIPE_REQUIRE_CLANG` is set.
fn compiled(build: impl FnOnce(&Build) -> Result<Built, BuildError>) -> Option<Module> {
    match build(&Build { optimization: Optimization::Driver, ..Build::default() }) {
        Ok(built) => Some(spirv::load(&built.spirv, &spirv::Options::default()).unwrap()),
        Err(error) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            None
        }
    }
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

/// The launch of an analysis: cycles of the whole GPU in which the bounding pipe is never idle, and their milliseconds,
/// or those that DRAM takes.
fn without_waiting(analysis: &Analysis) -> (f64, f64) {
    let (gpu, launch) = (analysis.gpu, analysis.launch.as_ref().unwrap());
    let columns = analysis.longest.columns.iter().map(|column| column.as_constant().unwrap());
    let cores = f64::from(gpu.configuration.cores.value);
    let cycles = columns.fold(0.0, f64::max) * launch.items as f64 / cores;
    let dram = launch.dram_bytes as f64 / (gpu.configuration.dram_gb_s_peak.value * 1e6);
    (cycles, (cycles / (f64::from(gpu.configuration.clock_mhz.value) * 1e3)).max(dram))
}

/// The relative error of a figure.
fn error(found: f64, wanted: f64) -> f64 {
    found / wanted - 1.0
}

fn percent(share: f64) -> String {
    format!("{:+.0} %", 100.0 * share)
}
