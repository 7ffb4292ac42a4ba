//! How much arithmetic is free beside the loads and stores: the steps of `saxpy-ratio`.

/// What a step may take longer than the first one and count as free.
const TENTH: f64 = 1.1;

/// The last step that is free, and the first one that is not, by name and median time; `None` for other ladders.
pub(super) fn balance(ladder: &str, size: &str, steps: &[(&str, f64)]) -> Option<String> {
    let &(first, base) = steps.first().filter(|_| ladder == "saxpy-ratio")?;
    let more = |seconds: f64| format!("{:+.0} %", 100.0 * (seconds / base - 1.0));
    let free = steps.iter().take_while(|(_, seconds)| *seconds <= TENTH * base).count();
    Some(match (steps.get(free - 1), steps.get(free)) {
        (Some(&(name, seconds)), Some(&(next, longer))) => format!(
            "At {size}, arithmetic is free beside the loads and stores up to {name} ({} over {first}); {next} takes {}.",
            more(seconds),
            more(longer)
        ),
        (Some(&(name, seconds)), None) => format!(
            "At {size}, arithmetic is free beside the loads and stores even with {name} ({} over {first}).",
            more(seconds)
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_more_is_free_and_what_follows_is_not() {
        let steps =
            [("terms-1", 1.0), ("terms-2", 0.99), ("terms-4", 1.09), ("terms-8", 1.5), ("terms-16", 1.05)];
        let said = balance("saxpy-ratio", "65536", &steps).unwrap();
        assert!(said.contains("up to terms-4 (+9 % over terms-1); terms-8 takes +50 %."), "{said}");
        let all = balance("saxpy-ratio", "65536", &steps[..3]).unwrap();
        assert!(all.contains("even with terms-4"), "{all}");
        assert_eq!(balance("saxpy", "65536", &steps), None);
        assert_eq!(balance("saxpy-ratio", "65536", &[]), None);
    }
}
