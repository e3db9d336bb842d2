//! The seeds of a simulated test.

use std::ops::Range;

/// Returns the seeds of a test that usually plays `usual` of them. `BERTHA_SEEDS` sets their number and
/// `BERTHA_FIRST_SEED` the first; at most `BERTHA_SEEDS_TIMES` times as many as usual are played, since a
/// seed of a test with few of them is expensive. `scripts/night` sets these variables.
pub fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("BERTHA_FIRST_SEED").unwrap_or(0);
    let most = number("BERTHA_SEEDS_TIMES").map_or(u64::MAX, |times: u64| times.saturating_mul(usual));
    first..first.saturating_add(number("BERTHA_SEEDS").unwrap_or(usual).min(most))
}

/// Plays a test with each of its [`seeds`], and prints the seed of a run that panics.
pub fn with_seeds(usual: u64, mut play: impl FnMut(u64)) {
    for seed in seeds(usual) {
        let _named = Named(seed);
        play(seed);
    }
}

/// A seed that is printed if it is dropped by a panic.
struct Named(u64);

impl Drop for Named {
    #[allow(clippy::print_stderr, reason = "the seed is what a failure is played again with")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with BERTHA_FIRST_SEED={} BERTHA_SEEDS=1", self.0);
        }
    }
}
