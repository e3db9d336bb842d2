//! The causes of an error.

use std::error::Error;
use std::io;
use std::sync::Arc;

/// Returns the first error of type `T` among `error` and its causes.
pub(crate) fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // These two error types give the source of their content as their own source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let shared = error.downcast_ref::<Arc<dyn Error + Send + Sync>>();
        next = match (inner, shared) {
            (Some(inner), _) => Some(inner),
            (_, Some(shared)) => Some(&**shared),
            _ => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_errors_that_hide_it_is_found() {
        let invalid = || "x".parse::<u8>().unwrap_err();
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(invalid());
        for error in [io::Error::other(invalid()), io::Error::other(shared)] {
            let outer = io::Error::other(error);
            assert_eq!(find::<std::num::ParseIntError>(&outer), Some(&invalid()));
            assert!(find::<std::fmt::Error>(&outer).is_none());
        }
    }
}
