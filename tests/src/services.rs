//! Real servers for tests: `scripts/services` starts them and sets variables with their addresses.

/// Returns the address in the environment variable `variable`. If it is not set, prints a loud message and
/// returns `None`.
///
/// # Panics
/// Panics if the variable is not set and `CI` is `true`: there, a claim about a real server has to be tested.
pub fn service(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        skip(&format!(
            "{variable} is not set; run scripts/services start, and eval \"$(scripts/services env)\""
        ));
    }
    url
}

/// Prints that a test did not take place.
///
/// # Panics
/// Panics if `CI` is `true`.
pub fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    skip_anywhere(what);
}

/// Prints that a test did not take place, since it has a requirement that not even CI can install.
#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
pub fn skip_anywhere(what: &str) {
    eprintln!("SKIPPED: {what}");
}
