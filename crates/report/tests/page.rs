//! Pages: what is read, what is refused, what is escaped.

use serde_json::{Value, json};
use tripipe_report::page::{PageError, page, read};

/// The smallest result of a ladder.
fn ladder(device: &str, seconds: [f64; 2]) -> Value {
    let step = |name: &str, seconds: f64, speedup: f64| json!({ "name": name, "verified": true, "seconds": [seconds], "speedup": [speedup] });
    json!({
        "command": "ladder", "ladder": "laplace", "device": device, "sizes": ["64x64"],
        "steps": [step("scalar", seconds[0], 1.0), step("vector", seconds[1], seconds[0] / seconds[1])],
    })
}

fn shown(files: &[(&str, String)]) -> String {
    let documents: Vec<_> = files.iter().flat_map(|(file, text)| read(file, text).unwrap()).collect();
    page(&documents)
}

#[test]
fn a_page_loads_nothing_and_is_one_file() {
    let page = shown(&[("a.json", ladder("Mali-T604", [2e-3, 1e-3]).to_string())]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains(
        "vector is the fastest of 2 steps on Mali-T604 at 64x64: 1.00 ms, 2.00 times as fast as scalar."
    ));
    for outside in ["src=", "@import", "url(", "<link rel=\"stylesheet\""] {
        assert!(!page.contains(outside), "{outside}");
    }
    let links = page.matches("http").filter(|_| true).count();
    // The namespace of SVG is a name, and the policy is a header.
    let names = page.matches("http://www.w3.org/2000/svg").count() + page.matches("http-equiv").count();
    assert_eq!(links, names);
}

#[test]
fn text_of_documents_stays_text() {
    let hostile = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&";
    let mut document = ladder(hostile, [2e-3, 1e-3]);
    for key in ["ladder", "about", "what"] {
        document[key] = hostile.into();
    }
    document["sizes"] = json!([hostile]);
    document["steps"][0]["name"] = hostile.into();
    document["steps"][0]["reason"] = json!([hostile]);
    let harmless = shown(&[("a.json", ladder("Mali-T604", [2e-3, 1e-3]).to_string())]);
    let page = shown(&[(hostile, document.to_string()), ("b", document.to_string())]);
    // Nothing but our own script and style, whatever the text.
    for tag in ["<script", "</script", "<style", "</style", "<title>", "<img"] {
        let allowed = if tag == "<title>" { 1 } else { harmless.matches(tag).count() };
        assert_eq!(page.matches(tag).count(), allowed, "{tag}");
    }
}

#[test]
fn the_differences_between_files_are_listed() {
    let files = [
        ("before.json", ladder("Mali-T604", [2e-3, 1e-3]).to_string()),
        ("after.json", ladder("Mali-T604", [2e-3, 1.5e-3]).to_string()),
    ];
    let page = shown(&files);
    let said = "From before.json to after.json: 1 of 2 figures are worse and 0 are better by more than 2%.";
    assert!(page.contains(said), "{page}");
    assert!(page.contains(">1.50</td>"), "{page}");
    // Other devices are no change.
    let other = shown(&[files[0].clone(), ("g77.json", ladder("Mali-G77", [2e-3, 1e-3]).to_string())]);
    assert!(!other.contains("figures are worse") && other.contains("Side by side"), "{other}");
}

#[test]
fn many_documents_make_one_page() {
    let lines: Vec<String> =
        (0..50).map(|index| ladder(&format!("GPU {index}"), [2e-3, 1e-3]).to_string()).collect();
    let page = shown(&[("all.json", lines.join("\n"))]);
    assert_eq!(page.matches("class=\"panel\"").count(), 50);
}

#[test]
fn strange_numbers_do_no_harm() {
    for seconds in [[0.0, 0.0], [-1.0, 1e300], [1e-300, 1e300], [f64::MAX, f64::MIN_POSITIVE]] {
        let page = shown(&[("a.json", ladder("Mali-T604", seconds).to_string())]);
        assert!(page.ends_with("</html>"));
    }
    let mut document = ladder("Mali-T604", [1.0, 1.0]);
    document["sizes"] = json!([]);
    document["steps"] = json!([]);
    assert!(shown(&[("a.json", document.to_string())]).contains("No step ran"));
}

#[test]
fn what_is_not_a_result_is_refused_with_its_location() {
    let refused = |text: &str| match read("x.json", text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error,
    };
    assert_eq!(refused(" \n"), PageError::Empty { file: "x.json".to_owned() });
    let whole = ladder("Mali-T604", [2e-3, 1e-3]).to_string();
    let cut = refused(&whole[..whole.len() / 2]).to_string();
    assert!(cut.starts_with("x.json:1: not JSON: EOF"), "{cut}");
    let foreign = refused(&format!("{whole}\n{{\"traceEvents\": []}}\n")).to_string();
    assert_eq!(foreign, "x.json:2: not a result of a tripipe command with --format json");
    assert!(matches!(refused("[1, 2]"), PageError::Foreign { line: 1, .. }));
    assert!(matches!(refused("{\"command\": \"dance\"}"), PageError::Foreign { .. }));
    let lacking = refused("{\"command\": \"ladder\", \"ladder\": \"laplace\"}").to_string();
    assert_eq!(
        lacking,
        "x.json:1: not a complete result of tripipe ladder --format json: missing field `device`"
    );
    // Results of older versions have no key `command`.
    let mut old = ladder("Mali-T604", [2e-3, 1e-3]);
    old.as_object_mut().unwrap().remove("command");
    assert!(read("old.json", &old.to_string()).is_ok());
}
