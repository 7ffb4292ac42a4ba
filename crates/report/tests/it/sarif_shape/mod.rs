//! The standard's requirements on the SARIF objects that are written here: their properties, which of them are
//! required, and their contents. From "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", OASIS
//! Standard, section 3; a property that is not listed here is not allowed, even if the standard has it.

use serde_json::Value;

/// The contents of a property.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    /// A URI with a scheme.
    Uri,
    /// A URI, or a relative reference without characters that need encoding.
    Reference,
    /// A whole number, at least this large.
    Number(i64),
    True,
    OneOf(&'static [&'static str]),
    Object(&'static str),
    /// Objects, at least this many.
    Objects(&'static str, usize),
    /// Texts with arbitrary names.
    Texts,
    /// A property bag.
    Bag,
}

use Kind::{Bag, Number, Object, Objects, OneOf, Reference, Text, Texts, True, Uri};

type Property = (&'static str, Kind, bool);

const LEVELS: Kind = OneOf(&["none", "note", "warning", "error"]);

/// Each object's properties, and whether they are required.
const OBJECTS: &[(&str, &[Property])] = &[
    (
        "sarifLog",
        &[("$schema", Uri, false), ("version", OneOf(&["2.1.0"]), true), ("runs", Objects("run", 0), true)],
    ),
    (
        "run",
        &[
            ("tool", Object("tool"), true),
            ("columnKind", OneOf(&["utf16CodeUnits", "unicodeCodePoints"]), false),
            ("invocations", Objects("invocation", 0), false),
            ("results", Objects("result", 0), false),
            ("properties", Bag, false),
        ],
    ),
    ("tool", &[("driver", Object("toolComponent"), true)]),
    (
        "toolComponent",
        &[
            ("name", Text, true),
            ("semanticVersion", Text, false),
            ("informationUri", Uri, false),
            ("rules", Objects("reportingDescriptor", 0), false),
        ],
    ),
    (
        "reportingDescriptor",
        &[
            ("id", Text, true),
            ("shortDescription", Object("multiformatMessageString"), false),
            ("help", Object("multiformatMessageString"), false),
            ("defaultConfiguration", Object("reportingConfiguration"), false),
        ],
    ),
    ("multiformatMessageString", &[("text", Text, true), ("markdown", Text, false)]),
    ("reportingConfiguration", &[("level", LEVELS, false)]),
    (
        "invocation",
        &[
            ("executionSuccessful", True, true),
            ("toolExecutionNotifications", Objects("notification", 0), false),
        ],
    ),
    ("notification", &[("level", LEVELS, false), ("message", Object("message"), true)]),
    ("message", &[("text", Text, true)]),
    (
        "result",
        &[
            ("ruleId", Text, false),
            ("ruleIndex", Number(0), false),
            ("level", LEVELS, false),
            ("message", Object("message"), true),
            ("locations", Objects("location", 0), false),
            ("relatedLocations", Objects("location", 0), false),
            ("codeFlows", Objects("codeFlow", 0), false),
            ("fixes", Objects("fix", 0), false),
            ("partialFingerprints", Texts, false),
            ("occurrenceCount", Number(1), false),
            ("properties", Bag, false),
        ],
    ),
    (
        "location",
        &[
            ("id", Number(0), false),
            ("physicalLocation", Object("physicalLocation"), false),
            ("logicalLocations", Objects("logicalLocation", 0), false),
            ("message", Object("message"), false),
        ],
    ),
    (
        "physicalLocation",
        &[
            ("artifactLocation", Object("artifactLocation"), true),
            ("region", Object("region"), false),
            ("contextRegion", Object("region"), false),
        ],
    ),
    ("artifactLocation", &[("uri", Reference, true)]),
    (
        "region",
        &[
            ("startLine", Number(1), true),
            ("startColumn", Number(1), false),
            ("endLine", Number(1), false),
            ("endColumn", Number(1), false),
            ("snippet", Object("artifactContent"), false),
        ],
    ),
    ("artifactContent", &[("text", Text, true)]),
    ("logicalLocation", &[("name", Text, false), ("kind", Text, false)]),
    ("codeFlow", &[("threadFlows", Objects("threadFlow", 1), true)]),
    ("threadFlow", &[("id", Text, false), ("locations", Objects("threadFlowLocation", 1), true)]),
    ("threadFlowLocation", &[("location", Object("location"), true)]),
    (
        "fix",
        &[("description", Object("message"), false), ("artifactChanges", Objects("artifactChange", 1), true)],
    ),
    (
        "artifactChange",
        &[
            ("artifactLocation", Object("artifactLocation"), true),
            ("replacements", Objects("replacement", 1), true),
        ],
    ),
    (
        "replacement",
        &[("deletedRegion", Object("region"), true), ("insertedContent", Object("artifactContent"), false)],
    ),
];

/// Panics if a log violates the standard; the message names the property.
pub(crate) fn check(log: &Value) {
    object(log, "sarifLog", "");
    for (index, run) in log["runs"].as_array().unwrap().iter().enumerate() {
        across(run, index);
    }
}

fn object(value: &Value, name: &str, path: &str) {
    let known = OBJECTS.iter().find(|entry| entry.0 == name).unwrap().1;
    let properties =
        value.as_object().unwrap_or_else(|| panic!("{path}: a {name} is an object, not {value}"));
    for key in properties.keys() {
        assert!(known.iter().any(|property| property.0 == key), "{path}: a {name} has no `{key}`");
    }
    for (key, kind, required) in known {
        match properties.get(*key) {
            Some(value) => property(value, *kind, &format!("{path}/{key}")),
            None => assert!(!required, "{path}: a {name} needs `{key}`"),
        }
    }
}

fn property(value: &Value, kind: Kind, path: &str) {
    let text = || value.as_str().unwrap_or_else(|| panic!("{path}: not a string: {value}"));
    match kind {
        Text => assert!(!text().is_empty(), "{path}: empty"),
        Uri => assert!(text().starts_with("https://"), "{path}: {value}"),
        Reference => {
            let uri = text();
            assert!(
                uri.is_ascii() && !uri.contains([' ', '\\', '<', '>', '"', '^', '`', '{', '}', '|']),
                "{path}: {uri}"
            );
        }
        Number(least) => assert!(value.as_i64().is_some_and(|number| number >= least), "{path}: {value}"),
        True => assert_eq!(*value, Value::Bool(true), "{path}"),
        OneOf(words) => assert!(words.contains(&text()), "{path}: {value}"),
        Object(name) => object(value, name, path),
        Objects(name, least) => {
            let values = value.as_array().unwrap_or_else(|| panic!("{path}: not an array: {value}"));
            assert!(values.len() >= least, "{path}: fewer than {least}");
            for (index, value) in values.iter().enumerate() {
                object(value, name, &format!("{path}/{index}"));
            }
        }
        Texts => assert!(value.as_object().unwrap().values().all(Value::is_string), "{path}: {value}"),
        Bag => assert!(value.is_object(), "{path}: {value}"),
    }
}

/// References between parts of a run: 3.27.6 (`ruleIndex`), 3.19.23 (unique rules), 3.28.2 (unique `id`s).
fn across(run: &Value, index: usize) {
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for (position, rule) in rules.iter().enumerate() {
        let first = rules.iter().position(|other| other["id"] == rule["id"]);
        assert_eq!(first, Some(position), "run {index}: two rules {}", rule["id"]);
    }
    for result in run["results"].as_array().unwrap() {
        let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"], "run {index}");
        let related = result["relatedLocations"].as_array().map_or([].as_slice(), Vec::as_slice);
        for (id, location) in related.iter().enumerate() {
            assert_eq!(location["id"], id, "run {index}: ids are unique");
        }
    }
}
