//! The table `[tune]`: other values of macros, sizes of work-groups and build options, and which of them go together.

use std::collections::HashSet;

use tripipe_device::document::{Item, LineColumn, ReadReason, Table, suggestion};
use tripipe_device::nearest::nearest;

use crate::compare::Tolerance;
use crate::error::{FileError, FileReason, error_at};
use crate::expression::{Names, Overrides, names_in};
use crate::options::BuildOptions;

/// More combinations are not listed.
const COMBINATIONS_MAX: u64 = 1 << 20;
/// The dimensions that are no macros.
const LOCAL: &str = "local";
const OPTIONS: &str = "options";
/// The work-group size that the driver chooses.
const DRIVER: &str = "driver";
/// No build options.
const NONE: &str = "none";

/// What can be varied about a launch: the table `[tune]` of a launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// The parameters in the order of the file; then `local` and `options`, if the file varies them.
    pub dimensions: Vec<TuningDimension>,
    /// The results that are compared, if the file names them.
    pub compare: Vec<ComparedResult>,
    /// How far results may be from those of another candidate; `None` where the file does not say.
    pub tolerance: Option<Tolerance>,
    /// The values that the file has without tuning; `None` if they are not among those of the table.
    pub(crate) own: Vec<Option<usize>>,
    conditions: Vec<Condition>,
    names: Names,
    file: String,
}

/// Values to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningDimension {
    /// The macro, or `local`, or `options`.
    pub name: String,
    /// Its values as text without spaces, at least one, all different.
    pub values: Vec<String>,
}

/// A result that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedResult {
    /// The argument's name.
    pub name: String,
    /// Whether only the sum of its numbers is compared, because their count depends on parameters.
    pub is_sum: bool,
}

/// The combinations that satisfy all conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TuningPoints {
    /// Their texts, `WG=64 TILE=2 local=8x8`: the file's own values first, if they are among them.
    pub texts: Vec<String>,
    /// Whether the first one has the file's own values.
    pub starts_with_own: bool,
    /// Number of combinations of all values.
    pub combinations: u64,
    /// Number of partial combinations whose conditions were evaluated.
    pub checks: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Condition {
    text: String,
    location: LineColumn,
    /// Number of leading dimensions on which its value depends.
    depth: usize,
}

impl TuningDimension {
    /// Whether it is a macro, `-D NAME=VALUE`.
    pub fn is_macro(&self) -> bool {
        self.name != LOCAL && self.name != OPTIONS
    }
}

/// The table `[tune]` of a launch file, and what one of its combinations sets.
#[derive(Default)]
pub(crate) struct Chosen<'a> {
    pub(crate) table: Option<Table<'a>>,
    pub(crate) tuning: Option<Tuning>,
    /// The work-group size of the combination, if the table varies it.
    pub(crate) local: Option<Item<'a>>,
}

/// Reads the table, if there is one, and puts the values of a combination into `options`. `names` makes the names that
/// conditions can contain of the options.
pub(crate) fn chosen<'a>(
    root: &Table<'a>,
    combination: Option<&str>,
    options: &mut BuildOptions,
    overrides: &Overrides,
    names: impl Fn(&BuildOptions) -> Names,
) -> Result<Chosen<'a>, FileError> {
    let Some(table) = root.get("tune").map(|item| item.table("`tune`")).transpose()? else {
        if combination.is_some() {
            return Err(table_error(root, FileReason::NoTuning));
        }
        return Ok(Chosen::default());
    };
    let tuning = tuning(&table, options, overrides, names)?;
    let mut local = None;
    if let Some(text) = combination {
        let unknown = || {
            let example = tuning.text(&vec![0; tuning.dimensions.len()]);
            table_error(&table, FileReason::NoCombination { text: text.to_owned(), example })
        };
        let chosen = tuning.chosen(text).ok_or_else(unknown)?;
        let index = tuning.apply(&chosen, &table, options)?;
        local = index.and_then(|index| table.get(LOCAL)?.items().nth(index));
    }
    Ok(Chosen { table: Some(table), tuning: Some(tuning), local })
}

/// An error with `reason`, located at the table.
pub(crate) fn table_error(table: &Table<'_>, reason: FileReason) -> FileError {
    FileError { file: table.file().to_owned(), location: table.location(), reason: Box::new(reason) }
}

fn expression(text: &str, reason: String) -> FileReason {
    FileReason::Expression { text: text.to_owned(), reason }
}

