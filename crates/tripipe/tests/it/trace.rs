//! Traces of programs that use the library. Each program is this test in a process of its own.

#![allow(
    clippy::panic,
    clippy::exit,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; its programs end as programs do"
)]

#[path = "../../../trace/tests/decoder/mod.rs"]
mod decoder;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tripipe::filter::{Border, Chain};
use tripipe::{Context, Device, ErrorKind, Extents, Image, Matrix, Size};

/// What a program does, in a variable of the environment.
const PROGRAM: &str = "TRIPIPE_TEST_PROGRAM";

/// A process that runs `program` with `TRIPIPE_TRACE=trace`.
fn process(program: &str, trace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "trace::the_program", "--nocapture"])
        .env(PROGRAM, program)
        .env("TRIPIPE_TRACE", trace);
    command
}

fn said(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}

/// A product and a filter on every device.
fn work(keep: bool) {
    for device in Device::list() {
        let context = Context::builder().cpu_when_faster(false).build(&device).unwrap();
        let square = Matrix::from_slice(&context, Extents::new(64, 64), &[1.0f32; 64 * 64]).unwrap();
        assert_eq!(square.matmul(&square).unwrap().to_vec().unwrap()[0], 64.0);
        let photo = Image::from_slice(&context, Size::new(64, 48), 3, &[100u8; 64 * 48 * 3]).unwrap();
        let chain = Chain::parse("gray,gaussian:5", Border::Reflect101).unwrap();
        let blurred: Image<u8> = photo.filtered(&chain).unwrap();
        assert_eq!(blurred.to_vec().unwrap()[0], 100);
        if keep {
            // Its operations are queued, and its context is never dropped.
            let again = square.matmul(&square).unwrap();
            again.to_vec().unwrap();
            std::mem::forget((context, square, photo, again));
        }
    }
}

/// The program of a process. Without one, nothing.
#[test]
fn the_program() {
    let Some(program) = std::env::var_os(PROGRAM) else { return };
    match program.to_str().unwrap() {
        "exit" => {
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    std::thread::Builder::new()
                        .name("worker".to_owned())
                        .spawn_scoped(scope, || work(true))
                        .unwrap();
                }
            });
            println!("the program's own words");
            std::process::exit(0);
        }
        "cpu" => {
            let context = Context::new(&Device::Cpu).unwrap();
            for _ in 0..100 {
                let square = Matrix::from_slice(&context, Extents::new(8, 8), &[1.0f32; 64]).unwrap();
                square.matmul(&square).unwrap().to_vec().unwrap();
            }
            println!("the program's own words");
        }
        "refused" => {
            let error = Context::new(&Device::Cpu).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Trace);
            println!("{error}");
        }
        "save" => {
            work(false);
            let path = tripipe::trace::save().unwrap().unwrap();
            println!("saved {}", path.display());
        }
        other => panic!("{other}"),
    }
}

fn names<'v>(list: &'v Value, key: &str) -> Vec<&'v str> {
    list.as_array().unwrap().iter().map(|each| each[key].as_str().unwrap()).collect()
}

#[test]
fn a_program_that_exits_without_dropping_its_contexts_has_a_whole_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pftrace");
    let output = process("exit", &path).output().unwrap();
    assert!(said(&output).contains("the program's own words"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let Some(found) = decoder::decode(&path) else { return };
    let slices = names(&found["slices"], "name");
    let tracks = names(&found["slices"], "track");
    assert!(tracks.contains(&"worker") && tracks.contains(&"worker 2"), "{tracks:?}");
    let categories = names(&found["slices"], "category");
    assert!(categories.contains(&"operation") && categories.contains(&"CPU path"), "{slices:?}");
    // The operations of a context with OpenCL are kernels.
    let devices = Device::list().into_iter().filter(|device| device.probe().is_some()).count();
    let commands = found["commands"].as_array().unwrap();
    let kernels = commands.iter().filter(|command| command["category"] == "COMPUTE");
    // Two products and a filter of one kernel or more, of each thread.
    assert!(kernels.count() >= 6 * devices, "{commands:?}");
    // What was left out would be said.
    assert_eq!(found["instants"][0]["arguments"].as_object().unwrap().len(), 1, "{}", found["instants"]);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_of_the_first_context() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("t.pftrace");
    let text = said(&process("refused", &missing).output().unwrap());
    assert!(text.contains("t.pftrace: the trace cannot be written: No such file or directory"), "{text}");
    let text = said(&process("refused", &folder.path().join("t.txt")).output().unwrap());
    assert!(text.contains(".pftrace or .perfetto-trace (Perfetto), or in .json"), "{text}");
}

/// A limit on the size of files fails as a full disk does.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_the_trace_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    std::fs::write(&path, "the old one").unwrap();
    let program = process("cpu", &path);
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -f 1; trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program.get_program());
    limited.args(program.get_args());
    limited.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    assert!(said(&output).contains("the program's own words"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the old one");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_program_can_write_the_trace_itself_as_chrome_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.json");
    let output = process("save", &path).output().unwrap();
    assert!(said(&output).contains("saved"));
    let found: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let events = found["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["ph"] == "X" && event["cat"] == "operation"));
}
