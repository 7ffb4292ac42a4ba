//! The kernels that tables of measurements name: `clpeak-mad-float4`, `loop -D N=2`, `rows -D K=1024 -D U=8`.

use std::collections::BTreeMap;

use half::f16;
use tripipe_device::Gpu;
use tripipe_device::nearest::nearest;
use tripipe_launch::{Argument, NdRange, Program, Value};

/// A kernel and its launch.
pub(super) struct MicroKernel {
    pub(super) program: Program,
    pub(super) entry: &'static str,
    /// Bytes of its buffers, in the order of its parameters.
    pub(super) buffers: Vec<usize>,
    pub(super) values: Values,
    pub(super) range: Range,
    /// Operations of the launch; a multiply-add counts as two.
    pub(super) operations: f64,
    /// Bytes that the launch reads and writes; 0 if their rate says nothing, because it is arithmetic that takes the time.
    pub(super) bytes: f64,
}

/// Arguments that are numbers, before or after the buffers.
pub(super) enum Values {
    First(Value),
    Last(Vec<Value>),
}

impl Values {
    /// Puts them among the buffers.
    pub(super) fn insert_into(self, arguments: &mut Vec<Argument>) {
        match self {
            Self::First(value) => arguments.insert(0, Argument::Value(value)),
            Self::Last(values) => arguments.extend(values.into_iter().map(Argument::Value)),
        }
    }
}

/// Work-items, and the work-group that is wanted.
pub(super) struct Range {
    global: [usize; 2],
    local: Local,
}

enum Local {
    /// That of the measurement.
    Given(usize),
    /// As many as the kernel can have, up to this number, as benchmarks ask their driver.
    AtMost(usize),
    /// The driver chooses.
    Driver,
}

impl Range {
    /// The range with a work-group that the kernel can have.
    pub(super) fn within(&self, most: usize) -> NdRange {
        let [x, y] = self.global;
        let range = if y > 1 { NdRange::d2(x, y) } else { NdRange::d1(x) };
        match self.local {
            Local::Given(items) => range.local(items, 1, 1),
            Local::AtMost(items) => range.local(items.min(most), 1, 1),
            Local::Driver => range,
        }
    }
}

/// Why a kernel is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NamedKernelError {
    /// No kernel of that name.
    #[error("no kernel `{name}`; want {}, or a launch file (LAUNCH.toml){}", NAMES.join(", "),
        nearest.as_ref().map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?")))]
    Unknown {
        /// The name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// A size that is needed and given nowhere, or is not possible. The caller names the kernel.
    #[error("{what}")]
    Size {
        /// The kernel.
        kernel: String,
        /// What is missing or wrong.
        what: String,
    },
}

/// Types of elements, and lanes of vectors, in names.
const TYPES: [&str; 4] = ["float", "half", "double", "int"];
const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// All names, without placeholders.
fn all_names() -> Vec<String> {
    let typed = |prefix: &'static str, kind: &'static str| {
        WIDTHS.into_iter().map(move |width| format!("{prefix}{kind}{width}"))
    };
    let chains = TYPES.into_iter().flat_map(|kind| typed("clpeak-mad-", kind));
    let mixes = ["float", "half", "int"].map(|kind| format!("mixbench-{kind}"));
    let others = NAMES.into_iter().filter(|name| !name.contains("TYPE") && !name.ends_with("floatn"));
    chains.chain(typed("clpeak-bw-", "float")).chain(mixes).chain(others.map(str::to_owned)).collect()
}

/// The macros of a kernel that a row may define.
fn macros(name: &str) -> &'static [&'static str] {
    match name {
        "rows" | "dense" => &["K", "U"],
        "product" => &["N", "TILE", "STEP"],
        "lattice" | "loop-float" | "pf" | "loop-half2" | "ph" | "saxpy" | "nb8" | "nb16" | "b22v4"
        | "b44v4" => &["N"],
        _ if name.starts_with("mixbench-") => &["N"],
        _ => &[],
    }
}

/// The names; what may follow them is in the help of `tripipe validate`. The short ones are those of the first table.
const NAMES: [&str; 20] = [
    "clpeak-mad-TYPEn",
    "clpeak-bw-floatn",
    "mixbench-TYPE",
    "stream-copy",
    "stream-scale",
    "stream-add",
    "stream-triad",
    "lattice",
    "loop-float",
    "loop-half2",
    "rows",
    "product",
    "saxpy",
    "pf",
    "ph",
    "dense",
    "nb8",
    "nb16",
    "b22v4",
    "b44v4",
];