/// Reads the table, and defines its parameters in `options`: those that it does not define get their first value.
fn tuning(
    table: &Table<'_>,
    options: &mut BuildOptions,
    overrides: &Overrides,
    names: impl Fn(&BuildOptions) -> Names,
) -> Result<Tuning, FileError> {
    table.check_keys(&["parameters", "where", LOCAL, OPTIONS, "compare", "tolerance"])?;
    let mut tuning = Tuning {
        dimensions: Vec::new(),
        compare: table.get("compare").map_or(Ok(Vec::new()), |item| compared(&item))?,
        tolerance: table.get("tolerance").map(|item| tolerance(&item)).transpose()?,
        own: Vec::new(),
        conditions: Vec::new(),
        names: Names::default(),
        file: table.file().to_owned(),
    };
    if let Some(item) = table.get("parameters") {
        let mut parameters: Vec<Item<'_>> = item.table("`parameters`")?.items().collect();
        parameters.sort_by_key(|item| (item.location().line, item.location().column));
        for item in parameters {
            tuning.parameter(&item, options, overrides)?;
        }
    }
    if let Some(item) = table.get(LOCAL) {
        let values = different(&item, local_text)?;
        tuning.own.push(None);
        tuning.dimensions.push(TuningDimension { name: LOCAL.to_owned(), values });
    }
    if let Some(item) = table.get(OPTIONS) {
        let values = different(&item, |item| {
            let text = item.string_or_empty()?;
            BuildOptions::parse(text).map_err(|reason| error_at(item, reason))?;
            Ok(if text.trim().is_empty() {
                NONE.to_owned()
            } else {
                text.split_whitespace().collect::<Vec<_>>().join(",")
            })
        })?;
        tuning.own.push(values.iter().position(|value| value == NONE));
        tuning.dimensions.push(TuningDimension { name: OPTIONS.to_owned(), values });
    }
    if tuning.dimensions.is_empty() {
        return Err(table.missing(&["parameters", LOCAL, OPTIONS]).into());
    }
    let combinations = tuning.combinations();
    if combinations.is_none_or(|count| count > COMBINATIONS_MAX) {
        let count = combinations.map_or("too many to count".to_owned(), |count| count.to_string());
        return Err(table_error(table, FileReason::Combinations { count, most: COMBINATIONS_MAX }));
    }
    tuning.names = names(options);
    if let Some(item) = table.get("where") {
        for item in item.items() {
            tuning.condition(&item)?;
        }
    }
    Ok(tuning)
}

/// The texts of a list, at least one, all different.
fn different(
    item: &Item<'_>,
    read: impl Fn(&Item<'_>) -> Result<String, FileError>,
) -> Result<Vec<String>, FileError> {
    let list = item.list().ok_or_else(|| item.wrong_type("a list of the values to choose from"))?;
    let mut values: Vec<String> = Vec::new();
    for item in list {
        let value = read(&item)?;
        if values.contains(&value) {
            return Err(item.impossible("each value once").into());
        }
        values.push(value);
    }
    if values.is_empty() {
        return Err(item.impossible("at least one value").into());
    }
    Ok(values)
}

/// The text of a work-group size: `8x8`, or `driver`.
fn local_text(item: &Item<'_>) -> Result<String, FileError> {
    let text = |item: Item<'_>| -> Result<String, FileError> {
        let text = match item.as_string() {
            Some(_) => item.string()?.split_whitespace().collect(),
            None => item.whole(&(1..=usize::MAX))?.to_string(),
        };
        Ok(text)
    };
    Ok(item.items().map(text).collect::<Result<Vec<_>, _>>()?.join("x"))
}

fn compared(item: &Item<'_>) -> Result<Vec<ComparedResult>, FileError> {
    let one = |item: Item<'_>| {
        let text = item.string()?;
        let sum = text.strip_prefix("sum(").and_then(|rest| rest.strip_suffix(')'));
        Ok(ComparedResult { name: sum.unwrap_or(text).trim().to_owned(), is_sum: sum.is_some() })
    };
    item.items().map(one).collect()
}

fn tolerance(item: &Item<'_>) -> Result<Tolerance, FileError> {
    let inner = item.table("`tolerance`".to_owned())?;
    inner.check_keys(&["absolute", "relative", "ulp"])?;
    let size = |key| inner.get(key).map_or(Ok(0.0), |item| item.not_negative());
    let ulp = inner.get("ulp").map_or(Ok(0), |item| item.whole(&(0..=u64::MAX)))?;
    Ok(Tolerance { absolute: size("absolute")?, relative: size("relative")?, ulp })
}

