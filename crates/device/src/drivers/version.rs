//! Versions of OpenCL drivers, as the drivers report them.

use std::cmp::Ordering;
use std::fmt;

/// The maker of an OpenCL driver; `data/drivers` has a file for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maker {
    /// Qualcomm, for Adreno.
    Adreno,
    /// Arm, for Mali.
    Mali,
    /// Imagination, for `PowerVR`.
    PowerVr,
    /// OpenCL over Vulkan: clspv with ANGLE or clvk.
    Clspv,
    /// PoCL, for processors.
    Pocl,
    /// Mesa's Rusticl.
    Mesa,
}

impl Maker {
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("adreno", Self::Adreno),
        ("mali", Self::Mali),
        ("powervr", Self::PowerVr),
        ("clspv", Self::Clspv),
        ("pocl", Self::Pocl),
        ("mesa", Self::Mesa),
    ];

    /// The word that the data files use, such as `adreno`.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, known)| *known == self).map_or("", |(word, _)| word)
    }
}

/// A way of counting versions. Versions of different schemes cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Qualcomm's compiler on phones: `E031.38.11.14`.
    E031,
    /// Its successor: `E17.51`.
    E17,
    /// Qualcomm's compiler on Windows: `DX.17.75.00`.
    Dx,
    /// Qualcomm's build of the whole driver: `V@0615.77`, or `build: 0837.0.6`.
    AdrenoBuild,
    /// Arm's release: `r38p1`.
    MaliRelease,
    /// Arm's release for chips of some makers: `g13p0`.
    MaliGroup,
    /// Imagination's branch: `24.2@6603887`.
    PowerVrBranch,
    /// clspv, ANGLE or clvk.
    Clspv,
    /// `PoCL 7.1`.
    Pocl,
    /// `Mesa 25.0.7`.
    Mesa,
}

impl Scheme {
    /// Whose driver it is.
    pub fn maker(self) -> Maker {
        match self {
            Self::E031 | Self::E17 | Self::Dx | Self::AdrenoBuild => Maker::Adreno,
            Self::MaliRelease | Self::MaliGroup => Maker::Mali,
            Self::PowerVrBranch => Maker::PowerVr,
            Self::Clspv => Maker::Clspv,
            Self::Pocl => Maker::Pocl,
            Self::Mesa => Maker::Mesa,
        }
    }
}

/// The version of a driver, or just whose driver it is if there are no numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverVersion {
    /// How it is counted.
    pub scheme: Scheme,
    /// Its numbers, the most significant first.
    pub numbers: Vec<u32>,
}

/// What a version begins with in a text, and its scheme.
const MARKS: [(&str, Scheme); 5] = [
    ("E031.", Scheme::E031),
    ("E17.", Scheme::E17),
    ("DX.", Scheme::Dx),
    ("V@", Scheme::AdrenoBuild),
    ("QUALCOMM build: ", Scheme::AdrenoBuild),
];

/// Names of drivers, in lower case, which versions follow.
const NAMES: [(&str, Scheme); 8] = [
    ("pocl", Scheme::Pocl),
    ("portable computing language", Scheme::Pocl),
    ("mesa", Scheme::Mesa),
    ("rusticl", Scheme::Mesa),
    ("clspv", Scheme::Clspv),
    ("angle", Scheme::Clspv),
    ("clvk", Scheme::Clspv),
    ("powervr", Scheme::PowerVrBranch),
];

impl DriverVersion {
    /// The version in a text: itself, or a whole `CL_DRIVER_VERSION` or `CL_DEVICE_VERSION`. `None` if there is none that
    /// is known.
    pub fn read(text: &str) -> Option<Self> {
        let marked = MARKS.iter().find_map(|(mark, scheme)| {
            starts(text, mark).find_map(|rest| Some(Self { scheme: *scheme, numbers: numbers(rest, '.')? }))
        });
        marked.or_else(|| branch(text)).or_else(|| release(text)).or_else(|| named(text))
    }

