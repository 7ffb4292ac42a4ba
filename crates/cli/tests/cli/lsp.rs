//! `tripipe lsp`, spoken to over pipes as editors do.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::Bench;
use crate::fix::LAUNCH;
use crate::run_kernel::compiles;

/// A work-item for each byte, and an argument that is not used.
const INVERT: &str = "// A negative.
kernel void invert(global const uchar *in, global uchar *out, int width, int spare) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = 255 - in[y * width + x];
}
";

/// An editor.
struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: i64,
    root: String,
    /// Messages that came while an answer was waited for.
    heard: VecDeque<Value>,
}

impl Editor {
    fn start(bench: &Bench, arguments: &[&str]) -> Self {
        let mut command: Command = bench.command(&[&["lsp"], arguments].concat());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let root = format!("file://{}", bench.path().display());
        Self { input: child.stdin.take(), child, output, requests: 0, root, heard: VecDeque::new() }
    }

    /// An editor that has started the conversation.
    fn greeted(bench: &Bench, options: &Value) -> Self {
        let mut editor = Self::start(bench, &[]);
        let root = &editor.root;
        let params = json!({
            "processId": null, "rootUri": root, "capabilities": {}, "initializationOptions": options
        });
        let result = editor.ask("initialize", &params);
        assert_eq!(result["result"]["serverInfo"]["name"], "tripipe");
        editor.tell("initialized", &json!({}));
        editor
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request, and returns its answer.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let answer = self.receive();
            if answer["id"] == id && answer.get("method").is_none() {
                return answer;
            }
            self.heard.push_back(answer);
        }
    }

    /// The next message that is no answer.
    fn hear(&mut self) -> Value {
        self.heard.pop_front().unwrap_or_else(|| self.receive())
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut header = String::new();
            assert!(self.output.read_line(&mut header).unwrap() > 0, "the server ended");
            match header.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None => break,
            }
        }
        let mut message = vec![0; length];
        self.output.read_exact(&mut message).unwrap();
        let message: Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// The next diagnostics of a file that satisfy a condition: a review as a whole comes after a quick one.
    fn diagnostics(&mut self, name: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        loop {
            let message = self.hear();
            if message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == self.uri(name)
            {
                let found = message["params"]["diagnostics"].as_array().unwrap().clone();
                if wanted(&found) {
                    return found;
                }
            }
        }
    }

    fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    fn open(&mut self, name: &str, text: &str) {
        let document = json!({ "uri": self.uri(name), "languageId": "opencl", "version": 1, "text": text });
        self.tell("textDocument/didOpen", &json!({ "textDocument": document }));
    }

    fn change(&mut self, name: &str, version: i32, text: &str) {
        let document = json!({ "uri": self.uri(name), "version": version });
        self.tell(
            "textDocument/didChange",
            &json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
        );
    }

    /// What is asked about a position.
    fn at(&self, name: &str, line: u32, character: u32) -> Value {
        json!({ "textDocument": { "uri": self.uri(name) }, "position": { "line": line, "character": character } })
    }

    /// What is asked about all lines.
    fn all(&self, name: &str) -> Value {
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
        json!({ "textDocument": { "uri": self.uri(name) }, "range": range, "context": { "diagnostics": [] } })
    }

    /// Ends the conversation; returns the exit code and standard error.
    fn end(mut self) -> (Option<i32>, String) {
        self.input = None;
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let code = self.child.wait().unwrap().code();
        assert!(!said.contains("panicked"), "{said}");
        (code, said)
    }
}

fn code<'d>(diagnostics: &'d [Value], code: &str) -> Option<&'d Value> {
    diagnostics.iter().find(|diagnostic| diagnostic["code"] == code)
}

/// The text after an edit of whole lines.
fn edited(text: &str, edit: &Value) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = |end: &str| {
        assert_eq!(edit["range"][end]["character"], 0);
        edit["range"][end]["line"].as_u64().unwrap() as usize
    };
    let (start, end) = (line("start"), line("end"));
    [&lines[..start].concat(), edit["newText"].as_str().unwrap(), &lines[end..].concat()].concat()
}

