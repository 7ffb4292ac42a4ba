//! Published measurements of memory: `ArchProbe` on an Adreno 640, streams and products on an Adreno 620, clpeak on a Mali-T604.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::{Gpu, find};
use tripipe_launch::{
    Argument, ChannelOrder, ChannelType, ImageExtent, ImageShape, MemoryKind, NdRange, Program,
};

use crate::published::{Compared, Passed, keep, limiter, percent, program, time};

fn image(extent: ImageExtent, channel: ChannelType) -> MemoryKind {
    MemoryKind::Image(ImageShape { extent, order: ChannelOrder::Rgba, channel })
}

/// Nanoseconds of a dependent read within `bytes`, by the difference of two launches.
fn latency_ns(gpu: &'static Gpu, program: &Arc<Program>, is_image: bool, bytes: usize) -> Option<f64> {
    // One step a line, in the order of addresses, as the benchmark does.
    let texels = bytes / 16;
    let apart = if is_image { 2 } else { 4 };
    let next = |texel: usize| ((texel + apart) % texels) as i32;
    let scale = if is_image { 1 } else { 4 };
    let contents: Vec<u8> =
        (0..texels).flat_map(|texel| [next(texel) * scale, 0, 0, 0]).flat_map(i32::to_ne_bytes).collect();
    let lines = texels / apart;
    let mut seconds = [0.0; 2];
    let rounds = [1, 2 + 256 / lines];
    for (seconds, rounds) in seconds.iter_mut().zip(rounds) {
        let kind = if is_image {
            image(ImageExtent::D1 { width: texels }, ChannelType::I32)
        } else {
            MemoryKind::Buffer { bytes }
        };
        let passed =
            vec![Passed::Contents(kind, contents.clone()), Passed::buffer(4), Passed::Int(rounds * lines)];
        let entry = if is_image { "follow_image" } else { "follow_buffer" };
        *seconds = time(gpu, program, entry, passed, NdRange::d1(1).local(1, 1, 1))?.seconds;
    }
    Some((seconds[1] - seconds[0]) / ((rounds[1] - rounds[0]) * lines) as f64 * 1e9)
}

/// The kind of memory that is read.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    Buffer,
    Image,
    Local,
}

/// GB/s of reads within `range` bytes by work-groups of 1024.
fn bandwidth(gpu: &'static Gpu, program: &Arc<Program>, read: Read, range: usize) -> Option<f64> {
    let mask = range / 16 - 1;
    // Enough to read large ranges several times, as the benchmark does.
    let groups = if range > 1 << 20 { 64 } else { 24 };
    let source = match read {
        Read::Buffer => Passed::buffer(range),
        Read::Image => Passed::Memory(image(ImageExtent::D1 { width: range / 16 }, ChannelType::F32)),
        Read::Local => Passed::Argument(Argument::Local { bytes: range }),
    };
    let entry = match read {
        Read::Buffer => "read_buffer",
        Read::Image => "read_image",
        Read::Local => "read_local",
    };
    let passed = vec![source, Passed::buffer(1024 * 16), Passed::Int(mask)];
    let found = time(gpu, program, entry, passed, NdRange::d1(groups * 1024).local(1024, 1, 1))?;
    Some((groups * 1024 * 64 * 16) as f64 / found.seconds * 1e-9)
}

/// Results of `ArchProbe` on a Pixel 4. Ranges in bytes, nanoseconds, GB/s.
const BUFFER_NS: &[(usize, f64)] = &[(4096, 112.9), (65536, 112.9), (122_880, 112.9)];
const IMAGE_NS: &[(usize, f64)] = &[(1024, 130.0), (16384, 160.0), (122_880, 160.0), (262_144, 200.0)];
const BUFFER_RATE: &[(usize, f64)] = &[
    (16, 72.1),
    (32, 72.1),
    (64, 37.1),
    (128, 35.9),
    (256, 65.2),
    (512, 70.4),
    (1024, 59.3),
    (2048, 96.3),
    (8192, 96.3),
    (65536, 95.6),
    (131_072, 86.9),
    (262_144, 57.7),
    (1 << 20, 34.8),
    (1 << 23, 30.5),
    (1 << 25, 30.3),
];
const IMAGE_RATE: &[(usize, f64)] = &[
    (16, 194.5),
    (256, 194.5),
    (1024, 194.5),
    (2048, 99.2),
    (8192, 100.2),
    (65536, 99.1),
    (131_072, 87.9),
    (262_144, 68.2),
];
const LOCAL_RATE: &[(usize, f64)] = &[(16, 145.2), (64, 139.8), (128, 100.6), (2048, 102.8), (16384, 103.1)];