    /// Whether it is of a series: `E031.38.11.14` is of `E031.38`.
    pub fn is_of(&self, series: &Self) -> bool {
        self.scheme == series.scheme && self.numbers.starts_with(&series.numbers)
    }
}

impl PartialOrd for DriverVersion {
    /// `None` for versions of different schemes. A series comes before its members: `E031.38` before `E031.38.11`.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.scheme == other.scheme).then(|| self.numbers.cmp(&other.numbers))
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |separator: &str, width: usize| {
            let shown: Vec<String> = self.numbers.iter().map(|number| format!("{number:0width$}")).collect();
            shown.join(separator)
        };
        match self.scheme {
            Scheme::E031 => write!(f, "E031.{}", joined(".", 2)),
            Scheme::E17 => write!(f, "E17.{}", joined(".", 2)),
            Scheme::Dx => write!(f, "DX.{}", joined(".", 2)),
            Scheme::AdrenoBuild => write!(f, "V@{}", joined(".", 1)),
            Scheme::MaliRelease => write!(f, "r{}", joined("p", 1)),
            Scheme::MaliGroup => write!(f, "g{}", joined("p", 1)),
            Scheme::PowerVrBranch => write!(f, "{}", format!("PowerVR {}", joined(".", 1)).trim_end()),
            Scheme::Clspv => write!(f, "{}", format!("clspv {}", joined(".", 1)).trim_end()),
            Scheme::Pocl => write!(f, "{}", format!("PoCL {}", joined(".", 1)).trim_end()),
            Scheme::Mesa => write!(f, "{}", format!("Mesa {}", joined(".", 1)).trim_end()),
        }
    }
}

/// What follows `mark` in a text, where it begins a word.
fn starts<'t>(text: &'t str, mark: &'t str) -> impl Iterator<Item = &'t str> {
    let is_word = |at: usize| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|before| before.is_ascii_alphanumeric())
    };
    text.match_indices(mark).filter(move |(at, _)| is_word(*at)).map(|(at, mark)| &text[at + mark.len()..])
}

/// The numbers at the start of a text: as many as `separator` separates. `None` if it starts with no digit.
fn numbers(text: &str, separator: char) -> Option<Vec<u32>> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != separator).unwrap_or(text.len());
    let mut numbers = text[..end].split(separator).map(str::parse);
    let first = numbers.next()?.ok()?;
    Some([first].into_iter().chain(numbers.map_while(Result::ok)).collect())
}

/// Imagination's `24.2@6603887`; the number behind the sign is that of a change and does not count.
fn branch(text: &str) -> Option<DriverVersion> {
    let mut words = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '@');
    let branch = words.find_map(|word| word.split_once('@').map(|(branch, _)| branch))?;
    Some(DriverVersion { scheme: Scheme::PowerVrBranch, numbers: numbers(branch, '.')? })
}

/// Arm's `r38p1` or `g13p0`. In a text with the name of a device, only behind `v1.`: the `r0p0` of a name is that of the
/// hardware.
fn release(text: &str) -> Option<DriverVersion> {
    let letters = [('r', Scheme::MaliRelease), ('g', Scheme::MaliGroup)];
    let has_device = ["Mali-", "Immortalis-"].iter().any(|name| text.contains(name));
    let marks = if has_device { &["v1."][..] } else { &["v1.", ""][..] };
    marks.iter().find_map(|mark| {
        letters.iter().find_map(|(letter, scheme)| {
            let mark = format!("{mark}{letter}");
            let found: Vec<&str> = starts(text, &mark).collect();
            let numbers = found.into_iter().find_map(|rest| numbers(rest, 'p'))?;
            // One number alone is a release, and `g1` may be anything.
            (*letter == 'r' || numbers.len() > 1).then_some(DriverVersion { scheme: *scheme, numbers })
        })
    })
}

