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
    let said = "after.json takes 1.50 times as long as before.json: 1.00 ms before, 1.50 ms after (fastest step at 64x64).";
    assert!(page.contains(&format!("<p class=\"verdict worse\">{said}</p>")), "{page}");
    assert!(page.contains(">1.50</td>"), "{page}");
    // Other devices are no change.
    let other = shown(&[files[0].clone(), ("g77.json", ladder("Mali-G77", [2e-3, 1e-3]).to_string())]);
    assert!(!other.contains("times as long as") && other.contains("Side by side"), "{other}");
}

#[test]
fn many_documents_make_one_page() {
    let lines: Vec<String> =
        (0..50).map(|index| ladder(&format!("GPU {index}"), [2e-3, 1e-3]).to_string()).collect();
    let page = shown(&[("all.json", lines.join("\n"))]);
    // All are visible, and the switch is not, unless a script runs.
    assert_eq!(page.matches("class=\"panel\"").count(), 50);
    assert_eq!(page.matches("<fieldset class=\"switch\"").count(), page.matches(" hidden><legend>").count());
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
    // The command is not guessed.
    let mut nameless = ladder("Mali-T604", [2e-3, 1e-3]);
    nameless.as_object_mut().unwrap().remove("command");
    assert!(matches!(refused(&nameless.to_string()), PageError::Foreign { .. }));
}

/// The launches of an application: one kernel predicted, one measured, one without a time.
const WHY: &str = include_str!("../why.json");

/// Results of the other commands, the smallest ones.
fn others() -> Vec<Value> {
    let path = json!({ "columns": { "A": 22.5, "LS": "12 + 7 n" }, "messages": 3.0, "bound": "A" });
    vec![
        json!({ "command": "simulate", "gpu": "Mali-T604", "kernel": "blur", "program": "blur.cl",
            "global": [64, 64, 1], "local": [8, 8, 1], "seconds": 2e-3, "error_band": [1e-3, 3e-3], "limiter": "LS",
            "shares": { "A": 0.25, "LS": 0.9, "DRAM": 0.1 }, "occupancy": 0.5, "registers": 8, "groups": 64,
            "played_groups": 32,
            "peaks": { "operations_per_second": 40e9, "dram_bytes_per_second": 12e9, "pipes": { "A": 20e9 } },
            "played_traffic": { "l1_accesses": 10, "l1_hits": 5, "texture_accesses": 0, "texture_hits": 0,
                "l2_accesses": 5, "l2_hits": 4, "dram_read_bytes": 4096, "dram_written_bytes": 4096, "tlb_misses": 1 },
            "what_if": [
                { "change": "clock=800", "seconds": 1e-3, "gain": 2.0 }, { "change": "cores=9", "error": "no" }
            ] }),
        json!({ "command": "simulate", "gpu": "Mali-G31", "kernel": "blur", "global": [64, 64, 1], "limiter": null,
            "seconds": null, "error": "it needs double precision" }),
        json!({ "command": "analyze", "kernel": "blur", "gpu": "Mali-T604", "total": path, "shortest_path": path,
            "longest_path": path, "registers": { "used": 8, "max": 16, "threads": 128, "max_threads": 256 },
            "lines": [{ "file": "blur.cl", "line": 7, "text": "sum += a[i] < b;", "columns": { "A": 3.0, "LS": "n" } }],
            "advice": [
                { "code": "narrow-access", "severity": "warning", "line": 7, "message": "9 loads", "fix": "One." }
            ] }),
        json!({ "command": "peaks", "device": "Mali-T604", "peaks": [
            { "name": "mad float", "width": 4, "value": 32e9, "unit": "operations/s", "theoretical": 40e9 },
            { "name": "empty kernel", "width": null, "value": 1e-6, "unit": "s" }], "transfers": null }),
        json!({ "command": "check", "launches": [{ "kernel": "blur", "global": [64, 1, 1], "local": [16, 1, 1] }],
            "checks": ["data-race"], "errors": 1, "warnings": 0, "notes": 0, "findings": [{ "code": "data-race",
            "severity": "error", "message": "two work-items write", "count": 64, "kernel": "blur",
            "location": { "file": "blur.cl", "line": 6, "column": 14, "text": "    out[i] = zw\u{f6}lf < sum;",
                "first_line": 5, "lines": ["    sum += 1;", "    out[i] = zw\u{f6}lf < sum;", "}"] } }] }),
        json!({ "command": "compare", "capture": "own.csv", "gpu": "Mali-G77", "kernel": "blur", "launches": 2,
            "seconds": 1e-3, "error_band": [9e-4, 2e-3], "rows": [
            { "row": "GPU active", "measured": 200.0, "predicted": 100.0, "ratio": 2.0, "reason": null,
                "counter": { "title": "GPU active cycles", "group": "GPU", "unit": "cycles", "basis": "exact" } },
            { "row": "Pixels", "measured": 4.0, "predicted": null, "ratio": null, "counter": null,
                "reason": "only graphics moves it" }] }),
        serde_json::from_str(WHY).unwrap(),
        json!({ "command": "histogram", "picture": "a.png",
            "channels": [{ "name": "gray", "min": 0, "counts": [1, 2] }] }),
    ]
}

