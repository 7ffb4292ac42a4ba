//! What a text includes, recorded so that the compiler need not run again.
//!
//! Preprocessing a text gives the same result again while the files it included are unchanged, and no file has
//! appeared where one of them was searched for earlier. Both are recorded: the files with their hashes, and every
//! location without a file where a search could have ended. This is complete only for texts that query nothing else.
//! Nothing is recorded for texts that query the time or the existence of files, or are built with an option that is
//! unknown here. (The names of these queries are searched for in the text; a name composed with `##` is not detected.)
//! A text without includes and such queries is its own record: the preprocessor does not run for it.
//! Nothing is recorded either if a file is so new that it may have changed after it was read.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::records::{digest, join, split};

/// What preprocessing may query besides the text and its includes; `embed` reads files.
const QUESTIONS: [&str; 5] = ["__DATE__", "__TIME__", "__TIMESTAMP__", "__has_include", "embed"];

/// A file that is older than this did not change after the build began, whatever the resolution of the file system's
/// clock.
const SETTLED: Duration = Duration::from_secs(2);

/// What a text includes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Includes {
    /// SHA-256 of the preprocessed text.
    pub(super) preprocessed: [u8; 32],
    /// The included files, with their SHA-256.
    files: Vec<(PathBuf, [u8; 32])>,
    /// Locations without a file.
    vacant: Vec<PathBuf>,
}

/// The parts of a preprocessor run that decide what is included.
pub(super) struct Preprocessed<'r> {
    /// The text.
    pub(super) text: &'r str,
    /// The build's options.
    pub(super) options: &'r [String],
    /// The folder that is searched for includes in quotes.
    pub(super) folder: Option<&'r Path>,
    /// The temporary folder of the text; files in it are not includes.
    pub(super) work: &'r Path,
    /// The files that were read, as a makefile rule.
    pub(super) rule: &'r str,
    /// The start of the run.
    pub(super) began: SystemTime,
    /// SHA-256 of the run's output.
    pub(super) digest: [u8; 32],
}

impl Includes {
    /// What a text includes that names no include and asks nothing: no file. `None` if it may do either, or its options
    /// may.
    ///
    /// The preprocessor need not run for such a text, which then stands for its own output.
    pub(super) fn none(text: &str, options: &[String]) -> Option<Self> {
        include_folders(options)?;
        let unsettled = |text: &str| QUESTIONS.iter().any(|question| text.contains(question));
        // A name may continue after a line break, and trigraphs may replace its backslash.
        let broken = text.contains("\\\n") || text.contains("\\\r") || text.contains("??/");
        let names = ["include", "import"].iter().any(|word| text.contains(word));
        if broken || names || unsettled(text) || options.iter().any(|option| unsettled(option)) {
            return None;
        }
        let preprocessed = digest(format!("not preprocessed\n{text}").as_bytes());
        Some(Self { preprocessed, files: Vec::new(), vacant: Vec::new() })
    }

    /// What a run included; `None` if that cannot be determined completely.
    pub(super) fn of(run: &Preprocessed<'_>) -> Option<Self> {
        let mut folders: Vec<PathBuf> = run.folder.map(Path::to_path_buf).into_iter().collect();
        folders.extend(include_folders(run.options)?);
        let settled = |text: &str| QUESTIONS.iter().all(|question| !text.contains(question));
        if !settled(run.text) || !run.options.iter().all(|option| settled(option)) {
            return None;
        }
        let mut files = Vec::new();
        for path in prerequisites(run.rule)?.into_iter().map(PathBuf::from) {
            if path.starts_with(run.work) {
                continue;
            }
            let contents = fs::read(&path).ok()?;
            let changed = fs::metadata(&path).and_then(|facts| facts.modified()).ok()?;
            if changed + SETTLED >= run.began || !settled(&String::from_utf8_lossy(&contents)) {
                return None;
            }
            // Includes in quotes are searched for in the folder of the including file first.
            folders.extend(path.parent().map(Path::to_path_buf));
            files.push((path, digest(&contents)));
        }
        folders.sort();
        folders.dedup();
        let mut vacant: Vec<PathBuf> = Vec::new();
        for (path, _) in &files {
            // The text names the file by a suffix of its path, which could have matched in any of the folders.
            let components: Vec<_> = path.components().collect();
            for first in 0..components.len() {
                let named: PathBuf = components[first..].iter().collect();
                vacant.extend(
                    folders.iter().map(|folder| folder.join(&named)).filter(|place| !place.is_file()),
                );
            }
        }
        vacant.sort();
        vacant.dedup();
        Some(Self { preprocessed: run.digest, files, vacant })
    }

    /// Whether everything is unchanged.
    pub(super) fn stand(&self) -> bool {
        let same = |(path, was): &(PathBuf, [u8; 32])| {
            fs::read(path).is_ok_and(|contents| digest(&contents) == *was)
        };
        self.vacant.iter().all(|place| !place.is_file()) && self.files.iter().all(same)
    }

