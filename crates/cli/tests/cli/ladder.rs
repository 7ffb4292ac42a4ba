//! `tripipe ladder`.

use image::{Rgb, RgbImage};
use serde_json::Value;

use crate::Bench;

const QUICK: [&str; 4] = ["--runs", "2", "--warmup", "0"];

fn quick<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["ladder"], arguments, &QUICK].concat()
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn without_a_name_the_ladders_are_listed() {
    let said = Bench::new().succeed(&["ladder"]);
    for name in ["vector-add", "saxpy", "laplace", "laplace-gray", "gemm", "transpose"] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(name)), "{said}");
    }
}

#[test]
fn json_has_the_keys_that_are_promised() {
    let bench = Bench::new();
    for name in ["vector-add", "laplace", "gemm"] {
        let said = bench.succeed(&quick(&[name, "--format", "json", "--sizes", "5,17"]));
        let [object] = objects(&said).try_into().unwrap();
        assert_eq!(object["ladder"], name);
        assert!(object["device"].as_str().unwrap().contains("CPU path"));
        let sizes = object["sizes"].as_array().unwrap().len();
        assert_eq!(sizes, 2);
        let steps = object["steps"].as_array().unwrap();
        assert!(!steps.is_empty());
        for step in steps {
            assert_eq!(step["verified"], true, "{step}");
            let numbers = |key: &str| -> Vec<f64> {
                step[key].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
            };
            let (seconds, speedup) = (numbers("seconds"), numbers("speedup"));
            assert!(seconds.len() == sizes && seconds.iter().all(|seconds| *seconds > 0.0), "{step}");
            for (size, speedup) in speedup.iter().enumerate() {
                let want = steps[0]["seconds"][size].as_f64().unwrap() / seconds[size];
                assert!((speedup - want).abs() <= 1e-9 * want, "{step}");
            }
        }
    }
    assert_eq!(bench.files(), [""; 0], "only text saves a picture");
}

#[test]
fn csv_has_one_row_a_step_and_size() {
    let said = Bench::new().succeed(&quick(&["saxpy", "--format", "csv", "--sizes", "10,33"]));
    let mut lines = said.lines();
    assert!(lines.next().unwrap().starts_with("ladder,device,size,step,outcome,median_seconds"));
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len() % 2, 0);
    assert!(rows.iter().all(|row| row.starts_with("saxpy,") && row.contains("verified")), "{said}");
}

#[test]
fn text_shows_the_table_and_writes_an_image() {
    let bench = Bench::new();
    let said = bench.succeed(&quick(&["laplace", "--sizes", "33x21", "--published"]));
    for words in ["serial CPU", "33x21", "×1st", "tripipe-laplace.png", "2 runs after 0 warm-ups"] {
        assert!(said.contains(words), "`{words}` is not in\n{said}");
    }
    assert!(said.lines().all(|line| line.chars().count() <= 120 || line.contains(" took ")), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours in a pipe");
    assert_eq!(bench.files(), ["tripipe-laplace.png"]);
    let shown = image::open(bench.path().join("tripipe-laplace.png")).unwrap().to_rgb8();
    assert_eq!((shown.width(), shown.height()), (451, 300));
    // The built-in picture is public; one pixel, computed by hand, far from the ring.
    let source = image::load_from_memory(include_bytes!("../../assets/chelsea.png")).unwrap().to_rgb8();
    let mut want = [0i32; 3];
    for (dx, dy) in (0..3).flat_map(|dy| (0..3).map(move |dx| (dx, dy))) {
        let weight = if (dx, dy) == (1, 1) { 9 } else { -1 };
        for (want, value) in want.iter_mut().zip(source.get_pixel(199 + dx, 99 + dy).0) {
            *want += weight * i32::from(value);
        }
    }
    assert_eq!(shown.get_pixel(200, 100).0, want.map(|value| value.clamp(0, 255) as u8));
}

#[test]
fn rows_appear_when_measured_and_the_image_before_further_sizes() {
    let said = Bench::new().succeed(&quick(&["laplace", "--sizes", "33x21,40x30"]));
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("`{words}` is not in\n{said}"));
    let places = [
        at("in progress"),
        at("  33x21        serial CPU"),
        at("sharpened: see tripipe-laplace.png"),
        at("  40x30        serial CPU"),
        at("What each step changes"),
    ];
    assert!(places.is_sorted(), "{said}");
}

#[test]
fn the_image_is_written_to_the_given_path() {
    let bench = Bench::new();
    RgbImage::from_fn(9, 7, |x, y| Rgb([x as u8, y as u8, 77])).save(bench.path().join("own.png")).unwrap();
    let own = ["laplace", "--sizes", "5", "--image", "own.png"];
    bench.succeed(&quick(&[&own[..], &["--save", "none"]].concat()));
    assert_eq!(bench.files(), ["own.png"]);
    bench.succeed(&quick(&[&own[..], &["--save", "sharp.ppm", "--format", "json"]].concat()));
    assert_eq!(bench.files(), ["own.png", "sharp.ppm"]);
    assert_eq!(image::open(bench.path().join("sharp.ppm")).unwrap().width(), 9);
}
