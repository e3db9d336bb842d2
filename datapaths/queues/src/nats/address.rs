//! The servers and the login in an address.

use super::failure::invalid;
use async_nats::{ConnectOptions, ServerAddr};
use bertha_core::Error;

/// Parses addresses that are separated by commas.
///
/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if one of them is no address. The text does not repeat it,
/// since it may contain a password.
pub(crate) fn parse(address: &str) -> Result<Vec<ServerAddr>, Error> {
    let addresses = address.split(',').map(|address| address.trim().parse());
    addresses.collect::<Result<_, _>>().map_err(|_| {
        invalid("the address has to be nats://host:port or tls://host:port, or several of them, separated by commas")
    })
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
    fn an_error_does_not_repeat_a_password() {
        let error = parse("nats://user:secret@host:port").unwrap_err();
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}
