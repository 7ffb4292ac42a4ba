//! How commands end.

/// How a command ended that completed without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// There is nothing to report.
    Clean,
    /// The work is complete, and there are findings.
    Findings,
    /// The output is complete, and some results are wrong.
    Bad,
    /// The command was interrupted; the results so far have been printed.
    Interrupted,
}
