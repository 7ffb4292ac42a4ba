//! A second compiler: every kernel compiles with clang to valid SPIR-V, both as planned for phones and alone with its
//! defaults.
//!
//! Half-precision kernels, and those that use one of Arm's extensions, are covered by no other test here. Without clang
//! the tests are skipped with a message; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use tripipe_conformance::phone::mali_g610;
use tripipe_conformance::programs::ladder_programs;
use tripipe_ir::front::live;
use tripipe_kernels::Plan;
use tripipe_kernels::elementwise::{self, Grid, Map, Reduction, Step};
use tripipe_kernels::filter::{self, Border, Chain, Interpolation, Raster, Size};
use tripipe_kernels::gemm::{self, Accumulate, Elements, Extents, Gemm, OperandState, ProductExtents};
use tripipe_kernels::quantised::{self, Activation, PackedLayout, QuantisedProduct, WeightFormat};
use tripipe_kernels::source::all;
use tripipe_launch::{ScalarType, Source};

const CLANG: &str = "clang-15";
const TRANSLATOR: &str = "llvm-spirv-15";
const VALIDATOR: &str = "spirv-val";

pub(crate) fn tools_are_there() -> bool {
    let missing: Vec<_> = [CLANG, TRANSLATOR, VALIDATOR]
        .into_iter()
        .filter(|tool| Command::new(tool).arg("--version").output().is_err())
        .collect();
    if missing.is_empty() {
        return true;
    }
    assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "{missing:?}: scripts/setup installs them");
    eprintln!("left out: no {missing:?}");
    false
}

