//! Known defects and habits of real OpenCL drivers (`data/drivers`), and the versions of drivers.

mod data;
mod version;

use thiserror::Error;

pub use version::{DriverVersion, Maker, Scheme};

use crate::gpu::Gpu;
use crate::identify::identify;
use crate::nearest::nearest;
use crate::probe::Probe;
use crate::product::GpuProduct;
use crate::sourced::Basis;

/// Whether what a driver does is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuirkKind {
    /// It is: a wrong result, a crash, a refusal of what it should accept.
    Defect,
    /// It is allowed, and worth knowing.
    Habit,
}

impl QuirkKind {
    /// `defect` or `habit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Defect => "defect",
            Self::Habit => "habit",
        }
    }
}

/// Something that some versions of a driver do.
#[derive(Clone, Debug, PartialEq)]
pub struct Quirk {
    /// Its name, which is unique and never changes.
    pub id: String,
    /// Whose driver.
    pub maker: Maker,
    /// Whether it is wrong.
    pub kind: QuirkKind,
    /// Which versions.
    pub versions: QuirkVersions,
    /// Which GPUs: names, generations, families; empty for all.
    pub gpus: Vec<String>,
    /// What makes it happen, in words.
    pub trigger: String,
    /// What a kernel must have for it to happen, all of it; empty if a kernel does not show it.
    pub pattern: Vec<Pattern>,
    /// What happens.
    pub effect: String,
    /// What to do instead.
    pub workaround: String,
    /// Where somebody describes it: a link.
    pub thread: String,
    /// How it is known.
    pub basis: Basis,
    /// What a virtual driver can do in its place.
    pub injection: Option<Injection>,
}

/// The versions of a driver with a quirk. Without any, they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuirkVersions {
    /// The first version.
    pub since: Option<DriverVersion>,
    /// The first version without it.
    pub before: Option<DriverVersion>,
    /// Series in which it was seen, if no range is known.
    pub seen: Vec<DriverVersion>,
}

/// What a virtual driver does where the pattern of a quirk is; with a pattern of the whole kernel, to all that the kernel
/// stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// A bit of a result is wrong: the lowest of an integer, the highest of a float's fraction.
    FlippedBit,
    /// Results are zero.
    Zero,
    /// A fused product and sum is rounded twice.
    RoundedTwice,
    /// Programs do not build.
    BuildFails,
    /// Launches fail with `CL_OUT_OF_RESOURCES`.
    LaunchFails,
}

impl Injection {
    pub(crate) const WORDS: [(&'static str, Self); 5] = [
        ("flipped-bit", Self::FlippedBit),
        ("zero", Self::Zero),
        ("rounded-twice", Self::RoundedTwice),
        ("build-fails", Self::BuildFails),
        ("launch-fails", Self::LaunchFails),
    ];

    /// Whether results are wrong, and no call reports it.
    pub fn is_silent(self) -> bool {
        matches!(self, Self::FlippedBit | Self::Zero | Self::RoundedTwice)
    }
}

/// Something that a program or kernel has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A call of one of these functions of OpenCL C; `*` stands for the rest of a name. Functions of which a type is part
    /// of the name, such as `convert_int4`, are not among them.
    Function {
        /// Their names.
        names: Vec<String>,
        /// A function whose result is an operand.
        of: Option<String>,
        /// Whether the result has to be a vector.
        vector: bool,
        /// The type of its numbers: `half`, `float`, `double`, `char`, `short`, `int` or `long`.
        number: Option<String>,
    },
    /// A kernel with one of these names; `*` at the start or the end stands for the rest.
    Kernel(Vec<String>),
    /// This many kernels in a program, or more, which have this many instructions together, or more.
    Kernels {
        /// Their number.
        count: usize,
        /// Their instructions, as SPIR-V has them after inlining.
        instructions: usize,
    },
    /// An operation on numbers of a type, as in `Function`.
    Arithmetic(String),
    /// An access of an image: `1d`, `1d-array`, `1d-buffer`, `2d`, `2d-array` or `3d`.
    Image {
        /// The kind of image.
        kind: String,
        /// Whether it is written; otherwise it is read.
        is_written: bool,
    },
    /// `reqd_work_group_size` or `qcom_reqd_sub_group_size`.
    Attribute(String),
    /// A pointer that is converted from or to an integer.
    PointerAsInteger,
    /// Pointers that are compared.
    PointerComparison,
    /// Integers that are narrowed to this many bits, and widened again to become a part of a wider one.
    Narrowed(u32),
    /// More than this many bytes in `__constant` variables of the program.
    ConstantBytes(u64),
    /// A build option.
    BuildOption(String),
}

/// A driver that a program is to run on.
#[derive(Clone, Debug, PartialEq)]
pub struct Driver {
    /// Its version.
    pub version: DriverVersion,
    /// The names by which quirks mean its GPU; empty if that is not known.
    pub gpu: Vec<String>,
}

