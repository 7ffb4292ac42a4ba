//! Results without a page of their own: their JSON as tables. An object within a row is a list of names and values.

use serde_json::{Map, Value};

use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::Named;
use super::table::{Head, Table, TableCell};

/// The levels of objects in objects that become headings.
const LEVELS: usize = 3;

/// The results of one command.
pub(super) fn section(all: &[Named<'_, Value>], ids: &Ids) -> Section {
    let command = all[0].content["command"].as_str().unwrap_or_default();
    let body: Markup = all
        .iter()
        .map(|named| {
            let file = (all.len() > 1).then_some(named.file);
            let body = named.content.as_object().map_or_else(Markup::default, |own| object(own, 0, ids));
            markup! { @ if let Some(file) = file { p(class = "about") : file; } : &body; }
        })
        .collect();
    Section { id: ids.next(command), title: format!("Result of {command}"), body }
}

/// A key as words.
fn words(key: &str) -> String {
    key.replace('_', " ")
}

/// A short value on one line; `None` for objects and lists of objects.
fn short(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("–".to_owned()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(all) => {
            let all: Option<Vec<String>> = all.iter().map(short).collect();
            all.map(|all| all.join(", "))
        }
        Value::Object(_) => None,
    }
}

/// A value as names and values, however deep.
fn nested(value: &Value) -> Markup {
    if let Some(shown) = short(value) {
        return markup! { : shown; };
    }
    let items: Markup = match value {
        Value::Object(own) => own
            .iter()
            .map(|(key, value)| {
                let (key, value) = (words(key), nested(value));
                markup! { li { span(class = "about") { : &key; : ": "; } : &value; } }
            })
            .collect(),
        Value::Array(all) => all
            .iter()
            .map(|value| {
                let value = nested(value);
                markup! { li : &value; }
            })
            .collect(),
        _ => Markup::default(),
    };
    markup! { ul(class = "nested") : &items; }
}

fn cell(value: &Value) -> TableCell {
    match (value.as_f64(), short(value)) {
        (Some(number), Some(shown)) => TableCell::number(number, shown),
        (None, Some(shown)) if shown.chars().count() > 60 => TableCell::text(shown).with_class("wide-text"),
        (None, Some(shown)) => TableCell::text(shown),
        (_, None) => TableCell::markup(nested(value)).with_class("wide-text"),
    }
}

fn object(own: &Map<String, Value>, level: usize, ids: &Ids) -> Markup {
    let mut figures = Table::new("Figures", vec![Head::text("name"), Head::text("value")]);
    let mut parts = Vec::new();
    // The command is in the section's title.
    for (key, value) in own.iter().filter(|(key, _)| *key != "command") {
        match value {
            // Deeper objects stay within a cell, because more levels of headings do not help.
            Value::Object(inner) if level < LEVELS => {
                let (body, key) = (object(inner, level + 1, ids), words(key));
                parts.push(markup! { h3 : &key; : &body; });
            }
            Value::Array(rows) if rows.iter().any(Value::is_object) => parts.push(rows_of(key, rows, ids)),
            _ => figures.push(vec![TableCell::text(words(key)), cell(value)]),
        }
    }
    let parts: Markup = parts.into_iter().collect();
    let figures = if figures.is_empty() { Markup::default() } else { figures.draw(ids) };
    markup! { : &figures; : &parts; }
}

/// A list of objects as a table: a column for each key.
fn rows_of(key: &str, rows: &[Value], ids: &Ids) -> Markup {
    // A row may lack keys. A column is there if any row has it.
    let mut keys: Vec<&String> = Vec::new();
    for own in rows.iter().filter_map(Value::as_object) {
        keys.extend(own.keys().filter(|key| !keys.contains(key)).collect::<Vec<_>>());
    }
    let is_number = |key: &str| rows.iter().any(|row| row.get(key).is_some_and(Value::is_number));
    let heads = keys
        .iter()
        .map(|key| if is_number(key) { Head::number(words(key)) } else { Head::text(words(key)) })
        .collect();
    let mut table = Table::new(words(key), heads);
    for row in rows {
        table.push(keys.iter().map(|key| cell(row.get(key.as_str()).unwrap_or(&Value::Null))).collect());
    }
    table.draw(ids)
}