/// A driver by its name, with the version behind it if there is one.
fn named(text: &str) -> Option<DriverVersion> {
    let lower = text.to_lowercase();
    NAMES.iter().find_map(|(name, scheme)| {
        let rests: Vec<&str> = starts(&lower, name).collect();
        let rest = rests.into_iter().find(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))?;
        let numbers = numbers(rest.trim_start(), '.').unwrap_or_default();
        Some(DriverVersion { scheme: *scheme, numbers })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings that `clinfo` printed on devices, and what they say by their drivers' own way of counting.
    #[test]
    fn versions_are_read_as_drivers_report_them() {
        for (text, shown) in [
            ("E031.47", "E031.47"),
            (
                "OpenCL 3.0 QUALCOMM build: commit #c1fe339905 changeid #Id5fe42143e Date: 01/23/25  Compiler \
                 E031.38.11.14 Branch: AU_LINUX_ANDROID_LA.VENDOR.1.0.R1.11.00.00.816.269",
                "E031.38.11.14",
            ),
            (
                "OpenCL 2.0 QUALCOMM build: commit #272cf717f5 Date: 10/05/21 Compiler E031.38.01.08",
                "E031.38.01.08",
            ),
            ("OpenCL 3.0 QUALCOMM build: 0837.0.6", "V@837.0.6"),
            ("OpenGL ES 3.2 V@0615.77 (GIT@2ed5b8e)", "V@615.77"),
            ("Compiler E17.51", "E17.51"),
            ("OpenCL 3.0 QUALCOMM driver DX.17.75.00", "DX.17.75.00"),
            ("OpenCL 1.2 v1.r14p0-01rel0-git(966ed26).f44c85cb3d2ceb87e8be88e7592755c3", "r14p0"),
            ("Mali-LODX r0p0 OpenCL 3.0 v1.g6p0-01eac0.2819f9d4dbe0b5a2f89c835d8484f9cd", "g6p0"),
            ("r38p1", "r38p1"),
            ("r38", "r38"),
            ("24.2@6603887", "PowerVR 24.2"),
            ("OpenCL 3.0 PoCL 7.1  Linux, Release, RELOC, SPIR-V, LLVM 20.1.2", "PoCL 7.1"),
            ("OpenCL 1.2 pocl HSTR: pthread-aarch64-unknown-linux-gnu-cortex-a53", "PoCL"),
            ("rusticl 25.0.7", "Mesa 25.0.7"),
            ("ANGLE 25.2.13", "clspv 25.2.13"),
            ("clspv", "clspv"),
        ] {
            assert_eq!(
                DriverVersion::read(text).map(|version| version.to_string()).as_deref(),
                Some(shown),
                "{text}"
            );
        }
        for text in [
            "",
            "E031",
            "47",
            "Mali-G610 MC6 r0p0",
            "OpenCL 2.0 Adreno(TM) 540",
            "gpu",
            "triangle 3.0",
            "E031.x",
        ] {
            assert_eq!(DriverVersion::read(text), None, "{text}");
        }
    }

    #[test]
    fn versions_compare_by_their_numbers_and_within_their_scheme() {
        let of = |text: &str| DriverVersion::read(text).unwrap();
        for (less, more) in [
            ("E031.38.11.30", "E031.47"),
            ("E031.38.01.08", "E031.38.11"),
            ("E031.38", "E031.38.11"),
            ("r9p0", "r38p1"),
            ("r38p0", "r38p1"),
            ("1.15@6133110", "24.2@6603887"),
        ] {
            assert!(of(less) < of(more) && of(more) >= of(less), "{less} {more}");
        }
        for (one, other) in [("r38p1", "g13p0"), ("E031.47", "E17.51"), ("E031.47", "V@0615")] {
            assert_eq!(of(one).partial_cmp(&of(other)), None, "{one} {other}");
        }
        assert!(of("E031.38.11.14").is_of(&of("E031.38")) && !of("E031.47").is_of(&of("E031.4")));
    }
}
