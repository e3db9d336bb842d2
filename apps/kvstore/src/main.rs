//! `kvstore`: a sharded key-value store that YCSB clients can load.

mod command;

use command::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    bertha_program::run(Arguments::execute)
}
