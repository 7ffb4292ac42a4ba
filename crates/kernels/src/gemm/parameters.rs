//! How a product is computed: the kernel, its tile, the source of each operand. Parameters have a one-line text form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A kernel of `cl/gemm` with its build and launch parameters.
///
/// A and B, rows and columns are those of the product as the kernels see it, with contiguous rows of C. For a
/// column-major C, the kernels compute the transpose, B^T A^T, and A and B are swapped
/// ([`super::Gemm::is_transposed`]).
///
/// The text form, in TOML too, is one line: the kernel, its tile, then the fields that differ from their defaults,
/// e.g. `tile 4x8 unroll=4 b=image group=16x8`.
///
/// ```
/// use tripipe_kernels::gemm::Parameters;
///
/// let text = "tile 8x32 vector=16 unroll=4 a=packed/1 b=packed/1 rows-first rolled group=1x1";
/// let parameters: Parameters = text.parse().unwrap();
/// assert_eq!(parameters.to_string(), text);
/// assert!("tile 8x32 colour=red".parse::<Parameters>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Parameters {
    /// `gemm_tile`: one tile per work-item.
    Tile(Tile),
    /// `gemm_local`: one block per work-group, through local memory.
    Local(Local),
    /// `gemm_vector`: a row of C that is a vector times B, with B contiguous along K.
    Vector(Vector),
}

/// The parameters of `gemm_tile`: `tile ROWSxCOLUMNS`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent of each other, each a word of the text")]
pub struct Tile {
    /// Rows of C per work-item, 1 to 16.
    pub rows: usize,
    /// Columns of C per work-item: up to 4 vectors.
    pub columns: usize,
    /// `vector=`: elements of a vector of columns: 2, 4 (the default), 8 or 16.
    pub vector: usize,
    /// `unroll=`: steps along K per loop iteration: 1, 2, 4 or 8.
    pub unroll: usize,
    /// `a=`: the source of A.
    pub a: Source,
    /// `b=`: the source of B.
    pub b: Source,
    /// `a-vector`: whether the rows of a packed A are loaded as one vector of 2, 4, 8 or 16. Otherwise they are
    /// loaded one by one, which CPUs broadcast from memory.
    pub a_vector: bool,
    /// `fma`: whether the kernel requires `fma()`.
    pub fma: bool,
    /// `short-products`: whether bytes are multiplied in 16 bits, which their products fit, and widened for
    /// summation. 5 to 13 % faster on a CPU with AVX-512 (PoCL 3.1); by `tripipe analyze` 1.3 to 1.6 times fewer
    /// cycles of arithmetic on Valhall and Adreno 6xx, but a tenth more on Midgard and Bifrost.
    pub short_products: bool,
    /// `dot=`: dot products of four bytes.
    pub dot: Option<Dot>,
    /// `rows-first`: whether consecutive work-items are in the same column of tiles.
    pub rows_first: bool,
    /// `rolled`: whether the epilogue is compiled once, in a loop over sums in memory. For CPUs.
    pub rolled: bool,
    /// `group=`: work-group size in the first and second dimension; without it the driver chooses.
    pub group: Option<[usize; 2]>,
    /// `slices=`: work-items of a work-group, side by side in its first dimension, that share a tile, each with a slice of K: a
    /// power of two; needs a work-group.
    pub slices: usize,
    /// `parts=`: number of parts that K is divided into; a second pass sums them in order.
    pub parts: usize,
}

/// The parameters of `gemm_local`: `local ROWSxCOLUMNS`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Rows of C per work-item: 4, 8, 12 or 16, in quads spread over the block at equal distances.
    pub rows: usize,
    /// Columns of C per work-item, like `rows`.
    pub columns: usize,
    /// `depth=`: steps along K that a block in local memory holds: 4, 8, 16 or 32.
    pub depth: usize,
    /// `group=`: work-group size along the columns and the rows of C.
    pub group: [usize; 2],
    /// `a=`: the source of A: direct, or packed in one panel.
    pub a: Source,
    /// `b=`: the source of B, likewise.
    pub b: Source,
    /// `buffers=`: 2 loads one block while computing with another, at twice the local memory; otherwise 1.
    pub buffers: usize,
    /// `fma`: whether the kernel requires `fma()`.
    pub fma: bool,
    /// `parts=`: number of parts that K is divided into.
    pub parts: usize,
}

