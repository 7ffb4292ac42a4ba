//! The analysis in a browser: the page of `scripts/web`, opened in Chromium, answers what the command writes, to the byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::Bench;
use crate::browser::Browser;

/// Every thirteenth program of the ladders is compared.
const EACH: usize = 13;

/// One of each kind of shader core, and of each vendor.
const GPUS: [&str; 6] = ["Mali-T860", "Mali-G52", "Mali-G77", "Mali-G720", "Adreno 640", "Adreno 740"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The built page in a browser; `None` without a browser or Rust's target for WebAssembly.
fn page() -> Option<Browser> {
    let built = Command::new(root().join("scripts/web")).output().unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    if built.status.code() == Some(2) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_WASM").is_none(), "{said}");
        eprintln!("skipped: {said}");
        return None;
    }
    assert!(built.status.success(), "{said}");
    let mut browser = Browser::start()?;
    browser.open(&format!("file://{}/target/web/index.html", root().display()), 1280, "light");
    browser.evaluate("started.then(() => true)");
    Some(browser)
}

/// A module, and what the command writes about it.
struct Case<'b> {
    bench: &'b Bench,
    /// The module in the page: an expression.
    module: String,
    left_out: Value,
    /// Whether the command has a compiler.
    compiles: bool,
}

impl Case<'_> {
    fn ask(&self, browser: &mut Browser, request: &Value) -> String {
        let asked = browser.evaluate(&format!("state.analyzer.ask({request}, {})", self.module));
        asked.as_str().unwrap().to_owned()
    }

    /// Compares what both say with options of the command, of which `request` has the same.
    fn compare(&self, browser: &mut Browser, options: &[String], mut request: Value) {
        let gpus = GPUS.join(",");
        let mut command = self.bench.command(&["analyze", "ladder.spv", "--format", "json", "-g", &gpus]);
        command.args(options);
        if !self.compiles {
            command
                .env("PATH", self.bench.path())
                .env_remove("TRIPIPE_CLANG")
                .env_remove("TRIPIPE_LLVM_SPIRV");
        }
        let run = command.output().unwrap();
        assert!(run.status.success(), "{options:?}: {}", String::from_utf8_lossy(&run.stderr));
        let native = String::from_utf8(run.stdout).unwrap();
        assert!(native.lines().count() >= GPUS.len(), "{native}");
        request["ask"] = "analyze".into();
        request["program"] = "ladder.spv".into();
        request["gpus"] = json!(GPUS);
        request["left_out"] = self.left_out.clone();
        assert_eq!(self.ask(browser, &request), native, "{options:?}");
    }

    /// Compares all kernels, and each with numbers for what a launch decides.
    fn compare_all(&self, browser: &mut Browser) {
        self.compare(browser, &[], json!({}));
        let kernels = self.ask(browser, &json!({ "ask": "kernels" }));
        let kernels: Value = serde_json::from_str(&kernels).unwrap();
        for kernel in kernels.as_array().unwrap() {
            let mut request = json!({ "kernel": kernel["name"], "arguments": {} });
            let mut options = vec!["-k".to_owned(), kernel["name"].as_str().unwrap().to_owned()];
            for (value, name) in (64..).step_by(16).zip(kernel["integers"].as_array().unwrap()) {
                let name = name.as_str().unwrap();
                request["arguments"][name] = value.into();
                options.extend(["--arg".to_owned(), format!("{name}={value}")]);
            }
            if kernel["required_local_size"].is_null() {
                request["local"] = json!([16, 4]);
                options.extend(["--local".to_owned(), "16,4".to_owned()]);
            }
            self.compare(browser, &options, request);
        }
    }
}

// One test, because the page is built once.
#[test]
fn the_page_says_what_the_command_says_and_draws_each_choice() {
    let Some(mut browser) = page() else { return };
    draws_each_choice(&mut browser);
    says_what_the_command_says(&mut browser);
}

fn says_what_the_command_says(browser: &mut Browser) {
    let bench = Bench::new();
    let programs = browser.evaluate("LADDERS.programs.map(({ key, left_out }) => ({ key, left_out }))");
    let programs = programs.as_array().unwrap();
    assert!(programs.len() > 80, "{}", programs.len());
    let without = browser.evaluate("AS_WRITTEN");
    for (at, program) in programs.iter().enumerate().step_by(EACH) {
        let key = program["key"].as_str().unwrap();
        let module = fs::read(root().join(format!("crates/ladders/spirv/{key}.spv"))).unwrap();
        bench.write("ladder.spv", &module);
        // The page's own module, and the stored one as a reader would choose it.
        let own = Case {
            bench: &bench,
            module: format!("bytesOf(LADDERS.programs[{at}].module)"),
            left_out: program["left_out"].clone(),
            compiles: program["left_out"] != without,
        };
        own.compare_all(browser);
        let module = format!("new Uint8Array({module:?})");
        Case { bench: &bench, module, left_out: without.clone(), compiles: false }.compare_all(browser);
    }
}

/// At two widths; a choice that is not possible is refused with a sentence.
fn draws_each_choice(browser: &mut Browser) {
    let url = format!("file://{}/target/web/index.html", root().display());
    let choose = |id: &str, value: &str| {
        format!(
            "at('{id}').value = '{value}', at('{id}').dispatchEvent(new Event('change', {{ bubbles: true }}))"
        )
    };
    for width in [1280, 390] {
        browser.open(&url, width, "dark");
        browser.evaluate("started.then(() => true)");
        let text = "at('result').textContent";
        assert!(browser.evaluate(text).as_str().unwrap().contains("threads fit a core"));
        browser.evaluate(&choose("gpu", "Adreno 640"));
        browser.evaluate(&choose("other", "all"));
        let said = browser.evaluate(text);
        assert!(
            said.as_str().unwrap().contains("on Adreno 640") && said.as_str().unwrap().contains("Mali-T860")
        );
        browser.evaluate(&choose("local", "0"));
        let refused = browser.evaluate("at('failure').textContent");
        assert!(refused.as_str().unwrap().contains("at least 1 work-item"), "{refused}");
        // By the keyboard.
        browser.evaluate("at('local').value = '', at('local').focus()");
        browser.press("8", 56, "8");
        browser.press("Enter", 13, "\r");
        assert_eq!(browser.evaluate("at('failure').textContent"), "");
        assert_eq!(browser.evaluate("at('command').textContent.endsWith(' --local 8')"), true);
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} of {width}");
    }
    // Bytes that are no module are refused with a sentence.
    browser.evaluate("choose({ file: 'no.spv', module: new Uint8Array([1, 2, 3, 4]), sources: {} })");
    let refused = browser.evaluate("at('failure').textContent");
    assert!(refused.as_str().unwrap().contains("the module"), "{refused}");
    let faults: Vec<&Value> =
        browser.events.iter().filter(|event| event["method"] == "Runtime.exceptionThrown").collect();
    assert!(faults.is_empty(), "{faults:?}");
}
