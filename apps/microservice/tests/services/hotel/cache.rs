//! Numbers that memcached counts.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

/// The real server, which this test has for itself.
pub(crate) struct Cache(pub(crate) SocketAddr);

impl Cache {
    /// Returns the numbers of keys that were found, that were not, and that are stored.
    pub(crate) fn counts(&self) -> [u64; 3] {
        let lines = self.say("stats", "END");
        ["get_hits", "get_misses", "curr_items"].map(|name| {
            let value = lines.iter().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
            value.unwrap().parse().unwrap()
        })
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.say("flush_all", "OK");
    }

    /// Sets the value of a key.
    pub(crate) fn set(&self, key: &str, value: &str) {
        self.say(&format!("set {key} 0 0 {}\r\n{value}", value.len()), "STORED");
    }

    /// Gives a command, and returns the lines before the last.
    fn say(&self, command: &str, last: &str) -> Vec<String> {
        let mut stream = TcpStream::connect(self.0).unwrap();
        write!(stream, "{command}\r\n").unwrap();
        BufReader::new(stream).lines().map(Result::unwrap).take_while(|line| line != last).collect()
    }
}
