//! Senders that want to learn the content of the directory.

use super::Receiver;
use crate::digest::Digesting;
use crate::{Digest, Error, Message, Name, Refusal};
use bertha::Connection;
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const SECRET: &[u8] = b"nobody's business";

/// Returns an empty directory of this test's own.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bertha-receive-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn digest(bytes: &[u8]) -> Digest {
    let mut digesting = Digesting::default();
    digesting.update(bytes);
    digesting.digest()
}

/// Returns the receiver's replies to an offer of a file of this length and to these messages.
async fn replies(directory: &Path, length: usize, messages: Vec<Message>) -> Vec<Message> {
    let (sender, receiver) = pair_of::<_, Message>(TokioRuntime);
    let at = Receiver::open(directory).await.unwrap();
    let serving = async move { at.serve(&receiver).await };
    let asking = async {
        let name = Name::of(Path::new("file")).unwrap();
        sender.send(Message::Offer { name, length: length as u64, nonce: [7; 16] }).await.unwrap();
        for message in messages {
            sender.send(message).await.unwrap();
        }
        let mut replies = Vec::new();
        while let Ok(reply) = sender.recv().await {
            replies.push(reply);
        }
        replies
    };
    let (_, replies): (Result<_, Error>, _) = tokio::join!(serving, asking);
    replies
}

fn shows_the_digest(replies: &[Message], of: &[u8]) -> bool {
    format!("{replies:?}").contains(&digest(of).to_string())
}

#[tokio::test]
async fn a_file_that_was_not_received_is_neither_read_nor_described() {
    let directory = directory("foreign");
    // Reading the pipe would not end.
    let pipe = directory.join("file");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let length = std::fs::metadata(&pipe).unwrap().len() as usize;
    assert_eq!(replies(&directory, length, vec![]).await, [Message::Refused(Refusal::Exists)]);
    std::fs::remove_file(&pipe).unwrap();
    std::fs::write(&pipe, SECRET).unwrap();
    for length in [SECRET.len(), SECRET.len() + 1] {
        assert_eq!(replies(&directory, length, vec![]).await, [Message::Refused(Refusal::Exists)]);
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[tokio::test]
async fn a_stranger_does_not_learn_the_digest_of_what_another_has_sent() {
    let directory = directory("received");
    let length = SECRET.len();
    let wrong = digest(b"a guess");
    let (begin, end) = (Message::Begin { offset: 5 }, Message::End { digest: wrong });
    // First half of the file is there, and then all of it.
    std::fs::write(directory.join(".file.part"), &SECRET[..5]).unwrap();
    let rest = Message::Chunk(SECRET[5..].to_vec());
    let said = replies(&directory, length, vec![begin, rest.clone(), end.clone()]).await;
    assert_eq!(said.last(), Some(&Message::Refused(Refusal::WrongDigest { found: None })), "{said:?}");
    assert!(!shows_the_digest(&said, SECRET) && !shows_the_digest(&said, &SECRET[..5]), "{said:?}");
    let all = Message::Chunk(SECRET.to_vec());
    let genuine = Message::End { digest: digest(SECRET) };
    let said = replies(&directory, length, vec![Message::Begin { offset: 0 }, all, genuine.clone()]).await;
    assert_eq!(said.last(), Some(&Message::Kept { digest: digest(SECRET) }), "{said:?}");
    let begin = Message::Begin { offset: length as u64 };
    let said = replies(&directory, length, vec![begin.clone(), end]).await;
    assert_eq!(said.last(), Some(&Message::Refused(Refusal::WrongDigest { found: None })), "{said:?}");
    assert!(!shows_the_digest(&said, SECRET), "{said:?}");
    // The sender is told that the file is there; once another program has written to the file, no sender is.
    let said = replies(&directory, length, vec![begin, genuine]).await;
    assert_eq!(said.last(), Some(&Message::Kept { digest: digest(SECRET) }), "{said:?}");
    std::fs::write(directory.join("file"), SECRET.to_ascii_uppercase()).unwrap();
    assert_eq!(replies(&directory, length, vec![]).await, [Message::Refused(Refusal::Exists)]);
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Writes `content` to the file and sets the time of modification back, until the file's state counts as
/// changed: the clock of files may stand still for some milliseconds.
fn rewrite(path: &Path, content: &[u8]) {
    let before = std::fs::metadata(path).unwrap();
    let changed = |file: &std::fs::Metadata| (file.ctime(), file.ctime_nsec());
    while changed(&std::fs::metadata(path).unwrap()) == changed(&before) {
        std::fs::write(path, content).unwrap();
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(before.modified().unwrap())
            .unwrap();
    }
}

#[tokio::test]
async fn a_file_that_changed_under_equal_length_and_time_is_not_vouched_for() {
    let directory = directory("changed");
    let length = SECRET.len();
    let all = Message::Chunk(SECRET.to_vec());
    let genuine = Message::End { digest: digest(SECRET) };
    replies(&directory, length, vec![Message::Begin { offset: 0 }, all, genuine.clone()]).await;
    let path = directory.join("file");
    let again = || vec![Message::Begin { offset: length as u64 }, genuine.clone()];
    // The content decides about a file that was only touched.
    rewrite(&path, SECRET);
    let said = replies(&directory, length, again()).await;
    assert_eq!(said.last(), Some(&Message::Kept { digest: digest(SECRET) }), "{said:?}");
    rewrite(&path, &SECRET.to_ascii_uppercase());
    assert_eq!(replies(&directory, length, again()).await, [Message::Refused(Refusal::Exists)]);
    assert!(!directory.join(".file.kept").exists(), "the file is read once");
    std::fs::remove_dir_all(&directory).unwrap();
}
