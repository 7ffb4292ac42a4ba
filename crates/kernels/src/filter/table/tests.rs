use tripipe_device::DeviceKind;

use super::*;
use crate::table::{TableFile, Target, measured_files, predicted_files};

const FAST: &str = "8x8 loads=direct sums=narrow fuse=pixels group=256x1";
const SLOW: &str = "16x4 loads=shared sums=narrow fuse=pixels group=64x1";

fn processor(name: &str) -> Probe {
    Probe { name: name.to_owned(), kind: DeviceKind::Cpu, ..Probe::default() }
}

fn series(on: Target, times: &[(&str, &str, f64)]) -> ChainSeries {
    let time = |(of, parameters, seconds): &(&str, &str, f64)| ChainTime {
        of: of.parse().unwrap(),
        seconds: *seconds,
        parameters: parameters.parse().unwrap(),
    };
    ChainSeries {
        on,
        basis: Basis::Measured,
        source: "a test".to_owned(),
        device: "a device".to_owned(),
        driver: "1".to_owned(),
        version: "0".to_owned(),
        date: "2026-11-23".to_owned(),
        times: times.iter().map(time).collect(),
    }
}

fn table_of(filter: Vec<ChainSeries>) -> Table {
    Table::of(TableFile { filter, ..TableFile::default() })
}

fn chosen(table: &Table, of: &str, probe: &Probe) -> ChainChoice {
    let TimedChain { chain, from } = of.parse().unwrap();
    table.choose_chain(&chain, &from, probe)
}

fn named(name: &str) -> Target {
    Target::Name(name.to_owned())
}

/// A phone's GPU that is known by its name alone.
fn phone(name: &str) -> Probe {
    Probe { name: name.to_owned(), kind: DeviceKind::Gpu, max_work_group_size: 256, ..Probe::default() }
}

#[test]
fn predicted_times_decide_on_gpus_that_nobody_measured() {
    let shipped = |gpu| chosen(Table::shipped(), "laplace 1280x720x3 u8", &phone(gpu));
    let itself = shipped("Mali-G77");
    assert!(itself.why.contains("predicted of Mali-G77 itself"), "{}", itself.why);
    assert!(itself.source.contains("timing model"), "{}", itself.source);
    // Other devices have none.
    assert!(!shipped("NVIDIA L4").why.contains("predicted"));
    let alone = chosen(&Table::default(), "laplace 1280x720x3 u8", &phone("Mali-G77"));
    assert!(!alone.why.contains("predicted"), "{}", alone.why);
}

/// What a test writes into the table is what the choice must find again.
#[test]
fn the_fastest_at_near_chains_is_chosen() {
    let table = table_of(vec![series(
        named("pthread"),
        &[
            ("gaussian:5 640x480x3 u8", FAST, 1e-3),
            ("gaussian:5 640x480x3 u8", SLOW, 2e-3),
            ("median:3 640x480x3 u8", FAST, 4e-3),
            ("median:3 640x480x3 u8", SLOW, 2e-3),
        ],
    )]);
    let probe = processor("pthread");
    let text = |of| chosen(&table, of, &probe).parameters.to_string();
    assert_eq!(text("gaussian:5 640x480x3 u8"), FAST);
    assert_eq!(text("gaussian:7 800x600x3 u8"), FAST);
    assert_eq!(text("box:5 640x480x4 u8"), FAST);
    assert_eq!(text("median:3 640x480x1 u8"), SLOW);
    assert_eq!(text("median:5 640x480x3 u8"), SLOW);
    // The rule decides where nothing is near, and on other devices.
    let rule = |of, probe: &Probe| chosen(&Table::default(), of, probe);
    for (of, probe) in [
        ("yuv 640x480x3 u8", &probe),
        ("gaussian:5 7680x4320x3 f32", &probe),
        ("gaussian:5 640x480x3 u8", &processor("another CPU")),
    ] {
        assert_eq!(chosen(&table, of, probe), rule(of, probe), "{of} on {}", probe.name);
    }
    let choice = chosen(&table, "gaussian:5 1280x960x3 u8", &probe);
    assert!(choice.why.contains("gaussian:5 640x480x3 u8: 1000 us"), "{}", choice.why);
    // Four times the pixels, and a loss of which a part is not known.
    let seconds = choice.estimated_seconds.unwrap();
    assert!((4e-3..4.4e-3).contains(&seconds), "{seconds}");
    assert_eq!(choice.runners_up.len(), 2);
    assert_eq!(chosen(&table, "gaussian:7 640x480x3 u8", &probe).estimated_seconds, None);
}

