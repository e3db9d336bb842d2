//! `CLIENT` and its subcommands.

use super::{Command, is, unknown_part, wrong_number};
use crate::resp::wire::CommandArguments;

/// `CLIENT ID | GETNAME | SETNAME name | SETINFO (LIB-NAME | LIB-VER) value`.
pub(super) fn parse(arguments: &CommandArguments<'_>) -> Result<Command, String> {
    let word = arguments.get(1).ok_or_else(|| wrong_number("client"))?;
    let is_part = |part| is(word, part);
    let exactly = |count, part| if arguments.len() == count { Ok(()) } else { Err(wrong_number(part)) };
    if is_part("ID") {
        exactly(2, "client|id")?;
        Ok(Command::ClientId)
    } else if is_part("GETNAME") {
        exactly(2, "client|getname")?;
        Ok(Command::ClientName)
    } else if is_part("SETNAME") {
        exactly(3, "client|setname")?;
        name(arguments.get(2).unwrap_or_default()).map(Command::NameClient)
    } else if is_part("SETINFO") {
        exactly(4, "client|setinfo")?;
        let attribute = arguments.get(2).unwrap_or_default();
        if !is(attribute, "LIB-NAME") && !is(attribute, "LIB-VER") {
            return Err(format!("ERR Unrecognized option '{}'", super::repeated(attribute)));
        }
        let value = arguments.get(3).unwrap_or_default();
        if !value.iter().all(is_printable) {
            return Err(
                "ERR lib-name and lib-ver cannot contain spaces, newlines or special characters.".to_owned()
            );
        }
        Ok(Command::Noted)
    } else {
        Err(unknown_part("CLIENT", word))
    }
}

/// The name that a client gives itself; the empty one is none.
///
/// # Errors
/// The reason, as clients are told, if it has blanks or more than 64 KiB.
pub(super) fn name(name: &[u8]) -> Result<Vec<u8>, String> {
    /// Each client keeps its own.
    const LONGEST: usize = 64 << 10;
    if name.len() > LONGEST || !name.iter().all(is_printable) {
        let what = "ERR Client names cannot contain spaces, newlines or special characters.";
        return Err(what.to_owned());
    }
    Ok(name.to_vec())
}

fn is_printable(byte: &u8) -> bool {
    (b'!'..=b'~').contains(byte)
}
