//! Starting where another store is, or was.

use crate::program::{Program, fails};

#[test]
fn two_stores_on_one_port_are_an_error_unless_it_is_asked_for() {
    for shards in ["1", "3"] {
        let first = Program::start("", &["--shards", shards]);
        let addr = first.addr().to_string();
        for further in ["1", "3"] {
            let (status, log) = fails(&["--shards", further, "--resp", &addr]);
            assert!(!status.success() && log.contains("in use") && log.contains(&addr), "{log}");
        }
        let mut client = first.client();
        assert_eq!(client.ask(&[b"PING"]), "+PONG");
    }
    let first = Program::start("", &["--reuse-port"]);
    let second = Program::start("", &["--reuse-port", "--resp", &first.addr().to_string()]);
    assert_eq!(first.addr(), second.addr());
}

#[test]
fn a_store_that_was_killed_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sock");
    let resp = format!("unix:{}", path.display());
    Program::start("", &["--resp", &resp]).kill();
    assert!(path.exists(), "nobody removed it");
    let living = Program::start("", &["--shards", "2", "--resp", &resp]);
    let (status, log) = fails(&["--resp", &resp]);
    assert!(!status.success() && log.contains("store.sock"), "{log}");
    assert!(std::os::unix::net::UnixStream::connect(&path).is_ok(), "the living one has lost its path");
    drop(living);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "a file of somebody else").unwrap();
    assert!(!fails(&["--resp", &resp]).0.success());
    assert_eq!(std::fs::read(&path).unwrap(), b"a file of somebody else");
}

#[test]
fn an_address_may_have_the_name_of_a_zone() {
    let program = Program::start("", &["--resp", "[::1%lo]:0"]);
    assert!(program.addr().is_ipv6());
    let (_, log) = fails(&["--resp", "[fe80::1%nowhere]:0"]);
    assert!(log.contains("no such interface"), "{log}");
}
