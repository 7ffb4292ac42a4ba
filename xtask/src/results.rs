//! Writes the classes of Python for the results of commands, from the schema that `tripipe-results` holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::MetadataCommand;
use serde_json::{Map, Value};

/// The schema, which a test of `tripipe-results` keeps up to date.
const SCHEMA: &str = "docs/results.schema.json";
/// The classes.
const CLASSES: &str = "bindings/python/python/tripipe/workbench/_schema.py";

/// The results that the package has functions for; the classes are these and those of their fields.
const RESULTS: [&str; 6] = ["CheckReport", "Analysis", "Prediction", "Refusal", "Search", "Improved"];

/// Classes whose properties and texts are written by hand, in `_methods.py`.
const WITH_METHODS: [&str; 6] = ["Advice", "Analysis", "CheckReport", "Finding", "Prediction", "Search"];

/// Keys whose field has another name, because theirs is a word of Python or says too little: the class (any if empty),
/// the key, and the field.
const RENAMED: [(&str, &str, &str); 4] = [
    ("WorkItem", "global", "id"),
    ("", "global", "global_size"),
    ("", "local", "local_size"),
    ("", "candidates", "trials"),
];

/// The keys that the classes do not have: which command and version it is was checked before.
const LEFT_OUT: [&str; 2] = ["command", "version"];

/// Writes the classes.
///
/// # Errors
/// There is no schema, or it has something that has no type in Python; the file cannot be written.
pub(crate) fn write() -> Result<String> {
    let metadata = MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let root = &metadata.workspace_root;
    let schema = fs::read_to_string(root.join(SCHEMA)).context(SCHEMA)?;
    fs::write(root.join(CLASSES), classes(&schema)?).context(CLASSES)?;
    Ok(format!("results: {CLASSES} has the classes of {SCHEMA}"))
}

/// The module with the classes; those of fields come before those that have them.
fn classes(schema: &str) -> Result<String> {
    let schema: Value = serde_json::from_str(schema).context(SCHEMA)?;
    let definitions = schema["$defs"].as_object().context("the schema has no definitions")?;
    let mut module =
        Module { definitions, done: BTreeSet::new(), keys: BTreeMap::new(), body: String::new() };
    for name in RESULTS {
        module.add(name)?;
    }
    let keys: Vec<String> = module
        .keys
        .iter()
        .map(|(class, keys)| format!("    \"{class}\": {{{}}},\n", keys.join(", ")))
        .collect();
    let methods: Vec<String> = WITH_METHODS.iter().map(|name| format!("{name}Methods")).collect();
    Ok(format!(
        "\"\"\"Results of the command `tripipe`. Written by `cargo xtask results` from {SCHEMA}.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Mapping\n\
         from dataclasses import dataclass\n\
         from typing import Union\n\n\
         from ._methods import (\n    {},\n)\n\n\
         KEYS: dict[str, dict[str, str]] = {{\n{}}}\n\"\"\"The keys of each class's fields that have another name.\"\"\"\n{}",
        methods.join(",\n    "),
        keys.concat(),
        module.body
    ))
}

/// The classes so far.
struct Module<'s> {
    definitions: &'s Map<String, Value>,
    /// The definitions that have a class or a type.
    done: BTreeSet<&'s str>,
    /// The fields of each class that have another name than their keys, with these.
    keys: BTreeMap<&'s str, Vec<String>>,
    body: String,
}

impl<'s> Module<'s> {
    /// Adds the class of a definition, after those of its fields.
    fn add(&mut self, name: &str) -> Result<()> {
        let (name, definition) =
            self.definitions.get_key_value(name).with_context(|| format!("the schema has no {name}"))?;
        if !self.done.insert(name) {
            return Ok(());
        }
        let about = description(definition);
        if let Some(kinds) = definition["anyOf"].as_array() {
            let kinds: Vec<String> = kinds.iter().map(|kind| self.kind(kind)).collect::<Result<_>>()?;
            write!(self.body, "\n{name} = Union[{}]\n\"\"\"{about}\"\"\"\n", kinds.join(", "))?;
            return Ok(());
        }
        let required: Vec<&str> =
            definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let (mut fields, mut optional) = (String::new(), String::new());
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            if LEFT_OUT.contains(&key.as_str()) || property["type"] == "null" {
                continue;
            }
            let field = renamed(name, key);
            if field != key {
                self.keys.entry(name).or_default().push(format!("\"{field}\": \"{key}\""));
            }
            let (kind, about) = (self.kind(property)?, description(property));
            let (fields, default) = match (required.contains(&key.as_str()), property["type"] == "array") {
                (true, _) => (&mut fields, ""),
                (false, true) => (&mut optional, " = ()"),
                (false, false) => (&mut optional, " = None"),
            };
            writeln!(fields, "    {field}: {kind}{default}\n    \"\"\"{about}\"\"\"")?;
        }
        let base =
            if WITH_METHODS.contains(&name.as_str()) { format!("({name}Methods)") } else { String::new() };
        write!(
            self.body,
            "\n\n@dataclass(frozen=True)\nclass {name}{base}:\n    \"\"\"{about}\"\"\"\n\n{fields}{optional}"
        )?;
        Ok(())
    }

    /// The type of a value, whose classes are added.
    fn kind(&mut self, schema: &'s Value) -> Result<String> {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.trim_start_matches("#/$defs/");
            self.add(name)?;
            return Ok(name.to_owned());
        }
        if let Some(kinds) = schema["anyOf"].as_array() {
            let kinds: Vec<String> = kinds.iter().map(|kind| self.kind(kind)).collect::<Result<_>>()?;
            return Ok(kinds.join(" | "));
        }
        if let Some(names) = schema["type"].as_array() {
            let kinds: Vec<String> = names
                .iter()
                .map(|name| self.simple(name.as_str().unwrap_or_default(), schema))
                .collect::<Result<_>>()?;
            return Ok(kinds.join(" | "));
        }
        self.simple(schema["type"].as_str().unwrap_or_default(), schema)
    }

    fn simple(&mut self, name: &str, schema: &'s Value) -> Result<String> {
        Ok(match name {
            "null" => "None".to_owned(),
            "string" => "str".to_owned(),
            "boolean" => "bool".to_owned(),
            "integer" => "int".to_owned(),
            "number" => "float".to_owned(),
            "array" => {
                let item = self.kind(&schema["items"])?;
                match schema["maxItems"].as_u64() {
                    Some(count) => format!("tuple[{}]", vec![item; count as usize].join(", ")),
                    None => format!("tuple[{item}, ...]"),
                }
            }
            "object" if schema["additionalProperties"].is_object() => {
                format!("Mapping[str, {}]", self.kind(&schema["additionalProperties"])?)
            }
            _ => bail!("{schema} has no type in Python"),
        })
    }
}

fn description(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ")
}

/// The field of a key.
fn renamed<'k>(class: &str, key: &'k str) -> &'k str {
    let own = RENAMED.iter().find(|(of, from, _)| (of.is_empty() || *of == class) && *from == key);
    // The other IDs of a work-item are no sizes.
    own.filter(|(of, ..)| class != "WorkItem" || *of == class).map_or(key, |(.., field)| field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classes_of_python_are_those_of_the_schema() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
        let read = |path: &str| fs::read_to_string(format!("{root}{path}")).unwrap();
        assert!(classes(&read(SCHEMA)).unwrap() == read(CLASSES), "{CLASSES} differs; cargo xtask results");
    }
}
