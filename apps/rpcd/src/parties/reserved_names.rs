//! Names that only the daemon gives, to rows of its own.

use crate::parties::link::without_port;
use bertha_core::{Error, ErrorKind};
use bertha_managed::attach::Hello;
use std::net::IpAddr;

/// Checks that an application takes no name by which the daemon tells of others: one in parentheses, as that of a sum is, or one that ends with
/// an address, as those of peers do.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) with the name.
pub(crate) fn check(hello: &Hello) -> Result<(), Error> {
    let Hello { application, service, .. } = hello;
    check_name("an application", application)?;
    check_name("a service", service)?;
    match ends_with_address(application) {
        true => Err(refused("an application", application, "that end with an address")),
        false => Ok(()),
    }
}

/// Checks a name that an application or an operator gives, which is no sum of the daemon's.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) with the name, and what it is `of`.
pub(crate) fn check_name(of: &str, name: &str) -> Result<(), Error> {
    if is_in_parentheses(name) { Err(refused(of, name, "in parentheses")) } else { Ok(()) }
}

#[cold]
fn refused(of: &str, name: &str, why: &str) -> Error {
    let reason =
        format!("the name of {of} may not be {name:?}: names {why} are the daemon's own; choose another");
    Error::new(ErrorKind::Refused, reason)
}

fn is_in_parentheses(name: &str) -> bool {
    let name = name.trim();
    name.starts_with('(') && name.ends_with(')')
}

/// Returns true also for an address behind which a port is that there is none of, since rows have no port, an interface, or an end of a sentence.
fn ends_with_address(name: &str) -> bool {
    let last = name.split_whitespace().next_back().unwrap_or_default();
    let last = last.trim_end_matches(|sign: char| sign.is_ascii_punctuation() && sign != ']' && sign != ':');
    let is_ip = |text: &str| {
        let text = text.trim_start_matches('[').trim_end_matches(']');
        let (text, _interface) = text.split_once('%').unwrap_or((text, ""));
        text.parse::<IpAddr>().is_ok()
    };
    is_ip(last) || is_ip(without_port(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_managed::attach::Role;

    fn is_free(application: &str, service: &str) -> bool {
        let (application, service) = (application.to_owned(), service.to_owned());
        let (role, descriptors) = (Role::Caller, Vec::new());
        check(&Hello { role, application, service, send_heap: 0, receive_heap: 0, descriptors }).is_ok()
    }

    #[test]
    fn names_of_sums_and_of_peers_are_the_daemons_own() {
        for name in ["(others)", " (others) ", "(all)", "()"] {
            assert!(!is_free(name, "hotel") && !is_free("desk", name), "{name}");
        }
        for name in [
            "HTTP/2 at 10.0.0.1:5",
            "HTTP/2 at 10.0.0.1:123456",
            "bertha-rpcd at 10.0.0.1",
            "desk at [2001:db8::1]:9 ",
            "at [::1]",
            "at fe80::",
            "10.0.0.1%eth0",
            "[fe80::1%eth0]:5",
            "at 10.0.0.1.",
            "at 10.0.0.1,",
            "2001:db8::1",
        ] {
            assert!(!is_free(name, "hotel"), "{name}");
        }
        for name in ["desk", "desk (others)", "(new) desk", "desk at home", "10.0", "HTTP/2 at 10.0.0.1 too"]
        {
            assert!(is_free(name, "hotel"), "{name}");
        }
    }
}