/// The parameters of `gemm_vector`: `vector OUTPUTSxWIDTH`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    /// Adjacent elements of C per work-group: 2, 4 or 8.
    pub outputs: usize,
    /// Steps along K that a work-item processes at once: 2, 4, 8 or 16.
    pub width: usize,
    /// `group=`: work-items that share the sums of the elements, a power of two.
    pub group: usize,
    /// `sub-groups`: whether work-items are summed by `sub_group_reduce_add`, and only sub-groups through local
    /// memory.
    pub sub_groups: bool,
}

/// The source from which a kernel reads an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `direct`: in its stored layout. Any layout works.
    Direct,
    /// `packed/PANEL`: a copy in panels of `panel` tiles; `packed` for a single panel of all tiles (0).
    Packed {
        /// Tiles per panel; 0 for all tiles.
        panel: usize,
    },
    /// `image`: a copy in an image, or in a buffer under an image on devices that support that.
    Image,
}

/// The extension that provides dot products of four bytes, added to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dot {
    /// `khr`: `cl_khr_integer_dot_product`.
    Khr,
    /// `arm`: `cl_arm_integer_dot_product_accumulate_int8`.
    Arm,
}

impl Tile {
    /// A tile that reads buffers in their stored layout: 4 elements per vector, one step per iteration, the driver's
    /// work-group, K undivided.
    pub const fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            vector: 4,
            unroll: 1,
            a: Source::Direct,
            b: Source::Direct,
            a_vector: false,
            fma: false,
            short_products: false,
            dot: None,
            rows_first: false,
            rolled: false,
            group: None,
            slices: 1,
            parts: 1,
        }
    }
}

impl Local {
    /// A block that reads operands in their stored layout: 8 steps along K, 16x16 work-items, one buffer, K
    /// undivided.
    pub const fn new(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            depth: 8,
            group: [16, 16],
            a: Source::Direct,
            b: Source::Direct,
            buffers: 1,
            fma: false,
            parts: 1,
        }
    }
}

/// Parameter text that cannot be parsed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("parameters `{text}`: `{word}` is {reason}")]
#[non_exhaustive]
pub struct ParametersError {
    /// The whole text.
    pub text: String,
    /// The invalid word.
    pub word: String,
    /// The reason.
    pub reason: &'static str,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct => f.write_str("direct"),
            Self::Packed { panel: 0 } => f.write_str("packed"),
            Self::Packed { panel } => write!(f, "packed/{panel}"),
            Self::Image => f.write_str("image"),
        }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |f: &mut fmt::Formatter<'_>, name: &str, value: usize, least: usize| {
            if value == least { Ok(()) } else { write!(f, " {name}={value}") }
        };
        let sources = |f: &mut fmt::Formatter<'_>, a: Source, b: Source| {
            for (name, source) in [("a", a), ("b", b)] {
                if source != Source::Direct {
                    write!(f, " {name}={source}")?;
                }
            }
            Ok(())
        };
        let flag = |f: &mut fmt::Formatter<'_>, name: &str, set: bool| {
            if set { write!(f, " {name}") } else { Ok(()) }
        };
        match self {
            Self::Tile(tile) => {
                write!(f, "tile {}x{}", tile.rows, tile.columns)?;
                number(f, "vector", tile.vector, 4)?;
                number(f, "unroll", tile.unroll, 1)?;
                sources(f, tile.a, tile.b)?;
                flag(f, "a-vector", tile.a_vector)?;
                flag(f, "fma", tile.fma)?;
                flag(f, "short-products", tile.short_products)?;
                match tile.dot {
                    None => {}
                    Some(Dot::Khr) => f.write_str(" dot=khr")?,
                    Some(Dot::Arm) => f.write_str(" dot=arm")?,
                }
                flag(f, "rows-first", tile.rows_first)?;
                flag(f, "rolled", tile.rolled)?;
                if let Some([x, y]) = tile.group {
                    write!(f, " group={x}x{y}")?;
                }
                number(f, "slices", tile.slices, 1)?;
                number(f, "parts", tile.parts, 1)
            }
            Self::Local(local) => {
                let [x, y] = local.group;
                write!(f, "local {}x{} depth={} group={x}x{y}", local.rows, local.columns, local.depth)?;
                sources(f, local.a, local.b)?;
                number(f, "buffers", local.buffers, 1)?;
                flag(f, "fma", local.fma)?;
                number(f, "parts", local.parts, 1)
            }
            Self::Vector(vector) => {
                write!(f, "vector {}x{} group={}", vector.outputs, vector.width, vector.group)?;
                flag(f, "sub-groups", vector.sub_groups)
            }
        }
    }
}

