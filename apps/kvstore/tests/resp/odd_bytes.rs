//! Odd bytes to this store and to a Redis of the test's own, by hand: what no client's library would send.

use crate::Store;
use crate::redis_server::Redis;
use bertha_kvstore::resp::{Password, Settings};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PASSWORD: &str = "secret";

/// Behind the bytes, so that the answers have an end: it is answered unless the server has ended the connection before.
const LAST: &[u8] = b"\r\n*1\r\n$4\r\nQUIT\r\n";

/// Returns all answers to `bytes`, and to a farewell behind them.
fn answers(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server may end the connection before all is written.
    let _ = stream.write_all(bytes).and_then(|()| stream.write_all(LAST));
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("no answer to {}: {error}", shown(bytes)),
    }
    // Versions before 7.2 leave out a word.
    String::from_utf8_lossy(&all).replace("the HELLO AUTH", "the HELLO <proto> AUTH")
}

fn shown(bytes: &[u8]) -> String {
    bytes.get(..200).unwrap_or(bytes).escape_ascii().to_string()
}

/// A command of so many arguments.
fn long(name: &str, count: usize) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n${}\r\n{name}\r\n", count + 1, name.len()).into_bytes();
    bytes.extend((0..count).flat_map(|number| {
        let key = format!("key{number}");
        format!("${}\r\n{key}\r\n", key.len()).into_bytes()
    }));
    bytes
}

#[test]
fn odd_bytes_are_answered_as_by_redis() {
    let Some(redis) = Redis::start(None, None) else { return };
    let store = Store::start(2);
    let inline: [&[u8]; 31] = [
        b"set q \"a b\"\r\nget q\r\n",
        b"set q 'it''s'\r\n",
        b"set q 'it\\'s'\nget q\n",
        b"set \"\" \"\"\r\nget ''\r\n",
        b"set q \"\\x00\\xff\\n\\r\\t\\b\\a\\\\\\\"\\q\"\r\nget q\r\n",
        b"set q \"\\xzz\\x1\"\r\nget q\r\n",
        b"set q a\"b c\"\r\nget q\r\n",
        b"set q \"unbalanced\r\n",
        b"set q 'unbalanced\r\n",
        b"set q \"a\"b\r\n",
        b"set q a\\'b\r\n",
        b"\"\"\r\n",
        b"\r\n\n  \r\n\t\nPING\r\n",
        b"  ping  \r\n",
        b"\x0bping a\x0bb\r\n",
        b"PING\nPING\r\nPING\n",
        b"echo \"\r\n",
        b"get\r\nget a b\r\nnothing\r\n",
        b"echo a\rb\r\n",
        b"set q \"a\tb\"\r\nget q\r\n",
        b"del q q q\r\nmget q q\r\n",
        b"set q 1\r\nexists q none q\r\nEXISTS\r\nexists none\r\n",
        b"CONFIG\r\nCONFIG GET\r\nconfig nothing save\r\nCOMMAND nothing\r\nclient nothing a\r\n",
        b"expire q 1 NOTHING\r\nexpire q soon NOTHING\r\nexpire q soon\r\nexpire q -9223372036854775808\r\n",
        b"set q v NX NX\r\nset q v EX 10 EX 20\r\nset q v EX soon NOTHING\r\nset q v EX soon\r\nset q v XX NX\r\n",
        b"nothing a 'b c' \"\" \"d\\r\\n\\x00e\" f'\r\n\"no\\x00thing\" \"it's\"\r\n\"\" a\r\n",
        b"incrby n 5\r\nincrby n -7\r\nincrby n one\r\nincrby n\r\nincrby n -9223372036854775807\r\nincrby n 1 2\r\ndel n\r\n",
        b"SELECT\r\nSELECT 0\r\nSELECT -1\r\nSELECT soon\r\nPING a b\r\nECHO\r\nTTL a b\r\n",
        b"incr n\r\nincr n\r\nset n abc\r\nincr n\r\ndel n\r\n",
        b"QUIT\r\nPING\r\n",
        b"quit\r\nset after-quit 1\r\n",
    ];
    let framed: [&[u8]; 27] = [
        b"*0\r\n*-1\r\n*-10\r\n",
        b"*1\r\n$4\r\nPING\r\n*0\r\n*1\r\n$4\r\nping\r\n",
        b"*1\r\n:1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$\r\n",
        b"*x\r\n",
        b"*\r\n",
        b"*+1\r\n$4\r\nPING\r\n",
        b"*01\r\n$4\r\nPING\r\n",
        b"* 1\r\n$4\r\nPING\r\n",
        b"*1\r\n$04\r\nPING\r\n",
        b"*1\r\n$0\r\n\r\n",
        b"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
        b"*2\r\n$3\r\nGET\r\n*1\r\n$1\r\na\r\n",
        b"*9223372036854775808\r\n",
        b"*1\r\n$9223372036854775807\r\n",
        b"*3\r\n$3\r\nSET\r\n$4\r\n\r\n\r\n\r\n$4\r\n$1\r\n\r\n*2\r\n$3\r\nGET\r\n$4\r\n\r\n\r\n\r\n",
        b"POST / HTTP/1.1\r\nSET web 1\r\n",
        b"post\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"*2\r\n$5\r\nhost:\r\n$1\r\na\r\n",
        b"AUTH secret\r\nAUTH default anything\r\nAUTH someone anything\r\nAUTH\r\nAUTH a b c\r\n",
        b"CLIENT SETNAME me\r\nCLIENT GETNAME\r\nCLIENT SETNAME \"a b\"\r\nCLIENT SETNAME \"\"\r\nCLIENT GETNAME\r\n",
        b"CLIENT ID extra\r\nCLIENT\r\nCLIENT SETNAME\r\nCLIENT NOTHING\r\n",
        b"HELLO 4\r\nHELLO two\r\nHELLO 2 NOTHING\r\nHELLO 2 SETNAME \"a b\"\r\nHELLO 2 AUTH someone x\r\n",
        b"SET k v NX XX\r\nSET k v EX\r\nSET k v PX 0\r\nEXPIRE k\r\nTTL\r\nSELECT x\r\n",
    ];
    let large = [
        long("DEL", 100_000),
        long("MGET", 2_000),
        [&b"ping "[..], &[b'x'; 10_000], b"\r\n"].concat(),
        long("NOTHING", 100),
        [&b"nothing "[..], &[b'x'; 126], b" ", &[b'y'; 9], b"\r\nnothing ", &[b'x'; 300], b" b\r\n"].concat(),
        [&[b'x'; 300][..], b" a b\r\nclient ", &[b'x'; 300], b" a\r\nhello 2 ", &[b'x'; 100], b"\r\n"]
            .concat(),
        b"get web\r\nget after-quit\r\n".to_vec(),
    ];
    let small = inline.into_iter().chain(framed).map(<[u8]>::to_vec);
    for bytes in small.chain(large) {
        let ours = answers(Path::new(&store.unix()), &bytes);
        assert_eq!(ours, answers(&redis.path(), &bytes), "{}", shown(&bytes));
    }
}

