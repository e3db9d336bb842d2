//! The program `file-transfer`: it sends files, checks them, and continues where a broken connection left
//! off.

mod command;

use command::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    bertha_program::run(Arguments::execute)
}
