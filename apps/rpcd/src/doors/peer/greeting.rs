//! The first messages between daemons.

use crate::parties::reserved_names;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use bertha_managed::attach::{Hello, Role};
use bertha_managed::is_unseen;

/// Number of bytes of the longest reason.
const LONGEST: usize = 1024;

/// Asks a daemon to take calls of a service.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) with the reason of the daemon. Errors of the connection.
pub(super) async fn ask(
    connection: &impl Connection<Data = Buf>,
    service: &str,
    descriptors: &[u8],
) -> Result<(), Error> {
    let hello = Hello {
        role: Role::Caller,
        application: "bertha-rpcd".into(),
        service: service.to_owned(),
        send_heap: 0,
        receive_heap: 0,
        descriptors: descriptors.to_vec(),
    };
    let hello =
        hello.to_bytes().map_err(|malformed| Error::new(ErrorKind::Invalid, malformed.to_string()))?;
    connection.send(message(connection, &hello)?).await?;
    read_answer(&connection.recv().await?)
}

/// Reads the answer of a daemon.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) with the reason of the daemon, and [`Malformed`](ErrorKind::Malformed) for what is no answer.
pub(super) fn read_answer(answer: &[u8]) -> Result<(), Error> {
    match answer.split_first() {
        Some((0, [])) => Ok(()),
        Some((1, reason)) => {
            let reason: String = String::from_utf8_lossy(reason).chars().take(LONGEST).collect();
            Err(Error::new(ErrorKind::Refused, reason.replace(is_unseen, " ")))
        }
        _ => Err(Error::new(ErrorKind::Malformed, "the daemon speaks another protocol")),
    }
}

/// Hears the service that a daemon wants to call.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) for what no daemon says. Errors of the connection.
pub(super) async fn hear(connection: &impl Connection<Data = Buf>) -> Result<Hello, Error> {
    read_hello(&connection.recv().await?)
}

/// Reads the hello of a daemon.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) for what no daemon says.
pub(super) fn read_hello(bytes: &[u8]) -> Result<Hello, Error> {
    let refused = |reason: &str| Error::new(ErrorKind::Refused, reason.to_owned());
    let (header, rest) = bytes.split_first_chunk().ok_or_else(|| refused("a hello is too short"))?;
    let hello = Hello::read(header, rest).map_err(|malformed| refused(&malformed.to_string()))?;
    reserved_names::check_name("a service", &hello.service)?;
    match hello.role {
        Role::Caller => Ok(hello),
        Role::Server => Err(refused("daemons call each other, and serve none")),
    }
}

/// Tells a daemon that it may call, or why it may not.
pub(super) async fn answer(
    connection: &impl Connection<Data = Buf>,
    refusal: Option<&str>,
) -> Result<(), Error> {
    let mut answer = vec![u8::from(refusal.is_some())];
    answer.extend(refusal.unwrap_or_default().bytes().take(LONGEST));
    connection.send(message(connection, &answer)?).await
}

fn message(connection: &impl Connection<Data = Buf>, bytes: &[u8]) -> Result<Buf, Error> {
    let mut message = connection.base().buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}