/// Parameters that a chain cannot use are replaced by those nearest to them, which keep their times.
#[test]
fn choices_pass_the_check() {
    let aligned = "16x8 loads=aligned sums=paired fuse=windows group=64x2";
    let table = table_of(vec![series(
        named("Some GPU"),
        &[("gaussian:5 640x480x1 u8", aligned, 1e-3), ("gaussian:5 640x480x1 u8", SLOW, 2e-3)],
    )]);
    let probe = Probe { name: "Some GPU".to_owned(), max_work_group_size: 128, ..Probe::default() };
    for (of, want) in [
        ("gaussian:5 640x480x1 u8", "16x8 loads=aligned sums=paired fuse=pixels group=64x2"),
        ("gaussian:5 641x480x1 u8", "16x8 loads=shared sums=paired fuse=pixels group=64x2"),
        ("gaussian:7 640x480x1 u8", "16x8 loads=aligned sums=narrow fuse=pixels group=64x2"),
    ] {
        assert_eq!(chosen(&table, of, &probe).parameters.to_string(), want, "{of}");
    }
    let small = Probe { max_work_group_size: 64, ..probe };
    assert_eq!(chosen(&table, "gaussian:5 640x480x1 u8", &small).parameters.to_string(), SLOW);
}

/// A measured time counts more than a predicted one, and a GPU's own more than a relative's.
#[test]
fn nearer_devices_and_stronger_bases_decide() {
    let gpu = |name: &str| Target::Gpu(name.to_owned());
    let times = |fast, slow| [("erode:3 640x480x1 u8", fast, 1e-3), ("erode:3 640x480x1 u8", slow, 2e-3)];
    let own = series(gpu("Mali-G610"), &times(FAST, SLOW));
    let predicted = ChainSeries { basis: Basis::Predicted, ..series(gpu("Mali-G610"), &times(SLOW, FAST)) };
    let relative = series(gpu("Mali-G710"), &times(SLOW, FAST));
    let probe = Probe { name: "Mali-G610".to_owned(), ..Probe::default() };
    let text = |series: &[&ChainSeries]| {
        let table = table_of(series.iter().map(|one| (*one).clone()).collect());
        chosen(&table, "erode:3 640x480x1 u8", &probe).parameters.to_string()
    };
    assert_eq!(text(&[&predicted, &own]), FAST);
    assert_eq!(text(&[&relative, &own]), FAST);
    assert_eq!(text(&[&predicted]), SLOW);
    assert_eq!(text(&[&relative]), SLOW);
    // A GPU of the same vendor, of another family.
    let midgard = series(gpu("Mali-T860"), &times(SLOW, FAST));
    let table = table_of(vec![midgard]);
    let rule = chosen(&Table::default(), "erode:3 640x480x1 u8", &probe);
    assert_eq!(chosen(&table, "erode:3 640x480x1 u8", &probe), rule);
}

/// What is a percent faster only is not worth another kernel.
#[test]
fn the_rule_stays_where_nothing_is_clearly_faster() {
    let probe = processor("pthread");
    let of = "erode:3 640x480x1 u8";
    let rule = chosen(&Table::default(), of, &probe).parameters;
    let text = rule.to_string();
    let table =
        |seconds| table_of(vec![series(named("pthread"), &[(of, text.as_str(), 1e-3), (of, FAST, seconds)])]);
    let choice = chosen(&table(0.99e-3), of, &probe);
    assert_eq!(choice.parameters, rule);
    assert!(choice.why.contains("confirm"), "{}", choice.why);
    assert_eq!(chosen(&table(0.9e-3), of, &probe).parameters.to_string(), FAST);
}

#[test]
fn times_read_back_as_they_print() {
    let times: Vec<(&str, &str, f64)> = vec![
        ("gray,gaussian:5 1920x1080x3 u8", FAST, 41.3e-6),
        ("laplace 64x48x4 f32 border=wrap keep-alpha planar", FAST, 1.5),
        ("bilateral:5:20:1.5 64x48x1 u16 border=constant:7", SLOW, 2e-6),
    ];
    let file = TableFile { filter: vec![series(named("Some"), &times)], ..TableFile::default() };
    let text = file.to_toml().unwrap();
    assert!(text.contains("\"gray,gaussian:5 1920x1080x3 u8 41.30 us\""), "{text}");
    let parsed = TableFile::parse("a test", &text).unwrap();
    let sorted = |file: &TableFile| {
        let mut all: Vec<String> = file.filter[0]
            .times
            .iter()
            .map(|time| format!("{} {}", time.of, microseconds(time.seconds)))
            .collect();
        all.sort();
        all
    };
    assert_eq!(sorted(&parsed), sorted(&file));
    for (from, to, part) in [
        ("41.30 us", "41.30 ms", "want a time in microseconds"),
        ("41.30 us", "-1 us", "want a time in microseconds"),
        ("1920x1080x3 u8", "1920x1080x1 u8", "channels"),
        ("1920x1080x3 u8", "1920x1080 u8", "want an image"),
        ("1920x1080x3 u8", "1920x1080x3 u9", "want u8"),
        ("gray,gaussian:5", "gray,gausian:5", "gausian"),
        ("group=256x1", "group=256", "group=256"),
        ("basis", "bases", "bases"),
    ] {
        assert!(text.contains(from));
        let error = TableFile::parse("mine.toml", &text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains("mine.toml") && error.contains(part), "{to}: {error}");
    }
}