impl Tuning {
    fn parameter(
        &mut self,
        item: &Item<'_>,
        options: &mut BuildOptions,
        overrides: &Overrides,
    ) -> Result<(), FileError> {
        let name = item.key();
        let is_name = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && text.starts_with(|c: char| !c.is_ascii_digit())
        };
        if !is_name(name) || name == LOCAL || name == OPTIONS {
            return Err(error_at(item, FileReason::ParameterName { name: name.to_owned() }));
        }
        let mut values = different(item, |item| match item.as_string() {
            Some(text) if text.contains(char::is_whitespace) => {
                Err(item.impossible("without spaces, which -D cannot pass").into())
            }
            Some(_) => Ok(item.string()?.to_owned()),
            None => Ok(item.number()?.to_string()),
        })?;
        let last = |defines: &[(String, String)]| {
            defines.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        if let Some(fixed) = last(&overrides.defines) {
            values = vec![fixed];
        }
        let own = if let Some(own) = last(&options.defines) {
            values.iter().position(|value| *value == own)
        } else {
            options.defines.push((name.to_owned(), values[0].clone()));
            Some(0)
        };
        self.own.push(if values.len() == 1 { Some(0) } else { own });
        self.dimensions.push(TuningDimension { name: name.to_owned(), values });
        Ok(())
    }

    fn condition(&mut self, item: &Item<'_>) -> Result<(), FileError> {
        let text = item.string()?.to_owned();
        // All names that it depends on, through definitions too.
        let mut names: Vec<String> = names_in(&text).into_iter().map(str::to_owned).collect();
        let mut seen = HashSet::new();
        let (mut depth, mut is_own) = (0, true);
        let own = names.len();
        let mut next = 0;
        while let Some(name) = names.get(next).cloned() {
            is_own &= next < own;
            next += 1;
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some(index) = self.dimensions.iter().position(|one| one.is_macro() && one.name == name) {
                depth = depth.max(index + 1);
            } else if let Some(definition) = self.names.text(&name) {
                names.extend(names_in(definition).into_iter().map(str::to_owned));
            } else if is_own {
                let near = nearest(&name, self.names.names());
                let reason = format!(
                    "`{name}` is neither a parameter, nor a macro of the options (-D), nor a named argument that is \
                     a whole number{}",
                    suggestion(near)
                );
                return Err(error_at(item, expression(&text, reason)));
            }
        }
        // What is wrong with its form is wrong with every combination.
        if depth == 0 || self.names.holds(&text).is_err() {
            let reason = match self.names.holds(&text) {
                Ok(_) => "it depends on no parameter".to_owned(),
                Err(reason) => reason,
            };
            if depth == 0 || !reason.ends_with("a division by 0") {
                return Err(error_at(item, expression(&text, reason)));
            }
        }
        self.conditions.push(Condition { text, location: item.location(), depth });
        Ok(())
    }

    /// Number of combinations of all values; `None` if it overflows.
    fn combinations(&self) -> Option<u64> {
        self.dimensions.iter().try_fold(1u64, |count, one| count.checked_mul(one.values.len() as u64))
    }

    /// The text of a combination, given the index of each dimension's value.
    pub fn text(&self, chosen: &[usize]) -> String {
        let words = self.dimensions.iter().zip(chosen);
        words.map(|(one, index)| format!("{}={}", one.name, one.values[*index])).collect::<Vec<_>>().join(" ")
    }

    /// The index of each dimension's value, by the text of a combination; `None` if it is not one of these dimensions.
    pub fn chosen(&self, text: &str) -> Option<Vec<usize>> {
        let mut words = text.split_whitespace();
        let chosen: Option<Vec<usize>> = self
            .dimensions
            .iter()
            .map(|one| {
                let (name, value) = words.next()?.split_once('=')?;
                one.values.iter().position(|known| known == value).filter(|_| name == one.name)
            })
            .collect();
        chosen.filter(|_| words.next().is_none())
    }

