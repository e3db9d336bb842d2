use super::*;
use crate::resp::wire::{Replies, Version, number};
use crate::resp::{Command, Condition, Operation};
use crate::{Key, Lifetime};
use bertha::Buf;
use bertha::chunnels::framing::Deframe;
use proptest::prelude::*;
use std::time::Duration;

/// The commands in `stream`, which arrives in pieces of these lengths.
fn commands(mut stream: &[u8], cuts: &[usize]) -> Vec<Command> {
    let (mut decoder, mut found) = (CommandDecoder::default(), Vec::new());
    for &cut in cuts.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (piece, rest) = stream.split_at(stream.len().min(cut.max(1)));
        stream = rest;
        let mut piece = Buf::copy_of(piece, 0).unwrap();
        while let Some(Frame::Command(command)) = decoder.decode(&mut piece).unwrap() {
            found.push(command);
        }
        assert!(piece.is_empty(), "bytes were left although no command is whole");
    }
    found
}

/// A command as clients send it.
fn encoded(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).bytes());
        bytes.extend_from_slice(argument);
        bytes.extend(b"\r\n");
    }
    bytes
}

fn set(key: &str, value: &[u8]) -> Command {
    let (lifetime, condition) = (Lifetime::Unlimited, Condition::Always);
    Command::One(Operation::Set { key: Key::from(key), value: value.into(), lifetime, condition })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(prop_oneof![1usize..10, 1usize..3_000], 1..10)
}

proptest! {
    #[test]
    fn commands_survive_any_cuts(
        values in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2_000), 0..20),
        cuts in cuts(),
    ) {
        let mut stream = Vec::new();
        for value in &values {
            stream.extend(encoded(&[b"set", b"key", value]));
            stream.extend(b"\r\n*0\r\nget key\r\n");
        }
        let expected: Vec<_> = values
            .iter()
            .flat_map(|value| [set("key", value), Command::One(Operation::Get(Key::from("key")))])
            .collect();
        prop_assert_eq!(commands(&stream, &cuts), expected);
    }

    #[test]
    fn any_bytes_are_commands_or_end_the_stream_however_they_arrive(
        bytes in "(\\*[0-9-]{1,3}\r\n|\\$[0-9-]{1,3}\r\n|[a-z ]{0,6}\r?\n?|[\\PC\r\n]{0,9}){0,12}",
        cuts in cuts(),
    ) {
        let found = commands(bytes.as_bytes(), &cuts);
        prop_assert_eq!(&found, &commands(bytes.as_bytes(), &[usize::MAX]));
        let malformed = found.iter().filter(|it| matches!(it, Command::Malformed(_))).count();
        prop_assert!(malformed == 0 || malformed == 1 && matches!(found.last(), Some(Command::Malformed(_))));
    }

    #[test]
    fn numbers_are_those_that_the_standard_library_writes(any: i64, text in "[+-]?[0-9 ]{0,21}") {
        prop_assert_eq!(number(any.to_string().as_bytes()), Some(any));
        let parsed = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
        prop_assert_eq!(number(text.as_bytes()), parsed);
    }
}