#[test]
fn every_command_has_its_section() {
    let lines: Vec<String> = others().iter().map(Value::to_string).collect();
    let page = shown(&[("all.json", lines.join("\n"))]);
    for said in [
        "blur takes 2.00 ms on Mali-T604; a measurement is expected between 1.00 ms and 3.00 ms. Limited by LS.",
        "Mali-G31: no time, because it needs double precision.",
        // A quarter of 20 G instructions per second is 5 G; in 2 ms 10 M for 16384 bytes: 2 * 8192, because half of the
        // work-groups were played.
        "<th scope=\"row\">A</th><td class=\"number\" data-key=\"610.3515625\">610</td>",
        "roof of A",
        "DRAM moves 0.008 of 12.0 GB/s.",
        "blur is bound by A on Mali-T604: 22.5 cycles on its longest path; 128 of 256 threads fit a core.",
        "<code>sum += a[i] &lt; b;</code>",
        "12 + 7 n",
        "Mali-T604 reaches 32.0 GFLOP/s of float multiply-adds.",
        ">80%</span>",
        "blur: 1 error, 0 warnings and 0 notes.",
        "<span class=\"at\">\n6 </span>    out[i] = <mark>zw\u{f6}lf</mark> &lt; sum;",
        "<span class=\"near\"><span class=\"at\">\n5 </span>    sum += 1;</span>",
        // Advice leads to its line.
        "<a href=\"#source-",
        "0 of 1 compared counters are within a factor of 1.25 of the prediction. Furthest off: GPU active cycles (2.00 \
         times the prediction).",
        "only graphics moves it",
        "6 launches take 8.00 ms, in part measured, else predicted for Mali-G77. blur 64x32 takes 75% of it, limited by LS.",
        "narrow-access: 9 loads. Load vectors.",
        "launches/copy.toml: it needs double precision",
        "Result of histogram",
    ] {
        assert!(page.contains(said), "{said} is not in {page}");
    }
}

/// Without published figures of its family, a prediction has no band.
#[test]
fn what_is_not_known_has_no_band() {
    // The prediction and the capture.
    let lines = [0, 5].map(|at| {
        let mut unknown = others()[at].clone();
        unknown["error_band"] = Value::Null;
        unknown.to_string()
    });
    let page = shown(&[("all.json", lines.join("\n"))]);
    let said =
        "how far a measurement may be from this is not known, because none of the GPU's family is published";
    assert!(page.contains(&format!("blur takes 2.00 ms on Mali-T604; {said}. Limited by LS.")), "{page}");
    assert!(!page.contains("error band") && !page.contains("is expected"), "{page}");
}