/// A text without a version of a driver that is known.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{text}` is not a version of an OpenCL driver; want one such as E031.47 (Adreno), r38p1 (Mali), 24.2@6603887 (PowerVR), \
     PoCL 7.1, Mesa 25.0 or clspv, or all of what clinfo prints as its Driver Version or Device Version"
)]
pub struct UnreadableDriver {
    /// The text.
    pub text: String,
}

/// Whether a driver has a quirk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It has.
    Yes,
    /// It may have: nobody says which versions have it.
    Perhaps,
    /// Its version is counted in another way than that of the quirk.
    OtherScheme,
    /// It has not.
    No,
}

impl Driver {
    /// The driver of a text: a version, or whole strings that a driver reports. Its GPU is the given one, else the one that
    /// the text names, if it does.
    ///
    /// # Errors
    /// The text has no version that is known.
    pub fn read(text: &str, gpu: Option<&Gpu>) -> Result<Self, UnreadableDriver> {
        let unreadable = || UnreadableDriver { text: text.to_owned() };
        let version = DriverVersion::read(text).ok_or_else(unreadable)?;
        let gpu = match gpu {
            Some(gpu) => names_of(gpu).to_vec(),
            None => named_gpu(text),
        };
        Ok(Self { version, gpu })
    }

    /// The driver of a live device.
    ///
    /// # Errors
    /// It reports no version that is known.
    pub fn of_device(probe: &Probe) -> Result<Self, UnreadableDriver> {
        let Probe { platform, name, version, driver, .. } = probe;
        // Rusticl and PoCL are named by the platform, and their version is the driver's.
        Self::read(&format!("{name} {version} {platform} {driver}"), None)
    }
}

fn names_of(gpu: &Gpu) -> [String; 3] {
    [gpu.name().to_owned(), gpu.identity.generation.clone(), gpu.family().id().to_owned()]
}

/// The names of a GPU that is named in a text: its own, and those of its family.
fn named_gpu(text: &str) -> Vec<String> {
    let found = identify(&Probe { name: text.to_owned(), version: text.to_owned(), ..Probe::default() });
    let Some(product) = found.product else { return Vec::new() };
    let mut names = vec![product.to_string()];
    if let GpuProduct::Adreno { number, .. } = &product {
        // Older families have no models.
        names.push(format!("adreno{}xx", number / 100));
    }
    names.extend(found.family.map(|family| family.id().to_owned()));
    let is_own = |gpu: &&'static Gpu| gpu.name() == product.to_string();
    names.extend(found.model.filter(is_own).into_iter().flat_map(names_of));
    names
}

impl Quirk {
    /// Whether a driver has it.
    pub fn fits(&self, driver: &Driver) -> Fit {
        let version = &driver.version;
        let other_gpu = !self.gpus.is_empty()
            && !driver.gpu.is_empty()
            && !self.gpus.iter().any(|gpu| driver.gpu.contains(gpu));
        if version.scheme.maker() != self.maker || other_gpu {
            return Fit::No;
        }
        let QuirkVersions { since, before, seen } = &self.versions;
        let Some(known) = since.iter().chain(before).chain(seen).next() else { return Fit::Perhaps };
        if known.scheme != version.scheme {
            return Fit::OtherScheme;
        }
        if version.numbers.is_empty() {
            return Fit::Perhaps;
        }
        let begun = since.as_ref().is_none_or(|since| version >= since || since.is_of(version));
        let ended = before.as_ref().is_some_and(|before| version >= before);
        let in_series =
            seen.is_empty() || seen.iter().any(|series| version.is_of(series) || series.is_of(version));
        if begun && !ended && in_series { Fit::Yes } else { Fit::No }
    }

    /// Its versions in words: `before E031.38.11`, `seen with E031.47`, `versions not known`.
    pub fn versions_text(&self) -> String {
        let QuirkVersions { since, before, seen } = &self.versions;
        let seen: Vec<String> = seen.iter().map(ToString::to_string).collect();
        match (since, before, &seen[..]) {
            (Some(since), Some(before), _) => format!("from {since} to before {before}"),
            (Some(since), None, _) => format!("from {since} on"),
            (None, Some(before), _) => format!("before {before}"),
            (None, None, []) => "versions not known".to_owned(),
            (None, None, seen) => format!("seen with {}", seen.join(" and ")),
        }
    }
}

/// All known quirks, by maker.
pub fn quirks() -> &'static [Quirk] {
    data::all()
}

/// A name that is no quirk's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no defect of a driver is called `{id}`{}", .nearest.as_ref().map_or_else(String::new, question))]
pub struct UnknownQuirk {
    /// The name.
    pub id: String,
    /// A name that is similar.
    pub nearest: Option<String>,
}

fn question(near: &String) -> String {
    format!("; did you mean `{near}`?")
}

/// The quirk of a name.
///
/// # Errors
/// There is none.
pub fn find_quirk(id: &str) -> Result<&'static Quirk, UnknownQuirk> {
    let near = || nearest(id, quirks().iter().map(|quirk| quirk.id.as_str())).map(str::to_owned);
    let found = quirks().iter().find(|quirk| quirk.id == id);
    found.ok_or_else(|| UnknownQuirk { id: id.to_owned(), nearest: near() })
}

#[cfg(test)]
mod tests;
