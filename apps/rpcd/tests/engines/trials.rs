//! Trials of libraries, each in a process of its own.

use crate::built;
use crate::plugins::load;
use bertha_managed::Order;
use std::path::Path;
use std::time::Duration;
use tokio::process::{Child, Command};

async fn start(socket: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-rpcd"));
    let mut daemon = command.arg("--socket").arg(socket).kill_on_drop(true).spawn().unwrap();
    while Order::List.give(socket).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(daemon.try_wait().unwrap(), None);
    }
    daemon
}

/// Damages the code of a library: the parts that the system runs have zeros.
fn damage(library: &Path) {
    let mut file = std::fs::read(library).unwrap();
    let number = |file: &[u8], at: usize, len| {
        file[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (table, size, count) = (number(&file, 32, 8), number(&file, 54, 2), number(&file, 56, 2));
    for segment in (0..count).map(|place| table + place * size) {
        let (kind, flags) = (number(&file, segment, 4), number(&file, segment + 4, 4));
        if kind == 1 && flags & 1 == 1 {
            let (at, len) = (number(&file, segment + 8, 8), number(&file, segment + 32, 8));
            file[at..at + len].fill(0);
        }
    }
    std::fs::write(library, file).unwrap();
}

#[tokio::test]
async fn a_library_whose_code_is_damaged_is_refused_and_the_daemon_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let library = built::in_rust(folder.path());
    let damaged = folder.path().join("damaged.so");
    std::fs::copy(&library, &damaged).unwrap();
    damage(&damaged);
    let mut daemon = start(&socket).await;
    let refused = load(&damaged).give(&socket).await.unwrap_err().to_string();
    assert!(
        refused.contains("damaged.so is not loaded: in a trial it ended its process with SIG"),
        "{refused}"
    );
    load(&library).give(&socket).await.unwrap();
    assert!(Order::List.give(&socket).await.unwrap().contains("pace\t/"));
    assert_eq!(daemon.try_wait().unwrap(), None);
}

/// A library that leaves a process behind when it is opened, which no process waits for, is refused, and the process ended.
#[tokio::test]
async fn a_trial_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, number) = (folder.path().join("rpcd"), folder.path().join("number"));
    let definition = format!("-DLEAVES=\"{}\"", number.display());
    let Some(library) = built::wrong(folder.path(), "leaves.so", &[&definition]) else { return };
    let _daemon = start(&socket).await;
    let refused = load(&library).give(&socket).await.unwrap_err().to_string();
    assert!(refused.contains("leaves.so is not loaded: in a trial it left a process behind"), "{refused}");
    let left = std::fs::read_to_string(&number).unwrap();
    let folder = Path::new("/proc").join(left.trim());
    assert!(!folder.exists(), "{}", std::fs::read_to_string(folder.join("cmdline")).unwrap_or_default());
}
