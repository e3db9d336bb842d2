//! The failure to listen.

use bertha_core::Error;
use std::fmt::Display;
use std::io;

/// Returns the error of a program that cannot listen on an address or at a path, which the error names.
#[cold]
pub fn cannot_listen(on: impl Display, error: io::Error) -> Error {
    let error = Error::from(error);
    let what = format!("cannot listen on {on}: {}", error.context());
    error.retold(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::ErrorKind;

    #[test]
    fn the_error_keeps_its_kind_and_names_the_address() {
        let error = cannot_listen("[::1]:70", io::ErrorKind::AddrInUse.into());
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().starts_with("address in use: cannot listen on [::1]:70: "), "{error}");
    }
}
