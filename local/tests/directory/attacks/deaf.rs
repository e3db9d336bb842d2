//! Services that do not read what the directory hands them, so that descriptors stay on their way.

use crate::attacks::packets::{REFUSED, Raw, VISITING, started};
use bertha_local::directory::Rules;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Visits a service by its name, and returns the first byte of the answer, and the answer.
fn visited(path: &Path, service: &str) -> (u8, String) {
    let (_own, others) = UnixStream::pair().unwrap();
    let client = Raw::connect(path);
    client.visit(service, [7; 32], &[others]).unwrap();
    let answer = client.recv().0;
    (answer[0], String::from_utf8_lossy(&answer).into_owned())
}

#[test]
fn a_service_that_reads_nothing_has_few_visitors_and_the_others_are_told() {
    let (_folder, path) = started(Rules::new());
    let deaf = Raw::register(&path, "deaf");
    let hears = Raw::register(&path, "hears");
    let answers: Vec<_> = (0..20).map(|_| visited(&path, "deaf")).collect();
    assert!(answers[..4].iter().all(|(kind, _)| *kind == VISITING), "{answers:?}");
    for (kind, text) in &answers[4..] {
        assert!(*kind == REFUSED && text.contains("does not read its visitors"), "{text}");
    }
    for _ in 0..20 {
        assert_eq!(visited(&path, "hears").0, VISITING);
        assert_eq!(hears.recv().1.len(), 1);
    }
    // It has room again once it reads.
    for _ in 0..4 {
        assert_eq!(deaf.recv().1.len(), 1);
    }
    assert_eq!(visited(&path, "deaf").0, VISITING);
}
