//! Each format of a kernel run, on hand-made figures.

use tripipe_launch::{CpuLoad, NdRange};
use tripipe_launch_file::{ArrayShape, Comparison, ElementType, Tolerance};
use tripipe_report::run::{Base, Memory, Run, lines, memory_result, result, text};
use tripipe_results::{Document, KernelRun};

fn run(range: &NdRange) -> Run<'_> {
    let cpu_load = Some(CpuLoad { cores: 1.5, calling_thread: 0.25 });
    Run {
        kernel: "blur",
        program: "blur.cl",
        range,
        device: "Mali-G610",
        seconds: 0.0125,
        cpu_load,
        energy: None,
    }
}

fn array(element: &str, extents: &[usize]) -> ArrayShape {
    let element = ElementType::from_opencl_name(element).unwrap();
    ArrayShape { element, extents: extents.to_vec() }
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn memory<'a>(array: &'a ArrayShape, bytes: &'a [u8]) -> Memory<'a> {
    Memory {
        argument: 3,
        name: "out",
        array,
        bytes,
        written: None,
        shown: None,
        file: None,
        comparison: None,
    }
}

fn json(result: KernelRun) -> String {
    Document::from(result).to_string()
}

fn all(memory: &Memory<'_>) -> String {
    lines(memory).collect()
}

#[test]
fn the_run_itself() {
    let range = NdRange::d2(640, 480).local(16, 4, 1).offset(0, 8, 0);
    assert_eq!(
        text(&run(&range)),
        "blur of blur.cl over 640x480 from 0x8 in groups of 16x4, on Mali-G610: 12.5 ms; 1.50 CPU cores busy, \
         0.25 of them the calling thread\n"
    );
    assert_eq!(
        json(result(&run(&range), "a \"word\"\n")),
        r#"{"command":"run-kernel","version":1,"kernel":"blur","program":"blur.cl","global":[640,480],"local":[16,4],"offset":[0,8],"device":"Mali-G610","seconds":0.0125,"cpu_load":{"cores":1.5,"calling_thread":0.25},"printed":"a \"word\"\n"}"#
    );
    assert!(json(result(&run(&NdRange::d1(5)), "")).contains(r#""global":[5],"local":null,"offset":[0]"#));
}

#[test]
fn numbers() {
    let array = array("float", &[2, 3]);
    let bytes = floats(&[1.0, 0.1, -2.5, f32::NAN, f32::INFINITY, 1e30]);
    let shown = Memory { shown: Some(Base::Ten), ..memory(&array, &bytes) };
    assert_eq!(
        all(&shown),
        "\nArgument 'out': 24 bytes\n  out[0][0] = 1.0\n  out[0][1] = 0.1\n  out[0][2] = -2.5\n  out[1][0] = NaN\n  \
         out[1][1] = inf\n  out[1][2] = 1e30\n\n"
    );
    assert_eq!(
        json(memory_result(&shown)),
        r#"{"command":"run-kernel","version":1,"argument":3,"name":"out","element":"float","extents":[2,3],"written":null,"numbers":[1.0,0.1,-2.5,"NaN","inf",1e+30]}"#
    );
    let hex = Memory { shown: Some(Base::Sixteen), ..memory(&array, &bytes) };
    // IEEE 754: 1 and infinity.
    assert!(all(&hex).contains("  out[0][0] = 0x3f800000\n"));
    assert!(json(memory_result(&hex)).contains("\"0x7f800000\""));
    assert_eq!(all(&memory(&array, &bytes)), "");
}

#[test]
fn vectors_and_integers() {
    // A vector of 3 has a fourth, invisible lane.
    let bytes = [1u8, 2, 3, 99, 4, 5, 255, 99];
    let array = array("uchar3", &[2]);
    let shown = Memory { shown: Some(Base::Ten), file: Some("out.npy"), ..memory(&array, &bytes) };
    assert_eq!(
        all(&shown),
        "\nArgument 'out': 8 bytes\n  out[0] = (1, 2, 3)\n  out[1] = (4, 5, 255)\n\nout -> out.npy\n"
    );
    assert_eq!(
        json(memory_result(&shown)),
        r#"{"command":"run-kernel","version":1,"argument":3,"name":"out","element":"uchar3","extents":[2],"written":null,"numbers":[1,2,3,4,5,255],"file":"out.npy"}"#
    );
    let largest = u64::MAX.to_ne_bytes();
    let array = self::array("ulong", &[1]);
    let shown = Memory { shown: Some(Base::Ten), ..memory(&array, &largest) };
    assert!(json(memory_result(&shown)).contains("18446744073709551615"));
}

#[test]
fn comparisons() {
    let array = array("float2", &[1000]);
    let (want, found) = (floats(&[0.5; 2000]), floats(&[0.75; 2000]));
    let compared =
        |absolute| Comparison::of(&array, &found, &want, &Tolerance { absolute, ..Tolerance::default() });
    let near = compared(0.25);
    let shown = Memory { comparison: Some(&near), ..memory(&array, &found) };
    assert_eq!(all(&shown), "out: 2,000 numbers as expected, within 0.25\n");
    let far = compared(0.125);
    let shown = Memory { comparison: Some(&far), ..memory(&array, &found) };
    let said = all(&shown);
    let mut said = said.lines();
    assert_eq!(
        said.next(),
        Some("out: 2,000 of 2,000 numbers not as expected; the largest difference is 0.25")
    );
    assert_eq!(said.next(), Some("  out[0][0] is 0.75, expected 0.5"));
    assert_eq!(said.next(), Some("  out[0][1] is 0.75, expected 0.5"));
    assert_eq!(said.nth(8), Some("  and 1,990 more"));
    assert_eq!(said.next(), None);
    let json: serde_json::Value = serde_json::from_str(&json(memory_result(&shown))).unwrap();
    assert_eq!(json["comparison"]["differing"], 2000);
    assert_eq!(json["comparison"]["largest_difference"], 0.25);
    assert_eq!(json["comparison"]["first"][9]["index"], serde_json::json!([4, 1]));
}
