//! The end of a program: its exit code, and its error.

use std::fmt::Display;
use std::process::ExitCode;

/// Returns the exit code for the outcome of `program`. An error is printed to stderr, in a line that begins
/// with the program's name.
pub fn printed<E: Display>(program: &str, outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // This is the program's only line to its user.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("{program}: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Returns the exit code for an outcome. An error is written to the [log](crate::log).
#[cfg(feature = "log")]
pub fn logged<E: Display>(outcome: Result<(), E>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}
