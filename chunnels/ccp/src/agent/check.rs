//! The check of an algorithm's programs, before an agent runs them.

use super::AgentSocket;
use crate::Program;
use crate::message::Message;
use bertha_core::{Error, ErrorKind};
use portus::serialize::{install, serialize};
use portus::{CongAlg, lang};
use std::panic::catch_unwind;

/// Checks that portus compiles all programs of an algorithm, and that the datapath of this crate runs them.
///
/// An agent of portus checks its programs by itself when it starts, but ends with a panic that names none for some that do not
/// compile, and learns nothing of programs that are beyond the limits of a datapath.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) for the first program that does not compile or exceeds a limit; the text names the program and the
/// reason.
pub fn check_programs(algorithm: &impl CongAlg<AgentSocket>) -> Result<(), Error> {
    for (name, source) in algorithm.datapath_programs() {
        check(&source).map_err(|reason| {
            Error::new(ErrorKind::Invalid, format!("the datapath program `{name}` {reason}")).at("CCP")
        })?;
    }
    Ok(())
}

fn check(source: &str) -> Result<(), String> {
    let fails = |reason: String| format!("does not compile: {reason}");
    // portus panics where an operand has no type.
    let message = match catch_unwind(|| compiled(source)) {
        Ok(message) => message.map_err(fails)?,
        Err(_) => return Err(fails("an expression has an operand that it can't have".to_owned())),
    };
    let refused = |reason: String| format!("is refused by datapaths: {reason}");
    match Message::decode(&message) {
        Ok((Message::Install(install), _)) => {
            Program::load(&install).map(drop).map_err(|reason| refused(reason.to_string()))
        }
        Ok(_) => Err(refused("its message installs nothing".to_owned())),
        Err(malformed) => Err(refused(malformed.to_string())),
    }
}

/// Returns the message with which portus installs a program.
fn compiled(source: &str) -> Result<Vec<u8>, String> {
    let (program, scope) = lang::compile(source.as_bytes(), &[]).map_err(|error| error.0)?;
    let message = install::Msg {
        sid: 0,
        program_uid: scope.program_uid,
        num_events: program.events.len() as u32,
        num_instrs: program.instrs.len() as u32,
        instrs: program,
    };
    serialize(&message).map_err(|error| error.0)
}
