//! Two programs measured in turn.
//!
//! A machine drifts: its clock changes, its neighbours come and go. Running all of A and then all of B charges the
//! drift to one of them. Here they alternate in blocks of six, mirrored so that a linear drift cancels:
//!
//! ```text
//! A B A' A' B A     and next     A A' B B A' A
//! ```
//!
//! A' is A again. The ratio of A to A' must come out as one; how far it strays is what the machine's noise is worth.

use std::ops::AsyncFnMut;

/// The fewest pairs from which a ratio near one is given.
pub const FEWEST_PAIRS: usize = 31;

/// Samples that were taken next to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired<S> {
    /// A with the B of the same half block.
    pub ab: Vec<(S, S)>,
    /// A with the A' of the same half block: the noise of the machine.
    pub aa: Vec<(S, S)>,
}

impl<S> Paired<S> {
    /// One number of every sample, as pairs (A, B).
    pub fn ab_by(&self, number: impl Fn(&S) -> f64) -> Vec<(f64, f64)> {
        self.ab.iter().map(|(a, b)| (number(a), number(b))).collect()
    }

    /// One number of every sample, as pairs (A, A').
    pub fn aa_by(&self, number: impl Fn(&S) -> f64) -> Vec<(f64, f64)> {
        self.aa.iter().map(|(a, again)| (number(a), number(again))).collect()
    }
}

/// Runs A, B and A again in turn until there are `pairs` pairs, rounded up to whole blocks of two pairs.
///
/// The first run of each program warms it up and is thrown away.
///
/// # Errors
/// The first error of either program; nothing runs after it.
pub fn alternate<S: Clone, E>(
    pairs: usize,
    mut a: impl FnMut() -> Result<S, E>,
    mut b: impl FnMut() -> Result<S, E>,
) -> Result<Paired<S>, E> {
    a()?;
    b()?;
    let mut tally = Tally::with_pairs(pairs);
    for turn in rotation(pairs) {
        let sample = if turn == Turn::B { b()? } else { a()? };
        tally.add(turn, sample);
    }
    Ok(tally.paired)
}

/// [`alternate`] for programs that are awaited. Dropping the future ends the measurement.
///
/// # Errors
/// The first error of either program; nothing runs after it.
pub async fn alternate_async<S: Clone, E>(
    pairs: usize,
    mut a: impl AsyncFnMut() -> Result<S, E>,
    mut b: impl AsyncFnMut() -> Result<S, E>,
) -> Result<Paired<S>, E> {
    a().await?;
    b().await?;
    let mut tally = Tally::with_pairs(pairs);
    for turn in rotation(pairs) {
        let sample = if turn == Turn::B { b().await? } else { a().await? };
        tally.add(turn, sample);
    }
    Ok(tally.paired)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    A,
    B,
    Again,
}

fn rotation(pairs: usize) -> impl Iterator<Item = Turn> {
    use Turn::{A, Again, B};
    [[A, B, Again, Again, B, A], [A, Again, B, B, Again, A]]
        .into_iter()
        .cycle()
        .take(pairs.div_ceil(2))
        .flatten()
}

/// Puts samples into pairs: every half block has one of each kind.
struct Tally<S> {
    paired: Paired<S>,
    half: [Option<S>; 3],
}

impl<S: Clone> Tally<S> {
    fn with_pairs(pairs: usize) -> Self {
        let paired = Paired { ab: Vec::with_capacity(pairs + 1), aa: Vec::with_capacity(pairs + 1) };
        Self { paired, half: [const { None }; 3] }
    }

    fn add(&mut self, turn: Turn, sample: S) {
        self.half[turn as usize] = Some(sample);
        if self.half.iter().all(Option::is_some)
            && let [Some(a), Some(b), Some(again)] = self.half.each_mut().map(Option::take)
        {
            self.paired.ab.push((a.clone(), b));
            self.paired.aa.push((a, again));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{median, ratio_of_medians};
    use std::cell::Cell;
    use std::convert::Infallible;

    #[test]
    fn every_kind_sits_at_the_same_mean_position() {
        let turns: Vec<_> = rotation(32).collect();
        assert_eq!(turns.len(), 96);
        let mean = |kind| {
            let positions: Vec<_> = (0..96).filter(|&at| turns[at] == kind).map(|at| at as f64).collect();
            assert_eq!(positions.len(), 32);
            positions.iter().sum::<f64>() / 32.0
        };
        assert_eq!(mean(Turn::A), mean(Turn::B));
        assert_eq!(mean(Turn::A), mean(Turn::Again));
    }

    #[test]
    fn a_linear_drift_cancels() {
        let clock = Cell::new(1000.0);
        let tick = || {
            clock.set(clock.get() + 1.0);
            Ok::<f64, Infallible>(clock.get())
        };
        let Ok(paired) = alternate(FEWEST_PAIRS, tick, tick);
        assert_eq!((paired.ab.len(), paired.aa.len()), (32, 32));
        for pairs in [paired.ab_by(|s| *s), paired.aa_by(|s| *s)] {
            let differences: Vec<_> = pairs.iter().map(|(a, b)| a - b).collect();
            assert_eq!(median(&differences), Some(0.0));
            let ratio = ratio_of_medians(&pairs, 0).unwrap();
            assert!((ratio.estimate - 1.0).abs() < 1e-3, "{ratio:?}");
        }
    }

    #[test]
    fn an_error_ends_the_run() {
        let runs = Cell::new(0);
        let result = alternate(
            4,
            || Ok(()),
            || {
                runs.set(runs.get() + 1);
                if runs.get() == 3 { Err("third") } else { Ok(()) }
            },
        );
        assert_eq!((result, runs.get()), (Err("third"), 3));
    }

    #[tokio::test]
    async fn awaited_programs_are_paired_alike() {
        let Ok(paired) = alternate_async(2, async || Ok::<_, Infallible>('a'), async || Ok('b')).await;
        assert_eq!(paired, Paired { ab: vec![('a', 'b'); 2], aa: vec![('a', 'a'); 2] });
    }
}
