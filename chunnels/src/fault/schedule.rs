//! The delay queue of messages and the draw of their faults, without I/O.

use super::dice::Dice;
use super::rates::Rates;
use bertha_core::{Buf, DropCounter, Error};
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of messages that wait. Further messages are lost, as in any queue.
const MAX_WAITING: usize = 65_536;

/// The messages that wait until they are due.
#[derive(Debug)]
pub(super) struct Schedule {
    dice: Dice,
    rates: Rates,
    /// The messages, ordered by the time at which they are due, then by arrival.
    waiting: BTreeMap<(Duration, u64), Buf>,
    arrivals: u64,
    pub(super) lost: DropCounter,
}

impl Schedule {
    pub(super) fn new(seed: u64, rates: Rates, lost: DropCounter) -> Self {
        Self { dice: Dice(seed), rates, waiting: BTreeMap::new(), arrivals: 0, lost }
    }

    /// Adds a message, and draws its faults. `copy` makes a duplicate.
    ///
    /// # Errors
    /// The errors of `copy`.
    pub(super) fn push(
        &mut self,
        message: Buf,
        now: Duration,
        copy: impl FnOnce(&Buf) -> Result<Buf, Error>,
    ) -> Result<(), Error> {
        // Every fault is drawn for every message, so that changing one rate does not change the draws of the
        // other rates.
        let is_lost = self.dice.chance(self.rates.loss);
        let is_double = self.dice.chance(self.rates.duplication);
        let first = self.draw_time(now);
        let second = self.draw_time(now);
        if is_lost {
            self.lost.add(1);
            return Ok(());
        }
        if is_double {
            let copy = copy(&message)?;
            self.schedule(second, copy);
        }
        self.schedule(first, message);
        Ok(())
    }

    fn draw_time(&mut self, now: Duration) -> Duration {
        let takes_detour = self.dice.chance(self.rates.reordering);
        let detour = self.dice.up_to(self.rates.detour);
        now + self.rates.delay + if takes_detour { detour } else { Duration::ZERO }
    }

    fn schedule(&mut self, at: Duration, message: Buf) {
        if self.waiting.len() >= MAX_WAITING {
            self.lost.add(1);
            return;
        }
        self.waiting.insert((at, self.arrivals), message);
        self.arrivals += 1;
    }

    /// Returns the next message that is due, if it has the length `len`, where a length is given.
    pub(super) fn pop(&mut self, now: Duration, len: Option<usize>) -> Option<Buf> {
        let next = self.waiting.first_entry().filter(|entry| entry.key().0 <= now)?;
        let fits = len.is_none_or(|len| next.get().len() == len);
        fits.then(|| next.remove())
    }

    /// Returns the time at which the next message is due.
    pub(super) fn due(&self) -> Option<Duration> {
        self.waiting.keys().next().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Fault;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn run(rates: Rates) -> (Vec<(Duration, u64)>, u64) {
        let mut schedule = Schedule::new(7, rates, DropCounter::default());
        let mut went = Vec::new();
        for tick in 0..2_000 {
            let now = MS * tick;
            if tick < 1_000 {
                let message = Buf::copy_of(&u64::from(tick).to_le_bytes(), 0).unwrap();
                schedule.push(message, now, |message| Buf::copy_of(message, 0)).unwrap();
            }
            while let Some(message) = schedule.pop(now, None) {
                went.push((now, u64::from_le_bytes(message[..].try_into().unwrap())));
            }
        }
        assert_eq!(schedule.due(), None);
        (went, schedule.lost.get())
    }

    fn none() -> Rates {
        Rates { loss: 0.0, duplication: 0.0, reordering: 0.0, delay: Duration::ZERO, detour: 10 * MS }
    }

    #[test]
    fn each_rate_takes_its_share_and_a_seed_repeats_itself() {
        let (went, lost) = run(none());
        assert_eq!((went.len(), lost), (1_000, 0));
        let (went, lost) = run(Rates { loss: 0.3, ..none() });
        assert!((240..360).contains(&lost) && went.len() as u64 == 1_000 - lost, "{lost}");
        assert_eq!(run(Rates { loss: 0.3, ..none() }).0, went);
        let (went, _) = run(Rates { duplication: 0.3, ..none() });
        assert!((1_240..1_360).contains(&went.len()), "{}", went.len());
        let (went, _) = run(Rates { reordering: 0.3, ..none() });
        assert!(went.len() == 1_000 && !went.is_sorted_by_key(|(_, number)| *number));
        let (went, _) = run(Rates { delay: 5 * MS, ..none() });
        assert!(went.iter().all(|(at, number)| *at == MS * (*number as u32 + 5)));
    }

    #[test]
    fn a_burst_ends_where_the_length_changes() {
        let mut schedule = Schedule::new(7, none(), DropCounter::default());
        for len in [3, 3, 2, 3] {
            let message = Buf::copy_of(&[1, 2, 3][..len], 0).unwrap();
            schedule.push(message, MS, |message| Buf::copy_of(message, 0)).unwrap();
        }
        assert_eq!(schedule.pop(MS, None).unwrap().len(), 3);
        assert_eq!(schedule.pop(MS, Some(3)).unwrap().len(), 3);
        assert!(schedule.pop(MS, Some(3)).is_none());
        assert_eq!(schedule.pop(MS, None).unwrap().len(), 2);
    }

    #[test]
    fn the_builder_sets_what_it_says() {
        let fault = Fault::new(1).loss(0.1).duplication(0.2).reordering(0.3, MS).delay(2 * MS);
        assert!(
            format!("{fault:?}")
                .contains("loss: 0.1, duplication: 0.2, reordering: 0.3, delay: 2ms, detour: 1ms")
        );
    }
}
