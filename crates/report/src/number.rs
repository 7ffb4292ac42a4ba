//! Numbers for people to read.

use tripipe_ir::diagnostic::plural;

/// Three significant digits, at most five characters up to 99999: `0.018`, `1.84`, `18.4`, `184`.
pub(crate) fn significant(value: f64) -> String {
    // Avoids a negative zero.
    let value = if value.abs() < 0.0005 { value.abs() } else { value };
    let size = value.abs();
    // Compared with the rounded value, so that 9.996 does not become 10.00.
    if !value.is_finite() {
        "?".to_owned()
    } else if size < 0.9995 {
        format!("{value:.3}")
    } else if size < 9.995 {
        format!("{value:.2}")
    } else if size < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A time with its unit: `3.2 ns`, `18.4 µs`, `1.84 ms`, `2.00 s`.
pub fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds.abs() {
        0.0 => (1.0, "s"),
        size if size < 1e-6 => (1e9, "ns"),
        size if size < 1e-3 => (1e6, "µs"),
        size if size < 1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", significant(seconds * scale))
}

/// A rate in 10^9 per second with its unit: `12.3 GB/s`.
pub fn giga(per_second: f64, unit: &str) -> String {
    format!("{} G{unit}/s", significant(per_second * 1e-9))
}

/// Bytes in binary units: `512 KiB`, `15.6 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 || unit == 0 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{} {}", significant(value), UNITS[unit])
    }
}

/// A share in percent: `62%`, `4.1%`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let percent = if percent.abs() < 0.05 { percent.abs() } else { percent };
    // Compared with the rounded value, so that 9.96% does not become 10.0%.
    if percent < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// A whole number in groups of three digits: `4,095`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 byte`, `4,095 bytes`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), plural(number == 1, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let cases = [
            (0.0, "0.000"),
            (0.0184, "0.018"),
            (0.9999, "1.00"),
            (1.844, "1.84"),
            (9.996, "10.0"),
            (99.96, "100"),
            (1842.4, "1842"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
        assert_eq!(significant(f64::INFINITY), "?");
        assert_eq!((significant(-0.0), significant(-0.0004)), ("0.000".to_owned(), "0.000".to_owned()));
        assert_eq!(
            (percent(-0.0), percent(-0.0004), percent(-0.01)),
            ("0.0%".into(), "0.0%".into(), "-1.0%".to_owned())
        );
    }

    #[test]
    fn units() {
        assert_eq!(time(0.0), "0.000 s");
        assert_eq!(time(3.2e-9), "3.20 ns");
        assert_eq!(time(0.00184), "1.84 ms");
        assert_eq!(time(75.0), "75.0 s");
        assert_eq!(giga(12.3e9, "B"), "12.3 GB/s");
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(512 * 1024), "512 KiB");
        assert_eq!(bytes(16_750_000_000), "15.6 GiB");
        assert_eq!(percent(0.041), "4.1%");
        assert_eq!(percent(0.62), "62%");
    }

    #[test]
    fn whole_numbers() {
        let cases = [(0, "0"), (999, "999"), (4095, "4,095"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "byte"), "1 byte");
        assert_eq!(counted(0, "byte"), "0 bytes");
        assert_eq!(counted(4096, "byte"), "4,096 bytes");
    }
}
