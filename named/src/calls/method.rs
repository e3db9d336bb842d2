//! Methods that are named at run time.

use crate::Unknown;
use bertha::rpc::Method;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Largest number of names of a process. Names are kept for its whole life.
const NAMES: usize = 65_536;
/// Largest length of a name, in bytes.
const LENGTH: usize = 1024;

static METHODS: Mutex<Option<HashMap<&'static str, Method>>> = Mutex::new(None);

/// Returns the method of this name.
///
/// The name is kept for the whole life of the process: names are those of the program, not those of its users.
///
/// # Errors
/// [`Unknown`] if the name is empty or longer than 1,024 bytes, and beyond 65,536 names.
pub fn method(name: &str) -> Result<Method, Unknown> {
    if name.is_empty() || name.len() > LENGTH {
        return Err(Unknown::new(format!(
            "the name of a method has 1 to {LENGTH} bytes, not {}",
            name.len()
        )));
    }
    let mut methods = METHODS.lock().unwrap_or_else(PoisonError::into_inner);
    let methods = methods.get_or_insert_default();
    if let Some(method) = methods.get(name) {
        return Ok(*method);
    }
    if methods.len() == NAMES {
        return Err(Unknown::new(format!("the process has used the names of {NAMES} methods, the limit")));
    }
    let name: &'static str = name.to_owned().leak();
    let method = Method::new(name);
    methods.insert(name, method);
    Ok(method)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let (first, second) = (method("add").unwrap(), method(&String::from("add")).unwrap());
        assert_eq!(first.id(), Method::id_of("add"));
        assert_eq!(first.name().as_ptr(), second.name().as_ptr());
        assert!(method("").is_err() && method(&"a".repeat(LENGTH + 1)).is_err());
    }
}
