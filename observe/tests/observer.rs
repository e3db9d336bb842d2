//! A process that lets itself be observed, and those who ask.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests panic to fail, and say what they skip")]

use bertha_chunnels::Reliable;
use bertha_core::{ErrorKind, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::Negotiate;
use bertha_observe::{Observer, StateValue, read_all};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

const NOBODY: u32 = 65534;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns the state of this process, which is the only observed process in the folder.
fn own_state(folder: &Path) -> bertha_observe::ProcessState {
    let [answer] = <[_; 1]>::try_from(read_all(folder).unwrap()).unwrap();
    answer.state.unwrap()
}

#[tokio::test]
async fn a_connection_is_shown_with_its_stack_and_its_layers() {
    let folder = folder();
    let observer = Observer::at(folder.path(), "scene").unwrap();
    let stack = make_stack!(Reliable::new());
    let mut incoming = stack.clone().listen(Udp::default(), ([127, 0, 0, 1], 0)).await.unwrap();
    let server = incoming.local_addr();
    let connecting = stack.connect(Udp::default(), server.clone()).into_future();
    let (client, _served) = tokio::join!(connecting, incoming.next());
    let client = client.unwrap();

    let state = own_state(folder.path());
    assert_eq!((state.program.as_str(), state.pid), ("scene", std::process::id()));
    let of_client = |state: &bertha_observe::ProcessState| {
        state.connections.iter().find(|it| it.peer == server.to_string()).cloned()
    };
    let shown = of_client(&state).expect("the client's end");
    assert_eq!((shown.stack.as_str(), shown.changes), ("Reliable", 0));
    assert!(shown.agreement.starts_with("Reliable, agreed as client"), "{}", shown.agreement);
    let names: Vec<_> = shown.layers.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["Reliable", "Link", "Udp"]);
    assert!(matches!(shown.value("window"), Some(StateValue::Bytes(window)) if *window > 0));
    assert_eq!(shown.layer("Link").unwrap().value("usable"), Some(&StateValue::Is(true)));
    let listener = state.listeners.iter().find(|it| it.local == server.to_string()).expect("the listener");
    assert_eq!(listener.layers[0].value("accepted"), Some(&StateValue::Total(1)));

    drop(client);
    let later = own_state(folder.path());
    assert_eq!(of_client(&later), None);
    assert!(later.ended > state.ended);
    drop(observer);
    assert!(read_all(folder.path()).unwrap().is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the socket is removed");
}

#[test]
fn a_process_is_observed_once_under_a_name_and_again_after_the_end() {
    let folder = folder();
    let first = Observer::at(folder.path(), "twice").unwrap();
    let refused = Observer::at(folder.path(), "twice").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::AddrInUse);
    let other = Observer::at(folder.path(), "other").unwrap();
    assert_ne!(first.path(), other.path());
    drop(first);
    let _again = Observer::at(folder.path(), "twice").unwrap();
    assert_eq!(read_all(folder.path()).unwrap().len(), 2);
}

#[test]
fn the_socket_of_an_earlier_process_with_this_number_is_replaced() {
    let folder = folder();
    let path = folder.path().join(format!("stale-{}.sock", std::process::id()));
    drop(UnixListener::bind(&path).unwrap());
    let observer = Observer::at(folder.path(), "stale").unwrap();
    assert_eq!((observer.path(), own_state(folder.path()).program.as_str()), (path.as_path(), "stale"));
}

#[test]
fn sockets_of_processes_that_have_ended_are_removed() {
    let folder = folder();
    // No process has such a number.
    let dead = folder.path().join("dead-4294967295.sock");
    drop(UnixListener::bind(&dead).unwrap());
    let own = folder.path().join(format!("starting-{}.sock", std::process::id()));
    drop(UnixListener::bind(&own).unwrap());
    assert!(read_all(folder.path()).unwrap().is_empty());
    assert!(!dead.exists() && own.exists(), "a process that is there may be about to listen");
}

#[test]
fn visitors_that_say_and_read_nothing_hold_nobody_up() {
    let folder = folder();
    let observer = Observer::at(folder.path(), "silent").unwrap();
    let _silent: Vec<_> = (0..32).map(|_| UnixStream::connect(observer.path()).unwrap()).collect();
    assert_eq!(own_state(folder.path()).program, "silent");
}

#[test]
fn a_process_that_does_not_answer_is_named_and_the_others_are_shown() {
    let folder = folder();
    let stopped = UnixListener::bind(folder.path().join("stopped-1.sock")).unwrap();
    let liar = UnixListener::bind(folder.path().join("liar-1.sock")).unwrap();
    let lying = thread::spawn(move || {
        use std::io::Write;
        liar.accept().unwrap().0.write_all(b"{\"format\":").unwrap();
    });
    let _observer = Observer::at(folder.path(), "there").unwrap();
    let answers = read_all(folder.path()).unwrap();
    let kinds: Vec<_> =
        answers.iter().map(|it| it.state.as_ref().map_err(bertha_core::Error::kind).err()).collect();
    assert_eq!(kinds, [Some(ErrorKind::Malformed), Some(ErrorKind::TimedOut), None]);
    lying.join().unwrap();
    drop(stopped);
}

#[test]
fn the_folder_of_another_user_is_neither_used_nor_read() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can give a folder to another user");
    }
    let folder = folder();
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    for refused in [Observer::at(folder.path(), "scene").err(), read_all(folder.path()).err()] {
        let refused = refused.expect("an error");
        assert_eq!(refused.kind(), ErrorKind::Unauthenticated);
        assert!(refused.to_string().contains("belongs to user 65534"), "{refused}");
    }
}

#[test]
fn another_user_gets_no_answer() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: only root can become another user");
    }
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let observer = Observer::at(folder.path(), "mine").unwrap();
    let asks = |user: u32| {
        // Every Debian has Perl, in a folder that all users may read.
        let code =
            "my $s = IO::Socket::UNIX->new(shift) or die $!; read $s, my $text, 10; print length $text";
        let mut perl = Command::new("perl");
        perl.args(["-MIO::Socket::UNIX", "-e", code])
            .arg(observer.path())
            .current_dir("/")
            .uid(user)
            .gid(user);
        perl.output().unwrap()
    };
    let kept_out = asks(NOBODY);
    assert!(String::from_utf8_lossy(&kept_out.stderr).contains("Permission denied"), "{kept_out:?}");
    // The check of the visitor stands behind the rights of the folder, in case they are opened.
    for path in [folder.path(), observer.path()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    assert_eq!(asks(NOBODY).stdout, b"0");
    assert_eq!(asks(0).stdout, b"10");
}

#[test]
fn a_stopped_process_whose_queue_is_full_is_named() {
    let folder = folder();
    let stopped = UnixListener::bind(folder.path().join("stopped-1.sock")).unwrap();
    rustix::net::listen(&stopped, 0).unwrap();
    let _waiting = UnixStream::connect(folder.path().join("stopped-1.sock")).unwrap();
    let answers = read_all(folder.path()).unwrap();
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    let error = answer.state.as_ref().unwrap_err();
    assert!(error.to_string().contains("stopped-1.sock"), "{error}");
}

#[test]
fn files_that_are_no_sockets_stay() {
    let folder = folder();
    let own = folder.path().join(format!("own-{}.sock", std::process::id()));
    let dead = folder.path().join("dead-4294967295.sock");
    for file in [&own, &dead] {
        fs::write(file, "data").unwrap();
    }
    assert_eq!(Observer::at(folder.path(), "own").unwrap_err().kind(), ErrorKind::AddrInUse);
    read_all(folder.path()).unwrap();
    assert!(own.exists() && dead.exists());
}