#[test]
fn the_shipped_times_are_of_known_devices_and_parse() {
    for series in measured_files().flat_map(|file| &file.filter) {
        let strong = matches!(series.basis, Basis::Measured | Basis::Predicted);
        assert!(strong && !series.source.is_empty() && !series.times.is_empty(), "{}", series.on);
    }
}

/// The loss of a choice at a chain, as a logarithm; `None` if the choice has no time there.
fn loss(choice: &ChainChoice, of: &TimedChain, times: &[ChainTime]) -> Option<f64> {
    let here: Vec<&ChainTime> = times.iter().filter(|time| time.of == *of).collect();
    let adapted = adapted_to(&choice.parameters, of);
    let found = here.iter().find(|time| adapted_to(&time.parameters, of) == adapted)?;
    let best = here.iter().map(|time| time.seconds).fold(f64::INFINITY, f64::min);
    Some((found.seconds / best).ln())
}

/// Each chain is chosen by the times of the other chains, at both sizes, and by the rule alone. What the choices take is
/// what was measured. `--no-capture` prints the figures.
#[test]
fn times_of_other_chains_choose_better_than_rules() {
    let mut all_predicted = [Vec::new(), Vec::new()];
    for series in measured_files().chain(predicted_files()).flat_map(|file| &file.filter) {
        let name = series.on.to_string();
        let kind = if name.starts_with("pthread") { DeviceKind::Cpu } else { DeviceKind::Gpu };
        let is_predicted = series.basis == Basis::Predicted;
        let device = if is_predicted { name.clone() } else { series.device.clone() };
        let probe = Probe { name: device, kind, max_work_group_size: 256, ..Probe::default() };
        let mut chains: Vec<&TimedChain> = Vec::new();
        for time in &series.times {
            if !chains.contains(&&time.of) {
                chains.push(&time.of);
            }
        }
        let (mut by_times, mut by_rule) = (Vec::new(), Vec::new());
        for of in chains {
            let others = series.times.iter().filter(|time| time.of.chain != of.chain).cloned().collect();
            let table = table_of(vec![ChainSeries { times: others, ..series.clone() }]);
            let [times, rule] =
                [&table, &Table::default()].map(|table| table.choose_chain(&of.chain, &of.from, &probe));
            let Some((times, rule)) = loss(&times, of, &series.times).zip(loss(&rule, of, &series.times))
            else {
                continue;
            };
            println!("{of}: {:.2} of the shortest by times, {:.2} by the rule", times.exp(), rule.exp());
            by_times.push(times);
            by_rule.push(rule);
        }
        let mean = |losses: &[f64]| (losses.iter().sum::<f64>() / losses.len() as f64).exp();
        let worst = |losses: &[f64]| losses.iter().copied().fold(0.0, f64::max).exp();
        println!(
            "{name}, {} chains: geometric mean {:.3} by times, {:.3} by the rule; worst {:.2}, {:.2}",
            by_times.len(),
            mean(&by_times),
            mean(&by_rule),
            worst(&by_times),
            worst(&by_rule),
        );
        if is_predicted {
            all_predicted[0].extend(by_times);
            all_predicted[1].extend(by_rule);
        } else {
            assert!(by_times.len() >= 10 && mean(&by_times) < mean(&by_rule), "{name}");
        }
    }
    // Predicted times are few for each GPU.
    let [by_times, by_rule] =
        all_predicted.map(|losses| (losses.iter().sum::<f64>() / losses.len() as f64).exp());
    println!("predicted: geometric mean {by_times:.3} by times, {by_rule:.3} by the rule");
    assert!(by_times < by_rule, "{by_times} {by_rule}");
}

/// Of times of the very work on the device itself, the shortest decides.
#[test]
fn what_was_timed_itself_is_taken() {
    let shipped = Table::shipped();
    for gpu in ["mali-t604", "mali-g77", "adreno-650"] {
        let probe = tripipe_device::find(gpu).unwrap().expected_probe();
        for of in ["laplace 1920x1080x3 u8", "sobel 1920x1080x1 u8", "median:3 1920x1080x3 u8"] {
            let TimedChain { chain, from } = of.parse().unwrap();
            // Three channels have no alpha that could be kept.
            let why = shipped.choose_chain(&chain.keep_alpha(true), &from, &probe).why;
            let itself = format!("; the nearest: {of}: ");
            assert!(!why.contains(&itself) || why.contains("1.00 times the shortest"), "{gpu}, {of}: {why}");
        }
    }
}