#[test]
fn strangers_are_answered_as_by_redis() {
    let Some(redis) = Redis::start(None, Some(PASSWORD)) else { return };
    let password = Some(Password::new(PASSWORD.as_bytes()));
    let store = Store::with(1, Settings { password, ..Settings::default() });
    let scripts: [&[u8]; 12] = [
        b"PING\r\nGET a\r\nAUTH wrong\r\nPING\r\nAUTH secret\r\nPING\r\n",
        b"AUTH default secret\r\nset a 1\r\nAUTH wrong\r\nget a\r\nAUTH someone secret\r\nget a\r\n",
        b"AUTH someone secret\r\nget a\r\n",
        b"AUTH \"\"\r\nAUTH\r\nAUTH default\r\nget a\r\n",
        b"HELLO\r\nHELLO 3\r\nHELLO 2\r\n",
        b"HELLO 2 AUTH default wrong\r\nget a\r\n",
        b"HELLO 2 AUTH someone secret\r\nHELLO 2 AUTH default\r\nget a\r\n",
        b"QUIT\r\n",
        b"POST\r\n",
        b"*11\r\n",
        b"*1\r\n$16385\r\n",
        b"*10\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n",
    ];
    for bytes in scripts {
        let ours = answers(Path::new(&store.unix()), bytes);
        assert_eq!(ours, answers(&redis.path(), bytes), "{}", shown(bytes));
    }
}