/// Compiles to SPIR-V and validates it; returns the compiler's error. Without optimisation: for optimised loops, the
/// translator of clang 15 puts an instruction at a position that SPIR-V does not allow.
fn compile(source: &Path, options: &[String], folder: &Path) -> Result<(), String> {
    let (bitcode, module) = (folder.join("kernel.bc"), folder.join("kernel.spv"));
    run(Command::new(CLANG)
        .args(["-c", "-x", "cl", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header"])
        .args(["-emit-llvm", "-O0", "-Wall", "-Werror"])
        .args(options)
        .arg("-o")
        .arg(&bitcode)
        .arg(source))?;
    run(Command::new(TRANSLATOR)
        .args(["--spirv-max-version=1.2", "--spirv-ext=+all"])
        .arg(&bitcode)
        .arg("-o")
        .arg(&module))?;
    run(Command::new(VALIDATOR).args(["--target-env", "opencl2.2"]).arg(&module))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn every_planned_kernel_compiles() {
    if !tools_are_there() {
        return;
    }
    let programs = ladder_programs().unwrap();
    assert!(programs.len() > 10, "{} programs", programs.len());
    let folder = tempfile::tempdir().unwrap();
    for program in programs {
        let Source::OpenClC(text) = &program.source else { continue };
        let source = folder.path().join("kernel.cl");
        std::fs::write(&source, text.as_bytes()).unwrap();
        let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
        // Arm's option tells its driver that the last work-group may be smaller; the language stays 1.2 otherwise.
        let known = program.options.iter().filter(|option| !option.starts_with("-cl-arm-")).cloned();
        let mut options: Vec<String> = defines.chain(known).collect();
        if !options.iter().any(|option| option.starts_with("-cl-std")) {
            options.push("-cl-std=CL1.2".to_owned());
        }
        compile(&source, &options, folder.path())
            .unwrap_or_else(|complaint| panic!("{} {options:?}:\n{complaint}", program.name));
    }
}

/// Parts of a program are compiled together with its other parts.
#[test]
fn every_source_compiles_with_its_defaults() {
    if !tools_are_there() {
        return;
    }
    let ladders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ladders/src");
    let mut sources = BTreeSet::new();
    let mut parts = BTreeSet::new();
    for program in ladder_programs().unwrap() {
        let Source::OpenClC(text) = &program.source else { continue };
        if text.parts().count() > 1 {
            parts.extend(text.parts().map(|part| ladders.join(part.name)));
            sources.insert((program.name.to_string(), String::from_utf8(text.as_bytes().to_vec()).unwrap()));
        }
    }
    let mut alone = Vec::new();
    find_sources(&ladders, &mut alone);
    assert!(alone.len() > 8, "{} sources", alone.len());
    for source in alone.iter().filter(|source| !parts.contains(*source)) {
        sources.insert((source.display().to_string(), std::fs::read_to_string(source).unwrap()));
    }
    assert!(parts.iter().all(|part| alone.contains(part)), "{parts:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.cl");
    for (name, text) in sources {
        std::fs::write(&file, text).unwrap();
        compile(&file, &["-cl-std=CL1.2".to_owned(), "-Wno-unused-function".to_owned()], folder.path())
            .unwrap_or_else(|complaint| panic!("{name}:\n{complaint}"));
    }
}

/// A program of parts may have functions that it does not need.
#[test]
fn every_program_of_parts_compiles_with_its_defaults() {
    if !tools_are_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for sources in all() {
        let file = folder.path().join("kernel.cl");
        std::fs::write(&file, sources.text.as_bytes()).unwrap();
        compile(&file, &["-cl-std=CL1.2".to_owned(), "-Wno-unused-function".to_owned()], folder.path())
            .unwrap_or_else(|complaint| panic!("{}:\n{complaint}", sources.name));
    }
}

/// What is printed of a program compiles without `-D` to the code that the program compiles to: LLVM's form of it, before
/// any pass, is the same text.
#[test]
fn printed_programs_compile_to_the_same_code() {
    if !tools_are_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    for plan in library_plans() {
        for launch in plan.preparation().iter().chain(plan.launches()) {
            let program = &launch.program;
            if !seen.insert(format!("{} {}", program.name, program.build_options())) {
                continue;
            }
            let Source::OpenClC(text) = &program.source else { panic!("{} is not text", program.name) };
            let parts = text.parts().map(|part| (part.name, part.text));
            let printed =
                live(parts, &program.defines).unwrap_or_else(|error| panic!("{}: {error}", program.name));
            let is_conditional = |line: &str| line.starts_with("#if") || line.starts_with("#line");
            assert!(!printed.lines().any(is_conditional), "{}:\n{printed}", program.name);
            let options: Vec<String> = program.options.clone();
            let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
            let whole =
                llvm(text, &options.iter().cloned().chain(defines).collect::<Vec<_>>(), folder.path());
            let printed = llvm(&printed, &options, folder.path());
            assert!(whole == printed, "{} {} differs", program.name, program.build_options());
        }
    }
    assert!(seen.len() > 30, "{} programs", seen.len());
}

/// The unoptimised code in LLVM's text form, without the file's name.
fn llvm(text: &str, options: &[String], folder: &Path) -> String {
    let source = folder.join("kernel.cl");
    std::fs::write(&source, text).unwrap();
    let standard = options.iter().any(|option| option.starts_with("-cl-std"));
    let output = Command::new(CLANG)
        .args(["-x", "cl", "-target", "spir64-unknown-unknown", "-Xclang", "-finclude-default-header"])
        .args(["-O0", "-S", "-emit-llvm", "-o", "-"])
        .args(if standard { None } else { Some("-cl-std=CL1.2") })
        .args(options)
        .arg(&source)
        .output()
        .unwrap();
    assert!(output.status.success(), "{options:?}:\n{}\n{text}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter(|line| !line.starts_with("; ModuleID") && !line.starts_with("source_filename"))
        .collect()
}

/// Plans of every family of the library, with types, layouts and borders that compile to different branches.
pub(crate) fn library_plans() -> Vec<Plan<'static>> {
    let mut plans = Vec::new();
    for gpu in ["Mali-T604", "Mali-G77", "Adreno 650"] {
        let probe = tripipe_device::find(gpu).unwrap().expected_probe();
        let chunked = Elements::F16(Accumulate::Chunked { block: 32 });
        for elements in [Elements::F32, Elements::F16(Accumulate::F32), chunked, Elements::I8ToI32] {
            for [m, n, k] in [[512, 512, 512], [1, 1000, 1024], [65, 33, 7]] {
                let mut product = Gemm::new(elements, ProductExtents { m, n, k });
                product.epilogue = vec![gemm::EpilogueStage::BiasColumns, gemm::EpilogueStage::Relu];
                product.b = gemm::Layout::column_major(k);
                let parameters = gemm::default_parameters(&product, &probe).parameters;
                plans.extend(gemm::plan(&product, &parameters, &probe, [OperandState::Changing; 2]));
            }
        }
        for format in WeightFormat::ALL {
            for (activation, m) in [(Activation::F32, 1), (Activation::F16, 3)] {
                let product = QuantisedProduct::new(format, activation, ProductExtents { m, n: 100, k: 72 });
                let parameters = quantised::choose(&product, None, &probe).parameters;
                let layout =
                    PackedLayout::of(format, Extents::new(100, 72), parameters.memory, &probe).unwrap();
                plans.push(quantised::plan(&product, &parameters, &layout, &probe).unwrap());
            }
        }
        for chain in
            ["gaussian:5", "laplace", "sobel", "median:3", "median:5", "erode:3", "gray,gaussian:3,laplace"]
                .into_iter()
                .chain(["bilateral:5:20:1.5", "yuv", "convert:f32:2:0.5", "gaussian:3,convert:u8"])
        {
            for (element, border) in
                [(filter::PixelType::U8, Border::None), (filter::PixelType::F16, Border::Constant(1.0))]
            {
                let chain = Chain::parse(chain, border).unwrap();
                let from = Raster::packed(Size::new(640, 480), 3, element);
                let Ok(to) = chain.apply_to(&from) else { continue };
                let parameters = filter::default_parameters(&chain, &from, &probe).parameters;
                plans.push(filter::plan(&chain, &from, &to, &parameters, &probe).unwrap());
            }
        }
    }
    let probe = mali_g610();
    for element in [filter::PixelType::U8, filter::PixelType::F16] {
        let [from, to] = [Size::new(64, 48), Size::new(23, 17)].map(|size| Raster::planar(size, 3, element));
        plans.push(filter::resize(Interpolation::Area, &from, &to, &probe).unwrap());
        plans.push(
            elementwise::histogram(&Raster::packed(Size::new(64, 48), 3, filter::PixelType::U8), &probe)
                .unwrap(),
        );
    }
    for element in [ScalarType::F32, ScalarType::F16, ScalarType::U8] {
        let grid = Grid::dense(100);
        for reduction in [Reduction::Sum, Reduction::Least] {
            plans.push(elementwise::reduce(reduction, grid, None, element, &probe).unwrap());
        }
        let steps = vec![Step::Add(grid), Step::Relu];
        let map =
            Map { from: element, to: ScalarType::I16, in_float: false, source: None, steps, result: grid };
        plans.push(elementwise::map(&Map { source: Some(grid), ..map }).unwrap());
    }
    plans
}

fn find_sources(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "cl") {
            sources.push(path);
        }
    }
}
