//! `AUTH` and `HELLO`.

use super::{Command, client, is, repeated, wrong_number};
use crate::resp::wire::{CommandArguments, Version, number};
use std::fmt;

/// The only user.
const USER: &[u8] = b"default";

/// The credentials of a client.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The client named a user, and it is not the only one.
    pub(in crate::resp) is_of_nobody: bool,
    /// The client named a user.
    pub(in crate::resp) has_user: bool,
    /// The password.
    pub(in crate::resp) password: Vec<u8>,
}

/// The parts of `HELLO`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The version of the protocol that the client wants, if it is another one.
    pub(in crate::resp) version: Option<Version>,
    /// The name of the client.
    pub(in crate::resp) login: Option<Login>,
    /// The name of the client.
    pub(in crate::resp) name: Option<Vec<u8>>,
}

impl Login {
    fn new(user: Option<&[u8]>, password: &[u8]) -> Self {
        let is_of_nobody = user.is_some_and(|user| user != USER);
        Self { is_of_nobody, has_user: user.is_some(), password: password.to_vec() }
    }
}

/// Without the password.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("is_of_nobody", &self.is_of_nobody).finish_non_exhaustive()
    }
}

/// `AUTH [user] password`.
pub(super) fn auth(arguments: &CommandArguments<'_>) -> Result<Command, String> {
    match (arguments.get(1), arguments.get(2), arguments.len()) {
        (Some(password), None, 2) => Ok(Command::Login(Login::new(None, password))),
        (Some(user), Some(password), 3) => Ok(Command::Login(Login::new(Some(user), password))),
        (None, ..) => Err(wrong_number("auth")),
        _ => Err("ERR syntax error".to_owned()),
    }
}

/// `HELLO [version [AUTH user password] [SETNAME name]]`.
pub(super) fn hello(arguments: &CommandArguments<'_>) -> Result<Command, String> {
    let mut hello = Hello::default();
    let Some(version) = arguments.get(1) else { return Ok(Command::Hello(hello)) };
    hello.version = Some(match number(version) {
        Some(2) => Version::Two,
        Some(3) => Version::Three,
        Some(_) => return Err("NOPROTO unsupported protocol version".to_owned()),
        None => {
            return Err("ERR Protocol version is not an integer or out of range".to_owned());
        }
    });
    let mut rest = arguments.from(2);
    while let Some(word) = rest.next() {
        if is(word, "AUTH")
            && let Some(user) = rest.next()
            && let Some(password) = rest.next()
        {
            hello.login = Some(Login::new(Some(user), password));
        } else if is(word, "SETNAME")
            && let Some(name) = rest.next()
        {
            hello.name = Some(client::name(name)?);
        } else {
            return Err(format!("ERR Syntax error in HELLO option '{}'", repeated(word)));
        }
    }
    Ok(Command::Hello(hello))
}
