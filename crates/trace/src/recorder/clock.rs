//! A device's clock, placed on the host's.

/// What is known about the difference between the clocks of a device and of the host.
///
/// A driver takes a command's queued time, on the device's clock, inside the host's call that enqueues it. So the host's
/// time minus the device's is at least the start of the call minus that time, and at most its end minus that time. All
/// commands together narrow it down.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeviceClock {
    /// The largest lower and the smallest upper bound of host minus device.
    bounds: Option<[i128; 2]>,
}

impl DeviceClock {
    /// Takes note of a command that was queued at a time of the device, in a call between two times of the host.
    pub(super) fn record_sample(&mut self, queued_ns: u64, [begin_ns, end_ns]: [u64; 2]) {
        let difference = |host: u64| i128::from(host) - i128::from(queued_ns);
        let (low, high) = (difference(begin_ns), difference(end_ns));
        let [least, most] = self.bounds.get_or_insert([low, high]);
        *least = (*least).max(low);
        *most = (*most).min(high);
    }

    /// A time of the device on the host's clock; 0 for times before recording began. If the clocks drift apart, the
    /// difference is a mean.
    pub(super) fn on_host(&self, device_ns: u64) -> u64 {
        let [least, most] = self.bounds.unwrap_or_default();
        let host = i128::from(device_ns) + i128::midpoint(least, most);
        u64::try_from(host.max(0)).unwrap_or(u64::MAX)
    }

    /// How well the difference is known.
    pub(super) fn accuracy_text(&self) -> Option<String> {
        let [least, most] = self.bounds?;
        let micros = least.abs_diff(most) as f64 / 2e3;
        Some(format!("device times are on the host's clock to within {micros:.1} us"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_commands_narrow_the_difference_down() {
        // The host's clock is 1000 ahead.
        let mut clock = DeviceClock::default();
        clock.record_sample(500, [1400, 1700]);
        assert_eq!(clock.on_host(500), 1550);
        clock.record_sample(900, [1890, 1915]);
        assert_eq!((clock.on_host(500), clock.on_host(0)), (1502, 1002));
        assert_eq!(clock.accuracy_text().unwrap(), "device times are on the host's clock to within 0.0 us");
    }

    #[test]
    fn a_device_whose_clock_is_ahead_of_the_host() {
        let mut clock = DeviceClock::default();
        clock.record_sample(u64::MAX - 5, [10, 20]);
        assert_eq!((clock.on_host(u64::MAX - 5), clock.on_host(3)), (15, 0));
    }
}
