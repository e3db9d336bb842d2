//! Users of one daemon, of which each sees and gets what is its own.

use crate::machine::{Machine, as_user};
use crate::needs::{has_descriptors, has_root};
use crate::strangers::{answer, connection, hand_over};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

const STRANGER: u32 = 65534;

/// Returns a machine whose daemon others reach, or none if this user can't act as another.
fn shared_machine() -> Option<Machine> {
    if !has_root() {
        return None;
    }
    let machine = Machine::start();
    machine.open_folder();
    Some(machine)
}

/// The rights of the folder say who may ask, and those of the socket's file nothing.
#[test]
fn all_users_reach_the_socket_whom_its_folder_lets_in() {
    let machine = Machine::start();
    let rights = std::fs::metadata(machine.socket()).unwrap().permissions().mode();
    assert_eq!(rights & 0o777, 0o666);
}

#[test]
fn another_user_gets_memory_and_sees_the_own_sockets_alone() {
    let Some(machine) = shared_machine() else { return };
    let ((client, server), (its_client, its_server)) = (connection(), connection());
    let ends = [&client, &server].map(|end| hand_over(&machine, end.as_fd()));
    assert_eq!(ends.each_ref().map(|end| answer(end).0), [1, 2]);
    let (answers, list) = as_user(STRANGER, || {
        let ends = [&its_client, &its_server].map(|end| hand_over(&machine, end.as_fd()));
        (ends.each_ref().map(|end| answer(end).0), machine.list())
    });
    assert_eq!(answers, [1, 2]);
    let own = its_client.local_addr().unwrap().to_string();
    assert!(list.len() == 2 && list.iter().all(|line| line[1] == own || line[2] == own), "{list:?}");
    assert_eq!(machine.list().len(), 4);
}

/// More ends come than the daemon has places for, all of one user: they go for one another, and for the ends of others.
#[test]
fn a_user_with_thousands_of_claims_takes_no_memory_and_no_line_from_others() {
    const CLAIMS: usize = 4200;
    if !has_descriptors(3 * CLAIMS as u64) {
        return;
    }
    let Some(machine) = shared_machine() else { return };
    let (client, server) = connection();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let claims: Vec<_> = as_user(STRANGER, || {
        let claim = |_| {
            let client = TcpStream::connect(at).unwrap();
            // The other end is never claimed.
            (hand_over(&machine, client.as_fd()), listener.accept().unwrap())
        };
        (0..CLAIMS).map(claim).collect()
    });
    assert_eq!(answer(&claims[0].0).0, 3);
    let ends = [&client, &server].map(|end| hand_over(&machine, end.as_fd()));
    assert_eq!(ends.each_ref().map(|end| answer(end).0), [1, 2]);
    let list = as_user(STRANGER, || machine.list());
    assert!(!list.is_empty() && list.iter().all(|line| line[2] == at.to_string()), "{list:?}");
}
