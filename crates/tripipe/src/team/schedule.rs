//! Which members take part, and how many rows each does next. Independent of devices and clocks.

use super::Share;
use crate::explanation::Time;

/// The fraction of the total rate below which a member is left out.
const LEAST_RATE: f64 = 0.08;
/// The fraction of the best member's time that sharing has to save.
const LEAST_SAVING: f64 = 0.1;
/// A member without measurements starts with this fraction (1/64) of the rows, and again for its second band: the first
/// is slower than those that follow.
const FIRST_PART: usize = 64;
/// Bands of a member are no smaller than this fraction (1/16) of its share, so that the last ones still fill a GPU; it
/// is also the fraction of its share by which a member may end after the others.
const LAST_PART: f64 = 16.0;

/// The rate of a member in one kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MemberRate {
    pub(super) rows_per_second: f64,
    /// Seconds before the first row.
    pub(super) setup_seconds: f64,
}

/// The selection of members.
pub(super) struct Selection {
    /// In the order of the members; at least one.
    pub(super) members: Vec<usize>,
    /// For every member, the reason why it does not take part.
    pub(super) left_out: Vec<Option<String>>,
    /// The reason why there is only one.
    pub(super) why_not: Option<String>,
}

/// Selects the members that compute this number of rows; at least one. Members without measurements take part.
pub(super) fn choose(
    rows: usize,
    paces: &[Option<MemberRate>],
    names: &[&str],
    uncut: Option<&str>,
) -> Selection {
    let mut left_out = vec![None; paces.len()];
    if paces.len() == 1 {
        let why_not = uncut.unwrap_or("the team has one member").to_owned();
        return Selection { members: vec![0], left_out, why_not: Some(why_not) };
    }
    let alone = |pace: &MemberRate| pace.setup_seconds + rows as f64 / pace.rows_per_second;
    let known = paces.iter().enumerate().filter_map(|(index, pace)| Some((index, pace.as_ref()?)));
    let best =
        known.min_by(|(_, one), (_, other)| alone(one).total_cmp(&alone(other))).map(|(index, _)| index);
    let only = |best: usize, why_not: String| {
        let left_out = (0..paces.len()).map(|index| (index != best).then(|| why_not.clone())).collect();
        Selection { members: vec![best], left_out, why_not: Some(why_not) }
    };
    if let Some(why_not) = uncut {
        return only(best.unwrap_or(0), why_not.to_owned());
    }
    let sum: f64 = paces.iter().flatten().map(|pace| pace.rows_per_second).sum();
    for (pace, left_out) in paces.iter().zip(&mut left_out) {
        *left_out = pace.and_then(|pace| too_slow(pace.rows_per_second, sum));
    }
    let members: Vec<usize> = (0..paces.len()).filter(|index| left_out[*index].is_none()).collect();
    let taking_part: Option<Vec<MemberRate>> = members.iter().map(|index| paces[*index]).collect();
    let (Some(best), Some(taking_part)) = (best, taking_part) else {
        return Selection { members, left_out, why_not: None };
    };
    if members.len() == 1 {
        let why_not =
            format!("every other member has less than {:.0} % of the total rate", 100.0 * LEAST_RATE);
        return Selection { members, left_out, why_not: Some(why_not) };
    }
    let alone = paces[best].as_ref().map_or(f64::INFINITY, alone);
    let together = together(rows, taking_part);
    if together > (1.0 - LEAST_SAVING) * alone {
        let times = [Time(alone), Time(together)];
        let least = 100.0 * LEAST_SAVING;
        return only(
            best,
            format!(
                "{} alone is estimated at {}, all together at {}: less than {least:.0} % saved",
                names[best], times[0], times[1]
            ),
        );
    }
    Selection { members, left_out, why_not: None }
}

/// Seconds until members that all end at the same time have computed the rows. A member that needs longer before its
/// first row computes none.
fn together(rows: usize, mut paces: Vec<MemberRate>) -> f64 {
    paces.sort_by(|one, other| one.setup_seconds.total_cmp(&other.setup_seconds));
    // With the first member alone, with one more, and so on: rows = sum rate (seconds - setup). The smallest value is
    // the valid one.
    let (mut rates, mut work) = (0.0, rows as f64);
    let seconds = paces.iter().map(|pace| {
        rates += pace.rows_per_second;
        work += pace.rows_per_second * pace.setup_seconds;
        work / rates
    });
    seconds.fold(f64::INFINITY, f64::min)
}

fn too_slow(rate: f64, sum: f64) -> Option<String> {
    let part = if sum > 0.0 { rate / sum } else { 1.0 };
    (part < LEAST_RATE).then(|| {
        format!(
            "it has {:.1} % of the total rate; at least {:.0} % is needed",
            100.0 * part,
            100.0 * LEAST_RATE
        )
    })
}

/// The rows to hand out, according to the rates of the members that ask.
pub(super) struct Schedule {
    rows: usize,
    quantum: usize,
    tallies: Vec<Tally>,
}