#[test]
fn the_cpu_path_names_its_rates() {
    let row = |name: &str, value: f64, unit: &str| json!({ "name": name, "width": null, "value": value, "unit": unit });
    let cpu = json!({ "command": "peaks", "device": "cpu", "peaks": [
        row("memory copy, one thread", 5e9, "bytes/s"), row("memory copy, all threads", 9e9, "bytes/s"),
        row("mad float, one thread", 20e9, "operations/s"), row("mad float, all threads", 64e9, "operations/s")] });
    let page = shown(&[("cpu.json", cpu.to_string())]);
    let said = "cpu reaches 64.0 GFLOP/s of float multiply-adds, 9.00 GB/s copied.";
    assert!(page.contains(said), "{page}");
}

/// Two pipes may be equally busy: their cycles are those of each.
#[test]
fn a_tie_of_pipes_has_its_cycles() {
    let mut tie = others()[2].clone();
    for path in ["total", "shortest_path", "longest_path"] {
        tie[path] =
            json!({ "columns": { "A": 22.5, "SFU": 22.5, "LS": 3.0 }, "messages": 3.0, "bound": "A, SFU" });
    }
    let mut after = tie.clone();
    after["longest_path"]["columns"] = json!({ "A": 45.0, "SFU": 10.0, "LS": 3.0 });
    let mut other = others()[2].clone();
    other["gpu"] = "Mali-T760".into();
    let page = shown(&[("old.json", format!("{tie}\n{other}")), ("new.json", after.to_string())]);
    for said in [
        "blur is bound by A, SFU on Mali-T604: 22.5 cycles on its longest path",
        "new.json takes 2.00 times as long as old.json: 22.5 before, 45.0 after (cycles of the pipe that bounds).",
        "<td>A, SFU</td><td class=\"number\" data-key=\"22.5\">22.5</td>",
    ] {
        assert!(page.contains(said), "{said} is not in {page}");
    }
}

/// Every command shows what changed under the same heading.
#[test]
fn differences_have_a_heading() {
    let tune = json!({ "command": "tune", "family": "gemm", "subject": "64x64x64", "device": "Mali-T604",
        "predicted": true, "not_tried": 0, "complete": true,
        "candidates": [{ "parameters": "a=1", "seconds": 1e-3 }] });
    let all = [
        others()[0].clone(),
        others()[2].clone(),
        others()[3].clone(),
        others()[6].clone(),
        tune,
        ladder("Mali-T604", [2e-3, 1e-3]),
    ];
    for document in all {
        let page = shown(&[("old.json", document.to_string()), ("new.json", document.to_string())]);
        assert_eq!(page.matches("<h3>Differences</h3>").count(), 1, "{document}");
    }
}

#[test]
fn results_of_one_command_in_two_files_are_compared() {
    let mut after = others();
    after[0]["seconds"] = 1e-3.into();
    after[2]["longest_path"]["columns"]["A"] = 30.0.into();
    after[3]["peaks"][0]["value"] = 16e9.into();
    let join = |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let page = shown(&[("old.json", join(&others())), ("new.json", join(&after))]);
    // The time is halved, and so is the time of each resource, which only explains it; a cost is higher; a rate is halved.
    for said in [
        "<p class=\"verdict better\">new.json is 2.00 times as fast as old.json: 2.00 ms before, 1.00 ms after (time).</p>",
        "new.json takes 1.33 times as long as old.json: 22.5 before, 30.0 after (cycles of the pipe that bounds).",
        "<p class=\"verdict worse\">From old.json to new.json: 1 of 1 figures are worse and 0 are better",
    ] {
        assert!(page.contains(said), "{said} is not in {page}");
    }
    let judged = page.matches("<td class=\"better\">better</td>").count();
    assert_eq!(judged, 1, "the time alone, not the time of each resource");
}

#[test]
fn hostile_text_of_every_command_stays_text() {
    fn poison(value: &mut Value) {
        match value {
            Value::String(text) => *text = format!("{text}</script><script>alert(1)</script><img src=x>"),
            Value::Array(all) => all.iter_mut().for_each(poison),
            Value::Object(all) => {
                all.iter_mut().filter(|(key, _)| *key != "command").for_each(|(_, own)| poison(own));
            }
            _ => {}
        }
    }
    let mut all = others();
    let join = |all: &[Value]| all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let harmless = shown(&[("a.json", join(&all))]).matches("<script").count();
    all.iter_mut().for_each(poison);
    let page = shown(&[("a.json", join(&all))]);
    assert_eq!((page.matches("<script").count(), page.matches("<img").count()), (harmless, 0));
}

