//! The metrics of a store.

use bertha_tests::metrics::{Metered, judge, value};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

#[test]
fn the_store_tells_its_records_and_its_clients() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kvstore"));
    command.args(["--addr", "127.0.0.1:0", "--shards", "2", "--resp", "127.0.0.1:0"]);
    let mut store = Metered::start(&mut command);
    assert!(store.line().starts_with("kvstore: ready at "));
    let line = store.line();
    let resp = line.trim().strip_prefix("kvstore: RESP at ").unwrap();
    let before = store.scrape();
    judge(&before);
    assert_eq!(value(&before, "kvstore_records"), Some(0.0));

    let mut client = TcpStream::connect(resp).unwrap();
    client.write_all(b"SET key 12345\r\nGET key\r\n").unwrap();
    let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
    assert_eq!(
        [lines.next(), lines.next(), lines.next()].map(|it| it.unwrap().unwrap()),
        ["+OK", "$5", "12345"]
    );
    let after = store.scrape();
    judge(&after);
    let of = |series| value(&after, series);
    assert_eq!((of("kvstore_records"), of("kvstore_record_bytes")), (Some(1.0), Some(8.0)));
    assert_eq!((of("kvstore_resp_clients"), of("kvstore_resp_connections_total")), (Some(1.0), Some(1.0)));
    assert_eq!(of("kvstore_resp_commands_total"), Some(2.0));
    assert_eq!(of(r#"kvstore_resp_connections_ended_total{reason="unread_replies"}"#), Some(0.0));
    drop((client, lines));
    store.value_becomes("kvstore_resp_clients", 0);
}