#[test]
fn findings_costs_and_fixes_are_served() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("invert.cl", INVERT);
    bench.write("invert.toml", LAUNCH);
    bench.write("tripipe.toml", "gpu = 'mali-g71'\nlaunches = ['invert.toml']\n");
    let mut editor = Editor::greeted(&bench, &Value::Null);
    editor.open("invert.cl", INVERT);
    let found = editor.diagnostics("invert.cl", |found| code(found, "single-output").is_some());
    let unused = code(&found, "unused-argument").unwrap();
    assert_eq!((&unused["range"]["start"]["line"], &unused["source"]), (&json!(1), &json!("tripipe")));
    assert!(unused["message"].as_str().unwrap().contains("`spare`"), "{unused}");
    assert_eq!(unused["severity"], 3);
    let single = code(&found, "single-output").unwrap();
    assert_eq!(single["range"]["start"]["line"], 3);
    assert!(single["message"].as_str().unwrap().starts_with("on Mali-G71: "), "{single}");

    // The time of `simulate`, and cycles behind the line with the loads.
    let hints = editor.ask("textDocument/inlayHint", &editor.all("invert.cl"))["result"].clone();
    let hint = |line: u64| {
        let hint = hints.as_array().unwrap().iter().find(|hint| hint["position"]["line"] == line);
        hint.unwrap_or_else(|| panic!("{line}: {hints}"))["label"].as_str().unwrap()
    };
    let text = bench.succeed(&["simulate", "invert.toml", "-g", "mali-g71"]);
    let time = hint(1).strip_prefix("Mali-G71: ").unwrap().split_once(", limited by").unwrap().0;
    assert!(text.contains(&format!("invert on Mali-G71: {time}")), "{time}: {text}");
    assert!(hint(3).contains("LS ") && hint(3).contains("A "), "{hints}");
    assert_eq!(hints[0]["position"]["character"], INVERT.lines().nth(1).unwrap().len());

    let hover = editor.ask("textDocument/hover", &editor.at("invert.cl", 3, 9))["result"].clone();
    let said = hover["contents"]["value"].as_str().unwrap();
    assert_eq!(hover["contents"]["kind"], "markdown");
    for words in ["Cycles of this line in `invert`: ", "**single-output**", "## Why"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(editor.ask("textDocument/hover", &editor.at("invert.cl", 0, 0))["result"], Value::Null);

    // The quick fix is the one in the SARIF of `analyze`.
    let log = bench.succeed(&["analyze", "invert.toml", "-g", "mali-g71", "--format", "sarif"]);
    let log: Value = serde_json::from_str(&log).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let fixed = results.iter().find(|result| result["ruleId"] == "single-output").unwrap();
    let source = &fixed["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"];
    let actions = editor.ask("textDocument/codeAction", &editor.all("invert.cl"))["result"].clone();
    let fix =
        actions.as_array().unwrap().iter().find(|action| action["diagnostics"][0]["code"] == "single-output");
    let fix = fix.unwrap();
    assert_eq!(fix["kind"], "quickfix");
    let uri = editor.uri("invert.cl");
    assert_eq!(edited(INVERT, &fix["edit"]["changes"][&uri][0]), source.as_str().unwrap());

    assert_eq!(editor.ask("shutdown", &Value::Null)["result"], Value::Null);
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.end().0, Some(0));
}

#[test]
fn errors_of_the_compiler_are_at_their_places() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    // The options of the editor; the text is never saved.
    let mut editor = Editor::greeted(&bench, &json!({ "gpu": "adreno-650", "options": "-D N=4" }));
    let source = "kernel void k(global float *a) {\n    /* é */ a[0] = N * b;\n}\n";
    editor.open("new.cl", source);
    let found = editor.diagnostics("new.cl", |found| !found.is_empty());
    let error = found.iter().find(|found| found["severity"] == 1).unwrap();
    assert!(error["message"].as_str().unwrap().contains("undeclared identifier 'b'"), "{error}");
    // 23 bytes and 22 units before it.
    let place = json!({ "start": { "line": 1, "character": 23 }, "end": { "line": 1, "character": 24 } });
    assert_eq!(error["range"], place);
    // Only the last of several versions counts.
    for version in 2..20 {
        editor.change("new.cl", version, source);
    }
    editor.change("new.cl", 20, &source.replace("* b", "* a[1]"));
    editor.diagnostics("new.cl", <[Value]>::is_empty);
    let hints = editor.ask("textDocument/inlayHint", &editor.all("new.cl"))["result"].clone();
    assert!(hints[0]["label"].as_str().unwrap().starts_with("Adreno 650: "), "{hints}");
    let uri = editor.uri("new.cl");
    editor.tell("textDocument/didClose", &json!({ "textDocument": { "uri": uri } }));
    assert_eq!(editor.ask("textDocument/hover", &editor.at("new.cl", 1, 0))["result"], Value::Null);
    drop(editor.end());
}