/// A number of an element, such as `width="12"`.
fn attribute(element: &str, name: &str) -> f64 {
    element.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
}

#[test]
fn the_launches_of_an_application_are_bars_beside_their_ceilings() {
    let page = shown(&[("why.json", WHY.to_owned())]);
    let charts: Vec<&str> = page.split("<figure>").skip(1).collect();
    let figures: Vec<&str> = charts.iter().map(|chart| chart.split("<svg").nth(1).unwrap()).collect();
    let [all, one] = figures[..] else { panic!("{} charts", figures.len()) };
    let bars = |svg: &str, ink: &str| -> Vec<[f64; 3]> {
        let of_ink = svg.split("<rect").skip(1).filter(|rest| rest.split('>').next().unwrap().contains(ink));
        of_ink.map(|bar| ["x", "y", "width"].map(|name| attribute(bar, name))).collect()
    };
    // All launches: 6 ms, 3 ms at the ceiling; below it 2 ms. One launch: 2 and 1 ms; below it 1 ms.
    for (svg, ratio) in [(all, 3.0), (one, 2.0)] {
        let (predicted, measured) = (bars(svg, "#01000A"), bars(svg, "#01000B"));
        let ([long], [short]) = (&predicted[..], &measured[..]) else { panic!("{svg}") };
        assert!((long[2] - ratio * short[2]).abs() <= ratio + 1.0, "{long:?} {short:?}");
        assert!(long[0] == short[0] && long[1] < short[1], "the longest is above");
        let points: Vec<&str> = svg.split("<circle").skip(1).collect();
        let [point] = points[..] else { panic!("{svg}") };
        assert!((attribute(point, "cx") - (long[0] + long[2] / 2.0)).abs() <= 2.0, "{point}");
    }
    assert!(!all.contains(">copy 64<"), "what has no time has no bar");
    for said in ["at the ceiling", "where a measurement is expected", "predicted", "measured"] {
        assert!(charts[0].split("</figure>").next().unwrap().contains(said), "{said}");
    }
    // A file of before: 12 ms are halved, and the others stay.
    let before = WHY.replace("\"seconds\": 6e-3", "\"seconds\": 12e-3");
    let page = shown(&[("before.json", before), ("after.json", WHY.to_owned())]);
    assert!(
        page.contains("after.json is 1.75 times as fast as before.json: 14.0 ms before, 8.00 ms after"),
        "{page}"
    );
    let nothing = r#"{"command": "why", "gpu": "Mali-G77", "launches": []}"#;
    assert!(
        shown(&[("why.json", nothing.to_owned())]).contains("None of 0 launches has a time on Mali-G77.")
    );
    let many: Vec<String> =
        (1..=40).map(|n| format!("{{\"kernel\": \"k{n}\", \"launches\": 1, \"seconds\": {n}}}")).collect();
    let many = format!("{{\"command\": \"why\", \"gpu\": \"Mali-G77\", \"launches\": [{}]}}", many.join(","));
    let page = shown(&[("why.json", many)]);
    assert!(page.contains("beside its ceiling: the longest 30 of 40"));
    assert!(page.contains(">k11</text>") || page.contains("k11\n</text>"), "the thirtieth");
}

/// Results that have no page of their own are tables; an object within a row is a list, not JSON.
#[test]
fn no_cell_is_json() {
    let nested = json!({ "command": "verdict", "file": "a.toml", "kernel": "x", "global": [1, 1, 1], "local": [1, 1, 1],
        "verdict": "same", "findings": [], "left_out": [],
        "memory": [{ "name": "out", "first": [{ "index": [8, 8], "kind": "wrong" }] }] });
    let page = shown(&[("a.json", nested.to_string())]);
    assert!(!page.contains("{&quot;") && !page.contains("[{"), "{page}");
    for said in ["index: </span>8, 8", "kind: </span>wrong"] {
        assert!(page.contains(said), "{said}: {page}");
    }
}
