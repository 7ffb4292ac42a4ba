//! Which OpenCL C a text is, where its options do not say.

/// What is taken for granted of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// `-cl-std`, unless the options have one.
    standard: Option<&'static str>,
    /// Whether there is `double`; without it, constants are `float`.
    pub(super) double: bool,
    /// Whether the library is declared by clang's header. It otherwise is by clang itself, which is faster and lets a
    /// text have functions of its own by the library's names, but not more overloads of them.
    header: bool,
}

impl Dialect {
    /// Those to try, the likeliest first. Phones have no `double`, and without `-cl-std` drivers take the newest 1.x.
    pub(super) fn to_try(options: &[String]) -> impl Iterator<Item = Self> {
        let said = options.iter().any(|option| option.contains("-std="));
        let standards: &[_] = if said { &[None] } else { &[Some("-cl-std=CL1.2"), Some("-cl-std=CL3.0")] };
        let plain = standards.iter().flat_map(|standard| {
            [false, true].map(|double| Self { standard: *standard, double, header: false })
        });
        plain.chain([Self { standard: *standards.last().unwrap_or(&None), double: true, header: true }])
    }

    /// The options that say so. Every extension that clang knows is declared; which macros of vendors that leaves is
    /// `extensions.h`'s matter.
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
        let tried = Dialect::to_try(&options);
        tried.map(|dialect| (dialect.standard, dialect.double, dialect.header)).collect()
    }

    #[test]
    fn options_decide_before_anything_is_tried() {
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
