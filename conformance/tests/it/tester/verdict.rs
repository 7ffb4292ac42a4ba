//! The expected outcome of a case, and its comparison with the actual one.

use super::Case;
use super::backends::{Backend, Outcome};
use super::numbers::{Kind, Span};

/// The expected outcome.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An error.
    Refused,
    /// An error or a result, but the same on all backends.
    Open,
    /// A buffer.
    Result(Right),
}

/// A correct result.
#[derive(Clone, Debug)]
pub struct Right {
    pub kind: Kind,
    /// The contents of the buffer before the run.
    pub before: Vec<u8>,
    /// The allowed values of each element; `None` for an element that must not change.
    pub spans: Vec<Option<Span>>,
    /// Whether all backends must give the same result, bit for bit.
    pub same: bool,
    /// Whether an error is also allowed, if all backends give one.
    pub may_refuse: bool,
}

impl Right {
    /// A result in a buffer of its own, in which all elements are written.
    pub fn dense(kind: Kind, spans: Vec<Span>) -> Expected {
        let before = vec![0; spans.len() * kind.bytes()];
        let spans = spans.into_iter().map(Some).collect();
        Expected::Result(Self { kind, before, spans, same: !kind.is_float(), may_refuse: false })
    }
}

/// How a case failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The backends that are affected.
    pub backends: Vec<Backend>,
    /// What is wrong on them.
    pub what: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.backends.iter().map(|backend| backend.name()).collect();
        write!(f, "{}: {}", names.join(", "), self.what)
    }
}

/// Compares the outcome on each backend with the expected one, and the outcomes with each other.
pub fn judge(case: &Case, expected: &Expected, outcomes: &[(Backend, Outcome)]) -> Option<Mismatch> {
    let wrong =
        outcomes.iter().filter_map(|(backend, outcome)| Some((*backend, fault(case, expected, outcome)?)));
    let wrong: Vec<(Backend, String)> = wrong.collect();
    if let Some((_, what)) = wrong.first() {
        return Some(Mismatch {
            backends: wrong.iter().map(|(backend, _)| *backend).collect(),
            what: what.clone(),
        });
    }
    let [(first, one), rest @ ..] = outcomes else { return None };
    let differs = |other: &Outcome| match (one, other, expected) {
        (Outcome::Refused(why), Outcome::Done(_), _) => Some(format!("only the first refuses: {why}")),
        (Outcome::Done(_), Outcome::Refused(why), _) => Some(format!("only the second refuses: {why}")),
        (Outcome::Done(a), Outcome::Done(b), Expected::Result(right)) if right.same => {
            let index = (0..right.spans.len())
                .find(|index| right.kind.load(a, *index) != right.kind.load(b, *index))?;
            let [a, b] = [a, b].map(|bytes| right.kind.load(bytes, index));
            Some(format!("{} is {a} on the first and {b} on the second", case.place(index)))
        }
        _ => None,
    };
    let (other, what) = rest.iter().find_map(|(backend, outcome)| Some((*backend, differs(outcome)?)))?;
    Some(Mismatch { backends: vec![*first, other], what })
}

/// The fault of one outcome, if any.
fn fault(case: &Case, expected: &Expected, outcome: &Outcome) -> Option<String> {
    let bytes = match (outcome, expected) {
        (Outcome::Panicked(message), _) => return Some(format!("panicked: {message}")),
        (Outcome::Refused(why), Expected::Result(right)) if !right.may_refuse => {
            return Some(format!("refused: {why}"));
        }
        (Outcome::Done(_), Expected::Refused) => return Some("did what should be refused".to_owned()),
        (Outcome::Refused(_), _) | (Outcome::Done(_), Expected::Open) => return None,
        (Outcome::Done(bytes), Expected::Result(_)) => bytes,
    };
    let Expected::Result(Right { kind, before, spans, .. }) = expected else { return None };
    if bytes.len() != spans.len() * kind.bytes() {
        return Some(format!("{} bytes, expected {}", bytes.len(), spans.len() * kind.bytes()));
    }
    let (mut first, mut count) = (None, 0);
    for (index, span) in spans.iter().enumerate() {
        let place = index * kind.bytes()..(index + 1) * kind.bytes();
        let found = kind.load(bytes, index);
        let want = match span {
            Some(span) if !span.holds(found) => span.to_string(),
            None if bytes[place.clone()] != before[place] => "what was there".to_owned(),
            _ => continue,
        };
        count += 1;
        first.get_or_insert_with(|| format!("{} is {found}, expected {want}", case.place(index)));
    }
    first.map(|first| format!("{first} ({count} of {} are wrong)", spans.len()))
}
