//! Runs damaged modules and launch files briefly; `examples/fuzz.rs` runs them for any length of time.

mod cases;

#[test]
fn every_input_terminates() {
    let some =
        ["image_border_ok", "data_race", "divided_floats_ok", "async_length", "flag_by_all", "bit_fields_ok"];
    let samples = cases::samples(|name| some.contains(&name)).unwrap_or_else(|error| panic!("{error}"));
    let (mut done, mut refused) = (0, 0);
    for case in 0..1000 {
        let ran = cases::run(&samples, 0, case).unwrap_or_else(|bug| panic!("{bug}"));
        done += ran.done;
        refused += ran.refused;
    }
    // Some cases must run, and some must be refused.
    assert!(done > 300 && refused > 300, "{done} done, {refused} refused");
}
