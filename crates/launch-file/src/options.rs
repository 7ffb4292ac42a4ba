//! Build options in the syntax of `clBuildProgram`.

use crate::error::FileReason;

/// Build options, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// `-D`: name and value; the value of a bare name is `1`.
    pub defines: Vec<(String, String)>,
    /// `-I`: folders as given in the launch file, relative to that file.
    pub includes: Vec<String>,
    /// All other options, unchanged.
    pub flags: Vec<String>,
    /// Extensions, features and versions of OpenCL C that a GPU is assumed to offer, whatever its driver does.
    pub assume: Vec<String>,
    /// The version of the GPU's driver; `None` for the newest.
    pub driver: Option<String>,
}

impl BuildOptions {
    /// Sets a macro, in place of its definitions so far.
    pub fn define(&mut self, name: &str, value: &str) {
        self.defines.retain(|(known, _)| known != name);
        self.defines.push((name.to_owned(), value.to_owned()));
    }

    /// Parses the options in `text`, separated by spaces: `-D N=4 -DFAST -I include -cl-std=CL2.0`. Quotes have no
    /// meaning, as in most drivers.
    ///
    /// # Errors
    /// [`FileReason::Option`]: a word is not an option, or its value is missing.
    pub fn parse(text: &str) -> Result<Self, FileReason> {
        let mut options = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let refused = |reason| FileReason::Option { word: word.to_owned(), reason };
            // The operand follows the option directly or is the next word.
            let mut operand = |option| match word.strip_prefix(option) {
                Some("") => Some(words.next().unwrap_or_default()),
                other => other,
            };
            if let Some(definition) = operand("-D") {
                let (name, value) = definition.split_once('=').unwrap_or((definition, "1"));
                if name.is_empty() {
                    return Err(refused("want -D NAME or -D NAME=VALUE"));
                }
                options.defines.push((name.to_owned(), value.to_owned()));
            } else if let Some(folder) = operand("-I") {
                if folder.is_empty() {
                    return Err(refused("want -I FOLDER"));
                }
                options.includes.push(folder.to_owned());
            } else if options.flags.last().is_some_and(|flag| flag == "-x") {
                // As OpenCL has it; another language would not be OpenCL C.
                if word != "spir" && word != "cl" {
                    return Err(refused("want -x spir or -x cl"));
                }
                options.flags.push(word.to_owned());
            } else if word.starts_with('-') {
                options.flags.push(word.to_owned());
            } else {
                return Err(refused("options start with `-`, and values have no spaces"));
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_with_and_without_a_space() {
        let options =
            BuildOptions::parse(" -D N=4 -DFAST  -D EMPTY= -Iinc -I ../b -cl-std=CL2.0 -x spir").unwrap();
        let defines: Vec<(&str, &str)> =
            options.defines.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(defines, [("N", "4"), ("FAST", "1"), ("EMPTY", "")]);
        assert_eq!(options.includes, ["inc", "../b"]);
        assert_eq!(options.flags, ["-cl-std=CL2.0", "-x", "spir"]);
        assert!(BuildOptions::parse("-x c++").is_err());
    }

    #[test]
    fn invalid_options_are_rejected() {
        for (text, word) in [("N=4", "N=4"), ("-D", "-D"), ("-D =4", "-D"), ("-I", "-I"), ("-DN=4 5", "5")] {
            let error = BuildOptions::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{word}`")), "{error}");
        }
    }
}