const CHAIN: &str = include_str!("../../data/measured/chain.cl");
const STREAM: &str = include_str!("../../data/measured/stream.cl");
const MIX: &str = include_str!("../../data/measured/mix.cl");
const ARRAYS: &str = include_str!("../../data/measured/arrays.cl");
const LATTICE: &str = include_str!("../../data/measured/lattice.cl");
const LOOP: &str = include_str!("../../data/measured/loop.cl");
const ROWS: &str = include_str!("../../data/measured/rows.cl");
const PRODUCT: &str = include_str!("../../data/measured/product.cl");
const SAXPY: &str = include_str!("../../data/measured/saxpy.cl");

/// Work-items of a work-group that benchmarks ask for.
const GROUP: usize = 256;

/// Floats that streams read: 64 MiB, which no cache holds.
const STREAM_FLOATS: usize = 16 << 20;

/// Elements of mixbench, and those of a work-item: its defaults, without the four rounds of a work-item.
const MIX_ELEMENTS: usize = 32 << 20;
const MIX_EACH: usize = 8;

/// Floats of each array of STREAM: 64 MiB, which no cache holds.
const ARRAY_FLOATS: usize = 16 << 20;

/// Bytes and operations of a cell of a lattice, as `FluidX3D` counts them: 19 populations read and written, and a byte;
/// integer operations are among them.
const CELL_BYTES: usize = 153;
const CELL_OPERATIONS: usize = 363;

/// Floats of a vector addition.
const SAXPY_FLOATS: usize = 32 << 20;

/// Multiply-adds of a work-item of a chain.
const CHAIN_STEPS: usize = 2048;

impl MicroKernel {
    /// The kernel that a table names; sizes that the name does not give are read from the device's text.
    ///
    /// # Errors
    /// [`NamedKernelError`].
    pub(super) fn named(text: &str, device: &str, gpu: &Gpu) -> Result<Self, NamedKernelError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let unknown = || {
            let all = all_names();
            let similar = nearest(name, all.iter().map(String::as_str)).map(str::to_owned);
            NamedKernelError::Unknown { name: name.to_owned(), nearest: similar }
        };
        let size = |what: &str| NamedKernelError::Size { kernel: text.to_owned(), what: what.to_owned() };
        let sizes = Sizes::read(text, device);
        let known = macros(name);
        let defined = Sizes::read(text, "");
        if let Some(other) = defined.defines.keys().find(|other| !known.contains(&other.as_str())) {
            let has = if known.is_empty() {
                "it has no macros".to_owned()
            } else {
                format!("want -D {}", known.join(", -D "))
            };
            return Err(if all_names().iter().any(|one| one == name) {
                size(&format!("no macro `{other}`; {has}"))
            } else {
                unknown()
            });
        }
        // As many for each core, as clpeak has it (which launches 256 times as many): no core waits for the others at the end.
        let items = gpu.configuration.cores.value as usize * 2048;
        if let Some(rest) = name.strip_prefix("clpeak-mad-") {
            let (kind, width) = typed(rest).ok_or_else(unknown)?;
            return chain(kind, width, items).ok_or_else(unknown);
        }
        if let Some(rest) = name.strip_prefix("clpeak-bw-") {
            let (_, width) = typed(rest).filter(|(kind, _)| *kind == "float").ok_or_else(unknown)?;
            return Ok(stream(width));
        }
        if let Some(kind) = name.strip_prefix("mixbench-") {
            let steps = sizes.defined("N").filter(|steps| (1..=4096).contains(steps));
            let steps = steps.ok_or_else(|| size("how many multiply-adds? want -D N=80, from 1 to 4096"))?;
            return mix(kind, steps).ok_or_else(unknown);
        }
        if let Some(what) = name.strip_prefix("stream-") {
            return arrays(what).ok_or_else(unknown);
        }
        match name {
            "lattice" => {
                let side = sizes.defined("N").unwrap_or(64);
                if !(4..=256).contains(&side) || !side.is_multiple_of(4) {
                    return Err(size("want a multiple of 4 from 4 to 256, such as -D N=64"));
                }
                Ok(lattice(side))
            }
            "loop-float" | "pf" | "loop-half2" | "ph" => {
                let is_half = matches!(name, "loop-half2" | "ph");
                let unrolled = sizes.defined("N").unwrap_or(1);
                let mut program = Program::from_source("loop.cl", LOOP)
                    .define("N", unrolled)
                    .define("TYPE", if is_half { "half2" } else { "float" });
                if is_half {
                    program = program.define("HALF", 1);
                }
                let lanes = if is_half { 2.0 } else { 1.0 };
                Ok(Self {
                    program,
                    entry: "loop_of_two",
                    buffers: vec![items * 4],
                    values: Values::Last(Vec::new()),
                    range: Range { global: [items, 1], local: Local::AtMost(64) },
                    // 512 iterations of two multiply-adds.
                    operations: 512.0 * 4.0 * lanes * items as f64,
                    bytes: 0.0,
                })
            }
            "rows" | "dense" => {
                let (height, width) =
                    sizes.matrix.ok_or_else(|| size("how many rows and columns? want 1000x1024"))?;
                let depth = sizes.defined("K").unwrap_or(width);
                let unrolled = sizes.defined("U").unwrap_or(8);
                // The kernel has no loop for a remainder.
                if depth == 0 || unrolled == 0 || !depth.is_multiple_of(unrolled) {
                    return Err(size("K is not a multiple of U"));
                }
                let local = sizes.local.map_or(Local::Driver, Local::Given);
                Ok(Self {
                    program: Program::from_source("rows.cl", ROWS).define("K", depth).define("U", unrolled),
                    entry: "rows",
                    buffers: vec![depth * 4, depth * height * 4, height * 4],
                    values: Values::Last(Vec::new()),
                    range: Range { global: [height, 1], local },
                    operations: 2.0 * (depth * height) as f64,
                    bytes: 4.0 * (depth * height + depth + height) as f64,
                })
            }
            "product" | "nb8" | "nb16" | "b22v4" | "b44v4" => {
                let (tile, step) = match name {
                    "nb8" => (1, 8),
                    "nb16" => (1, 16),
                    "b22v4" => (2, 4),
                    "b44v4" => (4, 4),
                    _ => (sizes.defined("TILE").unwrap_or(4), sizes.defined("STEP").unwrap_or(4)),
                };
                if !matches!((tile, step), (1, 8 | 16) | (2 | 4, 4)) {
                    return Err(size("TILE 1 with STEP 8 or 16, TILE 2 or 4 with STEP 4"));
                }
                let n =
                    sizes.defined("N").or(sizes.number).ok_or_else(|| size("how large? want -D N=1024"))?;
                // The kernel has no tiles of other sizes at its borders.
                if n == 0 || !n.is_multiple_of(16) {
                    return Err(size("N is not a multiple of 16"));
                }
                Ok(Self {
                    program: Program::from_source("product.cl", PRODUCT)
                        .define("TILE", tile)
                        .define("STEP", step),
                    entry: "product",
                    buffers: vec![n * n * 4; 3],
                    values: Values::Last(vec![Value::from(n as i32)]),
                    range: Range { global: [n / tile, n / tile], local: Local::Driver },
                    operations: 2.0 * (n as f64).powi(3),
                    bytes: 12.0 * (n as f64).powi(2),
                })
            }
            "saxpy" => {
                let each = sizes.defined("N").unwrap_or(1).max(1);
                let items = SAXPY_FLOATS / each;
                Ok(Self {
                    program: Program::from_source("saxpy.cl", SAXPY).define("N", each),
                    entry: "saxpy",
                    buffers: vec![SAXPY_FLOATS * 4; 2],
                    values: Values::First(Value::from(2.0_f32)),
                    range: Range { global: [items, 1], local: Local::Driver },
                    operations: 2.0 * (items * each) as f64,
                    bytes: 12.0 * (items * each) as f64,
                })
            }
            _ => Err(unknown()),
        }
    }
}

