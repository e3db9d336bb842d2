//! Receivers that cannot write.

use crate::program::{Receiver, Scene, failure, program, sending};
use std::process::Command;

/// Limit to the size of files, in blocks of 512 bytes, which takes the place of a full disk.
const BLOCKS: usize = 2 << 11;

/// Returns the program in a shell that limits the size of its files.
fn limited() -> Command {
    let mut shell = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$0\" \"$@\"");
    shell.args(["-c", &script]).arg(program().get_program());
    shell
}

#[test]
fn a_receiver_without_space_is_named_as_the_reason() {
    let scene = Scene::new();
    let path = scene.file("file", 24 << 20, 1);
    let receiver = Receiver::start(limited(), &scene.there, "127.0.0.1:0", &[]);
    let said = failure(&sending(program(), &path, &receiver.addr, &["--persistence", "1"]).output().unwrap());
    assert!(said.contains("could not be written there"), "{said}");
    assert!(said.contains("offering the file again"), "{said}");
    assert!(!said.contains("connecting again"), "a refusal is no broken connection: {said}");
    // Three pauses fill a second, counted from the second refusal on: the first refusal confirms how much is
    // there.
    let offers = said.matches("offering the file again").count();
    assert!(offers <= 5, "{offers} offers: {said}");
    assert_eq!(std::fs::metadata(scene.unfinished("file")).unwrap().len(), 512 * BLOCKS as u64);
}

#[test]
fn a_receiver_without_its_directory_does_not_start() {
    let scene = Scene::new();
    for (directory, reason) in [("missing", "No such file"), ("file", "Not a directory")] {
        scene.file("file", 1, 1);
        let mut receiver = program();
        receiver.arg("receive").arg(scene.here.join(directory)).args(["--addr", "127.0.0.1:0"]);
        let output = receiver.output().unwrap();
        assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        let said = failure(&output);
        assert!(said.contains(directory) && said.contains(reason), "{said}");
    }
}
