//! The code that a hostile client reaches, as a function of arbitrary bytes that must hold for all bytes. A
//! fuzzer calls it, and so do the tests of its corpus.

use bertha::Buf;
use bertha::chunnels::framing::Deframe;
use bertha_kvstore::resp::Command;
use bertha_kvstore::resp::format::{CommandDecoder, Frame};
use bertha_kvstore::{Capacity, Store};

/// Number of bytes that an argument takes at least: in a line of words, a byte and a blank.
const BYTES_OF_ARGUMENT: usize = 2;

/// Passes bytes in pieces, whose length is the first byte. For pieces of any length, equal commands come out,
/// and at most the last of them says that the following bytes are no command. A store carries out the
/// commands about its records.
pub(crate) fn stream(bytes: &[u8]) {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let found = commands(stream, stream.len().max(1));
    assert_eq!(commands(stream, usize::from(piece) + 1), found);
    let malformed = found.iter().position(|it| matches!(it, Command::Malformed(_)));
    assert!(malformed.is_none_or(|at| at + 1 == found.len()), "commands behind bytes that are none");
    let arguments: usize = found.iter().map(arguments).sum();
    assert!(BYTES_OF_ARGUMENT * arguments <= stream.len() + 1, "{arguments} arguments");
    let mut store = Store::new(Capacity::default());
    for command in found {
        if let Command::One(operation) = command {
            let key = operation.key().clone();
            operation.apply(&mut store);
            // A record is as it was stored, or there is none.
            assert!(store.value(&key).is_none_or(|value| value.len() <= stream.len().max(20)));
        }
    }
}

fn arguments(command: &Command) -> usize {
    match command {
        Command::GetEach(keys) | Command::DeleteEach(keys) | Command::CountEach(keys) => keys.len(),
        Command::Settings(names) | Command::Info(names) => names.len(),
        _ => 1,
    }
}

/// Returns the commands in a stream that arrives in pieces of this length.
fn commands(stream: &[u8], piece: usize) -> Vec<Command> {
    let (mut decoder, mut found) = (CommandDecoder::default(), Vec::new());
    for piece in stream.chunks(piece) {
        let mut piece = Buf::copy_of(piece, 0).unwrap();
        while let Some(Frame::Command(command)) = decoder.decode(&mut piece).unwrap() {
            found.push(command);
            assert!(found.len() <= stream.len(), "commands that take no bytes");
        }
        assert!(piece.is_empty(), "bytes that are no command yet are kept by the caller");
    }
    let ended = decoder.end();
    assert!(ended.is_ok() || !matches!(found.last(), Some(Command::Malformed(_))));
    found
}
