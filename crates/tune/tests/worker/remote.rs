//! Workers behind connections that are slow, or cut. A shell stands for `ssh`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use libtest_mimic::Trial as Test;
use tripipe_tune::worker::{Supervised, WorkerLimits};
use tripipe_tune::{Bench, BenchError, Outcome};

use super::protocol::{NONE, is_sound, outcome, patient, problem};

pub(crate) fn trials() -> Vec<Test> {
    let test = |name: &str, run: fn()| {
        Test::test(name, move || {
            run();
            Ok(())
        })
    };
    vec![
        test("a slow connection with a greeting works", a_slow_connection),
        test("a connection that is cut once is restored", a_connection_that_is_cut_once),
        test("a candidate that cuts the connection twice is to blame", a_candidate_that_cuts_the_connection),
        test("a machine that stays away is an error", a_machine_that_stays_away),
        test("a guard stops a kernel that hangs", a_guard_stops_a_kernel_that_hangs),
        test("nothing is left on the other side of a lost connection", nothing_is_left_on_the_other_side),
        test("a tuner that is killed leaves no worker", a_tuner_that_is_killed_leaves_no_worker),
        test("several machines at once", several_machines_at_once),
    ]
}

/// A shell script in which `$W` is the worker's executable and `$1` a folder of the test.
fn script(text: &str, folder: &Path) -> impl FnMut() -> Command + Send + 'static {
    let (text, folder) = (text.to_owned(), folder.to_owned());
    move || {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&text).arg("sh").arg(&folder).env("W", std::env::current_exe().unwrap());
        command
    }
}

fn connect(text: &str, folder: &Path) -> Supervised {
    Supervised::connect(script(text, folder), patient().behind_a_guard()).unwrap()
}

fn a_slow_connection() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"echo 'Last login: Mon'; sleep 0.1; "$W" worker guard-toy | while IFS= read -r line; do sleep 0.02; printf '%s\r\n' "$line"; done"#;
    let mut far = connect(text, folder.path());
    is_sound(&mut far);
    let crash = outcome(&mut far, "build crash");
    assert!(matches!(&crash, Outcome::Crashed { reason } if reason.contains("SIGABRT")), "{crash:?}");
    is_sound(&mut far);
}

fn a_connection_that_is_cut_once() {
    let folder = tempfile::tempdir().unwrap();
    // The first connection ends within the answer to the first request.
    let hello = hello_bytes();
    let text = format!(
        r#"if [ -e "$1/cut" ]; then exec "$W" worker guard-toy; fi; touch "$1/cut"; "$W" worker guard-toy | {{ dd bs=1 count={} 2>/dev/null; kill -KILL $$; }}"#,
        hello + 30
    );
    let mut far = connect(&text, folder.path());
    assert_eq!(outcome(&mut far, "5").seconds(), Some(5e-3));
    assert!(folder.path().join("cut").exists());
}

/// Length of a worker's first line.
fn hello_bytes() -> usize {
    let output = super::toy::worker(&["toy"]).stdin(std::process::Stdio::null()).output().unwrap();
    output.stdout.len()
}

fn a_candidate_that_cuts_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    // Without a guard, a crash on the other side looks like a lost connection.
    let mut far = connect(r#"exec "$W" worker toy"#, folder.path());
    let crash = outcome(&mut far, "verify crash");
    assert!(
        matches!(&crash, Outcome::DeviceLost { reason } if reason.contains("ended twice while verifying")),
        "{crash:?}"
    );
    is_sound(&mut far);
}

fn a_machine_that_stays_away() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"echo x >> "$1/starts"; [ -e "$1/gone" ] && { echo 'no route to host' >&2; exit 255; }; exec "$W" worker toy"#;
    let mut far = connect(text, folder.path());
    std::fs::write(folder.path().join("gone"), "").unwrap();
    let error = far.measure(&problem(), "verify crash", &NONE).unwrap_err();
    assert!(matches!(error, BenchError::Device(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("exit code 255") && text.contains("no route to host"), "{text}");
    // The first start, and one for each of the waits and before them.
    assert_eq!(std::fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 5);
}

fn a_guard_stops_a_kernel_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let mut far = connect(r#"exec "$W" worker guard-toy"#, folder.path());
    match outcome(&mut far, "verify hang") {
        Outcome::Hung { after_s, during } => {
            assert_eq!((after_s, during.as_str()), (0.8, "verifying the result"));
        }
        other => panic!("{other:?}"),
    }
    is_sound(&mut far);
}

fn wait_until(what: &str, is: impl Fn() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pid(file: &Path) -> Option<String> {
    std::fs::read_to_string(file).ok().filter(|text| !text.is_empty())
}

/// A process exists, and is not one that has ended but was not waited for.
fn runs(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// The connection ends while a kernel hangs: the guard's process and its worker end.
fn nothing_is_left_on_the_other_side() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let text = r#"exec "$W" worker guard-toy inner-pid="$1/pid""#;
    let limits = WorkerLimits { run: Duration::from_secs(3600), ..patient() };
    let mut far = Supervised::connect(script(text, folder.path()), limits).unwrap();
    let cancel = far.cancellation();
    let worker = pid(&file).unwrap();
    let hangs = std::thread::spawn(move || far.measure(&problem(), "build hang", &NONE).map(drop));
    std::thread::sleep(Duration::from_millis(100));
    assert!(runs(&worker));
    cancel.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(hangs.join().unwrap().is_err());
    wait_until("the worker behind the guard still runs", || !runs(&worker));
}

/// SIGKILL ends a guard at once; its worker notices the end of its input although it hangs.
fn a_tuner_that_is_killed_leaves_no_worker() {
    let folder = tempfile::tempdir().unwrap();
    let [outer, inner] = ["outer", "inner"].map(|name| folder.path().join(name));
    let text = r#"echo $$ > "$1/outer"; exec "$W" worker guard-toy inner-pid="$1/inner""#;
    let mut far = connect(text, folder.path());
    let [guard, worker] = [outer, inner].map(|file| pid(&file).unwrap().trim().to_owned());
    let hangs = std::thread::spawn(move || {
        far.limits_mut().reconnect.clear();
        far.measure(&problem(), "build hang", &NONE).map(drop)
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(runs(&guard) && runs(&worker));
    // The second attempt starts a guard of its own, and hangs, too.
    assert!(Command::new("kill").args(["-KILL", &guard]).status().unwrap().success());
    wait_until("the worker of a killed guard still runs", || !runs(&worker));
    wait_until("no new guard", || {
        pid(&folder.path().join("inner")).is_some_and(|new| new.trim() != worker && runs(new.trim()))
    });
    let guard = pid(&folder.path().join("outer")).unwrap();
    assert!(Command::new("kill").args(["-KILL", guard.trim()]).status().unwrap().success());
    hangs.join().unwrap().unwrap();
}

fn several_machines_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let found: Vec<Outcome> = std::thread::scope(|scope| {
        let machines: Vec<_> = (1..=3)
            .map(|number| {
                let folder = folder.path();
                scope.spawn(move || {
                    let mut far = connect(r#"exec "$W" worker guard-toy"#, folder);
                    outcome(&mut far, "verify crash");
                    outcome(&mut far, &number.to_string())
                })
            })
            .collect();
        machines.into_iter().map(|machine| machine.join().unwrap()).collect()
    });
    let seconds: Vec<_> = found.iter().filter_map(Outcome::seconds).collect();
    assert_eq!(seconds, [1e-3, 2e-3, 3e-3]);
}
