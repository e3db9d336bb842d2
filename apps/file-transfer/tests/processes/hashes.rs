//! Files that differ from their hashes.

use crate::program::{Scene, content, failure, program, sending, sha256, success};

#[test]
fn a_file_with_another_hash_is_not_kept() {
    let scene = Scene::new();
    let path = scene.file("file", 400_000, 1);
    let receiver = scene.receiver("127.0.0.1:0", &[]);
    let expected = sha256(&content(400_000, 2));
    let options = ["--sha256", &expected];
    let said = failure(&sending(program(), &path, &receiver.addr, &options).output().unwrap());
    assert!(said.contains("the hash is wrong") && said.contains(&sha256(&content(400_000, 1))), "{said}");
    assert!(!scene.received("file").exists() && !scene.unfinished("file").exists());

    let expected = sha256(&content(400_000, 1));
    let options = ["--sha256", &expected];
    success(&sending(program(), &path, &receiver.addr, &options).output().unwrap());
    assert!(std::fs::read(scene.received("file")).unwrap() == content(400_000, 1));
}
