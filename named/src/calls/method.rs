//! Methods that are named at run time.

use crate::Unknown;
use bertha::rpc::Method;

/// Longest name, in bytes.
const LONGEST: usize = 1024;

/// Returns the method of this name, of which only its number is kept.
///
/// # Errors
/// [`Unknown`] if the name is empty or longer than 1,024 bytes.
pub fn method(name: &str) -> Result<Method, Unknown> {
    match name.len() {
        1..=LONGEST => Ok(Method::named(name)),
        length => Err(Unknown::new(format!("the name of a method has 1 to {LONGEST} bytes, not {length}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_bounded() {
        assert_eq!(method("add").map(Method::id), Ok(Method::id_of("add")));
        assert!(method("").is_err() && method(&"a".repeat(LONGEST + 1)).is_err());
    }
}