#[test]
fn names_of_gpus_are_completed_and_faults_of_files_are_shown() {
    let bench = Bench::new();
    let mut editor = Editor::greeted(&bench, &Value::Null);
    editor.open("tripipe.toml", "gpu = \"\"\noptions = \"\"\n");
    let labels = |answer: &Value| -> Vec<String> {
        let items = answer["result"].as_array().unwrap();
        items.iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    let answer = editor.ask("textDocument/completion", &editor.at("tripipe.toml", 0, 7));
    let names = labels(&answer);
    for name in ["mali-t604", "mali-g77", "adreno-650"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    for (line, character) in [(0, 2), (0, 8), (1, 11), (9, 9)] {
        assert!(
            labels(&editor.ask("textDocument/completion", &editor.at("tripipe.toml", line, character)))
                .is_empty()
        );
    }
    let found = editor.diagnostics("tripipe.toml", |found| !found.is_empty());
    assert_eq!(found[0]["range"]["start"]["line"], 0);
    editor.change("tripipe.toml", 2, "gpu = \"mali-t604\"\nlaunch = []\n");
    let found = editor.diagnostics("tripipe.toml", |found| found[0]["range"]["start"]["line"] == 1);
    assert!(found[0]["message"].as_str().unwrap().contains("did you mean `launches`?"), "{found:?}");
    editor.open("a.toml", &LAUNCH.replace("buffer = 'uchar'", "buffer = 'uchart'"));
    let found = editor.diagnostics("a.toml", |found| !found.is_empty());
    assert_eq!(found[0]["range"]["start"]["line"], 4);
    // Other TOML is none of its business.
    editor.open("Cargo.toml", "[package]\nname = 1\n");
    editor.diagnostics("Cargo.toml", <[Value]>::is_empty);
    drop(editor.end());
}

#[test]
fn what_is_wrong_in_the_settings_is_shown_at_the_kernel() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    fs::create_dir(bench.path().join("sub")).unwrap();
    bench.write("tripipe.toml", "gpu = 'mali-g77'\nlaunches = ['none.toml']\n");
    let mut editor = Editor::greeted(&bench, &json!({ "gpu": 77 }));
    let warned = editor.hear();
    assert_eq!(warned["method"], "window/showMessage");
    assert!(warned["params"]["message"].as_str().unwrap().contains("`gpu` is a text"), "{warned}");
    editor.open("sub/invert.cl", INVERT);
    let found = editor.diagnostics("sub/invert.cl", |found| !found.is_empty());
    assert!(found[0]["message"].as_str().unwrap().contains("none.toml"), "{found:?}");
    bench.write("tripipe.toml", "\ngpu = 'mali-g7777'\n");
    let uri = editor.uri("tripipe.toml");
    editor.tell("textDocument/didSave", &json!({ "textDocument": { "uri": uri } }));
    let said =
        |found: &[Value]| found.iter().any(|it| it["message"].as_str().unwrap().contains("tripipe.toml:2:"));
    editor.diagnostics("sub/invert.cl", said);
    drop(editor.end());
}

#[test]
fn bad_messages_are_answered_with_errors() {
    let bench = Bench::new();
    let mut editor = Editor::start(&bench, &["--stdio"]);
    assert_eq!(editor.ask("textDocument/hover", &json!({}))["error"]["code"], -32002);
    let result =
        editor.ask("initialize", &json!({ "capabilities": { "workspace": 7 }, "workspaceFolders": null }));
    assert_eq!(result["result"]["capabilities"]["textDocumentSync"]["change"], 1);
    for (bytes, code) in [("{", -32700), ("[]", -32700), ("\u{0}", -32700)] {
        editor.raw(format!("Content-Length: {}\r\n\r\n{bytes}", bytes.len()).as_bytes());
        let answer = editor.hear();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)));
    }
    assert_eq!(editor.ask("initialize", &json!({}))["error"]["code"], -32600);
    assert_eq!(editor.ask("textDocument/rename", &json!({}))["error"]["code"], -32601);
    assert_eq!(editor.ask("textDocument/hover", &json!({ "position": "here" }))["error"]["code"], -32602);
    assert_eq!(editor.ask("textDocument/hover", &editor.at("nowhere.cl", 1, 1))["result"], Value::Null);
    // What is not understood or not known is ignored.
    editor.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": null }));
    editor.send(&json!({}));
    for method in ["textDocument/didOpen", "textDocument/didChange", "textDocument/didClose", "$/other"] {
        editor.tell(method, &json!({ "textDocument": 1 }));
    }
    editor.change("nowhere.cl", 1, "");
    for far in [json!(u32::MAX), json!(0)] {
        editor.open("empty.toml", "gpu = \"");
        let position = json!({ "line": far, "character": far });
        let params = json!({ "textDocument": { "uri": editor.uri("empty.toml") }, "position": position });
        assert!(editor.ask("textDocument/completion", &params)["result"].is_array());
    }
    assert_eq!(editor.ask("shutdown", &Value::Null)["result"], Value::Null);
    assert_eq!(editor.ask("textDocument/hover", &json!({}))["error"]["code"], -32600);
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.end().0, Some(0));
    // An end without a request, and a stream that is no conversation.
    let mut editor = Editor::greeted(&bench, &Value::Null);
    editor.tell("exit", &Value::Null);
    assert_eq!(editor.end().0, Some(1));
    assert_eq!(Editor::greeted(&bench, &Value::Null).end().0, Some(1));
    let mut editor = Editor::start(&bench, &[]);
    editor.raw(b"GET / HTTP/1.1\r\n\r\n");
    let (code, said) = editor.end();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("Content-Length"), "{said}");
}

