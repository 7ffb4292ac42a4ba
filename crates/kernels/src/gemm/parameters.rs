//! How a product is computed: which kernel, which tile, from which memory. One line of text says it all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A kernel of `gemm.cl` with what it is built and launched with.
///
/// A and B, rows and columns are those of the product as kernels see it, with the rows of C contiguous: where C is
/// column-major they compute the transpose, B^T A^T, and the two change places ([`super::Gemm::is_transposed`]).
///
/// As text, in TOML too, it is one line: the kernel, its tile, then what differs from the least, as
/// `tile 4x8 unroll=4 b=image group=16x8`.
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
    /// `gemm_tile`: a tile a work-item.
    Tile(Tile),
    /// `gemm_local`: a block a work-group, by way of local memory.
    Local(Local),
    /// `gemm_vector`: a row of C that is a vector times B, B contiguous along K.
    Vector(Vector),
}

/// What `gemm_tile` is built with: `tile ROWSxCOLUMNS`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent of each other, each a word of the text")]
pub struct Tile {
    /// Rows of C a work-item computes, 1 to 16.
    pub rows: usize,
    /// Columns of C a work-item computes: up to 4 vectors.
    pub columns: usize,
    /// `vector=`: elements of a vector of columns: 2, 4 (when nothing is said), 8 or 16.
    pub vector: usize,
    /// `unroll=`: steps along K a turn of the loop: 1, 2, 4 or 8.
    pub unroll: usize,
    /// `a=`: where A is read from.
    pub a: Source,
    /// `b=`: where B is read from.
    pub b: Source,
    /// `a-vector`: whether the rows of a packed A are loaded as one vector, 2, 4, 8 or 16 of them; else one by one, which
    /// CPUs broadcast from memory.
    pub a_vector: bool,
    /// `fma`: whether the kernel insists on `fma()`.
    pub fma: bool,
    /// `short-products`: whether bytes are multiplied in 16 bits, which their products fit, and widened to be summed. 5 to 13 % faster on a
    /// CPU with AVX-512 (PoCL 3.1); by `tripipe analyze` 1.3 to 1.6 times fewer cycles of arithmetic on Valhall and Adreno 6xx, but a
    /// tenth more on Midgard and Bifrost.
    pub short_products: bool,
    /// `dot=`: dot products of four bytes.
    pub dot: Option<Dot>,
    /// `rows-first`: whether neighbouring work-items lie one below the other.
    pub rows_first: bool,
    /// `rolled`: whether the epilogue is there once, in a loop over sums in memory. For CPUs.
    pub rolled: bool,
    /// `group=`: work-items of a work-group in the first and second dimension; else the driver chooses.
    pub group: Option<[usize; 2]>,
    /// `parts=`: into how many parts K is cut, which a second pass adds up in order.
    pub parts: usize,
}

/// What `gemm_local` is built with: `local ROWSxCOLUMNS`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Rows of C a work-item computes: 4, 8, 12 or 16, in quads that are a part of the block apart.
    pub rows: usize,
    /// Columns of C a work-item computes, like `rows`.
    pub columns: usize,
    /// `depth=`: steps along K that a block in local memory holds: 4, 8, 16 or 32.
    pub depth: usize,
    /// `group=`: work-items of a work-group along the columns and the rows of C.
    pub group: [usize; 2],
    /// `a=`: where A is read from: direct or packed, in one panel.
    pub a: Source,
    /// `b=`: where B is read from, likewise.
    pub b: Source,
    /// `buffers=`: 2 loads a block while another is computed with, at twice the local memory; else 1.
    pub buffers: usize,
    /// `fma`: whether the kernel insists on `fma()`.
    pub fma: bool,
    /// `parts=`: into how many parts K is cut.
    pub parts: usize,
}

/// What `gemm_vector` is built with: `vector OUTPUTSxWIDTH`, then the fields by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    /// Elements of C a work-group computes side by side: 2, 4 or 8.
    pub outputs: usize,
    /// Steps along K a work-item takes at once: 2, 4, 8 or 16.
    pub width: usize,
    /// `group=`: work-items that share the elements' sums, a power of two.
    pub group: usize,
    /// `sub-groups`: whether they add up by `sub_group_reduce_add` first, and only sub-groups by local memory.
    pub sub_groups: bool,
}

/// Where a kernel reads an operand from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// `direct`: as it lies. Any layout will do.
    Direct,
    /// `packed/PANEL`: a copy in panels of so many tiles, `packed` for all tiles in one (0).
    Packed {
        /// Tiles of a panel; 0 for all of them.
        panel: usize,
    },
    /// `image`: a copy in an image, or in a buffer that an image lies over, where the device can do that.
    Image,
}

/// Whose dot products of four bytes, added to a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dot {
    /// `khr`: `cl_khr_integer_dot_product`.
    Khr,
    /// `arm`: `cl_arm_integer_dot_product_accumulate_int8`.
    Arm,
}

impl Tile {
    /// A tile from buffers as they lie: 4 elements a vector, one step a turn, the driver's work-group, K whole.
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
            parts: 1,
        }
    }
}

impl Local {
    /// A block of operands as they lie: 8 steps along K, 16x16 work-items, one buffer, K whole.
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

/// What is wrong with the text of parameters.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("parameters `{text}`: `{word}` is {reason}")]
#[non_exhaustive]
pub struct ParametersError {
    /// All of the text.
    pub text: String,
    /// The word at fault.
    pub word: String,
    /// What is wrong with it.
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

/// A number, an extent, a source or a choice; what was wanted when it is none.
fn number(value: Option<&str>) -> Result<usize, &'static str> {
    value.and_then(|value| value.parse().ok()).ok_or("no number")
}

fn extent(value: Option<&str>) -> Result<[usize; 2], &'static str> {
    let both = value.and_then(|value| value.split_once('x'));
    let both = both.and_then(|(x, y)| Some([x.parse().ok()?, y.parse().ok()?]));
    both.ok_or("no pair of numbers like 16x8")
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
                .map_err(|_| "no source: want direct, packed, packed/PANEL or image")
        }
    }
}

fn dot(value: Option<&str>) -> Result<Dot, &'static str> {
    match value {
        Some("khr") => Ok(Dot::Khr),
        Some("arm") => Ok(Dot::Arm),
        _ => Err("no kind of dot product: want khr or arm"),
    }
}

fn flag(value: Option<&str>) -> Result<bool, &'static str> {
    if value.is_none() { Ok(true) } else { Err("a flag, which takes no value") }
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
            _ => return Err(wrong(kernel, "no kernel: want tile, local or vector")),
        };
        let mut seen = Vec::new();
        for word in words {
            let (name, value) =
                word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
            if seen.contains(&name) {
                return Err(wrong(word, "said twice"));
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
                "parts" => tile.parts = number(value)?,
                _ => return Err("no parameter of a tile"),
            },
            Self::Local(local) => match name {
                "depth" => local.depth = number(value)?,
                "group" => local.group = extent(value)?,
                "a" => local.a = source(value)?,
                "b" => local.b = source(value)?,
                "buffers" => local.buffers = number(value)?,
                "fma" => local.fma = flag(value)?,
                "parts" => local.parts = number(value)?,
                _ => return Err("no parameter of a local block"),
            },
            Self::Vector(vector) => match name {
                "group" => vector.group = number(value)?,
                "sub-groups" => vector.sub_groups = flag(value)?,
                _ => return Err("no parameter of a vector"),
            },
        }
        Ok(())
    }
}
