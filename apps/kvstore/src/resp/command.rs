//! Commands, out of their arguments.

mod client;
mod login;
mod set;

use super::Operation;
use super::wire::{CommandArguments, NO_MEMORY, number};
use crate::{Key, MAX_KEY};
use std::time::Duration;

pub use login::{Hello, Login};

/// A command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// About one record.
    One(Operation),
    /// `MGET`: the values of several records.
    GetEach(Vec<Key>),
    /// `DEL` of several records.
    DeleteEach(Vec<Key>),
    /// `EXISTS`: the number of these records that there are.
    CountEach(Vec<Key>),
    /// Asks for an answer: the word that came with it, or `PONG`.
    Ping(Option<Vec<u8>>),
    /// `ECHO`: asks for the same bytes.
    Echo(Vec<u8>),
    /// `HELLO`: asks about the server, and for another version of the protocol.
    Hello(Hello),
    /// `AUTH`: logs in.
    Login(Login),
    /// `INFO`: asks about the server, in text: for the sections of these names, or for all.
    Info(Vec<Vec<u8>>),
    /// `CLIENT ID`: asks for the number of the client.
    ClientId,
    /// `CLIENT GETNAME`: asks for the name of the client.
    ClientName,
    /// `CLIENT SETNAME`: names the client.
    NameClient(Vec<u8>),
    /// `COMMAND COUNT`: the number of commands that there are.
    Count,
    /// `COMMAND`: describes no commands, with an empty list.
    Commands,
    /// `CONFIG GET` of these names.
    Settings(Vec<Vec<u8>>),
    /// Says something that changes nothing here, such as the client's library or the only database.
    Noted,
    /// The beginning of a request in HTTP, as a web page may send it.
    Web,
    /// The client leaves.
    Quit,
    /// A command that is not served, or not so. The reason, as the client is told.
    Refused(String),
    /// `AUTH` or `HELLO` with wrong arguments. The reason, as the client is told, logged in or not.
    BadLogin(String),
    /// Bytes that are no command, behind which no other can be found. The reason.
    Malformed(String),
}

/// The commands that there are.
pub(super) const NAMES: &[&str] = &[
    "AUTH", "CLIENT", "COMMAND", "CONFIG", "DEL", "ECHO", "EXISTS", "EXPIRE", "GET", "HELLO", "INCR",
    "INCRBY", "INFO", "MGET", "PING", "QUIT", "SELECT", "SET", "TTL",
];

/// The longest name of a command.
const LONGEST_NAME: usize = 7;

