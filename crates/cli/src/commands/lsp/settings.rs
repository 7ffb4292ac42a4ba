//! What the server computes for: `tripipe.toml` beside the kernels or above them, and what the editor says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tripipe_device::document::{Document, Item, LineColumn, ReadError};
use tripipe_device::{Gpu, find};
use tripipe_launch_file::BuildOptions;

use crate::launch_input::DEFAULT_GPU;

/// The name of the file.
pub(super) const FILE: &str = "tripipe.toml";

/// The keys of the file, and of the editor's options.
const KEYS: [&str; 3] = ["gpu", "launches", "options"];

/// What kernels are priced for. A setting that nobody gives is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The GPU.
    pub(super) gpu: Option<&'static Gpu>,
    /// Launch files, whose kernels get a time.
    pub(super) launches: Vec<PathBuf>,
    /// Build options of programs without a launch file.
    pub(super) options: Option<BuildOptions>,
}

/// What is wrong with settings.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// Where, in the file.
    pub(super) location: LineColumn,
    /// What, and how to mend it.
    pub(super) message: String,
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self { location: error.location, message: error.reason.to_string() }
    }
}

impl Settings {
    /// Reads a file, whose paths are relative to `folder`.
    ///
    /// # Errors
    /// It is not TOML, has an unknown key or a value that is not possible.
    pub(super) fn parse(text: &str, folder: &Path) -> Result<Self, Fault> {
        let document = Document::parse(text, FILE)?;
        let table = document.root(FILE);
        table.check_keys(&KEYS)?;
        let mut settings = Self::default();
        for item in table.items() {
            match item.key() {
                "gpu" => settings.gpu = Some(checked(&item, find(item.string()?))?),
                "options" => {
                    settings.options =
                        Some(inside(checked(&item, BuildOptions::parse(item.string()?))?, folder));
                }
                _ => {
                    for path in item.list().ok_or_else(|| item.wrong_type("a list of launch files"))? {
                        settings.launches.push(folder.join(path.string()?));
                    }
                }
            }
        }
        Ok(settings)
    }

    /// Reads the options that an editor sends, which have the keys of the file. Others are ignored, as editors send
    /// what all servers know.
    ///
    /// # Errors
    /// A value is not possible; the message names it.
    pub(super) fn of_editor(options: &Value, folder: Option<&Path>) -> Result<Self, String> {
        let text = |key: &str| match options.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(format!("`{key}` is a text, not {other}")),
        };
        let gpu = text("gpu")?.map(|name| find(name).map_err(|error| error.to_string())).transpose()?;
        let folder = folder.unwrap_or(Path::new(""));
        let build = text("options")?.map(|text| BuildOptions::parse(text).map_err(|error| error.to_string()));
        let build = build.transpose()?.map(|options| inside(options, folder));
        let launches = match options.get("launches") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(all)) => all,
            Some(other) => return Err(format!("`launches` is a list of files, not {other}")),
        };
        let path = |launch: &Value| match launch.as_str() {
            Some(launch) => Ok(folder.join(launch)),
            None => Err(format!("`launches` is a list of files, and {launch} is none")),
        };
        let launches = launches.iter().map(path).collect::<Result<_, _>>()?;
        Ok(Self { gpu, launches, options: build })
    }

    /// These settings, and those of `other` where these have none.
    pub(super) fn or(self, other: &Self) -> Self {
        Self {
            gpu: self.gpu.or(other.gpu),
            launches: if self.launches.is_empty() { other.launches.clone() } else { self.launches },
            options: self.options.or_else(|| other.options.clone()),
        }
    }

    /// The GPU, or else the default of commands for one GPU.
    pub(super) fn gpu_or_default(&self) -> Option<&'static Gpu> {
        self.gpu.or_else(|| find(DEFAULT_GPU).ok())
    }

    /// The settings of the file that is next to a kernel or above it; empty if there is none.
    ///
    /// # Errors
    /// The file is wrong; its path, and what.
    pub(super) fn beside(kernel: &Path) -> Result<Self, (PathBuf, Fault)> {
        for folder in kernel.ancestors().skip(1) {
            let path = folder.join(FILE);
            if let Ok(text) = fs::read_to_string(&path) {
                return Self::parse(&text, folder).map_err(|fault| (path, fault));
            }
        }
        Ok(Self::default())
    }
}

/// Build options whose folders are relative to `folder`.
pub(super) fn inside(mut options: BuildOptions, folder: &Path) -> BuildOptions {
    for include in &mut options.includes {
        *include = folder.join(&*include).display().to_string();
    }
    options
}

/// A value that was read from a text.
fn checked<T>(item: &Item<'_>, value: Result<T, impl ToString>) -> Result<T, Fault> {
    value.map_err(|error| Fault { location: item.location(), message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_read_and_faults_are_located() {
        let text = "gpu = 'g77'\nlaunches = ['a.toml', 'sub/b.toml']\noptions = '-D N=4 -I sub'\n";
        let settings = Settings::parse(text, Path::new("/p")).unwrap();
        assert_eq!(settings.gpu.map(Gpu::name), Some("Mali-G77"));
        assert_eq!(settings.launches, ["/p/a.toml", "/p/sub/b.toml"].map(PathBuf::from));
        let options = settings.options.unwrap();
        assert_eq!(options.defines, [("N".to_owned(), "4".to_owned())]);
        assert_eq!(options.includes, ["/p/sub"]);
        for (wrong, line, words) in [
            ("gpu = 'mali-g999'", 1, "mali-g999"),
            ("\ngpus = 'g77'", 2, "gpu"),
            ("gpu = 1", 1, "gpu"),
            ("gpu = ", 1, "TOML"),
            ("launches = 'a.toml'", 1, "list"),
            ("options = '-D'", 1, "-D"),
        ] {
            let fault = Settings::parse(wrong, Path::new("")).unwrap_err();
            assert_eq!(fault.location.line, line, "{wrong}");
            assert!(fault.message.contains(words), "{wrong}: {}", fault.message);
        }
    }

    #[test]
    fn the_file_precedes_the_editor() {
        let editor = json!({ "gpu": "adreno-650", "launches": ["x.toml"], "other": 1 });
        let editor = Settings::of_editor(&editor, Some(Path::new("/p"))).unwrap();
        let both = Settings::parse("gpu = 'mali-t604'", Path::new("/q")).unwrap().or(&editor);
        assert_eq!(both.gpu.map(Gpu::name), Some("Mali-T604"));
        assert_eq!(both.launches, [PathBuf::from("/p/x.toml")]);
        for wrong in [
            json!({ "gpu": 1 }),
            json!({ "gpu": "none" }),
            json!({ "launches": 1 }),
            json!({ "launches": [1] }),
        ] {
            assert!(Settings::of_editor(&wrong, None).is_err(), "{wrong}");
        }
        for fine in [json!(null), json!([]), json!({ "gpu": null })] {
            assert!(Settings::of_editor(&fine, None).is_ok(), "{fine}");
        }
    }
}
