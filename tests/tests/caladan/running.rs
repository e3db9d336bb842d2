//! Running over Caladan in the process beside the scheduler.

use bertha_core::Error;
use bertha_datapath_caladan::Config;

/// Returns the settings of the process beside the scheduler, with this number of threads.
pub(crate) fn config(threads: u16) -> Config {
    Config { threads, ..Config::new("10.77.0.2/24") }
}

/// Runs `main` over Caladan.
pub(crate) fn run<F>(config: &Config, main: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    bertha_datapath_caladan::run(config, main).unwrap_or_else(|error: Error| panic!("{error:?}"))
}
