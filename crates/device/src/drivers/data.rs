//! Reads `data/drivers`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{DriverVersion, Injection, Maker, Pattern, Quirk, QuirkKind, QuirkVersions};
use crate::document::built_in;
use crate::sourced::Basis;

/// Every file of `data/drivers/`, by its name without ending.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/drivers.rs"));

static QUIRKS: LazyLock<Vec<Quirk>> =
    LazyLock::new(|| FILES.iter().flat_map(|(name, text)| built_in(name, read(name, text))).collect());

pub(super) fn all() -> &'static [Quirk] {
    &QUIRKS
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuirkFile {
    entry: Vec<QuirkEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuirkEntry {
    id: String,
    kind: String,
    since: Option<String>,
    before: Option<String>,
    #[serde(default)]
    seen: Vec<String>,
    versions: Option<String>,
    #[serde(default)]
    gpus: Vec<String>,
    trigger: String,
    #[serde(default)]
    pattern: Vec<Part>,
    effect: String,
    workaround: String,
    thread: String,
    basis: String,
    inject: Option<String>,
}

/// A part of a pattern: one of its keys, and with `function` those that narrow it down.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Part {
    function: Option<Vec<String>>,
    of: Option<String>,
    vector: Option<bool>,
    r#type: Option<String>,
    kernel: Option<Vec<String>>,
    kernels: Option<usize>,
    instructions: Option<usize>,
    arithmetic: Option<String>,
    image: Option<String>,
    access: Option<String>,
    attribute: Option<String>,
    pointer: Option<String>,
    narrowed: Option<u32>,
    constant_bytes: Option<u64>,
    option: Option<String>,
}

const NUMBERS: [&str; 7] = ["half", "float", "double", "char", "short", "int", "long"];
const IMAGES: [&str; 6] = ["1d", "1d-array", "1d-buffer", "2d", "2d-array", "3d"];

/// The quirks of a file; the error says what is wrong with it.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Quirk>, String> {
    let maker = word(&Maker::WORDS, name).ok_or_else(|| format!("no maker of drivers is called {name}"))?;
    let data: QuirkFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let read = |entry: QuirkEntry| {
        let id = entry.id.clone();
        entry.quirk(maker).map_err(|wrong| format!("{id}: {wrong}"))
    };
    data.entry.into_iter().map(read).collect()
}

fn word<T: Copy>(words: &[(&str, T)], word: &str) -> Option<T> {
    words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
}

impl QuirkEntry {
    fn quirk(self, maker: Maker) -> Result<Quirk, String> {
        let kind = match self.kind.as_str() {
            "defect" => QuirkKind::Defect,
            "habit" => QuirkKind::Habit,
            other => return Err(format!("kind `{other}` is neither defect nor habit")),
        };
        let version = |text: &String| {
            // A branch of Imagination's has no sign here.
            let whole = if maker == Maker::PowerVr { format!("PowerVR {text}") } else { text.clone() };
            let read = DriverVersion::read(&whole).filter(|version| version.scheme.maker() == maker);
            read.ok_or_else(|| format!("`{text}` is not a version of a driver of {}", maker.word()))
        };
        let versions = QuirkVersions {
            since: self.since.as_ref().map(version).transpose()?,
            before: self.before.as_ref().map(version).transpose()?,
            seen: self.seen.iter().map(version).collect::<Result<_, _>>()?,
        };
        let is_known = versions != QuirkVersions::default();
        match self.versions.as_deref() {
            None if is_known => {}
            Some("unknown") if !is_known => {}
            _ => return Err("want since, before or seen, or versions = \"unknown\"".to_owned()),
        }
        for (key, text) in
            [("trigger", &self.trigger), ("effect", &self.effect), ("workaround", &self.workaround)]
        {
            if text.is_empty() || text.ends_with('.') {
                return Err(format!("{key} is empty, or ends with a full stop"));
            }
        }
        if !self.thread.starts_with("https://") {
            return Err(format!("thread `{}` is no link", self.thread));
        }
        let basis: Basis = self.basis.parse().map_err(|()| format!("`{}` is not a basis", self.basis))?;
        let injection = |text: &String| {
            word(&Injection::WORDS, text).ok_or_else(|| format!("inject `{text}` is not known"))
        };
        Ok(Quirk {
            injection: self.inject.as_ref().map(injection).transpose()?,
            pattern: self.pattern.into_iter().map(Part::pattern).collect::<Result<_, _>>()?,
            id: self.id,
            maker,
            kind,
            versions,
            gpus: self.gpus,
            trigger: self.trigger,
            effect: self.effect,
            workaround: self.workaround,
            thread: self.thread,
            basis,
        })
    }
}

impl Part {
    fn pattern(self) -> Result<Pattern, String> {
        let known = |what: &str, words: &[&str], found: String| {
            let wrong = format!("{what} `{found}` is none of {}", words.join(", "));
            if words.contains(&found.as_str()) { Ok(found) } else { Err(wrong) }
        };
        Ok(match self {
            Self { function: Some(names), of, vector, r#type, .. } => Pattern::Function {
                names,
                of,
                vector: vector.unwrap_or(false),
                number: r#type.map(|found| known("type", &NUMBERS, found)).transpose()?,
            },
            Self { kernel: Some(names), .. } => Pattern::Kernel(names),
            Self { kernels: Some(count), instructions, .. } => {
                Pattern::Kernels { count, instructions: instructions.unwrap_or(0) }
            }
            Self { arithmetic: Some(number), .. } => {
                Pattern::Arithmetic(known("arithmetic", &NUMBERS, number)?)
            }
            Self { image: Some(kind), access: Some(access), .. } => {
                let access = known("access", &["read", "write"], access)?;
                Pattern::Image { kind: known("image", &IMAGES, kind)?, is_written: access == "write" }
            }
            Self { attribute: Some(name), .. } => Pattern::Attribute(known(
                "attribute",
                &["reqd_work_group_size", "qcom_reqd_sub_group_size"],
                name,
            )?),
            Self { pointer: Some(what), .. } => {
                match known("pointer", &["integer", "compare"], what)?.as_str() {
                    "integer" => Pattern::PointerAsInteger,
                    _ => Pattern::PointerComparison,
                }
            }
            Self { narrowed: Some(bits), .. } => Pattern::Narrowed(bits),
            Self { constant_bytes: Some(bytes), .. } => Pattern::ConstantBytes(bytes),
            Self { option: Some(option), .. } => Pattern::BuildOption(option),
            _ => return Err("a part of the pattern has no key that says what it is".to_owned()),
        })
    }
}
