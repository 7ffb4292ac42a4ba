//! Functions of full precision as sequences of operations, the same for all families (`data/functions.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::Basis;
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

/// The function of that name; `None` if the file does not list it.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    static FUNCTIONS: LazyLock<BTreeMap<String, Function>> = LazyLock::new(built_in);
    FUNCTIONS.get(name)
}

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
fn built_in() -> BTreeMap<String, Function> {
    read(include_str!("../data/functions.toml")).unwrap_or_else(|error| panic!("built-in functions: {error}"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionsFile {
    basis: String,
    #[expect(dead_code, reason = "for the reader of the file")]
    source: String,
    function: BTreeMap<String, FunctionEntry>,
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
fn read(text: &str) -> Result<BTreeMap<String, Function>, String> {
    let file: FunctionsFile = toml::from_str(text).map_err(|error| error.to_string())?;
    file.basis.parse::<Basis>().map_err(|()| format!("`{}` is not a basis", file.basis))?;
    let mut functions = BTreeMap::new();
    for (name, entry) in &file.function {
        let from = match &entry.like {
            Some(like) => file.function.get(like).ok_or_else(|| format!("{name}: no function `{like}`"))?,
            None => entry,
        };
        let (takes, slow) = (sequence(&from.takes)?, sequence(&from.slow)?);
        if takes.is_empty() {
            return Err(format!("{name}: takes nothing"));
        }
        functions.insert(name.clone(), Function { takes, slow });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_is_well_formed() {
        let functions = read(include_str!("../data/functions.toml")).unwrap();
        for name in functions.keys() {
            assert!(tripipe_ir::op::Builtin::named(name).is_some(), "{name}");
        }
        // Counted in libclc: 23 additions, 19 multiplications with addition and 12 without, 38 selections by comparison.
        let pow = &functions["pow"].takes;
        assert_eq!(pow.iter().filter(|step| **step == (Work::Mad, Scalar::F32)).count(), 19);
        assert_eq!(pow.len(), 23 + 19 + 12 + 12 + 38 + 1 + 2 + 5 + 42 + 8 + 6 + 3 + 3);
        assert!(functions["cos"].slow.contains(&(Work::MulHi, Scalar::I32)));
        assert_eq!(sequence("2*f32.none"), Err("`2*f32.none` is not COUNT*TYPE.OPERATION".into()));
    }
}