/// A chain of multiply-adds.
fn chain(kind: &'static str, width: usize, items: usize) -> Option<MicroKernel> {
    let mut program = Program::from_source("chain.cl", CHAIN).define("TYPE", kind).define("WIDTH", width);
    let (value, element) = match kind {
        "float" => (Value::from(1.0_f32), 4),
        "half" => (Value::from(f16::from_f32(1.0)), 2),
        "double" => (Value::from(1.0_f64), 8),
        "int" => (Value::from(1_i32), 4),
        _ => return None,
    };
    program = match kind {
        "half" => program.define("HALF", 1),
        "double" => program.define("DOUBLE", 1),
        "int" => program.define("INTEGER", 1),
        _ => program,
    };
    // The wider the vectors, the fewer steps, so that all widths do the same work.
    let turns = CHAIN_STEPS / 16 / width;
    Some(MicroKernel {
        program: program.define("TURNS", turns),
        entry: "chain",
        buffers: vec![items * element],
        values: Values::Last(vec![value]),
        range: Range { global: [items, 1], local: Local::AtMost(GROUP) },
        operations: 2.0 * (turns * 16 * width * items) as f64,
        bytes: 0.0,
    })
}

/// mixbench: as much arithmetic for each element that is read as `steps` says. Half is computed in pairs.
fn mix(kind: &str, steps: usize) -> Option<MicroKernel> {
    let program = Program::from_source("mix.cl", MIX).define("N", steps);
    let (program, seed, element) = match kind {
        "float" => (program.define("TYPE", "float"), Value::from(1.0_f32), 4),
        "half" => {
            let ones = Value::from([f16::ONE; 2]);
            (program.define("TYPE", "half2").define("HALF", 1), ones, 4)
        }
        "int" => (program.define("TYPE", "int").define("INTEGER", 1), Value::from(1_i32), 4),
        _ => return None,
    };
    let lanes = if kind == "half" { 2 } else { 1 };
    Some(MicroKernel {
        program,
        entry: "mix",
        buffers: vec![MIX_ELEMENTS * element],
        values: Values::Last(vec![seed]),
        range: Range { global: [MIX_ELEMENTS / MIX_EACH, 1], local: Local::Given(GROUP) },
        operations: (MIX_ELEMENTS * (1 + 2 * steps) * lanes) as f64,
        bytes: (MIX_ELEMENTS * element) as f64,
    })
}

