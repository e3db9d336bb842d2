//! The bytes that pass between two ends of TCP, as a file that tshark reads.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

/// The bytes of both directions in their order. The flag is true if the client sent the bytes.
type Passed = Arc<Mutex<Vec<(bool, Vec<u8>)>>>;

/// A relay for one connection, which keeps the bytes that pass.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    passed: Passed,
    ended: JoinHandle<()>,
}

impl Relay {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, passed) = (listener.local_addr().unwrap(), Passed::default());
        let kept = passed.clone();
        let ended = spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(server).unwrap();
            let (from, to, both) = (client.try_clone().unwrap(), server.try_clone().unwrap(), kept.clone());
            let forth = spawn(move || pass(from, to, true, &both));
            pass(server, client, false, &kept);
            forth.join().unwrap();
        });
        Self { address, passed, ended }
    }

    /// Waits for the end of the connection, and writes the bytes in the format of libpcap: IPv4 packets
    /// (LINKTYPE_RAW).
    pub(crate) fn write(self, path: &Path) {
        self.ended.join().unwrap();
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            file.extend_from_slice(&word.to_le_bytes());
        }
        let mut sent = [1_u32; 2];
        for (number, (is_client, bytes)) in self.passed.lock().unwrap().iter().enumerate() {
            for bytes in bytes.chunks(1_400) {
                let packet =
                    packet(*is_client, sent[usize::from(*is_client)], sent[usize::from(!is_client)], bytes);
                sent[usize::from(*is_client)] += bytes.len() as u32;
                for word in [number as u32, 0, packet.len() as u32, packet.len() as u32] {
                    file.extend_from_slice(&word.to_le_bytes());
                }
                file.extend_from_slice(&packet);
            }
        }
        std::fs::write(path, file).unwrap();
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_client: bool, passed: &Passed) {
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        passed.lock().unwrap().push((is_client, bytes[..read].to_vec()));
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Makes an IPv4 packet with a TCP segment between the ports 50000 and 443, without checksums.
fn packet(is_client: bool, sequence: u32, acknowledged: u32, bytes: &[u8]) -> Vec<u8> {
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (ports, [from, to]) = match is_client {
        true => ([50_000_u16, 443], [client, server]),
        false => ([443, 50_000], [server, client]),
    };
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(40 + bytes.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend_from_slice(&[from, to].concat());
    ports.iter().for_each(|port| packet.extend_from_slice(&port.to_be_bytes()));
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&acknowledged.to_be_bytes());
    // The flags are push and acknowledge, with a full window.
    packet.extend_from_slice(&[0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend_from_slice(bytes);
    packet
}
