//! The servers and the login in an address.

use super::failure::invalid;
use async_nats::{ConnectOptions, ServerAddr};
use bertha_core::Error;

/// Parses addresses that are separated by commas.
///
/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if one of them is no address, or has more behind its port. The text does not repeat it,
/// since it may contain a password.
pub(crate) fn parse(address: &str) -> Result<Vec<ServerAddr>, Error> {
    let addresses = address.split(',').map(|address| address.trim().parse());
    let addresses = addresses.collect::<Result<Vec<ServerAddr>, _>>().map_err(|_| {
        invalid("the address has to be nats://host:port or tls://host:port, or several of them, separated by commas")
    })?;
    // The client library ignores what is there.
    match addresses.iter().any(has_more) {
        true => Err(invalid(
            "the address of a server ends with its port, as nats://host:port does: the name of a topic has no slash, and a slash in a user or a \
             password is written %2F",
        )),
        false => Ok(addresses),
    }
}

/// Returns true if something stands behind the port. A path belongs to an address of WebSocket.
fn has_more(address: &ServerAddr) -> bool {
    let behind = address.as_url_str().split_once("://").map_or("", |(_, rest)| rest);
    let more = behind.split_once(['/', '?', '#']).map_or("", |(_, more)| more);
    !address.is_websocket() && !more.is_empty()
}

/// Adds the login in the addresses to the options, if there is one: the client library ignores it.
pub(crate) fn log_in(
    addresses: &[ServerAddr],
    options: ConnectOptions,
) -> Result<(ConnectOptions, bool), Error> {
    let Some(address) = addresses.iter().find(|address| address.has_user_pass()) else {
        return Ok((options, false));
    };
    let user = decode(address.username().unwrap_or_default())?;
    let options = match address.password() {
        Some(password) => options.user_and_password(user, decode(password)?),
        None => options.token(user),
    };
    Ok((options, true))
}

/// Decodes text in which bytes may be written as `%41`.
fn decode(text: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                let (Some(high), Some(low)) = (digit(), digit()) else { return Err(not_encoded()) };
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| not_encoded())
}

fn not_encoded() -> Error {
    invalid("the user or password in the address is not percent-encoded UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_may_have_any_letters() {
        assert_eq!(decode("p%40ss%C3%A9%25").unwrap(), "p@ssé%");
        for wrong in ["%", "%4", "%zz", "%FF"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_stands_behind_a_port() {
        for wrong in [
            "nats://a/b",
            "a:4222/b",
            "tls://a:4222/b/",
            "nats://a,nats://b/c",
            "nats://a?b=c",
            "nats://a/#b",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.context().contains("has no slash"), "{wrong}: {error}");
        }
        for right in ["nats://a", "a:4222/", "nats://a:1,tls://[::1]:2", "nats://user:a%2Fb@a:4222"] {
            assert!(parse(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn an_error_does_not_repeat_a_password() {
        for wrong in ["nats://user:secret@host:port", "nats://sec/ret@host", "nats://user@host/secret"] {
            let error = parse(wrong).unwrap_err();
            assert!(!format!("{error:?}").contains("ret"), "{wrong}: {error:?}");
        }
    }
}
