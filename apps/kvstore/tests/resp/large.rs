//! Large replies, and clients that write much before they read.

use crate::Store;
use crate::program::{Client, Program, encoded};
use bertha_kvstore::resp::Settings;

const MIB: usize = 1 << 20;

/// More than a gibibyte and a half is not to be had, stacks of threads and shared libraries included.
const LITTLE_MEMORY: &str = "ulimit -v 1500000;";

#[test]
fn the_same_large_value_65535_times_is_refused_and_nothing_is_lost() {
    let program = Program::start(LITTLE_MEMORY, &["--shards", "2"]);
    let mut client = program.client();
    let value: Vec<u8> = (0..16 * MIB).map(|at| ((at * 31) >> 8) as u8).collect();
    assert_eq!(client.ask(&[b"SET", b"a", &value]), "+OK");
    let mget = |count| encoded(&[&[&b"MGET"[..]][..], &vec![&b"a"[..]; count]].concat());
    client.write(&mget(65_535));
    assert!(client.line().starts_with("-ERR the reply is longer than 536870912 bytes"));
    // Half of a gibibyte, in pieces: one copy of it all would already be too much.
    client.write(&mget(32));
    client.write(b"GET a\r\nPING\r\n");
    assert_eq!(client.line(), "*32");
    for _ in 0..33 {
        assert!(client.bulk().unwrap() == value);
    }
    assert_eq!(client.line(), "+PONG");
}

