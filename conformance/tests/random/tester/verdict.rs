//! What should come out of a case, and whether it did.

use super::Case;
use super::numbers::{Kind, Span};
use super::paths::{Outcome, Way};

/// What should come out.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An error.
    Refused,
    /// An error or a result, whichever: only all ways alike.
    Open,
    /// A buffer.
    Result(Right),
}

/// A right result.
#[derive(Clone, Debug)]
pub struct Right {
    pub kind: Kind,
    /// What the buffer held.
    pub before: Vec<u8>,
    /// What each element may be; nothing for one that is to stay as it was.
    pub spans: Vec<Option<Span>>,
    /// Whether all ways must give the same to the bit.
    pub same: bool,
    /// Whether an error is right as well, if all ways give one.
    pub may_refuse: bool,
}

impl Right {
    /// A result without a place of its own: all elements are made.
    pub fn dense(kind: Kind, spans: Vec<Span>) -> Expected {
        let before = vec![0; spans.len() * kind.bytes()];
        let spans = spans.into_iter().map(Some).collect();
        Expected::Result(Self { kind, before, spans, same: !kind.is_float(), may_refuse: false })
    }
}

/// How a case went wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// On which ways.
    pub ways: Vec<Way>,
    /// What is wrong there.
    pub what: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.ways.iter().map(|way| way.name()).collect();
        write!(f, "{}: {}", names.join(", "), self.what)
    }
}

/// Compares what came out on each way with what should, and the ways with each other.
pub fn judge(case: &Case, expected: &Expected, outcomes: &[(Way, Outcome)]) -> Option<Mismatch> {
    let wrong = outcomes.iter().filter_map(|(way, outcome)| Some((*way, fault(case, expected, outcome)?)));
    let wrong: Vec<(Way, String)> = wrong.collect();
    if let Some((_, what)) = wrong.first() {
        return Some(Mismatch { ways: wrong.iter().map(|(way, _)| *way).collect(), what: what.clone() });
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
    let (other, what) = rest.iter().find_map(|(way, outcome)| Some((*way, differs(outcome)?)))?;
    Some(Mismatch { ways: vec![*first, other], what })
}

/// What is wrong with one outcome.
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
