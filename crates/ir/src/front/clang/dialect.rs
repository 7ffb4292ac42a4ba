//! The OpenCL C version and features to assume for a text whose options do not say.

use tripipe_device::OpenCl;

/// The assumptions about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// `-cl-std`, unless the options have one.
    standard: Option<&'static str>,
    /// Whether `double` is supported; without it, constants are `float`.
    pub(super) double: bool,
    /// Whether clang's header declares the library. Otherwise clang declares it itself, which is faster, and lets a
    /// text define functions with the library's names, but no further overloads of them.
    header: bool,
}

impl Dialect {
    /// The dialects to try, the most likely first. Phones have no `double`, and without `-cl-std` drivers use the
    /// newest 1.x. For a device, `double` is as it offers, and its newest version is tried last.
    pub(super) fn to_try(options: &[String], offered: Option<&OpenCl>) -> Vec<Self> {
        let said = options.iter().any(|option| option.contains("-std="));
        if let Some(offered) = offered {
            let newest = match offered.newest_c() {
                (3, _) => Some("-cl-std=CL3.0"),
                (2, _) => Some("-cl-std=CL2.0"),
                _ => None,
            };
            let own = [Some("-cl-std=CL1.2"), newest];
            let standards = if said { &[None][..] } else { &own[..=usize::from(newest.is_some())] };
            let double = offered.has("cl_khr_fp64");
            let both =
                |standard: &_| [false, true].map(|header| Self { standard: *standard, double, header });
            return standards.iter().flat_map(both).collect();
        }
        let standards: &[_] = if said { &[None] } else { &[Some("-cl-std=CL1.2"), Some("-cl-std=CL3.0")] };
        let plain = standards.iter().flat_map(|standard| {
            [false, true].map(|double| Self { standard: *standard, double, header: false })
        });
        plain
            .chain([Self { standard: *standards.last().unwrap_or(&None), double: true, header: true }])
            .collect()
    }

    /// Whether clang's header declares the library.
    pub(super) fn has_header(self) -> bool {
        self.header
    }

    /// The version that is assumed because the options do not say, if it is newer than what drivers use then.
    pub(super) fn newer(self) -> Option<&'static str> {
        self.standard.filter(|standard| *standard != "-cl-std=CL1.2")
    }

    /// The options for this dialect. Every extension that clang supports is declared; `extensions.h` handles the
    /// vendors' macros that then remain.
    pub(super) fn arguments(self) -> impl Iterator<Item = &'static str> {
        let double: &[_] = if self.double {
            &["-Xclang", "-cl-ext=+all"]
        } else {
            &["-Xclang", "-cl-ext=+all,-cl_khr_fp64,-__opencl_c_fp64", "-cl-single-precision-constant"]
        };
        let header = self.header.then_some("-cl-no-stdinc");
        self.standard.into_iter().chain(double.iter().copied()).chain(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(options: &[&str]) -> Vec<(Option<&'static str>, bool, bool)> {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let tried = Dialect::to_try(&options, None);
        tried.into_iter().map(|dialect| (dialect.standard, dialect.double, dialect.header)).collect()
    }

    #[test]
    fn the_given_options_determine_the_attempts() {
        assert_eq!(
            tried(&["-cl-std=CL2.0"]),
            [(None, false, false), (None, true, false), (None, true, true)]
        );
        let (old, new) = (Some("-cl-std=CL1.2"), Some("-cl-std=CL3.0"));
        assert_eq!(
            tried(&["-DN=1"]),
            [
                (old, false, false),
                (old, true, false),
                (new, false, false),
                (new, true, false),
                (new, true, true)
            ]
        );
    }
}