/// The extension for VS Code, with stand-ins for the modules that it needs.
#[test]
fn the_extension_for_vs_code_starts_the_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode");
    let package: Value = serde_json::from_slice(&fs::read(folder.join("package.json")).unwrap()).unwrap();
    let properties = package["contributes"]["configuration"]["properties"].as_object().unwrap();
    assert_eq!(properties["tripipe.command"]["default"], "tripipe");
    let extension = fs::read_to_string(folder.join(package["main"].as_str().unwrap())).unwrap();
    for asked in extension.split("settings.get(\"").skip(1) {
        let name = format!("tripipe.{}", asked.split('"').next().unwrap());
        assert!(properties.contains_key(&name), "package.json has no setting {name}");
    }
    let bench = Bench::new();
    let modules = bench.path().join("node_modules");
    for (module, file, text) in [
        (
            "vscode",
            "index.js",
            "const get = name => name === 'command' ? 'tripipe' : undefined;
             exports.workspace = { getConfiguration: () => ({ get }), createFileSystemWatcher: () => ({}) };",
        ),
        (
            "vscode-languageclient",
            "node.js",
            "exports.LanguageClient = class {
                 constructor(id, name, server) { this.server = server; }
                 start() { console.log(JSON.stringify(this.server)); }
             };",
        ),
    ] {
        fs::create_dir_all(modules.join(module)).unwrap();
        fs::write(modules.join(module).join(file), text).unwrap();
    }
    bench.write("extension.js", &extension);
    let node = Command::new("node")
        .args(["-e", "require('./extension.js').activate()"])
        .current_dir(bench.path())
        .output();
    let Ok(ran) = node else {
        eprintln!("left out: no node");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let server: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(server, json!({ "command": "tripipe", "args": ["lsp"] }));
}