/// The first words of lines of HTTP, of which none is a command of Redis.
const WEB: &[&str] = &["POST", "HOST:", "PUT", "HEAD", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE"];

/// Maximum number of bytes of a client that a refusal repeats, as in Redis.
const REPEATED: usize = 128;

const NO_DATABASE: &str = "ERR DB index is out of range";

const NO_INTEGER: &str = "ERR value is not an integer or out of range";

impl Command {
    /// The command with these arguments. One that is not served is [`Refused`](Self::Refused).
    pub fn parse(arguments: &CommandArguments<'_>) -> Self {
        parse(arguments).unwrap_or_else(Self::Refused)
    }

    /// The memory that it takes while it waits, in bytes.
    pub(super) fn memory(&self) -> usize {
        let of_keys = |keys: &[Key]| keys.iter().map(|key| size_of::<Key>() + key.len()).sum();
        let of_words =
            |words: &[Vec<u8>]| words.iter().map(|word| size_of::<Vec<u8>>() + word.len()).sum::<usize>();
        let behind = match self {
            Self::One(Operation::Set { key, value, .. }) => key.len() + value.len(),
            Self::One(operation) => operation.key().len(),
            Self::GetEach(keys) | Self::DeleteEach(keys) | Self::CountEach(keys) => of_keys(keys),
            Self::Ping(Some(word)) | Self::Echo(word) | Self::NameClient(word) => word.len(),
            Self::Info(words) | Self::Settings(words) => of_words(words),
            Self::Login(login) => login.password.len(),
            Self::Hello(hello) => {
                let login = hello.login.as_ref().map_or(0, |login| login.password.len());
                login + hello.name.as_ref().map_or(0, Vec::len)
            }
            Self::Refused(reason) | Self::BadLogin(reason) | Self::Malformed(reason) => reason.len(),
            Self::Ping(None)
            | Self::ClientId
            | Self::ClientName
            | Self::Count
            | Self::Commands
            | Self::Noted
            | Self::Web
            | Self::Quit => 0,
        };
        size_of::<Self>() + behind
    }
}

fn parse(arguments: &CommandArguments<'_>) -> Result<Command, String> {
    let name = arguments.get(0).unwrap_or_default();
    if WEB.iter().any(|word| is(name, word)) {
        return Ok(Command::Web);
    }
    let mut capitals = [0; LONGEST_NAME];
    let Some(capitals) = capitals.get_mut(..name.len()) else { return Err(unknown(arguments)) };
    capitals.copy_from_slice(name);
    capitals.make_ascii_uppercase();
    let several = |name| if arguments.len() > 1 { Ok(()) } else { Err(wrong_number(name)) };
    Ok(match &*capitals {
        b"GET" => Command::One(Operation::Get(only_key("get", arguments)?)),
        b"SET" => Command::One(set::parse(arguments)?),
        b"MGET" => {
            several("mget")?;
            Command::GetEach(arguments.from(1).map(key).collect::<Result<_, _>>()?)
        }
        b"DEL" if arguments.len() == 2 => Command::One(Operation::Delete(only_key("del", arguments)?)),
        b"DEL" => {
            several("del")?;
            Command::DeleteEach(arguments.from(1).map(key).collect::<Result<_, _>>()?)
        }
        b"EXISTS" => {
            several("exists")?;
            Command::CountEach(arguments.from(1).map(key).collect::<Result<_, _>>()?)
        }
        b"INCR" => Command::One(Operation::Increment(only_key("incr", arguments)?, 1)),
        b"INCRBY" => match (arguments.get(1), arguments.get(2), arguments.len()) {
            (Some(name), Some(by), 3) => {
                Command::One(Operation::Increment(key(name)?, number(by).ok_or(NO_INTEGER)?))
            }
            _ => return Err(wrong_number("incrby")),
        },
        b"EXPIRE" => expire(arguments)?,
        b"TTL" => Command::One(Operation::TimeLeft(only_key("ttl", arguments)?)),
        b"PING" => match arguments.len() {
            1 | 2 => Command::Ping(arguments.get(1).map(copied).transpose()?),
            _ => return Err(wrong_number("ping")),
        },
        b"ECHO" => match (arguments.get(1), arguments.len()) {
            (Some(word), 2) => Command::Echo(copied(word)?),
            _ => return Err(wrong_number("echo")),
        },
        b"HELLO" => login::hello(arguments).unwrap_or_else(Command::BadLogin),
        b"AUTH" => login::auth(arguments).unwrap_or_else(Command::BadLogin),
        b"INFO" => Command::Info(arguments.from(1).map(copied).collect::<Result<_, _>>()?),
        b"QUIT" => Command::Quit,
        b"SELECT" => match (arguments.get(1), arguments.len()) {
            (Some(b"0"), 2) => Command::Noted,
            (Some(index), 2) => return Err(number(index).map_or(NO_INTEGER, |_| NO_DATABASE).to_owned()),
            _ => return Err(wrong_number("select")),
        },
        b"COMMAND" => match arguments.get(1) {
            Some(word) if is(word, "COUNT") => Command::Count,
            Some(word) if !["DOCS", "INFO", "LIST"].iter().any(|part| is(word, part)) => {
                return Err(unknown_part("COMMAND", word));
            }
            _ => Command::Commands,
        },
        b"CONFIG" => match arguments.get(1) {
            Some(word) if is(word, "GET") && arguments.len() > 2 => {
                Command::Settings(arguments.from(2).map(copied).collect::<Result<_, _>>()?)
            }
            Some(word) if is(word, "GET") => return Err(wrong_number("config|get")),
            Some(word) => return Err(unknown_part("CONFIG", word)),
            None => return Err(wrong_number("config")),
        },
        b"CLIENT" => client::parse(arguments)?,
        _ => return Err(unknown(arguments)),
    })
}

fn expire(arguments: &CommandArguments<'_>) -> Result<Command, String> {
    if let Some(option) = arguments.get(3) {
        return Err(format!("ERR Unsupported option {}", repeated(option)));
    }
    let (Some(name), Some(seconds)) = (arguments.get(1), arguments.get(2)) else {
        return Err(wrong_number("expire"));
    };
    let seconds = number(seconds).ok_or(NO_INTEGER)?;
    // Beyond that, milliseconds would be no such number.
    if !(i64::MIN / 1000..=i64::MAX / 1000).contains(&seconds) {
        return Err("ERR invalid expire time in 'expire' command".to_owned());
    }
    // A time in the past is now.
    let time = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Ok(Command::One(Operation::Expire(key(name)?, time)))
}

fn only_key(command: &str, arguments: &CommandArguments<'_>) -> Result<Key, String> {
    match (arguments.get(1), arguments.len()) {
        (Some(name), 2) => key(name),
        _ => Err(wrong_number(command)),
    }
}

fn key(name: &[u8]) -> Result<Key, String> {
    if name.len() > MAX_KEY {
        return Err(format!("ERR {}", crate::Reason::KeyTooLong));
    }
    Ok(Key::from(name))
}

/// Returns a copy of an argument, unless there is no memory for it.
fn copied(argument: &[u8]) -> Result<Vec<u8>, String> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(argument.len()).map_err(|_| NO_MEMORY)?;
    copy.extend_from_slice(argument);
    Ok(copy)
}