    /// The cached form; `None` if a path is not UTF-8.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut files = Vec::new();
        for (path, hash) in &self.files {
            files.extend([path.to_str()?.as_bytes(), hash]);
        }
        let vacant: Option<Vec<&[u8]>> =
            self.vacant.iter().map(|place| Some(place.to_str()?.as_bytes())).collect();
        Some(join(&[&self.preprocessed, &join(&files), &join(&vacant?)]))
    }

    /// Reverses [`Self::encode`]; `None` for any other input.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let path = |bytes: &[u8]| Some(PathBuf::from(std::str::from_utf8(bytes).ok()?));
        let [preprocessed, files, vacant] = split(bytes)?.try_into().ok()?;
        let files = split(files)?;
        let files = files.chunks(2).map(|pair| match pair {
            [name, hash] => Some((path(name)?, (*hash).try_into().ok()?)),
            _ => None,
        });
        Some(Self {
            preprocessed: preprocessed.try_into().ok()?,
            files: files.collect::<Option<_>>()?,
            vacant: split(vacant)?.into_iter().map(path).collect::<Option<_>>()?,
        })
    }
}

/// The folders that options add to the search; `None` if an option is not one of OpenCL's.
fn include_folders(options: &[String]) -> Option<Vec<PathBuf>> {
    let mut folders = Vec::new();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let joined = |flag| option.strip_prefix(flag);
        if let Some(folder) = joined("-I") {
            folders.push(PathBuf::from(if folder.is_empty() { options.next()? } else { folder }));
        } else if let Some("") = joined("-D").or_else(|| joined("-U")) {
            options.next()?;
        } else {
            let known = ["-D", "-U", "-cl-", "-qcom-"].iter().any(|flag| option.starts_with(flag));
            // `-Wp,` passes arbitrary options to the preprocessor.
            let warning = option == "-w" || (option.starts_with("-W") && !option.contains(','));
            if !known && !warning {
                return None;
            }
        }
    }
    Some(folders)
}

/// The names after the colon of a makefile rule, as compilers write it; `None` if there is no rule.
fn prerequisites(rule: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut rest = rule.split_once(": ")?.1.chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            (' ' | '\n', _) => names.push(String::new()),
            ('\\', Some('\n')) => {}
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => {
                if let (Some(name), Some(letter)) = (names.last_mut(), rest.next()) {
                    name.push(letter);
                }
            }
            _ => {
                if let Some(name) = names.last_mut() {
                    name.push(letter);
                }
            }
        }
    }
    names.retain(|name| !name.is_empty());
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_without_includes() {
        let none = |text: &str, option: &str| Includes::none(text, &[option.to_owned()]).is_some();
        assert!(none("kernel void k(global int *a) { *a = N; }", "-DN=4"));
        let include = "#include \"n.h\"";
        for text in
            [include, "#  include <n.h>", "#inc\\\nlude <n.h>", "#inc??/\nlude <n.h>", "#import <n.h>"]
        {
            assert!(!none(text, "-w"), "{text}");
        }
        assert!(!none("int a = __TIME__;", "-w") && !none("", "-include=x.h") && !none("", "-DN=__DATE__"));
        assert_ne!(Includes::none("a", &[]), Includes::none("b", &[]));
    }

    #[test]
    fn rules_as_compilers_write_them() {
        let rule = "x: /src/kernel.cl \\\n  inc/n.h inc/a\\ b\\#$$/m.h \\\n  last.h\n";
        assert_eq!(prerequisites(rule).unwrap(), ["/src/kernel.cl", "inc/n.h", "inc/a b#$/m.h", "last.h"]);
        assert_eq!(prerequisites("x: \n").unwrap(), Vec::<String>::new());
        assert_eq!(prerequisites("no rule"), None);
    }

    #[test]
    fn folders_of_options_that_are_known() {
        let folders = |options: &str| {
            include_folders(&options.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let known = "-I a -Ib -D N=4 -DM -U -Ic -cl-std=CL2.0 -w -Werror -Wall";
        assert_eq!(folders(known).unwrap(), ["a", "b"].map(PathBuf::from));
        for unknown in ["-include x.h", "-Wp,-include,x.h", "@file", "-isystem x", "-I", "x.cl", "-D"] {
            assert_eq!(folders(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn cached_entries_are_returned() {
        let includes = Includes {
            preprocessed: [7; 32],
            files: vec![("a b".into(), [1; 32]), ("c\nd".into(), [2; 32])],
            vacant: vec!["e".into()],
        };
        let kept = includes.encode().unwrap();
        for cut in 0..kept.len() {
            assert_eq!(Includes::decode(&kept[..cut]), None, "cut to {cut}");
        }
        assert_eq!(Includes::decode(&kept), Some(includes));
    }
}
