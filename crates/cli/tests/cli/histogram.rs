//! `tripipe histogram`.

use image::{Rgb, RgbImage};

use crate::Bench;

fn json(said: &str) -> serde_json::Value {
    serde_json::from_str(said).unwrap()
}

#[test]
fn counts_of_each_channel() {
    let bench = Bench::new();
    let picture = RgbImage::from_fn(30, 20, |x, y| Rgb([(x * 8) as u8, (y * 3) as u8, 200]));
    picture.save(bench.path().join("a.png")).unwrap();
    let found = json(&bench.succeed(&["histogram", "a.png", "--format", "json"]));
    assert_eq!(
        (found["width"].as_u64(), found["height"].as_u64(), found["bits"].as_u64()),
        (Some(30), Some(20), Some(8))
    );
    let channels = found["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 3);
    for (index, channel) in channels.iter().enumerate() {
        let mut want = [0u64; 256];
        let mut values: Vec<u8> = picture.pixels().map(|pixel| pixel.0[index]).collect();
        for value in &values {
            want[usize::from(*value)] += 1;
        }
        let counts: Vec<u64> =
            channel["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        assert_eq!(counts, want, "{channel}");
        values.sort_unstable();
        assert_eq!(channel["min"], values[0]);
        assert_eq!(channel["max"], values[599]);
        assert_eq!(channel["median"], values[299]);
        let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / 600.0;
        assert!((channel["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    }
    assert_eq!(channels[0]["name"], "red");
}

#[test]
fn of_sixteen_bits_the_upper_eight() {
    let bench = Bench::new();
    let values: Vec<u16> = (0..1000u32).map(|at| (at * 65) as u16).collect();
    let mut file = b"P5\n100 10\n65535\n".to_vec();
    file.extend(values.iter().flat_map(|value| value.to_be_bytes()));
    bench.write("a.pgm", file);
    let found = json(&bench.succeed(&["histogram", "a.pgm", "--format", "json"]));
    assert_eq!((found["bits"].as_u64(), found["bin_width"].as_u64()), (Some(16), Some(256)));
    let counts = found["channels"][0]["counts"].as_array().unwrap();
    for (bin, count) in counts.iter().enumerate() {
        let want = values.iter().filter(|value| usize::from(**value >> 8) == bin).count();
        assert_eq!(count.as_u64(), Some(want as u64), "{bin}");
    }
}

#[test]
fn as_bars() {
    let bench = Bench::new();
    // A quarter of the pixels are 10, the others 250.
    let picture = image::GrayImage::from_fn(8, 8, |x, _| image::Luma([if x < 2 { 10 } else { 250 }]));
    picture.save(bench.path().join("a.png")).unwrap();
    let said = bench.succeed(&["histogram", "a.png", "--device", "cpu"]);
    assert!(said.starts_with("a.png 8x8\n"), "{said}");
    assert!(said.contains("gray: 10 to 250, median 250, mean 190"), "{said}");
    let line =
        |start: &str| said.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    assert!(line("0 to  15").contains("25%") && line("240 to 255").contains("75%"), "{said}");
    let bar = |start: &str| line(start).matches('█').count();
    assert_eq!((bar("240 to 255"), bar("0 to  15")), (64, 21));
    bench.refuse(&["histogram", "missing.png"], &["missing.png", "check the path"]);
}
