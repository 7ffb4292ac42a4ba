//! `docs/results.schema.json` is the schema of the structs. `BLESS=1` writes it; `cargo xtask results` then writes the
//! classes of Python.

#![cfg(feature = "schema")]
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use tripipe_results::Document;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.schema.json");

fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<Document>()).unwrap();
    remove_defaults(&mut schema);
    schema
}

/// What a reader takes for a missing key is no part of what commands write.
fn remove_defaults(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            // A property may have that name; the value of the keyword is never a schema.
            if keys.get("default").is_none_or(|default| default.get("description").is_none()) {
                keys.shift_remove("default");
            }
            keys.values_mut().for_each(remove_defaults);
        }
        Value::Array(all) => all.iter_mut().for_each(remove_defaults),
        _ => {}
    }
}

#[test]
fn the_stored_schema_is_that_of_the_structs() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        fs::write(PATH, &text).unwrap();
    }
    assert!(
        fs::read_to_string(PATH).is_ok_and(|stored| stored == text),
        "docs/results.schema.json differs; BLESS=1 cargo test -p tripipe-results --all-features, then cargo xtask results"
    );
}

#[test]
fn every_field_is_described() {
    fn check(schema: &Value, path: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_described = property["description"].is_string() || name == "command";
            assert!(is_described, "{path}.{name} has no description");
        }
        for inner in ["anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            check(inner, path);
        }
        for (name, inner) in schema["$defs"].as_object().into_iter().flatten() {
            check(inner, name);
        }
    }
    check(&schema(), "Document");
}

#[test]
fn all_commands_are_listed() {
    let schema = schema();
    let variants = schema["oneOf"].as_array().unwrap();
    let commands: Vec<&str> =
        variants.iter().map(|variant| variant["properties"]["command"]["const"].as_str().unwrap()).collect();
    assert_eq!(commands, Document::COMMANDS);
}