/// A kernel of STREAM.
fn arrays(what: &str) -> Option<MicroKernel> {
    let (entry, arrays, operations, has_factor) = match what {
        "copy" => ("copy", 2, 0, false),
        "scale" => ("scale", 2, 1, true),
        "add" => ("add", 3, 1, false),
        "triad" => ("triad", 3, 2, true),
        _ => return None,
    };
    let values = if has_factor { vec![Value::from(3.0_f32)] } else { Vec::new() };
    Some(MicroKernel {
        program: Program::from_source("arrays.cl", ARRAYS),
        entry,
        buffers: vec![ARRAY_FLOATS * 4; arrays],
        values: Values::Last(values),
        range: Range { global: [ARRAY_FLOATS, 1], local: Local::AtMost(GROUP) },
        operations: (operations * ARRAY_FLOATS) as f64,
        bytes: (arrays * ARRAY_FLOATS * 4) as f64,
    })
}

/// A step of a lattice of `side` cells in each direction.
fn lattice(side: usize) -> MicroKernel {
    let cells = side * side * side;
    MicroKernel {
        program: Program::from_source("lattice.cl", LATTICE).define("N", side),
        entry: "lattice",
        buffers: vec![19 * 4 * cells, cells],
        values: Values::Last(vec![Value::from(1.0_f32)]),
        range: Range { global: [cells, 1], local: Local::Given(64) },
        operations: (CELL_OPERATIONS * cells) as f64,
        bytes: (CELL_BYTES * cells) as f64,
    }
}

/// Reading a large buffer, as clpeak does: vectors a work-group apart.
fn stream(width: usize) -> MicroKernel {
    let items = STREAM_FLOATS / width / 16;
    MicroKernel {
        program: Program::from_source("stream.cl", STREAM).define("WIDTH", width),
        entry: "stream_near",
        buffers: vec![STREAM_FLOATS * 4, items * 4],
        values: Values::Last(Vec::new()),
        range: Range { global: [items, 1], local: Local::AtMost(GROUP) },
        operations: STREAM_FLOATS as f64,
        bytes: 4.0 * STREAM_FLOATS as f64,
    }
}

/// `float4`: the type of an element, and how many.
fn typed(text: &str) -> Option<(&'static str, usize)> {
    let kind = TYPES.into_iter().find(|kind| text.starts_with(kind))?;
    let width = text[kind.len()..].parse().ok().filter(|width| WIDTHS.contains(width))?;
    Some((kind, width))
}

/// Sizes in words.
#[derive(Default)]
struct Sizes {
    /// `-D NAME=VALUE`.
    defines: BTreeMap<String, usize>,
    /// `1000x1024`.
    matrix: Option<(usize, usize)>,
    /// `local 25`.
    local: Option<usize>,
    /// The last number that stands alone.
    number: Option<usize>,
}

impl Sizes {
    /// Those of the kernel's text; what it lacks, of the device's.
    fn read(kernel: &str, device: &str) -> Self {
        let mut sizes = Self::default();
        // The kernel's words are read last, so they win.
        for text in [device, kernel] {
            let words: Vec<&str> = text.split_whitespace().collect();
            for (at, word) in words.iter().enumerate() {
                let before = at.checked_sub(1).map_or("", |at| words[at]);
                if before == "-D" {
                    if let Some((name, value)) = word.split_once('=')
                        && let Ok(value) = value.parse()
                    {
                        sizes.defines.insert(name.to_owned(), value);
                    }
                } else if before == "local" {
                    sizes.local = word.parse().ok().or(sizes.local);
                } else if let Some((a, b)) = word.split_once('x')
                    && let (Ok(a), Ok(b)) = (a.parse(), b.parse())
                {
                    sizes.matrix = Some((a, b));
                } else if let Ok(number) = word.parse() {
                    sizes.number = Some(number);
                }
            }
        }
        sizes
    }

    fn defined(&self, name: &str) -> Option<usize> {
        self.defines.get(name).copied()
    }
}
