//! Starting where another store is, or was.

use crate::program::{Program, fails};
use std::os::unix::fs::PermissionsExt;

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

/// Links at the path of the socket: to a socket that a store has left behind, to a file, and to nothing.
#[test]
fn a_link_at_the_path_of_the_socket_is_neither_followed_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, left, file, nothing] =
        ["store.sock", "left.sock", "file", "nothing"].map(|name| folder.path().join(name));
    Program::start("", &["--resp", &format!("unix:{}", left.display())]).kill();
    std::fs::write(&file, "a file of another user").unwrap();
    for target in [&left, &file, &nothing] {
        std::os::unix::fs::symlink(target, &path).unwrap();
        let (status, log) = fails(&["--resp", &format!("unix:{}", path.display())]);
        assert!(!status.success() && log.contains("store.sock"), "{log}");
        assert_eq!(&std::fs::read_link(&path).unwrap(), target);
        std::fs::remove_file(&path).unwrap();
    }
    assert!(std::fs::symlink_metadata(&left).is_ok() && !nothing.exists());
    assert_eq!(std::fs::read(&file).unwrap(), b"a file of another user");
}

#[test]
fn an_address_may_have_the_name_of_a_zone() {
    let program = Program::start("", &["--resp", "[::1%lo]:0"]);
    assert!(program.addr().is_ipv6());
    let (_, log) = fails(&["--resp", "[fe80::1%nowhere]:0"]);
    assert!(log.contains("no such interface"), "{log}");
}

#[test]
fn a_signal_ends_a_store_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["INT", "TERM"] {
        let path = folder.path().join(name);
        let mut store =
            Program::start("", &["--resp", "127.0.0.1:0", "--resp", &format!("unix:{}", path.display())]);
        let mut client = store.client();
        assert_eq!(client.ask(&[b"PING"]), "+PONG");
        assert_eq!(store.end(name).code(), Some(0), "{name}");
        assert!(client.is_ended() && !path.exists(), "{name}");
    }
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let (status, log) = fails(&["--resp", "unix:/nowhere/store.sock"]);
    assert_eq!(status.code(), Some(1));
    assert!(
        log.lines().any(|line| line.starts_with("kvstore: ") && line.contains("/nowhere/store.sock")),
        "{log}"
    );
    let (status, log) = fails(&["--resp-idle", "soon"]);
    assert_eq!(status.code(), Some(2), "{log}");
}

#[test]
fn a_password_that_others_can_read_and_a_socket_without_rights_are_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("password");
    let name = format!("unix:@bertha-kvstore-{}", std::process::id());
    for (mode, is_warned) in [(0o600, false), (0o644, true)] {
        std::fs::write(&file, "secret").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let store =
            Program::start("", &["--resp", "127.0.0.1:0", "--resp-password-file", file.to_str().unwrap()]);
        let log = store.log();
        assert_eq!(log.contains("every user may read it (mode 0644)"), is_warned, "{log}");
        assert!(!log.contains("abstract name"), "{log}");
    }
    let store = Program::start("", &["--resp", "127.0.0.1:0", "--resp", &name]);
    let log = store.log();
    assert!(log.contains("abstract name") && log.contains(&name), "{log}");
}
