//! The compiler's verdict on compositions: right ones compile, wrong ones are errors that a person can act on.
#![allow(missing_docs, reason = "tests")]

/// The texts are pinned for one compiler; `TRYBUILD=overwrite` writes them anew, and then they have to be read.
#[test]
fn wrong_compositions_are_errors_in_words() {
    trybuild::TestCases::new().compile_fail("cases/fail/*.rs");
}

#[test]
fn right_compositions_compile_and_run() {
    trybuild::TestCases::new().pass("cases/pass/*.rs");
}