    /// The combinations that satisfy all conditions, the file's own values first.
    ///
    /// # Errors
    /// A condition that has no value for some of them, at its location.
    pub fn points(&self) -> Result<TuningPoints, FileError> {
        let mut points =
            TuningPoints { combinations: self.combinations().unwrap_or(0), ..Default::default() };
        self.add_points(&mut Vec::new(), &mut self.names.clone(), &mut points)?;
        let own: Option<Vec<usize>> = self.own.iter().copied().collect();
        if let Some(own) = own.map(|own| self.text(&own))
            && let Some(index) = points.texts.iter().position(|text| *text == own)
        {
            points.texts[..=index].rotate_right(1);
            points.starts_with_own = true;
        }
        Ok(points)
    }

    /// Adds the combinations that begin with these values, whose conditions hold so far.
    fn add_points(
        &self,
        chosen: &mut Vec<usize>,
        names: &mut Names,
        points: &mut TuningPoints,
    ) -> Result<(), FileError> {
        let Some(dimension) = self.dimensions.get(chosen.len()) else {
            points.texts.push(self.text(chosen));
            return Ok(());
        };
        for (index, value) in dimension.values.iter().enumerate() {
            chosen.push(index);
            names.push(&dimension.name, value);
            points.checks += 1;
            if self.holds(chosen, names)? {
                self.add_points(chosen, names, points)?;
            }
            names.pop();
            chosen.pop();
        }
        Ok(())
    }

    /// Whether the conditions hold whose last parameter is the last one that is chosen.
    fn holds(&self, chosen: &[usize], names: &Names) -> Result<bool, FileError> {
        for condition in self.conditions.iter().filter(|one| one.depth == chosen.len()) {
            match names.holds(&condition.text) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(reason) => {
                    let reason = expression(&condition.text, format!("with {}: {reason}", self.text(chosen)));
                    let (file, location) = (self.file.clone(), condition.location);
                    return Err(FileError { file, location, reason: Box::new(reason) });
                }
            }
        }
        Ok(true)
    }

    /// Puts the values of a combination into the options. Returns the index of its work-group size in `local`.
    pub(crate) fn apply(
        &self,
        chosen: &[usize],
        table: &Table<'_>,
        options: &mut BuildOptions,
    ) -> Result<Option<usize>, FileError> {
        let mut local = None;
        for (dimension, index) in self.dimensions.iter().zip(chosen) {
            match dimension.name.as_str() {
                LOCAL => local = Some(*index),
                OPTIONS => {
                    let item = table.get(OPTIONS).and_then(|item| item.items().nth(*index));
                    let more = item.map_or(Ok(""), |item| item.string_or_empty())?;
                    let more = BuildOptions::parse(more).unwrap_or_default();
                    for (name, value) in more.defines {
                        options.define(&name, &value);
                    }
                    options.includes.extend(more.includes);
                    options.flags.extend(more.flags);
                }
                name => options.define(name, &dimension.values[*index]),
            }
        }
        Ok(local)
    }

    /// Remembers which of the work-group sizes is the file's own. Each is as `sizes` reads it; `None` is the driver's
    /// choice.
    pub(crate) fn set_own_local(
        &mut self,
        table: &Table<'_>,
        own: Option<&[usize]>,
        sizes: impl Fn(&Item<'_>) -> Result<Option<Vec<usize>>, FileError>,
    ) -> Result<(), FileError> {
        let (Some(dimension), Some(item)) =
            (self.dimensions.iter().position(|one| one.name == LOCAL), table.get(LOCAL))
        else {
            return Ok(());
        };
        for (index, item) in item.items().enumerate() {
            if sizes(&item)?.as_deref() == own && self.own[dimension].is_none() {
                self.own[dimension] = Some(index);
            }
        }
        Ok(())
    }
}

/// Whether an item of `local` leaves the size to the driver.
pub(crate) fn is_drivers_choice(item: &Item<'_>) -> bool {
    item.as_string() == Some(DRIVER)
}

/// Checks that what is compared is memory with a name: `known` has the names of all of it.
pub(crate) fn check_compared(table: &Table<'_>, known: &[&str]) -> Result<(), FileError> {
    let Some(item) = table.get("compare") else { return Ok(()) };
    for (item, ComparedResult { name, .. }) in item.items().zip(compared(&item)?) {
        if !known.contains(&name.as_str()) {
            let near = suggestion(nearest(&name, known.iter().copied()));
            let want = format!("the name of a buffer or image, or sum(NAME){near}");
            return Err(item
                .error(ReadReason::Impossible { key: "compare".to_owned(), found: name, want })
                .into());
        }
    }
    Ok(())
}