/// The system gives no more memory long before the store has what it may have.
#[test]
fn a_value_for_which_there_is_no_memory_is_refused_and_the_store_goes_on() {
    let program = Program::start("ulimit -v 1000000;", &["--shards", "2"]);
    let mut client = program.client();
    let value = vec![b'x'; 16 * MIB];
    assert_eq!(client.ask(&[b"SET", b"small", b"1"]), "+OK");
    let mut refused = 0;
    for number in 0..64 {
        match client.ask(&[b"SET", format!("{number}").as_bytes(), &value]).as_str() {
            "+OK" => {}
            refusal => {
                assert!(refusal.starts_with("-OOM the system has no memory"), "{refusal}");
                refused += 1;
            }
        }
    }
    assert!(refused > 4, "{refused}");
    // Smaller values take most of the rest, so that a command finds no memory while it arrives.
    let small = vec![b'x'; 4 * MIB];
    while client.ask(&[b"SET", format!("small-{refused}").as_bytes(), &small]) == "+OK" {
        refused += 1;
    }
    for _ in 0..3 {
        let refusal = client.ask(&[b"SET", b"one more", &value]);
        assert!(refusal.starts_with("-OOM the system has no memory"), "{refusal}");
    }
    assert_eq!(client.ask(&[b"INCR", b"small"]), ":2");
    let mut other = program.client();
    // A command, and its value, need several times the length of the value for a moment.
    assert_eq!(other.ask(&[b"DEL", b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7"]), ":8");
    assert_eq!(other.ask(&[b"SET", b"0", &value]), "+OK");
    other.write(b"GET 0\r\n");
    assert!(other.bulk().unwrap() == value);
}

#[test]
fn values_of_all_lengths_around_the_bounds_come_back() {
    let store = Store::start(2);
    let mut client = Client::connect(store.tcp());
    let piece = 256 << 10;
    for length in [0, piece - 1, piece, piece + 1, 16 * MIB - 1, 16 * MIB] {
        let value = vec![b'x'; length];
        assert_eq!(client.ask(&[b"SET", b"a", &value]), "+OK");
        client.write(b"GET a\r\n");
        assert_eq!(client.bulk().unwrap().len(), length);
    }
    assert_eq!(client.ask(&[b"SET", b"a", &vec![b'x'; 8 * MIB]]), "+OK");
    client.write(b"MGET a a b a a a a a\r\n");
    assert_eq!(client.line(), "*8");
    let lengths: Vec<_> = (0..8).map(|_| client.bulk().map(|value| value.len())).collect();
    assert_eq!(lengths.iter().flatten().sum::<usize>(), 7 * 8 * MIB);
    assert_eq!(lengths[2], None);
    client.write(format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n${}\r\n", 16 * MIB + 1).as_bytes());
    assert_eq!(client.line(), "-ERR Protocol error: invalid bulk length");
    assert!(client.is_ended());
}

#[test]
fn many_large_values_in_one_pipeline_keep_their_order_with_what_changes_them() {
    for shards in [1, 2] {
        let store = Store::start(shards);
        let mut client = Client::connect(store.tcp());
        assert_eq!(client.ask(&[b"SET", b"a", &vec![b'x'; 8 * MIB]]), "+OK");
        assert_eq!(client.ask(&[b"SET", b"b", &vec![b'y'; 8 * MIB]]), "+OK");
        // More than is held at once, so that most of it is postponed.
        let mut commands = b"GET a\r\nMGET a b\r\nINCR n\r\n".repeat(20);
        commands.extend_from_slice(b"SET a 1\r\nGET a\r\nDEL a b n\r\nINCR n\r\n");
        client.write(&commands);
        for number in 1..=20 {
            assert_eq!(client.bulk().unwrap().len(), 8 * MIB);
            assert_eq!(client.line(), "*2");
            assert_eq!(client.bulk().unwrap()[0], b'x');
            assert_eq!(client.bulk().unwrap()[0], b'y');
            assert_eq!(client.line(), format!(":{number}"));
        }
        assert_eq!(client.line(), "+OK");
        assert_eq!(client.bulk().unwrap(), b"1");
        assert_eq!([client.line(), client.line()], [":3", ":1"]);
    }
}

#[test]
fn a_client_may_write_300_000_commands_before_it_reads_a_reply() {
    const COMMANDS: usize = 300_000;
    let program = Program::start("", &["--shards", "2"]);
    let mut client = program.client();
    let value = [b'x'; 1_000];
    // 27 MB of commands, more than the sockets at both ends hold.
    let key = [b'k'; 60];
    assert_eq!(client.ask(&[b"SET", &key, &value]), "+OK");
    client.write(&encoded(&[b"GET", &key]).repeat(COMMANDS));
    for _ in 0..COMMANDS {
        assert_eq!(client.bulk().unwrap(), value);
    }
}

#[test]
fn a_client_that_writes_on_and_never_reads_is_ended_with_a_reason() {
    let program = Program::start("", &[]);
    let mut client = program.client();
    assert_eq!(client.ask(&[b"SET", b"a", &[b'x'; 1_000]]), "+OK");
    let commands = encoded(&[b"GET", b"a"]).repeat(10_000);
    // 80 MB of commands, which take more memory than they have bytes.
    let ended = (0..350).any(|_| client.try_write(&commands).is_err());
    assert!(ended, "all was taken");
    assert_eq!(program.info("connections_ended_unread_replies"), 1);
    let log = program.log();
    assert!(log.contains("does not read the replies") && log.contains("peer=127.0.0.1:"), "{log}");
}

#[test]
fn unsent_replies_of_all_clients_have_a_bound() {
    let settings = Settings { unsent: 40 * MIB, ..Settings::default() };
    let store = Store::with(1, settings);
    let mut honest = Client::connect(store.tcp());
    assert_eq!(honest.ask(&[b"SET", b"a", &vec![b'x'; 8 * MIB]]), "+OK");
    let mut greedy: Vec<_> = (0..8).map(|_| Client::connect(store.tcp())).collect();
    // Three values each, which would be 192 MiB.
    greedy.iter_mut().for_each(|client| client.write(b"MGET a a a\r\n"));
    // Of 24 MiB each, there is room for one.
    let ended = "connections_ended_unsent_replies:7";
    loop {
        honest.write(b"INFO stats\r\n");
        let text = String::from_utf8(honest.bulk().unwrap()).unwrap();
        if text.contains(ended) {
            break;
        }
    }
    honest.write(b"MGET a a a\r\n");
    assert_eq!(honest.line(), "*3");
    (0..3).for_each(|_| assert_eq!(honest.bulk().unwrap().len(), 8 * MIB));
}

#[test]
fn unfinished_commands_of_all_clients_have_a_bound() {
    let settings = Settings { unfinished: 20 * MIB, ..Settings::default() };
    let store = Store::with(2, settings);
    let half = [&b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$8000000\r\n"[..], &vec![b'x'; 4 * MIB]].concat();
    let mut greedy = Vec::new();
    for _ in 0..20 {
        let mut client = Client::connect(store.tcp());
        client.write(&half);
        greedy.push(client);
    }
    // Those that came first have taken memory for the longest time.
    assert!(greedy[..10].iter_mut().all(Client::is_ended));
    let mut honest = Client::connect(store.tcp());
    assert_eq!(honest.ask(&[b"SET", b"a", &vec![b'x'; 5 * MIB]]), "+OK");
    honest.write(b"INFO stats\r\n");
    let text = String::from_utf8(honest.bulk().unwrap()).unwrap();
    assert!(!text.contains("connections_ended_unfinished_commands:0"), "{text}");
}

#[test]
fn a_command_has_as_many_arguments_as_in_redis() {
    let store = Store::start(2);
    let mut client = Client::connect(store.tcp());
    assert_eq!(client.ask(&[b"SET", b"k7", b"x"]), "+OK");
    let names: Vec<_> = (0..100_000).map(|number| format!("k{number}").into_bytes()).collect();
    let mut command = vec![&b"DEL"[..]];
    command.extend(names.iter().map(Vec::as_slice));
    assert_eq!(client.ask(&command), ":1");
    let most = 1 << 20;
    let mut command = vec![&b"k"[..]; most];
    command[0] = b"DEL";
    assert_eq!(client.ask(&command), ":0");
    client.write(format!("*{}\r\n", most + 1).as_bytes());
    assert_eq!(client.line(), "-ERR Protocol error: invalid multibulk length");
}
