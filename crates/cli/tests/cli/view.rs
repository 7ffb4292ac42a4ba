//! `tripipe view`, and `--format html`.

use crate::Bench;

const LADDER: [&str; 9] =
    ["ladder", "vector-add", "--device", "cpu", "--sizes", "4096", "--runs", "2", "--warmup=0"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    LADDER.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn a_saved_result_becomes_the_page_of_its_command() {
    let bench = Bench::new();
    let json = bench.succeed(&with(&["--format", "json"]));
    bench.write("ladder.json", &json);
    assert_eq!(bench.succeed(&["view", "ladder.json"]), "tripipe.html: 1 result of 1 file\n");
    let page = String::from_utf8(bench.read("tripipe.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<title>Ladder vector-add</title>"));
    assert_eq!(bench.succeed(&["view", "ladder.json", "-o", "-"]), page);
    // The same figures in the same form, whether the page comes from the command or from its JSON.
    assert_eq!(bench.succeed(&with(&["--format", "html", "-o", "direct.html"])), "");
    let direct = String::from_utf8(bench.read("direct.html")).unwrap();
    assert_eq!(direct.matches("<svg").count(), page.matches("<svg").count());
    assert_eq!(direct.matches("<tr").count(), page.matches("<tr").count());
}

#[test]
fn files_of_one_device_are_compared() {
    let bench = Bench::new();
    let json = bench.succeed(&with(&["--format", "json"]));
    bench.write("before.json", &json);
    bench.write("after.json", json.replace("\"seconds\":[", "\"seconds\":[1"));
    let said = bench.succeed(&["view", "before.json", "after.json", "--output", "changes.html"]);
    assert_eq!(said, "changes.html: 2 results of 2 files\n");
    let page = String::from_utf8(bench.read("changes.html")).unwrap();
    assert!(page.contains("after.json takes ") && page.contains(" times as long as before.json: "), "{page}");
}

#[test]
fn bad_files_are_refused_and_leave_nothing() {
    let bench = Bench::new();
    let json = bench.succeed(&with(&["--format", "json"]));
    bench.write("good.json", &json);
    bench.write("empty.json", "");
    bench.write("cut.json", &json[..json.len() / 2]);
    bench.write("foreign.json", "{\"traceEvents\": []}");
    bench.write("page.html", "<!DOCTYPE html>");
    bench.write("bytes.json", [b'{', 0xff, b'}']);
    bench.write("deep.json", "[".repeat(100_000));
    bench.refuse(&["view"], &["FILE.json"]);
    bench.refuse(&["view", "missing.json"], &["missing.json", "cannot be read"]);
    bench.refuse(&["view", "."], &["is a folder"]);
    bench.refuse(&["view", "empty.json"], &["empty.json is empty", "--format json"]);
    bench.refuse(&["view", "good.json", "cut.json"], &["cut.json:1: not JSON"]);
    bench.refuse(&["view", "foreign.json"], &["foreign.json:1: not a result of a tripipe command"]);
    bench.refuse(&["view", "page.html"], &["page.html:1: not JSON"]);
    bench.refuse(&["view", "bytes.json"], &["bytes.json:1: not JSON", "UTF-8"]);
    bench.refuse(&["view", "deep.json"], &["deep.json:1: not JSON", "recursion"]);
    bench.refuse(&["view", "good.json", "-o", "no/folder.html"], &["no", "create it first"]);
    bench.refuse(&with(&["--format", "html", "-o", "no/folder.html"]), &["create it first"]);
}