/// The next work of a member.
pub(super) enum Next {
    /// A number of rows.
    Rows(usize),
    /// Nothing more: it would delay the others, for this reason.
    TooSlow(String),
    /// Nothing: all rows are handed out, or reserved for others.
    Nothing,
}

/// The work of a member in this call.
#[derive(Clone, Debug)]
struct Tally {
    pace: Option<MemberRate>,
    takes_part: bool,
    bands: usize,
    first: (usize, f64),
    later: (usize, f64),
}

impl Tally {
    /// Rows per second: of the bands after the first, which is slower; otherwise of the first; otherwise of earlier
    /// calls.
    fn rate(&self) -> Option<f64> {
        let of =
            |(rows, seconds): (usize, f64)| (rows > 0).then(|| rows as f64 / seconds.max(f64::MIN_POSITIVE));
        of(self.later).or_else(|| of(self.first)).or(self.pace.map(|pace| pace.rows_per_second))
    }
}

impl Schedule {
    pub(super) fn new(rows: usize, quantum: usize, paces: Vec<Option<MemberRate>>) -> Self {
        let tally = |pace| Tally { pace, takes_part: false, bands: 0, first: (0, 0.0), later: (0, 0.0) };
        Self { rows, quantum, tallies: paces.into_iter().map(tally).collect() }
    }

    /// Sets the members that take part from now on.
    pub(super) fn begin(&mut self, members: &[usize]) {
        for (index, tally) in self.tallies.iter_mut().enumerate() {
            tally.takes_part = members.contains(&index);
        }
    }

    /// Records that a member no longer takes part.
    pub(super) fn leave(&mut self, index: usize) {
        self.tallies[index].takes_part = false;
    }

    /// How many of the `left` rows a member does next, at most `most`.
    pub(super) fn next(&self, index: usize, left: usize, most: usize) -> Next {
        if left == 0 {
            return Next::Nothing;
        }
        let own = &self.tallies[index];
        let (own_rate, bands) = (own.rate(), own.bands);
        let others =
            self.tallies.iter().enumerate().filter(|(other, tally)| *other != index && tally.takes_part);
        let others: Vec<Option<f64>> = others.map(|(_, tally)| tally.rate()).collect();
        if others.is_empty() {
            return Next::Rows(left.min(most));
        }
        // A member without measurements gets a band, so that it will be measured.
        let kept_for_others = self.quantum * others.iter().filter(|rate| rate.is_none()).count();
        let left = match left.saturating_sub(kept_for_others) {
            0 if own_rate.is_some() => return Next::Nothing,
            0 => left.min(self.quantum),
            left => left,
        };
        let others_known: Vec<f64> = others.iter().flatten().copied().collect();
        let others_sum: f64 = others_known.iter().sum();
        if let Some(rate) = own_rate
            && bands > 1
            && let Some(why) = too_slow(rate, rate + others_sum)
        {
            return Next::TooSlow(why);
        }
        let want = match own_rate {
            Some(rate) if own.pace.is_some() || bands > 1 => {
                // A member without measurements counts as the average of the others.
                let mean = (rate + others_sum) / (1 + others_known.len()) as f64;
                let sum = rate + others_sum + mean * (others.len() - others_known.len()) as f64;
                let share = rate / sum;
                (left as f64 * share / 2.0).max(self.rows as f64 * share / LAST_PART) as usize
            }
            _ => self.rows / FIRST_PART,
        };
        // Few different sizes: powers of two, except for the last band.
        let quanta = (want.min(most) / self.quantum).max(1);
        let rows = self.quantum << quanta.ilog2();
        Next::Rows(if left < rows + self.quantum { left } else { rows }.min(most))
    }

    /// Records a band that was computed.
    pub(super) fn record_band(&mut self, index: usize, rows: usize, seconds: f64) {
        let tally = &mut self.tallies[index];
        let sum = if tally.bands == 0 { &mut tally.first } else { &mut tally.later };
        (sum.0, sum.1) = (sum.0 + rows, sum.1 + seconds);
        tally.bands += 1;
    }

