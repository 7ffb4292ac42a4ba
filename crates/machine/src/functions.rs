//! Functions as sequences of operations, the same for all families (`data/functions.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::Basis;
use tripipe_device::document::built_in;
use tripipe_ir::Scalar;

use crate::work::Work;

/// The operations of a function, with the type of each, in no particular order.
pub(crate) type Sequence = Vec<(Work, Scalar)>;

/// A function of full precision on a float.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    /// What most arguments take.
    pub(crate) takes: Sequence,
    /// What other arguments take in addition; empty if all take the same.
    pub(crate) slow: Sequence,
}

/// The type of a step of a short sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepType {
    /// That of the result.
    Result,
    /// That of the operand.
    Source,
    /// An integer as wide as the result.
    Integer,
    Of(Scalar),
}

/// All functions of the file, by name.
#[derive(Debug, Default)]
struct Functions {
    full: BTreeMap<String, Function>,
    short: BTreeMap<String, Vec<(Work, StepType)>>,
}

/// The function of full precision of that name; `None` if the file does not list it.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.full.get(name)
}

/// The steps of a function of that name, where its full precision does not count; `None` if the file does not list it.
pub(crate) fn short(name: &str) -> Option<&'static [(Work, StepType)]> {
    FUNCTIONS.short.get(name).map(Vec::as_slice)
}

static FUNCTIONS: LazyLock<Functions> =
    LazyLock::new(|| built_in("built-in functions", read(include_str!("../data/functions.toml"))));

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionsFile {
    basis: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    source: String,
    function: BTreeMap<String, FunctionEntry>,
    short: Vec<ShortEntry>,
}

/// Functions of one source; a key lists all that take the same.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShortEntry {
    basis: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    source: String,
    takes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionEntry {
    like: Option<String>,
    #[serde(default)]
    takes: String,
    #[serde(default)]
    slow: String,
}

/// Reads the file; the error names the function or the step.
fn read(text: &str) -> Result<Functions, String> {
    let file: FunctionsFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let basis = |name: &str| name.parse::<Basis>().map_err(|()| format!("`{name}` is not a basis"));
    basis(&file.basis)?;
    let mut functions = Functions::default();
    for (name, entry) in &file.function {
        let from = match &entry.like {
            Some(like) => file.function.get(like).ok_or_else(|| format!("{name}: no function `{like}`"))?,
            None => entry,
        };
        let (takes, slow) = (sequence(&from.takes)?, sequence(&from.slow)?);
        if takes.is_empty() {
            return Err(format!("{name}: takes nothing"));
        }
        functions.full.insert(name.clone(), Function { takes, slow });
    }
    for entry in &file.short {
        basis(&entry.basis)?;
        for (names, takes) in &entry.takes {
            let steps = short_steps(takes)?;
            functions.short.extend(names.split_whitespace().map(|name| (name.to_owned(), steps.clone())));
        }
    }
    Ok(functions)
}

/// Parses a sequence, such as `3*f32.mad i32.add`. Rounds of one operation of each kind follow one another, as results
/// of one kind are the operands of others.
fn sequence(text: &str) -> Result<Sequence, String> {
    let mut kinds: Vec<(usize, Work, Scalar)> = Vec::new();
    for step in text.split_whitespace() {
        let parsed = || {
            let (count, name) = step.split_once('*').unwrap_or(("1", step));
            let (scalar, work) = name.split_once('.')?;
            let scalar = [Scalar::I32, Scalar::F32].into_iter().find(|known| known.name() == scalar)?;
            Some((count.parse().ok()?, Work::named(work)?, scalar))
        };
        kinds.push(parsed().ok_or_else(|| format!("`{step}` is not COUNT*TYPE.OPERATION"))?);
    }
    let most = kinds.iter().map(|kind| kind.0).max().unwrap_or(0);
    let mut all = Sequence::new();
    for round in 0..most {
        all.extend(kinds.iter().filter(|kind| kind.0 > round).map(|(_, work, scalar)| (*work, *scalar)));
    }
    Ok(all)
}

/// Parses a short sequence, such as `mul 2*int.logic`, in order.
fn short_steps(text: &str) -> Result<Vec<(Work, StepType)>, String> {
    let mut all = Vec::new();
    for step in text.split_whitespace() {
        let parsed = || {
            let (count, name) = step.split_once('*').unwrap_or(("1", step));
            let (ty, work) = match name.split_once('.') {
                None => (StepType::Result, name),
                Some(("source", work)) => (StepType::Source, work),
                Some(("int", work)) => (StepType::Integer, work),
                Some(("i32", work)) => (StepType::Of(Scalar::I32), work),
                Some(_) => return None,
            };
            Some(std::iter::repeat_n((Work::named(work)?, ty), count.parse().ok()?))
        };
        all.extend(parsed().ok_or_else(|| format!("`{step}` is not COUNT*OPERATION"))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_is_well_formed() {
        let functions = read(include_str!("../data/functions.toml")).unwrap();
        for name in functions.full.keys().chain(functions.short.keys()) {
            assert!(tripipe_ir::op::Builtin::named(name).is_some(), "{name}");
        }
        // Counted in libclc: 23 additions, 19 multiplications with addition and 12 without, 38 selections by comparison.
        let pow = &functions.full["pow"].takes;
        assert_eq!(pow.iter().filter(|step| **step == (Work::Mad, Scalar::F32)).count(), 19);
        assert_eq!(pow.len(), 23 + 19 + 12 + 12 + 38 + 1 + 2 + 5 + 42 + 8 + 6 + 3 + 3);
        assert!(functions.full["cos"].slow.contains(&(Work::MulHi, Scalar::I32)));
        assert_eq!(sequence("2*f32.none"), Err("`2*f32.none` is not COUNT*TYPE.OPERATION".into()));
    }
}
