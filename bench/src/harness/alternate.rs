//! Two programs measured in turn.
//!
//! A machine drifts: its clock changes, its neighbours come and go. If all of A ran before all of B, the
//! drift would be charged to a single program. Here the programs alternate in blocks of six, mirrored so that
//! a linear drift cancels:
//!
//! ```text
//! A B A' A' B A     and next     A A' B B A' A
//! ```
//!
//! A' is A again. The ratio of A' to A must be 1; its distance from 1 is the noise of the machine.

/// Samples that were taken next to each other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paired<S> {
    /// Pairs of A and the B of its half block.
    pub(crate) ab: Vec<(S, S)>,
    /// Pairs of A and the A' of its half block: the noise of the machine.
    pub(crate) aa: Vec<(S, S)>,
}

impl<S: Copy> Paired<S> {
    /// Returns the samples of A that have a partner.
    pub(crate) fn a(&self) -> Vec<S> {
        self.ab.iter().map(|(a, _)| *a).collect()
    }

    /// Returns the samples of B.
    pub(crate) fn b(&self) -> Vec<S> {
        self.ab.iter().map(|(_, b)| *b).collect()
    }
}

/// Runs A, B and A again in turn until there are `pairs` pairs, rounded up to whole blocks of two pairs.
///
/// The first run of each program warms it up and is thrown away.
///
/// # Errors
/// The first error of either program; nothing runs after it.
pub(crate) fn alternate<S: Clone, E>(
    pairs: usize,
    mut a: impl FnMut() -> Result<S, E>,
    mut b: impl FnMut() -> Result<S, E>,
) -> Result<Paired<S>, E> {
    a()?;
    b()?;
    let mut paired = Paired { ab: Vec::with_capacity(pairs + 1), aa: Vec::with_capacity(pairs + 1) };
    let mut half = [const { None }; 3];
    for turn in rotation(pairs) {
        half[turn as usize] = Some(if turn == Turn::B { b()? } else { a()? });
        if half.iter().all(Option::is_some)
            && let [Some(a), Some(b), Some(again)] = half.each_mut().map(Option::take)
        {
            paired.ab.push((a.clone(), b));
            paired.aa.push((a, again));
        }
    }
    Ok(paired)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{median, ratio_of_medians};
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
        let Ok(paired) = alternate(31, tick, tick);
        assert_eq!((paired.ab.len(), paired.aa.len()), (32, 32));
        for pairs in [paired.ab, paired.aa] {
            let differences: Vec<_> = pairs.iter().map(|(a, b)| a - b).collect();
            assert_eq!(median(&differences), Some(0.0));
            let ratio = ratio_of_medians(&pairs, 0).unwrap();
            assert!((ratio.estimate - 1.0).abs() < 1e-3, "{ratio:?}");
        }
    }

    #[test]
    fn an_error_ends_the_run() {
        let runs = Cell::new(0);
        let third = || {
            runs.set(runs.get() + 1);
            if runs.get() == 3 { Err("third") } else { Ok(()) }
        };
        assert_eq!((alternate(4, || Ok(()), third), runs.get()), (Err("third"), 3));
    }
}