    /// The shares with their rates.
    pub(super) fn finish(self, mut shares: Vec<Share>) -> Vec<Share> {
        for (share, tally) in shares.iter_mut().zip(&self.tallies) {
            share.rate = tally.rate();
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(rows_per_second: f64, setup_seconds: f64) -> Option<MemberRate> {
        Some(MemberRate { rows_per_second, setup_seconds })
    }

    fn chosen(rows: usize, paces: &[Option<MemberRate>]) -> Selection {
        choose(rows, paces, &["one", "two", "three"][..paces.len()], None)
    }

    #[test]
    fn all_end_at_once() {
        // 100 and 300 rows/s: 1000 rows in 2.5 s. With 1 s of setup for the faster: 100 t + 300 (t - 1) = 1000.
        assert_eq!(together(1000, vec![pace(100.0, 0.0).unwrap(), pace(300.0, 0.0).unwrap()]), 2.5);
        assert_eq!(together(1000, vec![pace(300.0, 1.0).unwrap(), pace(100.0, 0.0).unwrap()]), 3.25);
        // A member whose setup ends after all is done has no share.
        assert_eq!(together(1000, vec![pace(100.0, 0.0).unwrap(), pace(1e6, 20.0).unwrap()]), 10.0);
    }

    #[test]
    fn who_does_not_pay_is_left_out() {
        // 7 of 100 is less than 8 %, 9 of 109 is more.
        let with_slow = chosen(10_000, &[pace(50.0, 0.0), pace(7.0, 0.0), pace(43.0, 0.0)]);
        assert_eq!(with_slow.members, [0, 2]);
        assert!(with_slow.left_out[1].as_deref().unwrap().contains("7.0 %"));
        assert_eq!(with_slow.why_not, None);
        assert_eq!(chosen(10_000, &[pace(100.0, 0.0), pace(9.0, 0.0)]).members.len(), 1, "8 % saved");
        let slow = chosen(10_000, &[pace(100.0, 0.0), pace(5.0, 0.0)]);
        assert_eq!(slow.members, [0]);
        assert!(slow.why_not.unwrap().contains("8 %"));
        // Members without measurements are tried.
        assert_eq!(chosen(10, &[pace(100.0, 0.0), None]).members, [0, 1]);
        assert_eq!(chosen(10, &[pace(0.0, 1.0), pace(5.0, 0.0)]).members, [1]);
    }

    #[test]
    fn small_work_goes_to_the_fastest_member() {
        // 1 s alone; with the second, which needs 0.95 s of setup, 0.975 s.
        let small = chosen(100, &[pace(100.0, 0.0), pace(100.0, 0.95)]);
        assert_eq!(small.members, [0]);
        assert!(small.why_not.unwrap().contains("one alone is estimated at 1.00 s, all together at 975 ms"));
        assert!(small.left_out[1].is_some());
        // Ten times as many rows: 10 s alone, 5.475 s together.
        assert_eq!(chosen(1000, &[pace(100.0, 0.0), pace(100.0, 0.95)]).members, [0, 1]);
        let uncut = choose(100, &[pace(1.0, 0.0), pace(2.0, 0.0)], &["a", "b"], Some("no"));
        assert_eq!((uncut.members, uncut.why_not), (vec![1], Some("no".to_owned())));
    }

    /// Simulates members with fixed rates against a schedule: returns when the last one ends, and every band.
    fn play(rows: usize, paces: Vec<Option<MemberRate>>, rates: &[f64]) -> (f64, Vec<usize>) {
        let mut schedule = Schedule::new(rows, 16, paces);
        schedule.begin(&(0..rates.len()).collect::<Vec<_>>());
        let mut clocks: Vec<Option<f64>> = vec![Some(0.0); rates.len()];
        let (mut end, mut bands, mut left) = (0.0f64, Vec::new(), rows);
        loop {
            let at = |index: &usize| clocks[*index].unwrap_or(f64::INFINITY);
            let index = (0..rates.len()).min_by(|one, other| at(one).total_cmp(&at(other))).unwrap();
            let Some(clock) = clocks[index] else { break };
            let Next::Rows(count) = schedule.next(index, left, 1000) else {
                schedule.leave(index);
                clocks[index] = None;
                continue;
            };
            left -= count;
            let seconds = count as f64 / rates[index];
            schedule.record_band(index, count, seconds);
            end = end.max(clock + seconds);
            clocks[index] = Some(clock + seconds);
            bands.push(count);
        }
        assert_eq!(left, 0);
        (end, bands)
    }

    #[test]
    fn members_end_at_about_the_same_time() {
        for rows in [100, 1000, 4321] {
            for rates in [&[100.0, 100.0][..], &[100.0, 300.0], &[100.0, 50.0, 400.0]] {
                let best = rows as f64 / rates.iter().sum::<f64>();
                let known = rates.iter().map(|rate| pace(*rate, 0.0)).collect();
                for paces in [vec![None; rates.len()], known] {
                    let (end, bands) = play(rows, paces, rates);
                    // A quantum of the slowest member may be left at the end.
                    let slowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
                    assert!(end <= 1.15 * best + 32.0 / slowest, "{rows} {rates:?}: {end} for {best}");
                    let mut sizes = bands.clone();
                    sizes.sort_unstable();
                    sizes.dedup();
                    assert!(sizes.len() <= 8, "{bands:?}");
                    assert!(bands.iter().all(|band| *band <= 1000));
                }
            }
        }
    }

    #[test]
    fn a_member_that_turns_out_slow_does_no_more() {
        let (end, bands) = play(6400, vec![None, None], &[1000.0, 10.0]);
        assert!(bands.len() < 60);
        // At most two first bands of 100 rows for the slow one.
        assert!(end <= 20.0, "{end}");
    }
}
