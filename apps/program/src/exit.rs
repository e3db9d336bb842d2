//! The exit codes of all programs. A signal never appears as the reason of an end, except for SIGKILL and
//! crashes.

use std::process::ExitCode;

/// The program has done its work. A server whose end SIGINT or SIGTERM has asked for has done it, too.
pub const DONE: u8 = 0;

/// The program has failed, and has said why on standard error.
pub const FAILED: u8 = 1;

/// The command line is wrong.
pub const USAGE: u8 = 2;

/// SIGINT or SIGTERM came before the work was done.
pub const INTERRUPTED: u8 = 3;

/// The exit codes as `--help` and the manual pages state them.
pub const HELP: &str = "Exit codes:
  0  done; a server has done its work when SIGINT or SIGTERM ends it
  1  failed; the reason is on standard error
  2  the command line is wrong
  3  SIGINT or SIGTERM came before the work was done";

/// Returns the exit code of `program` for an outcome; an error is an interruption or not. The text of an
/// error is printed to standard error, in a line that begins with the name of the program.
pub(crate) fn code(program: &str, outcome: Result<(), String>, is_interruption: bool) -> ExitCode {
    match outcome {
        Ok(()) => DONE.into(),
        Err(error) => {
            // This is the program's only line to its user. Names in it may come from a peer.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("{program}: {}", crate::escaped(&error));
            }
            if is_interruption { INTERRUPTED.into() } else { FAILED.into() }
        }
    }
}