impl From<Parameters> for String {
    fn from(parameters: Parameters) -> Self {
        parameters.to_string()
    }
}

impl TryFrom<String> for Parameters {
    type Error = ParametersError;

    fn try_from(text: String) -> Result<Self, ParametersError> {
        text.parse()
    }
}

/// Parses a number; the error says what was expected.
fn number(value: Option<&str>) -> Result<usize, &'static str> {
    value.and_then(|value| value.parse().ok()).ok_or("not a number")
}

fn extent(value: Option<&str>) -> Result<[usize; 2], &'static str> {
    let both = value.and_then(|value| value.split_once('x'));
    let both = both.and_then(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
    both.ok_or("not a pair of numbers such as 16x8")
}

fn source(value: Option<&str>) -> Result<Source, &'static str> {
    match value {
        Some("direct") => Ok(Source::Direct),
        Some("packed") => Ok(Source::Packed { panel: 0 }),
        Some("image") => Ok(Source::Image),
        _ => {
            let panel = value.and_then(|value| value.strip_prefix("packed/"));
            number(panel)
                .map(|panel| Source::Packed { panel })
                .map_err(|_| "not a source: want direct, packed, packed/PANEL or image")
        }
    }
}

fn dot(value: Option<&str>) -> Result<Dot, &'static str> {
    match value {
        Some("khr") => Ok(Dot::Khr),
        Some("arm") => Ok(Dot::Arm),
        _ => Err("not a kind of dot product: want khr or arm"),
    }
}

fn flag(value: Option<&str>) -> Result<bool, &'static str> {
    if value.is_none() { Ok(true) } else { Err("a flag, which has no value") }
}

impl FromStr for Parameters {
    type Err = ParametersError;

    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let wrong =
            |word: &str, reason| ParametersError { text: text.to_owned(), word: word.to_owned(), reason };
        let mut words = text.split_whitespace();
        let kernel = words.next().unwrap_or_default();
        let shape = words.next().unwrap_or_default();
        let [rows, columns] = extent(Some(shape)).map_err(|reason| wrong(shape, reason))?;
        let mut parameters = match kernel {
            "tile" => Self::Tile(Tile::new(rows, columns)),
            "local" => Self::Local(Local::new(rows, columns)),
            "vector" => Self::Vector(Vector { outputs: rows, width: columns, group: 1, sub_groups: false }),
            _ => return Err(wrong(kernel, "not a kernel: want tile, local or vector")),
        };
        let mut seen = Vec::new();
        for word in words {
            let (name, value) =
                word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            if seen.contains(&name) {
                return Err(wrong(word, "given twice"));
            }
            seen.push(name);
            parameters.set(name, value).map_err(|reason| wrong(word, reason))?;
        }
        Ok(parameters)
    }
}

impl Parameters {
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), &'static str> {
        match self {
            Self::Tile(tile) => match name {
                "vector" => tile.vector = number(value)?,
                "unroll" => tile.unroll = number(value)?,
                "a" => tile.a = source(value)?,
                "b" => tile.b = source(value)?,
                "a-vector" => tile.a_vector = flag(value)?,
                "fma" => tile.fma = flag(value)?,
                "short-products" => tile.short_products = flag(value)?,
                "dot" => tile.dot = Some(dot(value)?),
                "rows-first" => tile.rows_first = flag(value)?,
                "rolled" => tile.rolled = flag(value)?,
                "group" => tile.group = Some(extent(value)?),
                "slices" => tile.slices = number(value)?,
                "parts" => tile.parts = number(value)?,
                _ => return Err("not a parameter of a tile"),
            },
            Self::Local(local) => match name {
                "depth" => local.depth = number(value)?,
                "group" => local.group = extent(value)?,
                "a" => local.a = source(value)?,
                "b" => local.b = source(value)?,
                "buffers" => local.buffers = number(value)?,
                "fma" => local.fma = flag(value)?,
                "parts" => local.parts = number(value)?,
                _ => return Err("not a parameter of a local block"),
            },
            Self::Vector(vector) => match name {
                "group" => vector.group = number(value)?,
                "sub-groups" => vector.sub_groups = flag(value)?,
                _ => return Err("not a parameter of a vector"),
            },
        }
        Ok(())
    }
}
