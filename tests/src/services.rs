//! Real servers to test with: `scripts/services` starts them and says where they are.

/// The address in the environment variable `variable`; nothing if there is none, after having said so loudly.
///
/// # Panics
/// If there is none and `CI` is `true`: there, a claim about a real server has to be tested.
pub fn service(variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        skip(&format!(
            "{variable} is not set; run scripts/services start, and eval \"$(scripts/services env)\""
        ));
    }
    url
}

/// Says that a test did not take place.
///
/// # Panics
/// If `CI` is `true`.
pub fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    skip_anywhere(what);
}

/// Says that a test did not take place, since it needs something that not even CI can install.
#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
pub fn skip_anywhere(what: &str) {
    eprintln!("SKIPPED: {what}");
}
