//! `tripipe learn`: the exercises of the course, and their solutions in `docs/course/solutions`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Bench;
use crate::run_kernel::compiles;

const LESSONS: std::ops::RangeInclusive<usize> = 1..=7;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/course")
}

/// The exit code of an attempt, and what it says.
fn try_out(bench: &Bench, lesson: usize, kernel: &str) -> (Option<i32>, String) {
    let output = bench.run(&["learn", &lesson.to_string(), kernel]);
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat();
    (output.status.code(), said)
}

#[test]
fn the_lessons_are_those_of_the_course() {
    let bench = Bench::new();
    let list = bench.succeed(&["learn"]);
    for lesson in LESSONS {
        let line = list.lines().find(|line| line.starts_with(&format!("{lesson}  "))).unwrap();
        let (title, page) = line[3..].split_once(" (docs/course/").unwrap();
        let page = fs::read_to_string(docs().join(page.trim_end_matches(')'))).unwrap();
        assert_eq!(page.lines().next(), Some(&*format!("# {lesson}. {title}")));
        assert!(page.contains(&format!("tripipe learn {lesson} ")), "lesson {lesson} has no exercise");
        let task = bench.succeed(&["learn", &lesson.to_string()]);
        for part in ["Goal: correct results", "kernel void ", "-o mine.cl"] {
            assert!(task.contains(part), "{task}");
        }
    }
}

/// The solution of a lesson meets its goal, and the kernel to start from does not.
fn hold_against_goal(lesson: usize) {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let solution = docs().join("solutions").join(format!("{lesson}.cl"));
    fs::copy(solution, bench.path().join("solution.cl")).unwrap();
    let (code, said) = try_out(&bench, lesson, "solution.cl");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the goal is met") && !said.contains("Hint"), "{said}");
    bench.succeed(&["learn", &lesson.to_string(), "-o", "start.cl"]);
    let (code, said) = try_out(&bench, lesson, "start.cl");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not yet") && said.contains("Hint: "), "{said}");
}

/// A test for each lesson.
macro_rules! lessons {
    ($($name:ident: $lesson:literal,)*) => {
        $(#[test]
        fn $name() {
            hold_against_goal($lesson);
        })*
    };
}

lessons! {
    lesson_1_has_a_solution: 1,
    lesson_2_has_a_solution: 2,
    lesson_3_has_a_solution: 3,
    lesson_4_has_a_solution: 4,
    lesson_5_has_a_solution: 5,
    lesson_6_has_a_solution: 6,
    lesson_7_has_a_solution: 7,
}

/// Fast and wrong is not passed: what is wrong is said, and no time.
#[test]
fn a_wrong_kernel_is_told_what_is_wrong() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "odd.cl",
        "kernel void luma(global const uchar *yuyv, global uchar *to) {
    int i = get_global_id(0);
    vstore8(vload16(i, yuyv).odd, i, to);
}
",
    );
    let (code, said) = try_out(&bench, 2, "odd.cl");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("numbers are wrong with PIXELS = ") && said.contains("not predicted"), "{said}");
    bench.write(
        "race.cl",
        "kernel void turn(global const float *from, global float *to, int width, int height) {
    local float part[16][17];
    int x = get_local_id(0), y = get_local_id(1), left = 16 * get_group_id(0), top = 16 * get_group_id(1);
    part[y][x] = from[(top + y) * width + left + x];
    to[(left + y) * height + top + x] = part[x][y];
}
",
    );
    let (code, said) = try_out(&bench, 4, "race.cl");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("data-race") && said.contains("barrier(CLK_LOCAL_MEM_FENCE)"), "{said}");
}

/// The reference of lesson 3 beside its definition.
#[test]
fn sharpened_pixels_are_those_of_the_definition() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.succeed(&["learn", "3", "-o", "start.cl"]);
    let launch = String::from_utf8(bench.read("start.toml")).unwrap();
    let (width, height) = (8, 3);
    let pixels: Vec<i32> = (0..(width + 2) * (height + 2)).map(|i| (i * i * 37 + 11 * i) % 256).collect();
    let launch = launch.replace("random = { seed = 1 }", &format!("values = {pixels:?}"));
    bench.write(
        "start.toml",
        launch.replace("count = [\"HEIGHT\", \"width\"]", "count = [\"HEIGHT\", \"width\"]\ndump = true"),
    );
    let shown = bench.succeed(&["run-kernel", "start.toml", "-D", "HEIGHT=3", "--arg", "width=8"]);
    let at = |x: i32, y: i32| pixels[(y * (width + 2) + x) as usize];
    let mut seen = 0;
    for y in 0..height {
        for x in 0..width {
            let around: i32 = (0..9).map(|k| at(x + k % 3, y + k / 3)).sum();
            let sharp = (10 * at(x + 1, y + 1) - around).clamp(0, 255);
            assert!(shown.contains(&format!("to[{y}][{x}] = {sharp}\n")), "{x}, {y}: {sharp}: {shown}");
            seen += i32::from(sharp > 0 && sharp < 255);
        }
    }
    assert!(seen > 0, "all limited");
}

#[test]
fn bad_input_is_refused() {
    let bench = Bench::new();
    bench.refuse(&["learn", "8"], &["no lesson 8", "1 to 7"]);
    bench.refuse(&["learn", "flow"], &["no lesson flow"]);
    bench.refuse(&["learn", "1", "missing.cl"], &["missing.cl", "cannot be read"]);
    bench.refuse(&["learn", "-o", "mine.cl"], &["LESSON"]);
    bench.refuse(&["learn", "1", "-o", "mine.toml"], &["mine.toml", "such as mine.cl"]);
    bench.refuse(&["learn", "1", "-o", "nowhere/mine.cl"], &["nowhere"]);
    // What is there stays.
    for there in ["mine.cl", "mine.toml"] {
        bench.write(there, "mine");
        bench.refuse(&["learn", "1", "-o", "mine.cl"], &[there, "exists already"]);
        assert_eq!(bench.read(there), b"mine");
        fs::remove_file(bench.path().join(there)).unwrap();
    }
    if compiles() {
        bench.write("none.cl", "kernel void other(global float *a) { a[0] = 1; }");
        bench.refuse_said(&["learn", "1", "none.cl"], &["no kernel `add`"]);
        bench.write("broken.cl", "kernel void add(");
        bench.refuse_said(&["learn", "1", "broken.cl"], &["broken.cl does not compile"]);
        bench.write("fewer.cl", "kernel void add(global float *a) { a[0] = 1; }");
        bench.refuse_said(&["learn", "1", "fewer.cl"], &["argument"]);
        bench.write(
            "endless.cl",
            "kernel void luma(global const uchar *yuyv, global uchar *to) { for (;;) to[0] ^= yuyv[0]; }",
        );
        let (code, said) = try_out(&bench, 2, "endless.cl");
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("infinite-loop"), "{said}");
    }
}