#[test]
fn archprobe_curves_of_an_adreno_640_come_out() {
    let gpu = find("adreno-640").unwrap();
    let program = Arc::new(program("timing/tests/published/memory.cl"));
    let mut table =
        String::from("| measured | within bytes | published | model | error |\n|---|--:|--:|--:|--:|\n");
    let mut errors = Vec::new();
    let mut far = 0;
    for (what, is_image, points) in
        [("dependent buffer load, ns", false, BUFFER_NS), ("dependent image read, ns", true, IMAGE_NS)]
    {
        for (bytes, published) in points {
            let Some(found) = latency_ns(gpu, &program, is_image, *bytes) else { return };
            let error = found / published - 1.0;
            let _ = writeln!(table, "| {what} | {bytes} | {published} | {found:.1} | {} |", percent(error));
            errors.push(error);
            far += usize::from(error.abs() > 0.25);
        }
    }
    for (what, read, points) in [
        ("buffer, GB/s", Read::Buffer, BUFFER_RATE),
        ("image, GB/s", Read::Image, IMAGE_RATE),
        ("local memory, GB/s", Read::Local, LOCAL_RATE),
    ] {
        for (range, published) in points {
            let Some(found) = bandwidth(gpu, &program, read, *range) else { return };
            let error = found / published - 1.0;
            let _ = writeln!(table, "| {what} | {range} | {published} | {found:.1} | {} |", percent(error));
            errors.push(published / found - 1.0);
            far += usize::from(error.abs() > 0.25);
        }
    }
    let count = errors.len();
    let _ = writeln!(table, "\nPoints farther than 25 % from the published ones: {far} of {count}.");
    keep("archprobe", &table);
    assert!(far <= 2, "{table}");
    let what = "latency and bandwidth of buffers, images and local memory over the working set";
    Compared { name: "archprobe-a640", gpu: "adreno-640", what, source: "archprobe", fitted: true, errors }
        .keep();
}

/// Bytes that the stream of the Adreno 620 reads.
const BYTES: usize = 1 << 28;

#[test]
fn images_beat_buffers_on_an_adreno_620() {
    let gpu = find("adreno-620").unwrap();
    let program = Arc::new(program("timing/tests/published/row_vector.cl"));
    let mut table = String::from(
        "| measured | buffer published | model | image published | model | ratio published | model | error |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut errors = Vec::new();
    let mut row = |what: String, published: [f64; 2], found: [f64; 2]| {
        let (wanted, ratio) = (published[0] / published[1], found[0] / found[1]);
        let _ = writeln!(
            table,
            "| {what} | {:.0} | {:.0} | {:.0} | {:.0} | {wanted:.2} | {ratio:.2} | {} |",
            published[0],
            found[0],
            published[1],
            found[1],
            percent(ratio / wanted - 1.0)
        );
        errors.push(wanted / ratio - 1.0);
    };
    for (n, published) in
        [(4608, [2680.0, 1153.0]), (3072, [1779.0, 778.0]), (1024, [597.0, 280.0]), (512, [307.0, 155.0])]
    {
        let mut found = [0.0; 2];
        for (found, entry) in found.iter_mut().zip(["row_vector_buffer", "row_vector_image"]) {
            let matrix = if entry.ends_with("image") {
                Passed::ImageOverBuffer(ImageShape::d2(256, n, ChannelOrder::Rgba, ChannelType::F16))
            } else {
                Passed::buffer(2 * 1024 * n)
            };
            let passed = vec![Passed::buffer(2048), matrix, Passed::buffer(2 * n), Passed::Int(256)];
            let rows = if entry.ends_with("image") { 4 } else { 1 };
            let range = NdRange::d1(n / rows * 64).local(64, 1, 1);
            let Some(prediction) = time(gpu, &program, entry, passed, range) else { return };
            *found = prediction.seconds * 1e6;
        }
        row(format!("row vector of 1024 times 1024 x {n}, us"), published, found);
    }
    let reads = 64;
    let items = BYTES / 8 / reads;
    let mut found = [0.0; 2];
    for (found, is_image) in found.iter_mut().zip([false, true]) {
        let source = if is_image {
            let shape = ImageShape::d2(4096, BYTES / 8 / 4096, ChannelOrder::Rgba, ChannelType::F16);
            Passed::ImageOverBuffer(shape)
        } else {
            Passed::buffer(BYTES)
        };
        let passed = vec![source, Passed::buffer(4 * items), Passed::Int(reads)];
        let entry = if is_image { "stream_image" } else { "stream_buffer" };
        let Some(prediction) = time(gpu, &program, entry, passed, NdRange::d1(items).local(64, 1, 1)) else {
            return;
        };
        *found = prediction.seconds * 1e6;
    }
    let published = [7.85, 13.46].map(|rate| BYTES as f64 / rate * 1e-3);
    row("reading 256 MB, us".to_owned(), published, found);
    keep("adreno 620", &table);
    let what = "ratios of buffer and image: a row vector times a matrix of halves, reading 256 MB";
    Compared { name: "llms-a620", gpu: "adreno-620", what, source: "adreno-llms", fitted: true, errors }
        .keep();
}

#[test]
fn streams_of_floats_on_a_t604_come_out() {
    let gpu = find("t604").unwrap();
    let mut table =
        String::from("| load | published GB/s | model | error | limiter |\n|---|--:|--:|--:|---|\n");
    let mut errors = Vec::new();
    for (width, published) in [(1, 1.56), (2, 4.41), (4, 5.75)] {
        let program = Arc::new(program("timing/tests/published/stream.cl").define("WIDTH", width));
        let items = (16 << 20) / 4 / width / 16;
        let passed = vec![Passed::buffer(16 << 20), Passed::buffer(4 * items)];
        let range = NdRange::d1(items).local(128, 1, 1);
        let Some(found) = time(gpu, &program, "stream", passed, range) else { return };
        let rate = f64::from(16 << 20) / found.seconds * 1e-9;
        let limiter = limiter(&found);
        let _ = writeln!(
            table,
            "| float{width} | {published} | {rate:.2} | {} | {limiter} |",
            percent(rate / published - 1.0)
        );
        errors.push(published / rate - 1.0);
    }
    keep("t604 streams", &table);
    let what = "bandwidth of loads of float, float2 and float4";
    Compared { name: "clpeak-t604", gpu: "mali-t604", what, source: "clpeak-t604", fitted: false, errors }
        .keep();
}
