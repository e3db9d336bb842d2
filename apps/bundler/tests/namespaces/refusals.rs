//! What an operator has got wrong.

use crate::boxes::{fails, key, program};
use crate::site::{Place, Site};
use std::process::Command;

#[test]
fn an_interface_that_joins_packets_and_a_device_that_is_there_are_refused() {
    let Some(site) = Site::up() else { return };
    let folder = tempfile::tempdir().unwrap();
    let key = key(&folder);
    assert!(
        site.command(Place::Receiver, "ethtool").args(["-K", "wan", "gro", "on"]).status().unwrap().success()
    );
    let receive = |interface: &str| {
        let mut command = program(&site, Place::Receiver);
        command.args([
            "receive",
            "--interface",
            interface,
            "--to",
            "10.98.3.0/24",
            "--sendbox",
            "10.98.2.1:4700",
        ]);
        command.arg("--key-file").arg(&key);
        fails(&mut command)
    };
    let (code, reason) = receive("wan");
    assert_eq!(code, Some(1));
    assert!(reason.contains("ethtool -K wan gro off"), "{reason}");
    let (code, reason) = receive("wlan7");
    assert_eq!(code, Some(1));
    assert!(reason.contains("`wlan7`") && reason.contains("No such device"), "{reason}");
    let mut command = program(&site, Place::Sendbox);
    command.args(["send", "--device", "wan", "--listen", "10.98.2.1:4700", "--key-file"]).arg(&key);
    let (code, reason) = fails(command.args(["--congestion", "cubic"]));
    assert_eq!(code, Some(1));
    assert!(reason.contains("the device `wan`"), "{reason}");
}

#[test]
fn a_wrong_command_line_is_named() {
    for (arguments, named) in [
        (&["send", "--listen", "127.0.0.1:0", "--key-file", "/nonexistent/key"][..], "/nonexistent/key"),
        (&["send", "--listen", "127.0.0.1:0", "--key-file", "k", "--first", "80"], "`--first` needs"),
        (&["send", "--listen", "127.0.0.1:0", "--key-file", "k", "--congestion", "cubik"], "`cubik`"),
        (&["send", "--listen", "127.0.0.1:0", "--key-file", "k", "--route", "10/8"], "`10/8`"),
        (&["send", "--listen", "127.0.0.1:0", "--key-file", "k", "--buffer", "0"], "--buffer"),
        (
            &["receive", "--interface", "lo", "--to", "::/129", "--sendbox", "[::1]:1", "--key-file", "k"],
            "`::/129`",
        ),
    ] {
        let (code, reason) = fails(Command::new(env!("CARGO_BIN_EXE_bertha-bundler")).args(arguments));
        assert!(matches!(code, Some(1 | 2)) && reason.contains(named), "{code:?} {reason}");
    }
}