#[test]
fn options_of_set_are_understood_in_any_order_and_case() {
    let seconds = |time| Lifetime::For(Duration::from_secs(time));
    let parsed = |text: &str| match &commands(format!("set k v {text}\r\n").as_bytes(), &[100])[..] {
        [Command::One(Operation::Set { lifetime, condition, .. })] => Some((*lifetime, *condition)),
        [Command::Refused(_)] => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(parsed("NX ex 7"), Some((seconds(7), Condition::IfMissing)));
    assert_eq!(parsed("px 7000 xx"), Some((seconds(7), Condition::IfPresent)));
    for wrong in ["NX XX", "EX 1 PX 1", "EX", "EX 0", "EX -1", "EX 1.5", "EX 9223372036854775807", "KEEPTTL"]
    {
        assert_eq!(parsed(wrong), None, "{wrong}");
    }
}

#[test]
fn what_is_not_served_is_refused_by_its_name() {
    let long = [b"get ", &[b'k'; crate::MAX_KEY + 1][..], b"\n"].concat();
    for (line, reason) in [
        (&b"lpush list 1\n"[..], "ERR unknown command 'lpush', with args beginning with: 'list' '1' "),
        (b"\x1b[2J\n", "ERR unknown command '\\x1b[2J'"),
        (b"get\n", "ERR wrong number of arguments for 'get' command"),
        (b"get a b\n", "ERR wrong number of arguments for 'get' command"),
        (b"hello 4\n", "NOPROTO"),
        (b"hello two\n", "ERR Protocol version"),
        (b"hello 3 auth me\n", "ERR Syntax error in HELLO option 'auth'"),
        (b"auth\n", "ERR wrong number of arguments for 'auth' command"),
        (b"auth a b c\n", "ERR syntax error"),
        (b"client setname \"a b\"\n", "ERR Client names cannot contain spaces"),
        (b"client setinfo lib-color red\n", "ERR Unrecognized option 'lib-color'"),
        (b"client kill all\n", "ERR unknown subcommand 'kill'. Try CLIENT HELP."),
        (b"config set save 1\n", "ERR unknown subcommand 'set'. Try CONFIG HELP."),
        (b"expire k soon\n", "ERR value is not an integer"),
        (b"select 1\n", "ERR DB index"),
        (&long, "ERR the key is longer"),
    ] {
        match &commands(line, &[100_000])[..] {
            [Command::Refused(refused) | Command::BadLogin(refused)] => {
                assert!(refused.starts_with(reason), "{refused}")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn lengths_are_bounded_before_anything_is_kept() {
    for (bytes, reason) in [
        (&b"*1048577\r\n"[..], "invalid multibulk length"),
        (b"*1\r\n$16777217\r\n", "invalid bulk length"),
        (b"*1\r\n$-1\r\n", "invalid bulk length"),
        (b"\"get\r\n", "unbalanced quotes in request"),
        (b"*1\r\nget\r\n", "expected '$', got 'g'"),
        (b"*1\r\n$3\r\nlong\r\n", "argument is longer than its length says"),
        (b"*000000000000000000000000000000000000001\r\n", "too big multibulk count string"),
    ] {
        let expected = Command::Malformed(reason.to_owned());
        assert_eq!(commands(bytes, &[1]), [expected], "{}", bytes.escape_ascii());
    }
    let line = vec![b'a'; 70_000];
    assert!(matches!(&commands(&line, &[1_000])[..], [Command::Malformed(_)]));
}

#[test]
fn an_end_within_a_command_is_an_error_and_between_two_is_none() {
    for (bytes, is_whole) in
        [(&b"*1\r\n$4\r\nPING\r\n"[..], true), (b"*1\r\n$4\r\nPI", false), (b"PI", false)]
    {
        let mut decoder = CommandDecoder::default();
        let mut piece = Buf::copy_of(bytes, 0).unwrap();
        while decoder.decode(&mut piece).unwrap().is_some() {}
        assert_eq!(decoder.end().is_ok(), is_whole, "{}", bytes.escape_ascii());
    }
}

#[test]
fn replies_are_bytes_of_both_versions() {
    let mut replies = Replies::default();
    replies.simple("OK");
    replies.error("ERR two\r\nlines");
    replies.integer(-12);
    replies.bulk(b"");
    replies.bulk(b"\r\n");
    replies.array(0);
    replies.null(Version::Two);
    replies.null(Version::Three);
    replies.map(1, Version::Two);
    replies.map(1, Version::Three);
    let expected =
        b"+OK\r\n-ERR two  lines\r\n:-12\r\n$0\r\n\r\n$2\r\n\r\n\r\n*0\r\n$-1\r\n_\r\n*2\r\n%1\r\n";
    assert_eq!(replies.as_bytes(), expected);
}