fn is(word: &[u8], other: &str) -> bool {
    word.eq_ignore_ascii_case(other.as_bytes())
}

fn wrong_number(command: &str) -> String {
    format!("ERR wrong number of arguments for '{command}' command")
}

/// Returns the error of Redis for an unknown command: clients that try a command look for its words.
#[cold]
fn unknown(arguments: &CommandArguments<'_>) -> String {
    let mut repeat = String::new();
    let mut left = REPEATED;
    for argument in arguments.from(1) {
        let text = text(argument, left);
        repeat.push_str(&format!("'{}' ", shown(text)));
        left = left.saturating_sub(text.len() + "'' ".len());
        if left == 0 {
            break;
        }
    }
    let name = repeated(arguments.get(0).unwrap_or_default());
    format!("ERR unknown command '{name}', with args beginning with: {repeat}")
}

#[cold]
fn unknown_part(command: &str, word: &[u8]) -> String {
    format!("ERR unknown subcommand '{}'. Try {command} HELP.", repeated(word))
}

/// Returns the beginning of a client's word, as a refusal repeats it.
fn repeated(bytes: &[u8]) -> String {
    shown(text(bytes, REPEATED))
}

/// Returns at most `most` bytes, up to the first zero, where a text of C ends.
fn text(bytes: &[u8], most: usize) -> &[u8] {
    let bytes = bytes.get(..most).unwrap_or(bytes);
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Returns the bytes as they may go into a log and onto a terminal. Redis does not escape control characters.
fn shown(bytes: &[u8]) -> String {
    let show = |byte: &u8| match byte {
        b' '..=b'~' => char::from(*byte).to_string(),
        b'\r' | b'\n' => " ".to_owned(),
        _ => byte.escape_ascii().to_string(),
    };
    bytes.iter().map(show).collect()
}
