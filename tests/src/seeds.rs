//! The seeds with which a simulated test is played.

use std::ops::Range;

/// The seeds of a test that plays `usual` of them in CI: `BERTHA_SEEDS` many from `BERTHA_FIRST_SEED` on, where those are set, and at
/// most `BERTHA_SEEDS_TIMES` as many as usual, which are few where a seed is expensive. `scripts/night` sets them.
pub fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: u64 = number("BERTHA_FIRST_SEED").unwrap_or(0);
    let most = number("BERTHA_SEEDS_TIMES").map_or(u64::MAX, |times: u64| times.saturating_mul(usual));
    first..first.saturating_add(number("BERTHA_SEEDS").unwrap_or(usual).min(most))
}

/// Plays a test with each of its [`seeds`], and names the seed of a run that panics.
pub fn with_seeds(usual: u64, mut play: impl FnMut(u64)) {
    for seed in seeds(usual) {
        let _named = Named(seed);
        play(seed);
    }
}

/// Names a seed if it is dropped by a panic.
struct Named(u64);

impl Drop for Named {
    #[allow(clippy::print_stderr, reason = "the seed is what a failure is played again with")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with BERTHA_FIRST_SEED={} BERTHA_SEEDS=1", self.0);
        }
    }
}
